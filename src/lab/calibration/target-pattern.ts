/** Finding a chessboard in a picture, the right way up. The search is OpenCV's; which crossing is which, the pattern says. */
import { refineCrossings, type Crossing, type Picture, type Point } from "./target-edges.js";

/** What of opencv4nodejs the search uses. */
export interface OpenCv {
  readonly Mat: new (pixels: Buffer, rows: number, columns: number, type: number) => CvMat;
  readonly Size: new (width: number, height: number) => object;
  readonly Point2: new (x: number, y: number) => CvPoint;
  readonly TermCriteria: new (type: number, count: number, epsilon: number) => object;
  readonly CV_8UC1: number;
  readonly INTER_AREA: number;
  readonly CALIB_CB_ADAPTIVE_THRESH: number;
  readonly CALIB_CB_NORMALIZE_IMAGE: number;
}
interface CvPoint {
  readonly x: number;
  readonly y: number;
}
interface CvMat {
  resize(rows: number, columns: number, fx: number, fy: number, interpolation: number): CvMat;
  findChessboardCorners(
    size: object,
    flags: number,
  ): { readonly returnValue: boolean; readonly corners: readonly CvPoint[] };
  cornerSubPix(corners: readonly CvPoint[], window: object, zero: object, until: object): CvPoint[];
}

export interface FoundTarget {
  /** In rows of `columns`, as the target's file counts them; undefined where a crossing could not be measured. */
  readonly crossings: readonly (Crossing | undefined)[];
  /** Median grey levels of 16 × 16 equal parts of the picture, row by row. */
  readonly cells: readonly number[];
  readonly found: boolean;
}

export const cellsAcross = 16;
/**
 * Sizes at which the pattern is sought, one after the other: a speck on a crossing hides it at one and not at another.
 * Not at full size: where there is no pattern, OpenCV then looks for minutes among the squares it makes of the noise.
 */
const reductions = [2, 4] as const;

/** Median of every fourth pixel of every fourth row of each cell: a speck of dust is no light lost. */
export function cellMedians({ width, height, pixels }: Picture): number[] {
  const [w, h] = [Math.floor(width / cellsAcross), Math.floor(height / cellsAcross)];
  return Array.from({ length: cellsAcross * cellsAcross }, (_, n) => {
    const [i, j] = [n % cellsAcross, Math.floor(n / cellsAcross)];
    const counts = new Uint32Array(256);
    let total = 0;
    for (let y = j * h; y < (j + 1) * h; y += 4)
      for (let x = i * w; x < (i + 1) * w; x += 4) {
        const grey = pixels[y * width + x] ?? 0;
        counts[grey] = (counts[grey] ?? 0) + 1;
        total++;
      }
    // Within the grey level of the median by its share, as if each level were spread evenly.
    let below = 0;
    for (let grey = 0; grey < 256; grey++) {
      const count = counts[grey] ?? 0;
      if (below + count >= total / 2) return grey - 0.5 + (total / 2 - below) / count;
      below += count;
    }
    return NaN;
  });
}

/** Grey level about a point, mean of 5 × 5 pixels. */
function greyAt({ width, pixels }: Picture, [x, y]: Point): number {
  let sum = 0;
  for (let j = -2; j <= 2; j++)
    for (let i = -2; i <= 2; i++) sum += pixels[(Math.round(y) + j) * width + Math.round(x) + i] ?? NaN;
  return sum / 25;
}

/**
 * The same crossings in the order of the target's file: columns along u, rows along v, seen from its front, beginning beside
 * the dark corner square. OpenCV may begin at any corner that its own order allows.
 */
export function inOrder(picture: Picture, points: readonly Point[], columns: number): Point[] {
  const rows = points.length / columns;
  const at = (list: readonly Point[], i: number, j: number): Point => list[j * columns + i] ?? [NaN, NaN];
  const steps = (list: readonly Point[]): { readonly o: Point; readonly u: Point; readonly v: Point } => {
    const [o, a, b] = [at(list, 0, 0), at(list, 1, 0), at(list, 0, 1)];
    return { o, u: [a[0] - o[0], a[1] - o[1]], v: [b[0] - o[0], b[1] - o[1]] };
  };
  let list = [...points];
  const { u, v } = steps(list);
  // u, v and the normal towards the camera are right-handed; image right, image down and into the scene, too.
  if (u[0] * v[1] - u[1] * v[0] > 0)
    list = Array.from({ length: list.length }, (_, n) =>
      at(points, n % columns, rows - 1 - Math.floor(n / columns)),
    );
  const s = steps(list);
  const square = (ku: number, kv: number): number =>
    greyAt(picture, [s.o[0] + ku * s.u[0] + kv * s.v[0], s.o[1] + ku * s.u[1] + kv * s.v[1]]);
  return square(-0.5, -0.5) < square(0.5, -0.5) ? list : list.reverse();
}

function roughCorners(
  cv: OpenCv,
  whole: CvMat,
  { width, height }: Picture,
  size: object,
  flags: number,
): Point[] | undefined {
  for (const reduction of reductions) {
    const image = whole.resize(height / reduction, width / reduction, 0, 0, cv.INTER_AREA);
    const { returnValue, corners } = image.findChessboardCorners(size, flags);
    const offset = (reduction - 1) / 2;
    if (returnValue)
      return corners.map(({ x, y }): Point => [x * reduction + offset, y * reduction + offset]);
  }
  return undefined;
}

export function findTarget(cv: OpenCv, picture: Picture, columns: number, rows: number): FoundTarget {
  const { width, height, pixels } = picture;
  const whole = new cv.Mat(
    Buffer.from(pixels.buffer, pixels.byteOffset, pixels.length),
    height,
    width,
    cv.CV_8UC1,
  );
  const cells = cellMedians(picture);
  const flags = cv.CALIB_CB_ADAPTIVE_THRESH + cv.CALIB_CB_NORMALIZE_IMAGE;
  const corners = roughCorners(cv, whole, picture, new cv.Size(columns, rows), flags);
  if (corners?.length !== columns * rows) return { found: false, crossings: [], cells };
  // Stops after 60 rounds or at a thousandth of a pixel (COUNT + EPS).
  const rough = whole.cornerSubPix(
    corners.map(([x, y]) => new cv.Point2(x, y)),
    new cv.Size(15, 15),
    new cv.Size(-1, -1),
    new cv.TermCriteria(3, 60, 1e-3),
  );
  const ordered = inOrder(
    picture,
    rough.map(({ x, y }): Point => [x, y]),
    columns,
  );
  return { found: true, crossings: refineCrossings(picture, ordered, columns), cells };
}
