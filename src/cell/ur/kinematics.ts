/**
 * Kinematics of the UR arms (standard Denavit–Hartenberg, alpha = π/2, 0, 0, π/2, −π/2, 0): forward, geometric Jacobian,
 * all analytic inverse solutions refined by Newton, and the choice of the nearest. Base and flange are the controller's
 * DH frames. With an arm's own parameters the closed form gives the start and Newton the end.
 */
import { CellError } from "../../base/errors.js";
import {
  add,
  compose,
  cross,
  invert,
  multiply,
  rotate,
  scale,
  subtract,
  transpose,
  vectorFromRotation,
  type Mat3,
  type Transform,
  type Vec3,
} from "../../base/transform.js";
import { solve6 } from "./linear.js";

export type Joints = readonly [number, number, number, number, number, number];

/** @throws CellError UNIT_NOT_FINITE unless there are six finite numbers. */
export function joints(values: readonly number[]): Joints {
  const [a, b, c, d, e, f] = values;
  if (
    values.length !== 6 ||
    a === undefined ||
    b === undefined ||
    c === undefined ||
    d === undefined ||
    e === undefined ||
    f === undefined ||
    !values.every(Number.isFinite)
  ) {
    throw new CellError("UNIT_NOT_FINITE", `six joint angles expected, got [${values.join(", ")}]`);
  }
  return [a, b, c, d, e, f];
}

export interface DhParameters {
  /** Metres. */
  readonly d1: number;
  readonly a2: number;
  readonly a3: number;
  readonly d4: number;
  readonly d5: number;
  readonly d6: number;
  /** This very arm's parameters, joint by joint, where they are known; the lengths above stay the nominal ones. */
  readonly own?: readonly DhRow[];
}

/** One joint of standard Denavit–Hartenberg: rad and m. */
export interface DhRow {
  readonly theta: number;
  readonly a: number;
  readonly d: number;
  readonly alpha: number;
}

/** The nominal geometry with the parameters of one arm, as its controller holds them. @throws CellError UNIT_NOT_FINITE */
export function calibrated(
  nominal: DhParameters,
  own: {
    readonly theta: readonly number[];
    readonly a: readonly number[];
    readonly d: readonly number[];
    readonly alpha: readonly number[];
  },
): DhParameters {
  const [theta, a, d, alpha] = [joints(own.theta), joints(own.a), joints(own.d), joints(own.alpha)];
  const rows = theta.map((turn, i) => ({ theta: turn, a: a[i] ?? 0, d: d[i] ?? 0, alpha: alpha[i] ?? 0 }));
  return { ...nominal, own: rows };
}

/** Geometry of the UR5, series 3 (the published parameters). */
export const ur5: DhParameters = {
  d1: 0.089159,
  a2: -0.425,
  a3: -0.39225,
  d4: 0.10915,
  d5: 0.09465,
  d6: 0.0823,
};

/** Link transform of standard DH: Rz(theta) · Tz(d) · Tx(a) · Rx(alpha). */
function link(theta: number, d: number, a: number, cosAlpha: number, sinAlpha: number): Transform {
  const c = Math.cos(theta);
  const s = Math.sin(theta);
  return {
    rotation: [
      [c, -s * cosAlpha, s * sinAlpha],
      [s, c * cosAlpha, -c * sinAlpha],
      [0, sinAlpha, cosAlpha],
    ],
    translation: [a * c, a * s, d],
  };
}

/** Transforms of frames 1…6 in the base. */
export function frames(dh: DhParameters, q: Joints): Transform[] {
  const links = dh.own?.map(({ theta, a, d, alpha }, i) =>
    link((q[i] ?? NaN) + theta, d, a, Math.cos(alpha), Math.sin(alpha)),
  ) ?? [
    link(q[0], dh.d1, 0, 0, 1),
    link(q[1], 0, dh.a2, 1, 0),
    link(q[2], 0, dh.a3, 1, 0),
    link(q[3], dh.d4, 0, 0, 1),
    link(q[4], dh.d5, 0, 0, -1),
    link(q[5], dh.d6, 0, 1, 0),
  ];
  const chain: Transform[] = [];
  let last: Transform | undefined;
  for (const step of links) {
    last = last ? compose(last, step) : step;
    chain.push(last);
  }
  return chain;
}

