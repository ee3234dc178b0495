/**
 * Primary and secondary stream (TCP 30001, 30002 and their read-only twins): an envelope `int32 size, uint8 type`
 * around robot states (runs of sub-packages) and robot messages. Unknown sub-packages and longer ones of a newer
 * firmware are skipped by their length.
 */
import { CellError } from "../../../base/errors.js";
import { ByteReader, ByteWriter, excerpt } from "./bytes.js";
import type { SoftwareVersion } from "./version.js";

export const primaryType = { ROBOT_STATE: 16, ROBOT_MESSAGE: 20 } as const;
export const subPackage = {
  ROBOT_MODE: 0,
  JOINT_DATA: 1,
  TOOL_DATA: 2,
  MASTERBOARD: 3,
  CARTESIAN: 4,
  KINEMATICS: 5,
  CONFIGURATION: 6,
  FORCE_MODE: 7,
  ADDITIONAL: 8,
} as const;
export interface PrimaryPacket {
  readonly type: number;
  readonly body: Buffer;
}

export function encodePacket(type: number, body: Uint8Array): Buffer {
  return new ByteWriter(body.length + 5)
    .i32(body.length + 5)
    .u8(type)
    .bytes(body)
    .finish();
}

/** Cuts the byte stream into packets; throws LINK_PROTOCOL on an impossible size. */
export class PrimaryFramer {
  private pending: Buffer = Buffer.alloc(0);

  constructor(private readonly limit = 1 << 20) {}

  push(chunk: Buffer): PrimaryPacket[] {
    let buffer = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    const packets: PrimaryPacket[] = [];
    while (buffer.length >= 5) {
      const size = buffer.readInt32BE(0);
      if (size < 5 || size > this.limit) {
        throw new CellError("LINK_PROTOCOL", `primary interface: not a packet: ${excerpt(buffer)}`);
      }
      if (buffer.length < size) break;
      packets.push({ type: buffer.readUInt8(4), body: buffer.subarray(5, size) });
      buffer = buffer.subarray(size);
    }
    this.pending = buffer;
    return packets;
  }
}

export interface RobotModeData {
  readonly timestampUs: bigint;
  readonly powerOn: boolean;
  readonly emergencyStopped: boolean;
  readonly protectiveStopped: boolean;
  readonly programRunning: boolean;
  readonly programPaused: boolean;
  readonly robotMode: number;
  readonly targetSpeedFraction: number;
  readonly speedScaling: number;
}
export interface JointData {
  readonly q: readonly number[];
  readonly targetQ: readonly number[];
  readonly qd: readonly number[];
  readonly modes: readonly number[];
}
export interface CartesianData {
  /** x, y, z (m) and rotation vector (rad), base frame. */
  readonly tcp: readonly number[];
  readonly tcpOffset: readonly number[];
}
/** Denavit–Hartenberg parameters of this very arm, per joint. */
export interface KinematicsData {
  readonly checksum: readonly number[];
  readonly theta: readonly number[];
  readonly a: readonly number[];
  readonly d: readonly number[];
  readonly alpha: readonly number[];
  readonly calibrationStatus: number;
}
export interface ConfigurationData {
  readonly jointLimits: readonly (readonly [number, number])[];
  readonly jointSpeedAndAcceleration: readonly (readonly [number, number])[];
  readonly kinematics: Pick<KinematicsData, "a" | "d" | "alpha" | "theta">;
  /** 1 UR5, 2 UR10, 3 UR3, 4 UR16. */
  readonly robotType: number;
}
export interface RobotState {
  readonly mode?: RobotModeData;
  readonly joints?: JointData;
  readonly safetyMode?: number;
  /** Bits 0–7 standard, 8–15 configurable, 16–17 tool; sent with the safety mode. */
  readonly digitalInputs?: number;
  readonly digitalOutputs?: number;
  readonly cartesian?: CartesianData;
  readonly kinematics?: KinematicsData;
  readonly configuration?: ConfigurationData;
  /** N and N·m on the tool, base frame. */
  readonly wrench?: readonly number[];
}

