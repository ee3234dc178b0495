/**
 * An ARIES controller with its LYNX units (manual Rev 1.43): one command table for any number of clients, fed with
 * bytes by whatever carries them. Serial clients must put STX before a request, TCP clients must not.
 */
import { monotonicNow } from "../../base/clock.js";
import {
  encodeReply,
  LineAssembler,
  decodeRequest,
  encodeStatus,
  maxPulses,
  minPulses,
  namesAxis,
  speedPatterns,
  speedTableParameters,
  type AriesReply,
  type SpeedTable,
} from "../../cell/kohzu/codec.js";
import type { Vec3 } from "../../base/transform.js";
import { WireFaults } from "../wire-faults.js";
import { AriesAxis, type AxisOptions, type Side } from "./aries-axis.js";
import { acceptTable, rampSteps } from "./speed-table.js";
import { Sys } from "./system-settings.js";

export interface AriesOptions {
  /** Axis 1 first; null is an axis without a stage, which reports both limits closed. */
  readonly axes: readonly (AxisOptions | null)[];
  readonly seed: number;
  readonly firmware?: readonly [number, number, number];
  /** Mechanics this many times faster than the speed tables say; 1 is the real thing. */
  readonly speedFactor?: number;
  readonly clock?: () => number;
}

/** Applications that may be connected; further ones are left without an answer. */
const clientLimit = 32;

/** A client's side of the controller. */
export interface AriesClient {
  receive(bytes: Uint8Array): void;
  close(): void;
}

interface Session {
  readonly stx: boolean;
  readonly lines: LineAssembler;
  readonly write: (bytes: Buffer) => void;
  readonly served: boolean;
  /** A completed reply is still to come: until then any other command is error 803. */
  owed: Owed | undefined;
}

interface Owed {
  readonly command: string;
  readonly axis: number | undefined;
  readonly axes: readonly AriesAxis[];
  readonly endS: number;
  timer: NodeJS.Timeout | undefined;
}

interface Slot {
  readonly axis: number;
  readonly relative: boolean;
  readonly table: number;
}

/** What a command answers: data of a C reply, or an error code, or a warning. */
type Answer =
  | { readonly data: readonly (string | number)[] }
  | { readonly error: number }
  | { readonly warning: number }
  | { readonly complete: readonly AriesAxis[] };

const done: Answer = { data: [] };

/** The parameters of one command, with their ranges: number of values, lowest and highest of each. */
interface Form {
  readonly counts: readonly number[];
  readonly ranges: readonly (readonly [number, number])[];
  /** Drives anything: refused while the controller is locked. */
  readonly drives: boolean;
  readonly run: (values: readonly number[], now: number) => Answer;
}

const axisRange = [1, 32] as const;
const tableRange = [0, 9] as const;
const pulseRange = [minPulses, maxPulses] as const;
const methodRange = [0, 1] as const;

export class AriesController {
  readonly faults = new WireFaults();
  /** WSY is acknowledged but not applied. */
  ignoreWsy = false;

  private readonly axes: readonly (AriesAxis | null)[];
  private readonly sessions = new Set<Session>();
  private readonly slots = new Map<number, Slot>();
  private readonly firmware: readonly [number, number, number];
  private readonly clock: () => number;
  private emergencyInput = false;
  private emergencyLock = false;
  private linkLock = false;
  private readonly forms: ReadonlyMap<string, Form>;

  constructor(options: AriesOptions) {
    this.firmware = options.firmware ?? [1, 4, 4];
    this.clock = options.clock ?? monotonicNow;
    const factor = options.speedFactor ?? 1;
    this.axes = options.axes.map((axis, index) =>
      axis === null ? null : new AriesAxis(index + 1, axis.model, axis, options.seed, factor),
    );
    this.forms = this.commandTable();
  }

  /** Connects a client. `write` is called with the bytes of each reply. */
  attach(transport: "tcp" | "serial", write: (bytes: Buffer) => void): AriesClient {
    const session: Session = {
      stx: transport === "serial",
      lines: new LineAssembler(),
      write,
      served: this.sessions.size < clientLimit,
      owed: undefined,
    };
    this.sessions.add(session);
    return {
      receive: (bytes) => {
        this.receive(session, bytes);
      },
      close: () => {
        clearTimeout(session.owed?.timer);
        this.sessions.delete(session);
      },
    };
  }