/** baseFromFlange at joint angles `q` (rad). */
export function forward(dh: DhParameters, q: Joints): Transform {
  const last = frames(dh, q)[5];
  if (!last) throw new CellError("INTERNAL", "the chain has six links");
  return last;
}

/**
 * Geometric Jacobian of the flange in the base frame: rows 0–2 linear (m/rad), rows 3–5 angular; row-major 6×6.
 */
export function jacobian(dh: DhParameters, q: Joints): number[][] {
  const chain = frames(dh, q);
  const tip = chain[5]?.translation ?? [0, 0, 0];
  const columns: (readonly [Vec3, Vec3])[] = [];
  for (let i = 0; i < 6; i++) {
    const before = i === 0 ? undefined : chain[i - 1];
    const axis: Vec3 = before
      ? [before.rotation[0][2], before.rotation[1][2], before.rotation[2][2]]
      : [0, 0, 1];
    const origin: Vec3 = before ? before.translation : [0, 0, 0];
    columns.push([cross(axis, subtract(tip, origin)), axis]);
  }
  return Array.from({ length: 6 }, (_, row) =>
    columns.map(([linear, angular]) => (row < 3 ? (linear[row] ?? 0) : (angular[row - 3] ?? 0))),
  );
}

/** Twist (m, rad; base frame) that takes pose `from` to pose `to`. */
export function poseError(from: Transform, to: Transform): number[] {
  const rotation = vectorFromRotation(multiply(to.rotation, transpose(from.rotation)));
  return [...subtract(to.translation, from.translation), ...rotation];
}

/** Angle difference wrapped into (−π, π]. */
export const wrap = (angle: number): number => {
  const turned = angle - 2 * Math.PI * Math.floor((angle + Math.PI) / (2 * Math.PI));
  return turned <= -Math.PI ? Math.PI : turned;
};

/**
 * All analytic solutions (up to eight: shoulder × wrist × elbow), each refined by Newton until the pose is met; angles in
 * (−π, π]. Where the wrist is singular q6 is free and taken from `nearQ`.
 */
export function inverseAll(dh: DhParameters, baseFromFlange: Transform, nearQ?: Joints): Joints[] {
  const solutions: Joints[] = [];
  const wristCentre = add(baseFromFlange.translation, rotate(baseFromFlange.rotation, [0, 0, -dh.d6]));
  const [px, py] = wristCentre;
  const radius = Math.hypot(px, py);
  const shoulderRatio = limitUnit(dh.d4 / radius);
  if (shoulderRatio === undefined) return [];
  for (const shoulder of [1, -1]) {
    const q1 = Math.atan2(py, px) + shoulder * Math.acos(shoulderRatio) + Math.PI / 2;
    const s1 = Math.sin(q1);
    const c1 = Math.cos(q1);
    const [x, y] = baseFromFlange.translation;
    const wristCosine = limitUnit((x * s1 - y * c1 - dh.d4) / dh.d6);
    if (wristCosine === undefined) continue;
    for (const wrist of [1, -1]) {
      const q5 = wrist * Math.acos(wristCosine);
      const s5 = Math.sin(q5);
      const r = baseFromFlange.rotation;
      const q6 =
        Math.abs(s5) < 1e-6
          ? (nearQ?.[5] ?? 0)
          : Math.atan2((-r[0][1] * s1 + r[1][1] * c1) / s5, (r[0][0] * s1 - r[1][0] * c1) / s5);
      const oneFromSix = compose(invert(link(q1, dh.d1, 0, 0, 1)), baseFromFlange);
      const fourFromSix = compose(link(q5, dh.d5, 0, 0, -1), link(q6, dh.d6, 0, 1, 0));
      const oneFromFour = compose(oneFromSix, invert(fourFromSix));
      const elbowPoint = add(
        oneFromFour.translation,
        scale([oneFromFour.rotation[0][1], oneFromFour.rotation[1][1], oneFromFour.rotation[2][1]], -dh.d4),
      );
      const [ex, ey] = elbowPoint;
      const elbowCosine = limitUnit((ex * ex + ey * ey - dh.a2 ** 2 - dh.a3 ** 2) / (2 * dh.a2 * dh.a3));
      if (elbowCosine === undefined) continue;
      for (const elbow of [1, -1]) {
        const q3 = elbow * Math.acos(elbowCosine);
        const q2 = Math.atan2(ey, ex) - Math.atan2(dh.a3 * Math.sin(q3), dh.a2 + dh.a3 * Math.cos(q3));
        const oneFromThree = compose(link(q2, 0, dh.a2, 1, 0), link(q3, 0, dh.a3, 1, 0));
        const threeFromFour = compose(invert(oneFromThree), oneFromFour);
        const q4 = Math.atan2(threeFromFour.rotation[1][0], threeFromFour.rotation[0][0]);
        const refined = refine(dh, baseFromFlange, [q1, q2, q3, q4, q5, q6]);
        if (refined) solutions.push(refined);
      }
    }
  }
  return solutions;
}

