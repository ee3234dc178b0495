/** Circular arcs through three points, for the circular motions of programs. */
import {
  add,
  cross,
  dot,
  norm,
  rotate,
  rotationAbout,
  scale,
  subtract,
  unit,
  type Vec3,
} from "../../base/transform.js";
import { ArmRefusal } from "./arm-limits.js";

export interface Arc {
  readonly centre: Vec3;
  /** Unit vector; the arc runs counterclockwise about it. */
  readonly axis: Vec3;
  /** m. */
  readonly radius: number;
  /** 0…2π rad, from the first point through the second to the third. */
  readonly angle: number;
  /** Point at a share 0…1 of the arc. */
  at(share: number): Vec3;
}

/** @throws ArmRefusal when the points lie on a line or coincide */
export function arcThrough(from: Vec3, via: Vec3, to: Vec3): Arc {
  const ab = subtract(via, from);
  const ac = subtract(to, from);
  const normal = cross(ab, ac);
  // Twice the area of the triangle against its sides: the sine of its angle at `from`.
  if (!(norm(normal) > 1e-6 * norm(ab) * norm(ac)) || norm(ab) < 1e-6 || norm(ac) < 1e-6)
    throw new ArmRefusal("movec: the three points do not make a circle");
  // Centre of the circumscribed circle.
  const numerator = add(scale(cross(normal, ab), dot(ac, ac)), scale(cross(ac, normal), dot(ab, ab)));
  const spoke = scale(numerator, -1 / (2 * dot(normal, normal)));
  const centre = subtract(from, spoke);
  const axis = unit(normal);
  const end = subtract(to, centre);
  const turn = Math.atan2(dot(end, cross(axis, spoke)), dot(end, spoke));
  const angle = turn > 0 ? turn : turn + 2 * Math.PI;
  return {
    centre,
    axis,
    radius: norm(spoke),
    angle,
    at: (share) => add(centre, rotate(rotationAbout(axis, angle * share), spoke)),
  };
}
