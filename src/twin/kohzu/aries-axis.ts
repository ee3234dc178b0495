/**
 * One axis of the controller: pulse counter, drives as exact functions of time, limit and origin sensors, homing. The
 * table's true place is kept apart from the counter, in steps from the nominal origin edge of the stage.
 */
import type { AxisStatus, SpeedTable } from "../../cell/kohzu/codec.js";
import { minPulses, maxPulses } from "../../cell/kohzu/codec.js";
import type { Vec3 } from "../../base/transform.js";
import { decelerate, planMove, type MotionProfile } from "./motion-profile.js";
import { factoryTable, tableCount } from "./speed-table.js";
import { StageMechanics } from "./stage-mechanics.js";
import type { StageModel } from "./stage-models.js";
import { Sys, SystemSettings } from "./system-settings.js";

export interface AxisOptions {
  readonly model: StageModel;
  /** What the counter shows at power-up. */
  readonly initialPulses?: number;
  /** Where the screw stands at power-up, steps from the nominal origin; as the counter says unless given. */
  readonly initialSteps?: number;
  /** The origin is already known: counter and screw agree, ROG is 1. */
  readonly homed?: boolean;
}

/** A monotonic stretch of a drive, in steps. */
interface Leg {
  readonly from: number;
  readonly to: number;
  readonly profile: MotionProfile;
  readonly table: SpeedTable;
}

interface Drive {
  readonly legs: readonly Leg[];
  readonly startS: number;
  readonly noiseFrom: number;
  readonly noiseTo: number;
  /** Code that a completed reply reports; 0 for a drive that reaches its target. */
  readonly result: number;
  readonly stopping: boolean;
  readonly finish: () => void;
}

export type Side = "cw" | "ccw";

const driveDuration = (legs: readonly Leg[]): number =>
  legs.reduce((sum, leg) => sum + leg.profile.durationS, 0);

export class AriesAxis {
  readonly settings = new SystemSettings();
  readonly tables: SpeedTable[] = Array.from({ length: tableCount }, (_, n) => factoryTable(n));
  readonly mechanics: StageMechanics;
  homed: boolean;
  encoder = 0;
  excited = true;
  /** Code of the last drive's end, for completed replies: 0 target reached. */
  lastResult = 0;

  private steps: number;
  /** counter = steps + offset */
  private offset: number;
  private tableSteps: number;
  /** Steps lost while the motor was not excited or the table stood against its hard stop. */
  private slip = 0;
  private frozenAt: number | undefined;
  private noise = 0;
  private drive: Drive | undefined;
  private readonly latched = { cw: false, ccw: false };
  private readonly stuck = new Map<Side, boolean>();
  private readonly limitSteps: number;
  private readonly hardStopSteps: number;

  constructor(
    readonly number: number,
    readonly model: StageModel,
    options: AxisOptions,
    seed: number,
    private readonly speedFactor: number,
  ) {
    this.mechanics = new StageMechanics(model, seed, number);
    this.homed = options.homed ?? false;
    const counter = options.initialPulses ?? 0;
    this.steps = this.homed ? counter : (options.initialSteps ?? counter);
    this.offset = counter - this.steps;
    this.tableSteps = this.mechanics.follow(this.steps - 1, this.steps);
    this.noise = this.mechanics.drawArrival();
    this.limitSteps = Math.round(model.limit / model.step);
    this.hardStopSteps = model.hardStop / model.step;
  }

  /** Commits a drive that has ended. Called before every command. */
  update(now: number): void {
    const { drive } = this;
    if (drive === undefined || now < (this.endS ?? 0)) return;
    this.settle(drive, this.screwAt(now), drive.noiseTo, now);
    this.lastResult = drive.result;
    drive.finish();
  }

  get driving(): boolean {
    return this.drive !== undefined;
  }

  get stopping(): boolean {
    return this.drive?.stopping ?? false;
  }

  /** When the present drive ends; undefined at rest. */
  get endS(): number | undefined {
    const { drive } = this;
    return drive && drive.startS + driveDuration(drive.legs) / this.speedFactor;
  }

