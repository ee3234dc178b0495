/** surgiclaw phase collect TASK */
import { access } from "node:fs/promises";
import path from "node:path";
import { Option, type Command } from "commander";
import { CellError } from "../../base/errors.js";
import { collectPool, randomActor } from "../../lab/learning/world/collect-pool.js";
import { taskVocabulary } from "../../lab/phase/task-vocabulary.js";
import { wholeNumber } from "../procedure.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { interruptSignal } from "../shared/follow.js";
import { print, printJson, table, warn } from "../shared/output.js";

interface CollectVerbOptions {
  readonly source: "random";
  readonly episodes?: number;
  readonly seed: number;
  readonly out: string;
  readonly frames: number;
  readonly frameHeight: number;
  readonly json?: boolean;
}

async function collect(task: string, options: CollectVerbOptions): Promise<void> {
  const { source, seed, out, frames, frameHeight } = options;
  const vocabulary = await taskVocabulary(task);
  const episodes = options.episodes ?? vocabulary.supportEpisodes ?? 60;
  if (episodes < 1 || frames < 2)
    throw new CellError("COMMAND_INVALID", "a pool has one episode or more, and two pictures of each");
  const there = await access(path.join(out, "pool.json")).then(
    () => true,
    () => false,
  );
  if (there) throw new CellError("COMMAND_INVALID", `${out} holds a pool already, and pools are frozen`);
  const result = await collectPool(out, vocabulary, {
    ...{ source, episodes, seed, frames, frameHeight, signal: interruptSignal() },
    note: `untrained exploration, seed ${seed}`,
    actor: randomActor(seed),
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
    .addOption(new Option("--source <name>", "who acts").choices(["random"]).makeOptionMandatory())
    .requiredOption("--out <folder>", "pool to write")
    .option("--episodes <n>", "how many (default: as published for the task, else 60)", wholeNumber)
    .option("--seed <n>", "of the episodes and of what acts", wholeNumber, 1)
    .option("--frames <n>", "pictures of an episode, evenly spaced", wholeNumber, 16)
    .option("--frame-height <pixels>", "of the pictures, which are 4:3", wholeNumber, 360)
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw phase collect BlockPick --source random --out pools/block-random",
    )
    .action(guarded<[string, CollectVerbOptions]>((_, options) => options.json === true, collect));
}
