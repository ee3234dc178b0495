/** surgiclaw calibrate stage */
import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import type { Command } from "commander";
import {
  calibrationItems,
  type CalibrationItem,
  type MeasuredCalibration,
} from "../../base/calibration-file.js";
import { readCellFile } from "../../base/cell-file.js";
import { loadConfig, type LoadedConfig } from "../../base/config.js";
import { CellError } from "../../base/errors.js";
import { BenchRig } from "../../lab/calibration/bench-rig.js";
import { reach } from "../../lab/calibration/stage-plan.js";
import {
  beginStages,
  runStages,
  stageStateSchema,
  stepsOf,
  type StageState,
} from "../../lab/calibration/stage-run.js";
import { solveStages } from "../../lab/calibration/stage-solution.js";
import { readCalibration, saveCalibration } from "../../record/calibration-store.js";
import { replaceFile, writeDurably } from "../../record/durable-file.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { interruptSignal } from "../shared/follow.js";
import { print, printJson, table, warn } from "../shared/output.js";
import { wholeNumber } from "../procedure.js";
import { withMeasuringCell, type MeasuringCell } from "./measuring-cell.js";

interface StageOptions {
  readonly config: string;
  readonly output?: string;
  readonly validDays: number;
  readonly dryRun?: boolean;
  readonly fresh?: boolean;
  readonly json?: boolean;
}

/** The arm must stand where it stood when a run was interrupted, rad. */
const armToleranceRad = 1e-3;

const outputOf = ({ config }: LoadedConfig, given: string | undefined): string =>
  path.resolve(given ?? path.join(config.record.folder, "calibration", `${config.cell.id}.yaml`));

/** What an interrupted run has left. @throws CellError CALIBRATION_INVALID for a file that is no such state */
async function readState(file: string): Promise<StageState | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return stageStateSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new CellError("CALIBRATION_INVALID", `${file} is not what an interrupted run leaves`, {
      cause: error,
      remedy: "begin anew with --fresh",
    });
  }
}

export function bar(done: number, total: number, what: string): void {
  if (!process.stderr.isTTY) return;
  const width = 30;
  const full = Math.round((width * done) / total);
  const text = `[${"#".repeat(full)}${".".repeat(width - full)}] ${done}/${total} ${what}`;
  process.stderr.write(`\r${text.padEnd(78)}${done === total ? "\n" : ""}`);
}

function requireSameArm(state: StageState, armRad: readonly number[], cell: string): void {
  const off = Math.max(...armRad.map((q, i) => Math.abs(q - (state.armRad[i] ?? NaN))));
  if (state.cell === cell && off <= armToleranceRad) return;
  throw new CellError(
    "CALIBRATION_REFUSED",
    state.cell === cell
      ? `the arm stands ${off.toFixed(4)} rad from where the interrupted run had it; ${armToleranceRad} rad are allowed`
      : `the interrupted run was on cell ${state.cell}, this is ${cell}`,
    { remedy: "bring the arm back, or begin anew with --fresh" },
  );
}

async function measure(
  { cell, bench, audit, signal }: MeasuringCell,
  stateFile: string,
  before: StageState | undefined,
  json: boolean,
): Promise<{ readonly state: StageState; readonly baseFromHead: ReturnType<typeof bench.baseFromHead> }> {
  const rig = new BenchRig(bench);
  const arm = cell.devices.arm.state();
  if (arm === undefined) throw new CellError("LINK_CLOSED", "the arm reports no position");
  if (before !== undefined) requireSameArm(before, arm.q, cell.file.id);
  const begun = before ?? (await beginStages(rig, cell.file.id, arm.q, signal));
  const { ranges } = begun;
  await audit.append("cell", "calibrate.stage", { name: "ranges", x: ranges.x, y: ranges.y, z: ranges.z });
  const total = stepsOf(begun).length;
  const state = await runStages(
    rig,
    begun,
    {
      onStep: async (done, _, step) => {
        if (!json) bar(done, total, step.id);
        await audit.append("cell", "calibrate.stage", { name: step.id, ...step.offsets });
      },
      keep: (kept) => replaceFile(stateFile, JSON.stringify(kept)),
    },
    signal,
  );
  if (!json) bar(total, total, "");
  return { state, baseFromHead: bench.baseFromHead() };
}

/** What the output held before, of the same cell; of another or of a damaged file nothing is taken over. */
async function itemsBefore(file: string, cell: string): Promise<Readonly<Record<string, CalibrationItem>>> {
  const before = await readCalibration(file).catch(() => undefined);
  return before?.cell === cell ? calibrationItems(before) : {};
}

