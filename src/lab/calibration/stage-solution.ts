/**
 * What the observations of a stage calibration tell: how every axis moves the tip's image, which map from robot
 * coordinates to pixels follows, whether the axes are square, what is lost at a turn, and how far the lead is off.
 *
 * Model (weak perspective, skill-agent.md 13.1): pixel = c + A q, with q the positions of X, Y, Z while the focus stage of the
 * view follows the tip, as it does in all work: what its own axis adds is part of A. It cannot be told from A there, nor
 * from defocus elsewhere, because a tip out of focus is found displaced along the needle. The pictures' slow wander is taken
 * out before, by the looks at the origin around each observation.
 */
import type { CalibrationItem } from "../../base/calibration-file.js";
import { CellError } from "../../base/errors.js";
import { rotate, type Mat3, type Vec3 } from "../../base/transform.js";
import { fitLinear, propagate, rms, type LinearFit } from "./linear-fit.js";
import { linearStages, type Follow, type LinearStage, type Observation } from "./stage-plan.js";

type Pixel = readonly [number, number];
type Pair<T> = readonly [T, T];
const views = [0, 1] as const;

export interface SolutionContext {
  /** Orientation of the axes in robot coordinates, as drawn and as the arm reports. */
  readonly baseFromHead: Mat3;
  /** How the focus of each view followed the axes, m per m. */
  readonly follow: Follow;
  readonly viewNames: Pair<string>;
  readonly measuredAt: string;
  readonly expiresAt: string;
}

/** An observation relative to the origin, as it was seen around that time. */
export interface Relative {
  readonly observation: Observation;
  readonly tips: Pair<Pixel>;
}

/** The fit works in px/mm, so that its columns are of one size. */
const mm = 1e3;

export function relative(observations: readonly Observation[]): Relative[] {
  const references = observations.filter(({ kind }) => kind === "reference").sort((a, b) => a.atS - b.atS);
  const [first] = references;
  if (first === undefined) throw new CellError("CALIBRATION_ILL_POSED", "the origin was not looked at");
  return observations
    .filter(({ kind }) => kind !== "reference")
    .map((observation) => {
      const before = references.filter(({ atS }) => atS <= observation.atS).at(-1) ?? first;
      const after = references.find(({ atS }) => atS > observation.atS) ?? before;
      const span = after.atS - before.atS;
      const share = span > 0 ? (observation.atS - before.atS) / span : 0;
      const tip = (i: 0 | 1): Pixel => {
        const at = (k: 0 | 1): number =>
          observation.tips[i][k] - (before.tips[i][k] + share * (after.tips[i][k] - before.tips[i][k]));
        return [at(0), at(1)];
      };
      return { observation, tips: [tip(0), tip(1)] };
    });
}

/** Factors of the unknowns: X, Y, Z (px/mm), constant (px). */
function row({ observation }: Relative): number[] {
  const { x, y, z } = observation.offsets;
  return [x * mm, y * mm, z * mm, 1];
}

/** By view and image coordinate. */
type Fits = Pair<Pair<LinearFit>>;

function fitViews(seen: readonly Relative[]): Fits {
  const fitted = seen.filter(({ observation: { kind } }) => kind === "scan");
  const fit = (i: 0 | 1, k: 0 | 1): LinearFit =>
    fitLinear(
      fitted.map((one) => row(one)),
      fitted.map(({ tips }) => tips[i][k]),
    );
  return [
    [fit(0, 0), fit(0, 1)],
    [fit(1, 0), fit(1, 1)],
  ];
}

/** Seen minus predicted: u1, v1, u2, v2; px. */
function misfit(one: Relative, fits: Fits): number[] {
  return views.flatMap((i) =>
    views.map((k) => {
      const r = row(one);
      return one.tips[i][k] - fits[i][k].x.reduce((sum, value, j) => sum + value * (r[j] ?? NaN), 0);
    }),
  );
}

/** Image motion u1, v1, u2, v2 of one axis, px/m. */
const motionOf = (fits: Fits, axis: number): number[] =>
  views.flatMap((i) => views.map((k) => (fits[i][k].x[axis] ?? NaN) * mm));

