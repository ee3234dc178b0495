/**
 * The arm as the controller drives it: one motion at a time, evaluated at control steps, with the limits that end in a
 * protective stop. Time is the controller's; speed scaling stretches programmed motions.
 */
import { norm, type Transform } from "../../base/transform.js";
import { compliantTwist, intoFrame, outOfFrame, type Compliance } from "./arm-compliance.js";
import { jointSpeedsFor, toolPose, toolTwistColumns, type DhTable } from "./arm-geometry.js";
import { ArmRefusal, type ArmLimits, type ArmViolation } from "./arm-limits.js";
import {
  arcPath,
  checkJoints,
  jointPath,
  linePath,
  positive,
  postureOf,
  shifted,
  type Path,
  type PathPace,
  type PathStart,
} from "./arm-paths.js";
import { trackedStep, type Tracking } from "./arm-tracking.js";
import {
  atRest,
  jointSpeeding,
  jointStop,
  overlaid,
  piece,
  ToolMotion,
  type ArmPoint,
  type Motion,
} from "./motion.js";

/** How many control steps back programs can ask. */
const pastSteps = 64;

/** How long a pause takes to bring a motion to rest on its path, s. */
const pauseS = 0.3;
const six = (): number[] => [0, 0, 0, 0, 0, 0];

export class Arm {
  tcpOffset: readonly number[] = [0, 0, 0, 0, 0, 0];
  /** 0…1, the slider. */
  speedFraction = 1;
  /** Whoever started the motion that runs; another may not interfere. */
  owner: object | undefined;
  /** Times that the arm came to rest after a motion. */
  arrivals = 0;
  /** Where the newest move of a program leads: the pose of the tool. */
  waypoint: readonly number[] | undefined;
  /** Joint angles of the last control steps, the newest last. */
  readonly past: (readonly number[])[] = [];
  /** Controller time at which it came to rest. */
  restSinceS = 0;
  /** Force (N) and torque (N·m) that act on the tool, in the base frame. */
  wrench: readonly number[] = six();
  /** Programmed motions come to rest on their path while it is so, and go on afterwards. */
  paused = false;

  private motion: Motion;
  private motionTimeS = 0;
  private tracking: Tracking | undefined;
  private speedExpiresS = Infinity;
  private point: ArmPoint;
  private timeS = 0;
  private moving = false;
  private ownPace = false;
  private lastServoTarget: readonly number[] | undefined;
  private blendFromS = Infinity;
  private abandoned = false;
  private pace = 1;
  private compliance: Compliance | undefined;
  /** Speed of the tool in the frame of the compliance; joint angles by which the arm has given way, and their speed. */
  private twist = six();
  private given = six();
  private givingWay = six();

  constructor(
    readonly table: DhTable,
    readonly limits: ArmLimits,
    initialQ: readonly number[],
    readonly stepS: number,
  ) {
    this.motion = atRest([...initialQ]);
    this.point = this.motion.at(0);
  }

  get q(): readonly number[] {
    return this.point.q;
  }
  get qd(): readonly number[] {
    return this.point.qd;
  }
  get isMoving(): boolean {
    return this.moving || this.givesWay;
  }
  /** On the way of a motion, whatever a compliant arm does meanwhile. */
  get isOnPath(): boolean {
    return this.moving;
  }
  private get givesWay(): boolean {
    return this.givingWay.some((speed) => speed !== 0);
  }
  /** What the trajectory limiter does now. */
  get speedScaling(): number {
    return this.speedFraction;
  }
  get tool(): Transform {
    return toolPose(this.table, this.point.q, this.tcpOffset);
  }
  get toolTwist(): number[] {
    const columns = toolTwistColumns(this.table, this.point.q, this.tcpOffset);
    return [0, 1, 2, 3, 4, 5].map((row) =>
      columns.reduce((sum, column, i) => sum + (column[row] ?? 0) * (this.point.qd[i] ?? 0), 0),
    );
  }

