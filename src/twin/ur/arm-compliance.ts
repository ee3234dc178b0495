/**
 * Compliance of the arm: force mode and freedrive. The wrench that acts on the tool is what the twin is told (a switch, or
 * RTDE's external wrench); there is no contact mechanics behind it. In the chosen axes of a frame the tool then moves as a
 * body of fixed mass that is pushed by the wanted and the measured wrench, is slowed by the damping and keeps the speed
 * limits; in the other axes it stays on the program's path. The law is that of the URScript manual's words (damping 0: the
 * speed is kept, 1: none is), mass and inertia are assumptions.
 */
import {
  rotate,
  transpose,
  unit,
  cross,
  norm,
  subtract,
  type Mat3,
  type Transform,
  type Vec3,
} from "../../base/transform.js";

/** Assumed: what the controller's admittance feels like, kg and kg·m². */
export const virtualMassKg = 10;
export const virtualInertiaKgM2 = 0.5;

export interface Compliance {
  /** Orientation of the axes in the base frame, where the arm stands now. */
  readonly frame: (tool: Transform, toolTwist: readonly number[]) => Mat3;
  /** Which of x, y, z, rx, ry, rz give way. */
  readonly axes: readonly boolean[];
  /** What the tool shall press with, N and N·m, in the frame. */
  readonly wrench: readonly number[];
  /** Highest speeds of the axes that give way, m/s and rad/s. */
  readonly speedLimits: readonly number[];
  readonly damping: number;
  readonly gain: number;
}

/** One control step of the law: the twist (in the frame) that follows `twist` under the measured wrench in the frame. */
export function compliantTwist(
  compliance: Compliance,
  twist: readonly number[],
  measured: readonly number[],
  stepS: number,
): number[] {
  return twist.map((speed, i) => {
    if (compliance.axes[i] !== true) return 0;
    const mass = i < 3 ? virtualMassKg : virtualInertiaKgM2;
    const push = (compliance.wrench[i] ?? 0) + (measured[i] ?? 0);
    const next = (speed + ((compliance.gain * push) / mass) * stepS) * (1 - compliance.damping);
    const limit = compliance.speedLimits[i] ?? 0;
    return Math.max(-limit, Math.min(limit, next));
  });
}

const turned = (rotation: Mat3, six: readonly number[]): number[] => {
  const part = (at: 0 | 3): Vec3 => rotate(rotation, [six[at] ?? 0, six[at + 1] ?? 0, six[at + 2] ?? 0]);
  return [...part(0), ...part(3)];
};
/** Six numbers (force and torque, or twist) of the base frame in a frame of this orientation, and back. */
export const intoFrame = (frame: Mat3, six: readonly number[]): number[] => turned(transpose(frame), six);
export const outOfFrame = (frame: Mat3, six: readonly number[]): number[] => turned(frame, six);

const fromAxes = (x: Vec3, y: Vec3, z: Vec3): Mat3 => transpose([x, y, z]);

/**
 * The frame of force mode: 2 takes the task frame as it is; 1 turns its y axis to the vector from the tool to the frame's
 * origin; 3 turns it to the tool's velocity projected on the frame's x-y plane. Where that has no length, the frame stays.
 */
export function forceFrame(task: Transform, type: 1 | 2 | 3): Compliance["frame"] {
  const [, , z] = transpose(task.rotation);
  if (type === 2) return () => task.rotation;
  return (tool, toolTwist) => {
    if (type === 1) {
      const away = subtract(task.translation, tool.translation);
      if (norm(away) < 1e-6) return task.rotation;
      const y = unit(away);
      const side = cross(y, z);
      if (norm(side) < 1e-6) return task.rotation;
      const x = unit(side);
      return fromAxes(x, y, cross(x, y));
    }
    const [vx = 0, vy = 0, vz = 0] = toolTwist;
    const side = cross(z, [vx, vy, vz]);
    if (norm(side) < 1e-6) return task.rotation;
    const y = unit(side);
    return fromAxes(cross(y, z), y, z);
  };
}
