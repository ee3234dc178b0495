/** surgiclaw evaluate controllers */
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { Option, type Command } from "commander";
import { CellError } from "../base/errors.js";
import { projectRoot } from "../base/paths.js";
import { controllerNames, trialSchema, type Trial } from "../lab/evaluation/controllers/controller-trial.js";
import { reportControllers } from "../lab/evaluation/controllers/report.js";
import { cliExit } from "./exit-codes.js";
import { wholeNumber } from "./procedure.js";
import { guarded, jsonOption } from "./shared/connection.js";
import { runCampaign } from "./shared/controller-campaign.js";
import { controllersTable } from "./shared/controllers-table.js";
import { interruptSignal } from "./shared/follow.js";
import { paint, print, printJson, warn } from "./shared/output.js";

/** Which twin the trials are made on. */
const sets = { default: "default", hard: "doubled", optics2: "optics2" } as const;
type SetName = keyof typeof sets;

interface EvaluateOptions {
  readonly trials: number;
  readonly seed: number;
  readonly set: SetName;
  readonly out?: string;
  readonly from?: string;
  readonly json?: boolean;
}

/** Trials kept one a line, so that what was measured survives whatever ends the campaign. */
async function readTrials(file: string): Promise<Trial[]> {
  let lines: string[];
  try {
    lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  } catch (error) {
    throw new CellError("CONFIG_UNREADABLE", `${file}: ${(error as Error).message}`, { cause: error });
  }
  return lines.map((line, i) => {
    try {
      return trialSchema.parse(JSON.parse(line));
    } catch (error) {
      throw new CellError("CONFIG_INVALID", `${file}, line ${i + 1} is not a trial`, { cause: error });
    }
  });
}

function trialLine(trial: Trial, of: number, tookS: number): string {
  const said = controllerNames.map((name) => {
    return trial.outcomes[name].success ? paint("green", name) : paint("red", `${name} FAILED`);
  });
  return `trial ${trial.trial} of ${of}, cell ${trial.cellSeed}, ${tookS.toFixed(0)} s: ${said.join(", ")}`;
}

async function measure(options: EvaluateOptions): Promise<Trial[]> {
  const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const name = `${stamp}-controllers-${options.set}-${options.seed}`;
  const folder = path.resolve(options.out ?? path.join(projectRoot, "runs", name));
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, "trials.jsonl");
  await writeFile(file, "", { flag: "wx" }).catch((error: unknown) => {
    throw new CellError("CONFIG_INVALID", `${file} holds the trials of an earlier run`, {
      cause: error,
      remedy: "name another folder with --out, or sum that run up with --from",
    });
  });
  const trials: Trial[] = [];
  const say = (line: string): void => (options.json === true ? warn(line) : print(line));
  say(`${options.trials} trials from seed ${options.seed}, set ${options.set}; kept in ${file}`);
  await runCampaign({
    trials: options.trials,
    seed: options.seed,
    scenario: sets[options.set],
    folder,
    signal: interruptSignal(),
    say,
    onTrial: async (trial, tookS) => {
      trials.push(trial);
      await appendFile(file, `${JSON.stringify(trial)}\n`);
      say(trialLine(trial, options.trials, tookS));
    },
  });
  return trials;
}

async function controllers(options: EvaluateOptions): Promise<void> {
  const trials = options.from === undefined ? await measure(options) : await readTrials(options.from);
  const report = reportControllers(options.seed, trials);
  if (options.json === true) printJson(report);
  else controllersTable(report).forEach((line) => print(line));
  const failed = report.controllers.some(({ success, trials: of }) => success < of);
  process.exitCode = failed ? cliExit.failed : cliExit.ok;
}

export function addEvaluate(program: Command): void {
  program
    .command("evaluate")
    .description("measure what the cell reaches on the twin, against its truth")
    .command("controllers")
    .description("trials of every controller by itself, beside the published figures")
    .option("--trials <count>", "trials of each controller; four on each cell", wholeNumber, 40)
    .option("--seed <number>", "the first cell's seed; also draws the disturbances", wholeNumber, 1)
    .addOption(
      new Option("--set <name>", "default; hard: all imperfections doubled; optics2: another image formation")
        .choices(Object.keys(sets))
        .default("default"),
    )
    .option("--out <folder>", "trials, recordings and logs (default: a folder of its own below runs/)")
    .option("--from <file>", "measure nothing: sum up the trials of an earlier run")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nA trial takes about a minute. Exit codes: 0 every trial succeeded, 1 some failed.\n" +
        "\nExample: npx surgiclaw evaluate controllers --trials 40 --seed 1 --json",
    )
    .action(guarded<[EvaluateOptions]>((options) => options.json === true, controllers));
}
