/**
 * The slide of the needle as its drive knows it: where it is, what it does, what its firmware would complain of. Motion
 * is an exact function of time: a row of motions laid end to end, so that a whole stroke sent ahead runs without anybody
 * pacing it. Independent of the protocol: the Zaber ASCII device and the Modbus map are two doors to the same slide.
 *
 * Lengths are microsteps. "Physical" counts from the upper stop; what a client sees is physical plus an offset that is
 * 0 once the reference was found.
 */
import { SlideMotion, type SlideState } from "./slide-motion.js";

/** Warning flags, the most severe first: a reply shows the first one that is set. */
export const flagOrder = [
  ...["FO", "FD", "FQ", "FS", "FT", "FB", "FP", "FE"],
  ...["WH", "WL", "WP", "WV", "WT", "WM", "WR"],
  ...["NC", "NI", "ND", "NU", "NJ"],
] as readonly Flag[];

export type Flag =
  | ("FO" | "FD" | "FQ" | "FS" | "FT" | "FB" | "FP" | "FE")
  | ("WH" | "WL" | "WP" | "WV" | "WT" | "WM" | "WR")
  | ("NC" | "NI" | "ND" | "NU" | "NJ");

/** Flags that tell of what happened, not of what is: a client may clear them. */
const clearable: ReadonlySet<Flag> = new Set([
  ...(["FQ", "FS", "FT", "FB", "FP", "FE"] as const),
  ...(["WL", "WM", "NC", "NI", "ND", "NU"] as const),
]);

/** What keeps a slide from moving at all. */
export type Immovable = "DRIVERDISABLED" | "PARKED";

/** One piece of a motion that was sent ahead. */
export type Ahead =
  | { readonly kind: "line"; readonly target: number; readonly speed: number; readonly acceleration: number }
  | { readonly kind: "wait"; readonly durationS: number };

export interface SlideOptions {
  readonly strokeMicrosteps: number;
  /** Microsteps/s and microsteps/s². */
  readonly topSpeed: number;
  readonly topAcceleration: number;
  readonly homingSpeed: number;
  /** Where the slide stands at power-up, and whether the reference is already known. */
  readonly initial: number;
  readonly homed: boolean;
}

interface Laid {
  /** As planned, and as it runs: cut off where something is in the way. */
  readonly plan: SlideMotion;
  readonly motion: SlideMotion;
  readonly trip: Flag | undefined;
}

export class Slide {
  readonly flags = new Set<Flag>();
  /** Called when a motion was begun or cut, with the time when the slide will rest. */
  onMotion: (endS: number) => void = () => undefined;
  /** The sensor at the upper stop never answers: homing fails. */
  homeSensorDead = false;
  parked = false;

  private readonly held = new Set<Flag>();
  private readonly barriers = new Map<Flag, number>();
  private row: Laid[] = [];
  private rest: number;
  private offset = 0;
  private homing = false;
  private stuckReading: number | undefined;
  private target = 0;

  constructor(readonly options: SlideOptions) {
    this.rest = options.initial;
    if (!options.homed) this.loseReference();
    this.target = this.rest + this.offset;
  }

  /** The physical state; changes nothing. */
  at(now: number): SlideState {
    for (const { motion } of this.row) if (now < motion.endS) return motion.at(now);
    return { position: this.row.at(-1)?.motion.end ?? this.rest, speed: 0 };
  }

  /** What the drive reads off its scale, counted from the reference. */
  reading(now: number): number {
    return Math.round((this.stuckReading ?? this.at(now).position) + this.offset);
  }

  /** Where the last motion was to end, counted from the reference. */
  get commanded(): number {
    return Math.round(this.target);
  }

  get busy(): boolean {
    return this.row.length > 0;
  }

  get referenced(): boolean {
    return !this.flags.has("WR");
  }

  /** When the slide will rest. */
  restS(now: number): number {
    return this.row.at(-1)?.motion.endS ?? now;
  }

  /** The most severe flag, or `--`. */
  get flag(): Flag | "--" {
    return flagOrder.find((one) => this.flags.has(one)) ?? "--";
  }

  /** Why no motion is possible, if so. */
  get immovable(): Immovable | undefined {
    if (this.flags.has("FO") || this.flags.has("FD") || this.flags.has("FQ")) return "DRIVERDISABLED";
    return this.parked ? "PARKED" : undefined;
  }

  /** Drops motions that have ended and notes what stopped them. Call before anything else is asked at `now`. */
  update(now: number): void {
    const tripped = this.row.find(({ trip }) => trip !== undefined);
    if (tripped?.trip !== undefined && now >= tripped.motion.endS) {
      this.rest = tripped.motion.end;
      this.row = [];
      this.homing = false;
      this.flags.add(tripped.trip);
      return;
    }
    const last = this.row.at(-1);
    if (last === undefined || now < last.motion.endS) return;
    this.rest = last.motion.end;
    this.row = [];
    if (!this.homing) return;
    this.homing = false;
    if (this.homeSensorDead) this.flags.add("FE");
    else {
      this.offset = 0;
      this.rest = 0;
      this.flags.delete("WR");
      this.flags.delete("WH");
    }
  }

  /** To a place counted from the reference. The hard stops at either end of the stroke stop it earlier. */
  go(now: number, target: number, speed: number, acceleration: number): void {
    this.interrupt();
    this.target = target;
    const reachable = Math.min(Math.max(target - this.offset, 0), this.options.strokeMicrosteps);
    this.lay(now, SlideMotion.to(now, this.at(now), reachable, speed, acceleration));
  }

