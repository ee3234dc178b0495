/**
 * The invariants of a running skill. Its prerequisite was judged before it began; these must keep holding while it runs,
 * and losing one stops the cell first and is explained afterwards. Image conditions are absent: a skill looks for itself
 * and its own program fails when it sees too little.
 */
import { and, conditionText, not, tri, type ConditionId, type Tri } from "./conditions.js";
import { Skill, type SkillName } from "./skill-names.js";
import type { CellState } from "./types.js";

export type GuardedCondition =
  | "noStopLatched"
  | "selfCheckPassed"
  | "camerasOnline"
  | "notNearSingularity"
  | "registered"
  | "needleOutOfTissue";

/** What must hold throughout each skill. A stop is never itself stopped. */
export const invariants: Readonly<Record<SkillName, readonly GuardedCondition[]>> = {
  [Skill.registration]: [
    "noStopLatched",
    "selfCheckPassed",
    "camerasOnline",
    "notNearSingularity",
    "needleOutOfTissue",
  ],
  [Skill.align]: [
    "noStopLatched",
    "selfCheckPassed",
    "camerasOnline",
    "notNearSingularity",
    "registered",
    "needleOutOfTissue",
  ],
  // The stroke enters tissue on purpose.
  [Skill.insert]: ["noStopLatched", "selfCheckPassed", "camerasOnline", "notNearSingularity", "registered"],
  [Skill.focus]: ["noStopLatched", "selfCheckPassed", "camerasOnline", "needleOutOfTissue"],
  [Skill.exposure]: ["noStopLatched", "selfCheckPassed", "camerasOnline"],
  // It mends cameras and leaves singularities, so it may not be stopped by either.
  [Skill.recover]: ["noStopLatched", "selfCheckPassed", "needleOutOfTissue"],
  [Skill.stop]: [],
};

export interface GuardLimits {
  readonly cameras: readonly string[];
  /** Oldest state that still says something about a running skill, s. */
  readonly stateAgeS: number;
}

export interface LostInvariant {
  readonly condition: GuardedCondition | "stateFresh";
  readonly detail: string;
}

/** The first invariant that is not known to hold, or undefined. Pure. */
export function lostInvariant(
  skill: SkillName,
  nowS: number,
  state: CellState,
  limits: GuardLimits,
): LostInvariant | undefined {
  const watched = invariants[skill];
  if (watched.length === 0) return undefined;
  const age = nowS - state.readAtS;
  if (!(age <= limits.stateAgeS)) {
    return {
      condition: "stateFresh",
      detail: `the cell state is ${age.toFixed(3)} s old, limit ${limits.stateAgeS} s`,
    };
  }
  for (const condition of watched) {
    const value = guarded(condition, state, limits);
    if (value !== true) {
      const how = value === false ? "no longer so" : "no longer known";
      return { condition, detail: `${skill} requires that ${conditionText[condition]}: ${how}` };
    }
  }
  return undefined;
}

function guarded(condition: GuardedCondition & ConditionId, state: CellState, limits: GuardLimits): Tri {
  switch (condition) {
    case "noStopLatched":
      return and(not(tri(state.emergencyStop)), not(tri(state.protectiveStop)), not(tri(state.stopLatched)));
    case "selfCheckPassed":
      return tri(state.selfCheckOk);
    case "camerasOnline":
      return limits.cameras.length === 0
        ? "unknown"
        : and(...limits.cameras.map((camera) => tri(state.camerasOnline[camera])));
    case "notNearSingularity":
      return not(tri(state.nearSingularity));
    case "registered":
      return tri(state.registered);
    case "needleOutOfTissue":
      return tri(state.needleOutOfTissue);
  }
}
