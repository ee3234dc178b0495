/** What the audit log holds of one decision: everything that is needed to judge it again without this program. */
import { createHash } from "node:crypto";
import type { GateLimits, Verdict } from "../safety/gate.js";
import type { SkillName } from "../safety/skill-names.js";
import type { CellState, Observation, Proposal, Reason } from "../safety/types.js";
import type { Reply } from "../reasoners/reasoner.js";
import type { DecisionSource } from "./events.js";

export const decisionAction = "decision";
export const skillStartAction = "skill.start";
export const skillEndAction = "skill.end";

export interface DecisionRecord {
  readonly decisionId: string;
  readonly cycle: number;
  readonly source: DecisionSource;
  /** Who chose, when a person did. */
  readonly by: string | null;
  readonly reasoner: string;
  readonly observation: Observation;
  readonly reply: (Omit<Reply, "text"> & { readonly text: string; readonly textSha256: string }) | null;
  readonly proposal: Proposal | null;
  readonly judgedAtS: number;
  /** Read after the reply, for the verdict. */
  readonly freshState: CellState | null;
  readonly limits: GateLimits;
  readonly allowed: boolean;
  readonly skill: SkillName | null;
  readonly reasons: readonly Reason[];
  readonly violations: readonly string[];
  readonly literalViolations: readonly string[];
  readonly refusalsInRow: number;
}

export interface DecisionParts {
  readonly decisionId: string;
  readonly cycle: number;
  readonly source: DecisionSource;
  readonly by?: string;
  readonly reasoner: string;
  readonly observation: Observation;
  readonly reply?: Reply;
  readonly proposal?: Proposal;
  readonly judgedAtS: number;
  readonly freshState?: CellState;
  readonly limits: GateLimits;
  readonly verdict?: Verdict;
  readonly reasons: readonly Reason[];
  readonly refusalsInRow: number;
}

export function decisionRecord(parts: DecisionParts): DecisionRecord {
  const { reply, verdict } = parts;
  return {
    decisionId: parts.decisionId,
    cycle: parts.cycle,
    source: parts.source,
    by: parts.by ?? null,
    reasoner: parts.reasoner,
    observation: parts.observation,
    reply:
      reply === undefined
        ? null
        : { ...reply, textSha256: createHash("sha256").update(reply.text).digest("hex") },
    proposal: parts.proposal ?? null,
    judgedAtS: parts.judgedAtS,
    freshState: parts.freshState ?? null,
    limits: parts.limits,
    allowed: parts.reasons.length === 0 && verdict?.allowed === true,
    skill: parts.proposal?.skill ?? null,
    reasons: parts.reasons,
    violations: verdict?.violations ?? [],
    literalViolations: verdict?.literalViolations ?? [],
    refusalsInRow: parts.refusalsInRow,
  };
}
