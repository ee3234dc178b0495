/**
 * What systemd is told: READY once the self-check passed, STATUS in words, WATCHDOG only while every critical loop
 * advances, STOPPING before teardown. Without systemd all of it goes nowhere.
 */
import type { Logger } from "./logger.js";
import type { ProgressRegistry } from "./progress.js";

/** Sends one datagram to NOTIFY_SOCKET; false when there is none. */
export type NotifySend = (message: string) => boolean;

/** Half of WATCHDOG_USEC in seconds when the watchdog is meant for this process, else undefined. */
export function watchdogPeriodS(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  const usec = Number(env["WATCHDOG_USEC"]);
  if (!(usec > 0) || !Number.isFinite(usec)) return undefined;
  if (env["WATCHDOG_PID"] !== undefined && Number(env["WATCHDOG_PID"]) !== pid) return undefined;
  return usec / 2e6;
}

export class SystemdNotifier {
  private timer: NodeJS.Timeout | undefined;
  private lastStatus = "";

  constructor(
    private readonly send: NotifySend,
    private readonly progress: ProgressRegistry,
    private readonly log: Logger,
  ) {}

  ready(status: string): void {
    this.tell(`READY=1\nSTATUS=${oneLine(status)}`);
  }

  status(status: string): void {
    const text = oneLine(status);
    if (text === this.lastStatus) return;
    this.lastStatus = text;
    this.tell(`STATUS=${text}`);
  }

  reloading(monotonicUs: bigint): void {
    this.tell(`RELOADING=1\nMONOTONIC_USEC=${monotonicUs}`);
  }

  stopping(status: string): void {
    this.tell(`STOPPING=1\nSTATUS=${oneLine(status)}`);
  }

  /** Feeds the watchdog every `periodS` for as long as all critical loops advance. */
  startWatchdog(periodS: number): void {
    this.timer = setInterval(() => {
      const stalled = this.progress.takeStalled();
      if (stalled.length === 0) this.tell("WATCHDOG=1");
      else this.log.error({ stalled }, "watchdog not fed: critical loops stand still");
    }, periodS * 1e3);
    this.timer.unref();
  }

  stopWatchdog(): void {
    clearInterval(this.timer);
  }

  private tell(message: string): void {
    try {
      this.send(message);
    } catch (error) {
      this.log.warn({ error: String(error) }, "systemd could not be notified");
    }
  }
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, "; ");
