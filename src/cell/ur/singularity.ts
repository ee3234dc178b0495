/**
 * How near a posture is to each singularity of the arm. The determinant of the geometric Jacobian factors as
 *   det J = a2·a3 · sin q3 · sin q5 · (a2 cos q2 + a3 cos(q2+q3) + d5 sin(q2+q3+q4))
 * and each factor is a measure of its own: elbow, wrist, shoulder.
 */
import { singularValues } from "./linear.js";
import { jacobian, type DhParameters, type Joints } from "./kinematics.js";

export interface SingularityMeasures {
  /** |sin q5|. */
  readonly wrist: number;
  /** |sin q3|. */
  readonly elbow: number;
  /** |bracket| / (|a2| + |a3| + d5): distance of the wrist from the base axis, 0…1. */
  readonly shoulder: number;
  /** |det J| from the factored form, m³. */
  readonly manipulability: number;
  /** Smallest singular value of the Jacobian (mixed units: m/rad and rad/rad). */
  readonly smallestSingularValue: number;
}

export function singularityMeasures(dh: DhParameters, q: Joints): SingularityMeasures {
  const bracket =
    dh.a2 * Math.cos(q[1]) + dh.a3 * Math.cos(q[1] + q[2]) + dh.d5 * Math.sin(q[1] + q[2] + q[3]);
  const wrist = Math.abs(Math.sin(q[4]));
  const elbow = Math.abs(Math.sin(q[2]));
  return {
    wrist,
    elbow,
    shoulder: Math.abs(bracket) / (Math.abs(dh.a2) + Math.abs(dh.a3) + dh.d5),
    manipulability: Math.abs(dh.a2 * dh.a3 * bracket) * wrist * elbow,
    smallestSingularValue: singularValues(jacobian(dh, q)).at(-1) ?? 0,
  };
}

export type SingularityLevel = "clear" | "warn" | "stop";

export interface SingularityLimits {
  /** A factor below this is reported. */
  readonly warn: number;
  /** A factor below this forbids motion towards it. */
  readonly stop: number;
  /** A level is left only when every factor is above its limit by this ratio. */
  readonly hysteresis: number;
}

export const defaultSingularityLimits: SingularityLimits = { warn: 0.12, stop: 0.05, hysteresis: 1.2 };

/** Level with hysteresis: raised at once, lowered only past the limit by the hysteresis ratio. */
export function singularityLevel(
  measures: SingularityMeasures,
  previous: SingularityLevel,
  limits: SingularityLimits = defaultSingularityLimits,
): SingularityLevel {
  const least = Math.min(measures.wrist, measures.elbow, measures.shoulder);
  const stop = previous === "stop" ? limits.stop * limits.hysteresis : limits.stop;
  if (!(least >= stop)) return "stop";
  const warn = previous === "clear" ? limits.warn : limits.warn * limits.hysteresis;
  return least >= warn ? "clear" : "warn";
}
