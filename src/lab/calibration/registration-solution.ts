/**
 * What the arrivals of a registration tell: the rigid transforms from what the views see to coordinates of the robot, in the
 * arm's base and in the frame of the stages, and their error at targets that were left out. The residual at the fitted places
 * (FRE) does not predict it (skill-agent.md 13.2) and is reported nowhere.
 */
import type { CalibrationItem } from "../../base/calibration-file.js";
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import {
  add,
  norm,
  rotate,
  scale,
  subtract,
  vectorFromRotation,
  type Mat3,
  type Vec3,
} from "../../base/transform.js";
import { nearestRotation, principalExtents } from "./best-rotation.js";
import { fitLinear, rms } from "./linear-fit.js";
import type { Arrival } from "./registration-run.js";

export interface RegistrationContext {
  /** Robot coordinates to pixels u1, v1, u2, v2 as known: measured, or the drawing's; px/m, 4 × 3. */
  readonly map: readonly Vec3[];
  readonly size: readonly [number, number];
  readonly measuredAt: string;
  readonly expiresAt: string;
}

/** Fiducials whose second extent is less than this share of the first lie on a line, about which a rotation is free. */
export const leastSpread = 0.1;
/** skill-agent.md 10: strictly less. */
const publishedTreM = 0.5e-3;

const mean = (values: readonly number[]): number => values.reduce((sum, v) => sum + v, 0) / values.length;
const mean3 = (list: readonly Vec3[]): Vec3 => [
  mean(list.map((v) => v[0])),
  mean(list.map((v) => v[1])),
  mean(list.map((v) => v[2])),
];
const variance = (values: readonly number[]): number =>
  values.reduce((sum, v) => sum + (v - mean(values)) ** 2, 0) / Math.max(1, values.length - 1);

export interface RigidFit {
  readonly rotation: Mat3;
  readonly translation: Vec3;
}

/**
 * Rigid least squares, target = R source + t: R is the rotation nearest to Σ target sourceᵀ of the centred points (Arun,
 * Huang and Blostein, IEEE PAMI 9 (1987) 698; solved with quaternions after Horn), t joins the centroids.
 * @throws CellError CALIBRATION_REFUSED for fewer than three or (nearly) collinear points
 */
export function fitRigid(source: readonly Vec3[], target: readonly Vec3[]): RigidFit {
  const [from, to] = [mean3(source), mean3(target)];
  const a = source.map((p) => subtract(p, from));
  const b = target.map((p) => subtract(p, to));
  const extents = [a, b].map((points) => principalExtents(points));
  const spread = Math.min(...extents.map(([first, second]) => (first > 0 ? second / first : 0)));
  if (source.length < 3 || !(spread >= leastSpread)) {
    const [first = NaN, second = NaN] = extents[1] ?? [];
    throw new CellError(
      "CALIBRATION_REFUSED",
      `${source.length} fiducials extend ${(first * 1e3).toFixed(3)} mm along their line and ${(second * 1e3).toFixed(3)} mm ` +
        `across it; at least 3 are needed, and ${leastSpread * 100} % across`,
      { remedy: "fiducials on a line leave the rotation about it free: spread them in all directions" },
    );
  }
  const entry = (i: 0 | 1 | 2, j: 0 | 1 | 2): number =>
    b.reduce((sum, p, k) => sum + p[i] * (a[k]?.[j] ?? NaN), 0);
  const rotation = nearestRotation([
    [entry(0, 0), entry(0, 1), entry(0, 2)],
    [entry(1, 0), entry(1, 1), entry(1, 2)],
    [entry(2, 0), entry(2, 1), entry(2, 2)],
  ]);
  return { rotation, translation: subtract(to, rotate(rotation, from)) };
}

const mm = 1e3;

/** A point from its images in both views, in a frame at the middle of both pictures with the axes of the robot, m. */
function seenPoint({ map, size }: RegistrationContext, tips: Arrival["points"][number]["tips"]): Vec3 {
  const centre = [size[0] / 2, size[1] / 2, size[0] / 2, size[1] / 2];
  const { x } = leastSquares(
    map.map((row) => row.map((v) => v / mm)),
    tips.flat().map((value, n) => value - (centre[n] ?? NaN)),
    1e-3,
  );
  return scale([x[0] ?? NaN, x[1] ?? NaN, x[2] ?? NaN], 1 / mm);
}

interface Target {
  readonly at: Vec3;
  readonly off: Vec3;
  readonly arrival: string;
}

/**
 * @throws CellError CALIBRATION_REFUSED for collinear fiducials, without targets that were left out, or when their error is not
 * below the published limit
 */