/** A displacement along an axis from its image in both views, least squares, m. */
export function along(motion: readonly number[], image: readonly number[]): number {
  const dot = motion.reduce((sum, m, j) => sum + m * (image[j] ?? NaN), 0);
  return dot / motion.reduce((sum, m) => sum + m * m, 0);
}

/**
 * Cosines of the angles between the axes X–Y, X–Z, Y–Z. A telecentric view has rows of equal length at right angles in
 * Euclidean space; with unit axes of Gram matrix I + S the inverse is I − S to first order, and each view's rows a, b obey
 * a (I − S) aᵀ = b (I − S) bᵀ and a (I − S) bᵀ = 0: affine self-calibration, Quan, IJCV 19 (1996) 93, eq. 5, with the
 * equal scales of the axes as the extra condition. Two views give four equations for three unknowns.
 */
export function squareness(maps: Pair<Pair<Vec3>>): readonly number[] {
  const pairs = [
    [0, 1],
    [0, 2],
    [1, 2],
  ] as const;
  const rows: number[][] = [];
  const right: number[] = [];
  for (const [a, b] of maps) {
    const size = a[0] ** 2 + a[1] ** 2 + a[2] ** 2;
    rows.push(pairs.map(([j, k]) => (2 * (a[j] * a[k] - b[j] * b[k])) / size));
    right.push((size - b[0] ** 2 - b[1] ** 2 - b[2] ** 2) / size);
    rows.push(pairs.map(([j, k]) => (a[j] * b[k] + a[k] * b[j]) / size));
    right.push((a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) / size);
  }
  return fitLinear(rows, right).x;
}

/**
 * The lead of one axis may differ from its neighbour's by this share within the field of view: the largest slope of a
 * lead error of ±3 µm with a period of 15 mm, 2π · 3 µm / 15 mm, over √2 (XA05A-R102, the sister model's data sheet).
 */
const scaleSigma = (2 * Math.PI * 3e-6) / 15e-3 / Math.SQRT2;

/** A focus stage runs along the optical axis to this, rad, in each direction of the picture: an assumption on its mounting. */
const focusAxisSigma = 4e-3;

const diagonal = (variances: readonly number[]): number[][] =>
  variances.map((v, i) => variances.map((_, j) => (i === j ? v : 0)));

const mean = (values: readonly number[]): number => values.reduce((sum, v) => sum + v, 0) / values.length;

/** @throws CellError CALIBRATION_ILL_POSED when the observations do not determine the result */
export function solveStages(
  observations: readonly Observation[],
  context: SolutionContext,
): Record<string, CalibrationItem> {
  const seen = relative(observations);
  const fits = fitViews(seen);
  const dates = { measuredAt: context.measuredAt, expiresAt: context.expiresAt };
  const held = seen.filter(({ observation: { kind } }) => kind === "held-out");
  const heldMisfits = held.map((one) => misfit(one, fits));
  const fittedCount = seen.filter(({ observation: { kind } }) => kind === "scan").length;
  const residualsOf = (i: 0 | 1): CalibrationItem["residuals"] => {
    const offs = heldMisfits.map((m) => m.slice(2 * i, 2 * i + 2));
    const values = offs.flat();
    return {
      unit: "px",
      rms: rms(values),
      max: Math.max(...values.map(Math.abs)),
      heldOut: values.length,
      points: offs.map((off, n) => ({ at: [...(held[n]?.observation.tips[i] ?? [])], off })),
      pointUnit: "px",
    };
  };
  const items: Record<string, CalibrationItem> = {};

  for (const i of views) {
    const rows = views.map((k): Vec3 => {
      const { x } = fits[i][k];
      return rotate(context.baseFromHead, [(x[0] ?? NaN) * mm, (x[1] ?? NaN) * mm, (x[2] ?? NaN) * mm]);
    });
    const block = views.map((k) => turnedCovariance(fits[i][k].covariance, context.baseFromHead));
    const covariance = Array.from({ length: 6 }, (_, r) =>
      Array.from({ length: 6 }, (__, c) =>
        Math.floor(r / 3) === Math.floor(c / 3) ? (block[Math.floor(r / 3)]?.[r % 3]?.[c % 3] ?? NaN) : 0,
      ),
    );
    items[`${context.viewNames[i]}.map`] = {
      unit: "px/m",
      values: rows.flat(),
      covariance,
      residuals: residualsOf(i),
      measurements: fittedCount,
      method:
        "robot coordinates to pixels: image right, then image down; tip moved by stages X, Y, Z, focus following",
      ...dates,
    };
    items[`stage.focus${i + 1}.drift`] = focusItem(i, seen, dates);
  }

  items["stage.squareness"] = squarenessItem(fits, context.follow, fittedCount, heldMisfits, dates);
  linearStages.forEach((axis, n) => Object.assign(items, axisItems(axis, n, seen, fits, heldMisfits, dates)));
  return items;
}