  /** The true place of a stage: m or rad from its nominal origin. */
  truePosition(axis: number, nowS: number = this.clock()): number {
    return this.axis(axis).truePosition(nowS);
  }

  /** Displacement of a goniometer's centre of rotation, m in its own axes. */
  centreWander(axis: number, nowS: number = this.clock()): Vec3 {
    return this.axis(axis).centreWander(nowS);
  }

  /** Whether pulses are being put out for the axis. */
  isMoving(axis: number, nowS: number = this.clock()): boolean {
    const found = this.axis(axis);
    found.update(nowS);
    return found.driving;
  }

  /** The emergency stop input closes: everything stops at once and the controller locks. */
  emergencyStop(): void {
    this.emergencyInput = true;
    this.emergencyLock = true;
    const now = this.clock();
    for (const axis of this.eachAxis()) {
      axis.update(now);
      axis.halt(now);
      axis.homed = false;
    }
    this.broadcast({ kind: "E", command: "SYS", axis: undefined, data: ["5"] });
    this.disturb(this.eachAxis(), 314);
  }

  /** The emergency stop input opens again; the lock stays until REM. */
  releaseEmergencyStop(): void {
    this.emergencyInput = false;
  }

  /** Motionnet fails: the axes of the LYNX units stop, and the controller locks if any of them moved. */
  linkLost(): void {
    const now = this.clock();
    for (const axis of this.eachAxis()) axis.update(now);
    const moving = this.eachAxis().filter((axis) => axis.number > 2 && axis.driving);
    for (const axis of moving) axis.halt(now);
    if (moving.length === 0) return;
    this.linkLock = true;
    this.broadcast({ kind: "E", command: "SYS", axis: undefined, data: ["6"] });
    this.disturb(moving, 322);
  }

  stickLimit(axis: number, side: Side, closed: boolean | undefined): void {
    this.axis(axis).stickLimit(side, closed);
  }

  excite(axis: number, on: boolean): void {
    const now = this.clock();
    const found = this.axis(axis);
    found.update(now);
    found.excite(on, now);
    found.settings.set(Sys.excitation, Number(on));
  }

  /** Ends the emulator's timers. */
  dispose(): void {
    this.faults.dispose();
    for (const session of this.sessions) clearTimeout(session.owed?.timer);
    this.sessions.clear();
  }

  private axis(number: number): AriesAxis {
    const axis = this.axes[number - 1];
    if (axis === undefined || axis === null) throw new RangeError(`axis ${number} has no stage`);
    return axis;
  }

  private eachAxis(): AriesAxis[] {
    return this.axes.filter((axis) => axis !== null);
  }

  private receive(session: Session, bytes: Uint8Array): void {
    if (!session.served) return;
    let lines: string[];
    try {
      lines = session.lines.push(bytes);
    } catch {
      return; // more than any request holds: forgotten, as by the controller's own buffer
    }
    for (const line of lines) if (line !== "") this.handle(session, line);
  }

  private handle(session: Session, line: string): void {
    const now = this.clock();
    for (const axis of this.eachAxis()) axis.update(now);
    const request = decodeRequest(line, session.stx);
    if ("code" in request) {
      this.reply(session, {
        kind: "E",
        command: request.command,
        axis: undefined,
        data: [`${request.code}`],
      });
      return;
    }
    const { command, parameters } = request;
    const first = Number(parameters[0]);
    const axis =
      namesAxis(command) && Number.isInteger(first) && first >= 0 && first < 100 ? first : undefined;
    const answer = this.execute(session, command, parameters, now);
    if ("complete" in answer) this.owe(session, command, axis, answer.complete);
    else if ("error" in answer) this.reply(session, { kind: "E", command, axis, data: [`${answer.error}`] });
    else if ("warning" in answer)
      this.reply(session, { kind: "W", command, axis, data: [`${answer.warning}`] });
    else this.reply(session, { kind: "C", command, axis, data: answer.data.map(String) });
  }

