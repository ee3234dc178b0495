/**
 * A telecentric view of a flat target at many places: one affine map of the plane, an offset for each picture (stages and
 * the slow wander of the optics), and radial distortion. OpenCV has no camera without perspective (its own runs into the numbers'
 * end when the focal length grows without bound); parallel projection is linear but for the distortion, so that ours is short.
 */
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import type { TargetFile } from "../../base/target-file.js";
import type { TargetObservation } from "./camera-plan.js";
import { fitLinear, propagate } from "./linear-fit.js";

export interface TelecentricFit {
  /** Pixels per pitch: image right of u and v, image down of u and v. */
  readonly map: readonly [number, number, number, number];
  /** How far distortion carries a point in the picture's corner, as a share of its distance from the middle. */
  readonly distortion: number;
  /** Of the five, in their order. */
  readonly covariance: readonly (readonly number[])[];
  /** Standard deviation of one coordinate of a crossing, px. */
  readonly sigmaPx: number;
  readonly used: number;
  readonly dropped: number;
}

/** Blur beyond this makes a crossing a poor witness, px. */
const mostBlurPx = 5;
/** At most this share of the crossings may lie under dust. */
const mostDropped = 0.15;

export interface Sighting {
  /** Number of the picture. */
  readonly picture: number;
  /** In pitches from the middle of the pattern. */
  readonly u: number;
  readonly v: number;
  readonly x: number;
  readonly y: number;
}

/** What a view has seen of the crossings that are sharp enough. */
export function sightings(
  observations: readonly TargetObservation[],
  view: 0 | 1,
  { columns, rows }: Pick<TargetFile, "columns" | "rows">,
): Sighting[] {
  return observations.flatMap(({ views }, picture) =>
    views[view].crossings.flatMap((one, n) => {
      if (one === null || one[2] > mostBlurPx) return [];
      const [x, y] = one;
      return [
        {
          picture,
          u: (n % columns) - (columns - 1) / 2,
          v: Math.floor(n / columns) - (rows - 1) / 2,
          x,
          y,
        },
      ];
    }),
  );
}

const distortionUnit = 1e-3;

/** Squared distance from the middle, the corner being 1, and the two components, px. */
function radial(x: number, y: number, size: readonly [number, number]): readonly [number, number, number] {
  const [dx, dy] = [x - size[0] / 2, y - size[1] / 2];
  return [(dx * dx + dy * dy) / ((size[0] ** 2 + size[1] ** 2) / 4), dx, dy];
}

/**
 * x = c + (p − c)(1 + k r²), p = A q + t(picture): linear in all but k, whose term is taken at the p found before.
 * @throws CellError CALIBRATION_ILL_POSED, or CALIBRATION_REFUSED when too many crossings do not fit
 */
export function fitTelecentric(seen: readonly Sighting[], size: readonly [number, number]): TelecentricFit {
  const pictures = [...new Set(seen.map(({ picture }) => picture))];
  const columns = 5 + 2 * pictures.length;
  const rowsOf = (one: Sighting, k: number): number[][] => {
    const [r2, dx, dy] = radial(one.x, one.y, size);
    // The undistorted radius, from the distortion found before.
    const shrink = r2 / (1 + k * r2) ** 2;
    const offset = 5 + 2 * pictures.indexOf(one.picture);
    return ([0, 1] as const).map((axis) => {
      const row = new Array<number>(columns).fill(0);
      row[2 * axis] = one.u;
      row[2 * axis + 1] = one.v;
      row[4] = ((axis === 0 ? dx : dy) / (1 + k * r2)) * shrink * distortionUnit;
      row[offset + axis] = 1;
      return row;
    });
  };
  let used = seen;
  let k = 0;
  let fit = undefined as ReturnType<typeof fitLinear> | undefined;
  for (let round = 0; round < 4; round++) {
    const values = used.flatMap(({ x, y }) => [x, y]);
    const before = k;
    fit = fitLinear(
      used.flatMap((one) => rowsOf(one, before)),
      values,
    );
    k = (fit.x[4] ?? NaN) * distortionUnit;
    const { residuals } = fit;
    const spread = middleOf(residuals.map(Math.abs)) * 1.4826;
    const limit = 5 * Math.max(spread, 0.01);
    const good = used.filter(
      (_, n) => Math.hypot(residuals[2 * n] ?? NaN, residuals[2 * n + 1] ?? NaN) < limit,
    );
    if (good.length === used.length && round > 1) break;
    used = good;
  }
  const dropped = seen.length - used.length;
  if (fit === undefined) throw new CellError("INTERNAL", "no fit was made");
  if (dropped > mostDropped * seen.length)
    throw new CellError(
      "CALIBRATION_REFUSED",
      `${dropped} of ${seen.length} crossings do not fit a flat target seen without perspective; ${100 * mostDropped} % may`,
      {
        remedy:
          "clean target and optics, see that the target's file is this target's, and let nothing move while it looks",
      },
    );
  const x = fit.x.slice(0, 5);
  const units = [1, 1, 1, 1, distortionUnit];
  const at = (n: number): number => (x[n] ?? NaN) * (units[n] ?? NaN);
  return {
    map: [at(0), at(1), at(2), at(3)],
    distortion: at(4),
    covariance: x.map((_, i) =>
      x.map((__, j) => (fit?.covariance[i]?.[j] ?? NaN) * (units[i] ?? NaN) * (units[j] ?? NaN)),
    ),
    sigmaPx: fit.sigma,
    used: used.length,
    dropped,
  };
}