/** What the picture of the tip does per metre of the focus stage near the focus; slopes of four positions. */
function focusItem(i: 0 | 1, seen: readonly Relative[], dates: Dates): CalibrationItem {
  const steps = seen.filter(({ observation: { kind } }) => kind === "focus");
  const at = (one: Relative): number => one.observation.offsets[i === 0 ? "focus1" : "focus2"] * mm;
  const fitOf = (from: readonly Relative[], k: 0 | 1): LinearFit =>
    fitLinear(
      from.map((one) => [at(one), 1]),
      from.map(({ tips }) => tips[i][k]),
    );
  const fits = views.map((k) => fitOf(steps, k));
  // Each position against the line through the others.
  const left = steps.flatMap((one) =>
    views.map((k) => {
      const { x } = fitOf(
        steps.filter((other) => other !== one),
        k,
      );
      return one.tips[i][k] - (x[0] ?? NaN) * at(one) - (x[1] ?? NaN);
    }),
  );
  return {
    unit: "px/m",
    values: fits.map(({ x }) => (x[0] ?? NaN) * mm),
    covariance: diagonal(fits.map(({ covariance }) => (covariance[0]?.[0] ?? NaN) * mm * mm)),
    residuals: { unit: "px", rms: rms(left), max: Math.max(...left.map(Math.abs)), heldOut: left.length },
    measurements: steps.length,
    method:
      "apparent image motion of the tip per metre of the focus stage: its axis, and what defocus does to the tip found",
    ...dates,
  };
}

/** R C Rᵀ of the first three unknowns, px/m. */
function turnedCovariance(c: readonly (readonly number[])[], r: Mat3): number[][] {
  const small = [0, 1, 2].map((i) => [0, 1, 2].map((j) => (c[i]?.[j] ?? NaN) * mm * mm));
  return propagate((x) => rotate(r, [x[0] ?? NaN, x[1] ?? NaN, x[2] ?? NaN]), [0, 0, 0], small, [1, 1, 1]);
}

type Dates = Pick<CalibrationItem, "measuredAt" | "expiresAt">;

