/** Paths that programs command: joint moves, straight lines and arcs of the tool, from where the arm stands or runs out. */
import { multiply, norm, rotationAbout, subtract, type Transform } from "../../base/transform.js";
import {
  between,
  findPosture,
  flangeFor,
  fromPose,
  poseDifference,
  toPose,
  toolPose,
  type DhTable,
} from "./arm-geometry.js";
import { ArmRefusal, type ArmLimits } from "./arm-limits.js";
import { arcThrough } from "./circle.js";
import { atRest, jointMotion, ToolMotion, trapezoid, type Course, type Motion } from "./motion.js";

/** What a path is made from. */
export interface PathArm {
  readonly table: DhTable;
  readonly limits: ArmLimits;
  readonly tcpOffset: readonly number[];
  readonly stepS: number;
}

/** Where a path begins: from rest, or from the end of what still runs out. */
export interface PathStart {
  readonly q: readonly number[];
  readonly join: (next: Motion) => Motion;
}

export interface PathPace {
  /** rad/s and rad/s² of joints, m/s and m/s² of the tool. */
  readonly speed: number;
  readonly acceleration: number;
  /** Above zero the time rules. */
  readonly durationS?: number;
  /** Radius around the target within which the next move may begin. */
  readonly blendM?: number;
}

export interface Path {
  readonly motion: Motion;
  /** From when on the next move may be blended in; Infinity without a blend. */
  readonly blendFromS: number;
  /** Where it leads: the pose of the tool. */
  readonly waypoint: readonly number[];
}

/** @throws ArmRefusal unless these are six angles within the limits. */
export function checkJoints(q: readonly number[], limits: ArmLimits): void {
  if (q.length !== 6 || !q.every(Number.isFinite))
    throw new ArmRefusal("joint positions must be six numbers");
  const beyond = q.findIndex((value) => Math.abs(value) > limits.jointPositionRad + 1e-9);
  if (beyond >= 0) throw new ArmRefusal(`target of joint ${beyond} outside its limits`);
}

/** The value, at most the limit. @throws ArmRefusal unless it is above zero */
export function positive(value: number, limit: number, what: string): number {
  if (!(value > 0) || !Number.isFinite(value)) throw new ArmRefusal(`${what} must be positive`);
  return Math.min(value, limit);
}

/** The joint angles of a tool pose near these. @throws ArmRefusal */
export function postureOf(
  table: DhTable,
  tool: readonly number[],
  near: readonly number[],
  tcpOffset: readonly number[],
): number[] {
  const found = findPosture(table, flangeFor(fromPose(tool), tcpOffset), near);
  if (!found) throw new ArmRefusal(`get_inverse_kin: no solution for p[${tool.join(", ")}]`);
  return found;
}

export function jointPath(arm: PathArm, start: PathStart, target: readonly number[], pace: PathPace): Path {
  checkJoints(target, arm.limits);
  const waypoint = toPose(toolPose(arm.table, target, arm.tcpOffset));
  const length = Math.max(...target.map((value, i) => Math.abs(value - (start.q[i] ?? 0))));
  if (length < 1e-12) return { motion: start.join(atRest(target)), blendFromS: Infinity, waypoint };
  const v = positive(pace.speed, arm.limits.jointSpeedRadS, "velocity");
  const a = positive(pace.acceleration, arm.limits.jointAccelerationRadS2, "acceleration");
  const course = trapezoid(length, v, a, pace.durationS);
  return blended(arm, start.join(jointMotion(start.q, target, course)), course, pace, waypoint);
}

/** Straight line of the tool to a pose. */
export function linePath(arm: PathArm, start: PathStart, target: readonly number[], pace: PathPace): Path {
  const from = toolPose(arm.table, start.q, arm.tcpOffset);
  const to = fromPose(target);
  const difference = poseDifference(from, to);
  const length = Math.hypot(...difference.slice(0, 3));
  const angle = Math.hypot(...difference.slice(3));
  if (length < 1e-9 && angle < 1e-9)
    return { motion: start.join(atRest(start.q)), blendFromS: Infinity, waypoint: target };
  postureOf(arm.table, target, start.q, arm.tcpOffset);
  return toolPath(arm, start, (share) => between(from, to, share), { length, angle }, pace, target);
}

/**
 * Arc of the tool from where it is through the position of `via` to that of `target`. The orientation turns evenly to the
 * target's, or, when `followsArc`, keeps its angle to the arc; then the target's orientation does not matter.
 */
export function arcPath(
  arm: PathArm,
  start: PathStart,
  via: readonly number[],
  target: readonly number[],
  pace: PathPace,
  followsArc: boolean,
): Path {
  const from = toolPose(arm.table, start.q, arm.tcpOffset);
  const goal = fromPose(target);
  const arc = arcThrough(from.translation, fromPose(via).translation, goal.translation);
  const place = (share: number): Transform => ({
    translation: arc.at(share),
    rotation: followsArc
      ? multiply(rotationAbout(arc.axis, arc.angle * share), from.rotation)
      : between(from, goal, share).rotation,
  });
  const waypoint = toPose(place(1));
  postureOf(arm.table, waypoint, start.q, arm.tcpOffset);
  const angle = followsArc ? 0 : Math.hypot(...poseDifference(from, goal).slice(3));
  return toolPath(arm, start, place, { length: arc.radius * arc.angle, angle }, pace, waypoint);
}

/** The slower of translation and rotation sets the pace; rotation uses the same numbers in radians. */
function toolPath(
  arm: PathArm,
  start: PathStart,
  place: (share: number) => Transform,
  { length, angle }: { readonly length: number; readonly angle: number },
  pace: PathPace,
  waypoint: readonly number[],
): Path {
  const v = positive(pace.speed, arm.limits.toolSpeedMS, "velocity");
  const a = positive(pace.acceleration, arm.limits.toolAccelerationMS2, "acceleration");
  const linear = length > 0 ? trapezoid(length, v, a).durationS : 0;
  const angular = angle > 0 ? trapezoid(angle, v, a).durationS : 0;
  const way = linear >= angular ? length : angle;
  const course = trapezoid(1, v / way, a / way, pace.durationS);
  const motion = new ToolMotion(arm.table, arm.tcpOffset, place, course, start.q, arm.stepS);
  return blended(arm, start.join(motion), course, pace, waypoint);
}

function blended(
  arm: PathArm,
  motion: Motion,
  course: Course,
  { blendM = 0 }: PathPace,
  waypoint: readonly number[],
): Path {
  const blendFromS = blendM > 0 ? Math.max(course.brakingS, timeNearEnd(arm, motion, blendM)) : Infinity;
  return { motion, blendFromS, waypoint };
}

function timeNearEnd(arm: PathArm, motion: Motion, blendM: number): number {
  const tip = (t: number): Transform => toolPose(arm.table, motion.at(t).q, arm.tcpOffset);
  const end = tip(motion.durationS).translation;
  let low = 0;
  let high = motion.durationS;
  for (let i = 0; i < 30; i++) {
    const middle = (low + high) / 2;
    if (norm(subtract(tip(middle).translation, end)) > blendM) low = middle;
    else high = middle;
  }
  return high;
}

/** `motion` carried on with its joint angles off by `offset`: what a compliant arm has given way by. */
export const shifted = (motion: Motion, offset: readonly number[]): Motion => ({
  durationS: motion.durationS,
  at(t) {
    const { q, qd } = motion.at(t);
    return { q: q.map((value, i) => value + (offset[i] ?? 0)), qd };
  },
});
