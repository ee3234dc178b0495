/** surgiclaw calibrate registration */
import path from "node:path";
import type { Command } from "commander";
import { CellError } from "../../base/errors.js";
import { BenchHeadRig } from "../../lab/calibration/bench-head-rig.js";
import {
  awayM,
  beginRegistration,
  planRegistration,
  registrationStateSchema,
  runRegistration,
  type RegistrationState,
} from "../../lab/calibration/registration-run.js";
import { solveRegistration } from "../../lab/calibration/registration-solution.js";
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

const verb: Verb<RegistrationState> = {
  name: "registration",
  schema: registrationStateSchema,
  describe: (before) => {
    const plan = planRegistration();
    return {
      steps: plan.length,
      left: plan.length - (before?.arrivals.length ?? 0),
      lines: plan.map(
        ({ id, places }, k) =>
          `${id.padEnd(12)} ${k > 0 ? `arm away by ${awayM * 1e3} mm and back, ` : ""}${places.length} places of the tip`,
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
    const begun = before ?? (await beginRegistration(rig, cell.file.id, signal));
    const total = planRegistration().length;
    const state = await runRegistration(
      rig,
      begun,
      {
        onArrival: async (done, _, { id }) => {
          onProgress(done, total, id);
          await audit.append("cell", "calibrate.stage", { name: id });
        },
        keep: (kept) => keepState(stateFile, kept),
      },
      signal,
    );
    onProgress(total, total, "");
    await writeDurably(path.join(folder, "registration.json"), JSON.stringify(state));
    const items = solveRegistration(state.arrivals, {
      map: bench.drawnViews().flatMap(({ rows }) => rows),
      size: rig.size,
      ...datesOf(validDays),
    });
    return { items };
  },
};

export const calibrateRegistration = async (options: MeasureOptions): Promise<void> => runVerb(options, verb);

export function addRegistration(calibrate: Command): void {
  addMeasureOptions(
    calibrate
      .command("registration")
      .description(
        "what the microscopes see to coordinates of the robot, with the error at held-out targets",
      ),
  )
    .addHelpText(
      "after",
      "\nMeasure stages and hand-eye first: the views' maps are taken from them. The tip visits places in air; between the\n" +
        "arrivals the arm goes away from the tissue and comes back. Ctrl-C stops all motion; the same command goes on.\n" +
        "\nExample: npx surgiclaw calibrate registration --config surgiclawd.example.yaml",
    )
    .action(guarded<[MeasureOptions]>((options) => options.json === true, calibrateRegistration));
}
