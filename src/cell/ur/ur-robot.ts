/**
 * Driver of a UR arm. Goal commands run on the robot, in a control program that stops the arm by itself when this process
 * falls silent; safety decisions come from RTDE alone; after any fault the control program is gone and every target with
 * it. Owner of all links to this controller.
 */
import { randomInt } from "node:crypto";
import { EventEmitter } from "node:events";
import { asCellError, CellError } from "../../base/errors.js";
import { monotonicNow } from "../../base/clock.js";
import type { Transform } from "../../base/transform.js";
import { robotMode, robotModeName, safetyModeName } from "./codec/enums.js";
import type { RobotMessage } from "./codec/primary.js";
import { queueLength, reverseCommand } from "./codec/reverse.js";
import { parseVersion, versionText } from "./codec/version.js";
import { controlScript, stopScript } from "./control-script.js";
import { DashboardClient } from "./dashboard-client.js";
import { checkJointMotion, checkLinearMotion, defaultEnvelope, type UrEnvelope } from "./envelope.js";
import { forward, poseError, poseVector, type Joints } from "./kinematics.js";
import { silent, type Log } from "./link.js";
import { PrimaryClient } from "./primary-client.js";
import { geometryOf, jointLimitsOf, type UrProfile } from "./profile.js";
import { ReverseLink } from "./reverse-link.js";
import { RtdeClient, rtdeDefaults, type RtdeSample } from "./rtde-client.js";
import { optionalFields, readSample, requiredFields, type UrSample } from "./ur-sample.js";
import {
  singularityLevel,
  singularityMeasures,
  type SingularityLevel,
  type SingularityMeasures,
} from "./singularity.js";

export interface UrRobotOptions {
  readonly host: string;
  readonly ports: { readonly rtde: number; readonly dashboard: number; readonly primary: number };
  /** Where the control program connects back to; the address the controller sees us at, and a free port, when left out. */
  readonly reverse?: { readonly host?: string; readonly port?: number };
  readonly profile: UrProfile;
  readonly envelope?: UrEnvelope;
  /** Silence after which the robot stops by itself. */
  readonly readTimeoutS?: number;
  readonly keepAliveS?: number;
  /** Deceleration of the joints when stopping, rad/s². */
  readonly stopDecelerationRadS2?: number;
  /** Oldest sample on which a motion may begin or go on. */
  readonly maxSampleAgeS?: number;
  /** How near the arm must stand to its target. */
  readonly tolerance?: Partial<MotionTolerance>;
  readonly bootLimitS?: number;
  readonly log?: Log;
}

export interface MotionTolerance {
  readonly jointRad: number;
  readonly positionM: number;
  readonly rotationRad: number;
  /** A joint slower than this stands. */
  readonly standstillRadS: number;
}

export type UrLifecycle = "unconfigured" | "inactive" | "active" | "fault" | "finalized";

export interface UrState {
  readonly lifecycle: UrLifecycle;
  readonly desired: "unconfigured" | "inactive" | "active" | "finalized";
  readonly fault: CellError | undefined;
  readonly connected: boolean;
  /** Seconds since the values below were true; Infinity when there are none. */
  readonly ageS: number;
  readonly q: Joints | undefined;
  readonly qd: Joints | undefined;
  /** By forward kinematics of the measured joint angles. */
  readonly baseFromFlange: Transform | undefined;
  readonly robotMode: string;
  readonly safetyMode: string;
  readonly emergencyStopped: boolean;
  readonly protectiveStopped: boolean;
  readonly moving: boolean;
  readonly singularity:
    { readonly level: SingularityLevel; readonly measures: SingularityMeasures } | undefined;
}

export interface JointPace {
  readonly speedRadS: number;
  readonly accelerationRadS2: number;
}
export interface LinearPace {
  readonly speedMS: number;
  readonly accelerationMS2: number;
}

