/**
 * The way of a motion: every posture on it inside the joints' limits and the box, slow enough in every joint, not singular.
 * The numbers of the command itself (finite, near enough, slow enough) are judged in native code, which makes its bytes.
 */
import { CellError } from "../../base/errors.js";
import {
  multiply,
  rotationAbout,
  transpose,
  vectorFromRotation,
  norm,
  subtract,
  type Transform,
  type Vec3,
} from "../../base/transform.js";
import type { ArmPaceLimits } from "../native.js";
import { forward, inverse, joints, type DhParameters, type JointLimits, type Joints } from "./kinematics.js";
import { defaultSingularityLimits, singularityMeasures, type SingularityLimits } from "./singularity.js";

export interface UrEnvelope extends ArmPaceLimits {
  /** Where the origin of the flange may be, base frame, m. */
  readonly flangeBox?: { readonly lower: Vec3; readonly upper: Vec3 };
  readonly singularity: SingularityLimits;
}

export const defaultEnvelope: UrEnvelope = {
  maxJointStepRad: Math.PI / 2,
  maxJointSpeedRadS: 1.05,
  maxJointAccelerationRadS2: 3,
  maxLinearStepM: 0.4,
  maxLinearSpeedMS: 0.25,
  maxLinearAccelerationMS2: 1.2,
  maxBlendM: 0.2,
  singularity: defaultSingularityLimits,
};

const refuse = (detail: string): never => {
  throw new CellError("SAFETY_ENVELOPE", `UR: ${detail}`);
};

function checkPosture(
  envelope: UrEnvelope,
  dh: DhParameters,
  limits: JointLimits,
  q: Joints,
  from: Joints,
): void {
  q.forEach((value, i) => {
    const [low, high] = [limits.lower[i] ?? 0, limits.upper[i] ?? 0];
    if (!(value >= low && value <= high)) {
      refuse(`joint ${i} at ${value.toFixed(4)} rad is outside [${low.toFixed(4)}, ${high.toFixed(4)}]`);
    }
  });
  const { flangeBox, singularity } = envelope;
  if (flangeBox) {
    const at = forward(dh, q).translation;
    at.forEach((value, i) => {
      const [low, high] = [flangeBox.lower[i] ?? 0, flangeBox.upper[i] ?? 0];
      if (!(value >= low && value <= high)) {
        refuse(
          `flange ${"xyz"[i] ?? ""} = ${value.toFixed(4)} m is outside [${low}, ${high}] in the base frame`,
        );
      }
    });
  }
  const least = leastFactor(dh, q);
  // A motion that leads away from a singularity must stay possible, or the arm could never leave it.
  if (least < singularity.stop && least < leastFactor(dh, from)) {
    refuse(`posture [${q.map((value) => value.toFixed(3)).join(", ")}] is singular (${least.toFixed(3)})`);
  }
}

function leastFactor(dh: DhParameters, q: Joints): number {
  const { wrist, elbow, shoulder } = singularityMeasures(dh, q);
  return Math.min(wrist, elbow, shoulder);
}

/** Checks the way of a joint motion. @throws CellError SAFETY_ENVELOPE, UNIT_NOT_FINITE */
export function checkJointWay(
  envelope: UrEnvelope,
  dh: DhParameters,
  limits: JointLimits,
  from: Joints,
  to: readonly number[],
): Joints {
  const target = joints(to);
  const largest = Math.max(...target.map((value, i) => Math.abs(value - (from[i] ?? 0))));
  const count = Math.max(1, Math.ceil(largest / 0.05));
  for (let k = 1; k <= count; k++) {
    const between = joints(target.map((value, i) => (from[i] ?? 0) + ((value - (from[i] ?? 0)) * k) / count));
    checkPosture(envelope, dh, limits, between, from);
  }
  return target;
}

/** A pose on the straight line between two, `share` 0…1. */
export function interpolate(from: Transform, to: Transform, share: number): Transform {
  const turn = vectorFromRotation(multiply(to.rotation, transpose(from.rotation)));
  const angle = norm(turn);
  const rotation =
    angle < 1e-12 ? from.rotation : multiply(rotationAbout(turn, angle * share), from.rotation);
  const [a, b] = [from.translation, to.translation];
  return {
    rotation,
    translation: [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share],
  };
}

/**
 * Checks the way of a straight motion of the flange at points of it and returns the joint angles at its end.
 * @throws CellError SAFETY_ENVELOPE, DEVICE_LIMIT
 */
export function checkLinearWay(
  envelope: UrEnvelope,
  dh: DhParameters,
  limits: JointLimits,
  from: Joints,
  to: Transform,
  speedMS: number,
): Joints {
  const start = forward(dh, from);
  const length = norm(subtract(to.translation, start.translation));
  const angle = norm(vectorFromRotation(multiply(to.rotation, transpose(start.rotation))));
  const count = Math.max(1, Math.ceil(Math.max(length / 0.005, angle / 0.03)));
  // The controller paces rotation by the same numbers, in radians.
  const durationS = Math.max(length, angle) / speedMS / count;
  let q = from;
  for (let k = 1; k <= count; k++) {
    const next = inverse(dh, interpolate(start, to, k / count), q, limits);
    next.forEach((value, i) => {
      const speed = Math.abs(value - (q[i] ?? 0)) / Math.max(durationS, 1e-6);
      if (speed > envelope.maxJointSpeedRadS * (1 + 1e-9) && Math.abs(value - (q[i] ?? 0)) > 1e-4) {
        refuse(
          `joint ${i} would turn at ${speed.toFixed(2)} rad/s on the line, above ${envelope.maxJointSpeedRadS}`,
        );
      }
      const step = Math.abs(value - (from[i] ?? 0));
      if (step > envelope.maxJointStepRad) {
        refuse(`joint ${i} would move ${step.toFixed(3)} rad on the line, above ${envelope.maxJointStepRad}`);
      }
    });
    checkPosture(envelope, dh, limits, next, from);
    q = next;
  }
  return q;
}
