/**
 * One entry of the audit chain: a line of canonical JSON whose hash covers everything else in it, and which names the
 * hash of the entry before. The chain shows later change; it does not show a false entry at the time of writing, nor a
 * tail cut off cleanly, unless compared with a checkpoint kept elsewhere.
 */
import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical-json.js";

export interface AuditEntry {
  /** 1, 2, 3, … within the file. */
  readonly seq: number;
  /** Which chain: the name of the recording. */
  readonly stream: string;
  /** Monotonic seconds: order and ages. */
  readonly monotonicS: number;
  /** ISO 8601, for people. */
  readonly wall: string;
  /** Who: `loop`, `skill`, `operator:NAME`, `log`. */
  readonly actor: string;
  /** What: `decision`, `skill.start`, `skill.stage`, `skill.end`, … */
  readonly action: string;
  readonly data: unknown;
  /** Hash of the entry before, hex; 64 zeros for the first. */
  readonly prev: string;
  /** SHA-256 over the canonical JSON of all of the above, hex. */
  readonly hash: string;
}

export const firstPrev = "0".repeat(64);

/** Actions of the log itself. */
export const logOpened = "log.opened";
export const logClosed = "log.closed";
export const logTailKept = "log.tail_kept";

export function entryHash(entry: Omit<AuditEntry, "hash">): string {
  const { seq, stream, monotonicS, wall, actor, action, data, prev } = entry;
  return createHash("sha256")
    .update(canonicalJson({ seq, stream, monotonicS, wall, actor, action, data, prev }))
    .digest("hex");
}

/** The entry with its hash, and its line without the newline. */
export function sealEntry(body: Omit<AuditEntry, "hash">): {
  readonly entry: AuditEntry;
  readonly line: string;
} {
  const entry = { ...body, hash: entryHash(body) };
  return { entry, line: canonicalJson(entry) };
}

/** A line back as an entry, or why it is none. Any byte changed inside a line shows here. */
export function readEntry(line: string): { readonly entry: AuditEntry } | { readonly why: string } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { why: "it is not JSON" };
  }
  if (!isEntry(value)) return { why: "fields are missing or of the wrong type" };
  if (canonicalJson(value) !== line) return { why: "it is not in canonical form" };
  if (entryHash(value) !== value.hash) return { why: "its content does not match its hash" };
  return { entry: value };
}

function isEntry(value: unknown): value is AuditEntry {
  if (typeof value !== "object" || value === null) return false;
  const entry = value as Record<string, unknown>;
  return (
    Number.isSafeInteger(entry["seq"]) &&
    typeof entry["monotonicS"] === "number" &&
    ["stream", "wall", "actor", "action", "prev", "hash"].every((key) => typeof entry[key] === "string") &&
    Object.keys(entry).length === 9 &&
    "data" in entry
  );
}