export interface MoveReport {
  readonly sequence: number;
  readonly durationS: number;
  /** Measured at standstill. */
  readonly q: Joints;
  readonly baseFromFlange: Transform;
  /** Largest joint error, and the pose's, against the target. */
  readonly jointErrorRad: number;
  readonly positionErrorM: number;
  readonly rotationErrorRad: number;
}

interface Events {
  /** Lifecycle, connection or safety changed. */
  state: [UrState];
  sample: [UrSample];
  message: [RobotMessage];
}

interface Move {
  readonly kind: number;
  readonly values: readonly number[];
  readonly speed: number;
  readonly acceleration: number;
  readonly blend: number;
}

/** How long RTDE may take to tell why the control program has ended. */
const causeLimitS = 0.15;

const defaultTolerance: MotionTolerance = {
  jointRad: 1e-3,
  positionM: 1e-4,
  rotationRad: 1e-3,
  standstillRadS: 1e-3,
};

export class UrRobot extends EventEmitter<Events> {
  private readonly rtde: RtdeClient;
  private readonly dashboard: DashboardClient;
  private readonly primary: PrimaryClient;
  private readonly reverse: ReverseLink;
  private readonly envelope: UrEnvelope;
  private readonly tolerance: MotionTolerance;
  private readonly log: Log;
  private readonly stopDecelerationRadS2: number;
  private readonly maxSampleAgeS: number;

  private lifecycle: UrLifecycle = "unconfigured";
  private desired: UrState["desired"] = "unconfigured";
  private fault: CellError | undefined;
  private sample: UrSample | undefined;
  private protectiveSinceS: number | undefined;
  private singularLevel: SingularityLevel = "clear";
  private lastMessage: string | undefined;
  private motion: { interrupted: CellError | undefined } | undefined;
  private scriptExpected = false;
  private published = "";
  /** Raised by every stop: an activation that began before it may not complete. */
  private stops = 0;

  constructor(private readonly options: UrRobotOptions) {
    super();
    const { host, ports, profile } = options;
    this.log = options.log ?? silent;
    this.envelope = options.envelope ?? defaultEnvelope;
    this.tolerance = { ...defaultTolerance, ...options.tolerance };
    this.stopDecelerationRadS2 = options.stopDecelerationRadS2 ?? 5;
    this.maxSampleAgeS = options.maxSampleAgeS ?? 0.25;
    this.rtde = new RtdeClient({
      ...rtdeDefaults,
      host,
      port: ports.rtde,
      versions: profile.rtde.versions,
      frequencyHz: profile.rtde.maximumHz,
      required: requiredFields,
      optional: optionalFields,
      log: this.log,
    });
    this.dashboard = new DashboardClient({ host, port: ports.dashboard, bannerLimitS: 10, replyLimitS: 5 });
    this.primary = new PrimaryClient(host, ports.primary);
    this.reverse = new ReverseLink({
      readTimeoutS: options.readTimeoutS ?? 0.15,
      keepAliveS: options.keepAliveS ?? 0.025,
    });
    this.rtde.on("sample", (sample) => {
      this.take(sample);
    });
    this.rtde.on("link", (connected, reason) => {
      if (!connected) this.lose(reason ?? new CellError("LINK_CLOSED", "UR RTDE: connection lost"));
      this.publish();
    });
    this.primary.on("message", (message) => {
      this.hear(message);
    });
    this.reverse.on("closed", () => {
      this.programGone();
    });
  }

  /** Everything known now. Never throws. */
  state(): UrState {
    const { sample } = this;
    const connected = this.rtde.connected;
    const measures = sample && singularityMeasures(this.options.profile.geometry, sample.q);
    return {
      lifecycle: this.lifecycle,
      desired: this.desired,
      fault: this.fault,
      connected,
      ageS: sample ? Math.max(0, monotonicNow() - sample.measuredS) : Infinity,
      q: sample?.q,
      qd: sample?.qd,
      baseFromFlange: sample && forward(geometryOf(this.options.profile), sample.q),
      robotMode: sample ? (robotModeName(sample.robotMode) ?? `MODE_${sample.robotMode}`) : "UNKNOWN",
      safetyMode: sample ? (safetyModeName(sample.safetyMode) ?? `MODE_${sample.safetyMode}`) : "UNKNOWN",
      emergencyStopped: sample?.emergencyStopped ?? false,
      protectiveStopped: sample?.protectiveStopped ?? false,
      moving: sample ? !this.stands(sample) : false,
      singularity: measures && { level: this.singularLevel, measures },
    };
  }

