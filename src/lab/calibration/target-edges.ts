/**
 * The crossings of a chessboard to a few hundredths of a pixel, and how blurred each is. Lines of the pattern keep their
 * place where half of the point spread lies on either side, also where the blur changes across them: so each crossing is
 * where the lines through the middles of its four edges meet.
 */
import { leastSquares } from "../../base/least-squares.js";

export type Point = readonly [number, number];

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Row-major Mono8. */
  readonly pixels: Uint8Array;
}

export interface Edge {
  /** Where the picture is half way from dark to bright, px. */
  readonly middle: Point;
  /** Standard deviation of the blur across the edge, px. */
  readonly sigmaPx: number;
}

export interface Crossing {
  readonly at: Point;
  /** Of its edges, RMS. */
  readonly sigmaPx: number;
}

/** Samples across an edge begin this share of the pattern's spacing before it. */
const share = 0.4;
const stepPx = 0.5;
/** Less contrast than this, grey levels, is no edge. */
const leastContrast = 20;

function sample({ width, height, pixels }: Picture, x: number, y: number): number {
  const [i, j] = [Math.floor(x), Math.floor(y)];
  if (i < 0 || j < 0 || i + 1 >= width || j + 1 >= height) return NaN;
  const [fx, fy] = [x - i, y - j];
  const at = (n: number): number => pixels[n] ?? NaN;
  const k = j * width + i;
  return (
    (1 - fy) * ((1 - fx) * at(k) + fx * at(k + 1)) + fy * ((1 - fx) * at(k + width) + fx * at(k + width + 1))
  );
}

/** Inverse of the normal distribution: Abramowitz and Stegun 26.2.23, error below 4.5e-4. */
function quantile(p: number): number {
  const tail = Math.min(p, 1 - p);
  const t = Math.sqrt(-2 * Math.log(tail));
  const x =
    t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return p < 0.5 ? -x : x;
}

const mean = (values: readonly number[]): number => values.reduce((sum, v) => sum + v, 0) / values.length;

/**
 * The edge between two neighbouring crossings: profiles across its middle, averaged along it. Grey levels become quantiles
 * of the blur, q = (t − t₀)/σ + c t²; c is what a blur that changes across the edge adds.
 * @param spacing distance to the neighbouring lines, px
 */
export function edgeBetween(picture: Picture, p: Point, q: Point, spacing: number): Edge | undefined {
  const length = Math.hypot(q[0] - p[0], q[1] - p[1]);
  const along: Point = [(q[0] - p[0]) / length, (q[1] - p[1]) / length];
  const across: Point = [-along[1], along[0]];
  const centre: Point = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
  const reach = share * spacing;
  const steps = Math.floor(reach / stepPx);
  const rows = Math.max(3, Math.floor(0.3 * length));
  const profile = Array.from({ length: 2 * steps + 1 }, (_, n) => {
    const t = (n - steps) * stepPx;
    let sum = 0;
    for (let k = 0; k < rows; k++) {
      const s = k - (rows - 1) / 2;
      sum += sample(
        picture,
        centre[0] + t * across[0] + s * along[0],
        centre[1] + t * across[1] + s * along[1],
      );
    }
    return { t, grey: sum / rows };
  });
  const plateau = Math.max(3, Math.round(steps / 5));
  const before = mean(profile.slice(0, plateau).map(({ grey }) => grey));
  const after = mean(profile.slice(-plateau).map(({ grey }) => grey));
  if (!(Math.abs(after - before) > leastContrast)) return undefined;
  const shares = profile.map(({ t, grey }) => ({ t, f: (grey - before) / (after - before) }));
  // The samples about the one crossing of the half, up to the first that leaves the range on either side.
  const cross = shares.findIndex(({ f }, n) => f >= 0.5 && (shares[n - 1]?.f ?? 1) < 0.5);
  if (cross < 0) return undefined;
  const within = (n: number): boolean => {
    const f = shares[n]?.f ?? NaN;
    return f > 0.08 && f < 0.92;
  };
  let [first, last] = [cross, cross - 1];
  while (within(first - 1)) first--;
  while (within(last + 1)) last++;
  const used = shares.slice(first, last + 1);
  if (used.length < 3) return undefined;
  const bent = used.length >= 9;
  let solution: readonly number[];
  try {
    solution = leastSquares(
      used.map(({ t }) => (bent ? [1, t, t * t] : [1, t])),
      used.map(({ f }) => quantile(f)),
      1e-7,
    ).x;
  } catch {
    return undefined;
  }
  const [a = NaN, b = NaN, c = 0] = solution;
  // The root near −a/b of a + b t + c t², by one step of Newton's method from there.
  const t0 = -a / b;
  const root = t0 - (a + b * t0 + c * t0 * t0) / (b + 2 * c * t0);
  const sigmaPx = 1 / (b + 2 * c * root);
  if (!(sigmaPx > 0.2) || sigmaPx > spacing / 3 || !(Math.abs(root) < reach)) return undefined;
  return { middle: [centre[0] + root * across[0], centre[1] + root * across[1]], sigmaPx };
}

