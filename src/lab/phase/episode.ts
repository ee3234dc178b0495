/**
 * A recorded episode of a task, as every part of phase feedback reads it.
 *
 * Step t (0 to T-1) is one control step: state o[t], action a[t], reward r[t] received for it. Times and frames belong
 * to the end of their step, so the frame at which a phase is first seen names the step that reached it, and no arrival
 * lies outside the T transitions.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { explainIssues, formatProblems } from "../../base/yaml-file.js";

export const episodeFormat = "surgiclaw.phase-episode/1";

/** Names of episodes become names of files. */
export const episodeId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/);

const vectors = z.array(z.array(z.number()).min(1)).min(1);

const frameSchema = z.strictObject({
  step: z.int().min(0),
  /** PNG, JPEG or bare pixels, relative to the folder of the pool. */
  file: z.string().min(1).max(300),
});

export const episodeSchema = z
  .strictObject({
    format: z.literal(episodeFormat),
    id: episodeId,
    task: z.string().min(1),
    /** r[t] from the environment: sparse. */
    rewards: z.array(z.number()).min(1),
    /** Whether step t ended the episode for good; a time limit does not. */
    terminal: z.array(z.boolean()).min(1),
    /** o[0] to o[T]: one more than there are steps. Left out where only video was recorded. */
    observations: vectors.optional(),
    /** a[0] to a[T-1]. */
    actions: vectors.optional(),
    /** Recorded end of each step, s, on a clock of the episode's own. */
    stepTimesS: z.array(z.number()).min(1).optional(),
    frames: z.array(frameSchema).optional(),
    /** When the frames are bare pixels instead of picture files: their size; RGB or grey, 8 bits, row-major. */
    rawFrames: z.strictObject({ width: z.int().min(1), height: z.int().min(1) }).optional(),
  })
  .superRefine((episode, context) => {
    const steps = episode.rewards.length;
    const fault = (key: string, message: string): void =>
      context.addIssue({ code: "custom", path: [key], message });
    const length = (key: string, list: readonly unknown[] | undefined, wanted: number): void => {
      if (list !== undefined && list.length !== wanted) {
        fault(key, `expected ${wanted} entries for ${steps} steps, got ${list.length}`);
      }
    };
    length("terminal", episode.terminal, steps);
    length("observations", episode.observations, steps + 1);
    length("actions", episode.actions, steps);
    length("stepTimesS", episode.stepTimesS, steps);
    if ((episode.observations === undefined) !== (episode.actions === undefined)) {
      fault("actions", "observations and actions are recorded both or not at all");
    }
    const uneven = (list: readonly (readonly number[])[] | undefined): boolean =>
      list?.some((entry) => entry.length !== list[0]?.length) === true;
    if (uneven(episode.observations)) fault("observations", "entries differ in length");
    if (uneven(episode.actions)) fault("actions", "entries differ in length");
    if (episode.terminal.slice(0, -1).includes(true)) fault("terminal", "the episode goes on after its end");
    if (!rising(episode.stepTimesS ?? [])) fault("stepTimesS", "times must rise");
    const shown = (episode.frames ?? []).map(({ step }) => step);
    if (!rising(shown)) fault("frames", "steps must rise");
    if (shown.some((step) => step >= steps)) fault("frames", `there are ${steps} steps, counted from 0`);
  });

export type Episode = z.infer<typeof episodeSchema>;

const rising = (list: readonly number[]): boolean =>
  list.every((value, index) => index === 0 || value > (list[index - 1] ?? 0));

/** T. */
export const stepCount = (episode: Episode): number => episode.rewards.length;

/**
 * The step during which `timeS` fell, by the recorded times alone: the first step that ended at or after it.
 * Undefined after the last step. A time before the first step's end belongs to step 0.
 */
export function stepAtTime(stepTimesS: readonly number[], timeS: number): number | undefined {
  const step = stepTimesS.findIndex((end) => end >= timeS);
  return step < 0 ? undefined : step;
}

/** Reads and checks JSON that one of our commands wrote. @throws CellError CONFIG_UNREADABLE, PHASE_FILE_INVALID */
export function parseJsonFile<S extends z.ZodType>(file: string, text: string, schema: S): z.output<S> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new CellError("PHASE_FILE_INVALID", `${file}: not JSON`, { cause: error });
  }
  const result = schema.safeParse(data);
  if (!result.success) {
    const problems = explainIssues(result.error, schema, data).slice(0, 10);
    throw new CellError("PHASE_FILE_INVALID", formatProblems(file, problems));
  }
  return result.data;
}

/** The bytes of a file. @throws CellError CONFIG_UNREADABLE */
export async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new CellError(
      "CONFIG_UNREADABLE",
      `${file}: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}