  /**
   * Connects to a controller and checks that it is the one of the profile. Reading goes on, and reconnects by itself, from
   * here on. @throws CellError LINK_CONNECT, DEVICE_WRONG_MODEL, …
   */
  async connect(signal: AbortSignal): Promise<void> {
    this.requireLifecycle("connect", "unconfigured", "inactive");
    this.desired = "inactive";
    await this.dashboard.connect(signal);
    await this.checkModel(signal);
    await this.rtde.connect(15, signal);
    await this.primary.connect(5, signal);
    const seen = this.primary.version;
    const { software } = this.options.profile;
    if (seen && (seen.major !== software.major || seen.minor !== software.minor)) {
      throw new CellError(
        "DEVICE_WRONG_MODEL",
        `UR: software ${versionText(seen)}, the profile says ${versionText(software)}`,
      );
    }
    this.enter("inactive");
  }

  private async checkModel(signal: AbortSignal): Promise<void> {
    const { profile } = this.options;
    const { software } = profile;
    const reply = await this.dashboard.send("PolyscopeVersion", signal);
    const seen = parseVersion(reply);
    if (!seen || seen.major !== software.major || seen.minor !== software.minor) {
      throw new CellError(
        "DEVICE_WRONG_MODEL",
        `UR: '${reply}', the profile is for ${versionText(software)}`,
        {
          remedy: "choose the profile of this controller's software in firmware-profiles/",
        },
      );
    }
    // Firmware before 3.12 cannot name its model; the primary interface's robot type is checked at activation then.
    const model = await this.dashboard.ask("get robot model", signal);
    if (model !== undefined && model !== profile.model.replace(/e$/, "")) {
      throw new CellError(
        "DEVICE_WRONG_MODEL",
        `UR: the controller drives a ${model}, the profile is for a ${profile.model}`,
      );
    }
  }

  /**
   * Powers the arm, releases its brakes and starts the control program; what is already so is left alone.
   * @throws CellError DEVICE_EMERGENCY_STOP, LINK_TIMEOUT, DEVICE_REFUSED
   */
  async activate(signal: AbortSignal): Promise<void> {
    if (this.lifecycle === "active") return;
    this.requireLifecycle("activate", "inactive");
    this.desired = "active";
    const stops = this.stops;
    await this.powerUp(signal);
    if (!this.primary.connected) await this.primary.connect(5, signal);
    await this.startProgram(signal);
    if (stops !== this.stops) {
      this.endProgram();
      throw new CellError("SAFETY_STOPPED", "UR: stopped while it was being activated");
    }
    this.enter("active");
  }

  private async powerUp(signal: AbortSignal): Promise<void> {
    const reach = async (least: number, limitS: number, what: string): Promise<UrSample> =>
      this.rtde.until(
        () => {
          const { sample } = this;
          if (!sample) return undefined;
          this.refuseUnsafe(sample);
          return sample.robotMode >= least && sample.robotMode !== robotMode.BACKDRIVE ? sample : undefined;
        },
        limitS,
        `UR: ${what}`,
        signal,
      );
    let sample = await reach(robotMode.POWER_OFF, this.options.bootLimitS ?? 120, "boot");
    if (sample.robotMode === robotMode.POWER_OFF) await this.dashboard.send("power on", signal, 15);
    sample = await reach(robotMode.IDLE, 60, "power on");
    if (!sample.running) await this.dashboard.send("brake release", signal, 15);
    await reach(robotMode.RUNNING, 60, "brake release");
  }

