/** Motions whose setpoint is renewed every control step: servo targets and tool speeds, followed one step at a time. */
import { jointSpeedsFor, toolTwistColumns, type DhTable } from "./arm-geometry.js";
import type { ArmLimits, ArmViolation } from "./arm-limits.js";
import type { ArmPoint } from "./motion.js";

export type Tracking =
  | {
      readonly kind: "servo";
      readonly target: readonly number[];
      readonly lookaheadS: number;
      readonly gain: number;
      readonly expiresS: number;
    }
  | {
      readonly kind: "tool-speed";
      readonly target: readonly number[];
      readonly acceleration: number;
      readonly expiresS: number;
      /** What the tool does now; approaches the target. */
      twist: number[];
    };

export interface TrackedArm {
  readonly point: ArmPoint;
  readonly table: DhTable;
  readonly tcpOffset: readonly number[];
  readonly limits: ArmLimits;
  readonly stepS: number;
}

/** P-like: the lookahead sets the time constant, a higher gain sharpens it. */
function servoSpeeds(tracking: Extract<Tracking, { kind: "servo" }>, { point, stepS }: TrackedArm): number[] {
  const constant = Math.max(stepS, tracking.lookaheadS * Math.sqrt(300 / tracking.gain));
  const share = 1 - Math.exp(-stepS / constant);
  return point.q.map((value, i) => (((tracking.target[i] ?? value) - value) * share) / stepS);
}

function toolSpeeds(tracking: Extract<Tracking, { kind: "tool-speed" }>, arm: TrackedArm): number[] {
  const change = tracking.target.map((value, i) => value - (tracking.twist[i] ?? 0));
  const largest = Math.max(Math.hypot(...change.slice(0, 3)), Math.hypot(...change.slice(3)));
  const share = largest > 0 ? Math.min(1, (tracking.acceleration * arm.stepS) / largest) : 1;
  tracking.twist = tracking.twist.map((value, i) => value + (change[i] ?? 0) * share);
  return jointSpeedsFor(toolTwistColumns(arm.table, arm.point.q, arm.tcpOffset), tracking.twist, 1e-4);
}

/** Joint angles one control step on, or why the arm must stop. */
export function trackedStep(tracking: Tracking, arm: TrackedArm): number[] | ArmViolation {
  const { point, limits, stepS } = arm;
  const wanted = tracking.kind === "servo" ? servoSpeeds(tracking, arm) : toolSpeeds(tracking, arm);
  const limit = limits.jointSpeedRadS;
  if (tracking.kind === "tool-speed" && wanted.some((value) => Math.abs(value) > limit)) {
    return { code: 153, text: "a joint would be too fast for the speed of the tool" };
  }
  const most = limits.jointAccelerationRadS2 * stepS;
  return point.q.map((value, i) => {
    const before = point.qd[i] ?? 0;
    const speed = Math.max(before - most, Math.min(before + most, wanted[i] ?? 0));
    return value + Math.max(-limit, Math.min(limit, speed)) * stepS;
  });
}