  /** Joint angles at a time since the last control step, by the motion that runs. */
  positionsAt(sinceStepS: number): number[] {
    const sinceS = Math.max(0, sinceStepS);
    const scale = this.scale();
    const { q } = this.motion.at(this.motionTimeS + (scale === 0 ? 0 : sinceS * scale));
    const withinS = Math.min(sinceS, this.stepS);
    return q.map((value, i) => value + (this.given[i] ?? 0) + (this.givingWay[i] ?? 0) * withinS);
  }

  /** The slider stretches programmed motions; stops, speeds and servo targets keep their own time. */
  private scale(): number {
    return this.ownPace ? 1 : this.speedFraction * this.pace;
  }

  private pointNow(): ArmPoint {
    const { q, qd } = this.motion.at(this.motionTimeS);
    const scale = this.scale();
    const own: ArmPoint = { q, qd: scale === 1 ? qd : qd.map((value) => value * scale) };
    if (!this.compliance) return own;
    return {
      q: own.q.map((value, i) => value + (this.given[i] ?? 0)),
      qd: own.qd.map((value, i) => value + (this.givingWay[i] ?? 0)),
    };
  }

  /** One control step to controller time `timeS`. */
  advance(timeS: number): ArmViolation | undefined {
    this.timeS = timeS;
    const change = this.stepS / pauseS;
    this.pace = Math.max(0, Math.min(1, this.pace + (this.paused ? -change : change)));
    this.motionTimeS += this.stepS * this.scale();
    if (this.compliance) this.giveWay(this.compliance);
    this.point = this.pointNow();
    this.past.push(this.point.q);
    if (this.past.length > pastSteps) this.past.shift();
    const violation = this.checkPoint();
    if (violation) return violation;
    if (this.tracking) {
      if (timeS > this.tracking.expiresS + 1e-9) this.stopJoints(this.defaultDeceleration);
      else return this.follow(this.tracking);
    } else if (timeS > this.speedExpiresS + 1e-9) {
      this.stopJoints(this.defaultDeceleration);
    } else if (this.motionTimeS >= this.motion.durationS && this.moving) {
      this.moving = false;
      this.arrived();
    }
    return undefined;
  }

  /** From now on the arm gives way, or no longer; what it does then is braked. */
  comply(compliance: Compliance | undefined): void {
    if (compliance === undefined && this.givesWay) {
      const { point } = this;
      this.begin(jointStop(point, this.defaultDeceleration), true);
    } else if (compliance === undefined && this.compliance) this.keepGiven();
    if (!compliance || !this.compliance) this.twist = six();
    this.givingWay = compliance ? this.givingWay : six();
    this.compliance = compliance;
  }

  private giveWay(compliance: Compliance): void {
    const { table, tcpOffset, point, stepS } = this;
    const moved = this.givesWay;
    const frame = compliance.frame(this.tool, this.toolTwist);
    this.twist = compliantTwist(compliance, this.twist, intoFrame(frame, this.wrench), stepS);
    this.givingWay = this.twist.every((speed) => speed === 0)
      ? six()
      : jointSpeedsFor(toolTwistColumns(table, point.q, tcpOffset), outOfFrame(frame, this.twist), 1e-4);
    this.given = this.given.map((value, i) => value + (this.givingWay[i] ?? 0) * stepS);
    if (moved && !this.givesWay && !this.moving) this.arrived();
  }

  /** What the arm has given way by becomes part of its motion. */
  private keepGiven(): void {
    if (this.given.every((value) => value === 0)) return;
    this.motion = shifted(this.motion, this.given);
    this.given = six();
  }

  private arrived(): void {
    this.arrivals++;
    this.restSinceS = this.timeS;
  }

  private get defaultDeceleration(): number {
    return Math.min(4, this.limits.jointAccelerationRadS2);
  }

