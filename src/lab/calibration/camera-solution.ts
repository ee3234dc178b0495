/** From what was seen of a target to the items of a camera: scale, distortion, black level, response, flat field. */
import type { CalibrationItem } from "../../base/calibration-file.js";
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import type { TargetFile } from "../../base/target-file.js";
import type { TargetObservation, ViewSeen } from "./camera-plan.js";
import type { CameraState, GreySample } from "./camera-run.js";
import { fitLinear, propagate, rms } from "./linear-fit.js";
import { cellsAcross } from "./target-pattern.js";
import { fitTelecentric, heldOutMisfits, scaleOf, sightings } from "./telecentric-fit.js";

export interface CameraContext {
  readonly target: TargetFile;
  readonly size: readonly [number, number];
  readonly viewNames: readonly [string, string];
  readonly measuredAt: string;
  readonly expiresAt: string;
}

export const residualsOf = (values: readonly number[], unit: string): CalibrationItem["residuals"] => ({
  unit,
  rms: rms(values),
  max: Math.max(...values.map(Math.abs)),
  heldOut: values.length,
});

/** @throws CellError CALIBRATION_ILL_POSED, CALIBRATION_REFUSED when what was seen does not determine the result */
export function solveCamera(
  state: Pick<CameraState, "observations" | "greys" | "referenceUs">,
  context: CameraContext,
): Record<string, CalibrationItem> {
  const items: Record<string, CalibrationItem> = {};
  for (const view of [0, 1] as const) {
    const name = context.viewNames[view];
    Object.assign(items, geometryItems(name, view, state.observations, context));
    const grey = greyItems(name, state.greys[view], state.referenceUs[view], context);
    Object.assign(items, grey.items, {
      [`${name}.flatField`]: flatField(
        state.observations.map(({ views }) => views[view]).filter(({ crossings }) => crossings.length > 0),
        grey.black,
        context,
      ),
    });
  }
  return items;
}

type Dates = Pick<CalibrationItem, "measuredAt" | "expiresAt">;
const datesOf = ({ measuredAt, expiresAt }: CameraContext): Dates => ({ measuredAt, expiresAt });

function geometryItems(
  name: string,
  view: 0 | 1,
  observations: readonly TargetObservation[],
  context: CameraContext,
): Record<string, CalibrationItem> {
  const of = (wanted: (one: TargetObservation) => boolean): ReturnType<typeof sightings> =>
    sightings(observations.filter(wanted), view, context.target);
  const fit = fitTelecentric(
    of(({ kind }) => kind !== "held-out"),
    context.size,
  );
  const { metresPerPixel, variance } = scaleOf(fit, context.target);
  const misfits = heldOutMisfits(
    fit,
    of(({ kind }) => kind === "held-out"),
    context.size,
  );
  const residuals = residualsOf(robust(misfits), "px");
  const rest = { residuals, measurements: fit.used, ...datesOf(context) };
  return {
    [`${name}.scale`]: {
      unit: "m/px",
      values: [metresPerPixel],
      covariance: [[variance]],
      method: `chessboard ${context.target.id} at ${new Set(observations.map(({ place }) => place)).size} places, seen without perspective; pixels assumed square`,
      ...rest,
    },
    [`${name}.distortion`]: {
      unit: "1",
      values: [fit.distortion],
      covariance: [[fit.covariance[4]?.[4] ?? NaN]],
      method: "radial, x = c + (p - c)(1 + k r²) with r = 1 in the corner and c the middle of the picture",
      ...rest,
    },
  };
}

/** Without crossings under dust, which a fit drops, too: beyond five times what is usual. */
function robust(values: readonly number[]): number[] {
  const sorted = values.map(Math.abs).sort((a, b) => a - b);
  const limit = 5 * 1.4826 * Math.max(sorted[sorted.length >> 1] ?? NaN, 0.01);
  return values.filter((value) => Math.abs(value) <= limit);
}

/**
 * Black level and response. Exposures are compared with one another by the reference looks about each, so that the light may
 * drift. Grey = black + p E + q E² (E in reference exposures) over the lower ones gives the black level; the response is
 * (grey - black) / E against that of the reference: 1 everywhere for a linear sensor.
 */
