/**
 * The emulated needle drive: a slide behind one of the two protocols that needle drives of this project speak, and what
 * can go wrong with it. What the client sees comes through the protocol; the twin's mechanics see the true position.
 */
import { monotonicNow } from "../../base/clock.js";
import { Random } from "../../base/random.js";
import { PtyPort, type PtyOptions } from "../pty-port.js";
import { WireFaults } from "../wire-faults.js";
import { ModbusDevice } from "./modbus-device.js";
import { ModbusLine } from "./modbus-line.js";
import { Slide, type Flag } from "./slide.js";
import { ZaberDevice } from "./zaber-device.js";
import { ZaberLine } from "./zaber-line.js";

export interface NeedleDriveOptions {
  readonly seed: number;
  readonly dialect?: "zaber-ascii" | "modbus-rtu";
  readonly microstepM?: number;
  readonly strokeM?: number;
  readonly maxSpeedMS?: number;
  readonly maxAccelerationMS2?: number;
  readonly deviceId?: number;
  /** Where the slide stands at power-up, m from the upper stop. */
  readonly initialM?: number;
  /** The reference is already known. */
  readonly homed?: boolean;
  readonly clock?: () => number;
}

/** Speed of the search for the upper stop, m/s. */
const homingSpeedMS = 0.005;

export class NeedleDriveEmulator {
  readonly faults = new WireFaults();
  readonly slide: Slide;

  private readonly microstepM: number;
  private readonly clock: () => number;
  private readonly scalePhase: number;
  private readonly device: ZaberDevice | ModbusDevice;
  private readonly line: ZaberLine | ModbusLine;
  private write: (bytes: Buffer) => void = () => undefined;

  constructor(options: NeedleDriveOptions) {
    this.microstepM = options.microstepM ?? 1e-7;
    this.clock = options.clock ?? monotonicNow;
    this.scalePhase = new Random(options.seed, "needle scale").uniform(0, 2 * Math.PI);
    this.slide = new Slide({
      strokeMicrosteps: Math.round((options.strokeM ?? 6e-3) / this.microstepM),
      topSpeed: (options.maxSpeedMS ?? 0.5) / this.microstepM,
      topAcceleration: (options.maxAccelerationMS2 ?? 30) / this.microstepM,
      homingSpeed: homingSpeedMS / this.microstepM,
      initial: (options.initialM ?? 0) / this.microstepM,
      homed: options.homed === true,
    });
    const deviceId = options.deviceId ?? 50951;
    const send = (bytes: Buffer): void => this.write(bytes);
    if (options.dialect === "modbus-rtu") {
      this.device = new ModbusDevice({ deviceId, microstepM: this.microstepM, slide: this.slide });
      this.line = new ModbusLine(this.device, this.faults, this.clock, send);
    } else {
      this.device = new ZaberDevice({ deviceId, slides: [this.slide] });
      this.line = new ZaberLine([this.device], this.faults, this.clock, send);
    }
  }

  /** Where the slide truly is, m below the upper stop; the scale's interpolation error included. Changes nothing. */
  positionM(nowS: number = this.clock()): number {
    const nominal = this.slide.at(nowS).position * this.microstepM;
    const error = (x: number): number => 0.1e-6 * Math.sin((2 * Math.PI * x) / 20e-6 + this.scalePhase);
    return nominal + error(nominal) - error(0);
  }

  isMoving(nowS: number = this.clock()): boolean {
    this.slide.update(nowS);
    return this.slide.busy;
  }

  /** Connects the serial line. @returns what to feed with the bytes that arrive */
  attach(write: (bytes: Buffer) => void): (bytes: Uint8Array) => void {
    this.write = write;
    return (bytes) => this.line.receive(bytes);
  }

  /** Something in the way at this depth, m: the slide stops there with the flag. Undefined takes it away. */
  block(positionM: number | undefined, flag: Flag = "FS"): void {
    this.slide.block(this.clock(), positionM === undefined ? undefined : positionM / this.microstepM, flag);
  }

  /** The driver switches itself off, as on a short overcurrent: enabling brings it back. */
  failDriver(): void {
    const now = this.clock();
    this.slide.update(now);
    this.slide.raise("FD", now);
    this.slide.lift("FD");
  }

  /** A motion under way is stopped by somebody else. */
  interrupt(): void {
    const now = this.clock();
    this.slide.update(now);
    this.slide.brake(now);
  }

  /** The driver is switched off by somebody else. */
  switchDriverOff(): void {
    const now = this.clock();
    this.slide.update(now);
    this.slide.disable(now);
  }

  /** Somebody tells the drive that it stands at this place, m. */
  tellReference(positionM: number): void {
    this.slide.tell(this.clock(), Math.round(positionM / this.microstepM));
  }

  /** A condition sets in, or ends. */
  condition(flag: Flag, on: boolean): void {
    const now = this.clock();
    this.slide.update(now);
    if (on) this.slide.raise(flag, now);
    else this.slide.lift(flag);
  }

  /** Somebody pushes the standing slide by so much, m. */
  displace(byM: number): void {
    this.slide.displace(this.clock(), byM / this.microstepM);
  }

  /** Power fails and returns: the slide stays where it is, the reference is lost. */
  powerCycle(): void {
    this.device.powerCycle(this.clock());
    this.line.reset();
  }

  dispose(): void {
    this.line.dispose();
    this.faults.dispose();
  }
}

/** Serves the drive on a pseudo-terminal. Close the port to pull the cable. */
export async function serveNeedleOnPty(drive: NeedleDriveEmulator, options: PtyOptions): Promise<PtyPort> {
  const port = new PtyPort(options);
  port.onData = drive.attach((bytes) => {
    port.write(bytes);
  });
  await port.open();
  return port;
}
