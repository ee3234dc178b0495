/** What the driver of a UR arm is told, and what it tells. */
import type { CellError } from "../../base/errors.js";
import type { Transform } from "../../base/transform.js";
import type { RobotMessage } from "./codec/robot-message.js";
import type { UrEnvelope } from "./envelope.js";
import type { Joints } from "./kinematics.js";
import type { Log } from "./link.js";
import type { UrProfile } from "./profile.js";
import type { SingularityLevel, SingularityMeasures } from "./singularity.js";
import type { UrSample } from "./ur-sample.js";

export interface UrRobotOptions {
  readonly host: string;
  readonly ports: {
    readonly rtde: number;
    readonly dashboard: number;
    readonly primary: number;
    /** The state that RTDE tells is checked against the Modbus server; left out, it is not. */
    readonly modbus?: number | undefined;
  };
  /** Where the control program connects back to; the address the controller sees us at, and a free port, when left out. */
  readonly reverse?: { readonly host?: string; readonly port?: number };
  readonly profile: UrProfile;
  readonly envelope?: UrEnvelope;
  /** Silence after which the robot stops by itself. */
  readonly readTimeoutS?: number;
  readonly keepAliveS?: number;
  /** Deceleration of the joints when stopping, rad/s². */
  readonly stopDecelerationRadS2?: number;
  /** Oldest sample on which a motion may begin or go on. */
  readonly maxSampleAgeS?: number;
  /** How near the arm must stand to its target. */
  readonly tolerance?: Partial<MotionTolerance>;
  readonly bootLimitS?: number;
  readonly log?: Log;
}

export interface MotionTolerance {
  readonly jointRad: number;
  readonly positionM: number;
  readonly rotationRad: number;
  /** A joint slower than this stands. */
  readonly standstillRadS: number;
}

export const defaultTolerance: MotionTolerance = {
  jointRad: 1e-3,
  positionM: 1e-4,
  rotationRad: 1e-3,
  standstillRadS: 1e-3,
};

export type UrLifecycle = "unconfigured" | "inactive" | "active" | "fault" | "finalized";

/** What the Modbus server says of RTDE's state. `off` without a configured port. */
export type CrossCheckState = "off" | "agrees" | "differs" | "unavailable";

export interface UrState {
  readonly lifecycle: UrLifecycle;
  readonly desired: "unconfigured" | "inactive" | "active" | "finalized";
  readonly fault: CellError | undefined;
  readonly connected: boolean;
  readonly crossCheck: CrossCheckState;
  /** Seconds since the values below were true; Infinity when there are none. */
  readonly ageS: number;
  readonly q: Joints | undefined;
  readonly qd: Joints | undefined;
  /** By forward kinematics of the measured joint angles. */
  readonly baseFromFlange: Transform | undefined;
  readonly robotMode: string;
  readonly safetyMode: string;
  readonly emergencyStopped: boolean;
  readonly protectiveStopped: boolean;
  readonly moving: boolean;
  readonly singularity:
    { readonly level: SingularityLevel; readonly measures: SingularityMeasures } | undefined;
}

export interface JointPace {
  readonly speedRadS: number;
  readonly accelerationRadS2: number;
}
export interface LinearPace {
  readonly speedMS: number;
  readonly accelerationMS2: number;
}

export interface MoveReport {
  readonly sequence: number;
  readonly durationS: number;
  /** Measured at standstill. */
  readonly q: Joints;
  readonly baseFromFlange: Transform;
  /** Largest joint error, and the pose's, against the target. */
  readonly jointErrorRad: number;
  readonly positionErrorM: number;
  readonly rotationErrorRad: number;
}

export interface UrEvents {
  /** Lifecycle, connection or safety changed. */
  state: [UrState];
  sample: [UrSample];
  message: [RobotMessage];
}
