/** Do the audit log and the guardian's log explain every motion that the twin saw? Pure. */
import { logOpened, type AuditEntry } from "../../record/audit-entry.js";
import type { TruthMotion } from "./truth-client.js";

interface Interval {
  readonly fromS: number;
  readonly toS: number;
}

/** From a stop, or from the guardian's act, to rest, s. */
const afterStopS = 1;

/** Clocks are one, but encoders notice a motion a little late and standstill later, s. */
const slackS = 0.35;

/**
 * The twin tells two motions of an axis apart by a rest of 50 ms, looked for every 10 ms: what ends with one skill and begins
 * with the next is one motion to it when the decision between them took less, s.
 */
const joinedS = 0.06;

/**
 * Spans in which the log says that something may move: from a durable start of a skill (or of the daemon's own setting
 * up) to its end, and after a stop until rest. Where a log breaks off, with its process, the guardian's log (moments of
 * its acts, monotonic s) says when it stopped what was under way. The entries may be those of several recordings, in order.
 */
export function explainedIntervals(
  entries: readonly AuditEntry[],
  guardianActsS: readonly number[] = [],
): Interval[] {
  const result: Interval[] = [];
  let openS: number | undefined;
  let lastS = 0;
  /** A daemon that was killed: its last skill ends with the motion that the guardian stopped. */
  const brokenOff = (fromS: number, beforeS: number): void => {
    const acts = guardianActsS.filter((atS) => atS >= fromS && atS < beforeS);
    result.push({ fromS, toS: Math.max(lastS, ...acts) + afterStopS });
  };
  for (const entry of entries) {
    if (entry.action === logOpened && openS !== undefined) {
      brokenOff(openS, entry.monotonicS);
      openS = undefined;
    }
    lastS = entry.monotonicS;
    if (entry.action === "skill.start" || entry.action === "cell.motion.start") openS ??= entry.monotonicS;
    else if (entry.action === "skill.end" || entry.action === "cell.motion.end") {
      if (openS !== undefined) result.push({ fromS: openS, toS: entry.monotonicS });
      openS = undefined;
    } else if (
      entry.action === "stop.latched" ||
      entry.action === "guardian.acted" ||
      entry.action === "operator.stop"
    )
      result.push({ fromS: entry.monotonicS - afterStopS, toS: entry.monotonicS + afterStopS });
  }
  if (openS !== undefined) brokenOff(openS, Infinity);
  return result;
}

/** Spans that follow each other within `joinedS` as one; their order is that of the log. */
function joined(intervals: readonly Interval[]): Interval[] {
  const result: Interval[] = [];
  for (const interval of intervals) {
    const last = result.at(-1);
    if (last === undefined || interval.fromS < last.fromS || interval.fromS - last.toS > joinedS)
      result.push(interval);
    else result[result.length - 1] = { fromS: last.fromS, toS: Math.max(last.toS, interval.toS) };
  }
  return result;
}

/** Motions since the first entry that neither log covers. */
export function explainMotions(
  motions: readonly TruthMotion[],
  entries: readonly AuditEntry[],
  guardianActsS: readonly number[] = [],
): TruthMotion[] {
  const beginS = entries[0]?.monotonicS ?? Infinity;
  const intervals = joined(explainedIntervals(entries, guardianActsS));
  return motions.filter((motion) => {
    if (motion.startS < beginS) return false;
    const endS = motion.endS ?? motion.startS;
    return !intervals.some(({ fromS, toS }) => motion.startS >= fromS - slackS && endS <= toS + slackS);
  });
}
