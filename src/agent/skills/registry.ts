/** The seven skills by name. Complete by construction: a missing, foreign or doubled one is a configuration error. */
import { CellError } from "../../base/errors.js";
import { skillNames, type SkillName } from "../safety/skill-names.js";
import type { SkillProgram } from "./skill.js";

export class SkillRegistry {
  private readonly programs = new Map<SkillName, SkillProgram>();

  /** @throws CellError CONFIG_INVALID unless `programs` holds each of the seven exactly once. */
  constructor(programs: readonly SkillProgram[]) {
    for (const program of programs) {
      if (!skillNames.includes(program.name)) {
        throw new CellError("CONFIG_INVALID", `there is no skill named ${program.name as string}`);
      }
      if (this.programs.has(program.name)) {
        throw new CellError("CONFIG_INVALID", `skill ${program.name} is registered twice`);
      }
      if (!(program.timeLimitS > 0 && Number.isFinite(program.timeLimitS))) {
        throw new CellError("CONFIG_INVALID", `skill ${program.name} has no finite time limit`);
      }
      this.programs.set(program.name, program);
    }
    const missing = skillNames.filter((name) => !this.programs.has(name));
    if (missing.length > 0) {
      throw new CellError("CONFIG_INVALID", `skills without a program: ${missing.join(", ")}`);
    }
  }

  get(name: SkillName): SkillProgram {
    const program = this.programs.get(name);
    if (program === undefined) throw new CellError("INTERNAL", `skill ${name} has no program`);
    return program;
  }

  all(): readonly SkillProgram[] {
    return skillNames.map((name) => this.get(name));
  }
}
