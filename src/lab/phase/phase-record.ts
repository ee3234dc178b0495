/**
 * What an observer says about one episode: the furthest phase seen at any time, a bracket around its first arrival, and
 * a confidence. A reply is one JSON object and nothing else. Nothing is repaired: an unknown label, a key too many or
 * too few, a bracket that is not one, and the reply is invalid.
 *
 * Two forms: `steps` brackets the arrival of the furthest phase in step numbers; `seconds`, for real video, gives the
 * time of first arrival of every phase, which becomes a bracket of width zero.
 */
import { z } from "zod";
import { stepAtTime } from "./episode.js";
import type { TaskVocabulary } from "./task-vocabulary.js";

export const recordForms = ["steps", "seconds"] as const;
export type RecordForm = (typeof recordForms)[number];

export interface PhaseRecord {
  /** A label of the task. */
  readonly phase: string;
  /** First arrival in steps, both ends included; null where it cannot be told. */
  readonly arrival: readonly [number, number] | null;
  /** 0 to 1, as the observer says; used by the gate alone. */
  readonly confidence: number;
}

export type ParsedRecord =
  { readonly ok: true; readonly record: PhaseRecord } | { readonly ok: false; readonly reason: string };

/** Longest reply that is looked at; 400 tokens are far below. */
const longestReply = 8192;

const confidence = z.number().min(0).max(1);
const stepsReply = z.strictObject({
  phase: z.string(),
  arrival: z.tuple([z.int(), z.int()]).nullable(),
  confidence,
});
const secondsReply = z.strictObject({
  arrivals: z.record(z.string(), z.number().min(0).nullable()),
  confidence,
});

const no = (reason: string): ParsedRecord => ({ ok: false, reason });

/**
 * A key that stands twice means two answers, and JSON.parse would silently take the last. Strings are skipped whole, so
 * that what stands inside them counts for nothing.
 */
function hasDoubleKey(text: string): boolean {
  const open: Set<string>[] = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token.endsWith(":")) {
      const name = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)) as string;
      const keys = open.at(-1);
      if (keys?.has(name) === true) return true;
      keys?.add(name);
    }
  }
  return false;
}

/** Parses one reply. `stepTimesS` (recorded ends of the steps) is needed for the form in seconds. */
export function parseRecord(
  text: string,
  vocabulary: TaskVocabulary,
  form: RecordForm,
  stepTimesS: readonly number[] = [],
): ParsedRecord {
  if (text.length > longestReply) return no(`longer than ${longestReply} characters`);
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return no("not one JSON value");
  }
  if (hasDoubleKey(text)) return no("a key stands twice");
  return form === "steps" ? fromSteps(data, vocabulary) : fromSeconds(data, vocabulary, stepTimesS);
}

function fromSteps(data: unknown, vocabulary: TaskVocabulary): ParsedRecord {
  const parsed = stepsReply.safeParse(data);
  if (!parsed.success) return no(firstIssue(parsed.error));
  const { phase, arrival } = parsed.data;
  const index = vocabulary.phases.findIndex(({ label }) => label === phase);
  if (index < 0) return no(`unknown phase ${JSON.stringify(phase).slice(0, 60)}`);
  if (index === 0 && arrival !== null) return no(`"${phase}" has no arrival`);
  if (arrival !== null && arrival[0] > arrival[1]) return no(`the bracket ends before it begins`);
  return { ok: true, record: parsed.data };
}

function fromSeconds(data: unknown, vocabulary: TaskVocabulary, stepTimesS: readonly number[]): ParsedRecord {
  const parsed = secondsReply.safeParse(data);
  if (!parsed.success) return no(firstIssue(parsed.error));
  const { arrivals, confidence: certain } = parsed.data;
  const [none, ...reachable] = vocabulary.phases.map(({ label }) => label);
  const unknown = Object.keys(arrivals).find((label) => !reachable.includes(label));
  if (unknown !== undefined) return no(`unknown phase ${JSON.stringify(unknown).slice(0, 60)}`);
  const missing = reachable.find((label) => !Object.hasOwn(arrivals, label));
  if (missing !== undefined) return no(`"${missing}" is missing`);
  let furthest = none ?? "";
  let atS: number | null = null;
  for (const label of reachable) {
    const time = arrivals[label] ?? null;
    if (time === null) continue;
    if (atS !== null && time < atS) return no(`"${label}" arrives before an earlier phase`);
    furthest = label;
    atS = time;
  }
  if (atS === null) return { ok: true, record: { phase: furthest, arrival: null, confidence: certain } };
  const step = stepAtTime(stepTimesS, atS);
  if (step === undefined) return no(`${atS} s lies after the recorded steps`);
  return { ok: true, record: { phase: furthest, arrival: [step, step], confidence: certain } };
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "not a record";
  return issue.path.length === 0 ? issue.message : `${issue.path.map(String).join(".")}: ${issue.message}`;
}
