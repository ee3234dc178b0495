/** Figures of repeated trials: shares with their Wilson interval, and mean, spread and worst of errors. */

/** `count` of `of`, with the Wilson interval of 95 %. Interval and share are null when there was nothing to count. */
export interface Share {
  readonly count: number;
  readonly of: number;
  readonly share: number | null;
  readonly interval: readonly [number, number] | null;
}

/** z of a two-sided 95 % interval. */
const z = 1.959963984540054;

/** Wilson's score interval (Wilson 1927; skill-agent.md 9.5 has check values). */
export function wilson(count: number, of: number): Share {
  if (of === 0) return { count, of, share: null, interval: null };
  const p = count / of;
  const middle = (p + z ** 2 / (2 * of)) / (1 + z ** 2 / of);
  const half = (z / (1 + z ** 2 / of)) * Math.sqrt((p * (1 - p)) / of + z ** 2 / (4 * of ** 2));
  return { count, of, share: p, interval: [Math.max(0, middle - half), Math.min(1, middle + half)] };
}

export interface Spread {
  readonly mean: number;
  /** Of the sample, n − 1; 0 for a single value. */
  readonly sd: number;
  readonly max: number;
}

/** Undefined without a value. */
export function spread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return {
    mean,
    sd: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0,
    max: Math.max(...values),
  };
}
