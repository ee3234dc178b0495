/**
 * The heartbeat's bytes, for the few beats that JavaScript sends itself (the others come from the native heart): layout
 * of native/realtime/include/surgiclaw/realtime/beat.h, host byte order.
 */
import { endianness } from "node:os";
import { monotonicNow } from "../../base/clock.js";

const magic = 0x53434c57;

export const beatFlags = {
  needleInTissue: 1 << 0,
  rearm: 1 << 1,
  goodbye: 1 << 2,
} as const;

export interface NeedleOrder {
  readonly inTissue: boolean;
  /** Absolute position that is out of tissue, microsteps of the drive. */
  readonly retractToMicrosteps: number;
}

/** A beat made now, 24 bytes. */
export function encodeBeat(flags: number, needle: NeedleOrder): Buffer {
  const all = flags | (needle.inTissue ? beatFlags.needleInTissue : 0);
  const bytes = Buffer.alloc(24);
  const nowNs = BigInt(Math.round(monotonicNow() * 1e9));
  if (endianness() === "LE") {
    bytes.writeUInt32LE(magic, 0);
    bytes.writeBigUInt64LE(nowNs, 8);
    bytes.writeUInt32LE(all, 16);
    bytes.writeInt32LE(needle.retractToMicrosteps, 20);
  } else {
    bytes.writeUInt32BE(magic, 0);
    bytes.writeBigUInt64BE(nowNs, 8);
    bytes.writeUInt32BE(all, 16);
    bytes.writeInt32BE(needle.retractToMicrosteps, 20);
  }
  return bytes;
}
