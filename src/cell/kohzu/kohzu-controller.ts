/**
 * Driver of a KOHZU stage controller: connection and states, positions, moves, homing, stop. How its family says all that
 * is the business of its dialect, which the profile names. It counts in pulses; lengths and angles are the business of
 * `KohzuStages`.
 */
import { monotonicNow, systemClock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import { StageEnvelope } from "../envelope.js";
import type { LinkCounters } from "../links/request-link.js";
import { Lifecycle, type LifecycleStatus } from "../lifecycle.js";
import { MotionFrame } from "../motion-frame.js";
import type { StageLine } from "../native.js";
import type { StageControllerProfile } from "../profile.js";
import type { KohzuAxis } from "./axis-config.js";
import { describeCode, type CodeFamily } from "./codec/codes.js";
import { integerField, type StageReply } from "./codec/framing.js";
import type { AxisStatus } from "./codec/status.js";
import { linkTo, type KohzuAddress } from "./kohzu-address.js";
import { KohzuLink } from "./kohzu-link.js";
import { KosmosDialect } from "./kosmos-dialect.js";
import { requireFree, requireUnobstructed } from "./motion-checks.js";
import { runMoves, type AxisMove } from "./moves.js";
import { ScDialect } from "./sc-dialect.js";
import type { StageDialect } from "./stage-dialect.js";
import { stopEverything } from "./stop-everything.js";

export interface KohzuOptions {
  /** Name of the device in the cell. */
  readonly name: string;
  readonly address: KohzuAddress;
  readonly profile: StageControllerProfile;
  readonly axes: readonly KohzuAxis[];
  /** Time between two looks at a moving axis. */
  readonly pollS?: number;
}

/** What was last read of an axis. */
export interface AxisReading {
  readonly pulses: number;
  readonly status: AxisStatus;
  readonly homed: boolean;
  /** Monotonic seconds when the position was read. */
  readonly readAtS: number;
}

export interface MoveOptions {
  /** Speed table 0…9; that of the profile unless given. */
  readonly table?: number;
  /** Arrive from the smaller side, so that lost motion does not show. */
  readonly oneSided?: boolean;
  readonly signal?: AbortSignal;
}

/** W SYS 52 */
const deviceJoined = 52;

export class KohzuController {
  /** State changes, also those nobody asked for. */
  onState: (status: LifecycleStatus) => void = () => undefined;

  private readonly lifecycle: Lifecycle;
  private readonly main: KohzuLink;
  /** Where a second client may connect, a second connection, so that a stop never waits behind a request. */
  private readonly stopLink: KohzuLink | undefined;
  private readonly axes: ReadonlyMap<number, KohzuAxis>;
  private readonly pollS: number;
  private readonly readings = new Map<number, AxisReading>();
  private readonly dialect: StageDialect;
  private readonly envelope: StageEnvelope;
  private readonly motions: MotionFrame;
  private isLent = false;

  constructor(private readonly options: KohzuOptions) {
    const { name, address, profile } = options;
    this.lifecycle = new Lifecycle(name);
    this.lifecycle.onChange = (status) => this.onState(status);
    this.axes = new Map(options.axes.map((axis) => [axis.number, axis]));
    this.pollS = options.pollS ?? 0.008;
    this.motions = new MotionFrame({
      device: name,
      requireMotion: (what) => this.requireMotion(what),
      stop: () => this.stop(),
    });
    if (!profile.transports.includes(address.transport))
      throw new CellError("CONFIG_INVALID", `${name}: ${profile.name} has no ${address.transport} interface`);
    for (const axis of options.axes)
      if (axis.minPulses < profile.minPulses.value || axis.maxPulses > profile.maxPulses.value)
        throw new CellError(
          "CONFIG_INVALID",
          `${name}: axis ${axis.number}: its limits lie outside the coordinates of ${profile.name}`,
        );
    const family: CodeFamily = profile.dialect === "sc" ? "sc" : "aries";
    this.envelope = new StageEnvelope(name, family, options.axes);
    const linkOptions = {
      device: name,
      family,
      envelope: this.envelope,
      stx: address.transport === "serial",
      // A serial line may hold old bytes, and a login its greetings: the first request waits for quiet.
      staleAtOpen: address.transport === "serial" || address.transport === "telnet",
      replyTimeoutS: profile.replyTimeout.value,
      quietS: profile.quietTime.value,
    };
    this.main = new KohzuLink(linkTo(address), linkOptions);
    const context = { name, link: this.main, profile };
    this.dialect = profile.dialect === "sc" ? new ScDialect(context) : new KosmosDialect(context);
    this.main.onClosed = (reason) => this.lose(reason);
    this.main.onSystem = (reply) => this.heardSystem(reply);
    if (address.transport === "tcp") {
      this.stopLink = new KohzuLink(linkTo(address), linkOptions);
      this.stopLink.onSystem = (reply) => this.heardSystem(reply);
      // Without its stop connection the controller may not move.
      this.stopLink.onClosed = (reason) => this.lose(reason);
    }
  }

  get status(): LifecycleStatus {
    return this.lifecycle.status;
  }

  get counters(): LinkCounters {
    return this.main.counters;
  }

  /** Descriptor of the only line there is, for the guardian; undefined where it connects by itself, and while it is closed. */
  get sharedDescriptor(): number | undefined {
    return this.main.descriptor;
  }

  get isMoving(): boolean {
    return this.motions.moving;
  }

  get axisNumbers(): readonly number[] {
    return [...this.axes.keys()];
  }

  /** @throws CellError DEVICE_MISSING for an axis that is not configured */
  axis(number: number): KohzuAxis {
    const axis = this.axes.get(number);
    if (axis === undefined)
      throw new CellError("DEVICE_MISSING", `${this.options.name}: axis ${number} is not configured`);
    return axis;
  }

  /** What was last read of an axis; undefined while its position is not to be trusted. */
  lastReading(number: number): AxisReading | undefined {
    return this.readings.get(number);
  }

  /**
   * Opens the link, identifies the controller, reads its axes, settings, speed tables and positions. Does nothing when
   * connected; after a fault the way back is `reset`.
   * @throws CellError LINK_CONNECT, DEVICE_WRONG_MODEL, DEVICE_MISSING, LINK_TIMEOUT, the latched fault
   */
  async connect(signal?: AbortSignal): Promise<void> {
    if (this.lifecycle.mayConnect()) await this.establish(signal);
  }

  /** Everything is read anew, after a lost link too. */
  private async establish(signal: AbortSignal | undefined): Promise<void> {
    this.readings.clear();
    try {
      await this.main.open(signal);
      await this.stopLink?.open(signal);
      await this.dialect.identify([...this.axes.values()], signal);
      for (const axis of this.axes.values()) await this.dialect.readSetup(axis, signal);
      await this.readAll(signal);
    } catch (error) {
      await this.closeLinks();
      throw error;
    }
    this.lifecycle.enter("inactive");
  }

  /** Allows motion. @throws CellError COMMAND_INVALID unless connected, DEVICE_EMERGENCY_STOP while it is latched */
  async activate(signal?: AbortSignal): Promise<void> {
    this.lifecycle.desire("active");
    if (this.lifecycle.current === "active") return;
    if (this.lifecycle.current !== "inactive") this.lifecycle.requireActive("activating");
    const readings = await this.readAll(signal);
    if (readings.some((reading) => reading.status.emergencyStop))
      throw new CellError(
        "DEVICE_EMERGENCY_STOP",
        `${this.options.name}: the emergency stop input is closed`,
      );
    this.lifecycle.enter("active");
  }

  /** Stops, and allows no more motion. */
  async deactivate(): Promise<void> {
    this.lifecycle.desire("inactive");
    if (this.lifecycle.current !== "active") return;
    await this.stop();
    this.lifecycle.enter("inactive");
  }

  /**
   * A person's reset after a fault: releases the controller's locks, or connects anew, and reads everything again. The
   * device is inactive afterwards; nothing resumes.
   * @throws CellError DEVICE_EMERGENCY_STOP while the input is still closed
   */
  async reset(signal?: AbortSignal): Promise<void> {
    if (this.lifecycle.current !== "fault") return;
    this.readings.clear();
    if (!this.main.isOpen || this.stopLink?.isOpen === false) {
      await this.closeLinks();
      await this.establish(signal);
    }
    await this.dialect.release(signal);
    await this.readAll(signal);
    this.lifecycle.enter("inactive");
  }

  /** Ends everything; idempotent. */
  async close(): Promise<void> {
    if (this.lifecycle.current === "active") await this.stop().catch(() => undefined);
    this.lifecycle.desire("finalized");
    this.lifecycle.enter("finalized");
    await this.closeLinks();
  }

  /** Reads position, status and origin of one axis. */
  async readAxis(number: number, signal?: AbortSignal): Promise<AxisReading> {
    this.axis(number);
    const status = await this.dialect.status(number, signal);
    const homed = await this.dialect.homed(number, signal);
    const pulses = await this.dialect.position(number, signal);
    const reading: AxisReading = { pulses, status, homed, readAtS: monotonicNow() };
    this.readings.set(number, reading);
    return reading;
  }

  /** Pulse counters of all configured axes, read now. */
  async positionsPulses(signal?: AbortSignal): Promise<ReadonlyMap<number, number>> {
    const positions = new Map<number, number>();
    for (const number of this.axes.keys()) positions.set(number, await this.dialect.position(number, signal));
    return positions;
  }

  /** Moves one axis to a counter value. See `moveMany`. */
  async moveAbsolute(number: number, pulses: number, options: MoveOptions = {}): Promise<void> {
    await this.moveMany(new Map([[number, pulses]]), options);
  }

  /**
   * Starts several axes together and returns when each was seen stopped twice with its counter at the target. All
   * targets are checked before the first command that moves; a failure or an abort on the way stops all axes.
   * @throws CellError DEVICE_LIMIT, DEVICE_NOT_HOMED, DEVICE_NOT_SETTLED, DEVICE_REFUSED, DEVICE_EMERGENCY_STOP,
   *   LINK_TIMEOUT, LINK_ABORTED
   */
  async moveMany(targets: ReadonlyMap<number, number>, options: MoveOptions = {}): Promise<void> {
    const { signal, oneSided = false } = options;
    this.requireMotion("a move");
    for (const [number, pulses] of targets) this.envelope.target(this.axis(number).number, pulses);
    await this.inMotion("a move", [...targets.keys()], signal, async (permit) => {
      const moves: AxisMove[] = [];
      for (const [number, pulses] of targets) {
        const axis = this.axis(number);
        const reading = await this.readAxis(number, signal);
        const waypoints = [pulses];
        const approach = pulses - axis.approachPulses;
        const alongApproach = reading.pulses <= approach;
        const already = reading.pulses === pulses && !oneSided;
        if (oneSided && !alongApproach) {
          this.envelope.target(number, approach, "start of the one-sided approach to the target");
          waypoints.unshift(approach);
        }
        requireFree(this.options.name, axis, reading, waypoints);
        const table = options.table ?? axis.moveTable;
        const speed = await this.dialect.speed(axis, table, { signal });
        if (!already) moves.push({ axis, from: reading.pulses, waypoints, table, speed });
      }
      await runMoves(this.dialect, moves, { name: this.options.name, pollS: this.pollS, signal, permit });
      for (const { axis, waypoints } of moves) {
        // Lines carry no checksum: the reading that is kept must say the same as the one that ended the move.
        const { pulses } = await this.readAxis(axis.number, signal);
        if (pulses !== waypoints.at(-1))
          throw new CellError(
            "DEVICE_NOT_SETTLED",
            `${this.options.name}: axis ${axis.number} stood at ${waypoints.at(-1)} and now reads ${pulses}`,
          );
      }
    });
  }

  /**
   * Searches the origin of an axis by the method of its profile, which is compared with what the controller really
   * holds. The caller knows that the way is free.
   */
  async home(number: number, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const { signal } = options;
    const axis = this.axis(number);
    this.requireMotion("homing");
    await this.inMotion("homing", [number], signal, async (permit) => {
      const reading = await this.readAxis(number, signal);
      requireUnobstructed(this.options.name, axis, reading);
      this.readings.delete(number);
      await this.dialect.searchOrigin(axis, { signal, permit });
      await this.awaitOrigin(axis, permit, signal);
    });
  }

  /**
   * Stops all axes at once. Unconditional: it asks no state, waits for no request in flight, and works while the axes are
   * lent; on a line that is lent with them the reply goes to the borrower, and nobody here waits for it. Idempotent.
   * @throws CellError LINK_CLOSED, LINK_TIMEOUT when no connection took the stop: the guardian has its own
   */
  async stop(): Promise<void> {
    this.motions.withdrawPermits();
    const commands = this.dialect.stopCommands(this.axisNumbers);
    if (this.isLent && this.stopLink === undefined)
      for (const command of commands) this.main.stopUnheard(command);
    else
      await stopEverything(
        this.options.name,
        [this.stopLink, this.main],
        commands,
        this.options.profile.stopTimeout.value,
      );
  }

  /** Whether another owner moves the axes. */
  get lent(): boolean {
    return this.isLent;
  }

  /**
   * Leaves the axes to another owner: with a connection of its own where the controller takes one, else with the line
   * itself. No moves from here until `resume`.
   * @throws CellError COMMAND_INVALID unless active and at rest, or for a family that the native servo does not speak
   */
  suspend(): StageLine {
    this.requireMotion("lending the axes");
    const { name, address, profile } = this.options;
    if (this.motions.moving) throw new CellError("COMMAND_INVALID", `${name}: axes are lent only at rest`);
    if (profile.dialect === "sc")
      throw new CellError(
        "COMMAND_INVALID",
        `${name}: the servo does not speak the dialect of the SC series`,
      );
    let line: StageLine;
    if (address.transport === "tcp") line = { host: address.host, port: address.port };
    else {
      const descriptor = this.main.descriptor;
      if (descriptor === undefined) throw new CellError("LINK_CLOSED", `${name}: there is no line to lend`);
      this.main.lend(true);
      const statusFields = profile.statusLayout === "crux-separate" ? 5 : 6;
      line = { descriptor, stx: address.transport === "serial", statusFields };
    }
    this.isLent = true;
    this.readings.clear();
    return line;
  }

  /** Takes the axes back: all positions are read anew. */
  async resume(signal?: AbortSignal): Promise<void> {
    if (!this.isLent) return;
    try {
      if (this.stopLink === undefined) this.main.lend(false);
      const readings = await this.readAll(signal);
      if (readings.some((reading) => reading.status.driving !== "stopped")) {
        await this.stop();
        await this.readAll(signal);
      }
    } finally {
      this.isLent = false;
    }
  }

  private async readAll(signal: AbortSignal | undefined): Promise<AxisReading[]> {
    const readings: AxisReading[] = [];
    for (const number of this.axes.keys()) readings.push(await this.readAxis(number, signal));
    return readings;
  }

  private requireMotion(what: string): void {
    this.lifecycle.requireActive(what);
    if (this.isLent)
      throw new CellError("COMMAND_INVALID", `${this.options.name}: the axes are lent, ${what} must wait`);
  }

  /** Runs something that moves; after a failure the axes are stopped and read again. */
  private inMotion(
    what: string,
    numbers: readonly number[],
    signal: AbortSignal | undefined,
    work: (permit: () => void) => Promise<void>,
  ): Promise<void> {
    return this.motions.run(what, signal, work, async () => {
      for (const number of numbers) this.readings.delete(number);
      for (const number of numbers) await this.readAxis(number).catch(() => undefined);
    });
  }

  private async awaitOrigin(
    axis: KohzuAxis,
    permit: () => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const speed = await this.dialect.speed(axis, axis.originTable, { signal });
    const travel = 2.2 * (axis.maxPulses - axis.minPulses);
    // To the limit and back at table speed, then a slow approach to the edge at the scan speed.
    const deadlineS = monotonicNow() + (2 * travel) / speed.topPps + 30;
    let stopped = 0;
    while (stopped < 2) {
      await systemClock.sleep(this.pollS, signal);
      permit();
      const status = await this.dialect.status(axis.number, signal);
      stopped = status.driving === "stopped" ? stopped + 1 : 0;
      if (monotonicNow() > deadlineS)
        throw new CellError(
          "DEVICE_NOT_SETTLED",
          `${this.options.name}: axis ${axis.number}: homing took too long`,
        );
    }
    // Zero is set by the search alone: where the controller cannot say that it is homed, this tells it.
    if ((await this.dialect.position(axis.number, signal)) === 0) this.dialect.originFound(axis.number);
    const reading = await this.readAxis(axis.number, signal);
    if (!reading.homed || reading.pulses !== 0)
      throw new CellError(
        "DEVICE_NOT_HOMED",
        `${this.options.name}: axis ${axis.number} ended its search at ${reading.pulses} without an origin`,
      );
  }

  private heardSystem(reply: StageReply): void {
    const code = integerField(reply, 0);
    // A device that joined changes nothing for the axes that were there.
    if (code === deviceJoined) return;
    const what = `${this.options.name}: ${describeCode(code)}`;
    this.readings.clear();
    this.lifecycle.fail(new CellError(code === 5 ? "DEVICE_EMERGENCY_STOP" : "DEVICE_FAULT", what));
  }

  private lose(reason: CellError): void {
    this.readings.clear();
    this.isLent = false;
    // A first connection that fails is tried again; only a link that was in use leaves a fault behind.
    if (this.lifecycle.current !== "unconfigured") this.lifecycle.fail(reason);
  }

  private async closeLinks(): Promise<void> {
    await Promise.all([this.main.close(), this.stopLink?.close()]);
  }
}
