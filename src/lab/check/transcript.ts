/**
 * Golden transcripts: what a device of a protocol must answer, as data in firmware-profiles/transcripts/. A transcript only
 * asks; nothing in it moves anything. It is replayed against a live link and compared step by step.
 */
import { readdirSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { loadYaml } from "../../base/yaml-file.js";
import { profileFolder } from "../../cell/profile.js";

const step = z.strictObject({
  /** What is checked, as one sentence without a period. */
  what: z.string().min(1),
  /** The request; left out where the device speaks first. */
  send: z.string().optional(),
  /** Text: a regular expression for each line of the reply. Hexadecimal: pairs of digits, `..` for any byte. */
  expect: z.union([z.string(), z.array(z.string())]),
  /** The device streams: what is expected is how it begins. */
  more: z.boolean().default(false),
});

const transcriptSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/),
  description: z.string().min(1),
  /** Where the forms come from. */
  source: z.string().min(1),
  encoding: z.enum(["text", "hex"]),
  /** Text: sent before each request, on the links named; and after it. */
  before: z.strictObject({ bytes: z.string(), on: z.enum(["serial", "tcp"]) }).optional(),
  after: z.string().default(""),
  steps: z.array(step).min(1),
});

export type Transcript = z.output<typeof transcriptSchema>;
export type TranscriptStep = z.output<typeof step>;

const folder = path.join(profileFolder, "transcripts");

/** Names of the transcripts that ship. */
export const transcriptNames = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => name.slice(0, -".yaml".length))
    .sort();

/** Loads a transcript by its name, or a file. @throws CellError PROFILE_INVALID naming file, key, what was expected */
export async function loadTranscript(nameOrPath: string): Promise<Transcript> {
  const file = /[/.]/.test(nameOrPath) ? nameOrPath : path.join(folder, `${nameOrPath}.yaml`);
  const { value } = await loadYaml(file, transcriptSchema, {
    unreadable: "PROFILE_INVALID",
    invalid: "PROFILE_INVALID",
  });
  for (const one of value.steps) expectation(value, one, file);
  return value;
}

/** How many bytes or lines the reply to a step has, and whether one fits. */
export interface Expectation {
  /** Text: lines. Hexadecimal: bytes. */
  readonly count: number;
  readonly fits: (part: string, index: number) => boolean;
  readonly shown: string;
}

/** @throws CellError PROFILE_INVALID for a pattern that is none */
export function expectation(
  { encoding }: Transcript,
  { what, expect }: TranscriptStep,
  file = "",
): Expectation {
  const parts = Array.isArray(expect) ? expect : [expect];
  if (encoding === "hex") {
    const pairs = parts.join(" ").split(/\s+/);
    if (!pairs.every((pair) => /^[0-9a-f.]{2}$/.test(pair)))
      throw new CellError("PROFILE_INVALID", `${file}: "${what}": ${pairs.join(" ")} are no pairs of digits`);
    const patterns = pairs.map((pair) => new RegExp(`^${pair}$`));
    return {
      count: pairs.length,
      fits: (part, i) => patterns[i]?.test(part) === true,
      shown: pairs.join(" "),
    };
  }
  try {
    const patterns = parts.map((part) => new RegExp(`^(?:${part})$`));
    return {
      count: parts.length,
      fits: (part, i) => patterns[i]?.test(part) === true,
      shown: parts.join(" | "),
    };
  } catch (error) {
    throw new CellError("PROFILE_INVALID", `${file}: "${what}": ${String(error)}`, { cause: error });
  }
}
