/** surgiclaw calibrate all */
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Command } from "commander";
import { z } from "zod";
import { loadConfig } from "../../base/config.js";
import { reportPage } from "../../lab/calibration/report-page.js";
import { readCalibration } from "../../record/calibration-store.js";
import { guarded } from "../shared/connection.js";
import { print, printJson } from "../shared/output.js";
import { calibrateHandEye, usualDegrees } from "./handeye.js";
import { addMeasureOptions, keepState, outputOf, readState, type MeasureOptions } from "./measuring-verb.js";
import { calibrateNeedle } from "./needle.js";
import { calibrateRegistration } from "./registration.js";
import { calibrateStages } from "./stage.js";

/** In this order: each builds on what the ones before have written. */
const sequence: readonly (readonly [string, (options: MeasureOptions) => Promise<void>])[] = [
  ["stage", calibrateStages],
  ["handeye", async (options) => calibrateHandEye({ ...options, ...usualDegrees })],
  ["needle", calibrateNeedle],
  ["registration", calibrateRegistration],
];

/** What an interrupted sequence leaves, beside the output: the verbs that are done. Each keeps its own state as well. */
const stateSchema = z.strictObject({ version: z.literal(1), done: z.array(z.string()) });

async function calibrateAll(options: MeasureOptions): Promise<void> {
  const output = outputOf(await loadConfig(options.config), options.output);
  const stateFile = `${output}.all.partial.json`;
  const json = options.json === true;
  const before = options.fresh === true ? undefined : await readState(stateFile, stateSchema);
  const done = [...(before?.done ?? [])];
  for (const [name, run] of sequence) {
    if (done.includes(name)) continue;
    if (!json) print(`calibrate ${name}`);
    await run({ ...options, output });
    if (options.dryRun === true) continue;
    done.push(name);
    await keepState(stateFile, { version: 1, done });
  }
  if (options.dryRun === true) return;
  const { dir, name } = path.parse(output);
  const html = path.join(dir, `${name}.html`);
  await writeFile(html, reportPage(await readCalibration(output), Date.now()));
  await rm(stateFile, { force: true });
  if (json) printJson({ output, html, done });
  else print(`${html} written`);
}

export function addAll(calibrate: Command): void {
  addMeasureOptions(
    calibrate
      .command("all")
      .description(
        `measure one after another: ${sequence.map(([name]) => name).join(", ")}; then the report`,
      ),
  )
    .addHelpText(
      "after",
      "\nIt takes about six minutes. Ctrl-C stops all motion; the same command goes on where it was. With --json every verb\n" +
        "writes its line.\n" +
        "\nExample: npx surgiclaw calibrate all --config surgiclawd.example.yaml",
    )
    .action(guarded<[MeasureOptions]>((options) => options.json === true, calibrateAll));
}
