/**
 * What a method takes from its support, laid out for the learner: from a bank its accepted records, from a pool every
 * episode. Refuses support of another task, another version of its vocabulary, or without states, by name.
 */
import { stat } from "node:fs/promises";
import { CellError } from "../../base/errors.js";
import { readBank, type PhaseBank } from "../phase/bank-file.js";
import { compileEpisodes } from "../phase/compiler.js";
import type { Episode } from "../phase/episode.js";
import { openPool, readEpisode, requireTask } from "../phase/support-pool.js";
import { vocabularyHash, type TaskVocabulary } from "../phase/task-vocabulary.js";
import type { Method } from "./methods.js";
import type { BankColumns } from "./native-learner.js";

export interface Support {
  readonly columns: BankColumns;
  /** shaped, sparse, random or recorded. */
  readonly source: string;
  /** Who judged the episodes; absent for a pool. */
  readonly observer?: string;
  readonly episodes: number;
  /** Of the file or pool. */
  readonly sha256: string;
}

export interface StateSizes {
  readonly observationSize: number;
  readonly actionSize: number;
}

/**
 * @throws CellError PHASE_FILE_FOREIGN for support of another task or vocabulary, PHASE_FILE_INVALID for a damaged one or
 *   one without states, COMMAND_INVALID when the method takes another kind of support
 */
export async function loadSupport(
  path: string | undefined,
  method: Method,
  vocabulary: TaskVocabulary,
  sizes: StateSizes,
): Promise<Support | undefined> {
  if (method.support === "none") {
    if (path !== undefined) throw new CellError("COMMAND_INVALID", "this method takes no support");
    return undefined;
  }
  const kind = method.support === "pool" ? "the folder of a support pool" : "a bank file";
  if (path === undefined) throw new CellError("COMMAND_INVALID", `this method needs ${kind} as its support`);
  const isFolder = await stat(path).then(
    (entry) => entry.isDirectory(),
    () => undefined,
  );
  if (isFolder === undefined) throw new CellError("CONFIG_UNREADABLE", `there is no ${path}`);
  if (isFolder !== (method.support === "pool"))
    throw new CellError("COMMAND_INVALID", `${path} is not ${kind}, which this method needs`);
  return isFolder
    ? fromPool(path, vocabulary, sizes)
    : fromBank(path, await readBank(path), method, vocabulary, sizes);
}

function column(file: string, bank: PhaseBank, name: string, width: number): Float64Array {
  const values = bank.columns.get(name);
  if (values === undefined) {
    throw new CellError(
      "PHASE_FILE_INVALID",
      `${file} holds no ${name}: its pool was recorded without states`,
    );
  }
  if (values.length !== width * bank.header.transitions) {
    throw new CellError(
      "PHASE_FILE_FOREIGN",
      `${file}: ${name} has ${values.length / bank.header.transitions} values, the task has ${width}`,
    );
  }
  return values;
}

function fromBank(
  file: string,
  bank: PhaseBank,
  method: Method,
  vocabulary: TaskVocabulary,
  { observationSize, actionSize }: StateSizes,
): Support {
  const { header } = bank;
  requireTask(vocabulary, header.task, file);
  if (header.vocabularySha256 !== vocabularyHash(vocabulary)) {
    throw new CellError(
      "PHASE_FILE_FOREIGN",
      `${file} was compiled with another version of the vocabulary of ${vocabulary.task}`,
    );
  }
  if (method.support === "oracle-bank" && header.observer !== "oracle") {
    throw new CellError(
      "COMMAND_INVALID",
      `${file} was judged by ${header.observer}, this method needs an oracle`,
    );
  }
  if (method.reward === "credited" && header.constants.spread !== "arrival") {
    throw new CellError("COMMAND_INVALID", `${file} was compiled without arrivals (spread: episode)`);
  }
  const signal = signalOf(file, bank, method);
  return {
    columns: {
      observations: Float32Array.from(column(file, bank, "observation", observationSize)),
      actions: Float32Array.from(column(file, bank, "action", actionSize)),
      nextObservations: Float32Array.from(column(file, bank, "nextObservation", observationSize)),
      terminals: Uint8Array.from(column(file, bank, "terminal", 1)),
      ...signal,
    },
    source: header.source,
    observer: header.observer,
    episodes: header.accepted.length,
    sha256: bank.sha256,
  };
}

