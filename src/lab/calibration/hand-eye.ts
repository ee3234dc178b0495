/**
 * Hand-eye and robot-world calibration together: with fixed microscopes that see the head from many poses of the arm,
 * A X = W B for every pose, where A is baseFromFlange as the arm reports, B microscopesFromHead as seen, X flangeFromHead and
 * W baseFromMicroscopes are wanted.
 */
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import {
  apply,
  compose,
  invert,
  multiply,
  rotate,
  rotationFromVector,
  scale,
  subtract,
  transpose,
  vectorFromRotation,
  type Mat3,
  type Transform,
  type Vec3,
} from "../../base/transform.js";
import { nearestRotation, principalExtents } from "./best-rotation.js";
import { fitLinear, propagate, rms, symmetric } from "./linear-fit.js";

export interface PosePair {
  /** A. */
  readonly baseFromFlange: Transform;
  /** B. */
  readonly microscopesFromHead: Transform;
  /** The point of the head that was seen: errors of position are judged there. Head frame, m. */
  readonly seen: Vec3;
}

export interface HandEye {
  readonly flangeFromHead: Transform;
  readonly baseFromMicroscopes: Transform;
}

export interface HandEyeFit extends HandEye {
  /** Of rotation vector (rad) and translation (m) of flangeFromHead, then of baseFromMicroscopes: 12 × 12. */
  readonly covariance: readonly (readonly number[])[];
  /** Of small turns (rad) and shifts (m) of the two, in the frames of flange and base: 12 × 12. */
  readonly smallCovariance: readonly (readonly number[])[];
  /** Scatter of one pose: rotation rad, position m, per axis. */
  readonly sigma: { readonly rotationRad: number; readonly positionM: number };
}

/** About each of three independent axes the set of poses must turn by this much, rad, root mean square. */
export const leastTurnRad = 0.03;

/**
 * Judges whether rotations determine a hand-eye transform: the rotations that lead from their mean pose to each must spread
 * about three independent axes. With fewer than two the translation is free along the common axis (Tsai and Lenz, IEEE
 * Trans. Robot. Autom. 5 (1989) 345, sec. II); the third is needed so that no component hangs on a single turn.
 * @throws CellError CALIBRATION_REFUSED with the turns measured, those needed, and what to do
 */
export function requireIndependentRotations(rotations: readonly Mat3[]): void {
  const [first] = rotations;
  const vectors =
    first === undefined ? [] : rotations.map((r) => vectorFromRotation(multiply(transpose(first), r)));
  const mean = scale(
    vectors.reduce<Vec3>((sum, v) => [sum[0] + v[0], sum[1] + v[1], sum[2] + v[2]], [0, 0, 0]),
    1 / Math.max(1, vectors.length),
  );
  const extents =
    vectors.length === 0 ? ([0, 0, 0] as const) : principalExtents(vectors.map((v) => subtract(v, mean)));
  if (rotations.length >= 4 && extents[2] >= leastTurnRad) return;
  throw new CellError(
    "CALIBRATION_REFUSED",
    `${rotations.length} orientations turn by ${extents.map((e) => e.toFixed(3)).join(", ")} rad about their three ` +
      `principal axes; at least 4 are needed, and ${leastTurnRad} rad about each of three independent axes`,
    {
      remedy:
        "turn the head about a third axis, and further: tilt it both ways and twist it about the needle",
    },
  );
}

/**
 * X and W in closed form. Rotation: with A_ij = A_j⁻¹ A_i and B_ij = B_j⁻¹ B_i (j > i) it is A_ij X = X B_ij, so that the rotation
 * vectors obey α = R_X β; R_X is the rotation that fits them best (Park and Martin, IEEE Trans. Robot. Autom. 10 (1994) 717,
 * eq. 14 and 22). Translation: (R_A − I) t_X = R_X t_B − t_A, least squares (ibid., eq. 24). W is the mean of A X B⁻¹.
 * @throws CellError CALIBRATION_REFUSED for degenerate sets
 */
