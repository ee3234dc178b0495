/** Speed tables as the controller holds them: factory values, rules, and the values it can really produce. */
import type { SpeedTable } from "../../cell/kohzu/codec/speed-table.js";

/** Tables 0…9 are the user's, 10 and 11 the jog tables of the hand-held unit. */
export const tableCount = 12;

/** Factory values of table `n` (manual page 17). */
export function factoryTable(n: number): SpeedTable {
  const time = (16 + 4 * Math.min(n, 9)) / 100;
  return {
    startPps: 500,
    topPps: (Math.min(n, 9) + 1) * 1000,
    accelerationS: time,
    decelerationS: time,
    pattern: n >= 10 ? "s-curve" : "trapezoid",
  };
}

/** What the controller can produce by top speed: step of the speed, shortest and longest ramp. */
interface Regulation {
  readonly upTo: number;
  readonly step: number;
  readonly shortestMs: number;
  readonly longestMs: number;
}

const row = (upTo: number, step: number, shortestMs: number, longestMs: number): Regulation => ({
  upTo,
  step,
  shortestMs,
  longestMs,
});

/** Manual section 3-1-3, as public drivers restate it. */
const regulations: readonly Regulation[] = [
  row(20, 1, 10, 100),
  row(250, 1, 10, 1000),
  row(5000, 1, 10, 10_000),
  row(10_000, 2, 10, 10_000),
  row(25_000, 5, 10, 10_000),
  row(50_000, 10, 10, 10_000),
  row(100_000, 20, 10, 10_000),
  row(500_000, 50, 10, 10_000),
  row(1_000_000, 50, 20, 20_000),
  row(2_000_000, 50, 40, 40_000),
  row(5_000_000, 50, 100, 100_000),
];

export const fastestPps = 5_000_000;

export interface WantedTable {
  readonly start: number;
  readonly top: number;
  /** In units of 10 ms. */
  readonly acceleration: number;
  readonly deceleration: number;
  readonly pattern: SpeedTable["pattern"];
}

/**
 * Checks what a WTB asks for.
 * @param topLimit system setting 16
 * @returns the error code, or the table as the controller keeps it: nearest possible speeds, and a deceleration of less
 *   than twice the acceleration (a longer one is shortened without a word)
 */
export function acceptTable(wanted: WantedTable, topLimit: number): SpeedTable | number {
  const regulation = regulations.find(({ upTo }) => wanted.top <= upTo);
  if (regulation === undefined || wanted.top > topLimit) return 607;
  const { step, shortestMs, longestMs } = regulation;
  if (wanted.acceleration * 10 > longestMs) return 601;
  if (wanted.acceleration * 10 < shortestMs) return 602;
  if (wanted.deceleration * 10 > longestMs) return 603;
  if (wanted.deceleration * 10 < shortestMs) return 604;
  if (wanted.start > wanted.top / 2) return 605;
  return {
    startPps: wanted.start,
    topPps: Math.round(wanted.top / step) * step,
    accelerationS: wanted.acceleration / 100,
    decelerationS: Math.min(wanted.deceleration, 2 * wanted.acceleration - 1) / 100,
    pattern: wanted.pattern,
  };
}

/** Steps that the ramps of a table take: what WTB and RTB report behind the values. */
export function rampSteps(table: SpeedTable): readonly [number, number] {
  const mean = (table.startPps + table.topPps) / 2;
  return [Math.round(mean * table.accelerationS), Math.round(mean * table.decelerationS)];
}
