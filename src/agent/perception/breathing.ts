/**
 * Where a tissue point rests: its end-expiration position from a few breaths of tracking, and when the next
 * end-expiration comes. Model: a slow periodic motion with two harmonics and a fast pulse with two, common frequencies
 * for all coordinates. Breathing pauses at end-expiration, so of the two turning points of the motion it is the flatter.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { CellError } from "../../base/errors.js";

export interface TrackSample {
  /** Monotonic s of exposure. */
  readonly timeS: number;
  /** Image coordinates of the point in all views, px. */
  readonly coordinates: readonly number[];
}

export interface BreathingFit {
  readonly breathingHz: number;
  readonly pulseHz: number;
  /** Coordinates at end-expiration, pulse averaged out, px. */
  readonly rest: readonly number[];
  /** Peak to peak of the slow motion along its main direction, px. */
  readonly amplitudePx: number;
  /** RMS residual per coordinate, px. */
  readonly rmsPx: number;
  /** Coordinates predicted at a time, px. */
  at(timeS: number): number[];
  /** The first end-expiration at or after `timeS`. */
  nextRestS(timeS: number): number;
  readonly spanS: number;
}

function design(timeS: number, originS: number, breathingHz: number, pulseHz: number): number[] {
  const b = 2 * Math.PI * breathingHz * (timeS - originS);
  const p = 2 * Math.PI * pulseHz * (timeS - originS);
  return [
    1,
    Math.cos(b),
    Math.sin(b),
    Math.cos(2 * b),
    Math.sin(2 * b),
    Math.cos(p),
    Math.sin(p),
    Math.cos(2 * p),
    Math.sin(2 * p),
  ];
}

const terms = 9;

/**
 * Residual sum of squares over all coordinates, and the coefficients. Normal equations with Cholesky: the harmonics are
 * nearly orthogonal, and the whole search stays within a few milliseconds on the event loop.
 */
function solve(
  samples: readonly TrackSample[],
  originS: number,
  bHz: number,
  pHz: number,
): { cost: number; coefficients: number[][] } {
  const count = samples[0]?.coordinates.length ?? 0;
  const width = terms + count;
  const normal = new Float64Array(terms * width);
  let squares = 0;
  for (const sample of samples) {
    const row = design(sample.timeS, originS, bHz, pHz);
    for (let i = 0; i < terms; i++) {
      const value = row[i] ?? 0;
      for (let j = 0; j <= i; j++)
        normal[i * width + j] = (normal[i * width + j] ?? 0) + value * (row[j] ?? 0);
      for (let c = 0; c < count; c++)
        normal[i * width + terms + c] =
          (normal[i * width + terms + c] ?? 0) + value * (sample.coordinates[c] ?? NaN);
    }
    for (const value of sample.coordinates) squares += value * value;
  }
  const at = (i: number, j: number): number => normal[i * width + j] ?? NaN;
  const right = Array.from({ length: count }, (_, c) =>
    Array.from({ length: terms }, (_, i) => at(i, terms + c)),
  );
  // Cholesky in place of the lower triangle.
  for (let j = 0; j < terms; j++) {
    let diagonal = at(j, j);
    for (let k = 0; k < j; k++) diagonal -= at(j, k) ** 2;
    if (!(diagonal > 1e-9 * samples.length)) return { cost: Infinity, coefficients: [] };
    normal[j * width + j] = Math.sqrt(diagonal);
    for (let i = j + 1; i < terms; i++) {
      let value = at(i, j);
      for (let k = 0; k < j; k++) value -= at(i, k) * at(j, k);
      normal[i * width + j] = value / at(j, j);
    }
  }
  let explained = 0;
  const coefficients = right.map((b) => {
    const y: number[] = [];
    for (let i = 0; i < terms; i++) {
      let value = b[i] ?? NaN;
      for (let k = 0; k < i; k++) value -= at(i, k) * (y[k] ?? 0);
      y.push(value / at(i, i));
    }
    explained += y.reduce((sum, value) => sum + value * value, 0);
    const x = new Array<number>(terms).fill(0);
    for (let i = terms - 1; i >= 0; i--) {
      let value = y[i] ?? 0;
      for (let k = i + 1; k < terms; k++) value -= at(k, i) * (x[k] ?? 0);
      x[i] = value / at(i, i);
    }
    return x;
  });
  return { cost: Math.max(0, squares - explained) / samples.length, coefficients };
}

/**
 * @throws CellError VISION_UNKNOWN when the track is shorter than three breaths of the slowest expected rate or too noisy.
 */
