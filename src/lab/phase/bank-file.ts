/**
 * The frozen phase bank on disk: one line of JSON (what it is made of, which records were accepted or refused and why,
 * which columns follow), then the columns as little-endian float64, row-major, one after the other. The same pool,
 * records, vocabulary and constants give the same bytes.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { canonicalJson } from "../../record/canonical-json.js";
import { replaceFile } from "../../record/durable-file.js";
import { constantsSchema } from "./compiler.js";
import { episodeId, parseJsonFile, readBytes } from "./episode.js";

export const bankFormat = "surgiclaw.phase-bank/1";

const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/);
const bracket = z.tuple([z.int(), z.int()]);

const acceptedSchema = z.strictObject({
  episode: episodeId,
  /** Rows of the columns. */
  firstRow: z.int().min(0),
  steps: z.int().min(1),
  phase: z.string(),
  rank: z.int().min(1),
  arrival: bracket,
  confidence: z.number(),
  /** Middle of the bracket and the window that shares the credit, steps. */
  middle: z.number(),
  window: bracket,
  credit: z.number().min(0),
});

const refusedSchema = z.strictObject({
  episode: episodeId,
  reasons: z.array(z.string()).min(1),
  phase: z.string().optional(),
  arrival: bracket.nullable().optional(),
  confidence: z.number().optional(),
});

const headerSchema = z.strictObject({
  format: z.literal(bankFormat),
  task: z.string(),
  vocabularySha256: sha256Hex,
  poolSha256: sha256Hex,
  source: z.string(),
  /** Of the observer's replies that were compiled. */
  recordsSha256: sha256Hex,
  observer: z.string(),
  constants: constantsSchema,
  transitions: z.int().min(1),
  accepted: z.array(acceptedSchema).min(1),
  refused: z.array(refusedSchema),
  columns: z.array(z.strictObject({ name: z.string(), width: z.int().min(1) })).min(1),
});

export type BankHeader = z.infer<typeof headerSchema>;
export type AcceptedRecord = BankHeader["accepted"][number];
export type RefusedRecord = BankHeader["refused"][number];

/** Columns of every bank; `observation`, `action` and `nextObservation` are there when the pool has them. */
export const bankColumns = ["environmentReward", "reward", "terminal", "weight", "probability"] as const;

export interface PhaseBank {
  readonly header: BankHeader;
  /** By name; `transitions` times the width of the column. */
  readonly columns: ReadonlyMap<string, Float64Array>;
  /** Of header and columns. */
  readonly sha256: string;
}

const sealedSchema = headerSchema.extend({ sha256: sha256Hex });

function digest(header: BankHeader, body: Uint8Array): string {
  return createHash("sha256").update(canonicalJson(header)).update("\n").update(body).digest("hex");
}

/** The bytes of a bank file. */
export function encodeBank(header: BankHeader, columns: ReadonlyMap<string, Float64Array>): Uint8Array {
  const checked = headerSchema.parse(header);
  const total = checked.columns.reduce((sum, { width }) => sum + width * checked.transitions, 0);
  const body = new Uint8Array(total * 8);
  const view = new DataView(body.buffer);
  let at = 0;
  for (const { name, width } of checked.columns) {
    const values = columns.get(name);
    if (values?.length !== width * checked.transitions) {
      throw new CellError("INTERNAL", `column ${name} holds ${values?.length ?? "no"} values`);
    }
    for (const value of values) {
      view.setFloat64(at, value, true);
      at += 8;
    }
  }
  const line = `${canonicalJson({ ...checked, sha256: digest(checked, body) })}\n`;
  return Buffer.concat([Buffer.from(line, "utf8"), body]);
}

/** @throws CellError PHASE_FILE_INVALID when the file is damaged, of another version or not a bank */
export function decodeBank(file: string, bytes: Uint8Array): PhaseBank {
  const end = bytes.indexOf(0x0a);
  const text = new TextDecoder().decode(bytes.subarray(0, Math.max(end, 0)));
  const { sha256, ...header } = parseJsonFile(file, text, sealedSchema);
  const body = bytes.subarray(end + 1);
  const total = header.columns.reduce((sum, { width }) => sum + width * header.transitions, 0);
  if (body.length !== total * 8) {
    throw new CellError(
      "PHASE_FILE_INVALID",
      `${file}: ${body.length} bytes of columns instead of ${total * 8}`,
    );
  }
  if (digest(header, body) !== sha256) {
    throw new CellError("PHASE_FILE_INVALID", `${file}: the content does not fit its hash`);
  }
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const columns = new Map<string, Float64Array>();
  let at = 0;
  for (const { name, width } of header.columns) {
    const values = new Float64Array(width * header.transitions);
    for (const index of values.keys()) values[index] = view.getFloat64(at + index * 8, true);
    columns.set(name, values);
    at += values.length * 8;
  }
  const missing = bankColumns.find((name) => !columns.has(name));
  if (missing !== undefined)
    throw new CellError("PHASE_FILE_INVALID", `${file}: column ${missing} is missing`);
  return { header, columns, sha256 };
}

/** @throws CellError CONFIG_UNREADABLE, PHASE_FILE_INVALID */
export async function readBank(file: string): Promise<PhaseBank> {
  return decodeBank(file, await readBytes(file));
}

export async function writeBank(
  file: string,
  header: BankHeader,
  columns: ReadonlyMap<string, Float64Array>,
): Promise<PhaseBank> {
  const bytes = encodeBank(header, columns);
  await replaceFile(file, bytes);
  return decodeBank(file, bytes);
}
