/**
 * One axis of a controller: pulse counter, drives as exact functions of time, limits, origin, encoder. The table's true
 * place is kept apart from the counter, in steps from the nominal origin edge of the stage.
 */
import type { Vec3 } from "../../base/transform.js";
import { maxPulses, minPulses } from "../../cell/kohzu/codec/framing.js";
import type { SpeedTable } from "../../cell/kohzu/codec/speed-table.js";
import type { AxisStatus } from "../../cell/kohzu/codec/status.js";
import { backlashCorrection } from "./backlash.js";
import { legAt, legsDuration, standing, stepsOf, type Drive, type Leg } from "./drive-plan.js";
import { planLeg, type PlannedLeg } from "./leg-planner.js";
import { decelerate, pause, type MotionProfile } from "./motion-profile.js";
import { planSearch } from "./origin-search.js";
import { factoryTable, tableCount } from "./speed-table.js";
import { StageMechanics } from "./stage-mechanics.js";
import type { StageModel } from "./stage-models.js";
import { StageSensors, type Interval, type Side } from "./stage-sensors.js";
import { StageShaft } from "./stage-shaft.js";
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

/** What a drive is told beyond its way. */
interface Manner {
  readonly result: number;
  readonly feedback?: boolean;
  readonly finish?: (endS: number) => void;
}

export class ControllerAxis {
  readonly settings = new SystemSettings();
  tables: SpeedTable[] = [];
  readonly sensors: StageSensors;
  homed: boolean;
  /** The motor driver reports an alarm. */
  alarm = false;
  servoReady = true;
  /** Code of the last drive's end, for completed replies: 0 target reached. */
  lastResult = 0;

  private readonly mechanics: StageMechanics;
  private steps: number;
  /** counter = steps + offset */
  private offset: number;
  private encoderOffset = 0;
  private readonly shaft: StageShaft;
  private noise = 0;
  private drive: Drive | undefined;
  private lastDirection = 0;

  constructor(
    readonly number: number,
    readonly model: StageModel,
    options: AxisOptions,
    seed: number,
    private readonly speedFactor: number,
  ) {
    this.mechanics = new StageMechanics(model, seed, number);
    this.sensors = new StageSensors(model);
    this.homed = options.homed ?? false;
    const counter = options.initialPulses ?? 0;
    this.steps = this.homed ? counter : (options.initialSteps ?? counter);
    this.offset = counter - this.steps;
    this.shaft = new StageShaft(model, this.mechanics, this.steps);
    this.noise = this.mechanics.drawArrival();
    this.resetTables();
  }

  /** Commits drives that have ended, one after the other. Called before every command. */
  update(now: number): void {
    // Encoder correction may append drives; each takes time, so that this ends.
    for (let endS = this.endS; endS !== undefined && now >= endS; endS = this.endS) {
      const { drive } = this;
      if (drive === undefined) return;
      this.settle(drive, endS);
      this.lastResult = drive.cut && endS >= drive.cut.atS ? drive.cut.code : drive.result;
      drive.finish(endS);
    }
  }

  get excited(): boolean {
    return this.shaft.excited;
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
    if (drive === undefined) return undefined;
    return Math.min(this.naturalEndS(drive), drive.cut?.atS ?? Infinity);
  }

  private naturalEndS(drive: Drive): number {
    return drive.startS + legsDuration(drive.legs) / this.speedFactor;
  }

  /** Value of the pulse counter. */
  pulses(now: number): number {
    return this.stepsAt(now) + this.offset - this.hiddenAt(now);
  }

  /** @returns false while driving (error 311) */
  writePulses(value: number): boolean {
    if (this.driving) return false;
    this.offset = value - this.steps;
    return true;
  }

  /** Value of the encoder counter, brought to pulses by settings 33 and 34; without an encoder what was last written. */
  encoder(now: number): number {
    return Math.round(this.encoderPulses(now));
  }

  /** @returns false while driving (error 312) */
  writeEncoder(value: number, now: number): boolean {
    if (this.driving) return false;
    this.encoderOffset += value - this.encoder(now);
    return true;
  }