function greyItems(
  name: string,
  samples: readonly GreySample[],
  referenceUs: number,
  context: CameraContext,
): { readonly items: Record<string, CalibrationItem>; readonly black: number } {
  const reference = samples[0]?.before ?? NaN;
  const shares = samples.map(({ exposureUs }) => exposureUs / referenceUs);
  let black = 0;
  let fit: ReturnType<typeof fitLinear> | undefined;
  for (let round = 0; round < 3; round++) {
    const before = black;
    const lit = samples.map(
      ({ before: b, after, grey }) =>
        ((grey - before) * (reference - before)) / ((b + after) / 2 - before) + before,
    );
    fit = fitLinear(
      shares.map((e) => [1, e, e * e]),
      lit,
    );
    black = fit.x[0] ?? NaN;
  }
  if (fit === undefined || !(black > -20 && black < 100))
    throw new CellError(
      "CALIBRATION_REFUSED",
      `${name}: the grey levels at ${samples.length} exposures give a black level of ${black.toFixed(1)}`,
      { remedy: "shut out other light, leave the lamp alone while it measures, and begin anew with --fresh" },
    );
  const ratioOf = ({ before, after, grey }: GreySample, n: number): number =>
    (grey - black) / (((before + after) / 2 - black) * (shares[n] ?? NaN));
  const ratios = samples.map(ratioOf);
  const levels = samples.map(({ grey }) => grey - black);
  // Every other sample against the line between its neighbours.
  const left = ratios.slice(1, -1).flatMap((value, k) => {
    if (k % 2 === 1) return [];
    const [l0, l, l1] = [levels[k] ?? NaN, levels[k + 1] ?? NaN, levels[k + 2] ?? NaN];
    const between =
      (ratios[k] ?? NaN) + ((l - l0) / (l1 - l0)) * ((ratios[k + 2] ?? NaN) - (ratios[k] ?? NaN));
    return [value - between];
  });
  const noise = Math.max(fit.sigma, 0.02);
  const blackVariance = fit.covariance[0]?.[0] ?? NaN;
  const method = `plain glass at ${samples.length} exposures, reference looks between`;
  const rest = { measurements: 3 * samples.length, ...datesOf(context) };
  return {
    black,
    items: {
      [`${name}.blackLevel`]: {
        unit: "grey",
        values: [black],
        covariance: [[blackVariance]],
        residuals: residualsOf(leaveOneOut(shares, samples, reference, black), "grey"),
        method: `${method}; grey at no exposure, by a parabola`,
        ...rest,
      },
      [`${name}.response`]: {
        unit: "1",
        values: ratios,
        at: { unit: "grey", values: levels },
        covariance: ratios.map((_, i) =>
          ratios.map((__, j) => {
            const share = (n: number): number => (levels[n] ?? NaN) / (ratios[n] ?? NaN);
            return blackVariance / (share(i) * share(j)) + (i === j ? (noise / share(i)) ** 2 : 0);
          }),
        ),
        residuals: residualsOf(left, "1"),
        method: `${method}; signal per exposure against that at the reference, by signal (at) above black`,
        ...rest,
      },
    },
  };
}

/** Each sample against the parabola through the others, grey levels. */
function leaveOneOut(
  shares: readonly number[],
  samples: readonly GreySample[],
  reference: number,
  black: number,
): number[] {
  const lit = samples.map(
    ({ before, after, grey }) =>
      ((grey - black) * (reference - black)) / ((before + after) / 2 - black) + black,
  );
  return shares.map((e, n) => {
    const others = shares.flatMap((other, m) => (m === n ? [] : [[1, other, other * other]]));
    const { x } = leastSquares(
      others,
      lit.filter((_, m) => m !== n),
    );
    return (lit[n] ?? NaN) - ((x[0] ?? NaN) + (x[1] ?? NaN) * e + (x[2] ?? NaN) * e * e);
  });
}

/** Cells nearer to the pattern than this, px, are not plain; more off than this share, dust or glare. */
const patternClearancePx = 100;
const outlierShare = 0.02;

/** Whether a cell is plain glass: it lies outside the hull of the crossings, by its half diagonal and two squares. */
function plainCells({ crossings }: ViewSeen, size: readonly [number, number]): boolean[] {
  const points = crossings.flatMap((one) => (one === null ? [] : [one]));
  const side = size[0] / cellsAcross;
  const clear = patternClearancePx + side * Math.SQRT1_2;
  return Array.from({ length: cellsAcross * cellsAcross }, (_, n) => {
    const x = ((n % cellsAcross) + 0.5) * side;
    const y = (Math.floor(n / cellsAcross) + 0.5) * side;
    return points.every(([px, py]) => Math.hypot(px - x, py - y) > clear);
  });
}

