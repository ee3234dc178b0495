/**
 * The fifteen ways to search an origin (system setting 2, manual pages 30 to 39), planned as a row of legs. Method 4 is
 * KOHZU's standard and is described in full; the others follow its pattern from their one-line descriptions: fast to
 * where the sensor must lie, past it, then slowly onto its edge. The order of the encoder methods 11 to 15 is our
 * assumption.
 */
import type { SpeedTable } from "../../cell/kohzu/codec/speed-table.js";
import { decelerate } from "./motion-profile.js";
import type { Leg } from "./drive-plan.js";
import type { Interval } from "./stage-sensors.js";

/** What a search finds along the screw; places in steps put out. Undefined is not fitted. */
export interface SearchGround {
  readonly from: number;
  readonly nearOrigin: Interval | undefined;
  readonly origin: Interval | undefined;
  /** Marks of the encoder: one of them, and their distance. */
  readonly encoderMarks: { readonly at: number; readonly every: number } | undefined;
  /** Where the limit switches let go on the way back. */
  readonly cwRelease: number;
  readonly ccwRelease: number;
  /** A stretch as far as the limit switch in its way; `limit` is the code when that ends it, else 0. */
  readonly plan: (
    from: number,
    to: number,
    table: SpeedTable,
  ) => { readonly leg: Leg; readonly limit: number };
}

export interface SearchPlan {
  readonly legs: readonly Leg[];
  /** 0 when the origin is found, else the code of what ended the search. */
  readonly code: number;
}

/** How far homing goes back past an edge before it comes onto it slowly. */
const overrunSteps = 100;
const far = 300_000_000;

class Search {
  readonly legs: Leg[] = [];
  code = 0;

  constructor(
    private readonly ground: SearchGround,
    private readonly fast: SpeedTable,
    private readonly slow: SpeedTable,
  ) {}

  get here(): number {
    return this.legs.at(-1)?.to ?? this.ground.from;
  }

  /** To a place; false when a limit switch is in the way. */
  go(to: number, speed: SpeedTable): boolean {
    const { leg, limit } = this.ground.plan(this.here, to, speed);
    this.legs.push(leg);
    if (limit !== 0) this.code = limit;
    return limit === 0;
  }

  /** Until the limit switch of this side closes. */
  toLimit(direction: 1 | -1): void {
    this.go(direction * far, this.fast);
    this.code = 0;
  }

  /** Past a place at full speed, then to a stop; false when the limit switch comes first or the place is nowhere. */
  pass(place: number | undefined, direction: 1 | -1): boolean {
    const from = this.here;
    const { leg, limit } = this.ground.plan(from, direction * far, this.fast);
    const ahead = place === undefined ? Infinity : direction * (place - from);
    if (ahead < 0 || ahead >= Math.abs(leg.to - from)) {
      this.legs.push(leg);
      this.code = limit;
      return false;
    }
    const profile = decelerate(leg.profile, leg.profile.timeOf(ahead), this.fast);
    const stop = from + direction * Math.round(profile.distance);
    this.legs.push(direction * (stop - leg.to) > 0 ? leg : { ...leg, to: stop, profile });
    return true;
  }

  /** Slowly onto a place ahead; on to the limit switch, which ends the search, when it never comes. */
  creep(place: number | undefined, direction: 1 | -1): boolean {
    const ahead = place !== undefined && direction * (place - this.here) >= 0;
    return this.go(ahead ? place : direction * far, this.slow) && ahead;
  }

  /** Slowly onto an edge from its CCW side, wherever the search began. */
  ontoFromCcw(edge: number | undefined): boolean {
    const { from } = this.ground;
    if (edge !== undefined && from > edge) {
      if (this.pass(edge, -1)) return this.creep(edge, 1);
    } else this.toLimit(-1);
    // The CCW limit came first: back at full speed, past the edge, and slowly to its CCW side again.
    this.code = 0;
    if (!this.pass(edge, 1)) return false;
    if (edge !== undefined) this.go(edge - overrunSteps, this.slow);
    return this.creep(edge, 1);
  }

  /** To the limit switch, then slowly away from it onto a place. */
  awayFromLimit(side: 1 | -1, place: number | undefined): boolean {
    this.toLimit(side);
    return this.creep(place, side === 1 ? -1 : 1);
  }

  /** On to the next mark of the encoder. */
  ontoMark(direction: 1 | -1): boolean {
    const marks = this.ground.encoderMarks;
    if (marks === undefined) return this.creep(undefined, direction);
    const turns = (this.here - marks.at) / marks.every;
    const next = direction > 0 ? Math.floor(turns + 1e-9) + 1 : Math.ceil(turns - 1e-9) - 1;
    return this.creep(Math.round(marks.at + next * marks.every), direction);
  }
}

/** Plans the search of `method` (1 to 9, 11 to 15), and the way on to the offset that becomes zero (system setting 1). */
export function planSearch(
  method: number,
  ground: SearchGround,
  table: SpeedTable,
  scanPps: number,
  offset: number,
): SearchPlan {
  const slow: SpeedTable = { ...table, pattern: "rectangular", topPps: scanPps, startPps: scanPps };
  const search = new Search(ground, table, slow);
  const up = (place: number | undefined): number | undefined => place && Math.ceil(place);
  const down = (place: number | undefined): number | undefined => place && Math.floor(place);
  const near = ground.nearOrigin && Math.ceil(ground.nearOrigin[0]);
  const mark = up(ground.origin?.[0]);
  const ways: Readonly<Record<number, () => boolean>> = {
    // A zone sensor is on from its edge to the CW end; the mark lies inside.
    1: () => search.ontoFromCcw(near) && search.creep(mark, 1),
    2: () => search.ontoFromCcw(near),
    3: () => search.ontoFromCcw(near) && search.creep(mark, 1),
    4: () => search.ontoFromCcw(near),
    5: () => search.awayFromLimit(1, down(ground.origin?.[1])),
    6: () => search.awayFromLimit(-1, mark),
    7: () => search.awayFromLimit(1, ground.cwRelease),
    8: () => search.awayFromLimit(-1, ground.ccwRelease),
    9: () => search.ontoFromCcw(mark),
    11: () => search.ontoFromCcw(near) && search.ontoMark(1),
    12: () => search.ontoFromCcw(near) && search.creep(mark, 1) && search.ontoMark(1),
    13: () => search.awayFromLimit(1, ground.cwRelease) && search.ontoMark(-1),
    14: () => search.awayFromLimit(-1, ground.ccwRelease) && search.ontoMark(1),
    15: () => search.ontoMark(1),
  };
  const found = ways[method]?.() ?? false;
  if (found && offset !== 0) search.go(search.here + offset, table);
  const code = search.code !== 0 ? search.code : found ? 0 : 399;
  return { legs: search.legs, code };
}
