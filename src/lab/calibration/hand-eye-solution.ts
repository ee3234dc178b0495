/**
 * What the poses of a hand-eye calibration tell. At every pose the stages carry the tip along the axes of the head, and the
 * picture answers with N = P R: P the map of the telecentric views (4 × 3, px/m), R the head's orientation before them. P
 * is common to all poses, R is the rotation that brings each N nearest to it; the seen middle of each pose, taken back through
 * P, is its position. That makes a pose of the head in a metric frame of the microscopes, whose origin lies in the middle of
 * both pictures and whose x and z run along image right and into the scene of view 1.
 */
import { edgeOf, type Calibration, type CalibrationItem } from "../../base/calibration-file.js";
import { leastSquares } from "../../base/least-squares.js";
import {
  cross,
  dot,
  multiply,
  norm,
  rotate,
  rotationFromVector,
  subtract,
  transpose,
  unit,
  vectorFromRotation,
  type Mat3,
  type Transform,
  type Vec3,
} from "../../base/transform.js";
import { nearestRotation } from "./best-rotation.js";
import { fitHandEye, handEyeMisfit, type HandEyeFit, type PosePair } from "./hand-eye.js";
import type { PoseObservation } from "./hand-eye-run.js";
import { rms } from "./linear-fit.js";

export interface HandEyeContext {
  readonly size: readonly [number, number];
  readonly viewNames: readonly [string, string];
  readonly measuredAt: string;
  readonly expiresAt: string;
}

export interface HandEyeSolution {
  readonly items: Readonly<Record<string, CalibrationItem>>;
  /** Where the head is on the flange. */
  readonly edge: Calibration["edges"][number];
  readonly fit: HandEyeFit;
}

/** Four image coordinates (u1, v1, u2, v2) per metre along three axes. */
type Map43 = readonly Vec3[];

const mm = 1e3;
const mean3 = (vectors: readonly Vec3[]): Vec3 => {
  const at = (k: 0 | 1 | 2): number => vectors.reduce((sum, v) => sum + v[k], 0) / vectors.length;
  return [at(0), at(1), at(2)];
};

interface Slope {
  readonly motion: Map43;
  /** Image of the middle of the stage positions. */
  readonly middle: readonly number[];
  /** Mean stage position: the point of the head that was seen. */
  readonly stages: Vec3;
}

/** How the tip's image moves with the stages at one pose. @throws CellError CALIBRATION_ILL_POSED */
function slopeOf({ points }: PoseObservation): Slope {
  const stages = mean3(points.map((point) => point.stages));
  const rows = points.map((point) => [...subtract(point.stages, stages).map((v) => v * mm), 1]);
  const fits = [0, 1, 2, 3].map(
    (n) =>
      leastSquares(
        rows,
        points.map(({ tips }) => tips.flat()[n] ?? NaN),
        1e-3,
      ).x,
  );
  return {
    motion: fits.map(([a = NaN, b = NaN, c = NaN]) => [a * mm, b * mm, c * mm]),
    middle: fits.map((x) => x[3] ?? NaN),
    stages,
  };
}

const timesRotation = (map: Map43, r: Mat3): Map43 => map.map((row) => rotate(transpose(r), row));

/** R of N = P R: the rotation nearest to P⁺ N. */
function orientation(p: Map43, n: Map43): Mat3 {
  const scaled = p.map((row) => row.map((v) => v / mm));
  const columns = [0, 1, 2].map(
    (j) =>
      leastSquares(
        scaled,
        n.map((row) => (row[j] ?? NaN) / mm),
        1e-3,
      ).x,
  );
  const entry = (i: number, j: number): number => columns[j]?.[i] ?? NaN;
  const row = (i: number): Vec3 => [entry(i, 0), entry(i, 1), entry(i, 2)];
  return nearestRotation([row(0), row(1), row(2)]);
}