  private execute(session: Session, command: string, parameters: readonly string[], now: number): Answer {
    const form = this.forms.get(command);
    if (form === undefined) return { error: 4 };
    if (session.owed !== undefined) return { error: 803 };
    if (!form.counts.includes(parameters.length)) return { error: 100 };
    const values: number[] = [];
    for (const [index, text] of parameters.entries()) {
      const value = /^[+-]?\d{1,10}$/.test(text) ? Number(text) : NaN;
      const [low, high] = form.ranges[index] ?? [NaN, NaN];
      if (!(value >= low && value <= high)) return { error: 101 + index };
      values.push(value);
    }
    const axis = values[0];
    if (namesAxis(command) && axis !== undefined && axis > this.axes.length) return { error: 120 };
    if (form.drives && this.emergencyLock) return { error: 800 };
    if (form.drives && this.linkLock) return { error: 802 };
    return form.run(values, now);
  }

  private commandTable(): ReadonlyMap<string, Form> {
    const form = (
      counts: number | readonly number[],
      ranges: Form["ranges"],
      run: Form["run"],
      drives = false,
    ): Form => ({ counts: typeof counts === "number" ? [counts] : counts, ranges, run, drives });
    const read = (run: (axis: AriesAxis | null, now: number) => readonly (string | number)[]): Form =>
      form(1, [axisRange], ([axis = 0], now) => ({ data: run(this.axes[axis - 1] ?? null, now) }));
    const drive = (ranges: Form["ranges"], run: Form["run"]): Form => form(ranges.length, ranges, run, true);
    const anyNumber = [-Infinity, Infinity] as const;

    return new Map<string, Form>([
      ["IDN", form(0, [], () => ({ data: ["ARIES", ...this.firmware] }))],
      ["RAX", form(0, [], () => this.readAxes())],
      ["REM", form(0, [], () => this.releaseLock())],
      ["RDP", read((axis, now) => [axis?.pulses(now) ?? 0])],
      ["RDE", read((axis) => [axis?.encoder ?? 0])],
      ["STR", read((axis, now) => this.status(axis, now))],
      ["ROG", read((axis) => [Number(axis?.homed ?? false)])],
      ["RSY", form(2, [axisRange, anyNumber], ([axis, n]) => this.readSetting(axis, n))],
      [
        "WSY",
        form(3, [axisRange, anyNumber, anyNumber], ([axis, n, value]) => this.writeSetting(axis, n, value)),
      ],
      [
        "RTB",
        form(2, [axisRange, [0, 11]], ([axis = 0, n = 0]) => {
          const table = this.axes[axis - 1]?.tables[n];
          return table === undefined ? { data: [n, 0, 0, 0, 0, 1, 0, 0] } : this.describeTable(n, table);
        }),
      ],
      [
        "WTB",
        form(
          7,
          [axisRange, [0, 11], [1, 500_000], [1, 500_000], [0, 65_535], [0, 65_535], [1, 3]],
          (values) => this.writeTable(values),
        ),
      ],
      [
        "WRP",
        form(2, [axisRange, pulseRange], ([axis = 0, value = 0]) =>
          (this.axes[axis - 1]?.writePulses(value) ?? true) ? done : { error: 311 },
        ),
      ],
      [
        "WRE",
        form(2, [axisRange, pulseRange], ([axis = 0, value = 0]) => {
          const found = this.axes[axis - 1];
          if (found?.driving === true) return { error: 312 };
          if (found) found.encoder = value;
          return done;
        }),
      ],
      [
        "APS",
        drive([axisRange, tableRange, pulseRange, methodRange], ([axis, table, target, method], now) =>
          this.drive(axis, now, method, (found) => found.driveTo(target ?? 0, table ?? 0, now)),
        ),
      ],
      [
        "RPS",
        drive(
          [axisRange, tableRange, [2 * minPulses, 2 * maxPulses], methodRange],
          ([axis, table, delta = 0, method], now) => {
            const target = (this.axes[(axis ?? 0) - 1]?.pulses(now) ?? 0) + delta;
            if (target < minPulses || target > maxPulses) return { error: 310 };
            return this.drive(axis, now, method, (found) => found.driveTo(target, table ?? 0, now));
          },
        ),
      ],
      [
        "FRP",
        drive([axisRange, tableRange, [0, 1]], ([axis, table, direction], now) =>
          this.drive(axis, now, 1, (found) => {
            found.driveFreely(direction === 0 ? 1 : -1, table ?? 0, now);
            return 0;
          }),
        ),
      ],
      [
        "ORG",
        drive([axisRange, tableRange, methodRange], ([axis, table, method], now) =>
          this.drive(axis, now, method, (found) => {
            found.searchOrigin(table ?? 0, now);
            return 0;
          }),
        ),
      ],
      [
        "STP",
        form(
          2,
          [
            [0, 32],
            [0, 1],
          ],
          ([axis, mode], now) => this.stop(axis ?? 0, mode === 1, now),
        ),
      ],
      [
        "MPI",
        form(4, [[1, 4], axisRange, [0, 1], tableRange], ([slot = 0, axis = 0, type, table = 0]) => {
          if (axis > this.axes.length) return { error: 120 };
          this.slots.set(slot, { axis, relative: type === 1, table });
          return { data: [slot] };
        }),
      ],
      [
        "MPS",
        form(
          [5, 7, 9],
          Array.from({ length: 9 }, () => pulseRange),
          (values, now) => this.driveSeveral(values, now),
          true,
        ),
      ],
    ]);
  }

