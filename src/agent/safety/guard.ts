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

export type Invariant = GuardedCondition | "stateFresh";

export interface GuardRule {
  /** What is looked at, and how often at least, for people. */
  readonly source: string;
  /** From where on it counts as lost. */
  readonly limit: string;
  /** What must be so before the gate permits the skill again; nothing resumes by itself. */
  readonly clear: string;
}

/** Every look judges all of them: with each sample of the arm (125 Hz on a CB3), and every 20 ms whatever reports. */
export const guardRules: Readonly<Record<Invariant, GuardRule>> = {
  stateFresh: {
    source: "age of the arm's newest sample",
    limit: "older than 1 s",
    clear: "samples come again",
  },
  noStopLatched: {
    source: "the arm's safety state (125 Hz), the stop latch",
    limit: "any stop, or unknown",
    clear: "every stop is released, and a person has reset",
  },
  selfCheckPassed: {
    source: "the arbiter of faults (every 20 ms)",
    limit: "any fault that refuses or stops",
    clear: "the fault's own clear condition, or an override where its rule permits one",
  },
  camerasOnline: {
    source: "time since each camera's newest frame",
    limit: "loop.frameMaxAgeS (1 s)",
    clear: "all cameras deliver",
  },
  notNearSingularity: {
    source: "the arm's joints (125 Hz)",
    limit: "a measure below 0.12",
    clear: "all measures above 0.144",
  },
  registered: {
    source: "the session's registration",
    limit: "dropped, by a restarted camera or lost positions",
    clear: "a registration within its limits",
  },
  needleOutOfTissue: {
    source: "the session's account of the stroke",
    limit: "inside, or unknown",
    clear: "the needle is withdrawn",
  },
};

export interface GuardLimits {
  readonly cameras: readonly string[];
  /** Oldest state that still says something about a running skill, s. */
  readonly stateAgeS: number;
}

export interface LostInvariant {
  readonly condition: Invariant;
  /** What was lost, and what it takes until the skill may run again. */
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
      detail: `the cell state is ${age.toFixed(3)} s old, limit ${limits.stateAgeS} s; until ${guardRules.stateFresh.clear}`,
    };
  }
  for (const condition of watched) {
    const value = guarded(condition, state, limits);
    if (value !== true) {
      const how = value === false ? "no longer so" : "no longer known";
      const detail = `${skill} requires that ${conditionText[condition]}: ${how}; until ${guardRules[condition].clear}`;
      return { condition, detail };
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
