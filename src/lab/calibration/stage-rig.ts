/** Hands and eyes of a stage calibration: stages by name, and the needle's tip in both views. */
import type { Observation, StageName } from "./stage-plan.js";

export type StagePosition = Readonly<Record<StageName, number>>;

export interface RigLook {
  /** Tip in view 1 and 2, px. */
  readonly tips: Observation["tips"];
  /** Monotonic s. */
  readonly atS: number;
}

export interface StageRig {
  /** Width and height of the frames, px. */
  readonly size: readonly [number, number];
  /** Reported, m. */
  position(): StagePosition;
  /** Where the controller lets an axis go, m. */
  limits(stage: StageName): { readonly min: number; readonly max: number };
  /** How far the focus of view 1 and 2 follows the tip per metre of an axis, as far as it is known. */
  focusFollows(axis: "x" | "y" | "z"): readonly [number, number];
  /** Absolute, m. With `oneSided` each axis arrives from its smaller side. */
  move(targets: Partial<StagePosition>, oneSided: boolean, signal: AbortSignal): Promise<void>;
  /**
   * Medians over a few frames of each view, all exposed after now.
   * @throws CellError VISION_UNKNOWN when a view does not show the needle, CALIBRATION_REFUSED for a frame that is no measure
   */
  look(signal: AbortSignal): Promise<RigLook>;
}