  /** Value of the pulse counter. */
  pulses(now: number): number {
    return this.screwAt(now) + this.offset;
  }

  /** @returns false while driving (error 311) */
  writePulses(value: number): boolean {
    if (this.driving) return false;
    this.offset = value - this.steps;
    return true;
  }

  status(now: number, emergencyStop: boolean): AxisStatus {
    const counter = this.pulses(now);
    const soft = this.settings.value(Sys.softLimit) === 1;
    const physical = this.physical(this.screwAt(now));
    return {
      driving: this.driving ? "running" : "stopped",
      emergencyStop,
      nearOrigin: physical >= 0 && physical <= this.model.nearOriginWidth / this.model.step,
      origin: false,
      limitCcw: this.limitOn("ccw", now),
      limitCw: this.limitOn("cw", now),
      softLimit:
        soft && counter >= this.settings.value(Sys.softLimitPlus)
          ? "plus"
          : soft && counter <= this.settings.value(Sys.softLimitMinus)
            ? "minus"
            : "inside",
      encoderInRange: false,
    };
  }

  /** Whether a limit switch is closed; it lets go only a little inside the place where it closed. */
  limitOn(side: Side, now: number): boolean {
    const forced = this.stuck.get(side);
    if (forced !== undefined) return forced;
    const outward = this.physical(this.screwAt(now)) * (side === "cw" ? 1 : -1);
    if (outward >= this.limitSteps) this.latched[side] = true;
    else if (outward < this.limitSteps - this.model.limitHysteresis / this.model.step)
      this.latched[side] = false;
    return this.latched[side];
  }

  /** Holds a limit switch closed or open whatever the table does; undefined mends it. */
  stickLimit(side: Side, closed: boolean | undefined): void {
    if (closed === undefined) this.stuck.delete(side);
    else this.stuck.set(side, closed);
  }

  /** Motor current off: the counter goes on, the table does not. */
  excite(on: boolean, now: number): void {
    if (on === this.excited) return;
    const screw = this.screwAt(now);
    if (on && this.frozenAt !== undefined) {
      this.slip = this.frozenAt - screw;
      this.frozenAt = undefined;
    } else this.frozenAt = this.physical(screw);
    this.excited = on;
  }

  /** True position, m or rad from the nominal origin. Changes nothing, so it may be asked for any time near now. */
  truePosition(now: number): number {
    const { table, noise } = this.tableAt(now);
    return this.mechanics.truePosition(table, noise);
  }

  /** Displacement of a goniometer's centre of rotation, its own axes, m; zero for linear stages. */
  centreWander(now: number): Vec3 {
    return this.mechanics.centreWander(this.tableAt(now).table * this.model.step);
  }

  /**
   * Starts a drive to a counter value, at most up to the limits.
   * @returns the end that a completed reply would report: 0, 304/305 limit, 317/318 soft limit
   */
  driveTo(target: number, tableNumber: number, now: number): number {
    const soft = this.withinSoftLimits(target);
    const table = this.tables[tableNumber] ?? factoryTable(tableNumber);
    const leg = this.planLeg(this.steps, soft.target - this.offset, table, now);
    const result = leg.limit === 0 ? soft.code : leg.limit;
    this.start([leg.leg], now, result, () => undefined);
    return result;
  }

  /** Starts an endless drive; it ends at a limit or by a stop. */
  driveFreely(direction: 1 | -1, tableNumber: number, now: number): void {
    this.driveTo(direction > 0 ? maxPulses : minPulses, tableNumber, now);
  }

  /** Stops as STP does. @returns false when a stop is already under way (error 323) */
  stop(emergency: boolean, now: number): boolean {
    const { drive } = this;
    if (drive === undefined) return true;
    if (drive.stopping) return false;
    if (emergency) {
      this.halt(now);
      return true;
    }
    const { index, within } = this.legAt(drive, now);
    const leg = drive.legs[index];
    if (leg === undefined) return true;
    const direction = Math.sign(leg.to - leg.from);
    const profile = decelerate(leg.profile, within, leg.table);
    const to = leg.from + direction * Math.round(profile.distance);
    const beyondPlan = direction * (to - leg.to) > 0;
    const cut: Leg = beyondPlan ? leg : { ...leg, to, profile };
    // The row of legs keeps its start, so that the motion so far stays exactly what it was.
    this.drive = {
      ...drive,
      legs: [...drive.legs.slice(0, index), cut],
      stopping: true,
      result: 0,
      finish: () => undefined,
    };
    return true;
  }

