/** surgiclaw policy train TASK --method M [--support POOL/BANK] */
import path from "node:path";
import type { Command } from "commander";
import { CellError } from "../../base/errors.js";
import { projectRoot } from "../../base/paths.js";
import type { Job } from "../../lab/jobs/job-runner.js";
import { LocalJobs } from "../../lab/jobs/local-jobs.js";
import { methodNamed } from "../../lab/learning/methods.js";
import { readRun, runId, runsFolder, type CurvePoint, type PolicyRun } from "../../lab/learning/run-file.js";
import { runSettings, type RunChoices } from "../../lab/learning/run-settings.js";
import { loadSupport } from "../../lab/learning/support-columns.js";
import type { TrainOrder } from "../../lab/learning/train-job.js";
import { nativeTask } from "../../lab/learning/world/world-environment.js";
import { taskVocabulary } from "../../lab/phase/task-vocabulary.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson, warn } from "../shared/output.js";
import { wilson } from "../../lab/evaluation/statistics.js";
import { wholeNumber } from "../procedure.js";

interface TrainOptions {
  readonly method: string;
  readonly support?: string;
  readonly seeds: number;
  readonly firstSeed: number;
  readonly updates?: number;
  readonly warmStart?: number;
  readonly pointEvery?: number;
  readonly episodes?: number;
  readonly width?: number;
  readonly batch?: number;
  readonly gamma?: number;
  readonly bootstrapAtDone?: boolean;
  readonly binomialMix?: boolean;
  readonly runs: string;
  readonly parallel?: number;
  readonly json?: boolean;
}

const percent = ({ successes, episodes }: CurvePoint): string =>
  `${((100 * successes) / episodes).toFixed(1)} %`;

/** What was asked for beyond the task's own settings. */
const choicesOf = ({ episodes, ...options }: TrainOptions): RunChoices => ({
  ...Object.fromEntries(
    (
      [
        "updates",
        "warmStart",
        "pointEvery",
        "width",
        "batch",
        "gamma",
        "bootstrapAtDone",
        "binomialMix",
      ] as const
    ).flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]])),
  ),
  ...(episodes === undefined ? {} : { evaluationEpisodes: episodes }),
});

async function train(task: string, options: TrainOptions): Promise<void> {
  const { name, method } = methodNamed(options.method);
  if (options.seeds < 1) throw new CellError("COMMAND_INVALID", "at least one seed is needed");
  const vocabulary = await taskVocabulary(task);
  // Everything that can be refused is refused before the first process starts.
  const support = await loadSupport(options.support, method, vocabulary, nativeTask(task));
  const seeds = Array.from({ length: options.seeds }, (_, index) => options.firstSeed + index);
  const plans = seeds.map((seed) => {
    const settings = runSettings(task, name, seed, choicesOf(options));
    const about =
      support === undefined || options.support === undefined
        ? null
        : {
            path: options.support,
            episodes: 0,
            transitions: 0,
            source: support.source,
            sha256: support.sha256,
          };
    const folder = path.resolve(options.runs, runId(settings, about));
    const order: TrainOrder = {
      settings,
      folder,
      ...(options.support === undefined ? {} : { support: path.resolve(options.support) }),
    };
    const job: Job = {
      name: `seed ${seed}`,
      module: path.join(projectRoot, "dist", "src", "lab", "learning", "train-job.js"),
      args: [JSON.stringify(order)],
    };
    return { job, folder };
  });
  const abort = new AbortController();
  const interrupt = (): void => abort.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const began = performance.now();
  const failures = await new LocalJobs(options.parallel).run(
    plans.map(({ job }) => job),
    {
      signal: abort.signal,
      onProgress: ({ job, report }) => {
        const point = report as CurvePoint;
        const since = ((performance.now() - began) / 1e3).toFixed(0);
        warn(
          `[${since} s] ${job}: ${point.updates} updates, ${point.transitions} transitions, ${percent(point)}`,
        );
      },
    },
  );
  const runs: PolicyRun[] = [];
  for (const { job, folder } of plans) {
    if (!failures.some((failure) => failure.job === job.name))
      runs.push(await readRun(path.join(folder, "run.json")));
  }
  say(task, options, runs);
  if (failures.length > 0) {
    const reasons = failures.map(({ job, reason }) => `${job}: ${reason}`).join("; ");
    throw new CellError("INTERNAL", `${failures.length} of ${plans.length} runs failed: ${reasons}`);
  }
}

function say(task: string, options: TrainOptions, runs: readonly PolicyRun[]): void {
  const last = runs.flatMap(({ curve }) => curve.slice(-1));
  const total = wilson(
    last.reduce((sum, { successes }) => sum + successes, 0),
    last.reduce((sum, { episodes }) => sum + episodes, 0),
  );
  if (options.json === true) {
    printJson({ task, method: options.method, success: total.share, runs });
    return;
  }
  for (const { settings, curve, wallS } of runs) {
    const end = curve.at(-1);
    if (end !== undefined)
      print(
        `${task} ${options.method} seed ${settings.seed}: ${percent(end)} after ${end.updates} updates, ${wallS.toFixed(0)} s`,
      );
  }
  if (total.share !== null) print(`mean of ${runs.length} seeds: ${(100 * total.share).toFixed(1)} %`);
}

export function addPolicyTrain(policy: Command): void {
  policy
    .command("train")
    .description("train a task by a method, one process a seed; a run that was ended goes on where it was")
    .argument("<task>", "as in `surgiclaw phase tasks`")
    .requiredOption("--method <name>", "as in `surgiclaw policy methods`")
    .option("--support <path>", "bank file, or folder of a support pool, as the method takes it")
    .option("--seeds <n>", "how many seeds", wholeNumber, 1)
    .option("--first-seed <n>", "the first of them", wholeNumber, 1)
    .option("--updates <n>", "updates of a run (default: the published 120000)", wholeNumber)
    .option("--warm-start <n>", "updates of cloning alone before them (default: 5000)", wholeNumber)
    .option("--point-every <n>", "updates between points of the curve (default: a 24th)", wholeNumber)
    .option("--episodes <n>", "episodes of an evaluation (default: 48)", wholeNumber)
    .option("--width <n>", "width of both hidden layers (default: 128)", wholeNumber)
    .option("--batch <n>", "transitions of a minibatch (default: 256)", wholeNumber)
    .option("--gamma <value>", "discount instead of the task's", Number)
    .option("--bootstrap-at-done", "bootstrap behind terminal steps too")
    .option("--binomial-mix", "draw how much of a minibatch comes from the bank")
    .option("--runs <folder>", "where runs are kept", runsFolder)
    .option("--parallel <n>", "processes at a time (default: one a core)", wholeNumber)
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw policy train BlockPick --method phase-arrival --support block-pick.bank --seeds 8",
    )
    .action(guarded<[string, TrainOptions]>((_, options) => options.json === true, train));
}
