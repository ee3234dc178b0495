/** surgiclaw calibrate handeye */
import path from "node:path";
import type { Command } from "commander";
import { CellError } from "../../base/errors.js";
import { norm } from "../../base/transform.js";
import { BenchHeadRig } from "../../lab/calibration/bench-head-rig.js";
import { solveHandEyePoses } from "../../lab/calibration/hand-eye-solution.js";
import {
  beginHandEye,
  greatestAmplitudes,
  handEyeStateSchema,
  planHandEye,
  runHandEye,
  usualAmplitudes,
  type HandEyeAmplitudes,
  type HandEyeState,
} from "../../lab/calibration/hand-eye-run.js";
import { writeDurably } from "../../record/durable-file.js";
import { guarded } from "../shared/connection.js";
import {
  addMeasureOptions,
  datesOf,
  keepState,
  runVerb,
  type MeasureOptions,
  type Verb,
} from "./measuring-verb.js";

export interface HandEyeOptions extends MeasureOptions {
  readonly tiltDeg: number;
  readonly twistDeg: number;
}

const degree = Math.PI / 180;

export const usualDegrees = {
  tiltDeg: Number((usualAmplitudes.tiltRad / degree).toFixed(1)),
  twistDeg: Number((usualAmplitudes.twistRad / degree).toFixed(1)),
} as const;

/** @throws CellError COMMAND_INVALID beyond what cell and pictures allow */
function amplitudesOf({ tiltDeg, twistDeg }: HandEyeOptions): HandEyeAmplitudes {
  const wanted = { tiltRad: tiltDeg * degree, twistRad: twistDeg * degree };
  for (const [name, value] of Object.entries(wanted) as [keyof HandEyeAmplitudes, number][])
    if (!(value >= 0 && value <= greatestAmplitudes[name] + 1e-9))
      throw new CellError(
        "COMMAND_INVALID",
        `${name.replace("Rad", "")}: 0 to ${(greatestAmplitudes[name] / degree).toFixed(1)} degrees, not ${value / degree}`,
      );
  return wanted;
}

const verbWith = (amplitudes: HandEyeAmplitudes): Verb<HandEyeState> => ({
  name: "handeye",
  schema: handEyeStateSchema,
  describe: (before) => {
    const poses = planHandEye(before ?? amplitudes);
    return {
      steps: poses.length,
      left: poses.length - (before?.poses.length ?? 0),
      lines: poses.map(
        ({ id, turn }) =>
          `${id.padEnd(12)} turned by ${(norm(turn) / degree).toFixed(1)} degrees about the tip`,
      ),
    };
  },
  measure: async (measuring, { stateFile, before, validDays, onProgress }) => {
    const { cell, bench, audit, folder, signal } = measuring;
    if (before !== undefined && before.cell !== cell.file.id)
      throw new CellError(
        "CALIBRATION_REFUSED",
        `the interrupted run was on cell ${before.cell}, this is ${cell.file.id}`,
        { remedy: "begin anew with --fresh" },
      );
    const rig = new BenchHeadRig(bench);
    const begun = before ?? (await beginHandEye(rig, cell.file.id, amplitudes, signal));
    const total = planHandEye(begun).length;
    const state = await runHandEye(
      rig,
      begun,
      {
        onPose: async (done, _, pose) => {
          onProgress(done, total, pose.id);
          await audit.append("cell", "calibrate.stage", { name: pose.id, turnRad: pose.turn });
        },
        keep: (kept) => keepState(stateFile, kept),
      },
      signal,
    );
    onProgress(total, total, "");
    await writeDurably(path.join(folder, "hand-eye.json"), JSON.stringify(state));
    const [first, second] = cell.file.microscopes;
    const { items, edge } = solveHandEyePoses(state.poses, {
      size: rig.size,
      viewNames: [first.name, second.name],
      ...datesOf(validDays),
    });
    // A registration is in coordinates of the arm that have just changed.
    return { items, edges: [edge], voids: (name) => name.startsWith("registration.") };
  },
});

/** The sets of poses are judged before anything is linked. */
export async function calibrateHandEye(options: HandEyeOptions): Promise<void> {
  const amplitudes = amplitudesOf(options);
  planHandEye(amplitudes);
  await runVerb(options, verbWith(amplitudes));
}

/** A number of degrees. @throws CellError COMMAND_INVALID */
function degrees(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value))
    throw new CellError("COMMAND_INVALID", `expected a number of degrees, got ${text}`);
  return value;
}

export function addHandEye(calibrate: Command): void {
  addMeasureOptions(
    calibrate
      .command("handeye")
      .description("where the head is on the arm's flange, and the microscopes in the arm's base"),
  )
    .option("--tilt-deg <degrees>", "tilts of the head either way", degrees, usualDegrees.tiltDeg)
    .option("--twist-deg <degrees>", "turns about the needle either way", degrees, usualDegrees.twistDeg)
    .addHelpText(
      "after",
      "\nThe needle's end must lie in both pictures, in air. The arm turns the head about the tip, in steps of 3.4 degrees;\n" +
        "the stages bring the tip back after each. Ctrl-C stops all motion; the same command goes on where it was.\n" +
        "\nExample: npx surgiclaw calibrate handeye --config surgiclawd.example.yaml",
    )
    .action(guarded<[HandEyeOptions]>((options) => options.json === true, calibrateHandEye));
}
