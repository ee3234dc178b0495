/**
 * The switches of a stage as the controller's inputs see them: limits that let go a little inside the place where they
 * closed, the near-origin flag (NORG), an origin mark (ORG) where one is fitted. Places in steps from the nominal origin.
 */
import type { StageModel } from "./stage-models.js";

export type Side = "cw" | "ccw";

/** Where a sensor is on, steps; the ends belong to it. */
export type Interval = readonly [number, number];

const within = (place: number, interval: Interval | undefined): boolean =>
  interval !== undefined && place >= interval[0] && place <= interval[1];

export class StageSensors {
  /** Distance from the middle where the limit switches close, and where they let go again. */
  readonly limitSteps: number;
  readonly releaseSteps: number;
  readonly nearOriginZone: Interval | undefined;
  readonly originMark: Interval | undefined;

  private readonly latched = { cw: false, ccw: false };
  private readonly stuck = new Map<Side, boolean>();
  /** NORG never switches on. */
  nearOriginDead = false;

  constructor(model: StageModel) {
    const { step, limit, limitHysteresis, nearOriginWidth, originMark } = model;
    this.limitSteps = Math.round(limit / step);
    this.releaseSteps = Math.ceil(this.limitSteps - limitHysteresis / step) - 1;
    this.nearOriginZone = nearOriginWidth === undefined ? undefined : [0, nearOriginWidth / step];
    this.originMark = originMark && [originMark[0] / step, originMark[1] / step];
  }

  /** Whether a limit switch is closed with the shaft at `place`. */
  limitOn(side: Side, place: number): boolean {
    const forced = this.stuck.get(side);
    if (forced !== undefined) return forced;
    const outward = place * (side === "cw" ? 1 : -1);
    if (outward >= this.limitSteps) this.latched[side] = true;
    else if (outward <= this.releaseSteps) this.latched[side] = false;
    return this.latched[side];
  }

  /** Holds a limit switch closed or open whatever the table does; undefined mends it. */
  stick(side: Side, closed: boolean | undefined): void {
    if (closed === undefined) this.stuck.delete(side);
    else this.stuck.set(side, closed);
  }

  stuckAt(side: Side): boolean | undefined {
    return this.stuck.get(side);
  }

  nearOrigin(place: number): boolean {
    return !this.nearOriginDead && within(place, this.nearOriginZone);
  }

  origin(place: number): boolean {
    return within(place, this.originMark);
  }
}
