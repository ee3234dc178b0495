/** The rotation nearest to a matrix, and the spread of directions: small symmetric eigenvalue problems by Jacobi. */
import type { Mat3, Vec3 } from "../../base/transform.js";

export interface Eigen {
  /** Descending. */
  readonly values: readonly number[];
  /** Unit, in the order of the values. */
  readonly vectors: readonly (readonly number[])[];
}

/** Eigenvalues of a symmetric matrix by cyclic Jacobi rotations: Golub and Van Loan, Matrix Computations, 4th ed., 8.5. */
export function symmetricEigen(matrix: readonly (readonly number[])[]): Eigen {
  const n = matrix.length;
  const a = matrix.map((row) => [...row]);
  const v = matrix.map((_, i) => matrix.map((__, j) => (i === j ? 1 : 0)));
  const get = (m: number[][], i: number, j: number): number => m[i]?.[j] ?? NaN;
  const set = (m: number[][], i: number, j: number, value: number): void => {
    const row = m[i];
    if (row !== undefined) row[j] = value;
  };
  for (let sweep = 0; sweep < 30; sweep++) {
    let off = 0;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) off += get(a, p, q) ** 2;
    if (!(off > 1e-40)) break;
    for (let p = 0; p < n; p++)
      for (let q = p + 1; q < n; q++) {
        const apq = get(a, p, q);
        if (apq === 0) continue;
        const theta = (get(a, q, q) - get(a, p, p)) / (2 * apq);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        for (let k = 0; k < n; k++) {
          const [kp, kq] = [get(a, k, p), get(a, k, q)];
          set(a, k, p, c * kp - s * kq);
          set(a, k, q, s * kp + c * kq);
        }
        for (let k = 0; k < n; k++) {
          const [pk, qk] = [get(a, p, k), get(a, q, k)];
          set(a, p, k, c * pk - s * qk);
          set(a, q, k, s * pk + c * qk);
          const [vp, vq] = [get(v, k, p), get(v, k, q)];
          set(v, k, p, c * vp - s * vq);
          set(v, k, q, s * vp + c * vq);
        }
      }
  }
  const order = matrix.map((_, i) => i).sort((i, j) => get(a, j, j) - get(a, i, i));
  return {
    values: order.map((i) => get(a, i, i)),
    vectors: order.map((i) => matrix.map((_, k) => get(v, k, i))),
  };
}

/**
 * The rotation R that makes trace(Rᵀ M) greatest: for M = Σ b aᵀ the one that takes the vectors a to b best. Unit quaternions:
 * the eigenvector of Horn's symmetric 4×4 matrix to its greatest eigenvalue (J. Opt. Soc. Am. A 4 (1987) 629, sec. 4).
 */
export function nearestRotation(m: Mat3): Mat3 {
  // Horn's S is Σ a bᵀ = Mᵀ.
  const s = (i: 0 | 1 | 2, j: 0 | 1 | 2): number => m[j][i];
  const n = [
    [s(0, 0) + s(1, 1) + s(2, 2), s(1, 2) - s(2, 1), s(2, 0) - s(0, 2), s(0, 1) - s(1, 0)],
    [s(1, 2) - s(2, 1), s(0, 0) - s(1, 1) - s(2, 2), s(0, 1) + s(1, 0), s(2, 0) + s(0, 2)],
    [s(2, 0) - s(0, 2), s(0, 1) + s(1, 0), -s(0, 0) + s(1, 1) - s(2, 2), s(1, 2) + s(2, 1)],
    [s(0, 1) - s(1, 0), s(2, 0) + s(0, 2), s(1, 2) + s(2, 1), -s(0, 0) - s(1, 1) + s(2, 2)],
  ];
  const [w = NaN, x = NaN, y = NaN, z = NaN] = symmetricEigen(n).vectors[0] ?? [];
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
}

/** RMS extent of vectors about the origin along their principal directions, largest first, in the unit of the vectors. */
export function principalExtents(vectors: readonly Vec3[]): readonly [number, number, number] {
  const square = ([0, 1, 2] as const).map((i) =>
    ([0, 1, 2] as const).map((j) => vectors.reduce((sum, v) => sum + v[i] * v[j], 0) / vectors.length),
  );
  const [a = NaN, b = NaN, c = NaN] = symmetricEigen(square).values.map((value) =>
    Math.sqrt(Math.max(0, value)),
  );
  return [a, b, c];
}