const middleOf = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;

/**
 * Pixels per pitch of what lies square to the axis: the larger singular value of the map. A plane seen without perspective
 * is shortened in one direction alone: AᵀA = s² (1 − r rᵀ), r the part of the axis in the plane (skill-agent.md 13.1).
 */
export function pixelsPerPitch([a, b, c, d]: TelecentricFit["map"]): number {
  const [p, q, r] = [a * a + c * c, a * b + c * d, b * b + d * d];
  return Math.sqrt((p + r) / 2 + Math.hypot((p - r) / 2, q));
}

/** Scale in the object, m/px, with its variance: of the fit, and of the certified pitch. */
export function scaleOf(
  fit: TelecentricFit,
  { pitchM, pitchSigmaM }: Pick<TargetFile, "pitchM" | "pitchSigmaM">,
): { readonly metresPerPixel: number; readonly variance: number } {
  const f = (x: readonly number[]): readonly number[] => [
    pitchM / pixelsPerPitch([x[0] ?? NaN, x[1] ?? NaN, x[2] ?? NaN, x[3] ?? NaN]),
  ];
  const [metresPerPixel = NaN] = f(fit.map);
  const own = propagate(
    f,
    [...fit.map],
    fit.covariance.slice(0, 4).map((row) => row.slice(0, 4)),
    [1e-3, 1e-3, 1e-3, 1e-3],
  );
  return {
    metresPerPixel,
    variance: (own[0]?.[0] ?? NaN) + ((metresPerPixel * pitchSigmaM) / pitchM) ** 2,
  };
}

/**
 * How far crossings of pictures that were left out of the fit lie from where it says, px. Where a picture lies is known
 * from every other crossing; the residuals are of those between.
 */
export function heldOutMisfits(
  fit: TelecentricFit,
  seen: readonly Sighting[],
  size: readonly [number, number],
): number[] {
  const pictures = [...new Set(seen.map(({ picture }) => picture))];
  return pictures.flatMap((picture) => {
    const misfits = seen
      .filter((one) => one.picture === picture)
      .map((one) => {
        const [r2, dx, dy] = radial(one.x, one.y, size);
        const undo = 1 + fit.distortion * (r2 / (1 + fit.distortion * r2) ** 2);
        return [
          dx / undo - fit.map[0] * one.u - fit.map[1] * one.v,
          dy / undo - fit.map[2] * one.u - fit.map[3] * one.v,
        ] as const;
      });
    const known = misfits.filter((_, n) => n % 2 === 0);
    const offset = ([0, 1] as const).map(
      (k) =>
        leastSquares(
          known.map(() => [1]),
          known.map((m) => m[k]),
        ).x[0] ?? NaN,
    );
    return misfits
      .filter((_, n) => n % 2 === 1)
      .flatMap((m) => [m[0] - (offset[0] ?? NaN), m[1] - (offset[1] ?? NaN)]);
  });
}
