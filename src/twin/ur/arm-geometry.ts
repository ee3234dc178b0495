/**
 * Kinematics of the emulated arm, written apart from the driver's so that the two check each other: forward by
 * homogeneous 4×4 products over a table of Denavit–Hartenberg rows (with this arm's own calibration, if any), inverse by
 * damped least squares from a start posture.
 */
import {
  compose,
  invert,
  multiply,
  rotate,
  rotationAbout,
  rotationFromVector,
  transpose,
  vectorFromRotation,
  type Mat3,
  type Transform,
  type Vec3,
} from "../../base/transform.js";

/** One row per joint. */
export interface DhTable {
  readonly theta: readonly number[];
  readonly a: readonly number[];
  readonly d: readonly number[];
  readonly alpha: readonly number[];
}

const quarter = Math.PI / 2;

export const ur5Table: DhTable = {
  theta: [0, 0, 0, 0, 0, 0],
  a: [0, -0.425, -0.39225, 0, 0, 0],
  d: [0.089159, 0, 0, 0.10915, 0.09465, 0.0823],
  alpha: [quarter, 0, 0, quarter, -quarter, 0],
};

/** A table with the corrections of one arm's calibration added to every parameter. */
export function corrected(nominal: DhTable, by: DhTable): DhTable {
  const sum = (a: readonly number[], b: readonly number[]): number[] =>
    a.map((value, i) => value + (b[i] ?? 0));
  return {
    theta: sum(nominal.theta, by.theta),
    a: sum(nominal.a, by.a),
    d: sum(nominal.d, by.d),
    alpha: sum(nominal.alpha, by.alpha),
  };
}

/** Row-major 4×4. */
type Homogeneous = Float64Array<ArrayBuffer>;

function dhMatrix(theta: number, d: number, a: number, alpha: number): Homogeneous {
  const ct = Math.cos(theta);
  const st = Math.sin(theta);
  const ca = Math.cos(alpha);
  const sa = Math.sin(alpha);
  return Float64Array.of(
    ct,
    -st * ca,
    st * sa,
    a * ct,
    st,
    ct * ca,
    -ct * sa,
    a * st,
    0,
    sa,
    ca,
    d,
    0,
    0,
    0,
    1,
  );
}

function product(x: Homogeneous, y: Homogeneous): Homogeneous {
  const z = new Float64Array(16);
  for (let i = 0; i < 4; i++) {
    for (let j = 0; j < 4; j++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += (x[4 * i + k] ?? 0) * (y[4 * k + j] ?? 0);
      z[4 * i + j] = sum;
    }
  }
  return z;
}

function toTransform(m: Homogeneous): Transform {
  const row = (i: number): Vec3 => [m[4 * i] ?? 0, m[4 * i + 1] ?? 0, m[4 * i + 2] ?? 0];
  return {
    rotation: [row(0), row(1), row(2)],
    translation: [m[3] ?? 0, m[7] ?? 0, m[11] ?? 0],
  };
}

function chain(table: DhTable, q: readonly number[]): Homogeneous[] {
  const result: Homogeneous[] = [];
  let matrix = Float64Array.of(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
  for (let i = 0; i < 6; i++) {
    const link = dhMatrix(
      (q[i] ?? 0) + (table.theta[i] ?? 0),
      table.d[i] ?? 0,
      table.a[i] ?? 0,
      table.alpha[i] ?? 0,
    );
    result.push(matrix);
    matrix = product(matrix, link);
  }
  result.push(matrix);
  return result;
}

/** baseFromFlange at joint angles `q`. */
export function flangePose(table: DhTable, q: readonly number[]): Transform {
  const last = chain(table, q)[6];
  if (!last) throw new RangeError("six joints expected");
  return toTransform(last);
}

/** Twist of the flange (m/s, rad/s in the base frame) per unit speed of each joint: six columns. */
export function twistColumns(table: DhTable, q: readonly number[]): number[][] {
  const all = chain(table, q);
  const tip = all[6] ?? new Float64Array(16);
  return all.slice(0, 6).map((m) => {
    const [zx, zy, zz] = [m[2] ?? 0, m[6] ?? 0, m[10] ?? 0];
    const x = (tip[3] ?? 0) - (m[3] ?? 0);
    const y = (tip[7] ?? 0) - (m[7] ?? 0);
    const z = (tip[11] ?? 0) - (m[11] ?? 0);
    return [zy * z - zz * y, zz * x - zx * z, zx * y - zy * x, zx, zy, zz];
  });
}

/** As `twistColumns`, of the tool instead of the flange: v + ω × r. */
export function toolTwistColumns(
  table: DhTable,
  q: readonly number[],
  tcpOffset: readonly number[],
): number[][] {
  const [x, y, z] = tcpOffset;
  const r = rotate(flangePose(table, q).rotation, [x ?? 0, y ?? 0, z ?? 0]);
  return twistColumns(table, q).map(([vx = 0, vy = 0, vz = 0, wx = 0, wy = 0, wz = 0]) => [
    vx + wy * r[2] - wz * r[1],
    vy + wz * r[0] - wx * r[2],
    vz + wx * r[1] - wy * r[0],
    wx,
    wy,
    wz,
  ]);
}

/** Joint speeds that give the twist, by damped least squares (Cholesky of J Jᵀ + λ²I). */
export function jointSpeedsFor(
  columns: readonly (readonly number[])[],
  twist: readonly number[],
  damping: number,
): number[] {
  const n = 6;
  const m: number[][] = Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_unused, j) => {
      let sum = i === j ? damping * damping : 0;
      for (const column of columns) sum += (column[i] ?? 0) * (column[j] ?? 0);
      return sum;
    }),
  );
  const lower: number[][] = Array.from({ length: n }, () => new Array<number>(n).fill(0));
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = m[i]?.[j] ?? 0;
      for (let k = 0; k < j; k++) sum -= (lower[i]?.[k] ?? 0) * (lower[j]?.[k] ?? 0);
      const row = lower[i];
      if (row) row[j] = i === j ? Math.sqrt(Math.max(sum, 1e-300)) : sum / (lower[j]?.[j] ?? 1);
    }
  }
  const y = new Array<number>(n).fill(0);
  for (let i = 0; i < n; i++) {
    let sum = twist[i] ?? 0;
    for (let k = 0; k < i; k++) sum -= (lower[i]?.[k] ?? 0) * (y[k] ?? 0);
    y[i] = sum / (lower[i]?.[i] ?? 1);
  }
  for (let i = n - 1; i >= 0; i--) {
    let sum = y[i] ?? 0;
    for (let k = i + 1; k < n; k++) sum -= (lower[k]?.[i] ?? 0) * (y[k] ?? 0);
    y[i] = sum / (lower[i]?.[i] ?? 1);
  }
  return columns.map((column) => column.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0));
}