function show(items: Readonly<Record<string, CalibrationItem>>): void {
  const figure = (value: number): string => value.toPrecision(5);
  print(
    table(
      ["item", "unit", "values", "held out, rms", "max"],
      Object.entries(items).map(([name, { unit, values, residuals }]) => [
        name,
        unit,
        values.length > 6 ? `${values.length} values` : values.map(figure).join(" "),
        `${residuals.rms.toPrecision(3)} ${residuals.unit}`,
        `${residuals.max.toPrecision(3)} ${residuals.unit}`,
      ]),
    ),
  );
}

async function calibrateStages(options: StageOptions): Promise<void> {
  const loaded = await loadConfig(options.config);
  const output = outputOf(loaded, options.output);
  const stateFile = `${output}.partial.json`;
  const json = options.json === true;
  const before = options.fresh === true ? undefined : await readState(stateFile);
  if (options.dryRun === true) {
    await dryRun(loaded, output, before, json);
    return;
  }
  const { config } = loaded;
  const say = (line: string): void => (json ? undefined : warn(line));
  const done = await withMeasuringCell(loaded, "calibrate-stage", interruptSignal(), say, async (cell) => {
    await mkdir(path.dirname(output), { recursive: true });
    const { state, baseFromHead } = await measure(cell, stateFile, before, json);
    await writeDurably(path.join(cell.folder, "observations.json"), JSON.stringify(state));
    const identities = cell.cell.devices.microscopes.flatMap(({ name, identity }) =>
      identity === undefined ? [] : [[name, { model: identity.model, serial: identity.serial }] as const],
    );
    return {
      state,
      baseFromHead,
      devices: Object.fromEntries(identities),
      names: cell.cell.file.microscopes,
    };
  });
  const now = new Date();
  const items = solveStages(done.state.observations, {
    baseFromHead: done.baseFromHead.rotation,
    follow: done.state.follow,
    viewNames: [done.names[0].name, done.names[1].name],
    measuredAt: now.toISOString(),
    expiresAt: new Date(now.getTime() + options.validDays * 86_400_000).toISOString(),
  });
  const content: Omit<MeasuredCalibration, "hash"> = {
    version: 1,
    cell: config.cell.id,
    method: "measured",
    createdAt: now.toISOString(),
    edges: [],
    devices: done.devices,
    items: { ...(await itemsBefore(output, config.cell.id)), ...items },
  };
  const { kept } = await saveCalibration(output, content);
  await rm(stateFile, { force: true });
  if (json) printJson({ output, kept: kept ?? null, items });
  else {
    show(items);
    if (kept !== undefined) print(`the file before is kept as ${kept}`);
    print(`${output} written; name it as calibration.file in the configuration to use it`);
  }
}

async function dryRun(
  { config }: LoadedConfig,
  output: string,
  before: StageState | undefined,
  json: boolean,
): Promise<void> {
  const file = await readCellFile(config.cell.file);
  const follow = { x: [0, 0], y: [0, 0], z: [0, 0] } as const;
  const steps = stepsOf({ ranges: before?.ranges ?? reach, follow });
  const left = steps.length - (before?.observations.length ?? 0);
  if (json) printJson({ cell: file.id, output, reachM: reach, steps: steps.length, left });
  else {
    print(`cell ${file.id}: ${left} of ${steps.length} steps to go; nothing has moved`);
    for (const [axis, [low, high]] of Object.entries(reach))
      print(
        `stage ${axis}  from ${(low * 1e3).toFixed(2)} to ${(high * 1e3).toFixed(2)} mm of where it stands raised, at most`,
      );
    print("before: devices powered and homed where they are not, exposure, focus, tip raised by 0.30 mm");
    print(`result: ${output}`);
  }
}

export function addStage(calibrate: Command): void {
  calibrate
    .command("stage")
    .description(
      "stages X, Y, Z and focus by the needle's tip: directions, squareness, lost motion, lead error",
    )
    .requiredOption("--config <file>", "the daemon's configuration; no daemon may run with it meanwhile")
    .option(
      "--output <file>",
      "calibration file (default: calibration/CELL.yaml in the folder of recordings)",
    )
    .option("--valid-days <days>", "how long the result may be used", wholeNumber, 30)
    .option("--dry-run", "say what would be done; link and move nothing")
    .option("--fresh", "begin anew even if an interrupted run could go on")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nThe needle's end must lie in both pictures, in air. The stages move by at most 0.5 mm, Z away from the tissue only.\n" +
        "Ctrl-C stops all motion; the same command goes on where it was.\n" +
        "\nExample: npx surgiclaw calibrate stage --config surgiclawd.example.yaml",
    )
    .action(guarded<[StageOptions]>((options) => options.json === true, calibrateStages));
}
