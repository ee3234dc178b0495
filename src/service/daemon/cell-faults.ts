/** What the arbiter of faults is told of this cell, and where it is said when a fault begins or is gone. */
import type { Config } from "../../base/config.js";
import type { StandingFault } from "../../agent/safety/fault-arbiter.js";
import type { FaultRule, FaultSignals, Signal } from "../../agent/safety/fault-rules.js";
import type { Session } from "../../agent/skills/session.js";
import type { AuditLog } from "../../record/audit-log.js";
import type { CellContext } from "./cell.js";
import type { DeviceSet } from "./device-set.js";
import { DiskWatch } from "./disk-watch.js";
import { FaultWatch } from "./fault-watch.js";

export interface CellFaultsParts {
  readonly config: () => Config;
  /** Asked only between `start` and `end`. */
  readonly devices: () => DeviceSet;
  readonly session: () => Session | undefined;
  /** The log of the recording under way. */
  readonly audit: () => AuditLog | undefined;
  readonly stop: (why: string) => void;
}

export class CellFaults {
  readonly watch: FaultWatch;
  private readonly disk: DiskWatch;
  private readonly beganWallS = Date.now() / 1e3;
  private readonly beganS: number;

  constructor(
    private readonly context: CellContext,
    private readonly parts: CellFaultsParts,
  ) {
    const { clock } = context;
    this.beganS = clock.now();
    this.disk = new DiskWatch(() => parts.config().record.folder);
    this.watch = new FaultWatch({
      clock,
      signals: () => this.signals(),
      limits: () => ({ minFreeBytes: parts.config().record.minFreeBytes }),
      detail: ({ signal }) => this.detail(signal),
      onChange: (begun, gone) => this.note(begun, gone),
      stop: parts.stop,
    });
  }

  async start(): Promise<void> {
    await this.disk.start();
    this.watch.start();
  }

  end(): void {
    this.disk.end();
    this.watch.end();
  }

  private signals(): FaultSignals {
    const nowS = this.context.clock.now();
    return {
      ...this.parts.devices().signals(),
      needleIntact: this.parts.session()?.needleIntact ?? "unknown",
      diskFreeBytes: this.disk.freeBytes,
      recordWritable: this.parts.audit()?.writable ?? "unknown",
      eventLoopLateS: this.watch.eventLoopLateS,
      wallClockStepS: Math.abs(Date.now() / 1e3 - this.beganWallS - (nowS - this.beganS)),
    };
  }

  private detail(signal: Signal): string {
    return signal === "diskFreeBytes" ? this.disk.detail : this.parts.devices().faultDetail(signal);
  }

  private note(begun: readonly StandingFault[], gone: readonly FaultRule[]): void {
    const { clock, log, publish } = this.context;
    const audit = this.parts.audit();
    for (const fault of begun) {
      const { id, severity, remedy } = fault.rule;
      const said = this.watch.say(fault);
      log.warn({ fault: id, severity }, said);
      publish({ topic: "log", event: { atS: clock.now(), level: "warn", message: `${said} (${remedy})` } });
      audit?.append("arbiter", "fault.begun", { id, severity, said }).catch(() => undefined);
    }
    for (const { id, text } of gone) {
      log.info({ fault: id }, `no longer: ${text}`);
      audit?.append("arbiter", "fault.gone", { id }).catch(() => undefined);
    }
  }
}
