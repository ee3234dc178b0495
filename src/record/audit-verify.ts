/** Verification of an audit log: the exact entry that was altered, removed, swapped or cut, and why we say so. */
import { readFile } from "node:fs/promises";
import { firstPrev, logClosed, readEntry, type AuditEntry } from "./audit-entry.js";

export interface AuditVerdict {
  readonly ok: boolean;
  /** Entries that verify, from the beginning. */
  readonly entries: number;
  /** Sequence number of the first bad entry, null when all verify. */
  readonly firstBad: number | null;
  readonly why: string;
  /** Hash of the last good entry. */
  readonly head: string;
  /** Whether the log ends with its closing entry; without it a cleanly cut tail needs a checkpoint to be seen. */
  readonly closed: boolean;
  /** Bytes after the last newline, left by a crash in the middle of a write. */
  readonly tornBytes: number;
}

/** A head noted earlier, kept where the log's owner cannot change it. */
export interface AuditCheckpoint {
  readonly seq: number;
  readonly hash: string;
}

export interface AuditReading extends AuditVerdict {
  readonly good: readonly AuditEntry[];
  /** Length in bytes of the good entries, newlines included. */
  readonly goodBytes: number;
}

/** Hashing is sliced so that the event loop is never held long. */
const entriesPerSlice = 100;
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export async function verifyAuditLog(
  file: string,
  ...checkpoints: readonly AuditCheckpoint[]
): Promise<AuditVerdict> {
  const { ok, entries, firstBad, why, head, closed, tornBytes } = await readAuditLog(file, ...checkpoints);
  return { ok, entries, firstBad, why, head, closed, tornBytes };
}

/** The verdict together with the entries that verify. */
export async function readAuditLog(
  file: string,
  ...checkpoints: readonly AuditCheckpoint[]
): Promise<AuditReading> {
  const text = await readFile(file, "utf8");
  const lines = text.split("\n");
  const torn = lines.pop() ?? "";
  const good: AuditEntry[] = [];
  let bad: { readonly seq: number; readonly why: string } | undefined;
  for (const [index, line] of lines.entries()) {
    if (index % entriesPerSlice === entriesPerSlice - 1) await nextTurn();
    const read = readEntry(line);
    const expected = good.length + 1;
    const previous = good.at(-1);
    if ("why" in read) {
      bad = { seq: expected, why: `entry ${expected} was altered: ${read.why}` };
    } else if (read.entry.seq !== expected) {
      bad = { seq: expected, why: misplaced(expected, read.entry.seq, lines, index) };
    } else if (previous !== undefined && read.entry.stream !== previous.stream) {
      bad = { seq: expected, why: `entry ${expected} belongs to another log: ${read.entry.stream}` };
    } else if (read.entry.prev !== (previous?.hash ?? firstPrev)) {
      // The entry is whole, so the one before was rewritten together with its own hash.
      const culprit = Math.max(1, expected - 1);
      bad = { seq: culprit, why: `entry ${culprit} was replaced: entry ${expected} follows another hash` };
    }
    if (bad !== undefined || "why" in read) break;
    good.push(read.entry);
  }
  if (bad !== undefined) good.splice(bad.seq - 1);
  bad ??= tornTail(torn, good.length + 1) ?? against(checkpoints, good);
  return {
    ok: bad === undefined,
    entries: good.length,
    firstBad: bad?.seq ?? null,
    why: bad?.why ?? "every entry verifies",
    head: good.at(-1)?.hash ?? firstPrev,
    closed: good.at(-1)?.action === logClosed,
    tornBytes: Buffer.byteLength(torn),
    good,
    goodBytes: lines.slice(0, good.length).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
  };
}

/** Tells a removed entry from swapped ones: is the expected one further down? */
function misplaced(expected: number, found: number, lines: readonly string[], at: number): string {
  if (found < expected) return `entry ${expected} is entry ${found} once more`;
  const later = lines.slice(at + 1).some((line) => {
    const read = readEntry(line);
    return "entry" in read && read.entry.seq === expected;
  });
  return later
    ? `entry ${expected} was swapped: entry ${found} stands in its place`
    : `entry ${expected} was removed: entry ${found} follows entry ${expected - 1}`;
}

function tornTail(torn: string, seq: number): { readonly seq: number; readonly why: string } | undefined {
  if (torn === "") return undefined;
  return { seq, why: `entry ${seq} was cut in the middle: ${Buffer.byteLength(torn)} bytes without an end` };
}

/** The first checkpoint that the log does not bear out; the cut is told by the newest one. */
function against(
  checkpoints: readonly AuditCheckpoint[],
  good: readonly AuditEntry[],
): { readonly seq: number; readonly why: string } | undefined {
  const sorted = checkpoints.filter(({ seq }) => seq > 0).sort((a, b) => a.seq - b.seq);
  const other = sorted.find(({ seq, hash }) => seq <= good.length && good[seq - 1]?.hash !== hash);
  if (other !== undefined)
    return { seq: other.seq, why: `entry ${other.seq} is not the one of the checkpoint` };
  const newest = sorted.at(-1);
  if (newest === undefined || newest.seq <= good.length) return undefined;
  const first = good.length + 1;
  const which = newest.seq === first ? `entry ${first} was` : `entries ${first} to ${newest.seq} were`;
  return { seq: first, why: `${which} cut: a checkpoint knows of them` };
}
