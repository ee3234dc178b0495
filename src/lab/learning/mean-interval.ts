/** Mean of a few seeds with its 95 % interval (Student's t). */

/** Two-sided 95 % quantiles of t for 1 to 30 degrees of freedom. */
const quantiles = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const normalQuantile = 1.96;

export interface MeanInterval {
  readonly mean: number;
  /** Null for a single value, which says nothing about the others. */
  readonly half: number | null;
  readonly count: number;
}

/** Undefined without a value. */
export function meanInterval(values: readonly number[]): MeanInterval | undefined {
  const count = values.length;
  if (count === 0) return undefined;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  if (count === 1) return { mean, half: null, count };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  return { mean, half: (quantiles[count - 2] ?? normalQuantile) * Math.sqrt(variance / count), count };
}
