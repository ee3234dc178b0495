/**
 * The whole judgement of one reply at one moment: how it arrived, its form, and the gate. The loop makes the same checks at
 * the two moments when they fall due; this is their sum, for tools and tests that have everything at hand.
 */
import { judge, type GateLimits, type JudgeContext, type PrerequisiteReason } from "./gate.js";
import { parseReply } from "./parse-reply.js";
import type { ConditionId } from "./conditions.js";
import type { SkillName } from "./skill-names.js";
import { checkTransport, type ReplyMetadata } from "./transport-check.js";
import type { CellState, Observation, Reason } from "./types.js";

export interface ReplyVerdict {
  readonly allowed: boolean;
  /** Null when the reply names no single legal skill. */
  readonly skill: SkillName | null;
  /** Empty exactly when allowed. */
  readonly reasons: readonly (Reason | PrerequisiteReason)[];
  /** Prerequisites marked V that are not known to hold. */
  readonly violations: readonly ConditionId[];
}

/**
 * Total: it never throws.
 * @param nowS monotonic seconds, of the clock of the observation
 * @param metadata undefined: nothing is known about how the reply arrived, and only text and gate are judged
 */
export function judgeReply(
  nowS: number,
  reply: string | Uint8Array,
  metadata: ReplyMetadata | undefined,
  observation: Observation,
  freshState: CellState,
  limits: GateLimits,
  context: JudgeContext = {},
): ReplyVerdict {
  const transport = metadata === undefined ? [] : checkTransport(nowS, metadata, observation, limits);
  const parsed = parseReply(reply);
  if (!parsed.ok)
    return { allowed: false, skill: null, reasons: [...transport, parsed.reason], violations: [] };
  const { skill } = parsed.proposal;
  const verdict = judge(nowS, parsed.proposal, observation, freshState, limits, context);
  const reasons = [...transport, ...verdict.reasons];
  return { allowed: reasons.length === 0, skill, reasons, violations: verdict.violations };
}