/**
 * What share of the light comes through, against the middle: 1 + a x + b y + c x² + d xy + e y², x and y from the middle
 * with the corner at distance 1. Each picture's own brightness is free; specks of dust and glare are left out.
 */
function flatField(views: readonly ViewSeen[], black: number, context: CameraContext): CalibrationItem {
  const { size } = context;
  const corner = Math.hypot(size[0], size[1]) / 2;
  const side = size[0] / cellsAcross;
  const place = (n: number): readonly [number, number] => [
    (((n % cellsAcross) + 0.5) * side - size[0] / 2) / corner,
    ((Math.floor(n / cellsAcross) + 0.5) * side - size[1] / 2) / corner,
  ];
  const terms = (n: number): number[] => {
    const [x, y] = place(n);
    return [1, x, y, x * x, x * y, y * y];
  };
  const plain = views.map((view) => plainCells(view, size));
  // Brightness of each picture and the field in turns; six unknowns are enough to begin with the mean.
  let field: readonly number[] = [1, 0, 0, 0, 0, 0];
  const value = (n: number, f: readonly number[]): number =>
    terms(n).reduce((sum, term, k) => sum + term * (f[k] ?? NaN), 0);
  const meansOf = (f: readonly number[]): (number | undefined)[] => {
    const sums = new Array<number>(cellsAcross * cellsAcross).fill(0);
    const counts = new Array<number>(cellsAcross * cellsAcross).fill(0);
    views.forEach(({ cells }, v) => {
      const ratios = cells.map((grey, n) => (grey - black) / value(n, f));
      const own = ratios.filter((_, n) => plain[v]?.[n]).sort((a, b) => a - b);
      const bright = own[own.length >> 1] ?? NaN;
      cells.forEach((grey, n) => {
        if (plain[v]?.[n] !== true) return;
        sums[n] = (sums[n] ?? 0) + (grey - black) / bright;
        counts[n] = (counts[n] ?? 0) + 1;
      });
    });
    return sums.map((sum, n) => ((counts[n] ?? 0) > 0 ? sum / (counts[n] ?? 1) : undefined));
  };
  const cleanOf = (means: readonly (number | undefined)[], f: readonly number[], limit: number): number[] =>
    means.flatMap((mean, n) => (mean !== undefined && Math.abs(mean / value(n, f) - 1) < limit ? [n] : []));
  let fit: ReturnType<typeof fitLinear> | undefined;
  let means: (number | undefined)[] = [];
  let clean: number[] = [];
  const isFitted = (n: number): boolean => (n + Math.floor(n / cellsAcross)) % 2 === 0;
  for (let round = 0; round < 8; round++) {
    means = meansOf(field);
    // Wide at first: vignetting itself is larger than what is left out in the end.
    clean = cleanOf(means, field, round === 0 ? 1 : Math.max(outlierShare, 0.2 / round ** 2));
    const used = clean.filter(isFitted);
    if (used.length < 40)
      throw new CellError(
        "CALIBRATION_REFUSED",
        `${used.length} parts of the picture show plain glass without dust or glare; 40 are needed`,
        { remedy: "clean the optics and the target" },
      );
    fit = fitLinear(
      used.map(terms),
      used.map((n) => means[n] ?? NaN),
    );
    field = fit.x;
  }
  if (fit === undefined) throw new CellError("INTERNAL", "no fit was made");
  const relative = (x: readonly number[]): number[] => x.slice(1).map((v) => v / (x[0] ?? NaN));
  const held = clean.filter((n) => !isFitted(n)).map((n) => (means[n] ?? NaN) / value(n, field) - 1);
  return {
    unit: "1",
    values: relative(fit.x),
    covariance: propagate(relative, fit.x, fit.covariance, new Array<number>(6).fill(1e-4)),
    residuals: residualsOf(held, "1"),
    measurements: clean.length,
    method:
      "light that comes through against the middle: 1 + a x + b y + c x² + d xy + e y², corner at distance 1; medians of plain parts",
    ...datesOf(context),
  };
}
