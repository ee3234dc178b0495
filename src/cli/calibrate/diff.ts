/** surgiclaw calibrate diff */
import type { Command } from "commander";
import { readCalibration } from "../../record/calibration-store.js";
import { diffCalibrations, type CalibrationDiff } from "../../lab/calibration/calibration-diff.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson, table } from "../shared/output.js";

interface DiffOptions {
  readonly json?: boolean;
}

const number = (value: number | undefined): string => (value === undefined ? "-" : value.toPrecision(6));

function show({ changes, unchanged, devices }: CalibrationDiff): void {
  for (const { device, before, after } of devices)
    print(`device ${device}: serial number ${before ?? "none"} before, ${after ?? "none"} after`);
  if (changes.length > 0)
    print(
      table(
        ["item", "unit", "before", "after", "change", "in sigma"],
        changes.map(({ name, unit, before, after, change, sigmas }) => [
          name,
          unit,
          number(before),
          number(after),
          number(change),
          sigmas === undefined ? "-" : sigmas.toFixed(1),
        ]),
      ),
    );
  print(`${changes.length} values differ, ${unchanged} are the same`);
}

export function addDiff(calibrate: Command): void {
  calibrate
    .command("diff")
    .description("what changed between two calibration files, in units and in standard deviations")
    .argument("<before>", "calibration file")
    .argument("<after>", "calibration file")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nAn edited file is refused (exit code 6); an expired or another cell's one is compared all the same.\n" +
        "\nExample: npx surgiclaw calibrate diff calibration/reference-drawing.yaml runs/calibration.yaml",
    )
    .action(
      guarded<[string, string, DiffOptions]>(
        (_before, _after, options) => options.json === true,
        async (before, after, options) => {
          const diff = diffCalibrations(await readCalibration(before), await readCalibration(after));
          if (options.json === true) printJson(diff);
          else show(diff);
        },
      ),
    );
}
