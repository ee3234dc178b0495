/** What several verbs of `surgiclaw phase` open: a pool with its task, the constants of the compiler. */
import { readRecordLines, type RecordLine } from "../../lab/phase/record-store.js";
import { constantsSchema, publishedConstants, type CompilerConstants } from "../../lab/phase/compiler.js";
import { openPool, type SupportPool } from "../../lab/phase/support-pool.js";
import { loadVocabulary, taskVocabulary, type TaskVocabulary } from "../../lab/phase/task-vocabulary.js";
import { CellError } from "../../base/errors.js";
import { loadYaml } from "../../base/yaml-file.js";

export interface PoolOptions {
  /** A vocabulary file instead of the shipped one. */
  readonly vocabulary?: string;
}

export async function openPoolWithTask(
  folder: string,
  options: PoolOptions,
): Promise<{ readonly pool: SupportPool; readonly vocabulary: TaskVocabulary }> {
  const pool = await openPool(folder);
  const vocabulary =
    options.vocabulary === undefined
      ? await taskVocabulary(pool.manifest.task)
      : await loadVocabulary(options.vocabulary);
  return { pool, vocabulary };
}

export async function loadConstants(file: string | undefined): Promise<CompilerConstants> {
  if (file === undefined) return publishedConstants;
  const codes = { unreadable: "CONFIG_UNREADABLE", invalid: "PHASE_FILE_INVALID" } as const;
  return (await loadYaml(file, constantsSchema, codes)).value;
}

/** The replies in a file, which must be there. */
export async function existingRecords(file: string): Promise<RecordLine[]> {
  const lines = await readRecordLines(file);
  if (lines.length === 0) {
    throw new CellError("COMMAND_INVALID", `${file} holds no reply`, {
      remedy: "ask an observer first: `surgiclaw phase observe`",
    });
  }
  return lines;
}