  /** Stops at once, where the axis is. */
  halt(now: number): void {
    const { drive } = this;
    if (drive === undefined) return;
    const { noise } = this.tableAt(now);
    this.settle(drive, this.screwAt(now), noise, now);
  }

  /**
   * Starts the origin search of system setting 2.
   * Method 4: toward CCW until the edge of the near-origin sensor was passed or the CCW limit stops the axis, then back
   * and slowly onto the edge from the CCW side. Method 10: here is zero.
   */
  searchOrigin(tableNumber: number, now: number): void {
    this.homed = false;
    if (this.settings.value(Sys.originMethod) === 10) {
      this.setOrigin();
      return;
    }
    const table = this.tables[tableNumber] ?? factoryTable(tableNumber);
    const scan = this.settings.value(Sys.originScanSpeed);
    const edge = Math.ceil(this.mechanics.drawOriginEdge() - this.slip);
    const legs: Leg[] = [];
    const here = (): number => legs.at(-1)?.to ?? this.steps;
    const go = (target: number, speed: SpeedTable): void => {
      legs.push(this.planLeg(here(), target, speed, now).leg);
    };
    /** Runs past `place` with the table's speed and its deceleration. */
    const pass = (place: number, direction: 1 | -1): void => {
      const run = this.planLeg(here(), direction * maxPulses, table, now).leg;
      const profile = decelerate(run.profile, run.profile.timeOf(Math.abs(place - run.from)), table);
      const stop = run.from + direction * Math.round(profile.distance);
      legs.push(direction * (stop - run.to) > 0 ? run : { ...run, to: stop, profile });
    };
    const slow: SpeedTable = { ...table, pattern: "rectangular", topPps: scan, startPps: scan };
    if (this.steps > edge) pass(edge, -1);
    else {
      go(-maxPulses, table);
      pass(edge, 1);
      go(edge - overrunSteps, slow);
    }
    go(edge, slow);
    const origin = this.settings.value(Sys.originOffset);
    if (origin !== 0) go(edge + origin, table);
    // Without the sensor's edge the search ends on the limit, and the axis is not homed.
    const found = here() === edge + origin;
    this.start(legs, now, found ? 0 : 305, () => {
      if (found) this.setOrigin();
    });
  }

  private setOrigin(): void {
    this.offset = -this.steps;
    this.encoder = 0;
    this.homed = true;
    this.lastResult = 0;
  }

  private withinSoftLimits(target: number): { readonly target: number; readonly code: number } {
    if (this.settings.value(Sys.softLimit) === 0) return { target, code: 0 };
    const plus = this.settings.value(Sys.softLimitPlus);
    const minus = this.settings.value(Sys.softLimitMinus);
    const counter = this.steps + this.offset;
    // An axis outside may move, but not further out.
    if (target > plus && target > counter) return { target: Math.max(plus, counter), code: 317 };
    if (target < minus && target < counter) return { target: Math.min(minus, counter), code: 318 };
    return { target, code: 0 };
  }

