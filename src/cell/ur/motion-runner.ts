/**
 * One motion at a time through the control program on the robot: checked against the envelope, sent, watched by RTDE until
 * the arm stands, and judged by where it stands.
 */
import { monotonicNow } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import type { Transform } from "../../base/transform.js";
import type { ArmWatch } from "./arm-watch.js";
import { queueLength, reverseCommand } from "./codec/reverse.js";
import { checkJointWay, checkLinearWay, type UrEnvelope } from "./envelope.js";
import {
  forward,
  poseError,
  poseVector,
  type DhParameters,
  type JointLimits,
  type Joints,
} from "./kinematics.js";
import type { ArmCommand, JudgedMoves, ReverseLink } from "./reverse-link.js";
import type { UrSample } from "./ur-sample.js";
import type { JointPace, LinearPace, MotionTolerance, MoveReport } from "./ur-types.js";

interface Course {
  readonly moves: JudgedMoves;
  readonly target: Joints;
  readonly goal: Transform;
  readonly expectedS: number;
}

export interface MotionLimits {
  readonly envelope: UrEnvelope;
  readonly joints: JointLimits;
  readonly tolerance: MotionTolerance;
  readonly stopDecelerationRadS2: number;
}

export class MotionRunner {
  private running: { interrupted: CellError | undefined } | undefined;

  constructor(
    private readonly watch: ArmWatch,
    private readonly reverse: ReverseLink,
    private readonly limits: MotionLimits,
    private readonly geometry: () => DhParameters,
    /** The newest sample is too old to watch a motion by; called while one runs. */
    private readonly onStale: (ageS: number) => void,
  ) {}

  get busy(): boolean {
    return this.running !== undefined;
  }

  /** Ends the motion that runs, if any, with this reason; the arm is braked by whoever calls. */
  interrupt(reason: CellError): void {
    if (this.running) this.running.interrupted ??= reason;
  }

  /** Through points in joint space. @throws CellError SAFETY_ENVELOPE before anything is sent; LINK_ABORTED … */
  async joints(
    points: readonly (readonly number[])[],
    pace: JointPace & { readonly blendM: number },
    signal: AbortSignal,
  ): Promise<MoveReport> {
    if (points.length < 1 || points.length > queueLength) {
      throw new CellError(
        "SAFETY_ENVELOPE",
        `UR: ${points.length} points in one path, 1 to ${queueLength} are possible`,
      );
    }
    const { envelope, joints } = this.limits;
    const { speedRadS: speed, accelerationRadS2: acceleration } = pace;
    const { q } = this.start();
    const commands = points.map((values, i): ArmCommand => {
      const blend = i === points.length - 1 ? 0 : pace.blendM;
      return { kind: reverseCommand.MOVE_JOINTS, values, speed, acceleration, blend };
    });
    const moves = this.judge(commands, q);
    let at = q;
    let expectedS = 0;
    for (const point of points) {
      const target = checkJointWay(envelope, this.geometry(), joints, at, point);
      const way = Math.max(...target.map((value, k) => Math.abs(value - (at[k] ?? 0))));
      expectedS += way / speed + speed / acceleration;
      at = target;
    }
    return this.perform({ moves, target: at, goal: forward(this.geometry(), at), expectedS }, signal);
  }

  /** The flange on a straight line to a pose in the base frame. @throws CellError as `joints` */
  async linear(goal: Transform, pace: LinearPace, signal: AbortSignal): Promise<MoveReport> {
    const { envelope, joints } = this.limits;
    const { speedMS, accelerationMS2 } = pace;
    const start = this.start();
    const dh = this.geometry();
    const move: ArmCommand = {
      kind: reverseCommand.MOVE_LINEAR,
      values: poseVector(goal),
      speed: speedMS,
      acceleration: accelerationMS2,
      blend: 0,
    };
    const moves = this.judge([move], start.q);
    const target = checkLinearWay(envelope, dh, joints, start.q, goal, speedMS);
    const twist = poseError(forward(dh, start.q), goal);
    const way = Math.max(Math.hypot(...twist.slice(0, 3)), Math.hypot(...twist.slice(3)));
    const expectedS = way / speedMS + speedMS / accelerationMS2;
    return this.perform({ moves, target, goal, expectedS }, signal);
  }

