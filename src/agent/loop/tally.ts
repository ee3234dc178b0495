/** What a run is counted by. */
import type { ConditionId } from "../safety/conditions.js";
import type { ReasonCode } from "../safety/types.js";
import type { Reason } from "../safety/types.js";
import type { Verdict } from "../safety/gate.js";

export interface LoopCounts {
  /** Observations that led to a decision, allowed or refused. */
  readonly cycles: number;
  readonly skillsRun: number;
  readonly skillsFailed: number;
  readonly refused: number;
  /** Refusals per reason code; a refusal with several codes counts once under each. */
  readonly refusals: Readonly<Partial<Record<ReasonCode, number>>>;
  /** Proposals that would have violated a prerequisite marked V; all of them were refused. */
  readonly blockedViolations: number;
  /** The same by the letter of the published metric. */
  readonly literalViolations: number;
  readonly violationsByCondition: Readonly<Partial<Record<ConditionId, number>>>;
  readonly confirmations: number;
  readonly takeovers: number;
  readonly stops: number;
}

export class Tally {
  cycles = 0;
  skillsRun = 0;
  skillsFailed = 0;
  confirmations = 0;
  takeovers = 0;
  stops = 0;
  private refused = 0;
  private blockedViolations = 0;
  private literalViolations = 0;
  private readonly refusals: Partial<Record<ReasonCode, number>> = {};
  private readonly violationsByCondition: Partial<Record<ConditionId, number>> = {};

  refuse(reasons: readonly Reason[]): void {
    this.refused++;
    for (const code of new Set(reasons.map((reason) => reason.code))) {
      this.refusals[code] = (this.refusals[code] ?? 0) + 1;
    }
  }

  judged(verdict: Verdict): void {
    if (verdict.violations.length > 0) this.blockedViolations++;
    if (verdict.literalViolations.length > 0) this.literalViolations++;
    for (const condition of verdict.violations) {
      this.violationsByCondition[condition] = (this.violationsByCondition[condition] ?? 0) + 1;
    }
  }

  counts(): LoopCounts {
    const { cycles, skillsRun, skillsFailed, refused, blockedViolations, literalViolations } = this;
    const { confirmations, takeovers, stops } = this;
    return {
      cycles,
      skillsRun,
      skillsFailed,
      refused,
      refusals: { ...this.refusals },
      blockedViolations,
      literalViolations,
      violationsByCondition: { ...this.violationsByCondition },
      confirmations,
      takeovers,
      stops,
    };
  }
}
