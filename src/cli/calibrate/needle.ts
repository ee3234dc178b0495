/** surgiclaw calibrate needle */
import path from "node:path";
import type { Command } from "commander";
import { edgeOf, type Calibration } from "../../base/calibration-file.js";
import { CellError } from "../../base/errors.js";
import { FrameTree } from "../../base/frame-tree.js";
import { multiply, rotate, rotationBetween, transpose, unit, type Vec3 } from "../../base/transform.js";
import type { ViewModel } from "../../agent/perception/view-model.js";
import { asPair, viewIndexes, type Workbench } from "../../agent/skills/workbench.js";
import { BenchHeadRig } from "../../lab/calibration/bench-head-rig.js";
import {
  beginNeedle,
  needleStateSchema,
  planNeedle,
  runNeedle,
  type NeedleState,
} from "../../lab/calibration/needle-run.js";
import { solveNeedle } from "../../lab/calibration/needle-solution.js";
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

const verb: Verb<NeedleState> = {
  name: "needle",
  schema: needleStateSchema,
  describe: (before) => {
    const plan = planNeedle();
    return {
      steps: plan.length,
      left: plan.length - (before?.looks.length ?? 0),
      lines: plan.map(({ id, strokeM }) => `${id.padEnd(10)} drive at ${(strokeM * 1e3).toFixed(3)} mm`),
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
    const begun = before ?? (await beginNeedle(rig, cell.file.id, signal));
    const total = planNeedle().length;
    const state = await runNeedle(
      rig,
      begun,
      {
        onLook: async (done, _, { id, strokeM }) => {
          onProgress(done, total, id);
          await audit.append("cell", "calibrate.stage", { name: id, strokeM });
        },
        keep: (kept) => keepState(stateFile, kept),
      },
      signal,
    );
    onProgress(total, total, "");
    await writeDurably(path.join(folder, "needle.json"), JSON.stringify(state));
    const { items, stroke } = solveNeedle(state.looks, {
      viewsInHead: viewsInHead(bench),
      ...datesOf(validDays),
    });
    return { items, edges: slideEdge(bench, stroke) };
  },
};

/** The views as known, in the axes of the head as it stands. */
function viewsInHead(bench: Workbench): readonly [ViewModel, ViewModel] {
  const headFromBase = transpose(bench.baseFromHead().rotation);
  return asPair(
    viewIndexes.map((i): ViewModel => {
      const { rows, forward } = bench.drawnViews()[i];
      return {
        rows: [rotate(headFromBase, rows[0]), rotate(headFromBase, rows[1])],
        offset: [0, 0],
        forward: rotate(headFromBase, forward),
      };
    }),
  );
}

/** The frame that the needle's drive moves, turned so that its drawn direction is the measured way; none in other cells. */
function slideEdge(bench: Workbench, stroke: Vec3): Calibration["edges"] {
  const slide = bench.file.frames.find(({ driver }) => driver?.kind === "needle");
  if (slide?.driver?.kind !== "needle") return [];
  const fixed = new FrameTree(bench.file.frames).fixedEdge(slide.name);
  const inParent = rotate(transpose(bench.headFrom(slide.parent).rotation), unit(stroke));
  const drawn = rotate(fixed.rotation, unit(slide.driver.direction));
  const rotation = multiply(rotationBetween(drawn, inParent), fixed.rotation);
  return [edgeOf(slide.name, { rotation, translation: fixed.translation })];
}

export const calibrateNeedle = async (options: MeasureOptions): Promise<void> => runVerb(options, verb);

export function addNeedle(calibrate: Command): void {
  addMeasureOptions(
    calibrate
      .command("needle")
      .description("axis of the needle and the way of its drive, against the stages"),
  )
    .addHelpText(
      "after",
      "\nMeasure stages and hand-eye first: the views' maps are taken from them. The needle is driven out by 0.2 mm, in air, from\n" +
        "a tip that was raised by 0.25 mm. Ctrl-C stops all motion; the same command goes on where it was.\n" +
        "\nExample: npx surgiclaw calibrate needle --config surgiclawd.example.yaml",
    )
    .action(guarded<[MeasureOptions]>((options) => options.json === true, calibrateNeedle));
}