/** The map of the views that all fitted poses have in common, in the frame of the microscopes; and its scatter. */
function commonMap(slopes: readonly Slope[]): { readonly map: Map43; readonly variance: number } {
  let map: Map43 = slopes[0]?.motion ?? [];
  let turned: Map43[] = [];
  for (let round = 0; round < 6; round++) {
    const from = map;
    turned = slopes.map(({ motion }) => timesRotation(motion, transpose(orientation(from, motion))));
    map = from.map((_, n) => mean3(turned.map((one) => one[n] ?? [NaN, NaN, NaN])));
  }
  const scatter = turned.flatMap((one) => one.map((row, n) => subtract(row, map[n] ?? row))).flat();
  const variance = scatter.reduce((sum, v) => sum + v * v, 0) / Math.max(1, scatter.length - 12);
  const [right = [NaN, NaN, NaN] as Vec3, down = [NaN, NaN, NaN] as Vec3] = map;
  const x = unit(right);
  const z = unit(cross(right, down));
  const axes: Mat3 = [x, cross(z, x), z];
  return { map: timesRotation(map, transpose(axes)), variance: variance / slopes.length };
}

function pairOf(pose: PoseObservation, map: Map43, size: readonly [number, number]): PosePair {
  const { motion, middle, stages } = slopeOf(pose);
  const rotation = orientation(map, motion);
  const centre = [size[0] / 2, size[1] / 2, size[0] / 2, size[1] / 2];
  const { x } = leastSquares(
    map.map((row) => row.map((v) => v / mm)),
    middle.map((value, n) => value - (centre[n] ?? NaN)),
    1e-3,
  );
  const seen: Vec3 = [(x[0] ?? NaN) / mm, (x[1] ?? NaN) / mm, (x[2] ?? NaN) / mm];
  return {
    baseFromFlange: { rotation: rotationFromVector(pose.rotationVectorRad), translation: pose.translationM },
    microscopesFromHead: { rotation, translation: subtract(seen, rotate(rotation, stages)) },
    seen: stages,
  };
}

/**
 * @throws CellError CALIBRATION_REFUSED when the poses do not turn about three independent axes, CALIBRATION_ILL_POSED when a
 * pose was not seen from enough stage positions
 */
export function solveHandEyePoses(
  poses: readonly PoseObservation[],
  context: HandEyeContext,
): HandEyeSolution {
  const fitted = poses.filter(({ kind }) => kind === "fitted");
  const held = poses.filter(({ kind }) => kind === "held-out");
  const { map, variance } = commonMap(fitted.map((pose) => slopeOf(pose)));
  const pairOfPose = (pose: PoseObservation): PosePair => pairOf(pose, map, context.size);
  const fit = fitHandEye(fitted.map(pairOfPose));
  const misfits = held.map((pose) => handEyeMisfit(fit, pairOfPose(pose)));
  const dates = { measuredAt: context.measuredAt, expiresAt: context.expiresAt };
  const turnsLeft = misfits.map(({ rotation }) => norm(rotation));
  const placesLeft = misfits.map(({ position }) => norm(position));
  const first = rotationFromVector(fitted[0]?.rotationVectorRad ?? [0, 0, 0]);
  const turnOf = ({ rotationVectorRad }: PoseObservation): number[] => [
    ...vectorFromRotation(multiply(transpose(first), rotationFromVector(rotationVectorRad))),
  ];
  const heldTurns: CalibrationItem["residuals"] = {
    unit: "rad",
    rms: rms(turnsLeft),
    max: Math.max(...turnsLeft),
    heldOut: held.length,
  };
  const heldPlaces: CalibrationItem["residuals"] = {
    unit: "m",
    rms: rms(placesLeft),
    max: Math.max(...placesLeft),
    heldOut: held.length,
  };
  // Where: the turn of the flange from the first pose.
  const heldPoints = {
    points: held.map((pose, i) => ({ at: turnOf(pose), off: [...(misfits[i]?.position ?? [])] })),
    pointUnit: "rad",
  };
  const block = (from: number): number[][] =>
    [0, 1, 2].map((i) => [0, 1, 2].map((j) => fit.covariance[from + i]?.[from + j] ?? NaN));
  const part = (what: Transform, name: string, from: number): Record<string, CalibrationItem> => ({
    [`handeye.${name}.rotation`]: {
      unit: "rad",
      values: [...vectorFromRotation(what.rotation)],
      covariance: block(from),
      residuals: heldTurns,
      measurements: fitted.length,
      method: `${name === "head" ? "flangeFromHead" : "baseFromMicroscopes"}, rotation vector: A X = W B, poses turned about the tip`,
      ...dates,
    },
    [`handeye.${name}.translation`]: {
      unit: "m",
      values: [...what.translation],
      covariance: block(from + 3),
      residuals: name === "head" ? { ...heldPlaces, ...heldPoints } : heldPlaces,
      measurements: fitted.length,
      method: `${name === "head" ? "flangeFromHead" : "baseFromMicroscopes"}: A X = W B, poses turned about the tip`,
      ...dates,
    },
  });
  const items: Record<string, CalibrationItem> = {
    ...part(fit.flangeFromHead, "head", 0),
    ...part(fit.baseFromMicroscopes, "microscopes", 6),
  };
  const inBase = timesRotation(map, transpose(fit.baseFromMicroscopes.rotation));
  for (const i of [0, 1] as const) {
    const left = held.flatMap((pose) => pixelsLeft(pose, map, fit).map((off) => off.slice(2 * i, 2 * i + 2)));
    const seenAt = held.flatMap(({ points }) => points.map(({ tips }) => [...tips[i]]));
    items[`${context.viewNames[i]}.map`] = {
      unit: "px/m",
      values: inBase.slice(2 * i, 2 * i + 2).flat(),
      covariance: mapCovariance(inBase.slice(2 * i, 2 * i + 2), variance, fit),
      residuals: {
        unit: "px",
        rms: rms(left.flat()),
        max: Math.max(...left.flat().map(Math.abs)),
        heldOut: left.flat().length,
        points: left.map((off, n) => ({ at: seenAt[n] ?? [], off })),
        pointUnit: "px",
      },
      measurements: fitted.reduce((sum, { points }) => sum + points.length, 0),
      method:
        "robot coordinates to pixels: image right, then image down; tip moved by stages X, Y, Z before all orientations of the head",
      ...dates,
    };
  }
  return { items, edge: edgeOf("head", fit.flangeFromHead), fit };
}

