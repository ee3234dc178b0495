/**
 * Hands and eyes of the calibrations that move the head as a whole: the arm, the stages X, Y, Z that carry the needle in the
 * head, the needle's own drive, and the needle in both views.
 */
import type { Transform, Vec3 } from "../../base/transform.js";

export type Pixel = readonly [number, number];

export interface HeadLook {
  /** Tip in view 1 and 2, px. */
  readonly tips: readonly [Pixel, Pixel];
  /** Image direction of the needle, unit, out of the tip. */
  readonly directions: readonly [Pixel, Pixel];
  /** Monotonic s. */
  readonly atS: number;
}

export interface HeadRig {
  /** Width and height of the frames, px. */
  readonly size: readonly [number, number];
  /** baseFromFlange as the arm reports. */
  flange(): Transform;
  /** X, Y, Z as reported, m: where the tip of the withdrawn needle is in the head. */
  stages(): Vec3;
  /** The tip in the arm's base as reported, m. */
  tip(): Vec3;
  /** Away from the tissue, in the head frame. */
  up(): Vec3;
  /** Image motion u1, v1, u2, v2 per metre along the axes of the head, as far as it is known, px/m: 4 × 3. */
  motion(): readonly (readonly [number, number, number])[];
  /**
   * Moves X, Y, Z, arriving from one side. The focus follows as if the tip went `fromHome` (head frame, m) away from where
   * it was when `setHome` was called.
   */
  moveStages(to: Vec3, fromHome: Vec3, signal: AbortSignal): Promise<void>;
  /** Where the tip is now, it is sharp. */
  setHome(): void;
  /** Turns the head about the tip as reported, by a rotation vector in the flange frame, rad. */
  turn(vector: Vec3, signal: AbortSignal): Promise<void>;
  /** Moves the head away from the tissue by `distanceM` and back to where the arm stood. */
  awayAndBack(distanceM: number, signal: AbortSignal): Promise<void>;
  /** Position of the needle's drive, m, and a slow move of it. */
  needle(): number;
  moveNeedle(to: number, signal: AbortSignal): Promise<void>;
  /**
   * Medians over a few frames of each view, all exposed after now.
   * @throws CellError VISION_UNKNOWN when a view does not show the needle, CALIBRATION_REFUSED for a frame that is no measure
   */
  look(signal: AbortSignal): Promise<HeadLook>;
}
