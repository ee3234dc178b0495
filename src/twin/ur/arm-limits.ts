/** What an arm can do, and what it says when more is asked of it. */

export interface ArmLimits {
  /** rad, both ways. */
  readonly jointPositionRad: number;
  /** rad/s. */
  readonly jointSpeedRadS: number;
  /** rad/s². */
  readonly jointAccelerationRadS2: number;
  /** m/s and m/s² of the tool. */
  readonly toolSpeedMS: number;
  readonly toolAccelerationMS2: number;
  /** A jump between two servo targets beyond this is a sudden change (C204). */
  readonly servoJumpRad: number;
  /** A servo target further from the arm than this is a deviation from the path (C153). */
  readonly servoDeviationRad: number;
}

export const ur5Limits: ArmLimits = {
  jointPositionRad: 2 * Math.PI,
  jointSpeedRadS: Math.PI,
  jointAccelerationRadS2: 40,
  toolSpeedMS: 3,
  toolAccelerationMS2: 150,
  servoJumpRad: 0.16,
  servoDeviationRad: 0.35,
};

/** Why the arm must stop at once. */
export interface ArmViolation {
  readonly code: number;
  readonly text: string;
  /** The joint that is to blame, if one is. */
  readonly joint?: number;
}

/** A target that the arm cannot take; the text goes into a runtime exception. */
export class ArmRefusal extends Error {
  override readonly name = "ArmRefusal";
}
