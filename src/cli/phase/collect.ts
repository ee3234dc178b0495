/** surgiclaw phase collect TASK */
import { access, stat } from "node:fs/promises";
import path from "node:path";
import { InvalidArgumentError, Option, type Command } from "commander";
import { CellError } from "../../base/errors.js";
import { collectPool } from "../../lab/learning/world/collect-pool.js";
import { collectorOf, sources, type Source } from "../../lab/learning/world/collectors.js";
import { taskVocabulary } from "../../lab/phase/task-vocabulary.js";
import { wholeNumber } from "../procedure.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { interruptSignal } from "../shared/follow.js";
import { print, printJson, table, warn } from "../shared/output.js";

interface CollectVerbOptions {
  readonly source: Source;
  readonly policy: readonly string[];
  readonly noise: number;
  readonly episodes?: number;
  readonly seed: number;
  readonly out: string;
  readonly frames: number;
  readonly frameHeight: number;
  readonly json?: boolean;
}

/** A run's folder stands for the policy in it. */
async function policyFile(place: string): Promise<string> {
  const isFolder = await stat(place).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  return isFolder ? path.join(place, "policy.json") : place;
}

function standardDeviation(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0 && value <= 2)) throw new InvalidArgumentError("a number, 0 to 2");
  return value;
}

async function collect(task: string, options: CollectVerbOptions): Promise<void> {
  const { source, seed, out, frames, frameHeight, noise } = options;
  const vocabulary = await taskVocabulary(task);
  const episodes = options.episodes ?? vocabulary.supportEpisodes ?? 60;
  if (episodes < 1 || frames < 2)
    throw new CellError("COMMAND_INVALID", "a pool has one episode or more, and two pictures of each");
  const there = await access(path.join(out, "pool.json")).then(
    () => true,
    () => false,
  );
  if (there) throw new CellError("COMMAND_INVALID", `${out} holds a pool already, and pools are frozen`);
  const policies = await Promise.all(options.policy.map(policyFile));
  const collector = await collectorOf(task, source, policies, noise, seed);
  const result = await collectPool(out, vocabulary, {
    ...{ source, episodes, seed, frames, frameHeight, signal: interruptSignal() },
    ...collector,
    onEpisode: (done, id, phase) => {
      if (options.json !== true && process.stderr.isTTY) warn(`${done}/${episodes} ${id}: ${phase}`);
    },
  });
  const { referenceFile, reached } = result;
  if (options.json === true) {
    printJson({ pool: out, task, source, seed, episodes, reached, reference: referenceFile });
    return;
  }
  print(`${out}: ${episodes} episodes; what was reached: ${referenceFile}`);
  print(
    table(
      ["phase", "episodes", "share"],
      Object.entries(reached).map(([label, count]) => [
        label,
        String(count),
        `${((100 * count) / episodes).toFixed(1)} %`,
      ]),
    ),
  );
}

export function addPhaseCollect(phase: Command): void {
  phase
    .command("collect")
    .description("collect a support pool and its reference in the simulated task")
    .argument("<task>", "as in `surgiclaw phase tasks`")
    .addOption(new Option("--source <name>", "who acts").choices(sources).makeOptionMandatory())
    .requiredOption("--out <folder>", "pool to write")
    .option(
      "--policy <place>",
      "policy.json, or folder of a run by the method that names the source; several take turns",
      (place: string, before: readonly string[]) => [...before, place],
      [] as readonly string[],
    )
    .option("--noise <sigma>", "normal noise on a policy's actions", standardDeviation, 0.1)
    .option("--episodes <n>", "how many (default: as published for the task, else 60)", wholeNumber)
    .option("--seed <n>", "of the episodes and of what acts", wholeNumber, 1)
    .option("--frames <n>", "pictures of an episode, evenly spaced", wholeNumber, 16)
    .option("--frame-height <pixels>", "of the pictures, which are 4:3", wholeNumber, 360)
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw phase collect BlockPick --source shaped --policy runs/policy/BlockPick-shaped-1-0123456789 --out pools/block",
    )
    .action(guarded<[string, CollectVerbOptions]>((_, options) => options.json === true, collect));
}
