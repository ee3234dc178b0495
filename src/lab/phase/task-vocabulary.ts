/**
 * The vocabulary of a learning task: what it is, and the ordered phases of an attempt with one visual rule each. Every
 * label maps to a rank that all tasks share, so that one credit table serves them all. Vocabularies are data
 * (`tasks/*.yaml`); this file says what makes one valid.
 */
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { projectRoot } from "../../base/paths.js";
import { loadYaml } from "../../base/yaml-file.js";
import { canonicalJson } from "../../record/canonical-json.js";

/** What the shared ranks mean, 0 to 5. */
export const rankNames = ["none", "approach", "grasp", "lift", "at-goal", "success"] as const;
export const highestRank = rankNames.length - 1;

const oneLine = z
  .string()
  .trim()
  .min(1)
  .max(400)
  .regex(/^[^\n]*$/);

const phaseSchema = z.strictObject({
  /** As the observer must spell it. */
  label: z.string().regex(/^[a-z][a-z/ -]{0,39}$/),
  rank: z.int().min(0).max(highestRank),
  /** What must be seen for this phase to count as reached. */
  rule: oneLine,
});

/** A part of the full view, as shares of its width and height. */
const cropSchema = z
  .strictObject({
    name: z.string().regex(/^[a-z][a-z -]{0,11}$/),
    x: z.number().min(0).max(1),
    y: z.number().min(0).max(1),
    width: z.number().gt(0).max(1),
    height: z.number().gt(0).max(1),
  })
  .refine(({ x, y, width, height }) => x + width <= 1 + 1e-9 && y + height <= 1 + 1e-9, {
    error: "the crop reaches beyond the view",
  });

export const vocabularySchema = z
  .strictObject({
    task: z.string().regex(/^[A-Z][A-Za-z]{2,39}$/),
    /**
     * published: labels and horizon are published; named: only the name is; inferred: a task of the published dozen
     * whose name is not given, our guess; own: not of the published dozen.
     */
    origin: z.enum(["published", "named", "inferred", "own"]),
    role: z.enum(["policy", "breadth", "cell"]),
    description: oneLine,
    /** Control steps of the longest episode. */
    horizon: z.int().min(1).max(100_000),
    /** Episodes of a support pool, for the tasks that have one. */
    supportEpisodes: z.int().min(1).optional(),
    phases: z.array(phaseSchema).min(2).max(12),
    crops: z.array(cropSchema).max(2),
  })
  .superRefine(({ phases, crops }, context) => {
    const fault = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: "custom", path, message });
    const first = phases[0];
    if (first !== undefined && first.rank !== 0) {
      fault(["phases", 0, "rank"], `the first phase has rank 0, not ${first.rank}`);
    }
    phases.forEach(({ label, rank }, index) => {
      const before = phases[index - 1];
      if (before !== undefined && rank < before.rank) {
        fault(
          ["phases", index, "rank"],
          `ranks never fall: "${label}" has ${rank} after "${before.label}" with ${before.rank}`,
        );
      }
      if (phases.findIndex((phase) => phase.label === label) !== index) {
        fault(["phases", index, "label"], `"${label}" stands twice`);
      }
    });
    if (new Set(crops.map(({ name }) => name)).size !== crops.length) fault(["crops"], "a crop stands twice");
  });

export type TaskVocabulary = z.infer<typeof vocabularySchema>;
export type Phase = TaskVocabulary["phases"][number];
export type Crop = TaskVocabulary["crops"][number];

export const vocabularyFolder = path.join(projectRoot, "tasks");

/** Position of a label in the order of phases, or -1. */
export const phaseIndex = (vocabulary: TaskVocabulary, label: string): number =>
  vocabulary.phases.findIndex((phase) => phase.label === label);

/** The shared rank of a label. @throws CellError PHASE_FILE_FOREIGN when the task has no such label */
export function rankOf(vocabulary: TaskVocabulary, label: string): number {
  const phase = vocabulary.phases[phaseIndex(vocabulary, label)];
  if (phase === undefined) {
    throw new CellError("PHASE_FILE_FOREIGN", `${vocabulary.task} has no phase "${label}"`);
  }
  return phase.rank;
}

/** Names a vocabulary by its content: a bank or record made with another one is told apart. */
export const vocabularyHash = (vocabulary: TaskVocabulary): string =>
  createHash("sha256").update(canonicalJson(vocabulary)).digest("hex");

/** Reads and checks one vocabulary file. @throws CellError CONFIG_UNREADABLE, PHASE_FILE_INVALID */
export async function loadVocabulary(file: string): Promise<TaskVocabulary> {
  const codes = { unreadable: "CONFIG_UNREADABLE", invalid: "PHASE_FILE_INVALID" } as const;
  return (await loadYaml(file, vocabularySchema, codes)).value;
}

/** Every vocabulary of a folder, by task; a task may stand in one file only. */
export async function loadVocabularies(
  folder = vocabularyFolder,
): Promise<ReadonlyMap<string, TaskVocabulary>> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".yaml")).sort();
  const all = new Map<string, TaskVocabulary>();
  for (const name of files) {
    const vocabulary = await loadVocabulary(path.join(folder, name));
    if (all.has(vocabulary.task)) {
      throw new CellError(
        "PHASE_FILE_INVALID",
        `${path.join(folder, name)}: ${vocabulary.task} stands twice`,
      );
    }
    all.set(vocabulary.task, vocabulary);
  }
  return all;
}

/** A shipped task by its name. @throws CellError COMMAND_INVALID when there is none */
export async function taskVocabulary(task: string): Promise<TaskVocabulary> {
  const all = await loadVocabularies();
  const found = all.get(task);
  if (found === undefined) {
    throw new CellError("COMMAND_INVALID", `there is no task ${task}`, {
      remedy: `one of ${[...all.keys()].join(", ")}`,
    });
  }
  return found;
}
