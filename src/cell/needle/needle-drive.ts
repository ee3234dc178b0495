/**
 * Driver of the insertion needle. Moves and strokes are run by the drive itself: a stroke is sent ahead whole (speed,
 * depth, dwell, retract) and begins with one last command, so that nothing here paces it and a silent program cannot
 * leave the needle in tissue half-way. The deepest point of a stroke is set in the drive before it begins.
 */
import { monotonicNow, systemClock } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import type { NeedleDevice } from "../devices.js";
import { Lifecycle, type LifecycleStatus } from "../lifecycle.js";
import type { LinkCounters } from "../links/request-link.js";
import { MotionFrame } from "../motion-frame.js";
import type { NeedleDriveProfile } from "../profile.js";
import { describeFlag } from "./codec.js";
import { ModbusProtocol } from "./modbus-protocol.js";
import { needleEnvelope, NeedleLimits, travelS, type NeedleMotion, type Stroke } from "./needle-limits.js";
import type { NeedleProtocol, NeedleState } from "./needle-protocol.js";
import { ZaberProtocol } from "./zaber-protocol.js";

export type { NeedleMotion, Stroke } from "./needle-limits.js";

export interface NeedleOptions {
  /** Name of the device in the cell. */
  readonly name: string;
  /** Serial port of the drive. */
  readonly path: string;
  readonly baudRate?: number;
  readonly profile: NeedleDriveProfile;
  /** Time between two looks at a moving needle. */
  readonly pollS?: number;
}

export interface StrokeReport {
  /** Deepest position that was seen while it ran, m. */
  readonly deepestSeenM: number;
  readonly endM: number;
  readonly durationS: number;
}

export interface NeedleReading extends NeedleState {
  /** Monotonic seconds. */
  readonly readAtS: number;
}

/** Flags that forbid motion. WR and WH only forbid it until the reference is found; NU, ND and NI are notes. */
const faultFlags = new Set([
  ...["FO", "FD", "FQ", "FS", "FT", "FB", "FP", "FE"],
  ...["WL", "WP", "WV", "WT", "WM", "NC", "NJ"],
]);

/** Slack over the computed time of a motion: load on this machine, wire time, settling. */
const slackS = 2;

export class NeedleDrive implements NeedleDevice {
  onState: (status: LifecycleStatus) => void = () => undefined;
  /** A stop that the drive did not confirm; the guardian has its own way to it. */
  onStopFailed: (reason: CellError) => void = () => undefined;

  readonly strokeM: number;
  private readonly lifecycle: Lifecycle;
  private readonly limits: NeedleLimits;
  private readonly protocol: NeedleProtocol;
  private readonly pollS: number;
  private last: NeedleReading | undefined;
  private readonly motions: MotionFrame;

  constructor(private readonly options: NeedleOptions) {
    const { profile, name, path } = options;
    this.strokeM = profile.stroke.value;
    this.pollS = options.pollS ?? 0.005;
    this.lifecycle = new Lifecycle(name);
    this.lifecycle.onChange = (status) => this.onState(status);
    this.motions = new MotionFrame({
      device: name,
      requireMotion: (what) => this.lifecycle.requireActive(what),
      stop: () =>
        this.halt("estop").catch((error: unknown) => {
          this.onStopFailed(asCellError(error));
          throw error;
        }),
    });
    const envelope = needleEnvelope(name, profile);
    this.limits = new NeedleLimits(name, profile, envelope);
    const baudRate = options.baudRate ?? profile.baudRate.value;
    this.protocol =
      profile.dialect === "modbus-rtu"
        ? new ModbusProtocol({ name, path, baudRate, profile, envelope })
        : new ZaberProtocol({ name, path, baudRate, profile, envelope });
    this.protocol.onClosed = (reason) => {
      this.last = undefined;
      this.lifecycle.fail(reason);
    };
  }

  get status(): LifecycleStatus {
    return this.lifecycle.status;
  }

  get counters(): LinkCounters {
    return this.protocol.counters;
  }

  /** Descriptor of the open port, for the guardian. */
  get serialDescriptor(): number | undefined {
    return this.protocol.descriptor;
  }

  get moving(): boolean {
    return this.motions.moving;
  }

  get homed(): boolean {
    return this.last?.referenced === true;
  }

