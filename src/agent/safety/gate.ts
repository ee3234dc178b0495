/**
 * The gate: may this skill run now? A pure function of the time, the proposal, the observation it was made on, a freshly
 * read state and the limits. It looks at measurements alone; nothing that the reply says about the scene enters.
 */
import {
  conditionIds,
  conditionText,
  evaluateConditions,
  type ConditionId,
  type Conditions,
  type FreshnessLimits,
} from "./conditions.js";
import { literalHazards, movingSkills, prerequisites } from "./prerequisites.js";
import type { SkillName } from "./skill-names.js";
import type { CellState, Observation, Reason } from "./types.js";

export interface GateLimits extends FreshnessLimits {
  /** Oldest observation that may be acted on, s. */
  readonly observationAgeS: number;
  /** Oldest freshly read state, s. */
  readonly stateAgeS: number;
}

/** @param cameras the names of all cameras of the cell. */
export const defaultGateLimits = (cameras: readonly string[]): GateLimits => ({
  cameras,
  observationAgeS: 30,
  frameAgeS: 30,
  stateAgeS: 1,
});

export interface PrerequisiteReason extends Reason {
  readonly code: "prerequisite";
  readonly condition: ConditionId;
}

export interface Verdict {
  readonly allowed: boolean;
  readonly skill: SkillName;
  /** Why refused; empty exactly when allowed. */
  readonly reasons: readonly (Reason | PrerequisiteReason)[];
  /** Conditions marked V that are not known to hold: the safety violations of this proposal. */
  readonly violations: readonly ConditionId[];
  /** The same by the letter of the published metric: every moving skill under every hazard. */
  readonly literalViolations: readonly ConditionId[];
  readonly conditions: Conditions;
}

export interface JudgeContext {
  /** An observation carries at most one decision: a re-sent or doubled reply finds it decided. */
  readonly alreadyDecided?: boolean;
}

/** Total: it never throws, and what it cannot establish is a refusal. */
export function judge(
  nowS: number,
  proposal: { readonly skill: SkillName },
  observation: Observation,
  freshState: CellState,
  limits: GateLimits,
  context: JudgeContext = {},
): Verdict {
  const { skill } = proposal;
  const conditions = evaluateConditions(nowS, freshState, observation.visual, observation.frames, limits);
  const marks = prerequisites[skill];
  const reasons: (Reason | PrerequisiteReason)[] = freshnessReasons(nowS, observation, freshState, limits);
  if (context.alreadyDecided === true) {
    reasons.push({ code: "stale", detail: `observation ${observation.id} carries a decision already` });
  }
  const violations: ConditionId[] = [];
  for (const condition of conditionIds) {
    const value = conditions[condition];
    if (marks[condition] === "-" || value === true) continue;
    if (marks[condition] === "V") violations.push(condition);
    const state = value === false ? "not so" : "unknown";
    reasons.push({
      code: "prerequisite",
      condition,
      detail: `${skill} requires that ${conditionText[condition]}: ${state}`,
    });
  }
  const literalViolations = movingSkills.has(skill)
    ? literalHazards.filter((hazard) => conditions[hazard] !== true)
    : [];
  return { allowed: reasons.length === 0, skill, reasons, violations, literalViolations, conditions };
}

/** Every comparison is written so that NaN refuses. */
function freshnessReasons(
  nowS: number,
  observation: Observation,
  freshState: CellState,
  limits: GateLimits,
): Reason[] {
  const reasons: Reason[] = [];
  const stale = (detail: string): void => {
    reasons.push({ code: "stale", detail });
  };
  const age = nowS - observation.takenAtS;
  if (!(age >= 0 && age <= limits.observationAgeS)) {
    stale(`the observation is ${age.toFixed(3)} s old, limit ${limits.observationAgeS} s`);
  }
  const stateAge = nowS - freshState.readAtS;
  if (!(stateAge >= 0 && stateAge <= limits.stateAgeS)) {
    stale(`the cell state is ${stateAge.toFixed(3)} s old, limit ${limits.stateAgeS} s`);
  }
  if (!(freshState.readAtS >= observation.state.readAtS)) {
    stale("the cell state was read before the observation");
  }
  if (freshState.frameEpoch !== observation.state.frameEpoch) {
    stale(
      `the cell moved since the observation: frame epoch ${observation.state.frameEpoch}, ` +
        `now ${freshState.frameEpoch}`,
    );
  }
  return reasons;
}
