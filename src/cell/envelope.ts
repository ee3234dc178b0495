/**
 * The envelope: the last step before each wire. It runs in native code (`native/envelope`) and sees what really goes out: the
 * line itself where a link speaks text; where it speaks bits, it makes them. It refuses; it never bends a value to fit. A refusal
 * is an error of the catalogue, and nothing was written.
 */
import {
  cellAddon,
  type ArmLimits,
  type ArmMessage,
  type NativeArmEnvelope,
  type NativeNeedleEnvelope,
  type NativeStageEnvelope,
  type NeedleEnvelopeLimits,
  type StageAxisLimits,
} from "./native.js";
import { asNativeError } from "./native-error.js";

class Judge {
  constructor(private readonly device: string) {}

  /** @throws CellError UNIT_NOT_FINITE, DEVICE_LIMIT, SAFETY_ENVELOPE */
  protected judged<Result>(judgement: () => Result): Result {
    try {
      return judgement();
    } catch (error) {
      throw asNativeError(error, this.device);
    }
  }
}

/** What may be written to a stage controller. */
export class StageEnvelope extends Judge {
  private readonly native: NativeStageEnvelope;

  /** @param family how a drive is laid out on the wire */
  constructor(device: string, family: "aries" | "sc", axes: readonly StageAxisLimits[]) {
    super(device);
    this.native = new (cellAddon().StageEnvelope)(family, axes);
  }

  /** A target, before anything is sent: whole pulses within the axis's range. @throws CellError as `judged` */
  target(axis: number, pulses: number, what = "target"): void {
    this.judged(() => this.native.target(axis, pulses, what));
  }

  /** One line as it goes out; a stop passes always. @throws CellError as `judged` */
  line(bytes: Buffer): Buffer {
    this.judged(() => this.native.line(bytes));
    return bytes;
  }
}

/** What may be written to a needle drive. */
export class NeedleEnvelope extends Judge {
  private readonly native: NativeNeedleEnvelope;

  constructor(device: string, limits: NeedleEnvelopeLimits) {
    super(device);
    this.native = new (cellAddon().NeedleEnvelope)(limits);
  }

  /** Before anything is sent, microsteps. @throws CellError as `judged` */
  position(microsteps: number, what: string): number {
    this.judged(() => this.native.position(microsteps, what));
    return microsteps;
  }

  /** Before anything is sent, microsteps/s and microsteps/s². @throws CellError as `judged` */
  motion(speed: number, acceleration: number): void {
    this.judged(() => this.native.motion(speed, acceleration));
  }

  /** @throws CellError as `judged` */
  dwell(milliseconds: number): number {
    this.judged(() => this.native.dwell(milliseconds));
    return milliseconds;
  }

  /** One Zaber line as it goes out; a stop passes always. @throws CellError as `judged` */
  line(bytes: Buffer): Buffer {
    this.judged(() => this.native.line(bytes));
    return bytes;
  }

  /** Modbus: the values of the fields from register `address` on, as words. @throws CellError as `judged` */
  registers(address: number, values: readonly number[]): readonly number[] {
    return this.judged(() => this.native.registers(address, values));
  }
}

/** What may be written to the control program of the arm. */
export class ArmEnvelope extends Judge {
  private readonly native: NativeArmEnvelope;

  constructor(limits: ArmLimits) {
    super("UR");
    this.native = new (cellAddon().ArmEnvelope)(limits);
  }

  /** Where the arm stands before a motion: joint angles, and the flange's position and rotation vector in the base frame. */
  standsAt(joints: readonly number[], pose: readonly number[]): void {
    this.native.standsAt(joints, pose);
  }

  /** The bytes of a command; a move is judged as a step from the one before. What moves nothing passes always. */
  encode(message: ArmMessage): Buffer {
    return this.judged(() => this.native.encode(message));
  }
}