  status(now: number, emergencyStop: boolean): AxisStatus {
    const counter = this.pulses(now);
    const soft = this.settings.value(Sys.softLimit) === 1;
    const place = this.shaft.place(this.stepsAt(now));
    return {
      driving: this.drive === undefined ? "stopped" : this.drive.feedback ? "feedback" : "running",
      emergencyStop,
      nearOrigin: this.sensors.nearOrigin(place),
      origin: this.sensors.origin(place),
      limitCcw: this.limitOn("ccw", now),
      limitCw: this.limitOn("cw", now),
      softLimit:
        soft && counter >= this.settings.value(Sys.softLimitPlus)
          ? "plus"
          : soft && counter <= this.settings.value(Sys.softLimitMinus)
            ? "minus"
            : "inside",
      encoderInRange:
        this.correcting &&
        Math.abs(this.encoderPulses(now) - counter) <= this.settings.value(Sys.feedbackRange),
      fault: this.alarm ? 1 : 0,
    };
  }

  limitOn(side: Side, now: number): boolean {
    return this.sensors.limitOn(side, this.shaft.place(this.stepsAt(now)));
  }

  /** Motor current off: the counter goes on, the table does not. */
  excite(on: boolean, now: number): void {
    this.shaft.excite(on, this.stepsAt(now));
  }