export function solveRegistration(
  arrivals: readonly Arrival[],
  context: RegistrationContext,
): Record<string, CalibrationItem> {
  const fitted = arrivals.filter(({ kind }) => kind === "fitted");
  const held = arrivals.filter(({ kind }) => kind === "held-out");
  if (held.every(({ points }) => points.length < 2))
    throw new CellError(
      "CALIBRATION_REFUSED",
      "no target was left out of the fit: there is nothing to measure an error at",
      {
        remedy: "measure targets after the arm has been away, too",
      },
    );
  const image = ({ points }: Arrival): Vec3[] => points.map(({ tips }) => seenPoint(context, tips));
  const base = fitRigid(
    fitted.flatMap(image),
    fitted.flatMap(({ points }) => points.map(({ tip }) => tip)),
  );
  const baseTargets = held.flatMap((arrival): Target[] =>
    image(arrival).map((seen, k) => {
      const tip = arrival.points[k]?.tip ?? [NaN, NaN, NaN];
      return {
        at: tip,
        off: subtract(add(rotate(base.rotation, seen), base.translation), tip),
        arrival: arrival.id,
      };
    }),
  );

  // In the frame of the stages the scatter of the arm's arrivals does not count: every arrival begins with one look that says
  // where the head is now, and that look is no target.
  const relative = (arrival: Arrival): { seen: Vec3; stages: Vec3 }[] => {
    const seen = image(arrival);
    const [anchor = [NaN, NaN, NaN] as Vec3] = seen;
    const first = arrival.points[0]?.stages ?? [NaN, NaN, NaN];
    return arrival.points.map(({ stages }, k) => ({
      seen: subtract(seen[k] ?? anchor, anchor),
      stages: subtract(stages, first),
    }));
  };
  const centred = (arrival: Arrival): { seen: Vec3; stages: Vec3 }[] => {
    const all = relative(arrival);
    const [seen, stages] = [mean3(all.map((one) => one.seen)), mean3(all.map((one) => one.stages))];
    return all.map((one) => ({ seen: subtract(one.seen, seen), stages: subtract(one.stages, stages) }));
  };
  const pairs = fitted.flatMap(centred);
  const inStages = fitRigid(
    pairs.map(({ seen }) => seen),
    pairs.map(({ stages }) => stages),
  );
  const stageTargets = held.flatMap((arrival): Target[] =>
    relative(arrival)
      .slice(1)
      .map(({ seen, stages }) => ({
        at: stages,
        off: subtract(rotate(inStages.rotation, seen), stages),
        arrival: arrival.id,
      })),
  );
  const tre = mean(baseTargets.map(({ off }) => norm(off)));
  if (!(tre < publishedTreM))
    throw new CellError(
      "CALIBRATION_REFUSED",
      `the error at ${baseTargets.length} held-out targets is ${(tre * 1e3).toFixed(3)} mm; less than ${publishedTreM * 1e3} mm is needed`,
      {
        remedy:
          "measure the stages and hand-eye first; does the arm hold its place, and nothing push the microscopes?",
      },
    );

  const dates = { measuredAt: context.measuredAt, expiresAt: context.expiresAt };
  const measurements = fitted.reduce((sum, { points }) => sum + points.length, 0);
  const within = pairs.flatMap(({ seen, stages }) => subtract(rotate(inStages.rotation, seen), stages));
  const turnCovariance = rotationCovariance(
    pairs.map(({ stages }) => stages),
    within,
  );
  const arrivalMeans = fitted.map((arrival) =>
    mean3(
      image(arrival).map((seen, k) =>
        subtract(add(rotate(base.rotation, seen), base.translation), arrival.points[k]?.tip ?? seen),
      ),
    ),
  );
  const placeVariance =
    mean([0, 1, 2].map((k) => variance(arrivalMeans.map((v) => v[k] ?? NaN)))) / fitted.length;
  const residuals = (list: readonly Target[]): CalibrationItem["residuals"] => ({
    unit: "m",
    rms: rms(list.map(({ off }) => norm(off))),
    max: Math.max(...list.map(({ off }) => norm(off))),
    heldOut: list.length,
  });
  const withPoints = (list: readonly Target[]): CalibrationItem["residuals"] => ({
    ...residuals(list),
    points: list.map(({ at, off }) => ({ at: [...at], off: [...off] })),
    pointUnit: "m",
  });
  const common = { measurements, ...dates };
  const treItem = (list: readonly Target[], method: string): CalibrationItem => {
    const byArrival = held.map(({ id }) =>
      mean(list.filter(({ arrival }) => arrival === id).map(({ off }) => norm(off))),
    );
    return {
      unit: "m",
      values: [mean(list.map(({ off }) => norm(off)))],
      covariance: [[variance(byArrival) / byArrival.length]],
      residuals: withPoints(list),
      method,
      ...common,
    };
  };
  const away = "the arm away and back before every arrival";
  return {
    "registration.base.rotation": {
      unit: "rad",
      values: [...vectorFromRotation(base.rotation)],
      covariance: turnCovariance,
      residuals: residuals(baseTargets),
      method: `robotFromImage, rotation vector: rigid fit of the tip's places in both views; ${away}`,
      ...common,
    },
    "registration.base.translation": {
      unit: "m",
      values: [...base.translation],
      covariance: [0, 1, 2].map((i) => [0, 1, 2].map((j) => (i === j ? placeVariance : 0))),
      residuals: residuals(baseTargets),
      method: `robotFromImage; the image's origin is the middle of both pictures; ${away}`,
      ...common,
    },
    "registration.base.tre": treItem(
      baseTargets,
      `mean error at held-out targets in the arm's base, over ${held.length} arrivals; ${away}`,
    ),
    "registration.stages.rotation": {
      unit: "rad",
      values: [...vectorFromRotation(inStages.rotation)],
      covariance: turnCovariance,
      residuals: residuals(stageTargets),
      method: "headFromImage, rotation vector: places relative to the first of each arrival",
      ...common,
    },
    "registration.stages.tre": treItem(
      stageTargets,
      "mean error at held-out targets in the frame of the stages, relative to one look at each arrival",
    ),
  };
}

/** Of a fitted rotation: s² (Σ [p]ₓᵀ [p]ₓ)⁻¹, the linear fit of a small turn δ to what is left, δ × p. */
function rotationCovariance(points: readonly Vec3[], left: readonly number[]): number[][] {
  const rows = points.flatMap(([x, y, z]) => [
    [0, z * mm, -y * mm],
    [-z * mm, 0, x * mm],
    [y * mm, -x * mm, 0],
  ]);
  return fitLinear(
    rows,
    left.map((v) => v * mm),
  ).covariance.map((row) => [...row]);
}
