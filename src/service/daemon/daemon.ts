/**
 * The life of surgiclawd. Start order: configuration, log, command socket, cell (links, guardian), self-check, READY,
 * active. Any order of power-on works: while a device is missing the daemon stays readable and tries again without end;
 * only a file that must be corrected, or a defect, ends it. Nothing moves by itself, ever.
 */
import type { Clock } from "../../base/clock.js";
import { compareConfigs, loadConfig, takeLiveKeys, type LoadedConfig } from "../../base/config.js";
import { asCellError, CellError } from "../../base/errors.js";
import { CommandServer } from "../command/server.js";
import type { CellStatus } from "../command/protocol.js";
import type { CellService } from "../command/service.js";
import type { Cell, CellFactory, SelfCheckItem } from "./cell.js";
import { daemonExit } from "./exit-codes.js";
import type { Logger } from "./logger.js";
import { SystemdNotifier, watchdogPeriodS, type NotifySend } from "./notify.js";
import { ProgressRegistry } from "./progress.js";

export interface DaemonOptions {
  readonly loaded: LoadedConfig;
  readonly createCell: CellFactory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly notify: NotifySend;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  /** Counts the daemon's lives; 0 where there was none before. */
  readonly start?: number;
  /** Leave with `unavailable` when a device is missing, instead of trying again. */
  readonly once: boolean;
}

/** First and longest pause between two attempts to configure. */
const retryS = { first: 1, longest: 10 } as const;
const stopLimitS = 2;
/** Longer than the guardian may need to withdraw a needle that is in tissue. */
const finalizeLimitS = 8;

/** Errors that no waiting mends: a file must be corrected, or this program. */
const isFinal = (error: CellError): boolean =>
  error.category === "configuration" || error.category === "software";

export class Daemon {
  readonly progress = new ProgressRegistry();
  private readonly ending = new AbortController();
  private readonly notifier: SystemdNotifier;
  private readonly cell: Cell;
  private readonly server: CommandServer;
  private loaded: LoadedConfig;
  private ready = false;
  /** Why the cell is not ready, for status and log. */
  private obstacle = "not configured yet";
  private exitCode: number = daemonExit.stopped;

  constructor(private readonly options: DaemonOptions) {
    const { loaded, clock, log } = options;
    this.loaded = loaded;
    this.notifier = new SystemdNotifier(options.notify, this.progress, log);
    this.cell = options.createCell({
      loaded,
      clock,
      log,
      progress: this.progress,
      publish: (event) => {
        this.server.publish(event);
      },
    });
    const { endpoint, events, mode, leaseS } = loaded.config.command;
    this.server = new CommandServer(this.guarded(), {
      endpoint,
      events,
      mode,
      leaseS,
      version: options.version,
      start: options.start ?? 0,
      clock,
      onRefused: (why) => log.warn({ why }, "request refused"),
    });
  }

  /** Runs until `shutdown`; resolves with the exit code. */
  async run(): Promise<number> {
    const { log, env } = this.options;
    const turn = this.progress.register("event loop");
    const pulse = setInterval(() => turn.advance(), 100);
    try {
      await this.server.open();
      log.info({ endpoint: this.loaded.config.command.endpoint }, "command socket open");
      const periodS = watchdogPeriodS(env, process.pid);
      if (periodS !== undefined) this.notifier.startWatchdog(periodS);
      while (!this.ending.signal.aborted) await this.live();
    } catch (error) {
      this.exitCode = this.ending.signal.aborted ? this.exitCode : this.explainEnd(asCellError(error));
    } finally {
      await this.tearDown();
      clearInterval(pulse);
    }
    return this.exitCode;
  }

  /** SIGTERM: stops the cell first, explains afterwards. Idempotent. */
  shutdown(why: string, exitCode: number = daemonExit.stopped): void {
    if (this.ending.signal.aborted) return;
    this.exitCode = exitCode;
    this.options.log.info({ why }, "stopping");
    this.notifier.stopping(why);
    this.ending.abort(new CellError("LINK_ABORTED", why));
  }

  /** SIGHUP: takes the keys that may change while running; says which wait for a restart. */
  async reload(): Promise<void> {
    const { log, clock } = this.options;
    this.notifier.reloading(BigInt(Math.round(clock.now() * 1e6)));
    try {
      const next = await loadConfig(this.loaded.file);
      const changes = compareConfigs(this.loaded.config, next.config);
      this.loaded = { ...this.loaded, config: takeLiveKeys(this.loaded.config, next.config) };
      this.server.lease.setDuration(this.loaded.config.command.leaseS);
      log.level = this.loaded.config.log.level;
      this.cell.reconfigure(this.loaded);
      log.info({ changed: changes.live }, "configuration read again");
      if (changes.restart.length > 0) log.warn({ keys: changes.restart }, "these keys wait for a restart");
    } catch (error) {
      log.error({ error: asCellError(error).message }, "configuration not taken; the old one stays in force");
    }
    this.notifier.ready(this.ready ? "active" : this.obstacle);
  }

