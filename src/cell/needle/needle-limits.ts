/** What a needle drive may be asked for, from its profile: checked in whole microsteps before anything leaves. */
import { CellError } from "../../base/errors.js";
import { finite } from "../../base/units.js";
import type { NeedleDriveProfile } from "../profile.js";
import type { DriveMotion, DriveStroke } from "./needle-protocol.js";

export interface NeedleMotion {
  readonly speedMS: number;
  readonly accelerationMS2: number;
}

export interface Stroke extends NeedleMotion {
  /** Where the tip's slide turns, m; the drive accepts nothing deeper while the stroke runs. */
  readonly depthPositionM: number;
  readonly dwellS: number;
  readonly retractToM: number;
  /** Speed and acceleration of the way back: a fast start leaves the electrode behind. */
  readonly retractSpeedMS: number;
  readonly retractAccelerationMS2: number;
}

const longestDwellMs = 60_000;

export class NeedleLimits {
  constructor(
    private readonly name: string,
    private readonly profile: NeedleDriveProfile,
  ) {}

  /** The nearest microstep. @throws CellError UNIT_NOT_FINITE */
  microsteps(positionM: number): number {
    return Math.round(finite(positionM, "a needle position") / this.profile.microstep.value);
  }

  /** Whole microsteps of a position within the stroke. @throws CellError DEVICE_LIMIT, UNIT_NOT_FINITE */
  target(positionM: number, what: string): number {
    const target = this.microsteps(positionM);
    const stroke = this.profile.stroke.value;
    if (target < 0 || target > this.microsteps(stroke))
      throw new CellError("DEVICE_LIMIT", `${this.name}: ${what} ${positionM} m lies outside 0…${stroke} m`);
    return target;
  }

  /** @throws CellError DEVICE_LIMIT, UNIT_NOT_FINITE */
  motion({ speedMS, accelerationMS2 }: NeedleMotion): DriveMotion {
    const { maxSpeed, maxAcceleration, microstep } = this.profile;
    if (!(finite(speedMS, "a needle speed") > 0 && speedMS <= maxSpeed.value))
      throw new CellError("DEVICE_LIMIT", `${this.name}: speed ${speedMS} m/s outside 0…${maxSpeed.value}`);
    if (!(finite(accelerationMS2, "a needle acceleration") > 0 && accelerationMS2 <= maxAcceleration.value))
      throw new CellError(
        "DEVICE_LIMIT",
        `${this.name}: acceleration ${accelerationMS2} m/s² outside 0…${maxAcceleration.value}`,
      );
    return { speed: speedMS / microstep.value, acceleration: accelerationMS2 / microstep.value };
  }

  /** @throws CellError DEVICE_LIMIT, UNIT_NOT_FINITE */
  stroke(stroke: Stroke): DriveStroke {
    const depth = this.target(stroke.depthPositionM, "depth");
    const end = this.target(stroke.retractToM, "retract position");
    if (end > depth)
      throw new CellError("DEVICE_LIMIT", `${this.name}: a stroke cannot retract below its depth`);
    const dwellMs = Math.round(finite(stroke.dwellS, "a dwell time") * 1e3);
    if (dwellMs < 0 || dwellMs > longestDwellMs)
      throw new CellError("DEVICE_LIMIT", `${this.name}: dwell of ${stroke.dwellS} s outside 0…60 s`);
    const up = this.motion({
      speedMS: stroke.retractSpeedMS,
      accelerationMS2: stroke.retractAccelerationMS2,
    });
    return { depth, end, dwellMs, down: this.motion(stroke), up };
  }
}

/** Longest time of a motion over so many microsteps, s. */
export const travelS = (microsteps: number, { speed, acceleration }: DriveMotion): number =>
  Math.abs(microsteps) / speed + (2 * speed) / acceleration;