/** A cosine that rounding has pushed a little over 1 is brought back; undefined when the pose is out of reach. */
function limitUnit(value: number): number | undefined {
  if (!Number.isFinite(value) || Math.abs(value) > 1 + 1e-9) return undefined;
  return Math.max(-1, Math.min(1, value));
}

/**
 * Newton on the pose error. The closed form loses digits near its singular cases; a few steps restore them. Undefined
 * when the pose cannot be met to 1e-9 m and 1e-9 rad from this start.
 */
export function refine(dh: DhParameters, baseFromFlange: Transform, start: Joints): Joints | undefined {
  let q: number[] = [...start];
  for (let iteration = 0; iteration < 12; iteration++) {
    const error = poseError(forward(dh, joints(q)), baseFromFlange);
    if (Math.hypot(...error.slice(0, 3)) < 1e-11 && Math.hypot(...error.slice(3)) < 1e-11) break;
    // A trace of damping keeps the step finite on a singular posture; away from it the step is Newton's.
    const step = solve6(jacobian(dh, joints(q)), error, 1e-12);
    q = q.map((value, i) => value + (step[i] ?? 0));
  }
  const error = poseError(forward(dh, joints(q)), baseFromFlange);
  if (!(Math.hypot(...error.slice(0, 3)) < 1e-9 && Math.hypot(...error.slice(3)) < 1e-9)) return undefined;
  return joints(q.map(wrap));
}

export interface JointLimits {
  readonly lower: Joints;
  readonly upper: Joints;
}

/**
 * The solution nearest to `nearQ` (largest joint difference decides, then the sum), each angle moved by whole turns as
 * close to `nearQ` as the limits allow. @throws CellError DEVICE_LIMIT when the pose is out of reach.
 */
export function inverse(
  dh: DhParameters,
  baseFromFlange: Transform,
  nearQ: Joints,
  limits?: JointLimits,
): Joints {
  let best: Joints | undefined;
  let bestCost = Infinity;
  for (const solution of inverseAll(dh, baseFromFlange, nearQ)) {
    const turned = solution.map((angle, i) => {
      const near = nearQ[i] ?? 0;
      let value = near + wrap(angle - near);
      const low = limits?.lower[i] ?? -Infinity;
      const high = limits?.upper[i] ?? Infinity;
      if (value > high) value -= 2 * Math.PI;
      else if (value < low) value += 2 * Math.PI;
      return value >= low && value <= high ? value : NaN;
    });
    if (!turned.every(Number.isFinite)) continue;
    const differences = turned.map((value, i) => Math.abs(value - (nearQ[i] ?? 0)));
    const cost = Math.max(...differences) + 1e-3 * differences.reduce((sum, value) => sum + value, 0);
    if (cost < bestCost) {
      bestCost = cost;
      best = joints(turned);
    }
  }
  if (!best) {
    const at = baseFromFlange.translation.map((value) => value.toFixed(4)).join(", ");
    throw new CellError(
      "DEVICE_LIMIT",
      `UR: no joint angles reach the flange pose at [${at}] m in the base frame`,
    );
  }
  return best;
}

/** Rotation matrix and position as the six numbers of a UR pose: x, y, z (m) and rotation vector (rad). */
export const poseVector = (pose: Transform): number[] => [
  ...pose.translation,
  ...vectorFromRotation(pose.rotation),
];

export type { Mat3 };
