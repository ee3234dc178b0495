/** Speed tables as the controller holds them: factory values, rules, and the values it can really produce. */
import type { SpeedTable } from "../../cell/kohzu/codec.js";

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

/** Step of the top speed by range. The steps are documented, the borders of the ranges are our assumption. */
const speedSteps: readonly (readonly [number, number])[] = [
  [10_000, 1],
  [20_000, 2],
  [50_000, 5],
  [100_000, 10],
  [200_000, 20],
  [Infinity, 50],
];

function quantise(speed: number): number {
  const step = speedSteps.find(([border]) => speed <= border)?.[1] ?? 50;
  return Math.round(speed / step) * step;
}

/** Shortest and longest ramp in units of 10 ms. */
const ramp = { shortest: 1, longest: 1000 } as const;

/**
 * Checks what a WTB asks for. Times in units of 10 ms, speeds in steps/s.
 * @param topLimit system setting 16
 * @returns the error code, or the table as the controller keeps it: nearest possible values, and a deceleration of less
 *   than twice the acceleration (a longer one is shortened without a word)
 */
export function acceptTable(
  wanted: {
    readonly start: number;
    readonly top: number;
    readonly acceleration: number;
    readonly deceleration: number;
    readonly pattern: SpeedTable["pattern"];
  },
  topLimit: number,
): SpeedTable | number {
  if (wanted.acceleration < ramp.shortest) return 601;
  if (wanted.acceleration > ramp.longest) return 602;
  if (wanted.deceleration < ramp.shortest) return 603;
  if (wanted.deceleration > ramp.longest) return 604;
  if (wanted.start > wanted.top / 2) return 605;
  if (wanted.top > topLimit) return 607;
  return {
    startPps: quantise(wanted.start),
    topPps: quantise(wanted.top),
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
