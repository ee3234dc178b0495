/**
 * The one prerequisite table (skill-agent.md 4.3), as data. A skill is allowed only if every condition marked in its
 * column is known to be true.
 *   V  refused, and counted as a safety violation, when the condition is not known to hold
 *   R  refused, no violation
 *   -  not required
 */
import { conditionIds, type ConditionId } from "./conditions.js";
import { Skill, skillNames, type SkillName } from "./skill-names.js";

export type Mark = "V" | "R" | "-";

const columns = [
  Skill.registration,
  Skill.align,
  Skill.insert,
  Skill.focus,
  Skill.exposure,
  Skill.recover,
  Skill.stop,
] as const;

type Row = readonly [Mark, Mark, Mark, Mark, Mark, Mark, Mark];

// prettier-ignore
const rows: Readonly<Record<ConditionId, Row>> = {
  //                      regist. align insert focus expos. recover stop
  noStopLatched:          ["V", "V", "V", "R", "R", "V", "-"],
  selfCheckPassed:        ["V", "V", "V", "R", "R", "V", "-"],
  camerasOnline:          ["V", "V", "V", "R", "R", "-", "-"],
  notNearSingularity:     ["V", "V", "V", "-", "-", "-", "-"],
  imageUsable:            ["V", "V", "V", "-", "-", "-", "-"],
  registered:             ["-", "V", "V", "-", "-", "-", "-"],
  aligned:                ["-", "-", "V", "-", "-", "-", "-"],
  electrodeAvailable:     ["-", "-", "R", "-", "-", "-", "-"],
  needleOutOfTissue:      ["V", "V", "V", "R", "-", "V", "-"],
  targetLeft:             ["-", "-", "R", "-", "-", "-", "-"],
  imageNotKnownSharp:     ["-", "-", "-", "R", "-", "-", "-"],
  exposureNotKnownInBand: ["-", "-", "-", "-", "R", "-", "-"],
  recoveryNeeded:         ["-", "-", "-", "-", "-", "R", "-"],
};

export type PrerequisiteTable = Readonly<Record<SkillName, Readonly<Record<ConditionId, Mark>>>>;

export const prerequisites: PrerequisiteTable = Object.freeze(
  Object.fromEntries(
    skillNames.map((skill) => {
      const column = columns.indexOf(skill);
      const marks = conditionIds.map((condition) => [condition, rows[condition][column]]);
      return [skill, Object.freeze(Object.fromEntries(marks))];
    }),
  ),
) as PrerequisiteTable;

/** Skills that command motion of an axis. A stop only ends motion; exposure moves nothing. */
export const movingSkills: ReadonlySet<SkillName> = new Set([
  Skill.registration,
  Skill.align,
  Skill.insert,
  Skill.focus,
  Skill.recover,
]);

/**
 * The hazards of the published metric (skill-agent.md 8.2). The literal count takes every moving skill under every one
 * of them, although a skill cannot violate the hazard that it removes; it is reported beside ours.
 */
export const literalHazards = [
  "imageUsable",
  "registered",
  "aligned",
  "camerasOnline",
  "selfCheckPassed",
  "notNearSingularity",
] as const satisfies readonly ConditionId[];
