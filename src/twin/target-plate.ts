/**
 * A calibration target that an operator mounts on the needle's holder, needle and tissue taken away: how the plate truly
 * lies. It rides on the needle unit, so that the stages carry it. Nobody mounts exactly, and no plate is exactly as certified.
 */
import { Random } from "../base/random.js";
import type { TargetFile } from "../base/target-file.js";
import {
  add,
  compose,
  cross,
  invert,
  multiply,
  rotate,
  rotationAbout,
  scale,
  unit,
  type Mat3,
  type Transform,
  type Vec3,
} from "../base/transform.js";
import type { ScenePlate } from "./scene-layout.js";
import type { TrueCell } from "./true-cell.js";

export const targetMountings = ["on", "view1", "view2", "off"] as const;
/** Facing both views alike, or one of them alone. */
export type TargetMounting = (typeof targetMountings)[number];

/** Reflectances of glass on white, and of chrome seen beside its mirror direction. */
const white = 0.75;
const black = 0.08;
/** An operator centres the plate in the views to this, m, and turns it to this, rad. */
const mountingM = 4e-5;
const mountingRad = [0.01, 0.03] as const;

export interface TruePlate {
  readonly columns: number;
  readonly rows: number;
  readonly pitchM: number;
}

/** The plate as it was made: its pitch differs from the certified one by what the certificate allows. */
export function drawPlate({ columns, rows, pitchM, pitchSigmaM }: TargetFile, seed: number): TruePlate {
  return { columns, rows, pitchM: pitchM + pitchSigmaM * new Random(seed, "target").normal() };
}

/**
 * Where the plate lies when it has just been mounted, world from plate: u along its columns, normal towards the views.
 * Turned about the common perpendicular of both optical axes, its long side is seen unshortened by both.
 */
export function mountedPlate(cell: TrueCell, mounting: Exclude<TargetMounting, "off">): Transform {
  const random = new Random(cell.seed, "target mounting");
  const [first, second] = cell.microscopes;
  const [f1, f2] = [first.cameraFromWorld[2], second.cameraFromWorld[2]];
  const facing = { on: add(f1, f2), view1: f1, view2: f2 }[mounting];
  const normal = scale(unit(facing), -1);
  const u = unit(cross(f1, f2));
  const drawn = columns(u, cross(normal, u), normal);
  const turned = multiply(rotationAbout(random.direction(), random.uniform(...mountingRad)), drawn);
  const centre = scale(add(first.focusPoint, second.focusPoint), 0.5);
  return { rotation: turned, translation: add(centre, scale(random.direction(), mountingM)) };
}

/** The matrix with these columns. */
const columns = (x: Vec3, y: Vec3, z: Vec3): Mat3 => [
  [x[0], y[0], z[0]],
  [x[1], y[1], z[1]],
  [x[2], y[2], z[2]],
];

/** A plate on its holder: `world` is where holder and plate are now, for a holder that was at `then` when it was mounted. */
export const carriedPlate = (mounted: Transform, then: Transform, now: Transform): Transform =>
  compose(now, compose(invert(then), mounted));

/** What the microscopes see of it, for a plate that lies at `world` (world from plate). */
export const scenePlate = (plate: TruePlate, world: Transform): ScenePlate => ({
  ...plate,
  white,
  black,
  origin: world.translation,
  uAxis: rotate(world.rotation, [1, 0, 0]),
  vAxis: rotate(world.rotation, [0, 1, 0]),
});
