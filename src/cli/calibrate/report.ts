/** surgiclaw calibrate report */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Command } from "commander";
import { calibrationItems } from "../../base/calibration-file.js";
import { reportPage } from "../../lab/calibration/report-page.js";
import { readCalibration } from "../../record/calibration-store.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson } from "../shared/output.js";

interface ReportOptions {
  readonly html?: string;
  readonly json?: boolean;
}

async function report(file: string, options: ReportOptions): Promise<void> {
  const calibration = await readCalibration(file);
  const { dir, name } = path.parse(path.resolve(file));
  const html = path.resolve(options.html ?? path.join(dir, `${name}.html`));
  await writeFile(html, reportPage(calibration, Date.now()));
  const items = Object.keys(calibrationItems(calibration)).length;
  if (options.json === true) printJson({ file, html, items });
  else print(`${html} written: ${items} items`);
}

export function addReport(calibrate: Command): void {
  calibrate
    .command("report")
    .description("a calibration file as one page: items, residual plots, repeatability, expiry")
    .argument("<file>", "calibration file")
    .option("--html <file>", "where the page goes (default: beside the file)")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nAn edited file is refused (exit code 6). The page is one file without scripts.\n" +
        "\nExample: npx surgiclaw calibrate report runs/calibration/reference-cell.yaml --html calibration.html",
    )
    .action(guarded<[string, ReportOptions]>((_file, options) => options.json === true, report));
}