const sub = (type: number, fill: (writer: ByteWriter) => void): Buffer => {
  const writer = new ByteWriter();
  fill(writer);
  const body = writer.finish();
  return new ByteWriter(body.length + 5)
    .u32(body.length + 5)
    .u8(type)
    .bytes(body)
    .finish();
};

/** The whole state a controller sends at 10 Hz; sizes of the sub-packages follow the firmware. */
export function encodeRobotState(state: RobotState, version: SoftwareVersion): Buffer {
  const parts: Buffer[] = [];
  const { mode, joints, cartesian, kinematics, configuration } = state;
  if (mode) {
    parts.push(
      sub(subPackage.ROBOT_MODE, (w) => {
        w.u64(mode.timestampUs).u8(1).u8(1);
        for (const flag of [
          mode.powerOn,
          mode.emergencyStopped,
          mode.protectiveStopped,
          mode.programRunning,
          mode.programPaused,
        ]) {
          w.u8(flag ? 1 : 0);
        }
        w.u8(mode.robotMode).u8(0).f64(mode.targetSpeedFraction).f64(mode.speedScaling);
        if (version.major >= 5 || version.minor >= 2) w.f64(1);
        if (version.major >= 5 || version.minor >= 5) w.u8(0);
      }),
    );
  }
  if (joints) {
    parts.push(
      sub(subPackage.JOINT_DATA, (w) => {
        for (let i = 0; i < 6; i++) {
          w.f64(joints.q[i] ?? 0)
            .f64(joints.targetQ[i] ?? 0)
            .f64(joints.qd[i] ?? 0);
          w.f32(0)
            .f32(48)
            .f32(30)
            .f32(35)
            .u8(joints.modes[i] ?? 0);
        }
      }),
    );
    parts.push(
      sub(subPackage.TOOL_DATA, (w) => w.u8(0).u8(0).f64(0).f64(0).f32(48).u8(0).f32(0).f32(30).u8(255)),
    );
  }
  if (state.safetyMode !== undefined) {
    const value = state.safetyMode;
    parts.push(
      sub(subPackage.MASTERBOARD, (w) => {
        w.u32(state.digitalInputs ?? 0).u32(state.digitalOutputs ?? 0);
        w.u8(0).u8(0).f64(0).f64(0).u8(0).u8(0).f64(0).f64(0);
        w.f32(30).f32(48).f32(1).f32(0).u8(value).u8(0).u8(0).u32(0);
        if (version.major >= 5) w.u8(0).u8(0).u8(0);
      }),
    );
  }
  if (cartesian) {
    parts.push(
      sub(subPackage.CARTESIAN, (w) => {
        w.f64s(cartesian.tcp);
        if (version.major >= 5 || version.minor >= 2) w.f64s(cartesian.tcpOffset);
      }),
    );
  }
  if (kinematics) {
    parts.push(
      sub(subPackage.KINEMATICS, (w) => {
        for (const value of kinematics.checksum) w.u32(value);
        w.f64s(kinematics.theta).f64s(kinematics.a).f64s(kinematics.d).f64s(kinematics.alpha);
        w.u32(kinematics.calibrationStatus);
      }),
    );
  }
  if (configuration) {
    parts.push(
      sub(subPackage.CONFIGURATION, (w) => {
        for (const pair of configuration.jointLimits) w.f64s(pair);
        for (const pair of configuration.jointSpeedAndAcceleration) w.f64s(pair);
        w.f64(1.05).f64(1.4).f64(0.25).f64(1.2).f64(0.1);
        const { a, d, alpha, theta } = configuration.kinematics;
        w.f64s(a).f64s(d).f64s(alpha).f64s(theta);
        w.i32(0).i32(0).i32(configuration.robotType).i32(0);
      }),
    );
  }
  if (mode) {
    parts.push(sub(subPackage.FORCE_MODE, (w) => w.f64s(state.wrench ?? [0, 0, 0, 0, 0, 0]).f64(0)));
    parts.push(sub(subPackage.ADDITIONAL, (w) => w.zeros(3)));
  }
  return encodePacket(primaryType.ROBOT_STATE, Buffer.concat(parts));
}

