/**
 * The arbiter at work in the daemon: measures the signals at every look and in between, and says when a fault begins, when
 * it is gone, and when the cell has to stop. It decides nothing by itself: the rules do.
 */
import type { Clock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import {
  arbitrate,
  overrideFault,
  standingFaults,
  worstSeverity,
  type ArbiterState,
  type StandingFault,
} from "../../agent/safety/fault-arbiter.js";
import {
  faultRules,
  type FaultLimits,
  type FaultRule,
  type FaultSignals,
} from "../../agent/safety/fault-rules.js";
import type { FaultStatus } from "../command/protocol.js";
import type { SelfCheckItem } from "./cell.js";

export interface FaultWatchOptions {
  readonly clock: Clock;
  /** What is measured now, without waiting. */
  readonly signals: () => FaultSignals;
  readonly limits: () => FaultLimits;
  /** What a device says about a fault, to be shown beside the rule's own text. */
  readonly detail: (rule: FaultRule) => string;
  readonly onChange: (begun: readonly StandingFault[], gone: readonly FaultRule[]) => void;
  /** A fault that stops has begun: all motion ends now. */
  readonly stop: (why: string) => void;
}

/** Between two looks of its own, s: what nobody asks about must be noticed too. */
const periodS = 0.05;

export class FaultWatch {
  private state: ArbiterState = {};
  private timer: NodeJS.Timeout | undefined;
  private turnS = 0;
  private lateS = 0;

  constructor(private readonly options: FaultWatchOptions) {}

  /** How late its own last turn ran, s: what the event loop made it wait. */
  get eventLoopLateS(): number {
    return this.lateS;
  }

  start(): void {
    if (this.timer !== undefined) return;
    this.state = {};
    this.lateS = 0;
    this.turnS = this.options.clock.now();
    this.timer = setInterval(() => {
      const nowS = this.options.clock.now();
      this.lateS = Math.max(0, nowS - this.turnS - periodS);
      this.turnS = nowS;
      this.look();
    }, periodS * 1e3);
  }

  end(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Looks now, and acts on what has begun. */
  look(): readonly StandingFault[] {
    const { clock, signals, limits, onChange, stop } = this.options;
    const before = standingFaults(faultRules, this.state);
    this.state = arbitrate(faultRules, this.state, signals(), limits(), clock.now());
    const faults = standingFaults(faultRules, this.state);
    const ids = (list: readonly StandingFault[]): Set<string> => new Set(list.map(({ rule }) => rule.id));
    const [had, has] = [ids(before), ids(faults)];
    const begun = faults.filter(({ rule }) => !had.has(rule.id));
    const gone = before.filter(({ rule }) => !has.has(rule.id)).map(({ rule }) => rule);
    // Motion first, words afterwards.
    if (worstSeverity(begun) === "stop")
      stop(
        begun
          .filter(({ rule }) => rule.severity === "stop")
          .map((fault) => this.say(fault))
          .join("; "),
      );
    if (begun.length > 0 || gone.length > 0) onChange(begun, gone);
    return faults;
  }

  /** @throws CellError COMMAND_INVALID when it does not stand, or may not be overridden */
  override(id: string): void {
    this.look();
    const next = overrideFault(faultRules, this.state, id);
    if (next === undefined) {
      const may = faultRules.filter((rule) => rule.override).map((rule) => rule.id);
      throw new CellError("COMMAND_INVALID", `${id} does not stand, or cannot be overridden`, {
        remedy: `an operator may override: ${may.join(", ")}, while it stands`,
      });
    }
    this.state = next;
  }

  /** Why the self-check does not pass; empty when it does. */
  obstacles(): string[] {
    return this.look()
      .filter(({ rule, overridden }) => rule.severity !== "notice" && !overridden)
      .map((fault) => this.say(fault));
  }

  /** Every rule that the self-check rests on, as a person reads it. */
  items(): SelfCheckItem[] {
    const faults = new Map(this.look().map((fault) => [fault.rule.id, fault]));
    return faultRules
      .filter((rule) => rule.severity !== "notice")
      .map((rule) => {
        const fault = faults.get(rule.id);
        const stands = fault !== undefined && !fault.overridden;
        return { name: rule.id, passed: !stands, detail: fault === undefined ? "" : this.say(fault) };
      });
  }

  /** The faults that stand, for the status: from the last look, so that asking changes nothing. */
  status(): FaultStatus[] {
    return standingFaults(faultRules, this.state).map((fault) => {
      const { id, severity, override, remedy } = fault.rule;
      return {
        id,
        text: this.say(fault),
        severity,
        overridden: fault.overridden,
        mayOverride: override,
        remedy,
      };
    });
  }

  say({ rule, overridden }: StandingFault): string {
    const detail = this.options.detail(rule);
    return `${rule.text}${detail === "" ? "" : `: ${detail}`}${overridden ? " (overridden)" : ""}`;
  }
}