  home(now: number): void {
    this.interrupt();
    const { homingSpeed, topAcceleration } = this.options;
    this.homing = true;
    this.target = 0;
    this.lay(now, SlideMotion.to(now, this.at(now), 0, homingSpeed, topAcceleration / 10));
  }

  sine(now: number, amplitude: number, periodS: number, periods: number): void {
    this.interrupt();
    this.target = this.at(now).position + this.offset;
    this.lay(now, SlideMotion.sine(now, this.at(now).position, amplitude, periodS, periods));
  }

  /** Lets the period of a sine that is under way come to its end. */
  endSine(now: number): void {
    const [laid] = this.row;
    if (laid === undefined) return;
    this.row = [];
    this.lay(now, laid.plan.cut(laid.plan.periodEndS(now)));
  }

  /** Appends pieces behind what already runs; a piece that trips drops those after it. @returns false if it tripped */
  ahead(now: number, pieces: readonly Ahead[]): void {
    for (const piece of pieces) {
      const last = this.row.at(-1);
      if (last?.trip !== undefined) break;
      const startS = last?.motion.endS ?? now;
      const from = last?.motion.end ?? this.rest;
      const plan =
        piece.kind === "wait"
          ? SlideMotion.wait(startS, from, piece.durationS)
          : SlideMotion.to(
              startS,
              { position: from, speed: 0 },
              Math.min(Math.max(piece.target - this.offset, 0), this.options.strokeMicrosteps),
              piece.speed,
              piece.acceleration,
            );
      if (piece.kind === "line") this.target = piece.target;
      this.row.push(this.bounded(plan, startS));
    }
    if (this.busy) this.onMotion(this.restS(now));
  }

  /** Brakes what runs, with the largest deceleration unless given. */
  brake(now: number, deceleration = this.options.topAcceleration): void {
    this.homing = false;
    if (!this.busy) return;
    this.flags.add("NI");
    const state = this.at(now);
    this.row = [];
    this.lay(now, SlideMotion.brake(now, state, deceleration));
  }

  /** Says that the slide stands at `value`, counted from a reference that was not found but told. */
  tell(now: number, value: number): void {
    this.offset = value - Math.round(this.at(now).position);
    this.target = value;
    this.flags.delete("WR");
    this.flags.add("WH");
  }

  /** A person or client acknowledges: flags go whose cause is gone. */
  clear(): void {
    for (const flag of clearable) if (!this.held.has(flag)) this.flags.delete(flag);
  }

  disable(now: number): void {
    this.brake(now);
    this.flags.add("FO");
  }

  /** The driver comes on again, unless what switched it off still holds. */
  enable(): void {
    for (const flag of ["FO", "FD", "FQ"] as const) if (!this.held.has(flag)) this.flags.delete(flag);
  }

  /** A condition sets in and stays until lifted. */
  raise(flag: Flag, now: number): void {
    this.held.add(flag);
    this.flags.add(flag);
    if (flag !== "FD" && flag !== "FQ") return;
    this.brake(now);
    if (flag === "FQ") {
      this.stuckReading = this.at(now).position;
      this.flags.add("WR");
    }
  }

  /** The condition is over. What it latched stays until it is cleared; mere conditions go. */
  lift(flag: Flag): void {
    this.held.delete(flag);
    if (flag === "FQ") this.stuckReading = undefined;
    if (!clearable.has(flag) && flag !== "FD") this.flags.delete(flag);
  }

  /** Something in the way: the slide stops there and says why. Undefined takes it away. */
  block(now: number, place: number | undefined, flag: Flag = "FS"): void {
    this.update(now);
    if (place === undefined) this.barriers.delete(flag);
    else this.barriers.set(flag, place);
    const kept: Laid[] = [];
    for (const { plan, motion } of this.row) {
      const laid = now >= motion.endS ? { plan, motion, trip: undefined } : this.bounded(plan, now);
      kept.push(laid);
      if (laid.trip !== undefined) break;
    }
    this.row = kept;
    if (this.busy) this.onMotion(this.restS(now));
  }

  /** Somebody pushes the standing slide. */
  displace(now: number, by: number): void {
    this.update(now);
    if (this.busy) return;
    this.rest = Math.min(Math.max(this.rest + by, 0), this.options.strokeMicrosteps);
    this.flags.add("WM");
  }

  /** Power fails and returns: the slide stays where it is; the reference is lost unless the slide was parked. */
  powerCycle(now: number): void {
    this.update(now);
    this.rest = this.at(now).position;
    this.row = [];
    this.homing = false;
    const told = this.flags.has("WH");
    this.flags.clear();
    for (const flag of this.held) this.flags.add(flag);
    if (!this.parked) this.loseReference();
    else if (told) this.flags.add("WH");
    this.target = this.rest + this.offset;
  }

  private loseReference(): void {
    this.flags.add("WR");
    this.offset = -Math.round(this.rest);
  }

  private interrupt(): void {
    if (this.busy) this.flags.add("NI");
    else this.flags.delete("NI");
    this.homing = false;
  }

  private lay(now: number, plan: SlideMotion): void {
    this.row = [this.bounded(plan, now)];
    this.onMotion(this.restS(now));
  }

  /** A motion as far as it gets: the first thing in its way stops it. */
  private bounded(plan: SlideMotion, fromS: number): Laid {
    let first: { readonly flag: Flag; readonly timeS: number } | undefined;
    for (const [flag, place] of this.barriers) {
      const timeS = plan.timeAt(place, fromS);
      if (timeS !== undefined && (first === undefined || timeS < first.timeS)) first = { flag, timeS };
    }
    return first === undefined
      ? { plan, motion: plan, trip: undefined }
      : { plan, motion: plan.cut(first.timeS), trip: first.flag };
  }
}
