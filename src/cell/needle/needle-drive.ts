/**
 * Driver of the insertion needle. Moves and strokes are run by the drive itself: a stroke is sent ahead whole (speed,
 * depth, dwell, retract) and begins with one last command, so that nothing here paces it and a silent program cannot
 * leave the needle in tissue half-way. The deepest point of a stroke is set in the drive before it begins.
 */
import { monotonicNow, systemClock } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import { finite } from "../../base/units.js";
import type { NeedleDevice } from "../devices.js";
import { Lifecycle, type LifecycleStatus } from "../lifecycle.js";
import type { LinkCounters } from "../links/request-link.js";
import { SerialLink } from "../links/serial-link.js";
import { MotionFrame } from "../motion-frame.js";
import type { NeedleDriveProfile } from "../profile.js";
import { describeFlag, type NeedleReply } from "./codec.js";
import { NeedleLink } from "./needle-link.js";

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

export interface StrokeReport {
  /** Deepest position that was seen while it ran, m. */
  readonly deepestSeenM: number;
  readonly endM: number;
  readonly durationS: number;
}

export interface NeedleReading {
  readonly microsteps: number;
  readonly busy: boolean;
  readonly flag: string;
  /** Monotonic seconds. */
  readonly readAtS: number;
}

/** Flags that forbid motion. WR and WH only forbid it until the reference is found. */
const faultFlags = new Set(["FO", "FD", "FQ", "FS", "FB", "FE", "WL", "WV", "WT"]);

/** Slack over the computed time of a motion: load on this machine, wire time, settling. */
const slackS = 2;

export class NeedleDrive implements NeedleDevice {
  onState: (status: LifecycleStatus) => void = () => undefined;
  /** A stop that the drive did not confirm; the guardian has its own way to it. */
  onStopFailed: (reason: CellError) => void = () => undefined;

