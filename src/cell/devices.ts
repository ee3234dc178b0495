/** What the agent needs of each device, in SI. The drivers implement it; the contract tests hold them to it. */
import type { Transform } from "../base/transform.js";
import type { CameraIdentity, FrameLease, NativeCamera, StageLine } from "./native.js";

export interface ArmState {
  /** Joint angles, rad. */
  readonly q: readonly number[];
  /** Computed from the measured joints with the arm's kinematics. */
  readonly baseFromFlange: Transform;
  readonly moving: boolean;
  readonly emergencyStopped: boolean;
  readonly protectiveStopped: boolean;
  readonly connected: boolean;
  /** Age of the newest sample, s. */
  readonly ageS: number;
}

export interface ArmDevice {
  state(): ArmState | undefined;
  /** Joint-space move, paced by the robot; settles when the robot stands at the target. */
  moveJoints(
    q: readonly number[],
    options: { readonly speedRadS: number; readonly accelerationRadS2: number },
    signal: AbortSignal,
  ): Promise<void>;
  /** Straight move of the flange in the base frame. */
  moveLinear(
    baseFromFlange: Transform,
    options: { readonly speedMS: number; readonly accelerationMS2: number },
    signal: AbortSignal,
  ): Promise<void>;
  /** Immediate, unconditional, idempotent. */
  stop(): void;
}

export interface StageDevice {
  /** Last measured position, m or rad. */
  position(axis: number): number;
  readonly moving: boolean;
  /** Size of one pulse, m or rad. */
  step(axis: number): number;
  limits(axis: number): { readonly min: number; readonly max: number };
  /**
   * Moves several axes at once (m or rad, absolute) and settles when all stand at their targets. With `oneSided` each
   * axis arrives from its smaller side, so that lost motion does not show.
   */
  moveTo(
    targets: ReadonlyMap<number, number>,
    options: { readonly oneSided: boolean },
    signal: AbortSignal,
  ): Promise<void>;
  /** Hands the stages to another owner (the native servo), by what it may reach them, and takes them back, positions read anew. */
  lend<T>(work: (line: StageLine) => Promise<T>): Promise<T>;
  stop(): void;
}

export interface NeedleDevice {
  /** Measured, m; 0 = withdrawn. */
  position(): number;
  readonly moving: boolean;
  readonly strokeM: number;
  moveTo(
    positionM: number,
    options: { readonly speedMS: number; readonly accelerationMS2: number },
    signal: AbortSignal,
  ): Promise<void>;
  /** Down to a depth, a dwell, and back: run by the drive from one command on, never paced here. */
  stroke(
    stroke: {
      readonly depthPositionM: number;
      readonly speedMS: number;
      readonly accelerationMS2: number;
      readonly dwellS: number;
      readonly retractToM: number;
      readonly retractSpeedMS: number;
      readonly retractAccelerationMS2: number;
    },
    signal: AbortSignal,
  ): Promise<{ readonly deepestSeenM: number; readonly endM: number; readonly durationS: number }>;
  /** Microsteps of a position: what the guardian needs to withdraw without us. */
  microsteps(positionM: number): number;
  stop(): void;
}

export interface MicroscopeDevice {
  readonly name: string;
  readonly identity: CameraIdentity | undefined;
  online(): boolean;
  /** The native side of it, for the servo loop. */
  readonly native: NativeCamera | undefined;
  /** First frame exposed after `afterS` (monotonic s). */
  nextFrame(afterS: number, timeoutS: number): Promise<FrameLease>;
  exposureUs(): Promise<number>;
  setExposureUs(value: number): Promise<number>;
  exposureBoundsUs(): Promise<{ readonly min: number; readonly max: number }>;
  gain(): Promise<number>;
  setGain(value: number): Promise<number>;
  gainBounds(): Promise<{ readonly min: number; readonly max: number }>;
  /** Close, find again, re-apply settings, take a test frame. */
  reopen(signal: AbortSignal): Promise<void>;
}

export interface CellDevices {
  readonly arm: ArmDevice;
  readonly stages: StageDevice;
  readonly needle: NeedleDevice;
  readonly microscopes: readonly [MicroscopeDevice, MicroscopeDevice];
}
