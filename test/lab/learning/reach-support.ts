/** Support of the point-reach worlds: a pool, and banks compiled from replies that know the truth. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { writeBank } from "../../../src/lab/phase/bank-file.js";
import { compileBank } from "../../../src/lab/phase/compile-bank.js";
import { publishedConstants, type CompilerConstants } from "../../../src/lab/phase/compiler.js";
import type { Episode } from "../../../src/lab/phase/episode.js";
import type { RecordLine } from "../../../src/lab/phase/record-store.js";
import { writePool, type SupportPool } from "../../../src/lab/phase/support-pool.js";
import {
  taskVocabulary,
  vocabularyHash,
  type TaskVocabulary,
} from "../../../src/lab/phase/task-vocabulary.js";
import { reachTask } from "./point-reach.js";

export interface ReachSupport {
  readonly folder: string;
  readonly pool: SupportPool;
  readonly vocabulary: TaskVocabulary;
  /** Compiles and writes a bank; returns its path. */
  bank(name: string, observer: string, constants?: CompilerConstants): Promise<string>;
}

/** Success at its last step, or nothing. */
function truthOf({ rewards, terminal }: Episode): object {
  const last = rewards.length - 1;
  return terminal[last] === true
    ? { phase: "stable success", arrival: [last, last], confidence: 1 }
    : { phase: "clear failure", arrival: null, confidence: 1 };
}

export async function makeReachSupport(episodes: readonly Episode[]): Promise<ReachSupport> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-reach-"));
  const vocabulary = await taskVocabulary(reachTask);
  const pool = await writePool(path.join(folder, "pool"), { task: reachTask, source: "shaped" }, episodes);
  const bank = async (name: string, observer: string, constants = publishedConstants): Promise<string> => {
    const lines = episodes.map((episode): RecordLine => ({
      format: "surgiclaw.phase-record/1",
      episode: episode.id,
      task: reachTask,
      vocabularySha256: vocabularyHash(vocabulary),
      poolSha256: pool.sha256,
      observer,
      form: "steps",
      reply: JSON.stringify(truthOf(episode)),
      finishReason: "stop",
      askedAt: "2026-01-01T00:00:00.000Z",
    }));
    const file = path.join(folder, name);
    const { header, columns } = await compileBank(pool, vocabulary, lines, constants);
    await writeBank(file, header, columns);
    return file;
  };
  return { folder, pool, vocabulary, bank };
}
