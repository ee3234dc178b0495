/**
 * One candidate before the gate: judged on the observation it was made on and a state read anew, and written down as the
 * record from which it can be judged again. It decides nothing about what follows.
 */
import { randomUUID } from "node:crypto";
import { judge, type GateLimits, type Verdict } from "../safety/gate.js";
import type { CellState, Observation, Proposal, Reason } from "../safety/types.js";
import type { Reply } from "../reasoners/reasoner.js";
import { decisionRecord, type DecisionRecord } from "./decision-record.js";
import { rationaleNote, type CycleEvent, type DecisionSource } from "./events.js";

/** What is put before the gate, and where it came from. */
export interface Candidate {
  readonly source: DecisionSource;
  readonly by?: string;
  readonly reply?: Reply;
  readonly proposal?: Proposal;
  readonly reasons: readonly Reason[];
}

export interface JudgementCase {
  readonly candidate: Candidate;
  readonly observation: Observation;
  /** Undefined when it cannot be read, which refuses. */
  readonly freshState: CellState | undefined;
  readonly limits: GateLimits;
  /** Monotonic seconds. */
  readonly judgedAtS: number;
  readonly cycle: number;
  readonly reasoner: string;
  readonly refusalsInRow: number;
  /** Whether a decision on this observation was made before. */
  readonly alreadyDecided: boolean;
}

export interface Judgement {
  readonly candidate: Candidate;
  readonly verdict: Verdict | undefined;
  /** Empty exactly when allowed. */
  readonly reasons: readonly Reason[];
  readonly allowed: boolean;
  readonly record: DecisionRecord;
}

export function judgeCandidate(given: JudgementCase): Judgement {
  const { candidate, observation, freshState, limits, judgedAtS, alreadyDecided } = given;
  const { proposal } = candidate;
  const verdict =
    proposal === undefined || freshState === undefined
      ? undefined
      : judge(judgedAtS, proposal, observation, freshState, limits, { alreadyDecided });
  const unread: Reason[] =
    freshState === undefined ? [{ code: "stale", detail: "the cell state cannot be read" }] : [];
  const reasons = [...candidate.reasons, ...unread, ...(verdict?.reasons ?? [])];
  const allowed = reasons.length === 0 && verdict?.allowed === true;
  const record = decisionRecord({
    ...candidate,
    decisionId: `decision-${randomUUID()}`,
    cycle: given.cycle,
    reasoner: given.reasoner,
    observation,
    judgedAtS,
    ...(freshState === undefined ? {} : { freshState }),
    limits,
    ...(verdict === undefined ? {} : { verdict }),
    reasons,
    refusalsInRow: allowed ? 0 : given.refusalsInRow + 1,
  });
  return { candidate, verdict, reasons, allowed, record };
}

/** What people and programs are told of it. */
export function cycleEvent({ candidate, verdict, record }: Judgement, atS: number): CycleEvent {
  const { cycle, observation, source, reasoner, skill, allowed, reasons, refusalsInRow } = record;
  return {
    kind: "cycle",
    cycle,
    atS,
    observationId: observation.id,
    source,
    reasoner,
    rationale: candidate.proposal?.rationale ?? "",
    answer: candidate.proposal?.answer ?? "",
    skill,
    verdict: allowed ? "allowed" : "refused",
    reasons,
    violations: verdict?.violations ?? [],
    refusalsInRow,
    note: rationaleNote,
  };
}

/** A person who finds the cell stopped is told what was measured, not only what the reasoner answered. */
export function stopReason(answer: string, { selfCheckDetail }: CellState): string {
  return selfCheckDetail === undefined || selfCheckDetail === ""
    ? answer
    : `${answer} Self-check: ${selfCheckDetail}.`;
}