  /** Last measured, m; 0 = withdrawn. @throws CellError DEVICE_FAULT while it is not to be trusted */
  position(): number {
    if (this.last === undefined)
      throw (
        this.status.fault ?? new CellError("DEVICE_FAULT", `${this.options.name}: its position is unknown`)
      );
    return this.last.microsteps * this.options.profile.microstep.value;
  }

  /** The nearest microstep. @throws CellError UNIT_NOT_FINITE */
  microsteps(positionM: number): number {
    return this.limits.microsteps(positionM);
  }

  /**
   * Opens the port, identifies the drive, reads limits and state. Does nothing when connected; after a fault the way
   * back is `reset`.
   * @throws CellError LINK_CONNECT, LINK_BUSY, DEVICE_WRONG_MODEL, LINK_TIMEOUT, the latched fault
   */
  async connect(signal?: AbortSignal): Promise<void> {
    if (this.lifecycle.mayConnect()) await this.establish(signal);
  }

  /** Everything is read anew, after a lost link too. */
  private async establish(signal: AbortSignal | undefined): Promise<void> {
    this.last = undefined;
    try {
      await this.protocol.open(signal);
      await this.protocol.identify(signal);
      await this.read(signal);
    } catch (error) {
      await this.protocol.close();
      throw error;
    }
    this.lifecycle.enter("inactive");
  }

  /** Allows motion. @throws CellError DEVICE_FAULT while a fault flag is set */
  async activate(signal?: AbortSignal): Promise<void> {
    this.lifecycle.desire("active");
    if (this.lifecycle.current === "active") return;
    if (this.lifecycle.current !== "inactive") this.lifecycle.requireActive("activating");
    this.requireHealthy(await this.read(signal));
    this.lifecycle.enter("active");
  }

  /** Stops, and allows no more motion. */
  async deactivate(): Promise<void> {
    this.lifecycle.desire("inactive");
    if (this.lifecycle.current !== "active") return;
    await this.halt("stop");
    this.lifecycle.enter("inactive");
  }

  /** A person's reset after a fault: clears what can be cleared, or connects anew. Inactive afterwards. */
  async reset(signal?: AbortSignal): Promise<void> {
    if (this.lifecycle.current !== "fault") return;
    if (this.protocol.isOpen) {
      await this.protocol.clear(signal);
      this.requireHealthy(await this.read(signal));
      this.lifecycle.enter("inactive");
    } else await this.establish(signal);
  }

  /** Ends everything; idempotent. */
  async close(): Promise<void> {
    if (this.lifecycle.current === "active") await this.halt("stop").catch(() => undefined);
    this.lifecycle.desire("finalized");
    this.lifecycle.enter("finalized");
    await this.protocol.close();
  }

  /** Position and flags, read now. */
  async read(signal?: AbortSignal): Promise<NeedleReading> {
    this.last = { ...(await this.protocol.read(signal)), readAtS: monotonicNow() };
    return this.last;
  }

  /** Finds the reference at the upper stop. The needle must be out of tissue. */
  async home(signal?: AbortSignal): Promise<void> {
    this.lifecycle.requireActive("homing");
    await this.during(signal, async (permit) => {
      await this.protocol.home({ signal, permit });
      await this.settle(0, 60, permit, signal);
    });
    if (!this.homed)
      throw new CellError("DEVICE_NOT_HOMED", `${this.options.name}: no reference after homing`);
  }

  /**
   * Goes to a position and returns when the drive was seen idle twice and stands there.
   * @throws CellError DEVICE_LIMIT, DEVICE_NOT_HOMED, DEVICE_NOT_SETTLED, DEVICE_FAULT, LINK_TIMEOUT, LINK_ABORTED
   */
  async moveTo(positionM: number, motion: NeedleMotion, signal?: AbortSignal): Promise<void> {
    const target = this.limits.target(positionM, "target");
    const steps = this.limits.motion(motion);
    await this.during(signal, async (permit) => {
      const { microsteps } = this.requireReady(await this.read(signal));
      await this.protocol.move(target, steps, { signal, permit });
      await this.settle(target, travelS(target - microsteps, steps), permit, signal);
    });
  }