  private checkPoint(): ArmViolation | undefined {
    const { jointPositionRad, jointSpeedRadS } = this.limits;
    if (this.motion instanceof ToolMotion && this.motionTimeS > this.motion.failedAt) {
      return { code: 204, text: "path sanity check failed: no joint angles on the path" };
    }
    for (let i = 0; i < 6; i++) {
      const q = this.point.q[i] ?? 0;
      const qd = this.point.qd[i] ?? 0;
      if (Math.abs(q) > jointPositionRad && q * qd > 0) {
        return { code: 150, text: `joint ${i} close to its limit`, joint: i };
      }
      if (Math.abs(qd) > 1.05 * jointSpeedRadS && this.isMoving) {
        return { code: 153, text: `joint ${i} too fast to follow the path`, joint: i };
      }
    }
    return undefined;
  }

  private follow(tracking: Tracking): ArmViolation | undefined {
    const { point, table, tcpOffset, limits, stepS } = this;
    const to = trackedStep(tracking, { point, table, tcpOffset, limits, stepS });
    if (!Array.isArray(to)) return to;
    this.motion = piece(this.point.q, to, stepS);
    this.given = six();
    this.motionTimeS = 0;
    return undefined;
  }

  /** Follows a setpoint from now on, and at once when it followed none of this kind. */
  private track(tracking: Tracking): ArmViolation | undefined {
    if (this.tracking?.kind !== tracking.kind) {
      this.begin(this.motion, true);
      const violation = this.follow(tracking);
      if (violation) return violation;
    }
    this.tracking = tracking;
    return undefined;
  }

  private begin(motion: Motion, ownPace = false): void {
    this.motion = motion;
    this.given = six();
    this.ownPace = ownPace;
    this.motionTimeS = 0;
    this.tracking = undefined;
    this.speedExpiresS = Infinity;
    this.lastServoTarget = undefined;
    this.blendFromS = Infinity;
    this.abandoned = false;
    this.moving = true;
  }

  /** Where a new path begins: from rest, or from the end of what still runs out. */
  private pathStart(): PathStart {
    const first = this.compliance ? shifted(this.motion, this.given) : this.motion;
    const sinceS = this.motionTimeS;
    if (!this.moving) return { q: this.point.q, join: (next) => next };
    if (Number.isFinite(this.blendFromS) && Number.isFinite(first.durationS)) {
      return { q: first.at(first.durationS).q, join: (next) => overlaid(first, sinceS, next) };
    }
    const stop = jointStop(first.at(sinceS), this.defaultDeceleration);
    return { q: stop.at(stop.durationS).q, join: (next) => overlaid(stop, 0, next) };
  }

  /** The joint angles of a tool pose near the present ones. @throws ArmRefusal */
  postureFor(tool: readonly number[], near = this.point.q, tcpOffset = this.tcpOffset): number[] {
    return postureOf(this.table, tool, near, tcpOffset);
  }

  /** @throws ArmRefusal */
  moveJoints(target: readonly number[], pace: PathPace): void {
    this.take(jointPath(this, this.pathStart(), target, pace));
  }
  /** Straight line of the tool to a pose. @throws ArmRefusal */
  moveTool(target: readonly number[], pace: PathPace): void {
    this.take(linePath(this, this.pathStart(), target, pace));
  }
  /** Arc of the tool. @throws ArmRefusal */
  moveArc(via: readonly number[], target: readonly number[], pace: PathPace, followsArc: boolean): void {
    this.take(arcPath(this, this.pathStart(), via, target, pace, followsArc));
  }

  private take(path: Path): void {
    this.begin(path.motion);
    this.blendFromS = path.blendFromS;
    this.waypoint = path.waypoint;
  }

  servo(
    target: readonly number[],
    lookaheadS: number,
    gain: number,
    holdS: number,
  ): ArmViolation | undefined {
    checkJoints(target, this.limits);
    const reference = this.lastServoTarget ?? this.point.q;
    const jump = Math.max(...target.map((value, i) => Math.abs(value - (reference[i] ?? 0))));
    if (jump > this.limits.servoJumpRad) {
      return {
        code: 204,
        text: `path sanity check failed: sudden change in target position (${jump.toFixed(3)} rad)`,
      };
    }
    const away = Math.max(...target.map((value, i) => Math.abs(value - (this.point.q[i] ?? 0))));
    if (away > this.limits.servoDeviationRad) {
      return { code: 153, text: `position deviates from path (${away.toFixed(3)} rad)` };
    }
    const expiresS = this.timeS + holdS + this.stepS;
    const violation = this.track({ kind: "servo", target, lookaheadS, gain, expiresS });
    if (violation) return violation;
    this.lastServoTarget = target;
    return undefined;
  }

