/** surgiclaw calibrate verify */
import type { Command } from "commander";
import { calibrationItems } from "../../base/calibration-file.js";
import { loadConfig } from "../../base/config.js";
import { CellError } from "../../base/errors.js";
import { BenchRig } from "../../lab/calibration/bench-rig.js";
import { beginStages, runStages, stepsOf } from "../../lab/calibration/stage-run.js";
import { isVerified, verifyStages, type Finding } from "../../lab/calibration/stage-verify.js";
import { checkDevices, loadCalibration } from "../../record/calibration-store.js";
import { cliExit } from "../exit-codes.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { interruptSignal } from "../shared/follow.js";
import { paint, print, printJson, table, warn } from "../shared/output.js";
import { withMeasuringCell } from "./measuring-cell.js";
import { bar } from "./measuring-verb.js";

interface VerifyOptions {
  readonly config: string;
  readonly file?: string;
  readonly json?: boolean;
}

async function verify(options: VerifyOptions): Promise<void> {
  const loaded = await loadConfig(options.config);
  const { config } = loaded;
  const file = options.file ?? config.calibration.file;
  const stored = await loadCalibration(file, config.cell.id, Date.now());
  if (stored.method === "drawing")
    throw new CellError(
      "CALIBRATION_REFUSED",
      `${file} is the drawing: nothing was measured that could be verified`,
      {
        remedy:
          "measure first with `surgiclaw calibrate stage`, then name its file with --file or in the configuration",
      },
    );
  const json = options.json === true;
  const say = (line: string): void => (json ? undefined : warn(line));
  const findings = await withMeasuringCell(
    loaded,
    "calibrate-verify",
    interruptSignal(),
    say,
    async ({ cell, bench, audit, signal }): Promise<Finding[]> => {
      checkDevices(stored, cell.devices.serials());
      const rig = new BenchRig(bench);
      const begun = await beginStages(rig, cell.file.id, [], signal);
      const total = stepsOf(begun).filter(isVerified).length;
      const { observations } = await runStages(
        rig,
        begun,
        {
          wants: isVerified,
          keep: async () => Promise.resolve(),
          onStep: async (done, _, step) => {
            if (!json) bar(done, total, step.id);
            await audit.append("cell", "calibrate.stage", { name: step.id, ...step.offsets });
          },
        },
        signal,
      );
      if (!json) bar(total, total, "");
      const [first, second] = cell.file.microscopes;
      return verifyStages(observations, calibrationItems(stored), {
        baseFromHead: bench.baseFromHead().rotation,
        viewNames: [first.name, second.name],
      });
    },
    stored,
  );
  const drifted = findings.filter(({ passed }) => !passed).map(({ item }) => item);
  const pass = findings.length > 0 && drifted.length === 0;
  if (!pass) process.exitCode = cliExit.failed;
  if (json) printJson({ file, pass, drifted, findings });
  else {
    const figure = (value: number, unit: string): string => `${value.toPrecision(3)} ${unit}`;
    print(
      table(
        ["item", "off", "allowed", ""],
        findings.map(({ item, unit, off, allowed, passed }) => [
          item,
          figure(off, unit),
          figure(allowed, unit),
          passed ? "holds" : "drifted",
        ]),
      ),
    );
    const drift = findings.length === 0 ? "nothing to compare" : `drifted: ${drifted.join(", ")}`;
    print(pass ? paint("green", "verify: pass") : paint("red", `verify: ${drift}`));
  }
}

export function addVerify(calibrate: Command): void {
  calibrate
    .command("verify")
    .description("measure a few points anew and compare them with the stored calibration")
    .requiredOption("--config <file>", "the daemon's configuration; no daemon may run with it meanwhile")
    .option("--file <file>", "the calibration to verify (default: the one that the configuration names)")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nMoves as `calibrate stage` does, for half a minute; writes nothing. Exit code 1 when an item has drifted.\n" +
        "\nExample: npx surgiclaw calibrate verify --config surgiclawd.example.yaml --file runs/calibration/reference-cell.yaml",
    )
    .action(guarded<[VerifyOptions]>((options) => options.json === true, verify));
}
