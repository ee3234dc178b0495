/**
 * The daemon's end of the guardian: starts the process, hands it duplicates of the serial descriptors, keeps its
 * heartbeat going through the native heart, and knows whether it still watches. No guardian, no motion.
 *
 * The process must be able to stop the cell without anything of ours: it has its own connection to a controller on TCP
 * and copies of the serial lines, it reads beats from a pipe, and acts on the pipe's end or on silence.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import { programPath } from "../../base/paths.js";
import { monotonicNow, withDeadline } from "../../base/clock.js";
import { descriptorOf } from "../links/socket-handle.js";
import { cellAddon, type HeartStatus, type NativeHeart } from "../native.js";
import { beatFlags, encodeBeat, type NeedleOrder } from "./beat.js";
import { Lines, parseReport, type GuardianReport } from "./report.js";

/** A device that the guardian stops. Descriptors are those of open links; the guardian gets a duplicate. */
export type GuardedLink =
  | { readonly kind: "aries-tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "aries-serial"; readonly descriptor: number }
  /** The one connection of a controller that dials this machine or asks for a login. */
  | { readonly kind: "aries-connection"; readonly descriptor: number }
  /** `axes` in the order in which they are stopped: the series knows no stop for all. */
  | { readonly kind: "sc-serial"; readonly descriptor: number; readonly axes: readonly number[] }
  | {
      readonly kind: "needle-serial";
      readonly descriptor: number;
      readonly device?: number;
      readonly axis?: number;
    }
  | { readonly kind: "needle-modbus"; readonly descriptor: number; readonly unit?: number };

export interface GuardianOptions {
  /** The guardian appends one JSON line for each thing it does; the audit log quotes it. */
  readonly logPath: string;
  /** Silence after which the guardian acts, s. */
  readonly silenceS: number;
  /** Time between two beats, s. */
  readonly periodS: number;
  /** How long the event loop may be blocked before the heart falls silent, s. */
  readonly eventLoopLimitS: number;
  /** The native program; the built one unless a test says otherwise. */
  readonly program?: string;
  /** How long the start may take until every link is guarded, s. */
  readonly startTimeoutS?: number;
}

export interface GuardianStatus {
  readonly alive: boolean;
  /** Why it is not. */
  readonly reason: string;
  readonly pid: number | undefined;
  readonly report: GuardianReport | undefined;
  readonly heart: HeartStatus | undefined;
}

/** How often the event loop says that it is alive: well within any limit that makes sense. */
const touchPeriodMs = 5;
const stopTimeoutS = 2;
/** Above the time after which the guardian gives up a device that does not answer (native/guardian/src/guardian.cc). */
const withdrawTimeoutS = 6;
const beatSlot = 3;

export class Guardian {
  /** Called when `alive` changes: stop everything, latch the reason. */
  onChange: (status: GuardianStatus) => void = () => undefined;

  private child: ChildProcess | undefined;
  private beats: Socket | undefined;
  private heart: NativeHeart | undefined;
  private touching: NodeJS.Timeout | undefined;
  private report: GuardianReport | undefined;
  private exit: Promise<void> = Promise.resolve();
  private ended = "the guardian was not started";
  private stderr = "";
  private needle: NeedleOrder = { inTissue: false, retractToMicrosteps: 0 };
  private toldAlive = false;
  private renewing = false;
  private waiters: (() => void)[] = [];

  constructor(private readonly options: GuardianOptions) {}

  get logPath(): string {
    return this.options.logPath;
  }

  /** Watches, reaches every device, and its heart beats. */
  get alive(): boolean {
    return this.problem() === undefined;
  }

  status(): GuardianStatus {
    const problem = this.problem();
    return {
      alive: problem === undefined,
      reason: problem ?? "",
      pid: this.child?.pid,
      report: this.report,
      heart: this.heart?.status(),
    };
  }

  /**
   * No guardian, no motion: called before anything may move.
   * @throws CellError SAFETY_HEARTBEAT after it acted on silence, SAFETY_NO_GUARDIAN otherwise
   */
  assertAlive(): void {
    const problem = this.problem();
    if (problem === undefined) return;
    if (this.child && this.report?.triggered === true) {
      throw new CellError("SAFETY_HEARTBEAT", problem);
    }
    throw new CellError("SAFETY_NO_GUARDIAN", problem);
  }

  /**
   * Starts the process and resolves when it watches with every link ready. After a serial port was opened anew, `renew`:
   * the duplicate of an old descriptor reaches nothing.
   * @throws CellError SAFETY_NO_GUARDIAN naming the links that are not ready, LINK_ABORTED
   */
  async start(links: readonly GuardedLink[], signal?: AbortSignal): Promise<void> {
    if (this.child) throw new CellError("COMMAND_INVALID", "the guardian runs already");
    if (signal?.aborted) throw new CellError("LINK_ABORTED", "the start of the guardian was cancelled");
    this.spawn(links);
    try {
      await this.untilArmed(signal);
    } catch (error) {
      await this.finish(false);
      throw error;
    }
  }

  /**
   * Has serial lines opened anew and watches with their new descriptors. It must let go of the old ones first: its
   * duplicates keep the ports locked. In between there is no guardian, so nothing moves; `onChange` hears of it only
   * when it does not come back.
   * @param reopen opens the lines; gives the links to guard
   * @throws CellError what `reopen` throws, and as `start`
   */
  async renew(reopen: () => Promise<readonly GuardedLink[]>, signal?: AbortSignal): Promise<void> {
    this.renewing = true;
    try {
      await this.finish(false);
      this.ended = "a serial line is being opened anew: the guardian waits for it";
      await this.start(await reopen(), signal);
    } finally {
      this.renewing = false;
      this.tell();
    }
  }

  /** What the guardian does with the needle when it takes over; carried by every beat from the next one on. */
  setNeedle(inTissue: boolean, retractToMicrosteps: number): void {
    if (!Number.isInteger(retractToMicrosteps) || Math.abs(retractToMicrosteps) > 0x7fffffff) {
      throw new CellError("SAFETY_ENVELOPE", `${retractToMicrosteps} is no position to retract to`);
    }
    this.needle = { inTissue, retractToMicrosteps };
    this.heart?.setNeedle(inTissue, retractToMicrosteps);
  }

  /**
   * After the guardian acted on silence and a person has reset the cell: watch again.
   * @throws CellError SAFETY_NO_GUARDIAN when it does not
   */
  async rearm(signal?: AbortSignal): Promise<void> {
    if (!this.child || !this.beats) throw new CellError("SAFETY_NO_GUARDIAN", this.ended);
    if (this.report?.triggered !== true) return;
    this.beats.write(encodeBeat(beatFlags.rearm, this.needle));
    await this.untilArmed(signal);
  }

  /**
   * Ends it in good order: the guardian writes nothing to any device. With the needle in tissue it gets no goodbye: it stops
   * and withdraws, as after a death, for nobody else is left to do it. Idempotent, bounded, never rejects.
   */
  stop(): Promise<void> {
    return this.finish(this.needle.inTissue);
  }

  /** @param withdraw without a goodbye the guardian acts */
  private async finish(withdraw: boolean): Promise<void> {
    const { child, beats } = this;
    this.heart?.stop();
    clearInterval(this.touching);
    this.touching = undefined;
    if (!child) return;
    child.ref(); // wait for it even when nothing else is left to wait for
    // A last beat in any case: what was told a moment ago may not have been in one yet.
    beats?.end(encodeBeat(withdraw ? 0 : beatFlags.goodbye, this.needle));
    const limitS = withdraw ? withdrawTimeoutS : stopTimeoutS;
    await withDeadline(this.exit, limitS, "the end of the guardian").catch(() => {
      // It reads no beats any more, so it cannot be watching either.
      child.kill("SIGKILL");
    });
    await this.exit;
  }

  private spawn(links: readonly GuardedLink[]): void {
    const { options } = this;
    const descriptors: number[] = [];
    const inherit = (descriptor: number): string => String(beatSlot + descriptors.push(descriptor));
    const args = ["--beat-fd", String(beatSlot), "--log", options.logPath];
    args.push("--silence-ms", String(Math.round(options.silenceS * 1e3)));
    for (const link of links) {
      switch (link.kind) {
        case "aries-tcp":
          args.push("--aries-tcp", `${link.host.includes(":") ? `[${link.host}]` : link.host}:${link.port}`);
          break;
        case "aries-serial":
          args.push("--aries-fd", inherit(link.descriptor));
          break;
        case "aries-connection":
          args.push("--aries-connection-fd", inherit(link.descriptor));
          break;
        case "sc-serial":
          args.push("--sc-fd", inherit(link.descriptor), "--sc-axes", link.axes.join(","));
          break;
        case "needle-serial":
          args.push("--needle-fd", inherit(link.descriptor));
          args.push("--needle-device", String(link.device ?? 1), "--needle-axis", String(link.axis ?? 1));
          break;
        case "needle-modbus":
          args.push("--needle-modbus-fd", inherit(link.descriptor), "--needle-unit", String(link.unit ?? 1));
          break;
      }
    }
    const child = spawn(options.program ?? programPath("guardian"), args, {
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe", ...descriptors],
    });
    this.child = child;
    this.report = undefined;
    this.stderr = "";
    this.exit = new Promise((resolve) => {
      child.once("error", (error) => {
        this.lose(child, `the guardian cannot be started: ${error.message}`);
        resolve();
      });
      child.once("exit", (code, signal) => {
        const how = signal ?? `exit code ${code ?? "?"}`;
        this.lose(child, `the guardian has ended (${how})${this.stderr ? `: ${this.stderr.trim()}` : ""}`);
        resolve();
      });
    });
    const lines = new Lines();
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      for (const line of lines.push(text)) this.hear(line);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr = (this.stderr + text).slice(-500);
    });
    const beats = child.stdio[beatSlot];
    if (!(beats instanceof Socket)) return; // not started: the error event tells
    beats.on("error", () => undefined); // a broken pipe shows as the end of the process
    this.beats = beats;
    this.beat(beats);
    // Nothing of this keeps the daemon alive: its end must reach the guardian, not be put off by it.
    child.unref();
    for (const pipe of [child.stdout, child.stderr, beats]) if (pipe instanceof Socket) pipe.unref();
  }

  private beat(beats: Socket): void {
    const fd = descriptorOf(beats);
    if (fd === undefined) return;
    const heart = new (cellAddon().Heart)();
    heart.setNeedle(this.needle.inTissue, this.needle.retractToMicrosteps);
    heart.start({ fd, periodS: this.options.periodS, limitS: this.options.eventLoopLimitS });
    this.heart = heart;
    this.touching = setInterval(() => heart.touch(), touchPeriodMs).unref();
  }

  private hear(line: string): void {
    const report = parseReport(line);
    if (report === undefined) return;
    this.report = report;
    this.tell();
  }

  private lose(child: ChildProcess, reason: string): void {
    if (this.child !== child) return;
    this.child = undefined;
    this.ended = reason;
    this.heart?.stop();
    this.heart = undefined;
    this.beats?.destroy();
    this.beats = undefined;
    clearInterval(this.touching);
    this.tell();
  }

  private tell(): void {
    for (const wake of this.waiters.splice(0)) wake();
    const alive = this.alive;
    if (alive === this.toldAlive || this.renewing) return;
    this.toldAlive = alive;
    this.onChange(this.status());
  }

  private problem(): string | undefined {
    if (!this.child) return this.ended;
    const { report } = this;
    if (!report) return "the guardian has not reported yet";
    if (report.triggered) return "the guardian has stopped the cell: the heartbeat fell silent";
    const missing = report.links.filter((link) => !link.ready).map((link) => link.name);
    if (missing.length > 0) return `the guardian does not reach ${missing.join(", ")}`;
    if (!report.armed) return "the guardian receives no heartbeat";
    if (this.heart?.status().guardianAlive !== true) return "the guardian does not read its heartbeat";
    return undefined;
  }

  private async untilArmed(signal: AbortSignal | undefined): Promise<void> {
    const limitS = this.options.startTimeoutS ?? 5;
    const startS = monotonicNow();
    while (!this.alive) {
      if (signal?.aborted) throw new CellError("LINK_ABORTED", "the wait for the guardian was cancelled");
      const problem = this.problem() ?? "";
      const leftS = limitS - (monotonicNow() - startS);
      if (!this.child || leftS <= 0) throw new CellError("SAFETY_NO_GUARDIAN", problem);
      await this.nextReport(Math.min(leftS, 0.1), signal);
    }
  }

  /** Resolves at the next report, at the end of the process, when the signal fires, or after `limitS`. */
  private async nextReport(limitS: number, signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitS * 1e3);
      const wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
      signal?.addEventListener("abort", wake, { once: true });
      this.waiters.push(() => {
        signal?.removeEventListener("abort", wake);
        wake();
      });
    });
  }
}
