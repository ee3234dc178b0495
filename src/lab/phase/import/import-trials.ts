/**
 * Recorded trials (a table of kinematics and files of labels each) as a support pool with its reference. Only every
 * n-th row is kept, so that a step of the episode is as long as a control step of a learner.
 */
import { readdir } from "node:fs/promises";
import path from "node:path";
import { asCellError, CellError } from "../../../base/errors.js";
import { episodeFormat, readBytes, type Episode } from "../episode.js";
import { writeReference, type Arrivals } from "../phase-reference.js";
import { writePool, type SupportPool } from "../support-pool.js";
import type { TaskVocabulary } from "../task-vocabulary.js";
import { actionBetween, layouts, parseTable, type LayoutName } from "./kinematics-table.js";
import { parseIntervals, type LabelInterval } from "./label-intervals.js";
import { gestureArrivals, pegTransferArrivals, type GestureMap } from "./phase-arrivals.js";

export interface ImportOptions {
  readonly layout: LayoutName;
  /** Folder with one table a trial; its name without extension names the trial everywhere. */
  readonly kinematics: string;
  /** Folder of motion primitives (Peg Transfer). */
  readonly primitives?: string;
  /** Folder of gestures; with `primitives` only their flags are used. */
  readonly gestures?: string;
  /** What the gestures mean, where there are no primitives. */
  readonly gestureMap?: GestureMap;
  /** Rows a step. */
  readonly stride: number;
}

export interface ImportResult {
  readonly pool: SupportPool;
  readonly referenceFile: string;
  readonly imported: readonly string[];
  /** Trials that were left out, and why. */
  readonly refused: readonly { readonly trial: string; readonly reason: string }[];
}

/** Lengths of one trial's files may differ by this share; beyond it they count frames of different rates. */
const lengthTolerance = 0.05;

/** @throws CellError PHASE_FILE_INVALID when no trial is left, CONFIG_UNREADABLE */
export async function importTrials(
  folder: string,
  vocabulary: TaskVocabulary,
  options: ImportOptions,
): Promise<ImportResult> {
  const trials = await filesByTrial(options.kinematics);
  const primitives = await filesByTrial(options.primitives);
  const gestures = await filesByTrial(options.gestures);
  const episodes: Episode[] = [];
  const arrivals: Record<string, Arrivals> = {};
  const refused: { trial: string; reason: string }[] = [];
  for (const [trial, file] of trials) {
    try {
      const one = await importTrial(
        trial,
        file,
        primitives.get(trial),
        gestures.get(trial),
        vocabulary,
        options,
      );
      episodes.push(one.episode);
      arrivals[trial] = one.arrivals;
    } catch (error) {
      const known = asCellError(error);
      if (known.category !== "configuration") throw known;
      refused.push({ trial, reason: known.detail });
    }
  }
  if (episodes.length === 0) {
    const first = refused[0];
    const why = first === undefined ? "" : `; ${first.trial}: ${first.reason}`;
    throw new CellError("PHASE_FILE_INVALID", `${options.kinematics}: no trial could be imported${why}`);
  }
  const note = `imported from ${options.layout} tables, every ${options.stride}. row`;
  const pool = await writePool(folder, { task: vocabulary.task, source: "recorded", note }, episodes);
  const referenceFile = path.join(folder, "reference.json");
  await writeReference(referenceFile, vocabulary, arrivals);
  return { pool, referenceFile, imported: episodes.map(({ id }) => id), refused };
}

async function importTrial(
  trial: string,
  file: string,
  primitiveFile: string | undefined,
  gestureFile: string | undefined,
  vocabulary: TaskVocabulary,
  options: ImportOptions,
): Promise<{ episode: Episode; arrivals: Arrivals }> {
  const layout = layouts[options.layout];
  const rows = parseTable(file, (await readBytes(file)).toString("utf8"), layout);
  const labels = async (from: string | undefined): Promise<LabelInterval[]> =>
    from === undefined ? [] : parseIntervals(from, (await readBytes(from)).toString("utf8"));
  const primitives = await labels(primitiveFile);
  const gestures = await labels(gestureFile);
  const ends: [string, number][] = [
    ["kinematics", rows.length - 1],
    ...[["primitives", primitives] as const, ["gestures", gestures] as const].flatMap(
      ([name, list]): [string, number][] =>
        list.length === 0 ? [] : [[name, Math.max(...list.map(({ end }) => end))]],
    ),
  ];
  const longest = Math.max(...ends.map(([, end]) => end));
  if (ends.some(([, end]) => end < longest * (1 - lengthTolerance))) {
    const said = ends.map(([name, end]) => `${name} at frame ${end}`).join(", ");
    throw new CellError(
      "PHASE_FILE_INVALID",
      `the files end apart: ${said}; do they count at the same rate?`,
    );
  }
  const frames = arrivalFrames(primitives, gestures, vocabulary, options);
  const { stride } = options;
  const kept = rows.filter((_, index) => index % stride === 0);
  const steps = kept.length - 1;
  if (steps < 1) throw new CellError("PHASE_FILE_INVALID", `${rows.length} rows are no step of ${stride}`);
  // Step t ends at row (t + 1) * stride: the first that ends at or after the frame reached the phase.
  const stepOf = (frame: number): number => Math.min(steps - 1, Math.max(0, Math.ceil(frame / stride) - 1));
  const last = vocabulary.phases.at(-1)?.label ?? "";
  const arrivals = Object.fromEntries(Object.entries(frames).map(([label, frame]) => [label, stepOf(frame)]));
  const succeeded = arrivals[last];
  const episode: Episode = {
    format: episodeFormat,
    id: trial,
    task: vocabulary.task,
    // Sparse, as an environment would have given it.
    rewards: Array.from({ length: steps }, (_, step) => (step === succeeded ? 1 : 0)),
    terminal: new Array<boolean>(steps).fill(false),
    observations: kept,
    actions: kept.slice(1).map((row, index) => actionBetween(kept[index] ?? row, row, layout)),
  };
  return { episode, arrivals };
}

function arrivalFrames(
  primitives: readonly LabelInterval[],
  gestures: readonly LabelInterval[],
  vocabulary: TaskVocabulary,
  options: ImportOptions,
): Arrivals {
  if (primitives.length > 0) {
    if (vocabulary.task !== "PegTransfer") {
      throw new CellError(
        "COMMAND_INVALID",
        `motion primitives are read for PegTransfer, not ${vocabulary.task}`,
      );
    }
    return pegTransferArrivals(primitives, gestures);
  }
  if (gestures.length > 0 && options.gestureMap !== undefined) {
    return gestureArrivals(gestures, options.gestureMap, vocabulary);
  }
  throw new CellError(
    "PHASE_FILE_INVALID",
    "the trial has no labels: neither primitives nor mapped gestures",
  );
}

/** Trial -> file. */
async function filesByTrial(folder: string | undefined): Promise<Map<string, string>> {
  if (folder === undefined) return new Map();
  const names = await readdir(folder).catch((error: unknown) => {
    throw new CellError("CONFIG_UNREADABLE", `${folder} cannot be read`, { cause: error });
  });
  const files = names.filter((name) => /\.(csv|txt|tsv)$/i.test(name)).sort();
  return new Map(files.map((name) => [path.parse(name).name, path.join(folder, name)]));
}