/** @throws CellError LINK_PROTOCOL when a sub-package's length is impossible or too short for its type. */
export function decodeRobotState(body: Buffer): RobotState {
  const state: { -readonly [Key in keyof RobotState]: RobotState[Key] } = {};
  for (let at = 0; at < body.length;) {
    if (body.length - at < 5)
      throw new CellError("LINK_PROTOCOL", `primary: cut sub-package: ${excerpt(body)}`);
    const size = body.readUInt32BE(at);
    if (size < 5 || at + size > body.length) {
      throw new CellError("LINK_PROTOCOL", `primary: sub-package of ${size} bytes: ${excerpt(body)}`);
    }
    const reader = new ByteReader(body.subarray(at + 5, at + size));
    switch (body.readUInt8(at + 4)) {
      case subPackage.ROBOT_MODE:
        state.mode = readRobotMode(reader);
        break;
      case subPackage.JOINT_DATA:
        state.joints = readJoints(reader);
        break;
      case subPackage.MASTERBOARD:
        state.digitalInputs = reader.u32();
        state.digitalOutputs = reader.u32();
        reader.bytes(2 + 16 + 2 + 16 + 16);
        state.safetyMode = reader.u8();
        break;
      case subPackage.CARTESIAN:
        state.cartesian = {
          tcp: reader.f64s(6),
          tcpOffset: reader.remaining >= 48 ? reader.f64s(6) : [0, 0, 0, 0, 0, 0],
        };
        break;
      case subPackage.KINEMATICS:
        state.kinematics = {
          checksum: Array.from({ length: 6 }, () => reader.u32()),
          theta: reader.f64s(6),
          a: reader.f64s(6),
          d: reader.f64s(6),
          alpha: reader.f64s(6),
          calibrationStatus: reader.u32(),
        };
        break;
      case subPackage.FORCE_MODE:
        state.wrench = reader.f64s(6);
        break;
      case subPackage.CONFIGURATION:
        state.configuration = readConfiguration(reader);
        break;
    }
    at += size;
  }
  return state;
}

function readRobotMode(reader: ByteReader): RobotModeData {
  const timestampUs = reader.u64();
  reader.bytes(2);
  const flag = (): boolean => reader.u8() !== 0;
  const flags = {
    powerOn: flag(),
    emergencyStopped: flag(),
    protectiveStopped: flag(),
    programRunning: flag(),
    programPaused: flag(),
  };
  const mode = reader.i8();
  reader.u8();
  return {
    timestampUs,
    ...flags,
    robotMode: mode,
    targetSpeedFraction: reader.f64(),
    speedScaling: reader.f64(),
  };
}

function readJoints(reader: ByteReader): JointData {
  const q: number[] = [];
  const targetQ: number[] = [];
  const qd: number[] = [];
  const modes: number[] = [];
  for (let i = 0; i < 6; i++) {
    q.push(reader.f64());
    targetQ.push(reader.f64());
    qd.push(reader.f64());
    reader.bytes(16);
    modes.push(reader.u8());
  }
  return { q, targetQ, qd, modes };
}

function readConfiguration(reader: ByteReader): ConfigurationData {
  const pairs = (): [number, number][] =>
    Array.from({ length: 6 }, (): [number, number] => [reader.f64(), reader.f64()]);
  const jointLimits = pairs();
  const jointSpeedAndAcceleration = pairs();
  reader.bytes(5 * 8);
  const kinematics = {
    a: reader.f64s(6),
    d: reader.f64s(6),
    alpha: reader.f64s(6),
    theta: reader.f64s(6),
  };
  reader.bytes(8);
  return { jointLimits, jointSpeedAndAcceleration, kinematics, robotType: reader.i32() };
}
