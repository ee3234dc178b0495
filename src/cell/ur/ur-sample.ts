/** What the driver reads over RTDE, and its meaning. */
import { CellError } from "../../base/errors.js";
import { robotMode, safetyBit, safetyMode } from "./codec/enums.js";
import { joints, type Joints } from "./kinematics.js";
import type { RtdeSample } from "./rtde-client.js";

export const requiredFields = [
  "timestamp",
  "actual_q",
  "actual_qd",
  "robot_mode",
  "safety_mode",
  "runtime_state",
] as const;
export const optionalFields = [
  "safety_status_bits",
  "robot_status_bits",
  "target_speed_fraction",
  "actual_TCP_pose",
] as const;

export interface UrSample {
  /** Controller time, s. */
  readonly timestampS: number;
  /** Monotonic time at which it was so, s. */
  readonly measuredS: number;
  readonly q: Joints;
  readonly qd: Joints;
  readonly robotMode: number;
  readonly safetyMode: number;
  readonly runtimeState: number;
  readonly emergencyStopped: boolean;
  readonly protectiveStopped: boolean;
  /** Neither normal nor reduced. */
  readonly unsafe: boolean;
  /** Powered, brakes released. */
  readonly running: boolean;
  /** 0…1, the slider. */
  readonly speedFraction: number;
}

export function readSample(sample: RtdeSample): UrSample {
  const number = (name: string, fallback?: number): number => {
    const value = sample.values.get(name);
    if (typeof value === "number") return value;
    if (fallback !== undefined) return fallback;
    throw new CellError("LINK_PROTOCOL", `UR RTDE: no number in '${name}'`);
  };
  const vector = (name: string): Joints => {
    const value = sample.values.get(name);
    if (!Array.isArray(value)) throw new CellError("LINK_PROTOCOL", `UR RTDE: no vector in '${name}'`);
    return joints(value as readonly number[]);
  };
  const mode = number("robot_mode");
  const safety = number("safety_mode");
  const bits = number("safety_status_bits", 0);
  const emergencyStopped =
    (bits & safetyBit.EMERGENCY_STOPPED) !== 0 ||
    safety === safetyMode.ROBOT_EMERGENCY_STOP ||
    safety === safetyMode.SYSTEM_EMERGENCY_STOP;
  const protectiveStopped =
    (bits & safetyBit.PROTECTIVE_STOPPED) !== 0 || safety === safetyMode.PROTECTIVE_STOP;
  return {
    timestampS: sample.timestampS,
    measuredS: sample.measuredS,
    q: vector("actual_q"),
    qd: vector("actual_qd"),
    robotMode: mode,
    safetyMode: safety,
    runtimeState: number("runtime_state"),
    emergencyStopped,
    protectiveStopped,
    unsafe:
      emergencyStopped ||
      protectiveStopped ||
      (safety !== safetyMode.NORMAL && safety !== safetyMode.REDUCED),
    running: mode === robotMode.RUNNING,
    speedFraction: number("target_speed_fraction", 1),
  };
}
