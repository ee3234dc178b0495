/** Drives as rows of legs: each leg is a monotonic stretch of pulses, or a pause, as an exact function of time. */
import type { SpeedTable } from "../../cell/kohzu/codec/speed-table.js";
import { planMove, type MotionProfile } from "./motion-profile.js";

/** In steps put out to the motor. */
export interface Leg {
  readonly from: number;
  readonly to: number;
  readonly profile: MotionProfile;
  readonly table: SpeedTable;
  /** Pulses that the counter does not show: backlash correction. */
  readonly hidden?: boolean;
}

export interface Drive {
  readonly legs: readonly Leg[];
  readonly startS: number;
  readonly noiseFrom: number;
  readonly noiseTo: number;
  /** Code that a completed reply reports; 0 for a drive that reaches its target. */
  readonly result: number;
  readonly stopping: boolean;
  /** Ends where it is then, with this code: another axis of the same drive met its limit. */
  readonly cut: { readonly atS: number; readonly code: number } | undefined;
  /** Moves by encoder correction. */
  readonly feedback: boolean;
  readonly finish: (endS: number) => void;
}

/** A stretch that goes nowhere. */
export const standing = (at: number, table: SpeedTable): Leg => ({
  from: at,
  to: at,
  profile: planMove(0, table),
  table,
});

export const legsDuration = (legs: readonly Leg[]): number =>
  legs.reduce((sum, leg) => sum + leg.profile.durationS, 0);

/** Which leg runs `elapsedS` after the start, and for how long already. */
export function legAt(
  legs: readonly Leg[],
  elapsedS: number,
): { readonly index: number; readonly within: number } {
  let left = Math.max(0, elapsedS);
  let index = 0;
  for (const leg of legs.slice(0, -1)) {
    if (left < leg.profile.durationS) break;
    left -= leg.profile.durationS;
    index++;
  }
  return { index, within: left };
}

/** Whole steps of a leg after `within` seconds of it. */
export function stepsOf(leg: Leg, within: number): number {
  if (within >= leg.profile.durationS) return leg.to;
  return leg.from + Math.sign(leg.to - leg.from) * Math.floor(leg.profile.at(within) + 1e-6);
}

/** The same as a smooth place between steps, for the table that follows. */
export function placeOf(leg: Leg, within: number): number {
  const length = Math.abs(leg.to - leg.from);
  return leg.from + Math.sign(leg.to - leg.from) * Math.min(leg.profile.at(within), length);
}
