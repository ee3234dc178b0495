/**
 * The one arbiter of faults: from rules, signals and time to the faults that stand and what the cell does about them. Pure;
 * it keeps nothing and asks no clock. The daemon and the page in docs/ run this very code.
 */
import type { FaultLimits, FaultRule, FaultSignals, Severity, Test } from "./fault-rules.js";

/** How one rule stands. Monotonic seconds. */
export interface RuleState {
  readonly active: boolean;
  /** Since when it has been active, or its trigger has held. */
  readonly sinceS: number | null;
  /** Since when its clear condition has held. */
  readonly clearingS: number | null;
  readonly overridden: boolean;
}

export type ArbiterState = Readonly<Record<string, RuleState>>;

export interface StandingFault {
  readonly rule: FaultRule;
  readonly sinceS: number;
  readonly overridden: boolean;
}

const quiet: RuleState = { active: false, sinceS: null, clearingS: null, overridden: false };

/** The next state. Time that runs backwards counts as standing still. */
export function arbitrate(
  rules: readonly FaultRule[],
  before: ArbiterState,
  signals: FaultSignals,
  limits: FaultLimits,
  nowS: number,
): ArbiterState {
  const after: Record<string, RuleState> = {};
  for (const rule of rules) after[rule.id] = next(rule, before[rule.id] ?? quiet, signals, limits, nowS);
  return after;
}

function next(
  rule: FaultRule,
  before: RuleState,
  signals: FaultSignals,
  limits: FaultLimits,
  nowS: number,
): RuleState {
  const signal = signals[rule.signal];
  const known = typeof signal === "boolean" || (typeof signal === "number" && Number.isFinite(signal));
  const triggered = known ? holds(rule.trigger, signal, limits) : rule.unknownTriggers;
  if (!before.active) {
    if (!triggered) return quiet;
    const sinceS = before.sinceS ?? nowS;
    return { ...quiet, active: nowS - sinceS >= rule.forS, sinceS };
  }
  // A signal that is not known clears nothing.
  if (triggered || !known || !holds(rule.clear, signal, limits)) return { ...before, clearingS: null };
  const clearingS = before.clearingS ?? nowS;
  return nowS - clearingS >= rule.clearForS ? quiet : { ...before, clearingS };
}

function holds(test: Test, signal: number | boolean, limits: FaultLimits): boolean {
  if ("is" in test) return signal === test.is;
  if (typeof signal !== "number") return false;
  const bound = "above" in test ? test.above : test.below;
  const value = (typeof bound === "number" ? bound : limits[bound]) * (test.times ?? 1);
  // Written so that a bound that is no number triggers rather than clears.
  return "above" in test ? !(signal <= value) : !(signal >= value);
}

/** An operator goes on in spite of a fault, until it is gone. Undefined when no such fault stands, or none may be overridden. */
export function overrideFault(
  rules: readonly FaultRule[],
  state: ArbiterState,
  id: string,
): ArbiterState | undefined {
  const standing = state[id];
  const rule = rules.find((candidate) => candidate.id === id);
  if (standing?.active !== true || rule?.override !== true) return undefined;
  return { ...state, [id]: { ...standing, overridden: true } };
}

/** The faults that stand, in the order of the rules. */
export function standingFaults(rules: readonly FaultRule[], state: ArbiterState): readonly StandingFault[] {
  return rules.flatMap((rule) => {
    const { active, sinceS, overridden } = state[rule.id] ?? quiet;
    return active ? [{ rule, sinceS: sinceS ?? 0, overridden }] : [];
  });
}

const ranks: Readonly<Record<Severity, number>> = { notice: 1, refuse: 2, stop: 3 };

/** What the cell does: the worst of what stands and is not overridden; undefined when nothing does. */
export function worstSeverity(faults: readonly StandingFault[]): Severity | undefined {
  let worst: Severity | undefined;
  for (const { rule, overridden } of faults)
    if (!overridden && ranks[rule.severity] > (worst === undefined ? 0 : ranks[worst])) worst = rule.severity;
  return worst;
}
