/**
 * What stands behind every command table: the axes, the two locks, what happens to the machine from outside, and whom it
 * tells. It knows nothing of any dialect.
 */
import { ControllerAxis, type AxisOptions } from "./controller-axis.js";
import { Sys } from "./system-settings.js";

export interface MachineOptions {
  /** Axis 1 first; null is an axis without a stage, which reports both limits closed. */
  readonly axes: readonly (AxisOptions | null)[];
  readonly seed: number;
  /** Mechanics this many times faster than the speed tables say; 1 is the real thing. */
  readonly speedFactor: number;
  readonly clock: () => number;
}

/** Axes that the ARIES drives by itself; the others hang on LYNX units. */
const ownAxes = 2;

/** What the machine says without being asked. */
export type Announcement = { readonly kind: "E" | "W"; readonly code: number };

export class StageMachine {
  /** To all clients. */
  onAnnouncement: (announcement: Announcement) => void = () => undefined;
  /** Drives that ended by something else than their target: `code` for completed replies, undefined for another client's stop. */
  onDisturbed: (axes: readonly ControllerAxis[], code: number | undefined) => void = () => undefined;

  /** WSY is acknowledged but not applied. */
  ignoreSettings = false;
  /** So many of the next looks at moving axes say stopped. */
  idleLies = 0;
  /** Bits of the general inputs and outputs. */
  inputs = 0;
  outputs = 0;
  emergencyInput = false;
  emergencyLock = false;
  linkLock = false;

  readonly axes: readonly (ControllerAxis | null)[];
  private readonly clock: () => number;

  constructor(options: MachineOptions) {
    this.clock = options.clock;
    this.axes = options.axes.map((axis, index) =>
      axis === null
        ? null
        : new ControllerAxis(index + 1, axis.model, axis, options.seed, options.speedFactor),
    );
  }

  get now(): number {
    return this.clock();
  }

  get present(): ControllerAxis[] {
    return this.axes.filter((axis) => axis !== null);
  }

  /** @throws RangeError for an axis without a stage */
  axis(number: number): ControllerAxis {
    const axis = this.axes[number - 1];
    if (axis === undefined || axis === null) throw new RangeError(`axis ${number} has no stage`);
    return axis;
  }

  /** Commits what has ended by now. */
  update(now: number): void {
    for (const axis of this.present) axis.update(now);
  }

  get anyDriving(): boolean {
    return this.present.some((axis) => axis.driving);
  }

  /** The emergency stop input closes: everything stops at once and the controller locks. */
  emergencyStop(): void {
    this.emergencyInput = true;
    this.emergencyLock = true;
    const { now } = this;
    this.update(now);
    for (const axis of this.present) {
      axis.halt(now);
      axis.homed = false;
    }
    this.onAnnouncement({ kind: "E", code: 5 });
    this.onDisturbed(this.present, 314);
  }

  /** The emergency stop input opens again; the lock stays until REM. */
  releaseEmergencyStop(): void {
    this.emergencyInput = false;
  }

  /** Motionnet fails: the axes of the LYNX units stop, and the controller locks if any of them moved. */
  linkLost(): void {
    const { now } = this;
    this.update(now);
    const moving = this.present.filter((axis) => axis.number > ownAxes && axis.driving);
    for (const axis of moving) axis.halt(now);
    if (moving.length === 0) return;
    this.linkLock = true;
    this.onAnnouncement({ kind: "E", code: 6 });
    this.onDisturbed(moving, 322);
  }

  /** A LYNX joins or leaves the link: a warning to all clients. @param joined more devices than before */
  deviceMapChanged(joined: boolean): void {
    this.onAnnouncement({ kind: "W", code: joined ? 52 : 51 });
  }

  excite(axis: number, on: boolean): void {
    const { now } = this;
    const found = this.axis(axis);
    found.update(now);
    found.excite(on, now);
    found.settings.set(Sys.excitation, Number(on));
  }

  /** The motor driver raises an alarm: the axis stops and stays refused until RAL. */
  raiseAlarm(axis: number): void {
    const { now } = this;
    const found = this.axis(axis);
    found.update(now);
    found.alarm = true;
    if (!found.driving) return;
    found.halt(now);
    this.onDisturbed([found], 315);
  }

  loseSteps(axis: number, steps: number): void {
    const found = this.axis(axis);
    found.update(this.now);
    if (!found.driving) found.loseSteps(steps);
  }

  /** The controller is switched off and on: positions stay, what is volatile is gone, nothing moves. */
  powerCycle(): void {
    const { now } = this;
    this.update(now);
    for (const axis of this.present) {
      axis.halt(now);
      axis.homed = false;
    }
    this.emergencyLock = this.emergencyInput;
    this.linkLock = false;
    this.outputs = 0;
  }
}