/** Rewards, weights and probabilities as the method has them. */
function signalOf(
  file: string,
  bank: PhaseBank,
  method: Method,
): Pick<BankColumns, "rewards" | "weights" | "probabilities"> {
  const { header } = bank;
  const rewards = Float64Array.from(
    column(file, bank, method.reward === "credited" ? "reward" : "environmentReward", 1),
  );
  let weights = column(file, bank, "weight", 1);
  let probabilities = column(file, bank, "probability", 1);
  if (method.reward === "final") {
    for (const { firstRow, steps, credit } of header.accepted) {
      const last = firstRow + steps - 1;
      rewards[last] = (rewards[last] ?? 0) + credit;
    }
  }
  if (method.reward === "spread") {
    const compiled = compileEpisodes(
      header.accepted.map(({ firstRow, steps, rank, arrival }) => ({
        rank,
        arrival,
        rewards: [...rewards.subarray(firstRow, firstRow + steps)],
      })),
      { ...header.constants, spread: "episode" },
    );
    header.accepted.forEach(({ firstRow }, index) => {
      const result = compiled[index];
      if (result !== undefined) rewards.set(result.credited, firstRow);
    });
    probabilities = Float64Array.from(compiled.flatMap(({ probability }) => [...probability]));
  }
  if (method.weights === "one") weights = new Float64Array(header.transitions).fill(1);
  if (method.sampling === "uniform") probabilities = new Float64Array(header.transitions).fill(1);
  return { rewards: Float32Array.from(rewards), weights: Float32Array.from(weights), probabilities };
}

async function fromPool(
  folder: string,
  vocabulary: TaskVocabulary,
  { observationSize, actionSize }: StateSizes,
): Promise<Support> {
  const pool = await openPool(folder);
  requireTask(vocabulary, pool.manifest.task, folder);
  const episodes: Episode[] = [];
  for (const { id } of pool.manifest.episodes) episodes.push(await readEpisode(pool, vocabulary, id));
  const observed = (episode: Episode): readonly (readonly number[])[] =>
    states(episode, episode.observations, observationSize, "observation");
  const flat = (rows: (episode: Episode) => readonly (readonly number[])[]): Float32Array =>
    Float32Array.from(episodes.flatMap((episode) => rows(episode).flat()));
  const rewards = Float32Array.from(episodes.flatMap((episode) => episode.rewards));
  return {
    columns: {
      observations: flat((episode) => observed(episode).slice(0, -1)),
      actions: flat((episode) => states(episode, episode.actions, actionSize, "action")),
      nextObservations: flat((episode) => observed(episode).slice(1)),
      rewards,
      terminals: Uint8Array.from(episodes.flatMap(({ terminal }) => terminal.map(Number))),
      weights: new Float32Array(rewards.length).fill(1),
      probabilities: new Float64Array(rewards.length).fill(1),
    },
    source: pool.manifest.source,
    episodes: episodes.length,
    sha256: pool.sha256,
  };
}

function states(
  episode: Episode,
  rows: readonly (readonly number[])[] | undefined,
  width: number,
  what: string,
): readonly (readonly number[])[] {
  if (rows === undefined)
    throw new CellError("PHASE_FILE_INVALID", `episode ${episode.id} was recorded without states`);
  const odd = rows.find((row) => row.length !== width);
  if (odd !== undefined) {
    throw new CellError(
      "PHASE_FILE_FOREIGN",
      `episode ${episode.id}: an ${what} has ${odd.length} values, the task has ${width}`,
    );
  }
  return rows;
}
