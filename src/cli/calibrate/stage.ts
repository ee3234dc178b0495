/** surgiclaw calibrate stage */
import path from "node:path";
import type { Command } from "commander";
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
import { writeDurably } from "../../record/durable-file.js";
import { guarded } from "../shared/connection.js";
import { interruptSignal } from "../shared/follow.js";
import { print, printJson, warn } from "../shared/output.js";
import { withMeasuringCell, type MeasuringCell } from "./measuring-cell.js";
import {
  addMeasureOptions,
  bar,
  builtOn,
  datesOf,
  keepState,
  outputOf,
  readState,
  showItems,
  showWritten,
  writeMeasured,
  type Measured,
  type MeasureOptions,
} from "./measuring-verb.js";

/** The arm must stand where it stood when a run was interrupted, rad. */
const armToleranceRad = 1e-3;

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

/** Measures and solves; what is written and shown is the caller's. */
export async function measureStages(
  { cell, bench, audit, folder, signal }: MeasuringCell,
  stateFile: string,
  before: StageState | undefined,
  validDays: number,
  onProgress: (done: number, total: number, what: string) => void,
): Promise<Measured> {
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
        onProgress(done, total, step.id);
        await audit.append("cell", "calibrate.stage", { name: step.id, ...step.offsets });
      },
      keep: (kept) => keepState(stateFile, kept),
    },
    signal,
  );
  onProgress(total, total, "");
  await writeDurably(path.join(folder, "observations.json"), JSON.stringify(state));
  const [first, second] = cell.file.microscopes;
  const items = solveStages(state.observations, {
    baseFromHead: bench.baseFromHead().rotation,
    follow: state.follow,
    viewNames: [first.name, second.name],
    ...datesOf(validDays),
  });
  return { items };
}

export async function calibrateStages(options: MeasureOptions): Promise<void> {
  const loaded = await loadConfig(options.config);
  const output = outputOf(loaded, options.output);
  const stateFile = `${output}.partial.json`;
  const json = options.json === true;
  const before = options.fresh === true ? undefined : await readState(stateFile, stageStateSchema);
  if (options.dryRun === true) {
    await dryRun(loaded, output, before, json);
    return;
  }
  const calibration = await builtOn(loaded, output);
  const say = (line: string): void => (json ? undefined : warn(line));
  const { items, kept } = await withMeasuringCell(
    loaded,
    "calibrate-stage",
    interruptSignal(),
    say,
    async (cell) => {
      const measured = await measureStages(cell, stateFile, before, options.validDays, json ? noBar : bar);
      return {
        items: measured.items,
        kept: await writeMeasured(output, stateFile, cell, calibration, measured),
      };
    },
    calibration,
  );
  if (json) printJson({ output, kept: kept ?? null, items });
  else {
    showItems(items);
    showWritten(output, kept);
  }
}

const noBar = (): void => undefined;

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
  addMeasureOptions(
    calibrate
      .command("stage")
      .description(
        "stages X, Y, Z and focus by the needle's tip: directions, squareness, lost motion, lead error",
      ),
  )
    .addHelpText(
      "after",
      "\nThe needle's end must lie in both pictures, in air. The stages move by at most 0.5 mm, Z away from the tissue only.\n" +
        "Ctrl-C stops all motion; the same command goes on where it was.\n" +
        "\nExample: npx surgiclaw calibrate stage --config surgiclawd.example.yaml",
    )
    .action(guarded<[MeasureOptions]>((options) => options.json === true, calibrateStages));
}
