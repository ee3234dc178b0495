/**
 * Messages between the driver and its control script over the reverse socket. Every command carries the read timeout
 * after which the script stops the arm by itself, so silence of the PC is a stop on the robot's side.
 * All fields are int32, big-endian; joint angles and lengths travel as multiples of 1e-8 (rad or m).
 */
import { int32, wireInteger } from "../../../base/units.js";
import { ByteReader, ByteWriter } from "./bytes.js";

export const reverseCommand = { KEEP_ALIVE: 0, MOVE_JOINTS: 1, MOVE_LINEAR: 2, STOP: 3, QUIT: 4 } as const;
/** Integers of one command. */
export const commandLength = 12;
/** Integers of one status: session, last sequence accepted, last sequence done, moving, moves queued. */
export const statusLength = 5;
export const fineScale = 1e8;
export const coarseScale = 1e6;
/** Moves that the script can hold at a time. */
export const queueLength = 16;

export interface ReverseCommand {
  readonly timeoutMs: number;
  readonly sequence: number;
  readonly kind: number;
  /** Joint angles (rad), or x, y, z (m) and rotation vector (rad); zeros for other kinds. */
  readonly values: readonly number[];
  /** rad/s or m/s. */
  readonly speed: number;
  /** rad/s² or m/s²; for STOP the deceleration of the joints. */
  readonly acceleration: number;
  /** Metres. */
  readonly blend: number;
}

export function encodeReverseCommand(command: ReverseCommand): Buffer {
  // A writer of bytes takes NaN for 0, which is a posture: nothing that is no number may come so far.
  const whole = (value: number, what: string): number =>
    wireInteger(Math.round(value), int32.low, int32.high, `arm command: ${what}`);
  const writer = new ByteWriter(4 * commandLength)
    .i32(whole(command.timeoutMs, "timeout"))
    .i32(whole(command.sequence, "sequence"))
    .i32(whole(command.kind, "kind"));
  for (let i = 0; i < 6; i++) writer.i32(whole((command.values[i] ?? 0) * fineScale, `value ${i}`));
  return writer
    .i32(whole(command.speed * coarseScale, "speed"))
    .i32(whole(command.acceleration * coarseScale, "acceleration"))
    .i32(whole(command.blend * coarseScale, "blend"))
    .finish();
}

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