/** Where the line through a and b meets the line through c and d. */
function meeting(a: Point, b: Point, c: Point, d: Point): Point {
  const [rx, ry, sx, sy] = [b[0] - a[0], b[1] - a[1], d[0] - c[0], d[1] - c[1]];
  const t = ((c[0] - a[0]) * sy - (c[1] - a[1]) * sx) / (rx * sy - ry * sx);
  return [a[0] + t * rx, a[1] + t * ry];
}

/**
 * All crossings anew, from rough ones in rows of `columns`; undefined where one of the edges cannot be measured (a speck of
 * dust, the border of the picture).
 */
export function refineCrossings(
  picture: Picture,
  rough: readonly Point[],
  columns: number,
): (Crossing | undefined)[] {
  const rows = rough.length / columns;
  const at = (i: number, j: number): Point => {
    // Beyond the outermost crossings the pattern goes on for one square.
    const ci = Math.min(Math.max(i, 0), columns - 1);
    const cj = Math.min(Math.max(j, 0), rows - 1);
    const point = rough[cj * columns + ci] ?? [NaN, NaN];
    if (ci === i && cj === j) return point;
    const inner = rough[(2 * cj - j) * columns + 2 * ci - i] ?? [NaN, NaN];
    return [2 * point[0] - inner[0], 2 * point[1] - inner[1]];
  };
  const edges = new Map<string, Edge | undefined>();
  /** From (i, j) one step along the columns (0) or the rows (1). */
  const edge = (i: number, j: number, direction: 0 | 1): Edge | undefined => {
    const key = `${i} ${j} ${direction}`;
    if (!edges.has(key)) {
      const [p, q] = [at(i, j), direction === 0 ? at(i + 1, j) : at(i, j + 1)];
      const side = direction === 0 ? at(i, j + 1) : at(i + 1, j);
      const length = Math.hypot(q[0] - p[0], q[1] - p[1]);
      const spacing = Math.abs((side[0] - p[0]) * (q[1] - p[1]) - (side[1] - p[1]) * (q[0] - p[0])) / length;
      edges.set(key, edgeBetween(picture, p, q, spacing));
    }
    return edges.get(key);
  };
  return rough.map((_, n) => {
    const [i, j] = [n % columns, Math.floor(n / columns)];
    const [left, right, up, down] = [edge(i - 1, j, 0), edge(i, j, 0), edge(i, j - 1, 1), edge(i, j, 1)];
    if (left === undefined || right === undefined || up === undefined || down === undefined) return undefined;
    const sigmaPx = Math.sqrt([left, right, up, down].reduce((sum, { sigmaPx: s }) => sum + (s * s) / 4, 0));
    return { at: meeting(left.middle, right.middle, up.middle, down.middle), sigmaPx };
  });
}
