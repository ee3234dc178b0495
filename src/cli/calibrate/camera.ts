/** surgiclaw calibrate camera */
import path from "node:path";
import type { Command } from "commander";
import type { TargetFile } from "../../base/target-file.js";
import { plannedSteps, targetReach } from "../../lab/calibration/camera-plan.js";
import {
  beginCamera,
  cameraStateSchema,
  exposureShares,
  runCamera,
  type CameraState,
} from "../../lab/calibration/camera-run.js";
import { solveCamera } from "../../lab/calibration/camera-solution.js";
import { writeDurably } from "../../record/durable-file.js";
import { guarded } from "../shared/connection.js";
import { datesOf, keepState, runVerb, type Verb } from "./measuring-verb.js";
import {
  readyTarget,
  targetHelp,
  targetLines,
  targetOptions,
  withTarget,
  type TargetOptions,
} from "./target-session.js";

/** How far the stages go, for a dry run. */
export const reachLines = (): string[] =>
  Object.entries(targetReach).map(
    ([axis, [low, high]]) =>
      `stage ${axis}  from ${(low * 1e3).toFixed(2)} to ${(high * 1e3).toFixed(2)} mm of where it stands, at most`,
  );

const cameraVerb = (target: TargetFile, quiet: boolean): Verb<CameraState> => ({
  name: "camera",
  schema: cameraStateSchema,
  byNeedle: false,
  describe: (before) => {
    const steps = plannedSteps + 2 * exposureShares.length;
    const done = before === undefined ? 0 : before.observations.length + before.greys.flat().length;
    return { steps, left: steps - done, lines: targetLines(target, reachLines()) };
  },
  measure: async (cell, { stateFile, before, validDays, onProgress }) =>
    withTarget(cell, target, before, quiet, async ({ rig, standing, prepare }) => {
      const { audit, folder, signal } = cell;
      let begun = before;
      if (begun === undefined) {
        const seen = await prepare();
        const referenceUs: [number, number] = [await rig.exposureUs(0), await rig.exposureUs(1)];
        begun = beginCamera(rig, { ...standing, referenceUs }, seen);
      } else for (const view of [0, 1] as const) await rig.setExposureUs(view, begun.referenceUs[view]);
      const state = await runCamera(
        rig,
        begun,
        {
          onStep: async (done, total, what) => {
            onProgress(done, total, what);
            await audit.append("cell", "calibrate.stage", { name: what });
          },
          keep: (kept) => keepState(stateFile, kept),
        },
        signal,
      );
      onProgress(1, 1, "");
      await writeDurably(path.join(folder, "observations.json"), JSON.stringify(state));
      const [first, second] = cell.cell.file.microscopes;
      const viewNames = [first.name, second.name] as const;
      return { items: solveCamera(state, { target, size: rig.size, viewNames, ...datesOf(validDays) }) };
    }),
});

export function addCamera(calibrate: Command): void {
  targetOptions(
    calibrate
      .command("camera")
      .description("both cameras by a target: scale, distortion, black level, response, flat field"),
  )
    .addHelpText(
      "after",
      `${targetHelp}\nExample: npx surgiclaw calibrate camera --config surgiclawd.example.yaml`,
    )
    .action(
      guarded<[TargetOptions]>(
        (options) => options.json === true,
        async (options) => runVerb(options, cameraVerb(await readyTarget(options), options.json === true)),
      ),
    );
}
