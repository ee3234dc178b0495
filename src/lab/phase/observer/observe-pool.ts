/** Asks an observer about every episode of a pool that has no reply yet: exactly one question each. */
import { CellError } from "../../../base/errors.js";
import { stepCount } from "../episode.js";
import type { RecordForm } from "../phase-record.js";
import type { RecordStore } from "../record-store.js";
import { drawStoryboard } from "../storyboard/storyboard.js";
import { readEpisode, type SupportPool } from "../support-pool.js";
import { vocabularyHash, type TaskVocabulary } from "../task-vocabulary.js";
import { requireRecordsOf } from "../compile-bank.js";
import type { Observer } from "./observer.js";

export interface ObserveOptions {
  readonly form: RecordForm;
  /** Questions in a row without a reply after which the rest is left for another time. */
  readonly patience: number;
  readonly onProgress?: (done: number, total: number, episode: string) => void;
}

export interface ObserveResult {
  readonly asked: number;
  readonly already: number;
  /** Episodes whose question got no reply; they may be asked again. */
  readonly unanswered: readonly string[];
}

/**
 * A reply is kept whatever it says, before the next question. A question without a reply (no server, deadline) leaves
 * no line.
 * @throws CellError PHASE_FILE_FOREIGN when the records are of another pool or observer; OBSERVER_FAILED when `patience`
 *   questions in a row got no reply; LINK_ABORTED
 */
export async function observePool(
  pool: SupportPool,
  vocabulary: TaskVocabulary,
  observer: Observer,
  store: RecordStore,
  options: ObserveOptions,
  signal: AbortSignal,
): Promise<ObserveResult> {
  requireRecordsOf(store.lines, pool, vocabulary);
  const other = store.lines.find((line) => line.observer !== observer.name || line.form !== options.form);
  if (other !== undefined) {
    throw new CellError(
      "PHASE_FILE_FOREIGN",
      `the records hold replies of ${other.observer} (${other.form}), not of ${observer.name} (${options.form})`,
      { remedy: "one file of records for one observer: name another file" },
    );
  }
  const unanswered: string[] = [];
  let asked = 0;
  let inRow = 0;
  const { episodes } = pool.manifest;
  const already = episodes.filter(({ id }) => store.has(id)).length;
  for (const [index, { id }] of episodes.entries()) {
    if (store.has(id)) continue;
    if (signal.aborted) throw new CellError("LINK_ABORTED", "the questions were cancelled");
    const episode = await readEpisode(pool, vocabulary, id);
    if (options.form === "seconds" && episode.stepTimesS === undefined) {
      throw new CellError("PHASE_FILE_INVALID", `episode ${id} has no recorded times`);
    }
    const board = observer.needsPictures ? await drawStoryboard(pool, vocabulary, episode) : undefined;
    const steps = stepCount(episode);
    const { form } = options;
    try {
      const reply = await observer.observe(
        { episode: id, steps, vocabulary, form, ...(board === undefined ? {} : { board }) },
        signal,
      );
      const { text, finishReason, completionTokens, model } = reply;
      await store.append({
        episode: id,
        task: vocabulary.task,
        vocabularySha256: vocabularyHash(vocabulary),
        poolSha256: pool.sha256,
        form,
        observer: observer.name,
        ...(model === undefined ? {} : { model }),
        ...(board === undefined ? {} : { storyboardSha256: board.sha256 }),
        ...(reply.contactSheet === undefined ? {} : { contactSheet: reply.contactSheet }),
        finishReason,
        ...(completionTokens === undefined ? {} : { completionTokens }),
        reply: text,
        askedAt: new Date().toISOString(),
      });
      asked++;
      inRow = 0;
    } catch (error) {
      if (!(error instanceof CellError) || error.code !== "OBSERVER_FAILED") throw error;
      unanswered.push(id);
      inRow++;
      if (inRow >= options.patience) throw error;
    }
    options.onProgress?.(index + 1, episodes.length, id);
  }
  return { asked, already, unanswered };
}
