/**
 * Driver of a UR arm. Goal commands run on the robot, in a control program that stops the arm by itself when this process
 * falls silent; safety decisions come from RTDE alone; after any fault the control program is gone and every target with
 * it. Owner of all links to this controller.
 */
import { EventEmitter } from "node:events";
import { CellError } from "../../base/errors.js";
import type { Transform } from "../../base/transform.js";
import { ArmEnvelope } from "../envelope.js";
import { ArmWatch, safetyText, seenState } from "./arm-watch.js";
import { checkModel, checkVersion, ownGeometry, powerUp, unlockProtectiveStop } from "./bring-up.js";
import { robotModeName } from "./codec/enums.js";
import { complaintOf, type RobotMessage } from "./codec/robot-message.js";
import { stopScript } from "./control-script.js";
import { launchProgram } from "./control-program.js";
import { DashboardClient } from "./dashboard-client.js";
import { defaultEnvelope } from "./envelope.js";
import type { DhParameters } from "./kinematics.js";
import { silent, type Log } from "./link.js";
import { MotionRunner } from "./motion-runner.js";
import { PrimaryClient } from "./primary-client.js";
import { geometryOf, jointLimitsOf } from "./profile.js";
import { ReverseLink } from "./reverse-link.js";
import { RtdeClient, rtdeDefaults, type RtdeSample } from "./rtde-client.js";
import { StateCheck } from "./state-check.js";
import { optionalFields, requiredFields } from "./ur-sample.js";
import {
  defaultTolerance,
  type JointPace,
  type LinearPace,
  type MoveReport,
  type UrEvents,
  type UrLifecycle,
  type UrRobotOptions,
  type UrState,
} from "./ur-types.js";

/** Error code of a primary connection that was made in local mode. */
const readOnlyCode = 210;

/** How long RTDE may take to tell why the control program has ended. */
const causeLimitS = 0.15;

export class UrRobot extends EventEmitter<UrEvents> {
  private readonly rtde: RtdeClient;
  private readonly dashboard: DashboardClient;
  private readonly primary: PrimaryClient;
  private readonly reverse: ReverseLink;
  private readonly watch: ArmWatch;
  private readonly motion: MotionRunner;
  private readonly stateCheck: StateCheck | undefined;
  private readonly log: Log;
  private readonly stopDecelerationRadS2: number;

  private lifecycle: UrLifecycle = "unconfigured";
  private desired: UrState["desired"] = "unconfigured";
  private fault: CellError | undefined;
  private dh: DhParameters;
  private lastMessage: string | undefined;
  private scriptExpected = false;
  private published = "";
  /** Raised by every stop: an activation that began before it may not complete. */
  private stops = 0;

  constructor(private readonly options: UrRobotOptions) {
    super();
    const { host, ports, profile } = options;
    const envelope = options.envelope ?? defaultEnvelope;
    const tolerance = { ...defaultTolerance, ...options.tolerance };
    this.log = options.log ?? silent;
    this.dh = geometryOf(profile);
    this.stopDecelerationRadS2 = options.stopDecelerationRadS2 ?? 5;
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
    const jointLimits = jointLimitsOf(profile);
    this.reverse = new ReverseLink({
      envelope: new ArmEnvelope({ ...envelope, lowerRad: jointLimits.lower, upperRad: jointLimits.upper }),
      readTimeoutS: options.readTimeoutS ?? 0.15,
      keepAliveS: options.keepAliveS ?? 0.025,
    });
    const geometry = (): DhParameters => this.dh;
    this.watch = new ArmWatch(
      this.rtde,
      {
        standstillRadS: tolerance.standstillRadS,
        singularity: envelope.singularity,
        maxSampleAgeS: options.maxSampleAgeS ?? 0.25,
      },
      geometry,
    );
    this.motion = new MotionRunner(
      this.watch,
      this.reverse,
      {
        envelope,
        joints: jointLimits,
        tolerance,
        stopDecelerationRadS2: this.stopDecelerationRadS2,
      },
      geometry,
      (ageS) =>
        this.fail(
          new CellError("LINK_TIMEOUT", `UR: the last sample is ${ageS.toFixed(2)} s old while moving`),
        ),
    );
    this.stateCheck =
      ports.modbus === undefined
        ? undefined
        : new StateCheck(
            host,
            ports.modbus,
            () => this.watch.sample,
            (what) => this.differs(what),
            this.log,
          );
    this.rtde.on("sample", (sample) => this.take(sample));
    this.rtde.on("link", (connected, reason) => {
      if (!connected) this.lose(reason ?? new CellError("LINK_CLOSED", "UR RTDE: connection lost"));
      this.publish();
    });
    this.primary.on("message", (message) => this.hear(message));
    this.reverse.on("closed", () => this.programGone());
  }

  /** The arm's geometry: nominal, and its own once connected. */
  get geometry(): DhParameters {
    return this.dh;
  }

  /** Everything known now. Never throws. */
  state(): UrState {
    return {
      lifecycle: this.lifecycle,
      desired: this.desired,
      fault: this.fault,
      connected: this.rtde.connected,
      crossCheck: this.stateCheck?.state ?? "off",
      ...seenState(this.watch, this.dh),
    };
  }

