/**
 * The wire of the needle drive over Modbus RTU: frames with their CRC (Modbus over Serial Line V1.02; Modbus Application
 * Protocol V1.1b3), and the register map of the actuator. The frames are the standard's; the map is ours, since no such
 * drive publishes one. Registers are 16 bit, big-endian; 32-bit values take two, the high half first. Lengths are
 * microsteps, speeds microsteps/s, accelerations microsteps/s².
 */
import { CellError } from "../../base/errors.js";

/** Input registers (function 4). Pairs are marked. */
export const inputRegisters = {
  /** "ND", so that a client knows what map it reads. */
  mapMark: 0,
  mapVersion: 1,
  /** Pair. */
  deviceId: 2,
  /** High byte major, low byte minor. */
  firmware: 4,
  /** Pair. */
  serialNumber: 5,
  /** Pair: size of a microstep, pm. */
  microstepPm: 7,
  /** Pairs. */
  stroke: 9,
  topSpeed: 11,
  topAcceleration: 13,
  /** Bits of `stateBits`. */
  state: 32,
  /** Two ASCII letters of the most severe warning, `--` for none, as in the ASCII protocol. */
  flag: 33,
  /** Pairs, signed. */
  position: 34,
  commanded: 36,
  /** Commands carried out since power-up, modulo 65536. */
  commandCount: 38,
  /** Why the last command was refused: an entry of `refusals`, 0 for none. */
  refusal: 39,
  /** Pair, signed: deepest place of the last stroke. */
  deepest: 40,
} as const;

export const infoBlock = { address: 0, count: 15 } as const;
export const statusBlock = { address: 32, count: 10 } as const;

/** Holding registers (functions 3, 6, 16). Both halves of a pair are written by one request. */
export const holdingRegisters = {
  /** Writing a code of `commands` carries it out. */
  command: 0,
  /** Pair, signed. */
  target: 1,
  /** Pairs, unsigned: of moves, and of the way down of a stroke. */
  speed: 3,
  acceleration: 5,
  /** Pairs, signed: no target outside is accepted. */
  limitMin: 7,
  limitMax: 9,
  /** Pair, signed: where a stroke turns. */
  depth: 11,
  dwellMs: 13,
  /** Pair, signed. */
  retractTo: 14,
  /** Pairs, unsigned: of the way back. */
  retractSpeed: 16,
  retractAcceleration: 18,
  /** Holds any value: a client tells replies apart with it. */
  echo: 32,
} as const;

/** First registers of the pairs that only make sense whole. */
export const holdingPairs: readonly number[] = [1, 3, 5, 7, 9, 11, 14, 16, 18];
/** Number of holding registers below `echo`. */
export const holdingCount = 20;

export const commands = {
  stop: 1,
  estop: 2,
  home: 3,
  move: 4,
  stroke: 5,
  clearWarnings: 6,
  driverEnable: 7,
  driverDisable: 8,
  reset: 9,
} as const;

export const stateBits = {
  moving: 1 << 0,
  referenced: 1 << 1,
  driverOn: 1 << 2,
  interrupted: 1 << 3,
} as const;

/** Register `refusal`: number and reason, in the words of the ASCII protocol. */
export const refusals = ["", "BADCOMMAND", "BADDATA", "DRIVERDISABLED", "PARKED", "STATUSBUSY"] as const;
export type Refusal = Exclude<(typeof refusals)[number], "">;

export const mapMark = 0x4e44;
export const mapVersion = 1;

export const exceptions = {
  illegalFunction: 1,
  illegalAddress: 2,
  illegalValue: 3,
  deviceFailure: 4,
  deviceBusy: 6,
} as const;

/** CRC-16 of Modbus: polynomial 0xA001 reflected, start 0xFFFF. (Modbus over Serial Line, 6.2.2) */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  }
  return crc;
}

/** Address, function and data with their CRC, low byte first. */
export function sealFrame(body: Uint8Array): Buffer {
  const crc = crc16(body);
  return Buffer.concat([body, Buffer.from([crc & 0xff, crc >> 8])]);
}

/** Whether the last two bytes are the CRC of the others. */
export function intact(frame: Uint8Array): boolean {
  if (frame.length < 4) return false;
  const crc = crc16(frame.subarray(0, -2));
  return frame.at(-2) === (crc & 0xff) && frame.at(-1) === crc >> 8;
}

export const highWord = (value: number): number => (value >> 16) & 0xffff;
export const lowWord = (value: number): number => value & 0xffff;
/** Both halves of a signed or unsigned 32-bit value. */
export const words = (value: number): [number, number] => [highWord(value), lowWord(value)];
export const signed = (high = 0, low = 0): number => (high << 16) | low;
export const unsigned = (high = 0, low = 0): number => signed(high, low) >>> 0;

/** Two letters in a register. */
export const flagWord = (flag: string): number => (flag.charCodeAt(0) << 8) | flag.charCodeAt(1);
export const flagOf = (word = 0): string => String.fromCharCode(word >> 8, word & 0xff);

/**
 * Length of the request that begins with these bytes; undefined while too few have come, 0 for a function whose length
 * nobody here knows.
 */
export function requestLength(bytes: Uint8Array): number | undefined {
  switch (bytes[1]) {
    case undefined:
      return undefined;
    case 3:
    case 4:
    case 6:
    case 8:
      return 8;
    case 16:
      return bytes[6] === undefined ? undefined : 9 + bytes[6];
    default:
      return 0;
  }
}

/**
 * Length of the reply that begins with these bytes; undefined while too few have come.
 * @throws CellError LINK_PROTOCOL when they begin no reply of this unit to anything that is asked here
 */
export function anyReplyLength(unit: number, bytes: Uint8Array): number | undefined {
  const [address, code, third] = bytes;
  if (address === undefined) return undefined;
  if (address !== unit) throw foreign(bytes);
  switch (code) {
    case undefined:
      return undefined;
    case 3:
    case 4:
      return third === undefined ? undefined : 5 + third;
    case 6:
    case 16:
      return 8;
    case 0x83:
    case 0x84:
    case 0x86:
    case 0x90:
      return 5;
    default:
      throw foreign(bytes);
  }
}

export function foreign(bytes: Uint8Array): CellError {
  const excerpt = Buffer.from(bytes.subarray(0, 48)).toString("hex").replace(/../g, "$& ").trim();
  return new CellError("LINK_PROTOCOL", `not a Modbus reply to what was asked: ${excerpt}`);
}
