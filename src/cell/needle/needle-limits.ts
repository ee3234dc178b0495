/** What is asked of a needle drive, in its own units; whether it may be asked is judged by its envelope before anything leaves. */
import { CellError } from "../../base/errors.js";
import { finite } from "../../base/units.js";
import { NeedleEnvelope } from "../envelope.js";
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

/** The envelope of a drive, from its profile. */
export function needleEnvelope(name: string, profile: NeedleDriveProfile): NeedleEnvelope {
  const { value: microstep } = profile.microstep;
  const zaber = profile.dialect === "zaber-ascii";
  return new NeedleEnvelope(name, {
    travel: Math.round(profile.stroke.value / microstep),
    maxSpeed: profile.maxSpeed.value / microstep,
    maxAcceleration: profile.maxAcceleration.value / microstep,
    speedScale: zaber ? profile.speedScale.value : 1,
    accelerationScale: zaber ? profile.accelerationScale.value : 1,
  });
}

export class NeedleLimits {
  private readonly microstepM: number;

  constructor(
    private readonly name: string,
    profile: NeedleDriveProfile,
    private readonly envelope: NeedleEnvelope,
  ) {
    this.microstepM = profile.microstep.value;
  }

  /** The nearest microstep. @throws CellError UNIT_NOT_FINITE */
  microsteps(positionM: number): number {
    return Math.round(finite(positionM, `${this.name}: a position`) / this.microstepM);
  }

  /** Whole microsteps of a position within the stroke. @throws CellError DEVICE_LIMIT, UNIT_NOT_FINITE */
  target(positionM: number, what: string): number {
    return this.envelope.position(this.microsteps(positionM), what);
  }

  /** @throws CellError DEVICE_LIMIT, UNIT_NOT_FINITE */
  motion({ speedMS, accelerationMS2 }: NeedleMotion): DriveMotion {
    const motion = { speed: speedMS / this.microstepM, acceleration: accelerationMS2 / this.microstepM };
    this.envelope.motion(motion.speed, motion.acceleration);
    return motion;
  }

  /** @throws CellError DEVICE_LIMIT, UNIT_NOT_FINITE */
  stroke(stroke: Stroke): DriveStroke {
    const depth = this.target(stroke.depthPositionM, "depth");
    const end = this.target(stroke.retractToM, "end of the way back");
    if (end > depth)
      throw new CellError("DEVICE_LIMIT", `${this.name}: a stroke cannot retract below its depth`);
    const dwellMs = this.envelope.dwell(Math.round(stroke.dwellS * 1e3));
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