  readonly strokeM: number;
  private readonly lifecycle: Lifecycle;
  private readonly link: NeedleLink;
  private readonly pollS: number;
  private last: NeedleReading | undefined;
  private referenced = false;
  private readonly motions: MotionFrame;
  /** limit.max of the drive when nothing restricts it, microsteps. */
  private deepest = 0;

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
    this.link = new NeedleLink(
      new SerialLink({ path, baudRate: options.baudRate ?? profile.baudRate.value }),
      {
        device: name,
        address: profile.deviceAddress,
        checksums: profile.checksums,
        replyTimeoutS: profile.replyTimeout.value,
        quietS: profile.quietTime.value,
      },
    );
    this.link.onClosed = (reason) => {
      this.last = undefined;
      this.lifecycle.fail(reason);
    };
  }

  get status(): LifecycleStatus {
    return this.lifecycle.status;
  }

  get counters(): LinkCounters {
    return this.link.counters;
  }

  /** Descriptor of the open port, for the guardian. */
  get serialDescriptor(): number | undefined {
    return this.link.descriptor;
  }

  get moving(): boolean {
    return this.motions.moving;
  }

  get homed(): boolean {
    return this.referenced;
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
    return Math.round(finite(positionM, "a needle position") / this.options.profile.microstep.value);
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
    const { profile, name } = this.options;
    this.last = undefined;
    this.referenced = false;
    try {
      await this.link.open(signal);
      const id = await this.number(0, "get device.id", signal);
      if (id !== profile.deviceId)
        throw new CellError(
          "DEVICE_WRONG_MODEL",
          `${name}: expected device id ${profile.deviceId} (profile ${profile.name}), found ${id}`,
        );
      const version = (await this.link.request(0, "get version", { signal })).data;
      const [major = 0, minor = 0] = version.split(".").map(Number);
      if (major < profile.firmware[0] || (major === profile.firmware[0] && minor < profile.firmware[1]))
        throw new CellError(
          "DEVICE_WRONG_MODEL",
          `${name}: firmware ${version} is older than ${profile.firmware.join(".")} (profile ${profile.name})`,
        );
      if (profile.checksums) await this.write(0, "comm.checksum", 1, signal);
      await this.write(0, "comm.alert", 0, signal);
      await this.readLimit(signal);
      await this.read(signal);
    } catch (error) {
      await this.link.close();
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
    if (this.link.isOpen) {
      await this.link.request(this.axis, "warnings clear", { signal });
      await this.link.request(this.axis, "driver enable", { signal });
      await this.readLimit(signal);
      this.requireHealthy(await this.read(signal));
      this.lifecycle.enter("inactive");
    } else await this.establish(signal);
  }

  /** Ends everything; idempotent. */
  async close(): Promise<void> {
    if (this.lifecycle.current === "active") await this.halt("stop").catch(() => undefined);
    this.lifecycle.desire("finalized");
    this.lifecycle.enter("finalized");
    await this.link.close();
  }

  /** Position and flag, read now. */
  async read(signal?: AbortSignal): Promise<NeedleReading> {
    const reply = await this.link.request(this.axis, "get pos", { signal });
    return this.take(reply);
  }

  /** Finds the reference at the upper stop. The needle must be out of tissue. */
  async home(signal?: AbortSignal): Promise<void> {
    this.lifecycle.requireActive("homing");
    await this.during(signal, async (permit) => {
      await this.link.request(this.axis, "home", { signal, permit });
      await this.settle(0, 60, permit, signal);
    });
    if (!this.referenced)
      throw new CellError("DEVICE_NOT_HOMED", `${this.options.name}: no reference after homing`);
  }

  /**
   * Goes to a position and returns when the drive was seen idle twice and stands there.
   * @throws CellError DEVICE_LIMIT, DEVICE_NOT_HOMED, DEVICE_NOT_SETTLED, DEVICE_FAULT, LINK_TIMEOUT, LINK_ABORTED
   */
  async moveTo(positionM: number, motion: NeedleMotion, signal?: AbortSignal): Promise<void> {
    const target = this.checked(positionM, "target");
    const [speed, acceleration] = this.motionData(motion);
    await this.during(signal, async (permit) => {
      const reading = this.requireReady(await this.read(signal));
      const distanceM = Math.abs(target - reading.microsteps) * this.options.profile.microstep.value;
      await this.link.request(this.axis, `move abs ${target} ${speed} ${acceleration}`, { signal, permit });
      await this.settle(target, travelS(distanceM, motion), permit, signal);
    });
  }

  /**
   * One stroke: down to a depth, a dwell, and back, run by the drive from one command on.
   * @throws CellError as `moveTo`
   */
  async stroke(stroke: Stroke, signal?: AbortSignal): Promise<StrokeReport> {
    const depth = this.checked(stroke.depthPositionM, "depth");
    const end = this.checked(stroke.retractToM, "retract position");
    if (end > depth)
      throw new CellError("DEVICE_LIMIT", `${this.options.name}: a stroke cannot retract below its depth`);
    const back = { speedMS: stroke.retractSpeedMS, accelerationMS2: stroke.retractAccelerationMS2 };
    const [speed, acceleration] = this.motionData(stroke);
    const [backSpeed, backAcceleration] = this.motionData(back);
    const dwellMs = Math.round(finite(stroke.dwellS, "a dwell time") * 1e3);
    if (dwellMs < 0 || dwellMs > 60_000)
      throw new CellError("DEVICE_LIMIT", `${this.options.name}: dwell of ${stroke.dwellS} s outside 0…60 s`);
    const { microstep } = this.options.profile;
    return this.during(signal, async (permit) => {
      const reading = this.requireReady(await this.read(signal));
      if (reading.microsteps > depth)
        throw new CellError(
          "DEVICE_LIMIT",
          `${this.options.name}: the needle already stands below the depth`,
        );
      const sendAhead = (command: string): Promise<NeedleReply> =>
        this.link.request(0, `stream 1 ${command}`, { signal, permit });
      await this.write(this.axis, "limit.max", depth, signal);
      const startS = monotonicNow();
      try {
        for (const command of [
          "setup live 1",
          "fifo cork",
          `set maxspeed ${speed}`,
          `set tanaccel ${acceleration}`,
          `line abs ${depth}`,
          `wait ${dwellMs}`,
          `set maxspeed ${backSpeed}`,
          `set tanaccel ${backAcceleration}`,
          `line abs ${end}`,
          "fifo uncork",
        ])
          await sendAhead(command);
        const downS = travelS((depth - reading.microsteps) * microstep.value, stroke);
        const upS = travelS((depth - end) * microstep.value, back);
        const deepest = await this.settle(end, downS + stroke.dwellS + upS, permit, signal);
        return {
          deepestSeenM: deepest * microstep.value,
          endM: this.position(),
          durationS: monotonicNow() - startS,
        };
      } catch (error) {
        await this.halt("estop").catch(() => undefined);
        throw error;
      } finally {
        // Also after a failure: nothing that was sent ahead may be left, and the limit is the drive's own again.
        if (this.link.isOpen) {
          await this.link.request(0, "stream 1 setup disable").catch(() => undefined);
          await this.write(this.axis, "limit.max", this.deepest).catch((error: unknown) => {
            this.lifecycle.fail(asCellError(error));
          });
        }
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
    await this.link.requestNow(this.axis, kind);
  }

  private get axis(): number {
    return this.options.profile.axisNumber;
  }

  private async number(axis: number, command: string, signal: AbortSignal | undefined): Promise<number> {
    const { data } = await this.link.request(axis, command, { signal });
    if (!/^-?\d+$/.test(data))
      throw new CellError(
        "LINK_PROTOCOL",
        `${this.options.name}: "${command}" answered ${data || "nothing"}`,
      );
    return Number(data);
  }

  /** Sets a value and reads it back. */
  private async write(axis: number, setting: string, value: number, signal?: AbortSignal): Promise<void> {
    await this.link.request(axis, `set ${setting} ${value}`, { signal });
    const found = await this.number(axis, `get ${setting}`, signal);
    if (found !== value)
      throw new CellError(
        "DEVICE_REFUSED",
        `${this.options.name}: ${setting} was set to ${value} and reads ${found}`,
      );
  }

  private async readLimit(signal: AbortSignal | undefined): Promise<void> {
    const stroke = this.microsteps(this.strokeM);
    // A stroke that was broken off may have left its depth limit behind.
    await this.write(this.axis, "limit.max", stroke, signal);
    this.deepest = stroke;
  }

  private take(reply: NeedleReply): NeedleReading {
    if (!/^-?\d+$/.test(reply.data))
      throw new CellError("LINK_PROTOCOL", `${this.options.name}: position ${reply.data || "missing"}`);
    this.referenced = reply.flag !== "WR" && reply.flag !== "WH";
    this.last = {
      microsteps: Number(reply.data),
      busy: reply.busy,
      flag: reply.flag,
      readAtS: monotonicNow(),
    };
    return this.last;
  }

  private requireHealthy(reading: NeedleReading): void {
    if (faultFlags.has(reading.flag))
      throw new CellError("DEVICE_FAULT", `${this.options.name}: ${describeFlag(reading.flag)}`);
  }

  private requireReady(reading: NeedleReading): NeedleReading {
    this.requireHealthy(reading);
    if (!this.referenced) throw new CellError("DEVICE_NOT_HOMED", `${this.options.name} is not homed`);
    if (reading.busy) throw new CellError("COMMAND_INVALID", `${this.options.name} is already moving`);
    return reading;
  }

  /** Whole microsteps of a position within the stroke. @throws CellError DEVICE_LIMIT */
  private checked(positionM: number, what: string): number {
    const target = this.microsteps(positionM);
    const most = this.microsteps(this.strokeM);
    if (target < 0 || target > most)
      throw new CellError(
        "DEVICE_LIMIT",
        `${this.options.name}: ${what} ${positionM} m lies outside 0…${this.strokeM} m`,
      );
    return target;
  }

  /** Data values of speed and acceleration. @throws CellError DEVICE_LIMIT */
  private motionData(motion: NeedleMotion): readonly [number, number] {
    const { profile, name } = this.options;
    const { speedMS, accelerationMS2 } = motion;
    if (!(finite(speedMS, "a needle speed") > 0 && speedMS <= profile.maxSpeed.value))
      throw new CellError(
        "DEVICE_LIMIT",
        `${name}: speed ${speedMS} m/s outside 0…${profile.maxSpeed.value}`,
      );
    const most = profile.maxAcceleration.value;
    if (!(finite(accelerationMS2, "a needle acceleration") > 0 && accelerationMS2 <= most))
      throw new CellError("DEVICE_LIMIT", `${name}: acceleration ${accelerationMS2} m/s² outside 0…${most}`);
    const data = (value: number, scale: number): number =>
      Math.max(1, Math.floor((value / profile.microstep.value) * scale));
    return [data(speedMS, profile.speedScale.value), data(accelerationMS2, profile.accelerationScale.value)];
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
      if (faultFlags.has(reading.flag)) {
        const fault = new CellError(
          "DEVICE_FAULT",
          `${name}: ${describeFlag(reading.flag)} at ${reading.microsteps * profile.microstep.value} m`,
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
        `${name} stopped at ${reached} microsteps, commanded ${target} (${describeFlag(this.last?.flag ?? "--")})`,
      );
    return deepest;
  }
}

/** Longest time of a motion over `distanceM`. */
const travelS = (distanceM: number, { speedMS, accelerationMS2 }: NeedleMotion): number =>
  Math.abs(distanceM) / speedMS + (2 * speedMS) / accelerationMS2;
