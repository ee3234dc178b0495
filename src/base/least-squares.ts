/** Small dense linear least squares by Householder QR with a rank check. */
import { CellError } from "./errors.js";

export interface LeastSquares {
  readonly x: readonly number[];
  /** Root mean square of the residuals, in the unit of b. */
  readonly rms: number;
  /** Ratio of the smallest to the largest diagonal of R: how well the unknowns are determined. */
  readonly condition: number;
}

/**
 * Minimises |A x − b|. Rows of `a` must be of equal length.
 * @throws CellError CALIBRATION_ILL_POSED when the rows do not determine all unknowns.
 */
export function leastSquares(
  a: readonly (readonly number[])[],
  b: readonly number[],
  minCondition = 1e-9,
): LeastSquares {
  const rows = a.length;
  const columns = a[0]?.length ?? 0;
  if (rows < columns || columns === 0)
    throw new CellError("CALIBRATION_ILL_POSED", `${rows} equations for ${columns} unknowns`);
  const m = a.map((row, i) => [...row, b[i] ?? NaN]);
  const at = (i: number, j: number): number => m[i]?.[j] ?? NaN;
  for (let k = 0; k < columns; k++) {
    let length = 0;
    for (let i = k; i < rows; i++) length = Math.hypot(length, at(i, k));
    const alpha = at(k, k) > 0 ? -length : length;
    const v = Array.from({ length: rows - k }, (_, i) => at(k + i, k) - (i === 0 ? alpha : 0));
    const vv = v.reduce((sum, value) => sum + value * value, 0);
    if (vv > 0)
      for (let j = k; j <= columns; j++) {
        const factor = (2 * v.reduce((sum, value, i) => sum + value * at(k + i, j), 0)) / vv;
        v.forEach((value, i) => {
          const row = m[k + i];
          if (row !== undefined) row[j] = (row[j] ?? NaN) - factor * value;
        });
      }
  }
  const diagonal = Array.from({ length: columns }, (_, k) => Math.abs(at(k, k)));
  const condition = Math.min(...diagonal) / Math.max(...diagonal);
  if (!(condition > minCondition))
    throw new CellError(
      "CALIBRATION_ILL_POSED",
      `the ${rows} measurements do not determine all ${columns} unknowns`,
    );
  const x = new Array<number>(columns).fill(0);
  for (let k = columns - 1; k >= 0; k--) {
    let sum = at(k, columns);
    for (let j = k + 1; j < columns; j++) sum -= at(k, j) * (x[j] ?? 0);
    x[k] = sum / at(k, k);
  }
  let squares = 0;
  a.forEach((row, i) => {
    const residual = row.reduce((sum, value, j) => sum + value * (x[j] ?? 0), 0) - (b[i] ?? NaN);
    squares += residual * residual;
  });
  return { x, rms: Math.sqrt(squares / rows), condition };
}
