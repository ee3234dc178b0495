/** The last check of a motion before the wire: finite, near enough, inside limits and box, slow enough, not singular. */
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
import { forward, inverse, joints, type DhParameters, type JointLimits, type Joints } from "./kinematics.js";
import { defaultSingularityLimits, singularityMeasures, type SingularityLimits } from "./singularity.js";

export interface UrEnvelope {
  /** Largest change of one joint in one command, rad. */
  readonly maxJointStepRad: number;
  readonly maxJointSpeedRadS: number;
  readonly maxJointAccelerationRadS2: number;
  /** Largest way of the flange in one linear command, m. */
  readonly maxLinearStepM: number;
  readonly maxLinearSpeedMS: number;
  readonly maxLinearAccelerationMS2: number;
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
  singularity: defaultSingularityLimits,
};

const refuse = (detail: string): never => {
  throw new CellError("SAFETY_ENVELOPE", `UR: ${detail}`);
};

function positive(value: number, limit: number, what: string): void {
  if (!(value > 0) || !Number.isFinite(value)) refuse(`${what} is ${value}`);
  if (value > limit * (1 + 1e-9)) refuse(`${what} ${value} is above its limit of ${limit}`);
}

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

/** Checks a joint motion, at its target and along its way. @throws CellError SAFETY_ENVELOPE */
export function checkJointMotion(
  envelope: UrEnvelope,
  dh: DhParameters,
  limits: JointLimits,
  from: Joints,
  to: readonly number[],
  speedRadS: number,
  accelerationRadS2: number,
): Joints {
  if (to.length !== 6 || !to.every(Number.isFinite)) refuse(`a target of [${to.join(", ")}]`);
  const target = joints(to);
  positive(speedRadS, envelope.maxJointSpeedRadS, "joint speed (rad/s)");
  positive(accelerationRadS2, envelope.maxJointAccelerationRadS2, "joint acceleration (rad/s²)");
  target.forEach((value, i) => {
    const step = Math.abs(value - (from[i] ?? NaN));
    if (!(step <= envelope.maxJointStepRad)) {
      refuse(
        `joint ${i} would move ${step.toFixed(3)} rad in one command, above ${envelope.maxJointStepRad}`,
      );
    }
  });
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
 * Checks a straight motion of the flange at points of its way and returns the joint angles at its end.
 * @throws CellError SAFETY_ENVELOPE, DEVICE_LIMIT
 */
export function checkLinearMotion(
  envelope: UrEnvelope,
  dh: DhParameters,
  limits: JointLimits,
  from: Joints,
  to: Transform,
  speedMS: number,
  accelerationMS2: number,
): Joints {
  const numbers = [...to.translation, ...to.rotation.flat()];
  if (!numbers.every(Number.isFinite)) refuse("a target pose that is not finite");
  positive(speedMS, envelope.maxLinearSpeedMS, "linear speed (m/s)");
  positive(accelerationMS2, envelope.maxLinearAccelerationMS2, "linear acceleration (m/s²)");
  const start = forward(dh, from);
  const length = norm(subtract(to.translation, start.translation));
  const angle = norm(vectorFromRotation(multiply(to.rotation, transpose(start.rotation))));
  if (length > envelope.maxLinearStepM) {
    refuse(`the flange would move ${length.toFixed(3)} m in one command, above ${envelope.maxLinearStepM}`);
  }
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
