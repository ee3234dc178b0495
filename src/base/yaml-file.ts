/**
 * YAML files checked against a zod schema, with errors that a person can act on: file, line, key path, what was
 * expected (type, unit, range) and, for an unknown key, the nearest known one.
 */
import { readFile } from "node:fs/promises";
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document } from "yaml";
import { z } from "zod";
import { CellError, type ErrorCode } from "./errors.js";
import { describeKey, schemaAt } from "./schema-keys.js";

export type KeyPath = readonly PropertyKey[];

/** One thing wrong with a file. */
export interface Problem {
  /** As in `devices.microscopes[1].frameRate`; empty for the file as a whole. */
  readonly path: string;
  readonly line?: number;
  readonly message: string;
}

/** `["a", "b", 1, "c"]` as `a.b[1].c`. */
export function formatPath(path: KeyPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, "");
}

/** Edits (insert, delete, substitute) between two short words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitute, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The known word a person most likely meant, or nothing when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, edits: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= Math.max(2, Math.floor(word.length / 3))
    ? best.candidate
    : undefined;
}

/** Line of the key (or list entry) at `path`, as far down as the document goes. */
function lineAt(document: Document, lines: LineCounter, path: KeyPath): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === part);
      if (pair === undefined) break;
      if (isScalar(pair.key) && pair.key.range) offset = pair.key.range[0];
      node = pair.value;
    } else if (isSeq(node) && typeof part === "number") {
      node = node.items[part];
      if (isMap(node) && node.range) offset = node.range[0];
    } else break;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

function valueAt(data: unknown, path: KeyPath): unknown {
  return path.reduce<unknown>((value, part) => {
    if (typeof value !== "object" || value === null) return undefined;
    return (value as Record<PropertyKey, unknown>)[part];
  }, data);
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "number") return String(value);
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** The issues of zod as problems; `lineOf` may be left out for data that has no lines. */
export function explainIssues(
  error: z.ZodError,
  schema: z.ZodType,
  data: unknown,
  lineOf: (path: KeyPath) => number | undefined = () => undefined,
): Problem[] {
  const problem = (path: KeyPath, message: string): Problem => {
    const line = lineOf(path);
    return { path: formatPath(path), message, ...(line === undefined ? {} : { line }) };
  };
  return error.issues.flatMap((issue) => {
    const at = schemaAt(schema, issue.path);
    if (issue.code === "unrecognized_keys") {
      const known = at instanceof z.ZodObject ? Object.keys(at.shape) : [];
      return issue.keys.map((key) => {
        const meant = nearest(key, known);
        const hint = meant === undefined ? `known here: ${known.join(", ")}` : `did you mean "${meant}"?`;
        return problem([...issue.path, key], `unknown key; ${hint}`);
      });
    }
    if ((issue.code === "too_small" || issue.code === "too_big") && issue.origin === "array") {
      const bound = issue.code === "too_small" ? issue.minimum : issue.maximum;
      const word = issue.exact === true ? "" : issue.code === "too_small" ? "at least " : "at most ";
      const count = (valueAt(data, issue.path) as readonly unknown[]).length;
      return [problem(issue.path, `expected ${word}${bound} entries, got ${count}`)];
    }
    if (issue.code === "custom") return [problem(issue.path, issue.message)];
    const value = valueAt(data, issue.path);
    const expected = at === undefined ? issue.message : `expected ${describeKey(at)}`;
    return [
      problem(issue.path, value === undefined ? `missing; ${expected}` : `${expected}, got ${shown(value)}`),
    ];
  });
}

export type Checked<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problems: readonly Problem[] };

/** Parses YAML text and checks it. Aliases are refused: a file says what it means where it stands. */
export function checkYaml<S extends z.ZodType>(text: string, schema: S): Checked<z.output<S>> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false });
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => ({
      path: "",
      line: lines.linePos(error.pos[0]).line,
      message: error.message,
    }));
    return { ok: false, problems };
  }
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: 0 });
  } catch {
    return { ok: false, problems: [{ path: "", message: "aliases are not allowed here" }] };
  }
  const result = schema.safeParse(data ?? {});
  if (result.success) return { ok: true, value: result.data };
  const lineOf = (path: KeyPath): number | undefined => lineAt(document, lines, path);
  const problems = explainIssues(result.error, schema, data, lineOf);
  return { ok: false, problems: problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)) };
}

/** `file:line: path: message`, one problem a line. */
export function formatProblems(file: string, problems: readonly Problem[]): string {
  return problems
    .map(({ path, line, message }) => {
      const place = line === undefined ? file : `${file}:${line}`;
      return path === "" ? `${place}: ${message}` : `${place}: ${path}: ${message}`;
    })
    .join("\n");
}

/** @throws CellError `unreadable` when the file cannot be read, `invalid` with every problem it has. */
export async function loadYaml<S extends z.ZodType>(
  file: string,
  schema: S,
  codes: { readonly unreadable: ErrorCode; readonly invalid: ErrorCode },
): Promise<{ readonly value: z.output<S>; readonly text: string }> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new CellError(
      codes.unreadable,
      `${file}: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
  const checked = checkYaml(text, schema);
  if (!checked.ok) throw new CellError(codes.invalid, formatProblems(file, checked.problems));
  return { value: checked.value, text };
}
