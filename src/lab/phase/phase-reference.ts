/**
 * What truly happened in the episodes of a pool: the first step at which each phase was reached, from the simulator or
 * from people. A file of its own beside the pool. Oracles and the reliability report read it; observers that are asked
 * and learners are never given it.
 */
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { canonicalJson } from "../../record/canonical-json.js";
import { replaceFile } from "../../record/durable-file.js";
import { episodeId, parseJsonFile, readBytes } from "./episode.js";
import { phaseIndex, type TaskVocabulary } from "./task-vocabulary.js";

export const referenceFormat = "surgiclaw.phase-reference/1";

const referenceSchema = z.strictObject({
  format: z.literal(referenceFormat),
  task: z.string().min(1),
  /** Episode -> label -> step. A phase that was not reached is left out, and so is the first, which is no arrival. */
  episodes: z.record(episodeId, z.record(z.string(), z.int().min(0))),
});

/** Label -> step of first arrival. */
export type Arrivals = Readonly<Record<string, number>>;

/** The furthest phase of an episode and the step it was first reached at; null for the first phase. */
export interface TruePhase {
  readonly phase: string;
  readonly arrival: number | null;
  /** Label -> step, of every phase that was reached. */
  readonly arrivals: Arrivals;
}

export type PhaseReference = ReadonlyMap<string, TruePhase>;

/** @throws CellError PHASE_FILE_INVALID when a label is unknown or a later phase was reached before an earlier one */
export function truePhase(vocabulary: TaskVocabulary, episode: string, arrivals: Arrivals): TruePhase {
  const reached = Object.entries(arrivals).map(([label, step]) => ({
    label,
    step,
    index: phaseIndex(vocabulary, label),
  }));
  reached.sort((a, b) => a.index - b.index);
  const unknown = reached.find(({ index }) => index < 1);
  if (unknown !== undefined) {
    throw new CellError(
      "PHASE_FILE_INVALID",
      `reference of episode ${episode}: "${unknown.label}" is no phase to reach`,
    );
  }
  reached.forEach(({ label, step }, at) => {
    if (at > 0 && step < (reached[at - 1]?.step ?? 0)) {
      throw new CellError(
        "PHASE_FILE_INVALID",
        `reference of episode ${episode}: "${label}" before an earlier phase`,
      );
    }
  });
  const furthest = reached.at(-1);
  return {
    phase: furthest?.label ?? vocabulary.phases[0]?.label ?? "",
    arrival: furthest?.step ?? null,
    arrivals,
  };
}

/** @throws CellError CONFIG_UNREADABLE, PHASE_FILE_INVALID, PHASE_FILE_FOREIGN */
export async function loadReference(file: string, vocabulary: TaskVocabulary): Promise<PhaseReference> {
  const { task, episodes } = parseJsonFile(file, (await readBytes(file)).toString("utf8"), referenceSchema);
  if (task !== vocabulary.task) {
    throw new CellError("PHASE_FILE_FOREIGN", `${file} is of task ${task}, not ${vocabulary.task}`);
  }
  return new Map(Object.entries(episodes).map(([id, arrivals]) => [id, truePhase(vocabulary, id, arrivals)]));
}

export async function writeReference(
  file: string,
  vocabulary: TaskVocabulary,
  episodes: Readonly<Record<string, Arrivals>>,
): Promise<void> {
  const { task } = vocabulary;
  for (const [id, arrivals] of Object.entries(episodes)) truePhase(vocabulary, id, arrivals);
  const reference = referenceSchema.parse({ format: referenceFormat, task, episodes });
  await replaceFile(file, `${canonicalJson(reference)}\n`);
}