  speedJoints(target: readonly number[], acceleration: number, holdS: number): undefined {
    if (target.length !== 6 || !target.every(Number.isFinite))
      throw new ArmRefusal("six joint speeds expected");
    const limit = this.limits.jointSpeedRadS;
    const clipped = target.map((value) => Math.max(-limit, Math.min(limit, value)));
    const a = positive(acceleration, this.limits.jointAccelerationRadS2, "acceleration");
    this.begin(jointSpeeding(this.point, clipped, a), true);
    this.speedExpiresS = this.timeS + holdS + this.stepS;
  }

  speedTool(target: readonly number[], acceleration: number, holdS: number): ArmViolation | undefined {
    if (target.length !== 6 || !target.every(Number.isFinite))
      throw new ArmRefusal("a twist of six numbers expected");
    const a = positive(acceleration, this.limits.toolAccelerationMS2, "acceleration");
    const twist = this.tracking?.kind === "tool-speed" ? this.tracking.twist : this.toolTwist;
    const expiresS = this.timeS + holdS + this.stepS;
    return this.track({ kind: "tool-speed", target, acceleration: a, expiresS, twist });
  }

  /** All joints to rest, the fastest with this deceleration (rad/s²). */
  stopJoints(deceleration: number): undefined {
    const a = Math.min(Math.max(deceleration, 0.1), this.limits.jointAccelerationRadS2);
    if (!this.moving) return;
    this.begin(jointStop(this.point, a), true);
  }

  /** The tool to rest along its path (m/s²), or all joints when it follows none. */
  stopTool(deceleration: number): undefined {
    if (!this.moving) return;
    const a = Math.min(Math.max(deceleration, 0.01), this.limits.toolAccelerationMS2);
    if (this.motion instanceof ToolMotion) {
      const speed = norm([this.toolTwist[0] ?? 0, this.toolTwist[1] ?? 0, this.toolTwist[2] ?? 0]);
      const turning = norm([this.toolTwist[3] ?? 0, this.toolTwist[4] ?? 0, this.toolTwist[5] ?? 0]);
      const durationS = Math.max(speed, turning, 1e-9) / a;
      const pace = this.scale();
      const share = this.motion.courseSpeed(this.motionTimeS) * pace;
      const stop = this.motion.stopAlongPath(this.motionTimeS, Math.max(share, 1e-9) / durationS, pace);
      this.begin(stop, true);
      return;
    }
    const speed = Math.max(
      norm([this.toolTwist[0] ?? 0, this.toolTwist[1] ?? 0, this.toolTwist[2] ?? 0]),
      1e-6,
    );
    const fastest = Math.max(...this.point.qd.map(Math.abs));
    this.stopJoints(Math.max(0.5, (fastest * a) / speed));
  }

  /** Whether the motion is over, or far enough that the next may be blended in. */
  get mayProceed(): boolean {
    return !this.moving || this.motionTimeS >= this.blendFromS;
  }

  /** Whoever commanded the motion is gone: it is braked unless somebody takes over in the same control step. */
  abandon(): void {
    this.abandoned = true;
  }
  settleAbandoned(): void {
    if (this.abandoned && this.moving) this.stopJoints(this.defaultDeceleration);
    this.abandoned = false;
  }

  /** Takes the arm to rest without a motion: brakes closed. */
  hold(): void {
    const moved = this.moving;
    this.begin(atRest(this.point.q));
    this.point = this.motion.at(0);
    this.moving = false;
    if (moved) this.arrived();
  }
}
