/**
 * The one table of skill names. No other file of the program spells one: code refers to a skill by its role here, and a
 * test holds that wall. Any two names differ by at least three edits and none is a prefix of another, so that no slip of
 * a single byte can turn one into another.
 */
export const Skill = {
  registration: "SPATIAL_REGISTRATION",
  align: "ALIGN_NEEDLE",
  insert: "INSERT",
  focus: "ADJUST_FOCUS",
  exposure: "ADJUST_EXPOSURE",
  recover: "RECOVER",
  stop: "SAFE_STOP",
} as const;

export type SkillRole = keyof typeof Skill;
export type SkillName = (typeof Skill)[SkillRole];

/** The seven names, in the column order of the prerequisite table. */
export const skillNames: readonly SkillName[] = Object.values(Skill);

const names: ReadonlySet<string> = new Set(skillNames);

/** Byte-equal to one of the seven: no case folding, no trimming, no guessing. */
export const isSkillName = (text: string): text is SkillName => names.has(text);