  /** The motor falls behind by so many steps, at rest: the counter knows nothing of it. */
  loseSteps(count: number): void {
    this.shaft.loseSteps(count, this.steps);
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

  /** All settings and speed tables as delivered. */
  resetSettings(): void {
    this.settings.reset();
    this.resetTables();
  }

  speedTable(n: number): SpeedTable {
    return this.tables[n] ?? factoryTable(n);
  }

  /**
   * Starts a drive to a counter value, at most up to the limits.
   * @param absolute by APS or absolute MPS: these alone are corrected by the encoder
   * @returns the end that a completed reply would report: 0, 304/305 limit, 317/318 soft limit
   */
  driveTo(target: number, table: SpeedTable, now: number, absolute = false): number {
    const soft = this.withinSoftLimits(target);
    const direction = Math.sign(soft.target - (this.steps + this.offset));
    const corrected = absolute && this.correcting;
    const { before, past } = backlashCorrection(
      // Encoder correction switches backlash correction off.
      this.settings.value(Sys.feedback) === 0 ? this.settings.value(Sys.backlashType) : 0,
      this.settings.value(Sys.backlashPulses),
      direction,
      this.lastDirection,
    );
    const end = soft.target - this.offset + before;
    const ways = [
      ...(before === 0 ? [] : [{ to: this.steps + before, hidden: true }]),
      ...(past === 0 ? [] : [{ to: end + past, hidden: false }]),
      { to: end, hidden: false },
    ];
    const legs: Leg[] = [];
    let result = soft.code;
    for (const { to, hidden } of ways) {
      const { leg, limit } = this.planLeg(legs.at(-1)?.to ?? this.steps, to, table, now);
      legs.push(hidden ? { ...leg, hidden } : leg);
      if (limit !== 0) {
        result = limit;
        break;
      }
    }
    const finish = (endS: number): void => {
      if (result === 0)
        this.correctByEncoder(soft.target, table, endS, this.settings.value(Sys.feedbackRetries));
    };
    this.start(legs, now, corrected ? { result, finish } : { result });
    return result;
  }

  /** Starts an endless drive; it ends at a limit or by a stop. */
  driveFreely(direction: 1 | -1, table: SpeedTable, now: number): number {
    return this.driveTo(direction > 0 ? maxPulses : minPulses, table, now);
  }

  /** Starts a stretch of an interpolation: `steps` to go in the time and shape of `profile`. */
  driveAlong(steps: number, profile: MotionProfile, table: SpeedTable, now: number): number {
    const { leg, limit } = this.planLeg(this.steps, this.steps + steps, table, now, profile);
    this.start([leg], now, { result: limit });
    return limit;
  }

  /** Goes to `delta` pulses from here and back, `times` times, resting `dwellS` at each end. */
  oscillate(delta: number, times: number, dwellS: number, table: SpeedTable, now: number): number {
    const legs: Leg[] = [];
    const home = this.steps;
    let result = 0;
    for (let i = 0; i < 2 * times && result === 0; i++) {
      const { leg, limit } = this.planLeg(
        legs.at(-1)?.to ?? home,
        i % 2 === 0 ? home + delta : home,
        table,
        now,
      );
      legs.push(leg);
      if (dwellS > 0 && i + 1 < 2 * times)
        legs.push({ ...standing(leg.to, table), profile: pause(dwellS * this.speedFactor) });
      result = limit;
    }
    this.start(legs, now, { result });
    return result;
  }

  /** The drive ends at `atS`, wherever the axis is then: another axis of the same drive met its limit. */
  cutAt(atS: number, code: number): void {
    if (this.drive !== undefined && atS < (this.endS ?? 0))
      this.drive = { ...this.drive, cut: { atS, code } };
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
    const { index, within } = this.legNow(drive, now);
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
    this.settle(drive, now);
  }

  /** Starts the origin search of system setting 2. Method 10: here is zero. */
  searchOrigin(table: SpeedTable, now: number, method = this.settings.value(Sys.originMethod)): number {
    this.homed = false;
    if (method === 10) {
      this.setOrigin(now);
      return 0;
    }
    const { sensors } = this;
    const { slip } = this.shaft;
    const moved = ([low, high]: Interval): Interval => [low - slip, high - slip];
    const edge = this.mechanics.drawOriginEdge();
    const zone = sensors.nearOriginDead ? undefined : sensors.nearOriginZone;
    const { code, legs } = planSearch(
      method,
      {
        from: this.steps,
        nearOrigin: zone && [edge - slip, zone[1] - slip],
        origin: sensors.originMark && moved(sensors.originMark),
        encoderMarks:
          this.model.encoder === undefined
            ? undefined
            : { at: -slip, every: this.model.screwError.period / this.model.step },
        cwRelease: sensors.releaseSteps - slip,
        ccwRelease: -sensors.releaseSteps - slip,
        plan: (from, to, speed) => this.planLeg(from, to, speed, now),
      },
      table,
      this.settings.value(Sys.originScanSpeed),
      this.settings.value(Sys.originOffset),
    );
    this.start(legs, now, {
      result: code,
      finish: (endS) => {
        if (code === 0) this.setOrigin(endS);
      },
    });
    return code;
  }

  private setOrigin(now: number): void {
    this.offset = -this.steps;
    this.encoderOffset -= this.encoder(now);
    this.homed = true;
    this.lastResult = 0;
  }

  private get correcting(): boolean {
    return this.settings.value(Sys.feedback) !== 0;
  }

  private encoderPulses(now: number): number {
    const { encoder, step } = this.model;
    if (encoder === undefined) return this.encoderOffset;
    const { table } = this.tableAt(now);
    const counts = Math.floor(
      (table * step * this.settings.value(Sys.encoderMultiplier)) / 4 / encoder.count,
    );
    const ratio = this.settings.value(Sys.encoderNumerator) / this.settings.value(Sys.encoderDenominator);
    return counts * ratio + this.encoderOffset;
  }

  /** After an absolute drive: moves by what the encoder is off, until it is within range or the retries are used up. */
  private correctByEncoder(target: number, table: SpeedTable, endS: number, retries: number): void {
    const off = Math.round(target - this.encoderPulses(endS));
    if (Math.abs(off) <= this.settings.value(Sys.feedbackRange)) return;
    if (retries === 0) {
      this.lastResult = 401;
      return;
    }
    const { leg, limit } = this.planLeg(this.steps, this.steps + off, table, endS);
    const wait: Leg = {
      ...standing(this.steps, table),
      profile: pause((this.settings.value(Sys.feedbackWaitMs) / 1e3) * this.speedFactor),
    };
    // Our reading: the counter keeps showing the target, and RDE what the encoder says.
    this.start([wait, { ...leg, hidden: true }], endS, {
      result: limit,
      feedback: true,
      finish: (laterS) => {
        if (limit === 0) this.correctByEncoder(target, table, laterS, retries - 1);
      },
    });
  }

  private resetTables(): void {
    this.tables = Array.from({ length: tableCount }, (_, n) => factoryTable(n));
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

  private planLeg(
    from: number,
    to: number,
    table: SpeedTable,
    now: number,
    profile?: MotionProfile,
  ): PlannedLeg {
    const { sensors, shaft } = this;
    const obstacles = {
      sensors,
      slip: shaft.slip,
      excited: shaft.excited,
      stopsAtOnce: this.settings.value(Sys.limitStop) === 1,
      blocked: (direction: 1 | -1) => from === this.steps && this.limitOn(direction > 0 ? "cw" : "ccw", now),
    };
    return planLeg(from, to, table, obstacles, profile);
  }

  private start(legs: readonly Leg[], now: number, manner: Manner): void {
    const moves = legs.filter((leg) => leg.to !== leg.from);
    const last = moves.at(-1);
    if (last !== undefined) this.lastDirection = Math.sign(last.to - last.from);
    this.drive = {
      legs,
      startS: now,
      noiseFrom: this.noise,
      noiseTo: last === undefined ? this.noise : this.mechanics.drawArrival(),
      result: manner.result,
      stopping: false,
      cut: undefined,
      feedback: manner.feedback ?? false,
      finish: manner.finish ?? (() => undefined),
    };
    this.update(now);
  }

  /** Ends a drive with the screw where it is at `now`. */
  private settle(drive: Drive, now: number): void {
    const screw = this.stepsAt(now);
    const hidden = this.hiddenAt(now);
    const { index, within } = this.legNow(drive, now);
    const { noise } = this.tableAt(now);
    this.shaft.settle(drive.legs, index, screw);
    this.steps = screw;
    this.offset -= hidden;
    this.noise = within === Infinity ? drive.noiseTo : noise;
    this.drive = undefined;
  }

  private legNow(drive: Drive, now: number): { readonly index: number; readonly within: number } {
    // A drive that has reached its end is at its end, whatever the last bit of the sum says.
    if (now >= this.naturalEndS(drive)) return { index: drive.legs.length - 1, within: Infinity };
    return legAt(drive.legs, (now - drive.startS) * this.speedFactor);
  }

  /** Whole steps that the controller has put out. */
  private stepsAt(now: number): number {
    const { drive } = this;
    if (drive === undefined) return this.steps;
    const { index, within } = this.legNow(drive, Math.min(now, drive.cut?.atS ?? now));
    const leg = drive.legs[index];
    return leg === undefined ? this.steps : stepsOf(leg, within);
  }

  /** Steps of the present drive so far that the counter does not show. */
  private hiddenAt(now: number): number {
    const { drive } = this;
    if (drive === undefined) return 0;
    const { index, within } = this.legNow(drive, now);
    return drive.legs
      .slice(0, index + 1)
      .reduce(
        (sum, leg, i) =>
          leg.hidden === true ? sum + (i < index ? leg.to : stepsOf(leg, within)) - leg.from : sum,
        0,
      );
  }

  private tableAt(now: number): { readonly table: number; readonly noise: number } {
    const { drive } = this;
    if (drive === undefined) return { table: this.shaft.table, noise: this.noise };
    const until = Math.min(now, drive.cut?.atS ?? now);
    const { index, within } = this.legNow(drive, until);
    const table = this.shaft.tableAfter(drive.legs, index, within);
    const total = legsDuration(drive.legs) / this.speedFactor;
    const share = total > 0 ? Math.min(1, Math.max(0, (until - drive.startS) / total)) : 1;
    return { table, noise: drive.noiseFrom + share * (drive.noiseTo - drive.noiseFrom) };
  }
}
