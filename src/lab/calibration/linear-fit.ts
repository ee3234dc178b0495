/** Linear least squares with the covariance of its unknowns. */
import { leastSquares } from "../../base/least-squares.js";

export interface LinearFit {
  readonly x: readonly number[];
  /** s² (AᵀA)⁻¹ with s² = Σ r² / (m − n): Bevington and Robinson, Data Reduction and Error Analysis, 3rd ed., eq. 7.25. */
  readonly covariance: readonly (readonly number[])[];
  readonly residuals: readonly number[];
  /** Standard deviation of one equation, s. */
  readonly sigma: number;
}

/** @throws CellError CALIBRATION_ILL_POSED when the rows do not determine all unknowns */
export function fitLinear(a: readonly (readonly number[])[], b: readonly number[]): LinearFit {
  const { x } = leastSquares(a, b, 1e-4);
  const n = x.length;
  const residuals = a.map((row, i) => (b[i] ?? NaN) - row.reduce((sum, v, j) => sum + v * (x[j] ?? NaN), 0));
  const squares = residuals.reduce((sum, r) => sum + r * r, 0);
  const sigma = Math.sqrt(squares / Math.max(1, a.length - n));
  const normal = x.map((_, i) =>
    x.map((__, j) => a.reduce((sum, row) => sum + (row[i] ?? NaN) * (row[j] ?? NaN), 0)),
  );
  // Column k of the inverse solves N z = e_k; N is symmetric, so columns are rows.
  const covariance = x.map((_, k) =>
    leastSquares(
      normal,
      x.map((__, i) => (i === k ? sigma * sigma : 0)),
    ).x.slice(),
  );
  return { x, covariance: symmetric(covariance), residuals, sigma };
}

/** Rounding leaves the two halves of an inverse apart by the last digits. */
export const symmetric = (m: readonly (readonly number[])[]): number[][] =>
  m.map((row, i) => row.map((value, j) => (value + (m[j]?.[i] ?? value)) / 2));

/**
 * Covariance of f(x) to first order, J C Jᵀ, with J by central differences of `steps`: JCGM 100:2008 (GUM), 5.2.2.
 */
export function propagate(
  f: (x: readonly number[]) => readonly number[],
  x: readonly number[],
  covariance: readonly (readonly number[])[],
  steps: readonly number[],
): number[][] {
  const columns = x.map((_, k) => {
    const step = steps[k] ?? NaN;
    const at = (sign: number): readonly number[] => f(x.map((v, i) => (i === k ? v + sign * step : v)));
    const [up, down] = [at(1), at(-1)];
    return up.map((v, i) => (v - (down[i] ?? NaN)) / (2 * step));
  });
  const size = columns[0]?.length ?? 0;
  const entry = (i: number, j: number): number =>
    x.reduce(
      (sum, _, k) =>
        sum +
        x.reduce(
          (inner, __, l) =>
            inner + (columns[k]?.[i] ?? NaN) * (covariance[k]?.[l] ?? NaN) * (columns[l]?.[j] ?? NaN),
          0,
        ),
      0,
    );
  return symmetric(
    Array.from({ length: size }, (_, i) => Array.from({ length: size }, (__, j) => entry(i, j))),
  );
}

export const rms = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, v) => sum + v * v, 0) / Math.max(1, values.length));