function squarenessItem(
  fits: Fits,
  follow: Follow,
  measurements: number,
  heldMisfits: readonly (readonly number[])[],
  dates: Dates,
): CalibrationItem {
  // The twelve fitted numbers (px/mm), the unknown relative scale of each axis, what each focus axis adds (px/mm).
  const fitted = views.flatMap((i) => views.flatMap((k) => fits[i][k].x.slice(0, 3)));
  const f = (x: readonly number[]): readonly number[] => {
    const at = (n: number): Vec3 => {
      const one = (j: 0 | 1 | 2): number => {
        const added = (x[15 + n] ?? NaN) * follow[linearStages[j]][n < 2 ? 0 : 1];
        return ((x[3 * n + j] ?? NaN) - added) * (1 + (x[12 + j] ?? NaN));
      };
      return [one(0), one(1), one(2)];
    };
    return squareness([
      [at(0), at(1)],
      [at(2), at(3)],
    ]);
  };
  const scalePx = Math.hypot(...fitted.slice(0, 3));
  const covariance = Array.from({ length: 19 }, (_, r) =>
    Array.from({ length: 19 }, (__, c) => {
      if (r >= 15 || c >= 15) return r === c ? (focusAxisSigma * scalePx) ** 2 : 0;
      if (r >= 12 || c >= 12) return r === c ? scaleSigma ** 2 : 0;
      const n = Math.floor(r / 3);
      if (n !== Math.floor(c / 3)) return 0;
      const fit = fits[n < 2 ? 0 : 1][(n % 2) as 0 | 1];
      return fit.covariance[r % 3]?.[c % 3] ?? NaN;
    }),
  );
  const steps = [...fitted.map(() => 1e-2), 1e-5, 1e-5, 1e-5, 1e-2, 1e-2, 1e-2, 1e-2];
  const x = [...fitted, ...new Array<number>(7).fill(0)];
  const size = scalePx * mm;
  return {
    unit: "rad",
    values: [...f(x)],
    covariance: propagate(f, x, covariance, steps),
    residuals: {
      // What the held-out poses leave, as an angle over the reach of the measurement (0.5 mm).
      unit: "rad",
      rms: rms(heldMisfits.flat()) / size / 5e-4,
      max: Math.max(...heldMisfits.flat().map(Math.abs)) / size / 5e-4,
      heldOut: heldMisfits.flat().length,
    },
    measurements,
    method:
      "cosines of the angles X-Y, X-Z, Y-Z from telecentric views; leads assumed equal to 0.09 %, focus axes parallel to the views to 4 mrad",
    ...dates,
  };
}

function axisItems(
  axis: LinearStage,
  n: number,
  seen: readonly Relative[],
  fits: Fits,
  heldMisfits: readonly (readonly number[])[],
  dates: Dates,
): Record<string, CalibrationItem> {
  const motion = motionOf(fits, n);
  const of = (kind: Observation["kind"]): Relative[] =>
    seen.filter(({ observation }) => observation.kind === kind && observation.axis === axis);
  const scan = of("scan");
  const above = of("above");
  const below = of("below");
  const partner = (one: Relative): Relative | undefined =>
    below.find(({ observation }) => observation.id === one.observation.id.replace("above", "below"));
  const lost = above.flatMap((one): number[] => {
    const other = partner(one);
    // Same position from both sides; what the pictures have moved, the model and the references have taken out.
    return other === undefined ? [] : [along(motion, difference(misfit(one, fits), misfit(other, fits)))];
  });
  if (lost.length < 2)
    throw new CellError("CALIBRATION_ILL_POSED", `stage ${axis}: ${lost.length} approaches from both sides`);
  const leaveOneOut = lost.map((value) => value - (mean(lost) * lost.length - value) / (lost.length - 1));
  const variance = lost.reduce((sum, v) => sum + (v - mean(lost)) ** 2, 0) / (lost.length - 1);

  const lead = scan.map((one) => ({
    at: one.observation.offsets[axis],
    off: along(motion, misfit(one, fits)),
  }));
  const mapAt = (position: number): number => {
    const after = lead.findIndex(({ at }) => at >= position);
    const [a, b] = [lead[Math.max(0, after - 1)], lead[after < 0 ? lead.length - 1 : after]];
    if (a === undefined || b === undefined) return NaN;
    const share = b.at > a.at ? (position - a.at) / (b.at - a.at) : 0;
    return a.off + share * (b.off - a.off);
  };
  const leadHeld = below.map(
    (one) => along(motion, misfit(one, fits)) - mapAt(one.observation.offsets[axis]),
  );
  const heldPx = heldMisfits.flat();
  return {
    ...repeatabilityItem(axis, seen, fits, motion, dates),
    [`stage.${axis}.direction`]: {
      unit: "px/m",
      values: motion,
      covariance: diagonal(
        views.flatMap((i) => views.map((k) => (fits[i][k].covariance[n]?.[n] ?? NaN) * mm * mm)),
      ),
      residuals: {
        unit: "px",
        rms: rms(heldPx),
        max: Math.max(...heldPx.map(Math.abs)),
        heldOut: heldPx.length,
      },
      measurements: scan.length,
      method:
        "image motion of the tip per metre of the stage, focus following: right, down in view 1, then in view 2",
      ...dates,
    },
    [`stage.${axis}.lostMotion`]: {
      unit: "m",
      values: [mean(lost)],
      covariance: [[variance / lost.length]],
      residuals: {
        unit: "m",
        rms: rms(leaveOneOut),
        max: Math.max(...leaveOneOut.map(Math.abs)),
        heldOut: lost.length,
        points: lost.map((value, n) => ({
          at: [above[n]?.observation.offsets[axis] ?? NaN],
          off: [value],
        })),
        pointUnit: "m",
      },
      measurements: 2 * lost.length,
      method:
        "one position approached from above and from below, difference; residuals each against the mean of the others",
      ...dates,
    },
    [`stage.${axis}.leadError`]: {
      unit: "m",
      at: { unit: "m", values: lead.map(({ at }) => at) },
      values: lead.map(({ off }) => off),
      // One approach scatters by a half of the variance of a difference of two.
      covariance: diagonal(lead.map(() => variance / 2)),
      residuals: {
        unit: "m",
        rms: rms(leadHeld),
        max: Math.max(...leadHeld.map(Math.abs)),
        heldOut: leadHeld.length,
        points: below.map((one, n) => ({ at: [one.observation.offsets[axis]], off: [leadHeld[n] ?? NaN] })),
        pointUnit: "m",
      },
      measurements: lead.length,
      method:
        "distance from the best line at positions (at) from the origin of the measurement; residuals between them",
      ...dates,
    },
  };
}