  private readAxes(): Answer {
    this.linkLock = false;
    const bits = Array.from({ length: 64 }, (_, i) => (i < this.axes.length ? "1" : "0")).join("");
    const groups = Array.from({ length: 8 }, (_, i) => bits.slice(8 * i, 8 * i + 8));
    return { data: [this.axes.length, this.axes.length, ...groups] };
  }

  private releaseLock(): Answer {
    if (this.emergencyInput) return { error: 801 };
    this.emergencyLock = false;
    return done;
  }

  private status(axis: AriesAxis | null, now: number): readonly string[] {
    return axis === null
      ? ["0", this.emergencyInput ? "1" : "0", "0", "3", "0", "0"]
      : encodeStatus(axis.status(now, this.emergencyInput));
  }

  private readSetting(axis = 0, number = 0): Answer {
    const value = this.axes[axis - 1]?.settings.get(number);
    return value === undefined ? { error: 121 } : { data: [number, value] };
  }

  private writeSetting(axis = 0, number = 0, value = 0): Answer {
    const found = this.axes[axis - 1];
    if (found?.settings.get(number) === undefined) return { error: 121 };
    if (found.driving) return { error: 313 };
    if (!found.settings.accepts(number, value)) return { error: 103 };
    if (!this.ignoreWsy) {
      found.settings.set(number, value);
      if (number === Sys.excitation) found.excite(value === 1, this.clock());
    }
    return { data: [number] };
  }

  private describeTable(n: number, table: SpeedTable): Answer {
    return { data: [...speedTableParameters(n, table), ...rampSteps(table)] };
  }

  private writeTable(values: readonly number[]): Answer {
    const [axis = 0, n = 0, start = 0, top = 0, acceleration = 0, deceleration = 0, pattern = 1] = values;
    const found = this.axes[axis - 1];
    if (!found) return { error: 307 };
    const table = acceptTable(
      { start, top, acceleration, deceleration, pattern: speedPatterns[pattern - 1] ?? "trapezoid" },
      found.settings.value(Sys.topSpeedLimit),
    );
    if (typeof table === "number") return { error: table };
    found.tables[n] = table;
    return this.describeTable(n, table);
  }

  /** Why an axis may not start, or 0. */
  private refusal(axis: AriesAxis | null, now: number): number {
    if (axis === null) return 307;
    if (axis.driving) return 309;
    if (!axis.excited) return 308;
    if (axis.limitOn("cw", now) && axis.limitOn("ccw", now)) return 307;
    const soft = axis.settings.value(Sys.softLimit) === 1;
    const crossed = axis.settings.value(Sys.softLimitPlus) <= axis.settings.value(Sys.softLimitMinus);
    return soft && crossed ? 316 : 0;
  }

  private drive(axis = 0, now: number, method: number | undefined, run: (axis: AriesAxis) => number): Answer {
    const found = this.axes[axis - 1] ?? null;
    const refused = this.refusal(found, now);
    if (refused !== 0 || found === null) return { error: refused };
    const result = run(found);
    if (method === 0) return { complete: [found] };
    return result === 317 || result === 318 ? { warning: 350 } : done;
  }

