/** The settings of a run as the command begins it: the task's, the published constants, and what was asked for. */
import { CellError } from "../../base/errors.js";
import type { MethodName } from "./methods.js";
import type { RunSettings } from "./run-file.js";
import { publishedUpdates, taskSettings } from "./task-settings.js";

/** What a person may choose. */
export interface RunChoices {
  readonly updates?: number;
  readonly warmStart?: number;
  readonly pointEvery?: number;
  readonly evaluationEpisodes?: number;
  /** Width of both hidden layers. */
  readonly width?: number;
  readonly batch?: number;
  readonly gamma?: number;
  readonly bootstrapAtDone?: boolean;
  readonly binomialMix?: boolean;
}

/** Network width is ours to choose and is said beside results: 128 takes a third of the time of 256. */
const usual = { width: 128, warmStart: 5000, points: 24, evaluationEpisodes: 48, environments: 8 } as const;

/** @throws CellError COMMAND_INVALID for a choice out of range */
export function runSettings(
  task: string,
  method: MethodName,
  seed: number,
  choices: RunChoices = {},
): RunSettings {
  const { gamma, bootstrapAtDone, transitions } = taskSettings(task);
  const whole = (name: string, value: number, low: number, high: number): number => {
    if (!Number.isInteger(value) || value < low || value > high)
      throw new CellError(
        "COMMAND_INVALID",
        `${name} must be a whole number from ${low} to ${high}, not ${value}`,
      );
    return value;
  };
  const updates = whole("updates", choices.updates ?? publishedUpdates, 1, 10_000_000);
  const width = whole("width", choices.width ?? usual.width, 16, 1024);
  const pointEvery = choices.pointEvery ?? Math.max(1, Math.ceil(updates / usual.points));
  const discount = choices.gamma ?? gamma;
  if (!(discount >= 0 && discount < 1)) throw new CellError("COMMAND_INVALID", `gamma must lie in [0, 1)`);
  const episodes = whole("episodes", choices.evaluationEpisodes ?? usual.evaluationEpisodes, 1, 100_000);
  return {
    task,
    method,
    seed: whole("seed", seed, 0, Number.MAX_SAFE_INTEGER),
    updates,
    warmStart: whole("warm start", choices.warmStart ?? usual.warmStart, 0, 10_000_000),
    environments: usual.environments,
    transitionsPer: { transitions, updates: publishedUpdates },
    collectFirst: 1000,
    pointEvery: whole("point every", pointEvery, 1, updates),
    evaluationEpisodes: Math.ceil(episodes / usual.environments) * usual.environments,
    hidden: [width, width],
    batch: whole("batch", choices.batch ?? 256, 1, 65_536),
    gamma: discount,
    bootstrapAtDone: choices.bootstrapAtDone ?? bootstrapAtDone,
    bankFraction: 0.6,
    binomialMix: choices.binomialMix ?? false,
    cloningWeight: 0.6,
    qFilter: true,
    temperature: 0.01,
  };
}