  private refuseUnsafe(sample: UrSample): void {
    if (!sample.unsafe) return;
    const mode = safetyModeName(sample.safetyMode) ?? String(sample.safetyMode);
    throw new CellError("DEVICE_EMERGENCY_STOP", `UR: safety mode ${mode}`);
  }

  private async startProgram(signal: AbortSignal): Promise<void> {
    const { reverse } = this.options;
    const host = reverse?.host ?? this.primary.localAddress ?? "127.0.0.1";
    const session = randomInt(1, 2 ** 31 - 1);
    const port = await this.reverse.listen(host, reverse?.port ?? 0, session);
    this.lastMessage = undefined;
    const script = controlScript({
      host,
      port,
      session,
      firstTimeoutS: 2,
      stopDecelerationRadS2: this.stopDecelerationRadS2,
    });
    if (!this.primary.sendProgram(script))
      throw new CellError("LINK_CLOSED", "UR: no connection for the control program");
    try {
      await this.reverse.waitForScript(
        6,
        () => {
          if (this.lastMessage !== undefined) {
            throw new CellError("DEVICE_REFUSED", `UR: control program not started: ${this.lastMessage}`);
          }
        },
        signal,
      );
      this.scriptExpected = true;
      // The arm may still be coming to rest from whatever ran before.
      await this.waitForStandstill(5, signal);
    } catch (error) {
      this.endProgram();
      throw error;
    }
  }

  /** Moves all joints to `q` (rad), synchronously. Resolves when the arm stands there. */
  async moveJoints(q: readonly number[], pace: JointPace, signal: AbortSignal): Promise<MoveReport> {
    return this.moveThrough([q], { ...pace, blendM: 0 }, signal);
  }

  /**
   * Moves the joints through points without halting, rounding each but the last within `blendM` of the flange's path.
   * @throws CellError SAFETY_ENVELOPE before anything is sent; LINK_ABORTED, DEVICE_NOT_SETTLED, DEVICE_FAULT …
   */
  async moveThrough(
    points: readonly (readonly number[])[],
    pace: JointPace & { readonly blendM: number },
    signal: AbortSignal,
  ): Promise<MoveReport> {
    const { profile } = this.options;
    if (points.length < 1 || points.length > queueLength) {
      throw new CellError(
        "SAFETY_ENVELOPE",
        `UR: ${points.length} points in one path, 1 to ${queueLength} are possible`,
      );
    }
    if (!(pace.blendM >= 0 && pace.blendM <= 0.2)) {
      throw new CellError("SAFETY_ENVELOPE", `UR: blend radius of ${pace.blendM} m`);
    }
    let at = this.readyToMove().q;
    let longestS = 0;
    const moves = points.map((point, i): Move => {
      const target = checkJointMotion(
        this.envelope,
        profile.geometry,
        jointLimitsOf(profile),
        at,
        point,
        pace.speedRadS,
        pace.accelerationRadS2,
      );
      const way = Math.max(...target.map((value, k) => Math.abs(value - (at[k] ?? 0))));
      longestS += way / pace.speedRadS + pace.speedRadS / pace.accelerationRadS2;
      at = target;
      return {
        kind: reverseCommand.MOVE_JOINTS,
        values: target,
        speed: pace.speedRadS,
        acceleration: pace.accelerationRadS2,
        blend: i === points.length - 1 ? 0 : pace.blendM,
      };
    });
    return this.perform(moves, at, undefined, longestS, signal);
  }

  /** Moves the flange on a straight line to a pose in the base frame. Resolves when the arm stands there. */
  async moveLinear(baseFromFlange: Transform, pace: LinearPace, signal: AbortSignal): Promise<MoveReport> {
    const { profile } = this.options;
    const start = this.readyToMove();
    const target = checkLinearMotion(
      this.envelope,
      profile.geometry,
      jointLimitsOf(profile),
      start.q,
      baseFromFlange,
      pace.speedMS,
      pace.accelerationMS2,
    );
    const twist = poseError(forward(profile.geometry, start.q), baseFromFlange);
    const way = Math.max(Math.hypot(...twist.slice(0, 3)), Math.hypot(...twist.slice(3)));
    const move: Move = {
      kind: reverseCommand.MOVE_LINEAR,
      values: poseVector(baseFromFlange),
      speed: pace.speedMS,
      acceleration: pace.accelerationMS2,
      blend: 0,
    };
    return this.perform(
      [move],
      target,
      baseFromFlange,
      way / pace.speedMS + pace.speedMS / pace.accelerationMS2,
      signal,
    );
  }