  /** MPS: drives of the slots that MPI has set start together. */
  private driveSeveral(values: readonly number[], now: number): Answer {
    const count = (values.length - 1) / 2;
    const method = values.at(-1);
    if (method !== 0 && method !== 1) return { error: 100 + values.length };
    if (this.slots.size === 0) return { error: 500 };
    const drives: { readonly axis: AriesAxis; readonly target: number; readonly table: number }[] = [];
    for (let i = 0; i < count; i++) {
      const number = values[2 * i] ?? 0;
      if (number < 1 || number > 4) return { error: 101 + 2 * i };
      const slot = this.slots.get(number);
      if (slot === undefined) return { error: 500 + number };
      const axis = this.axes[slot.axis - 1] ?? null;
      const refused = this.refusal(axis, now);
      if (refused !== 0 || axis === null) return { error: refused };
      if (drives.some((drive) => drive.axis === axis)) return { error: 510 };
      const target = (values[2 * i + 1] ?? 0) + (slot.relative ? axis.pulses(now) : 0);
      if (target < minPulses || target > maxPulses) return { error: 504 + number };
      drives.push({ axis, target, table: slot.table });
    }
    let soft = false;
    for (const { axis, target, table } of drives) {
      const result = axis.driveTo(target, table, now);
      soft ||= result === 317 || result === 318;
    }
    if (method === 0) return { complete: drives.map((drive) => drive.axis) };
    return soft ? { warning: 350 } : done;
  }

  private stop(axis: number, emergency: boolean, now: number): Answer {
    const found = axis === 0 ? this.eachAxis() : [this.axes[axis - 1] ?? null];
    const moving = found.filter((one) => one?.driving === true);
    const accepted = moving.map((one) => one?.stop(emergency, now) ?? true);
    this.disturb(
      moving.filter((one) => one !== null),
      undefined,
    );
    return accepted.length > 0 && !accepted.includes(true) ? { error: 323 } : done;
  }

  /** Arranges the reply that comes when all of the drives have ended. */
  private owe(session: Session, command: string, axis: number | undefined, axes: readonly AriesAxis[]): void {
    const endS = Math.max(...axes.map((one) => one.endS ?? 0));
    session.owed = { command, axis, axes, endS, timer: undefined };
    this.awaitEnd(session, session.owed);
  }

  private awaitEnd(session: Session, owed: Owed): void {
    const now = this.clock();
    if (now < owed.endS) {
      owed.timer = setTimeout(
        () => {
          this.awaitEnd(session, owed);
        },
        (owed.endS - now) * 1e3,
      );
      return;
    }
    for (const axis of owed.axes) axis.update(now);
    const code = owed.axes.map((axis) => axis.lastResult).find((result) => result !== 0) ?? 0;
    const several = owed.axes.length > 1;
    this.payOwed(session, owed, several && code !== 0 ? (code <= 305 ? 306 : 319) : code);
  }

  private payOwed(session: Session, owed: Owed, code: number): void {
    session.owed = undefined;
    const { command, axis } = owed;
    this.reply(
      session,
      code === 0 ? { kind: "C", command, axis, data: [] } : { kind: "E", command, axis, data: [`${code}`] },
    );
  }

  /** Drives that others ended: their completed replies carry `code`, or never come when a client's STP did it. */
  private disturb(axes: readonly AriesAxis[], code: number | undefined): void {
    for (const session of this.sessions) {
      const { owed } = session;
      if (owed === undefined || !owed.axes.some((axis) => axes.includes(axis))) continue;
      clearTimeout(owed.timer);
      session.owed = undefined;
      if (code !== undefined) this.payOwed(session, owed, code);
    }
  }

  private broadcast(reply: AriesReply): void {
    for (const session of this.sessions) if (session.served) this.reply(session, reply);
  }

  private reply(session: Session, reply: AriesReply): void {
    this.faults.send(Buffer.from(encodeReply(reply), "latin1"), (bytes) => {
      if (this.sessions.has(session)) session.write(bytes);
    });
  }
}
