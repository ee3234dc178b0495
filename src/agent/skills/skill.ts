/**
 * The contract of a skill: a name, a deterministic program, a termination criterion. The prerequisite is not here: it is
 * a column of the one table in `safety/prerequisites.ts`, and the program runs only after the gate has allowed it.
 */
import type { Clock } from "../../base/clock.js";
import type { ErrorCode } from "../../base/errors.js";
import type { SkillName } from "../safety/skill-names.js";
import type { Observation } from "../safety/types.js";

/** Numbers and short texts that go into the audit chain; SI, unit in the name. */
export type Measurements = Readonly<
  Record<string, number | string | boolean | null | readonly number[] | readonly string[]>
>;

export interface SkillContext {
  /** The observation the decision was made on. */
  readonly observation: Observation;
  /** Names this execution in the audit chain; device commands carry it. */
  readonly decisionId: string;
  /** Fires when a guard is lost, on stop, takeover or timeout; motion has already been stopped then. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /**
   * Enters a stage of the program, or a measurement within it, into the audit chain. Resolves when durable; await it
   * before a stage that must be explained on disk before it moves, ignore it otherwise (a failed write stops the skill).
   */
  readonly stage: (name: string, measurements?: Measurements) => Promise<void>;
}

export type SkillStatus = "succeeded" | "failed" | "not_converged" | "stopped";

export interface SkillOutcome {
  readonly status: SkillStatus;
  /** For people: what was reached, or which stage failed and why. */
  readonly detail: string;
  readonly code?: ErrorCode;
  readonly measurements?: Measurements;
}

export interface SkillProgram {
  readonly name: SkillName;
  /** One sentence: what it does and when it counts as done. */
  readonly summary: string;
  /** Wall limit of the whole program, s; the loop stops the cell when it is passed. */
  readonly timeLimitS: number;
  /**
   * Runs the program. Ordinary failure is an outcome, not a rejection; a rejection means a defect or a broken link, and
   * the loop stops the cell first and explains afterwards.
   */
  run(context: SkillContext): Promise<SkillOutcome>;
}