  /**
   * Connects to a controller, checks that it is the one of the profile and takes over its calibration. Reading goes on,
   * and reconnects by itself, from here on. @throws CellError LINK_CONNECT, DEVICE_WRONG_MODEL, …
   */
  async connect(signal: AbortSignal): Promise<void> {
    this.requireLifecycle("connect", "unconfigured", "inactive");
    this.desired = "inactive";
    const { profile } = this.options;
    await this.dashboard.connect(signal);
    await checkModel(this.dashboard, profile, signal);
    await this.rtde.connect(15, signal);
    await this.primary.connect(5, signal);
    checkVersion(this.primary.version, profile);
    this.dh = ownGeometry(profile, await this.primary.waitForKinematics(5, signal));
    await this.stateCheck?.start(signal);
    this.enter("inactive");
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
    await powerUp(this.watch, this.dashboard, this.options.bootLimitS ?? 120, signal);
    if (!this.primary.connected) await this.primary.connect(5, signal);
    await this.startProgram(signal);
    if (stops !== this.stops) {
      this.endProgram();
      throw new CellError("SAFETY_STOPPED", "UR: stopped while it was being activated");
    }
    this.enter("active");
  }

  private async startProgram(signal: AbortSignal): Promise<void> {
    const { reverse } = this.options;
    this.lastMessage = undefined;
    await launchProgram(this.primary, this.reverse, {
      host: reverse?.host,
      port: reverse?.port,
      stopDecelerationRadS2: this.stopDecelerationRadS2,
    });
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
      await this.watch.untilStanding(5, signal);
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
    this.requireLifecycle("move", "active");
    return this.motion.joints(points, pace, signal);
  }

  /** Moves the flange on a straight line to a pose in the base frame. Resolves when the arm stands there. */
  async moveLinear(baseFromFlange: Transform, pace: LinearPace, signal: AbortSignal): Promise<MoveReport> {
    this.requireLifecycle("move", "active");
    return this.motion.linear(baseFromFlange, pace, signal);
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
    this.motion.interrupt(new CellError("SAFETY_STOPPED", `UR: ${reason}`));
    this.rtde.wake();
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
    const sample = await this.watch.until((newest) => newest, 10, "UR: a sample to judge a reset by", signal);
    this.watch.refuseUnsafe(sample);
    if (this.stateCheck?.state === "differs") {
      throw new CellError(
        "DEVICE_STATE_CONFLICT",
        `UR: ${this.fault?.detail ?? "Modbus and RTDE still differ"}`,
      );
    }
    this.fault = undefined;
    this.desired = "inactive";
    this.enter("inactive");
  }

  /**
   * After a protective stop: waits until it may be unlocked, unlocks, and starts a fresh control program. No earlier target
   * survives. The caller has found and removed the cause. @throws CellError COMMAND_INVALID when there is no such stop
   */
  async recoverProtectiveStop(signal: AbortSignal): Promise<void> {
    await unlockProtectiveStop(this.watch, this.dashboard, this.options.profile, signal);
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
    await this.stateCheck?.stop();
    await this.rtde.close();
  }

  private take(raw: RtdeSample): void {
    const before = this.watch.sample;
    const sample = this.watch.take(raw);
    if (this.lifecycle === "active") {
      if (sample.unsafe) {
        const detail = `UR: safety mode ${safetyText(sample)}${this.heard()}`;
        this.fail(new CellError("DEVICE_EMERGENCY_STOP", detail));
      } else if (!sample.running) {
        const mode = robotModeName(sample.robotMode) ?? sample.robotMode;
        this.fail(new CellError("DEVICE_FAULT", `UR: no longer running (${mode})`));
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
    const complaint = complaintOf(message);
    if (complaint === undefined) return;
    this.lastMessage = complaint;
    // Read-only for as long as it lives, also after the switch to remote: the next activation opens another.
    if (message.kind === "error" && message.code === readOnlyCode) this.primary.close();
    this.log.warn({ text: this.lastMessage }, "UR message");
    this.reverse.wake();
  }

  private lose(reason: CellError): void {
    this.watch.forget();
    if (this.lifecycle === "active") this.fail(reason);
  }

  private differs(what: string): void {
    if (this.lifecycle === "active") this.fail(new CellError("DEVICE_STATE_CONFLICT", `UR: ${what}`));
  }

  /** Latches a fault: the arm is braked and every target dropped. */
  private fail(reason: CellError): void {
    if (this.lifecycle === "fault" || this.lifecycle === "finalized") return;
    this.log.warn({ code: reason.code, detail: reason.detail }, "UR fault");
    this.stops++;
    this.reverse.stop(this.stopDecelerationRadS2);
    // A safety stop has braked the arm by itself, but a safeguard stop only holds the program, which would go on when the
    // door is closed: it is ended. Otherwise the second way to brake is used, too.
    if (this.watch.sample?.unsafe) this.dashboard.send("stop").catch(() => undefined);
    else this.primary.sendProgram(stopScript(this.stopDecelerationRadS2));
    this.fault = reason;
    this.motion.interrupt(reason);
    this.rtde.wake();
    this.endProgram();
    this.enter("fault");
  }

  private requireLifecycle(what: string, ...allowed: UrLifecycle[]): void {
    if (allowed.includes(this.lifecycle)) return;
    const cause = this.fault;
    throw new CellError(
      "COMMAND_INVALID",
      `UR: cannot ${what} while ${this.lifecycle}${cause ? ` (${cause.detail})` : ""}`,
      { cause },
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