export function solveHandEye(pairs: readonly PosePair[]): HandEye {
  requireIndependentRotations(pairs.map(({ baseFromFlange }) => baseFromFlange.rotation));
  const relative = pairs.flatMap((one, i) =>
    pairs.slice(i + 1).map((other) => ({
      a: compose(invert(other.baseFromFlange), one.baseFromFlange),
      b: compose(invert(other.microscopesFromHead), one.microscopesFromHead),
    })),
  );
  const outer = relative.map(({ a, b }) => ({
    alpha: vectorFromRotation(a.rotation),
    beta: vectorFromRotation(b.rotation),
  }));
  const entry = (i: 0 | 1 | 2, j: 0 | 1 | 2): number =>
    outer.reduce((sum, { alpha, beta }) => sum + alpha[i] * beta[j], 0);
  const rotation = nearestRotation([
    [entry(0, 0), entry(0, 1), entry(0, 2)],
    [entry(1, 0), entry(1, 1), entry(1, 2)],
    [entry(2, 0), entry(2, 1), entry(2, 2)],
  ]);
  const rows: number[][] = [];
  const right: number[] = [];
  for (const { a, b } of relative) {
    const target = subtract(rotate(rotation, b.translation), a.translation);
    ([0, 1, 2] as const).forEach((i) => {
      rows.push(([0, 1, 2] as const).map((j) => a.rotation[i][j] - (i === j ? 1 : 0)));
      right.push(target[i]);
    });
  }
  const { x } = leastSquares(rows, right, 1e-6);
  const flangeFromHead: Transform = { rotation, translation: [x[0] ?? NaN, x[1] ?? NaN, x[2] ?? NaN] };
  return { flangeFromHead, baseFromMicroscopes: meanWorld(pairs, flangeFromHead) };
}

function meanWorld(pairs: readonly PosePair[], flangeFromHead: Transform): Transform {
  const all = pairs.map(({ baseFromFlange, microscopesFromHead, seen }) => {
    const head = compose(baseFromFlange, flangeFromHead);
    return {
      rotation: multiply(head.rotation, transpose(microscopesFromHead.rotation)),
      inBase: apply(head, seen),
      inMicroscopes: apply(microscopesFromHead, seen),
    };
  });
  const sum = (i: 0 | 1 | 2, j: 0 | 1 | 2): number =>
    all.reduce((total, one) => total + one.rotation[i][j], 0);
  const rotation = nearestRotation([
    [sum(0, 0), sum(0, 1), sum(0, 2)],
    [sum(1, 0), sum(1, 1), sum(1, 2)],
    [sum(2, 0), sum(2, 1), sum(2, 2)],
  ]);
  const offsets = all.map(({ inBase, inMicroscopes }) => subtract(inBase, rotate(rotation, inMicroscopes)));
  const mean = (k: 0 | 1 | 2): number => offsets.reduce((total, o) => total + o[k], 0) / offsets.length;
  return { rotation, translation: [mean(0), mean(1), mean(2)] };
}

/**
 * How far a pose lies from what X and W predict: rotation vector (rad), and position of the seen point (m), both in the frame
 * of the microscopes.
 */
export function handEyeMisfit(
  { flangeFromHead, baseFromMicroscopes }: HandEye,
  { baseFromFlange, microscopesFromHead, seen }: PosePair,
): { readonly rotation: Vec3; readonly position: Vec3 } {
  const predicted = compose(invert(baseFromMicroscopes), compose(baseFromFlange, flangeFromHead));
  return {
    rotation: vectorFromRotation(multiply(microscopesFromHead.rotation, transpose(predicted.rotation))),
    position: subtract(apply(microscopesFromHead, seen), apply(predicted, seen)),
  };
}

const unknowns = 12;

/** X and W turned and shifted by twelve small numbers: rotation and translation of X, then of W. */
function disturbed({ flangeFromHead: x, baseFromMicroscopes: w }: HandEye, by: readonly number[]): HandEye {
  const vec = (k: number): Vec3 => [by[k] ?? 0, by[k + 1] ?? 0, by[k + 2] ?? 0];
  const move = (t: Transform, k: number): Transform => {
    const shift = vec(k + 3);
    return {
      rotation: multiply(rotationFromVector(vec(k)), t.rotation),
      translation: [t.translation[0] + shift[0], t.translation[1] + shift[1], t.translation[2] + shift[2]],
    };
  };
  return { flangeFromHead: move(x, 0), baseFromMicroscopes: move(w, 6) };
}

