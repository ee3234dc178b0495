/** Reading and writing procedure files, and what their terminal state means. */
import { open, rename } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import { CellError } from "../../base/errors.js";
import { explainIssues, formatProblems, loadYaml } from "../../base/yaml-file.js";
import { procedureSchema, type Procedure } from "./schema.js";

/** What the loop knows when it asks whether a procedure is finished. */
export interface TerminalFacts {
  readonly implanted: ReadonlySet<string>;
  /** Out of tissue and withdrawn, measured; unknown counts as not. */
  readonly needleRetracted: boolean | "unknown";
  readonly still: boolean | "unknown";
}

/** @throws CellError PROCEDURE_UNREADABLE naming file, line and key; also when it was planned on another cell */
export async function loadProcedure(file: string, cell: string): Promise<Procedure> {
  const codes = { unreadable: "PROCEDURE_UNREADABLE", invalid: "PROCEDURE_UNREADABLE" } as const;
  const { value } = await loadYaml(file, procedureSchema, codes);
  if (value.cell !== cell) {
    throw new CellError("PROCEDURE_UNREADABLE", `${file}: cell: expected ${cell}, got ${value.cell}`, {
      remedy: "plan it on this cell with `surgiclaw procedure plan`",
    });
  }
  return value;
}

/** Writes whole or not at all: temporary file, fsync, rename, fsync of the folder. */
export async function saveProcedure(file: string, procedure: Procedure): Promise<void> {
  const checked = procedureSchema.safeParse(procedure);
  if (!checked.success) {
    const problems = explainIssues(checked.error, procedureSchema, procedure);
    throw new CellError(
      "INTERNAL",
      `a procedure was made that does not follow its schema:
${formatProblems(file, problems)}`,
    );
  }
  const temporary = `${file}.${process.pid}.part`;
  const handle = await open(temporary, "w", 0o644);
  try {
    await handle.writeFile(`# Planned by surgiclaw. Read it before it runs.\n${stringify(procedure)}`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  const folder = await open(path.dirname(file), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** True when every target is implanted, the needle is withdrawn and nothing moves. */
export function isTerminal(procedure: Procedure, facts: TerminalFacts): boolean {
  const implanted = procedure.targets.every((target) => facts.implanted.has(target.id));
  return implanted && facts.needleRetracted === true && facts.still === true;
}

export const patchPixels = (patch: { readonly pixels: string }): Uint8Array =>
  new Uint8Array(Buffer.from(patch.pixels, "base64"));