/**
 * What every stage position of a pose is seen off by, px: u1, v1, u2, v2. The orientation is the one that the arm's report
 * tells; the middle of the pose is taken as seen, because every arrival of the arm scatters.
 */
function pixelsLeft(
  { points, rotationVectorRad }: PoseObservation,
  map: Map43,
  { flangeFromHead, baseFromMicroscopes }: HandEyeFit,
): number[][] {
  const stages = mean3(points.map((point) => point.stages));
  const seen = points.map(({ tips }) => tips.flat());
  const middle = [0, 1, 2, 3].map((n) => seen.reduce((sum, one) => sum + (one[n] ?? NaN), 0) / seen.length);
  const head = multiply(rotationFromVector(rotationVectorRad), flangeFromHead.rotation);
  const predicted = timesRotation(map, multiply(transpose(baseFromMicroscopes.rotation), head));
  return points.map((point, k) => {
    const offset = subtract(point.stages, stages);
    return predicted.map((row, n) => (seen[k]?.[n] ?? NaN) - (middle[n] ?? NaN) - dot(row, offset));
  });
}

/** Scatter of the rows themselves, and what the uncertain orientation of the microscopes in the base turns them by: δ × row. */
function mapCovariance(rows: Map43, variance: number, { smallCovariance }: HandEyeFit): number[][] {
  const turn = ([0, 1, 2] as const).map((i) =>
    ([0, 1, 2] as const).map((j) => smallCovariance[6 + i]?.[6 + j] ?? NaN),
  );
  const jacobian = rows.flatMap(([x, y, z]) => [
    [0, z, -y],
    [-z, 0, x],
    [y, -x, 0],
  ]);
  return jacobian.map((a, r) =>
    jacobian.map(
      (b, c) =>
        (r === c ? variance : 0) +
        a.reduce(
          (sum, ai, i) => sum + b.reduce((inner, bj, j) => inner + ai * (turn[i]?.[j] ?? NaN) * bj, 0),
          0,
        ),
    ),
  );
}