/** Twist from one pose to another: translation, and the rotation vector in the base frame. */
export function poseDifference(from: Transform, to: Transform): number[] {
  const turn = vectorFromRotation(multiply(to.rotation, transpose(from.rotation)));
  return to.translation.map((value, i) => value - (from.translation[i] ?? 0)).concat(turn);
}

const size = (twist: readonly number[]): number => Math.hypot(...twist);

/**
 * Joint angles that reach the pose, near `start`; undefined when none is found.
 * @param tolerance metres and radians together.
 */
export function solvePose(
  table: DhTable,
  target: Transform,
  start: readonly number[],
  iterations = 60,
  tolerance = 1e-9,
): number[] | undefined {
  let q = [...start];
  let difference = poseDifference(flangePose(table, q), target);
  let damping = 1e-3;
  for (let i = 0; i < iterations; i++) {
    const before = size(difference);
    if (before < tolerance) return q;
    // Far from the target a whole step would leave the region where the Jacobian holds.
    const reach = Math.min(1, 0.5 / before);
    const step = jointSpeedsFor(
      twistColumns(table, q),
      difference.map((value) => value * reach),
      damping,
    );
    const tried = q.map((value, k) => value + Math.max(-0.5, Math.min(0.5, step[k] ?? 0)));
    const after = poseDifference(flangePose(table, tried), target);
    if (size(after) < before) {
      q = tried;
      difference = after;
      damping = Math.max(1e-7, damping * 0.2);
    } else {
      damping = Math.min(1, damping * 8);
    }
  }
  return size(difference) < 1e-6 ? q : undefined;
}

const wrapped = (angle: number): number => Math.atan2(Math.sin(angle), Math.cos(angle));

/** As `solvePose`, trying other arm configurations when the start leads nowhere; each angle as near to `start` as turns allow. */
export function findPosture(
  table: DhTable,
  target: Transform,
  start: readonly number[],
): number[] | undefined {
  const [px, py] = target.translation;
  const seeds: number[][] = [[...start]];
  for (const elbow of [1.2, -1.2]) {
    for (const wrist of [1.3, -1.3]) {
      for (const turn of [Math.PI, 0])
        seeds.push([Math.atan2(py, px) + turn, -1.3, elbow, -1.2, wrist, start[5] ?? 0]);
    }
  }
  let best: number[] | undefined;
  for (const seed of seeds) {
    const found = solvePose(table, target, seed, 120);
    if (!found) continue;
    const near = found.map((value, i) => (start[i] ?? 0) + wrapped(value - (start[i] ?? 0)));
    const cost = (q: readonly number[]): number =>
      Math.max(...q.map((value, i) => Math.abs(value - (start[i] ?? 0))));
    if (!best || cost(near) < cost(best)) best = near;
    if (cost(best) < 0.5) break;
  }
  return best;
}

/** A UR pose (x, y, z, rotation vector) as a transform, and back. */
export const fromPose = (pose: readonly number[]): Transform => ({
  rotation: rotationFromVector([pose[3] ?? 0, pose[4] ?? 0, pose[5] ?? 0]),
  translation: [pose[0] ?? 0, pose[1] ?? 0, pose[2] ?? 0],
});
export const toPose = (transform: Transform): number[] => [
  ...transform.translation,
  ...vectorFromRotation(transform.rotation),
];

export const toolPose = (table: DhTable, q: readonly number[], tcpOffset: readonly number[]): Transform =>
  compose(flangePose(table, q), fromPose(tcpOffset));
export const flangeFor = (tool: Transform, tcpOffset: readonly number[]): Transform =>
  compose(tool, invert(fromPose(tcpOffset)));

/** Pose on the straight line from `from` to `to`: position and rotation go together, `share` 0…1. */
export function between(from: Transform, to: Transform, share: number): Transform {
  const turn = vectorFromRotation(multiply(transpose(from.rotation), to.rotation));
  const angle = Math.hypot(...turn);
  const partial: Mat3 =
    angle < 1e-12 ? from.rotation : multiply(from.rotation, rotationAbout(turn, angle * share));
  const mix = (i: 0 | 1 | 2): number =>
    from.translation[i] + (to.translation[i] - from.translation[i]) * share;
  return { rotation: partial, translation: [mix(0), mix(1), mix(2)] };
}
