/** What the loop tells people and programs while it runs. */
import type { ConditionId } from "../safety/conditions.js";
import type { SkillName } from "../safety/skill-names.js";
import type { Reason } from "../safety/types.js";
import type { Measurements } from "../skills/skill.js";
import type { LoopCounts } from "./tally.js";

export const loopStates = [
  "idle",
  "running",
  "waiting_operator",
  "takeover",
  "stopped",
  "completed",
  "failed",
] as const;
export type LoopState = (typeof loopStates)[number];

export const operatorCommands = [
  "stop",
  "reset",
  "confirm",
  "retry",
  "choose",
  "takeover",
  "handback",
] as const;
export type OperatorCommand = (typeof operatorCommands)[number];

/** What an operator may do in each state; a stop is always possible. */
export const possibleCommands: Readonly<Record<LoopState, readonly OperatorCommand[]>> = {
  idle: ["stop"],
  running: ["stop", "takeover"],
  waiting_operator: ["stop", "confirm", "retry", "choose", "takeover"],
  takeover: ["stop", "handback"],
  stopped: ["stop", "reset"],
  completed: ["stop"],
  failed: ["stop"],
};

/** Printed wherever a rationale is shown. */
export const rationaleNote = "The rationale is an audit aid, not proof of what the reasoner thought.";

export type DecisionSource = "reasoner" | "operator" | "loop";

export interface CycleEvent {
  readonly kind: "cycle";
  readonly cycle: number;
  readonly atS: number;
  readonly observationId: string;
  readonly source: DecisionSource;
  readonly reasoner: string;
  readonly rationale: string;
  readonly answer: string;
  readonly skill: SkillName | null;
  readonly verdict: "allowed" | "refused";
  readonly reasons: readonly Reason[];
  readonly violations: readonly ConditionId[];
  readonly refusalsInRow: number;
  readonly note: typeof rationaleNote;
}

export interface SkillEvent {
  readonly kind: "skill";
  readonly cycle: number;
  readonly atS: number;
  readonly skill: SkillName;
  readonly phase: "started" | "stage" | "ended";
  /** Name of the stage, or status at the end. */
  readonly name: string;
  readonly detail: string;
  readonly measurements: Measurements;
}

export interface StateEvent {
  readonly kind: "state";
  readonly atS: number;
  readonly state: LoopState;
  readonly reason: string;
  readonly possible: readonly OperatorCommand[];
  /** The skill that `confirm` would run through the gate. */
  readonly suggestion: SkillName | null;
}

export type LoopEvent = CycleEvent | SkillEvent | StateEvent;

export interface LoopStatus {
  readonly state: LoopState;
  readonly reason: string;
  readonly cycle: number;
  readonly refusalsInRow: number;
  readonly suggestion: SkillName | null;
  readonly possible: readonly OperatorCommand[];
  readonly running: SkillName | null;
}

export interface LoopResult {
  /** `operator`: nobody came within the configured time; `aborted`: the caller ended it. */
  readonly outcome: "completed" | "operator" | "failed" | "aborted";
  readonly state: LoopState;
  readonly reason: string;
  readonly counts: LoopCounts;
}
