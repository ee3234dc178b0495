/** surgiclaw evaluate controllers */
import path from "node:path";
import { Option, type Command } from "commander";
import { readCellFile } from "../base/cell-file.js";
import { CellError } from "../base/errors.js";
import { projectRoot } from "../base/paths.js";
import { loadProfile } from "../cell/profile.js";
import { controllerNames, type Trial } from "../lab/evaluation/controllers/controller-trial.js";
import { errorBudgets, type BudgetFigures } from "../lab/evaluation/controllers/error-budget.js";
import { reportControllers } from "../lab/evaluation/controllers/report.js";
import { cliExit } from "./exit-codes.js";
import { wholeNumber } from "./procedure.js";
import { guarded, jsonOption } from "./shared/connection.js";
import { runCampaign } from "./shared/controller-campaign.js";
import {
  createCampaign,
  keepTrial,
  openCampaign,
  readTrials,
  type Campaign,
  type SetName,
} from "./shared/controller-trials.js";
import { controllersTable } from "./shared/controllers-table.js";
import { interruptSignal } from "./shared/follow.js";
import { paint, print, printJson, warn } from "./shared/output.js";

/** Which twin the trials are made on. */
const sets: Record<SetName, string> = { default: "default", hard: "doubled", optics2: "optics2" };

interface EvaluateOptions {
  readonly trials: number;
  readonly seed: number;
  readonly set: SetName;
  readonly out?: string;
  readonly from?: string;
  readonly resume?: string;
  readonly json?: boolean;
}

function trialLine(trial: Trial, of: number, tookS: number): string {
  const said = controllerNames.map((name) => {
    return trial.outcomes[name].success ? paint("green", name) : paint("red", `${name} FAILED`);
  });
  return `trial ${trial.trial} of ${of}, cell ${trial.cellSeed}, ${tookS.toFixed(0)} s: ${said.join(", ")}`;
}

/** The folder of a campaign and what it is to be: a new one by the options, an interrupted one by what it kept. */
async function campaignOf(options: EvaluateOptions): Promise<Campaign> {
  if (options.resume !== undefined) return openCampaign(path.resolve(options.resume));
  const { trials, seed, set } = options;
  const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const folder = options.out ?? path.join(projectRoot, "runs", `${stamp}-controllers-${set}-${seed}`);
  return createCampaign(path.resolve(folder), { trials, seed, set });
}

async function measure(campaign: Campaign, options: EvaluateOptions): Promise<readonly Trial[]> {
  const { trials: count, seed, set } = campaign.request;
  const trials = [...campaign.trials];
  const say = (line: string): void => (options.json === true ? warn(line) : print(line));
  const before = trials.length > 0 ? `, ${trials.length} of them known` : "";
  say(`${count} trials from seed ${seed}, set ${set}${before}; kept in ${campaign.file}`);
  await runCampaign({
    trials: count,
    known: new Set(trials.map(({ trial }) => trial)),
    seed,
    scenario: sets[set],
    folder: campaign.folder,
    signal: interruptSignal(),
    say,
    onTrial: async (trial, tookS) => {
      trials.push(trial);
      await keepTrial(campaign, trial);
      say(trialLine(trial, count, tookS));
    },
  });
  return trials;
}

/** What the budget is made of: the drawing of the reference cell and the profile of its stages. */
async function budgetFigures(set: SetName): Promise<BudgetFigures> {
  const file = await readCellFile(path.join(projectRoot, "calibration", "reference-cell.yaml"));
  const assigned = file.stages.find(({ axis }) => axis === file.stageAxes.x);
  if (assigned === undefined) throw new CellError("CONFIG_INVALID", "no stage hangs on the axis of X");
  const profile = await loadProfile(assigned.profile, "linear-stage");
  return {
    stage: {
      stepM: profile.step.value,
      repeatabilityM: profile.repeatability.value,
      lostMotionM: profile.lostMotion.value,
      positionErrorM: profile.positionError.value,
      travelM: 2 * profile.softLimit.value,
    },
    metresPerPixel: file.microscopes[0].metresPerPixel,
    tissueFactor: set === "hard" ? 2 : 1,
  };
}

async function controllers(options: EvaluateOptions): Promise<void> {
  if (options.from !== undefined && options.resume !== undefined)
    throw new CellError("CONFIG_INVALID", "--from measures nothing, --resume goes on measuring: one of them");
  const campaign = options.from === undefined ? await campaignOf(options) : undefined;
  const trials =
    campaign === undefined ? await readTrials(options.from ?? "") : await measure(campaign, options);
  const { seed, set } = campaign?.request ?? options;
  const report = reportControllers(seed, trials, errorBudgets(await budgetFigures(set)));
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
    .option("--resume <folder>", "go on with an interrupted run: its trials, seed and set")
    .option("--from <file>", "measure nothing: sum up the trials of an earlier run")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nA trial takes about a minute. Exit codes: 0 every trial succeeded, 1 some failed.\n" +
        "\nExample: npx surgiclaw evaluate controllers --trials 40 --seed 1 --json",
    )
    .action(guarded<[EvaluateOptions]>((options) => options.json === true, controllers));
}