/**
 * Closed form, then Gauss–Newton on all twelve unknowns of A X = W B at once (the nonlinear criterion of Dornaika and
 * Horaud, IEEE Trans. Robot. Autom. 14 (1998) 617, sec. IV-B), rotations and positions weighted by the scatter that they turn
 * out to have: the arm's arrivals scatter in position a hundred times more than the pictures do.
 * @throws CellError CALIBRATION_REFUSED for degenerate sets
 */
export function fitHandEye(pairs: readonly PosePair[]): HandEyeFit {
  let at = solveHandEye(pairs);
  let sigma = scatterOf(at, pairs);
  let covariance: readonly (readonly number[])[] = [];
  const steps = Array.from({ length: unknowns }, (_, k) => (k % 6 < 3 ? 1e-6 : 1e-7));
  for (let iteration = 0; iteration < 8; iteration++) {
    const from = at;
    const weights = sigma;
    const residuals = (by: readonly number[]): number[] =>
      pairs.flatMap((pair) => {
        const { rotation, position } = handEyeMisfit(disturbed(from, by), pair);
        return [
          ...rotation.map((r) => r / weights.rotationRad),
          ...position.map((p) => p / weights.positionM),
        ];
      });
    const zero = new Array<number>(unknowns).fill(0);
    const columns = steps.map((step, k) => {
      const one = (sign: number): number[] => residuals(zero.map((v, i) => (i === k ? v + sign * step : v)));
      const [up, down] = [one(1), one(-1)];
      return up.map((v, i) => (v - (down[i] ?? NaN)) / (2 * step));
    });
    // Columns of one size: metres and radians differ by orders of magnitude.
    const sizes = columns.map((column) => Math.hypot(...column));
    const now = residuals(zero);
    const rows = now.map((_, i) => columns.map((column, k) => (column[i] ?? NaN) / (sizes[k] ?? NaN)));
    const fit = fitLinear(
      rows,
      now.map((r) => -r),
    );
    const change = fit.x.map((value, k) => value / (sizes[k] ?? NaN));
    at = disturbed(from, change);
    covariance = fit.covariance.map((row, i) =>
      row.map((value, j) => value / ((sizes[i] ?? NaN) * (sizes[j] ?? NaN))),
    );
    sigma = scatterOf(at, pairs);
    if (Math.max(...change.map((c, k) => Math.abs(c) / (steps[k] ?? NaN))) < 1e-3) break;
  }
  return { ...at, covariance: vectorCovariance(at, covariance), smallCovariance: covariance, sigma };
}

/** Per axis; 12 unknowns share the 6 n equations alike. Never nothing: exact data would make weights infinite. */
function scatterOf(at: HandEye, pairs: readonly PosePair[]): HandEyeFit["sigma"] {
  const misfits = pairs.map((pair) => handEyeMisfit(at, pair));
  const share = Math.sqrt((6 * pairs.length) / Math.max(1, 6 * pairs.length - unknowns));
  return {
    rotationRad: Math.max(1e-9, share * rms(misfits.flatMap(({ rotation }) => rotation))),
    positionM: Math.max(1e-10, share * rms(misfits.flatMap(({ position }) => position))),
  };
}

/** From small turns before a rotation to its rotation vector. */
function vectorCovariance(at: HandEye, small: readonly (readonly number[])[]): number[][] {
  const f = (by: readonly number[]): number[] => {
    const { flangeFromHead, baseFromMicroscopes } = disturbed(at, by);
    return [flangeFromHead, baseFromMicroscopes].flatMap(({ rotation, translation }) => [
      ...vectorFromRotation(rotation),
      ...translation,
    ]);
  };
  const steps = Array.from({ length: unknowns }, (_, k) => (k % 6 < 3 ? 1e-5 : 1e-6));
  return symmetric(propagate(f, new Array<number>(unknowns).fill(0), small, steps));
}
