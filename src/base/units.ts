/**
 * Branded SI quantities. A bare number cannot be passed where a length, angle or duration is meant, and no constructor
 * lets NaN or an infinity through: every clamp and comparison downstream may rely on finite values.
 */
import { CellError } from "./errors.js";

declare const brand: unique symbol;
type Quantity<Name extends string> = number & { readonly [brand]: Name };

/** Length in metres. Always finite. */
export type Metres = Quantity<"metres">;
/** Angle in radians. Always finite. */
export type Radians = Quantity<"radians">;
/** Duration in seconds. Always finite. */
export type Seconds = Quantity<"seconds">;

/** @throws CellError UNIT_NOT_FINITE */
export function finite(value: number, what: string): number {
  if (!Number.isFinite(value)) throw new CellError("UNIT_NOT_FINITE", `${what} is ${value}`);
  return value;
}

export const metres = (value: number): Metres => finite(value, "a length in metres") as Metres;
export const millimetres = (value: number): Metres =>
  finite(value * 1e-3, "a length in millimetres") as Metres;
export const micrometres = (value: number): Metres =>
  finite(value * 1e-6, "a length in micrometres") as Metres;
export const radians = (value: number): Radians => finite(value, "an angle in radians") as Radians;
export const degrees = (value: number): Radians =>
  finite((value * Math.PI) / 180, "an angle in degrees") as Radians;
export const seconds = (value: number): Seconds => finite(value, "a duration in seconds") as Seconds;
export const milliseconds = (value: number): Seconds => finite(value * 1e-3, "a duration in ms") as Seconds;

export const toDegrees = (angle: number): number => (angle * 180) / Math.PI;

/** `value` limited to [low, high]. @throws CellError UNIT_NOT_FINITE rather than letting NaN pass through a clamp. */
export function clamp(value: number, low: number, high: number): number {
  finite(value, "a value to be clamped");
  return value < low ? low : value > high ? high : value;
}
