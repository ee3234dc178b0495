/**
 * Messages between the driver and its control script over the reverse socket. Every command carries the read timeout
 * after which the script stops the arm by itself, so silence of the PC is a stop on the robot's side.
 * All fields are int32, big-endian: timeout (ms), sequence, kind, six values, speed, acceleration, blend. Joint angles and
 * lengths travel as multiples of 1e-8 (rad or m), the last three as multiples of 1e-6. The bytes of a command are made by its
 * envelope (native/envelope/src/arm_envelope.cc).
 */
import { ByteReader } from "./bytes.js";

export const reverseCommand = { KEEP_ALIVE: 0, MOVE_JOINTS: 1, MOVE_LINEAR: 2, STOP: 3, QUIT: 4 } as const;
/** Integers of one command. */
export const commandLength = 12;
/** Integers of one status: session, last sequence accepted, last sequence done, moving, moves queued. */
export const statusLength = 5;
export const fineScale = 1e8;
export const coarseScale = 1e6;
/** Moves that the script can hold at a time. */
export const queueLength = 16;

export interface ReverseStatus {
  readonly session: number;
  readonly accepted: number;
  readonly done: number;
  readonly moving: boolean;
  readonly queued: number;
}

export function decodeReverseStatus(bytes: Buffer): ReverseStatus {
  const reader = new ByteReader(bytes);
  return {
    session: reader.i32(),
    accepted: reader.i32(),
    done: reader.i32(),
    moving: reader.i32() !== 0,
    queued: reader.i32(),
  };
}