  /** One life of the cell: configure, check, be active until it is lost or the daemon ends. */
  private async live(): Promise<void> {
    const { log } = this.options;
    const signal = this.ending.signal;
    await this.configure();
    if (signal.aborted) return;
    this.ready = true;
    this.obstacle = "";
    log.info("self-check passed, the cell is active");
    this.notifier.ready("active");
    const lost = await Promise.race([this.cell.lost(), aborted(signal)]);
    this.ready = false;
    if (signal.aborted) return;
    this.obstacle = lost;
    log.error({ why: lost }, "the cell was lost; configuring anew");
    this.notifier.status(`configuring anew: ${lost}`);
    await this.bounded("stop", stopLimitS, this.cell.stop(lost, "daemon"));
    await this.bounded("finalize", finalizeLimitS, this.cell.finalize());
  }

  /** Tries until the self-check passes. @throws CellError what no waiting mends */
  private async configure(): Promise<void> {
    const { log, clock, once } = this.options;
    const signal = this.ending.signal;
    let pauseS: number = retryS.first;
    let shown = "";
    while (!signal.aborted) {
      try {
        await this.cell.configure(signal);
        const failed = (await this.cell.selfCheck(signal)).filter((item) => !item.passed);
        if (failed.length === 0) {
          await this.cell.activate(signal);
          return;
        }
        this.obstacle = `self-check: ${failed.map(describeItem).join("; ")}`;
        await this.cell.finalize();
      } catch (error) {
        const known = asCellError(error);
        if (signal.aborted) return;
        // What was opened before it failed would stand in the way of the next attempt: a serial port has one owner.
        await this.bounded("finalize", finalizeLimitS, this.cell.finalize());
        if (isFinal(known)) throw known;
        this.obstacle = `${known.message}: ${known.remedy}`;
      }
      if (once) throw new CellError("DEVICE_MISSING", this.obstacle);
      // The same obstacle is said once, not with every attempt.
      if (this.obstacle !== shown) log.warn({ obstacle: this.obstacle }, "not active yet; trying again");
      shown = this.obstacle;
      this.notifier.status(`not active: ${this.obstacle}`);
      await clock.sleep(pauseS, signal).catch(() => undefined);
      pauseS = Math.min(pauseS * 1.5, retryS.longest);
    }
  }

  private async tearDown(): Promise<void> {
    const { log } = this.options;
    this.shutdown("the daemon ends", this.exitCode);
    this.ready = false;
    await this.bounded("stop", stopLimitS, this.cell.stop("the daemon ends", "daemon"));
    await this.bounded("finalize", finalizeLimitS, this.cell.finalize());
    await this.bounded("close of the command socket", stopLimitS, this.server.close());
    this.notifier.stopWatchdog();
    log.info({ exitCode: this.exitCode }, "stopped");
  }

  /** Teardown always ends: what hangs or fails is logged and left behind. */
  private async bounded(what: string, limitS: number, work: Promise<unknown>): Promise<void> {
    const limit = new AbortController();
    try {
      const late = this.options.clock.sleep(limitS, limit.signal).then(() => {
        throw new CellError("LINK_TIMEOUT", `${what} took longer than ${limitS} s`);
      });
      late.catch(() => undefined);
      await Promise.race([work, late]);
    } catch (error) {
      this.options.log.error({ error: asCellError(error).message }, `${what} failed`);
    } finally {
      limit.abort();
    }
  }

  private explainEnd(error: CellError): number {
    const { code, detail, remedy } = error;
    this.options.log.fatal({ code, detail, remedy }, "the daemon cannot go on");
    if (!process.stderr.isTTY || this.loaded.config.log.file !== undefined) {
      process.stderr.write(`surgiclawd: ${error.message}\n  ${remedy}\n`);
    }
    if (code === "LINK_BUSY") return daemonExit.busy;
    if (error.category === "configuration") return daemonExit.config;
    if (error.category === "software") return daemonExit.software;
    return code === "LINK_CONNECT" ? daemonExit.cannotCreate : daemonExit.unavailable;
  }

  /** The cell as the command socket sees it: until it is ready only status and stop are taken. */
  private guarded(): CellService {
    const cell = this.cell;
    const whenReady = <T>(call: () => Promise<T>): Promise<T> => {
      if (this.ready) return call();
      return Promise.reject(
        new CellError("COMMAND_INVALID", `the cell is not active: ${this.obstacle}`, {
          remedy: "remove the cause shown; the daemon tries again by itself",
        }),
      );
    };
    return {
      status: () => this.statusOf(cell.status()),
      stop: async (reason, by) => cell.stop(reason, by),
      plan: async (request, signal) => whenReady(async () => cell.plan(request, signal)),
      start: async (request) => whenReady(async () => cell.start(request)),
      reset: async () => whenReady(async () => cell.reset()),
      confirm: async () => whenReady(async () => cell.confirm()),
      retry: async () => whenReady(async () => cell.retry()),
      choose: async (skill) => whenReady(async () => cell.choose(skill)),
      takeover: async (by) => whenReady(async () => cell.takeover(by)),
      handback: async () => whenReady(async () => cell.handback()),
      override: async (fault) => cell.override(fault),
      home: async () => whenReady(async () => cell.home()),
    };
  }

  private statusOf(status: CellStatus): CellStatus {
    if (this.ready) return { ...status, ready: true };
    return { ...status, ready: false, reason: this.obstacle, possible: ["stop"] };
  }
}

const describeItem = (item: SelfCheckItem): string => `${item.name}: ${item.detail}`;

/** Resolves (with why) once the signal fires. */
async function aborted(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve("ending");
    else signal.addEventListener("abort", () => resolve("ending"), { once: true });
  });
}
