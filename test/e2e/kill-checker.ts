/**
 * The checker of the kill campaign. It knows neither daemon nor loop: it reads what the twin saw, the audit logs and the
 * guardian's log, and says what cannot be explained.
 */
import { readdir } from "node:fs/promises";
import path from "node:path";
import { actsOf, type GuardianLine } from "../../src/lab/evaluation/guardian-log.js";
import { explainMotions } from "../../src/lab/evaluation/motion-explained.js";
import type { TruthMotion } from "../../src/lab/evaluation/truth-client.js";
import type { AuditEntry } from "../../src/record/audit-entry.js";
import { readAuditLog } from "../../src/record/audit-verify.js";

export interface History {
  readonly motions: readonly TruthMotion[];
  readonly guardian: readonly GuardianLine[];
  /** Passages of the needle through the tissue's surface, oldest first. */
  readonly passages: readonly string[];
}

/** Entries of every recording of a folder in order of time, and what does not verify. A line that a death tore is no fault. */
export async function readRecords(
  folder: string,
): Promise<{ readonly entries: readonly AuditEntry[]; readonly faults: readonly string[] }> {
  const names = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const entries: AuditEntry[] = [];
  const faults: string[] = [];
  for (const { name } of names.sort((a, b) => a.name.localeCompare(b.name))) {
    const file = path.join(folder, name, "audit.jsonl");
    const reading = await readAuditLog(file).catch(() => undefined);
    if (reading === undefined) continue;
    const torn = reading.tornBytes > 0 && reading.why.includes("cut in the middle");
    if (!reading.ok && !torn) faults.push(`${name}: ${reading.why}`);
    entries.push(...reading.good);
  }
  return { entries, faults };
}

/** Every violation, in words; empty when all is explained. */
export function violations(entries: readonly AuditEntry[], history: History): readonly string[] {
  return [...executions(entries), ...unexplained(entries, history), ...needleLeft(history)];
}

/** A skill starts once, on a decision that is in the log before it and allowed this very skill. */
function executions(entries: readonly AuditEntry[]): string[] {
  const decided = new Map<string, string | null>();
  const started = new Set<string>();
  const found: string[] = [];
  for (const { action, data, seq, stream } of entries) {
    const { decisionId, allowed, skill } = data as { decisionId: string; allowed?: boolean; skill: string };
    if (action === "decision") decided.set(decisionId, allowed === true ? skill : null);
    if (action !== "skill.start") continue;
    const where = `${stream} entry ${seq}`;
    if (decided.get(decisionId) !== skill) found.push(`${where}: ${skill} started without a decision for it`);
    if (started.has(decisionId)) found.push(`${where}: ${decisionId} was carried out twice`);
    started.add(decisionId);
  }
  return found;
}

function unexplained(entries: readonly AuditEntry[], { motions, guardian }: History): string[] {
  const firstS = entries[0]?.monotonicS ?? Infinity;
  const early = motions.filter(({ startS }) => startS < firstS);
  return [...early, ...explainMotions(motions, entries, actsOf(guardian))].map(
    ({ device, axis, startS, endS }) =>
      `${device} ${axis} moved from ${startS.toFixed(2)} to ${endS?.toFixed(2) ?? "now"} s: nothing on record explains it`,
  );
}

const needleLeft = ({ passages }: History): string[] =>
  passages.length === 0 || passages.at(-1) === "left-tissue" ? [] : ["the needle was left in the tissue"];