  private readyToMove(): UrSample {
    this.requireLifecycle("move", "active");
    const { sample } = this;
    if (this.motion) throw new CellError("LINK_BUSY", "UR: another motion is under way");
    if (!sample || monotonicNow() - sample.measuredS > this.maxSampleAgeS) {
      const age = sample ? `${(monotonicNow() - sample.measuredS).toFixed(3)} s old` : "missing";
      throw new CellError("LINK_TIMEOUT", `UR: the arm's position is ${age}; no motion on that`);
    }
    this.refuseUnsafe(sample);
    return sample;
  }

  private async perform(
    moves: readonly Move[],
    target: Joints,
    pose: Transform | undefined,
    expectedS: number,
    signal: AbortSignal,
  ): Promise<MoveReport> {
    if (signal.aborted) throw new CellError("LINK_ABORTED", "UR: the motion was cancelled before it began");
    const motion: NonNullable<typeof this.motion> = { interrupted: undefined };
    this.motion = motion;
    const startS = monotonicNow();
    const { geometry } = this.options.profile;
    const goal = pose ?? forward(geometry, target);
    let sequence = 0;
    try {
      for (const move of moves) sequence = this.reverse.send(move);
      const limitS = (1.5 * expectedS) / Math.max(0.02, this.sample?.speedFraction ?? 1) + 3;
      let standing: number | undefined;
      const arrived = await this.rtde.until(
        () => {
          if (motion.interrupted) throw motion.interrupted;
          const { sample } = this;
          const status = this.reverse.latest;
          if (!sample || !status || status.done !== sequence || status.moving || !this.stands(sample)) {
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
      return this.report(arrived, target, goal, sequence, startS);
    } catch (error) {
      const failure = asCellError(error);
      // Whatever went wrong, the arm is not to go on; waits only for the confirmation.
      this.reverse.stop(this.stopDecelerationRadS2);
      if (this.rtde.connected) await this.waitForStandstill(3).catch(() => undefined);
      throw failure;
    } finally {
      this.motion = undefined;
    }
  }

  private report(
    sample: UrSample,
    target: Joints,
    goal: Transform,
    sequence: number,
    startS: number,
  ): MoveReport {
    const baseFromFlange = forward(this.options.profile.geometry, sample.q);
    const twist = poseError(baseFromFlange, goal);
    const report: MoveReport = {
      sequence,
      durationS: monotonicNow() - startS,
      q: sample.q,
      baseFromFlange,
      jointErrorRad: Math.max(...sample.q.map((value, i) => Math.abs(value - (target[i] ?? NaN)))),
      positionErrorM: Math.hypot(...twist.slice(0, 3)),
      rotationErrorRad: Math.hypot(...twist.slice(3)),
    };
    const { jointRad, positionM, rotationRad } = this.tolerance;
    const near = report.positionErrorM <= positionM && report.rotationErrorRad <= rotationRad;
    if (!(near || report.jointErrorRad <= jointRad)) {
      throw new CellError(
        "DEVICE_NOT_SETTLED",
        `UR: stands ${(report.positionErrorM * 1e3).toFixed(3)} mm and ${report.jointErrorRad.toFixed(5)} rad off its target`,
      );
    }
    return report;
  }

  private async waitForStandstill(limitS: number, signal?: AbortSignal): Promise<void> {
    let first: number | undefined;
    await this.rtde.until(
      () => {
        const { sample } = this;
        if (!sample || !this.stands(sample)) first = undefined;
        else if (first === undefined) first = sample.timestampS;
        else if (sample.timestampS > first) return sample;
        return undefined;
      },
      limitS,
      "UR: standstill",
      signal,
    );
  }

  private stands(sample: UrSample): boolean {
    return sample.qd.every((speed) => Math.abs(speed) < this.tolerance.standstillRadS);
  }

  /**
   * Stops the arm now, in every way there is: the control program brakes it, and a program of its own ends that one and
   * brakes again. Unconditional and idempotent; returns at once. To move again, activate anew.
   */
  stop(reason = "stopped"): void {
    this.stops++;
    this.scriptExpected = false;
    this.reverse.stop(this.stopDecelerationRadS2);
    this.primary.sendProgram(stopScript(this.stopDecelerationRadS2));
    if (this.motion) this.motion.interrupted ??= new CellError("SAFETY_STOPPED", `UR: ${reason}`);
    if (this.lifecycle === "active") {
      this.desired = "inactive";
      this.enter("inactive");
    }
    this.endProgram();
  }

  /** Lets go of the control program: it finds its link closed, brakes and ends. */
  private endProgram(): void {
    this.scriptExpected = false;
    this.reverse.close().catch(() => undefined);
  }

  /** Ends the control program in good order; the arm stays powered. */
  deactivate(): void {
    this.stop("deactivated");
  }

  /** Leaves a fault whose cause is gone; the arm must then be activated anew. @throws CellError DEVICE_EMERGENCY_STOP */
  async reset(signal: AbortSignal): Promise<void> {
    if (this.lifecycle === "inactive") return;
    this.requireLifecycle("reset", "fault");
    const sample = await this.rtde.until(() => this.sample, 10, "UR: a sample to judge a reset by", signal);
    this.refuseUnsafe(sample);
    this.fault = undefined;
    this.desired = "inactive";
    this.enter("inactive");
  }

  /**
   * After a protective stop: waits until it may be unlocked, unlocks, and starts a fresh control program. No earlier target
   * survives. The caller has found and removed the cause. @throws CellError COMMAND_INVALID when there is no such stop
   */
  async recoverProtectiveStop(signal: AbortSignal): Promise<void> {
    const { profile } = this.options;
    const sinceS = this.protectiveSinceS;
    if (sinceS === undefined)
      throw new CellError("COMMAND_INVALID", "UR: there is no protective stop to recover from");
    const waitS = Math.max(0, sinceS + profile.protectiveStopWaitS + 0.1 - monotonicNow());
    const clear = (): true | undefined => (this.sample && !this.sample.protectiveStopped ? true : undefined);
    await this.rtde
      .until(clear, waitS + 0.01, "UR: 5 s after the protective stop", signal)
      .catch((error: unknown) => {
        if (asCellError(error).code !== "LINK_TIMEOUT") throw error;
      });
    await this.dashboard.ask("close safety popup", signal);
    const untilS = monotonicNow() + 10;
    for (;;) {
      if (clear()) break;
      const refused = await this.dashboard.send("unlock protective stop", signal).then(
        () => undefined,
        (error: unknown) => asCellError(error),
      );
      if (refused && (refused.code !== "DEVICE_REFUSED" || monotonicNow() > untilS)) throw refused;
      // The reply says "releasing"; RTDE says when it is so.
      const free = await this.rtde
        .until(clear, refused ? 0.5 : 3, "UR: unlock", signal)
        .catch((error: unknown) => {
          if (asCellError(error).code !== "LINK_TIMEOUT" || monotonicNow() > untilS) throw error;
          return undefined;
        });
      if (free) break;
    }
    if (this.lifecycle === "fault") await this.reset(signal);
    await this.activate(signal);
  }

  /** Stops, and closes every link for good. */
  async close(): Promise<void> {
    if (this.lifecycle === "finalized") return;
    if (this.lifecycle === "active") this.stop("closed");
    this.desired = "finalized";
    this.enter("finalized");
    await this.reverse.close();
    this.primary.close();
    this.dashboard.close();
    await this.rtde.close();
  }

  private take(raw: RtdeSample): void {
    const sample = readSample(raw);
    const before = this.sample;
    this.sample = sample;
    if (sample.protectiveStopped) this.protectiveSinceS ??= monotonicNow();
    else this.protectiveSinceS = undefined;
    const { geometry } = this.options.profile;
    this.singularLevel = singularityLevel(
      singularityMeasures(geometry, sample.q),
      this.singularLevel,
      this.envelope.singularity,
    );
    if (this.lifecycle === "active") {
      if (sample.unsafe) {
        const mode = safetyModeName(sample.safetyMode) ?? String(sample.safetyMode);
        this.fail(new CellError("DEVICE_EMERGENCY_STOP", `UR: safety mode ${mode}${this.heard()}`));
      } else if (!sample.running) {
        this.fail(
          new CellError(
            "DEVICE_FAULT",
            `UR: no longer running (${robotModeName(sample.robotMode) ?? sample.robotMode})`,
          ),
        );
      } else if (this.motion && monotonicNow() - sample.measuredS > this.maxSampleAgeS) {
        this.fail(new CellError("LINK_TIMEOUT", "UR: samples come too late to watch a motion"));
      }
    }
    this.emit("sample", sample);
    if (before?.safetyMode !== sample.safetyMode || before.robotMode !== sample.robotMode) this.publish();
  }

  /**
   * The control program closed its link: the arm brakes. When a safety stop ended it, RTDE says so a moment later and is
   * the one to name the fault; no command can be sent meanwhile.
   */
  private programGone(): void {
    if (!this.scriptExpected) return;
    this.scriptExpected = false;
    const { stops } = this;
    setTimeout(() => {
      if (this.lifecycle !== "active" || this.stops !== stops) return;
      this.fail(new CellError("SAFETY_HEARTBEAT", `UR: the control program ended by itself${this.heard()}`));
    }, causeLimitS * 1e3);
  }

  private heard(): string {
    return this.lastMessage === undefined ? "" : ` (${this.lastMessage})`;
  }

  private hear(message: RobotMessage): void {
    this.emit("message", message);
    if (message.kind === "exception") {
      this.lastMessage = `line ${message.line}, column ${message.column}: ${message.text}`;
    } else if (message.kind === "error" && message.level >= 2) {
      this.lastMessage = `C${message.code}A${message.argument} ${message.text}`.trim();
    } else return;
    this.log.warn({ text: this.lastMessage }, "UR message");
    this.reverse.wake();
  }

  private lose(reason: CellError): void {
    this.sample = undefined;
    if (this.lifecycle === "active") this.fail(reason);
  }

  /** Latches a fault: the arm is braked and every target dropped. */
  private fail(reason: CellError): void {
    if (this.lifecycle === "fault" || this.lifecycle === "finalized") return;
    this.log.warn({ code: reason.code, detail: reason.detail }, "UR fault");
    this.stops++;
    this.reverse.stop(this.stopDecelerationRadS2);
    // A safety stop has braked the arm by itself; otherwise the second way is used too.
    if (!this.sample?.unsafe) this.primary.sendProgram(stopScript(this.stopDecelerationRadS2));
    this.fault = reason;
    if (this.motion) this.motion.interrupted ??= reason;
    this.endProgram();
    this.enter("fault");
  }

  private requireLifecycle(what: string, ...allowed: UrLifecycle[]): void {
    if (allowed.includes(this.lifecycle)) return;
    const cause = this.fault;
    throw new CellError(
      "COMMAND_INVALID",
      `UR: cannot ${what} while ${this.lifecycle}${cause ? ` (${cause.detail})` : ""}`,
      {
        cause,
      },
    );
  }

  private enter(lifecycle: UrLifecycle): void {
    this.lifecycle = lifecycle;
    this.publish();
  }

  private publish(): void {
    const state = this.state();
    const digest = [state.lifecycle, state.connected, state.robotMode, state.safetyMode].join();
    if (digest === this.published) return;
    this.published = digest;
    this.emit("state", state);
  }
}
