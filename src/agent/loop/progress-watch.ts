/**
 * Notices that the procedure goes in circles. The loop keeps no dialogue history and each decision rests on one
 * observation, so that a skill which fails without changing anything would be chosen for ever.
 */
import { canonicalJson } from "../../record/canonical-json.js";
import type { Conditions } from "../safety/conditions.js";
import { Skill, type SkillName } from "../safety/skill-names.js";
import type { SkillOutcome } from "../skills/skill.js";
import type { ProgressLimits } from "./ports.js";

export class ProgressWatch {
  private last: { readonly skill: SkillName; readonly state: string } | undefined;
  private sameRuns = 0;
  private sameFailures = 0;
  private lastDetail = "";
  private fewestTargets = Number.POSITIVE_INFINITY;
  private runs = 0;
  private failures = 0;

  constructor(private readonly limits: ProgressLimits) {}

  /**
   * Why the skill should not be tried once more on this state, or undefined when it may run, which is then noted.
   * A stop is always worth running.
   */
  obstacle(skill: SkillName, conditions: Conditions, targetsLeft: number | "unknown"): string | undefined {
    if (skill === Skill.stop) return undefined;
    if (typeof targetsLeft === "number" && targetsLeft < this.fewestTargets) {
      this.fewestTargets = targetsLeft;
      this.runs = 0;
      this.failures = 0;
    }
    const state = canonicalJson({ conditions, targetsLeft });
    if (this.last?.skill !== skill || this.last.state !== state) {
      this.last = { skill, state };
      this.sameRuns = 0;
      this.sameFailures = 0;
    }
    const { limits } = this;
    const end = this.lastDetail === "" ? "" : `: ${this.lastDetail}`;
    if (this.sameFailures >= limits.sameFailures) {
      return `${skill} failed ${this.sameFailures} times in a row without changing the state${end}`;
    }
    if (this.sameRuns >= limits.sameRuns) {
      return `${skill} ran ${this.sameRuns} times in a row without changing the state${end}`;
    }
    if (this.failures >= limits.failuresPerTarget) {
      return `${this.failures} skills failed and no target was implanted; the last${end}`;
    }
    if (this.runs >= limits.runsPerTarget) {
      return `${this.runs} skills ran and no target was implanted; the last${end}`;
    }
    this.sameRuns++;
    this.runs++;
    return undefined;
  }

  /** Notes how the skill ended. */
  ended(outcome: SkillOutcome): void {
    this.lastDetail = outcome.detail;
    if (outcome.status === "succeeded") {
      this.sameFailures = 0;
    } else {
      this.sameFailures++;
      this.failures++;
    }
  }

  /** A person has looked: every count begins anew. */
  forgive(): void {
    this.last = undefined;
    this.sameRuns = 0;
    this.sameFailures = 0;
    this.runs = 0;
    this.failures = 0;
  }
}