  /** A stretch from `from` to `to` steps, cut at the limit switch in its way. */
  private planLeg(
    from: number,
    to: number,
    table: SpeedTable,
    now: number,
  ): { readonly leg: Leg; readonly limit: number } {
    const direction = Math.sign(to - from);
    const side: Side = direction >= 0 ? "cw" : "ccw";
    const code = side === "cw" ? 304 : 305;
    const nothing: Leg = { from, to: from, profile: planMove(0, table), table };
    if (direction === 0) return { leg: nothing, limit: 0 };
    if (from === this.steps && this.limitOn(side, now)) return { leg: nothing, limit: code };
    const stuck = this.stuck.get(side);
    if (stuck === true) return { leg: nothing, limit: code };
    const profile = planMove(Math.abs(to - from), table);
    const leg: Leg = { from, to, profile, table };
    // A switch that never closes lets the drive run on: the table meets its hard stop and steps are lost.
    if (stuck === false || !this.excited) return { leg, limit: 0 };
    const switchAt = direction * this.limitSteps - this.slip;
    if (direction * (to - switchAt) < 0) return { leg, limit: 0 };
    const distance = Math.max(0, direction * (switchAt - from));
    if (distance === 0) return { leg: nothing, limit: code };
    const reached = profile.timeOf(distance);
    const cut =
      this.settings.value(Sys.limitStop) === 1 ? profile.until(reached) : decelerate(profile, reached, table);
    const travelled = Math.round(cut.distance);
    return { leg: { from, to: from + direction * travelled, profile: cut, table }, limit: code };
  }

  private start(legs: readonly Leg[], now: number, result: number, finish: () => void): void {
    const moves = legs.some((leg) => leg.to !== leg.from);
    this.drive = {
      legs,
      startS: now,
      noiseFrom: this.noise,
      noiseTo: moves ? this.mechanics.drawArrival() : this.noise,
      result,
      stopping: false,
      finish,
    };
    this.update(now);
  }

  /** Ends a drive with the screw at `screw` whole steps. */
  private settle(drive: Drive, screw: number, noise: number, now: number): void {
    const { index } = this.legAt(drive, now);
    let table = this.tableSteps;
    for (const leg of drive.legs.slice(0, index)) table = this.mechanics.follow(table, this.physical(leg.to));
    this.tableSteps = this.mechanics.follow(table, this.physical(screw));
    // Against the hard stop the screw's steps are lost for good.
    if (this.frozenAt === undefined) this.slip = this.physical(screw) - screw;
    this.steps = screw;
    this.noise = noise;
    this.drive = undefined;
  }

  private legAt(drive: Drive, now: number): { readonly index: number; readonly within: number } {
    let left = Math.max(0, now - drive.startS) * this.speedFactor;
    let index = 0;
    for (const leg of drive.legs.slice(0, -1)) {
      if (left < leg.profile.durationS) break;
      left -= leg.profile.durationS;
      index++;
    }
    return { index, within: left };
  }

  /** Whole steps that the controller has put out. */
  private screwAt(now: number): number {
    const { drive } = this;
    if (drive === undefined) return this.steps;
    const { index, within } = this.legAt(drive, now);
    const leg = drive.legs[index];
    if (leg === undefined) return this.steps;
    if (within >= leg.profile.durationS) return leg.to;
    return leg.from + Math.sign(leg.to - leg.from) * Math.floor(leg.profile.at(within) + 1e-6);
  }

  /** Steps at the motor's shaft for steps put out. */
  private physical(screw: number): number {
    const shaft = this.frozenAt ?? screw + this.slip;
    return Math.min(Math.max(shaft, -this.hardStopSteps), this.hardStopSteps);
  }

  private tableAt(now: number): { readonly table: number; readonly noise: number } {
    const { drive } = this;
    if (drive === undefined) return { table: this.tableSteps, noise: this.noise };
    const { index, within } = this.legAt(drive, now);
    let table = this.tableSteps;
    for (const leg of drive.legs.slice(0, index)) table = this.mechanics.follow(table, this.physical(leg.to));
    const leg = drive.legs[index];
    if (leg !== undefined) {
      const along =
        leg.from +
        Math.sign(leg.to - leg.from) * Math.min(leg.profile.at(within), Math.abs(leg.to - leg.from));
      table = this.mechanics.follow(table, this.physical(along));
    }
    const total = driveDuration(drive.legs) / this.speedFactor;
    const share = total > 0 ? Math.min(1, Math.max(0, (now - drive.startS) / total)) : 1;
    return { table, noise: drive.noiseFrom + share * (drive.noiseTo - drive.noiseFrom) };
  }
}

/** How far homing goes back past the edge before it comes onto it slowly. */
const overrunSteps = 100;