export async function fitBreathing(
  samples: readonly TrackSample[],
  limits: { readonly breathingHz: readonly [number, number]; readonly pulseHz: readonly [number, number] } = {
    breathingHz: [0.8, 1.8],
    pulseHz: [4, 8],
  },
): Promise<BreathingFit> {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined || samples.length < 24)
    throw new CellError(
      "VISION_UNKNOWN",
      `a site was seen in ${samples.length} frames only; at least 24 are needed`,
    );
  const spanS = last.timeS - first.timeS;
  // Centred, so that the sums of squares do not drown the residuals.
  const mean = first.coordinates.map(
    (_, c) => samples.reduce((sum, s) => sum + (s.coordinates[c] ?? NaN), 0) / samples.length,
  );
  const centred = samples.map((s) => ({
    timeS: s.timeS,
    coordinates: s.coordinates.map((v, c) => v - (mean[c] ?? 0)),
  }));
  const originS = first.timeS;
  const search = async (
    b: readonly number[],
    p: readonly number[],
  ): Promise<{ bHz: number; pHz: number }> => {
    let best = { bHz: b[0] ?? 1, pHz: p[0] ?? 6, cost: Infinity };
    let solved = 0;
    for (const bHz of b)
      for (const pHz of p) {
        // A few milliseconds at a time: nothing may hold the event loop.
        if (++solved % 8 === 0) await nextTurn();
        const { cost } = solve(centred, originS, bHz, pHz);
        if (cost < best.cost) best = { bHz, pHz, cost };
      }
    return best;
  };
  const grid = (low: number, high: number, steps: number): number[] =>
    Array.from({ length: steps + 1 }, (_, i) => low + ((high - low) * i) / steps);
  // Coarse in breathing with a middling pulse, then the pulse, then both refined around the best.
  let { bHz, pHz } = await search(grid(...limits.breathingHz, 20), [
    (limits.pulseHz[0] + limits.pulseHz[1]) / 2,
  ]);
  ({ pHz } = await search([bHz], grid(...limits.pulseHz, 40)));
  for (const width of [0.05, 0.015, 0.005])
    ({ bHz, pHz } = await search(
      grid(bHz - width, bHz + width, 4),
      grid(pHz - 2 * width, pHz + 2 * width, 4),
    ));
  const { cost, coefficients } = solve(centred, originS, bHz, pHz);
  if (coefficients.length === 0)
    throw new CellError("VISION_UNKNOWN", "the track of a site does not determine its breathing");

  const slow = (c: readonly number[], phase: number): number =>
    (c[0] ?? 0) +
    (c[1] ?? 0) * Math.cos(phase) +
    (c[2] ?? 0) * Math.sin(phase) +
    (c[3] ?? 0) * Math.cos(2 * phase) +
    (c[4] ?? 0) * Math.sin(2 * phase);
  // Main direction of the slow motion: from one turning point to the other.
  const phases = Array.from({ length: 360 }, (_, i) => (2 * Math.PI * i) / 360);
  const path = phases.map((phase) => coefficients.map((c) => slow(c, phase)));
  const centre = coefficients.map((c) => c[0] ?? 0);
  const far = path.reduce((best, at) => (gap(at, centre) > gap(best, centre) ? at : best), centre);
  const direction = far.map((value, i) => value - (centre[i] ?? 0));
  const size = Math.hypot(...direction) || 1;
  const along = path.map((at) =>
    at.reduce((sum, value, i) => sum + ((value - (centre[i] ?? 0)) * (direction[i] ?? 0)) / size, 0),
  );
  const high = along.indexOf(Math.max(...along));
  const low = along.indexOf(Math.min(...along));
  const level = (i: number): number => along[((i % 360) + 360) % 360] ?? 0;
  const curvature = (i: number): number => Math.abs(level(i + 25) - 2 * level(i) + level(i - 25));
  const restIndex = curvature(high) < curvature(low) ? high : low;
  const restPhase = phases[restIndex] ?? 0;
  const period = 1 / bHz;
  return {
    breathingHz: bHz,
    pulseHz: pHz,
    rest: coefficients.map((c, i) => (mean[i] ?? 0) + slow(c, restPhase)),
    amplitudePx: Math.max(...along) - Math.min(...along),
    rmsPx: Math.sqrt(cost / Math.max(1, coefficients.length)),
    spanS,
    at: (timeS) => {
      const row = design(timeS, originS, bHz, pHz);
      return coefficients.map((c, k) =>
        row.reduce((sum, value, i) => sum + value * (c[i] ?? 0), mean[k] ?? 0),
      );
    },
    nextRestS: (timeS) => {
      const at = originS + (restPhase / (2 * Math.PI)) * period;
      return at + Math.ceil((timeS - at) / period) * period;
    },
  };
}

const gap = (a: readonly number[], b: readonly number[]): number =>
  Math.hypot(...a.map((value, i) => value - (b[i] ?? 0)));
