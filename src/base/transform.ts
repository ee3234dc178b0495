/** Vectors, rotations and rigid transforms in right-handed frames. A transform is named `targetFromSource`. */

export type Vec3 = readonly [number, number, number];
/** Row-major 3×3. */
export type Mat3 = readonly [Vec3, Vec3, Vec3];

/** `target = rotation · source + translation` (metres). */
export interface Transform {
  readonly rotation: Mat3;
  readonly translation: Vec3;
}

export const identity3: Mat3 = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];
export const identity: Transform = { rotation: identity3, translation: [0, 0, 0] };

export const add = (a: Vec3, b: Vec3): Vec3 => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const subtract = (a: Vec3, b: Vec3): Vec3 => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a: Vec3, k: number): Vec3 => [a[0] * k, a[1] * k, a[2] * k];
export const dot = (a: Vec3, b: Vec3): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a: Vec3, b: Vec3): Vec3 => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const norm = (a: Vec3): number => Math.hypot(a[0], a[1], a[2]);
export const distance = (a: Vec3, b: Vec3): number => norm(subtract(a, b));

/** @throws RangeError for a vector too short to have a direction. */
export function unit(a: Vec3): Vec3 {
  const length = norm(a);
  if (!(length > 1e-12)) throw new RangeError("a vector of no length has no direction");
  return scale(a, 1 / length);
}

/** Angle between two directions, 0…π rad; atan2 form, exact for small angles where acos is not. */
export const angleBetween = (a: Vec3, b: Vec3): number => Math.atan2(norm(cross(a, b)), dot(a, b));

export const transpose = (m: Mat3): Mat3 => [
  [m[0][0], m[1][0], m[2][0]],
  [m[0][1], m[1][1], m[2][1]],
  [m[0][2], m[1][2], m[2][2]],
];
export const rotate = (m: Mat3, v: Vec3): Vec3 => [dot(m[0], v), dot(m[1], v), dot(m[2], v)];
export function multiply(a: Mat3, b: Mat3): Mat3 {
  const columns = transpose(b);
  const row = (r: Vec3): Vec3 => [dot(r, columns[0]), dot(r, columns[1]), dot(r, columns[2])];
  return [row(a[0]), row(a[1]), row(a[2])];
}

export const apply = (t: Transform, point: Vec3): Vec3 => add(rotate(t.rotation, point), t.translation);
/** targetFromSource = compose(targetFromMiddle, middleFromSource). */
export const compose = (a: Transform, b: Transform): Transform => ({
  rotation: multiply(a.rotation, b.rotation),
  translation: apply(a, b.translation),
});
export function invert(t: Transform): Transform {
  const rotation = transpose(t.rotation);
  return { rotation, translation: scale(rotate(rotation, t.translation), -1) };
}

/** Rotation by `angle` rad about `axis` (Rodrigues). */
export function rotationAbout(axis: Vec3, angle: number): Mat3 {
  const [x, y, z] = unit(axis);
  const c = Math.cos(angle);
  const s = Math.sin(angle);
  const k = 1 - c;
  return [
    [c + x * x * k, x * y * k - z * s, x * z * k + y * s],
    [y * x * k + z * s, c + y * y * k, y * z * k - x * s],
    [z * x * k - y * s, z * y * k + x * s, c + z * z * k],
  ];
}

/** Rotation vector (axis · angle, rad), as on the UR wire → matrix. */
export function rotationFromVector(v: Vec3): Mat3 {
  const angle = norm(v);
  return angle < 1e-12 ? identity3 : rotationAbout(v, angle);
}

/** Matrix → rotation vector (rad), also near 0 and π. */
export function vectorFromRotation(m: Mat3): Vec3 {
  // Through the quaternion with the largest component (Shepperd): no loss of precision at any angle.
  const [r0, r1, r2] = m;
  const trace = r0[0] + r1[1] + r2[2];
  let w: number, x: number, y: number, z: number;
  if (trace > r0[0] && trace > r1[1] && trace > r2[2]) {
    w = 1 + trace;
    x = r2[1] - r1[2];
    y = r0[2] - r2[0];
    z = r1[0] - r0[1];
  } else if (r0[0] > r1[1] && r0[0] > r2[2]) {
    w = r2[1] - r1[2];
    x = 1 + r0[0] - r1[1] - r2[2];
    y = r0[1] + r1[0];
    z = r0[2] + r2[0];
  } else if (r1[1] > r2[2]) {
    w = r0[2] - r2[0];
    x = r0[1] + r1[0];
    y = 1 - r0[0] + r1[1] - r2[2];
    z = r1[2] + r2[1];
  } else {
    w = r1[0] - r0[1];
    x = r0[2] + r2[0];
    y = r1[2] + r2[1];
    z = 1 - r0[0] - r1[1] + r2[2];
  }
  const sign = w < 0 ? -1 : 1;
  const sine = Math.hypot(x, y, z);
  if (sine < 1e-15) return [0, 0, 0];
  const factor = (2 * Math.atan2(sine, sign * w) * sign) / sine;
  return [x * factor, y * factor, z * factor];
}

/** The smallest rotation that takes direction `from` to direction `to`. */
export function rotationBetween(from: Vec3, to: Vec3): Mat3 {
  const a = unit(from);
  const b = unit(to);
  const axis = cross(a, b);
  const angle = angleBetween(a, b);
  if (angle < 1e-14) return identity3;
  if (norm(axis) > 1e-9) return rotationAbout(axis, angle);
  const helper: Vec3 = Math.abs(a[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
  return rotationAbout(cross(a, helper), angle);
}

/** Rotation from roll, pitch, yaw about fixed x, y, z: Rz(yaw) · Ry(pitch) · Rx(roll). */
export function rotationFromRpy(roll: number, pitch: number, yaw: number): Mat3 {
  const x = rotationAbout([1, 0, 0], roll);
  const y = rotationAbout([0, 1, 0], pitch);
  const z = rotationAbout([0, 0, 1], yaw);
  return multiply(z, multiply(y, x));
}