/** Mean and standard deviation of the range of seven normal values, in theirs: the factors d2 and d3 of control charts. */
const rangeOfSeven = { d2: 2.704, d3: 0.833 } as const;

/**
 * Half of the spread of seven approaches from one side, at each of three points (JIS B 6191, as KOHZU inspects); the stage's
 * repeatability is the largest. What the pictures scatter is in it.
 */
function repeatabilityItem(
  axis: LinearStage,
  seen: readonly Relative[],
  fits: Fits,
  motion: readonly number[],
  dates: Dates,
): Record<string, CalibrationItem> {
  const own = seen.filter(({ observation }) => observation.kind === "repeat" && observation.axis === axis);
  const points = [...new Set(own.map(({ observation }) => observation.id.replace(/-\d+$/, "")))].map((id) => {
    const at = own.filter(({ observation }) => observation.id.replace(/-\d+$/, "") === id);
    const places = at.map((one) => along(motion, misfit(one, fits)));
    return { position: mean(at.map(({ observation }) => observation.offsets[axis])), places };
  });
  if (points.length === 0) return {};
  const half = points.map(({ places }) => (Math.max(...places) - Math.min(...places)) / 2);
  const left = points.flatMap(({ position, places }) =>
    places.map((place) => ({
      at: [position],
      off: [place - (mean(places) * places.length - place) / (places.length - 1)],
    })),
  );
  const offs = left.flatMap(({ off }) => off);
  return {
    [`stage.${axis}.repeatability`]: {
      unit: "m",
      at: { unit: "m", values: points.map(({ position }) => position) },
      values: half,
      covariance: diagonal(half.map((value) => ((value * rangeOfSeven.d3) / rangeOfSeven.d2) ** 2)),
      residuals: {
        unit: "m",
        rms: rms(offs),
        max: Math.max(...offs.map(Math.abs)),
        heldOut: offs.length,
        points: left,
        pointUnit: "m",
      },
      measurements: own.length,
      method:
        "half of the spread of seven approaches from below at each of three points (JIS B 6191); residuals each against the others",
      ...dates,
    },
  };
}

const difference = (a: readonly number[], b: readonly number[]): number[] =>
  a.map((value, i) => value - (b[i] ?? NaN));
