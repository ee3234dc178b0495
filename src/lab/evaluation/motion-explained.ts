/** Does the audit log explain every motion that the twin saw? Pure. */
import type { AuditEntry } from "../../record/audit-entry.js";
import type { TruthMotion } from "./truth-client.js";

interface Interval {
  readonly fromS: number;
  readonly toS: number;
}

/** Clocks are one, but encoders notice a motion a little late and standstill later, s. */
const slackS = 0.35;

/**
 * Spans in which the log says that something may move: from a durable start of a skill (or of the daemon's own setting
 * up) to its end, and after a stop or a guardian's act until rest.
 */
export function explainedIntervals(entries: readonly AuditEntry[]): Interval[] {
  const result: Interval[] = [];
  let openS: number | undefined;
  for (const entry of entries) {
    if (entry.action === "skill.start" || entry.action === "cell.motion.start") openS ??= entry.monotonicS;
    else if (entry.action === "skill.end" || entry.action === "cell.motion.end") {
      if (openS !== undefined) result.push({ fromS: openS, toS: entry.monotonicS });
      openS = undefined;
    } else if (
      entry.action === "stop.latched" ||
      entry.action === "guardian.acted" ||
      entry.action === "operator.stop"
    )
      result.push({ fromS: entry.monotonicS - 1, toS: entry.monotonicS + 1 });
  }
  // A daemon that was killed: its last skill ends with the motion that the guardian stopped.
  if (openS !== undefined) result.push({ fromS: openS, toS: (entries.at(-1)?.monotonicS ?? openS) + 1 });
  return result;
}

/** Motions since the first entry that no interval covers. */
export function explainMotions(
  motions: readonly TruthMotion[],
  entries: readonly AuditEntry[],
): TruthMotion[] {
  const beginS = entries[0]?.monotonicS ?? Infinity;
  const intervals = explainedIntervals(entries);
  return motions.filter((motion) => {
    if (motion.startS < beginS) return false;
    const endS = motion.endS ?? motion.startS;
    return !intervals.some(({ fromS, toS }) => motion.startS >= fromS - slackS && endS <= toS + slackS);
  });
}