  /** Every number of the commands, before anything computes with them. */
  private judge(commands: readonly ArmCommand[], q: Joints): JudgedMoves {
    return this.reverse.judge(commands, { joints: q, pose: poseVector(forward(this.geometry(), q)) });
  }

  private start(): UrSample {
    if (this.running) throw new CellError("LINK_BUSY", "UR: another motion is under way");
    return this.watch.freshAndSafe();
  }

  private async perform(course: Course, signal: AbortSignal): Promise<MoveReport> {
    if (signal.aborted) throw new CellError("LINK_ABORTED", "UR: the motion was cancelled before it began");
    const motion: NonNullable<typeof this.running> = { interrupted: undefined };
    this.running = motion;
    const startS = monotonicNow();
    const { sequence } = course.moves;
    const staleness = this.watchAge();
    try {
      this.reverse.send(course.moves);
      const limitS = (1.5 * course.expectedS) / Math.max(0.02, this.watch.sample?.speedFraction ?? 1) + 3;
      let standing: number | undefined;
      const arrived = await this.watch.until(
        (sample) => {
          if (motion.interrupted) throw motion.interrupted;
          const status = this.reverse.latest;
          if (!sample || !status || status.done !== sequence || status.moving || !this.watch.stands(sample)) {
            standing = undefined;
            return undefined;
          }
          // At rest twice, in two samples: one could be the turning point of an overshoot.
          if (standing === undefined || sample.timestampS === standing) {
            standing ??= sample.timestampS;
            return undefined;
          }
          return sample;
        },
        limitS,
        `UR: motion ${sequence}`,
        signal,
      );
      return this.report(arrived, course, sequence, startS);
    } catch (error) {
      const failure = asCellError(error);
      // Whatever went wrong, the arm is not to go on; waits only for the confirmation.
      this.reverse.stop(this.limits.stopDecelerationRadS2);
      if (this.watch.connected) await this.watch.untilStanding(3).catch(() => undefined);
      throw failure;
    } finally {
      clearInterval(staleness);
      this.running = undefined;
    }
  }

  /** Silence brings no sample that could be judged, so a timer looks at the age of the last one. */
  private watchAge(): NodeJS.Timeout {
    const { maxSampleAgeS } = this.watch.limits;
    return setInterval(() => {
      const { sample } = this.watch;
      if (sample && this.watch.ageOf(sample) > maxSampleAgeS) this.onStale(this.watch.ageOf(sample));
    }, maxSampleAgeS * 250);
  }

  private report(sample: UrSample, course: Course, sequence: number, startS: number): MoveReport {
    const baseFromFlange = forward(this.geometry(), sample.q);
    const twist = poseError(baseFromFlange, course.goal);
    const report: MoveReport = {
      sequence,
      durationS: monotonicNow() - startS,
      q: sample.q,
      baseFromFlange,
      jointErrorRad: Math.max(...sample.q.map((value, i) => Math.abs(value - (course.target[i] ?? NaN)))),
      positionErrorM: Math.hypot(...twist.slice(0, 3)),
      rotationErrorRad: Math.hypot(...twist.slice(3)),
    };
    const { jointRad, positionM, rotationRad } = this.limits.tolerance;
    const near = report.positionErrorM <= positionM && report.rotationErrorRad <= rotationRad;
    if (!(near || report.jointErrorRad <= jointRad)) {
      throw new CellError(
        "DEVICE_NOT_SETTLED",
        `UR: stands ${(report.positionErrorM * 1e3).toFixed(3)} mm and ${report.jointErrorRad.toFixed(5)} rad off its target`,
      );
    }
    return report;
  }
}