  /**
   * One stroke: down to a depth, a dwell, and back, run by the drive from one command on.
   * @throws CellError as `moveTo`
   */
  async stroke(stroke: Stroke, signal?: AbortSignal): Promise<StrokeReport> {
    const plan = this.limits.stroke(stroke);
    const { value: microstepM } = this.options.profile.microstep;
    return this.during(signal, async (permit) => {
      const { microsteps } = this.requireReady(await this.read(signal));
      if (microsteps > plan.depth)
        throw new CellError(
          "DEVICE_LIMIT",
          `${this.options.name}: the needle already stands below the depth`,
        );
      const startS = monotonicNow();
      try {
        await this.protocol.stroke(plan, { signal, permit });
        const downS = travelS(plan.depth - microsteps, plan.down);
        const upS = travelS(plan.depth - plan.end, plan.up);
        const deepest = await this.settle(plan.end, downS + plan.dwellMs / 1e3 + upS, permit, signal);
        return {
          deepestSeenM: deepest * microstepM,
          endM: this.position(),
          durationS: monotonicNow() - startS,
        };
      } catch (error) {
        await this.halt("estop").catch(() => undefined);
        throw error;
      } finally {
        // Also after a failure: nothing that was sent ahead may be left, and the limit is the drive's own again.
        if (this.protocol.isOpen)
          await this.protocol.endStroke().catch((error: unknown) => {
            this.lifecycle.fail(asCellError(error));
          });
      }
    });
  }

  /** Immediate, unconditional, idempotent: brakes with the drive's largest deceleration. */
  stop(): void {
    this.halt("estop").catch((error: unknown) => {
      this.onStopFailed(asCellError(error));
    });
  }

  /**
   * Writes a stop at once, past any request in flight, and waits until the drive confirms it.
   * @throws CellError LINK_CLOSED, LINK_TIMEOUT
   */
  async halt(kind: "stop" | "estop"): Promise<void> {
    this.motions.withdrawPermits();
    await this.protocol.halt(kind);
  }

  private requireHealthy(reading: NeedleReading): void {
    const fault = reading.flags.find((flag) => faultFlags.has(flag));
    if (fault !== undefined)
      throw new CellError("DEVICE_FAULT", `${this.options.name}: ${describeFlag(fault)}`);
  }

  private requireReady(reading: NeedleReading): NeedleReading {
    try {
      this.requireHealthy(reading);
    } catch (error) {
      this.lifecycle.fail(asCellError(error));
      throw error;
    }
    if (!reading.referenced) throw new CellError("DEVICE_NOT_HOMED", `${this.options.name} is not homed`);
    if (reading.busy) throw new CellError("COMMAND_INVALID", `${this.options.name} is already moving`);
    return reading;
  }

  /** Runs something that moves; after a failure the drive is stopped and where it stands is read again. */
  private during<T>(signal: AbortSignal | undefined, work: (permit: () => void) => Promise<T>): Promise<T> {
    return this.motions.run("a motion", signal, work, async () => {
      await this.read().catch(() => {
        this.last = undefined;
      });
    });
  }

  /**
   * Looks at the drive until it was idle twice, and checks that it stands at `target`.
   * @returns the deepest position seen, microsteps
   */
  private async settle(
    target: number,
    expectedS: number,
    permit: () => void,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const { name, profile } = this.options;
    const deadlineS = monotonicNow() + 1.5 * expectedS + slackS;
    let deepest = -Infinity;
    for (let idle = 0; idle < 2;) {
      const reading = await this.read(signal);
      permit();
      deepest = Math.max(deepest, reading.microsteps);
      const flag = reading.flags.find((one) => faultFlags.has(one));
      if (flag !== undefined) {
        const fault = new CellError(
          "DEVICE_FAULT",
          `${name}: ${describeFlag(flag)} at ${reading.microsteps * profile.microstep.value} m`,
        );
        this.lifecycle.fail(fault);
        throw fault;
      }
      idle = reading.busy ? 0 : idle + 1;
      if (monotonicNow() > deadlineS)
        throw new CellError("DEVICE_NOT_SETTLED", `${name} still moves long after it should have arrived`);
      await systemClock.sleep(this.pollS, signal);
    }
    const reached = this.last?.microsteps ?? NaN;
    const off = Math.abs(reached - target) * profile.microstep.value;
    if (!(off <= profile.arrival.value))
      throw new CellError(
        "DEVICE_NOT_SETTLED",
        `${name} stopped at ${reached} microsteps, commanded ${target} (${describeFlag(this.last?.flags[0] ?? "--")})`,
      );
    return deepest;
  }
}
