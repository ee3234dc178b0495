/** Exact geometry of the true cell, for judging: what a true microscope sees, and what a pixel truly shows. */
import { leastSquares } from "../../base/least-squares.js";
import { add, cross, dot, rotate, scale, subtract, unit, type Vec3 } from "../../base/transform.js";
import type { TruthMicroscope, TruthSample, TruthScene } from "./truth-client.js";

type Pixel = readonly [number, number];

/** Where a true point appears at a moment, px. */
export function seenAt(camera: TruthMicroscope, view: 0 | 1, sample: TruthSample, point: Vec3): Pixel {
  const centre = add(camera.focusPoint, scale(camera.focusDirection, sample.focusM[view]));
  const local = rotate(camera.cameraFromWorld, subtract(point, centre));
  const [wx, wy] = sample.wanderM[view];
  return [
    camera.centrePx[0] + (local[0] + wx) / camera.metresPerPixel,
    camera.centrePx[1] + (local[1] + wy) / camera.metresPerPixel,
  ];
}

/** A material point of the tissue (u, v), world, for a shift of the tissue. */
export const tissuePoint = (scene: TruthScene, uv: Pixel, shift: Vec3): Vec3 =>
  add(
    add(scene.tissue.origin, shift),
    add(scale(scene.tissue.uAxis, uv[0]), scale(scene.tissue.vAxis, uv[1])),
  );

/** The material point under a pixel at a moment: the view is affine in (u, v), so two equations solve it. */
export function tissueUnderPixel(scene: TruthScene, view: 0 | 1, sample: TruthSample, pixel: Pixel): Pixel {
  const camera = scene.microscopes[view];
  const at = (uv: Pixel): Pixel => seenAt(camera, view, sample, tissuePoint(scene, uv, sample.shift));
  const zero = at([0, 0]);
  const step = 1e-3;
  const du = at([step, 0]);
  const dv = at([0, step]);
  const { x } = leastSquares(
    [
      [(du[0] - zero[0]) / step, (dv[0] - zero[0]) / step],
      [(du[1] - zero[1]) / step, (dv[1] - zero[1]) / step],
    ],
    [pixel[0] - zero[0], pixel[1] - zero[1]],
  );
  return [x[0] ?? NaN, x[1] ?? NaN];
}

/** The direction in the world that has these image directions in both true views; sign as in view 1. */
export function directionFromLines(scene: TruthScene, lines: readonly [Pixel, Pixel]): Vec3 {
  const normals = scene.microscopes.map((camera, i) => {
    const [dx, dy] = lines[i as 0 | 1];
    const [right, down] = camera.cameraFromWorld;
    return unit(add(scale(right, -dy), scale(down, dx)));
  });
  const line = unit(cross(normals[0] ?? [0, 0, 0], normals[1] ?? [0, 0, 0]));
  const first = scene.microscopes[0].cameraFromWorld;
  const along = dot(first[0], line) * lines[0][0] + dot(first[1], line) * lines[0][1];
  return along < 0 ? scale(line, -1) : line;
}

/** Distance of two points as view `i` shows it, in true metres. */
export function distanceInView(scene: TruthScene, view: 0 | 1, a: Vec3, b: Vec3): number {
  const [right, down] = scene.microscopes[view].cameraFromWorld;
  const d = subtract(a, b);
  return Math.hypot(dot(right, d), dot(down, d));
}

export const flatDistance = (a: Pixel, b: Pixel): number => Math.hypot(a[0] - b[0], a[1] - b[1]);
