/**
 * What a telecentric microscope sees, as an affine map from robot coordinates (UR base frame, m) to pixels, and what two
 * of them tell together. Equations: weak perspective, skill-agent.md 13.1.
 */
import type { MicroscopeDrawing } from "../../base/cell-file.js";
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import { add, cross, dot, multiply, norm, scale, unit, type Mat3, type Vec3 } from "../../base/transform.js";

export type Pixel = readonly [number, number];

export interface ViewModel {
  /** Image right and image down per metre, px/m. */
  readonly rows: readonly [Vec3, Vec3];
  /** Pixel of the robot's origin. */
  readonly offset: Pixel;
  /** Unit, along the optical axis into the scene. */
  readonly forward: Vec3;
}

export type ViewPair = readonly [ViewModel, ViewModel];

/** Camera axes as drawn, rows in the world: image right, image down, into the scene. */
export function drawnAxes(drawing: MicroscopeDrawing): Mat3 {
  const { azimuthRad: a, elevationRad: e } = drawing;
  const forward: Vec3 = [-Math.cos(e) * Math.cos(a), -Math.cos(e) * Math.sin(a), -Math.sin(e)];
  const right = unit(cross(forward, [0, 0, 1]));
  return [right, cross(forward, right), forward];
}

/** The view as drawn; its offset stays 0 until something was seen. */
export function drawnView(drawing: MicroscopeDrawing, worldFromBase: Mat3): ViewModel {
  const axes = multiply(drawnAxes(drawing), worldFromBase);
  const k = 1 / drawing.metresPerPixel;
  return { rows: [scale(axes[0], k), scale(axes[1], k)], offset: [0, 0], forward: axes[2] };
}

/** A view whose map was measured: image right and image down per metre, robot coordinates, px/m. */
export const measuredView = (rows: readonly [Vec3, Vec3]): ViewModel => ({
  rows,
  offset: [0, 0],
  forward: unit(cross(rows[0], rows[1])),
});

/** Where a point appears, px. */
export const projectPoint = (view: ViewModel, point: Vec3): Pixel => [
  dot(view.rows[0], point) + view.offset[0],
  dot(view.rows[1], point) + view.offset[1],
];

/** How a displacement (m) appears, px. */
export const projectVector = (view: ViewModel, vector: Vec3): Pixel => [
  dot(view.rows[0], vector),
  dot(view.rows[1], vector),
];

/** The same view, shifted so that `point` appears at `pixel`. */
export function anchored(view: ViewModel, point: Vec3, pixel: Pixel): ViewModel {
  const [u, v] = projectVector(view, point);
  return { ...view, offset: [pixel[0] - u, pixel[1] - v] };
}

/** Scale of the view, m/px: what one pixel means in the plane it images. */
export const metresPerPixel = (view: ViewModel): number => 2 / (norm(view.rows[0]) + norm(view.rows[1]));

export interface Triangulation {
  readonly point: Vec3;
  /** RMS of the four image residuals, px: the health check. */
  readonly residualPx: number;
}

/** A point seen in both views: four equations, three unknowns, least squares. @throws CALIBRATION_ILL_POSED */
export function triangulate(views: ViewPair, pixels: readonly [Pixel, Pixel]): Triangulation {
  const rows = views.flatMap((view) => view.rows.map((row) => [...row]));
  const right = views.flatMap((view, i) => {
    const pixel = pixels[i as 0 | 1];
    return [pixel[0] - view.offset[0], pixel[1] - view.offset[1]];
  });
  const { x, rms } = leastSquares(rows, right, 1e-3);
  return { point: [x[0] ?? NaN, x[1] ?? NaN, x[2] ?? NaN], residualPx: rms };
}

/** A displacement from its images in both views. */
export function triangulateVector(views: ViewPair, vectors: readonly [Pixel, Pixel]): Vec3 {
  const free = views.map((view): ViewModel => ({ ...view, offset: [0, 0] }));
  const [first, second] = free;
  if (first === undefined || second === undefined) throw new RangeError("two views");
  return triangulate([first, second], vectors).point;
}

/**
 * Direction of a line from its images: the cross product of the planes that each image line spans with its optical axis.
 * The sign follows the image directions.
 * @throws CellError CALIBRATION_ILL_POSED when both planes nearly coincide.
 */
export function directionFromImages(views: ViewPair, directions: readonly [Pixel, Pixel]): Vec3 {
  const normals = views.map((view, i) => {
    const [dx, dy] = directions[i as 0 | 1];
    return unit(add(scale(view.rows[0], -dy), scale(view.rows[1], dx)));
  });
  const line = cross(normals[0] ?? [0, 0, 0], normals[1] ?? [0, 0, 0]);
  if (norm(line) < 0.05)
    throw new CellError(
      "CALIBRATION_ILL_POSED",
      "the line lies in the plane of both optical axes: no direction",
    );
  const direction = unit(line);
  const seen = projectVector(views[0], direction);
  return seen[0] * directions[0][0] + seen[1] * directions[0][1] < 0 ? scale(direction, -1) : direction;
}

export interface ViewFit {
  readonly view: ViewModel;
  readonly rmsPx: number;
}

/**
 * Fits a view to points that robot and image both know (m, px). Each group of points shares one unknown image offset,
 * because every arrival of the arm adds its own repeatability error; the returned view carries the last group's offset.
 * @throws CellError CALIBRATION_ILL_POSED for points that do not spread in all directions.
 */
export function fitView(
  drawn: ViewModel,
  groups: readonly { readonly points: readonly Vec3[]; readonly pixels: readonly Pixel[] }[],
): ViewFit {
  const origin = groups[0]?.points[0] ?? [0, 0, 0];
  const rows: number[][] = [];
  const us: number[] = [];
  const vs: number[] = [];
  groups.forEach((group, g) =>
    group.points.forEach((point, i) => {
      const pixel = group.pixels[i];
      if (pixel === undefined) return;
      // Millimetres keep the columns of one size.
      const local = [0, 1, 2].map((k) => ((point[k] ?? 0) - (origin[k] ?? 0)) * 1e3);
      rows.push([...local, ...groups.map((_, k) => (k === g ? 1 : 0))]);
      us.push(pixel[0]);
      vs.push(pixel[1]);
    }),
  );
  const u = leastSquares(rows, us, 1e-4);
  const v = leastSquares(rows, vs, 1e-4);
  const row = (x: readonly number[]): Vec3 => [(x[0] ?? 0) * 1e3, (x[1] ?? 0) * 1e3, (x[2] ?? 0) * 1e3];
  const fitted: ViewModel = { rows: [row(u.x), row(v.x)], offset: [0, 0], forward: drawn.forward };
  const last: Pixel = [u.x[2 + groups.length] ?? 0, v.x[2 + groups.length] ?? 0];
  return { view: anchored(fitted, origin, last), rmsPx: Math.hypot(u.rms, v.rms) };
}
