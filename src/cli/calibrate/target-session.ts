/** What the calibrations with a target share: the target on its bench, exposed, focused and standing still. */
import path from "node:path";
import type { Command } from "commander";
import { CellError } from "../../base/errors.js";
import { projectRoot } from "../../base/paths.js";
import { readTargetFile, type TargetFile } from "../../base/target-file.js";
import { TargetBench } from "../../lab/calibration/target-bench.js";
import { solverLibrary, TargetFinder, withoutSolvers } from "../../lab/calibration/target-finder.js";
import type { FoundTarget } from "../../lab/calibration/target-pattern.js";
import { warn } from "../shared/output.js";
import type { MeasuringCell } from "./measuring-cell.js";
import { addMeasureOptions, type MeasureOptions } from "./measuring-verb.js";

export interface TargetOptions extends MeasureOptions {
  readonly target: string;
}

export const targetOptions = (command: Command): Command =>
  addMeasureOptions(command).option(
    "--target <file>",
    "the target as its certificate says",
    path.join(projectRoot, "calibration", "target-chessboard.yaml"),
  );

export const targetHelp =
  "\nNeedle and tissue must be taken away and the target mounted on the needle's holder, facing both views alike; on the\n" +
  "twin: npx surgiclaw twin fault target-mounted on. The stages move by at most 0.5 mm, Z away from the tissue only.\n" +
  "Ctrl-C stops all motion; the same command goes on where it was.\n";

/** The target, once it is clear that it could be found. @throws CellError CALIBRATION_REFUSED, CONFIG_… */
export async function readyTarget({ target, dryRun }: TargetOptions): Promise<TargetFile> {
  // Before anything is linked: what cannot end well need not begin.
  if (dryRun !== true) solverLibrary();
  return readTargetFile(target);
}

/** What a dry run says of every calibration with a target. */
export const targetLines = (target: TargetFile, moves: readonly string[]): string[] => {
  const why = withoutSolvers();
  return [
    `target ${target.id}; exposure and focus by it first, ±1.3 mm of both focus stages`,
    ...moves,
    ...(why === undefined ? [] : [`opencv4nodejs is not built: ${why}; bash scripts/build-opencv4nodejs.sh`]),
  ];
};

export interface Standing {
  readonly cell: string;
  readonly target: string;
  /** Joint angles, rad. */
  readonly armRad: number[];
}

/** The arm must stand where it stood when a run was interrupted, rad. */
const armToleranceRad = 1e-3;

/** @throws CellError CALIBRATION_REFUSED when an interrupted run cannot go on */
function requireSame(before: Standing, now: Standing): void {
  const off = Math.max(...now.armRad.map((q, i) => Math.abs(q - (before.armRad[i] ?? NaN))));
  const differs = (what: string, then: string, is: string): string =>
    `the interrupted run was ${what} ${then}, this is ${is}`;
  const why =
    before.cell !== now.cell
      ? differs("on cell", before.cell, now.cell)
      : before.target !== now.target
        ? differs("with target", before.target, now.target)
        : off > armToleranceRad
          ? `the arm stands ${off.toFixed(4)} rad from where the interrupted run had it; ${armToleranceRad} rad are allowed`
          : undefined;
  if (why !== undefined)
    throw new CellError("CALIBRATION_REFUSED", why, {
      remedy: "bring back what was there, or begin anew with --fresh",
    });
}

export interface TargetSession {
  readonly rig: TargetBench;
  readonly standing: Standing;
  /** Exposes and focuses by the target and makes sure that both views see it standing still; for a run that begins. */
  readonly prepare: () => Promise<readonly [FoundTarget, FoundTarget]>;
}

/** Opens the search for the target and runs `work`. @param before where the run stood that goes on, if one does */
export async function withTarget<T>(
  { cell, bench, signal }: MeasuringCell,
  target: TargetFile,
  before: Standing | undefined,
  quiet: boolean,
  work: (session: TargetSession) => Promise<T>,
): Promise<T> {
  const arm = cell.devices.arm.state();
  if (arm === undefined) throw new CellError("LINK_CLOSED", "the arm reports no position");
  const standing: Standing = { cell: cell.file.id, target: target.id, armRad: [...arm.q] };
  if (before !== undefined) requireSame(before, standing);
  const finder = new TargetFinder(target);
  await finder.open();
  try {
    const rig = new TargetBench(bench, finder);
    const say = (line: string): void => (quiet ? undefined : warn(line));
    return await work({
      rig,
      standing,
      prepare: async () => {
        say("exposure, by the target");
        await rig.expose(signal);
        say("focus, by the target");
        await rig.focus(signal);
        return rig.requireStill(signal);
      },
    });
  } finally {
    finder.close();
  }
}
