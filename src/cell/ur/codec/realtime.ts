/**
 * Realtime packet (TCP 30003, 30013): `uint32 size` and 8-byte values, big-endian. The size names the firmware's set of
 * fields; a decoder reads what it knows and skips the rest.
 */
import { CellError } from "../../../base/errors.js";
import { excerpt } from "./bytes.js";
import type { SoftwareVersion } from "./version.js";

/** Bytes of one packet by software version (CB3; e-Series minors map onto the same sets). */
export function realtimeSize(version: SoftwareVersion): number {
  const minor = version.minor;
  if (version.major >= 5) return minor >= 10 ? 1220 : minor >= 9 ? 1140 : minor >= 4 ? 1116 : 1108;
  if (minor >= 15) return 1220;
  if (minor >= 14) return 1140;
  if (minor >= 10) return 1116;
  if (minor >= 5) return 1108;
  return minor >= 2 ? 1060 : 1044;
}

export interface RealtimeState {
  readonly timeS: number;
  readonly targetQ: readonly number[];
  readonly targetQd: readonly number[];
  readonly q: readonly number[];
  readonly qd: readonly number[];
  /** x, y, z (m) and rotation vector (rad), base frame. */
  readonly tcp: readonly number[];
  readonly tcpSpeed: readonly number[];
  /** N and N·m, base frame. */
  readonly tcpForce: readonly number[];
  readonly targetTcp: readonly number[];
  readonly targetTcpSpeed: readonly number[];
  readonly digitalInputs: bigint;
  readonly digitalOutputs: bigint;
  readonly robotMode: number;
  readonly jointModes: readonly number[];
  readonly safetyMode: number;
  readonly speedScaling: number;
  readonly programState: number;
}

/** Byte offsets of the values this codec knows. */
const offset = {
  time: 4,
  targetQ: 12,
  targetQd: 60,
  q: 252,
  qd: 300,
  tcp: 444,
  tcpSpeed: 492,
  tcpForce: 540,
  targetTcp: 588,
  targetTcpSpeed: 636,
  digitalInputs: 684,
  motorTemperatures: 692,
  robotMode: 756,
  jointModes: 764,
  safetyMode: 812,
  speedScaling: 940,
  mainVoltage: 972,
  digitalOutputs: 1044,
  programState: 1052,
  safetyStatus: 1108,
} as const;

export function encodeRealtime(state: RealtimeState, size: number): Buffer {
  const packet = Buffer.alloc(size);
  const vector = (at: number, values: readonly number[]): void => {
    values.forEach((value, i) => packet.writeDoubleBE(value, at + 8 * i));
  };
  packet.writeUInt32BE(size, 0);
  packet.writeDoubleBE(state.timeS, offset.time);
  vector(offset.targetQ, state.targetQ);
  vector(offset.targetQd, state.targetQd);
  vector(offset.q, state.q);
  vector(offset.qd, state.qd);
  vector(offset.tcp, state.tcp);
  vector(offset.tcpSpeed, state.tcpSpeed);
  vector(offset.tcpForce, state.tcpForce);
  vector(offset.targetTcp, state.targetTcp);
  vector(offset.targetTcpSpeed, state.targetTcpSpeed);
  packet.writeBigUInt64BE(state.digitalInputs, offset.digitalInputs);
  vector(offset.motorTemperatures, [30, 30, 30, 30, 30, 30]);
  packet.writeDoubleBE(state.robotMode, offset.robotMode);
  vector(offset.jointModes, state.jointModes);
  packet.writeDoubleBE(state.safetyMode, offset.safetyMode);
  packet.writeDoubleBE(state.speedScaling, offset.speedScaling);
  vector(offset.mainVoltage, [48, 48]);
  if (size >= 1060) {
    packet.writeBigUInt64BE(state.digitalOutputs, offset.digitalOutputs);
    packet.writeDoubleBE(state.programState, offset.programState);
  }
  if (size >= 1116) packet.writeDoubleBE(state.safetyMode, offset.safetyStatus);
  return packet;
}

/** Cuts the byte stream into packets. @throws CellError LINK_PROTOCOL on an impossible size. */
export class RealtimeFramer {
  private pending: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    let buffer = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    const packets: Buffer[] = [];
    while (buffer.length >= 4) {
      const size = buffer.readUInt32BE(0);
      if (size < 756 || size > 16384) {
        throw new CellError("LINK_PROTOCOL", `realtime interface: not a packet: ${excerpt(buffer)}`);
      }
      if (buffer.length < size) break;
      packets.push(buffer.subarray(0, size));
      buffer = buffer.subarray(size);
    }
    this.pending = buffer;
    return packets;
  }
}

/** @param packet a whole packet with its size field. */
export function decodeRealtime(packet: Buffer): RealtimeState {
  if (packet.length < 1044) {
    throw new CellError("LINK_PROTOCOL", `realtime packet of ${packet.length} bytes: ${excerpt(packet)}`);
  }
  const vector = (at: number): number[] =>
    Array.from({ length: 6 }, (_, i) => packet.readDoubleBE(at + 8 * i));
  const late = packet.length >= 1060;
  return {
    timeS: packet.readDoubleBE(offset.time),
    targetQ: vector(offset.targetQ),
    targetQd: vector(offset.targetQd),
    q: vector(offset.q),
    qd: vector(offset.qd),
    tcp: vector(offset.tcp),
    tcpSpeed: vector(offset.tcpSpeed),
    tcpForce: vector(offset.tcpForce),
    targetTcp: vector(offset.targetTcp),
    targetTcpSpeed: vector(offset.targetTcpSpeed),
    digitalInputs: packet.readBigUInt64BE(offset.digitalInputs),
    digitalOutputs: late ? packet.readBigUInt64BE(offset.digitalOutputs) : 0n,
    robotMode: packet.readDoubleBE(offset.robotMode),
    jointModes: vector(offset.jointModes),
    safetyMode: packet.readDoubleBE(offset.safetyMode),
    speedScaling: packet.readDoubleBE(offset.speedScaling),
    programState: late ? packet.readDoubleBE(offset.programState) : 0,
  };
}
