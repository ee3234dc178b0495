/** surgiclaw phase report POOL */
import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { loadReference } from "../../lab/phase/phase-reference.js";
import { figures } from "../../lab/phase/report/figures.js";
import { reliabilityPage } from "../../lab/phase/report/reliability-page.js";
import { assessReliability, milestoneCoverage } from "../../lab/phase/report/reliability.js";
import { rankNames } from "../../lab/phase/task-vocabulary.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson, table } from "../shared/output.js";
import { existingRecords, loadConstants, openPoolWithTask, type PoolOptions } from "./pool-arguments.js";

interface ReportOptions extends PoolOptions {
  readonly records: string;
  readonly reference: string;
  readonly constants?: string;
  readonly html?: string;
  readonly json?: boolean;
}

async function reportVerb(folder: string, options: ReportOptions): Promise<void> {
  const { pool, vocabulary } = await openPoolWithTask(folder, options);
  const constants = await loadConstants(options.constants);
  const lines = await existingRecords(options.records);
  const reference = await loadReference(options.reference, vocabulary);
  const report = await assessReliability(pool, vocabulary, lines, reference, constants);
  const ids = pool.manifest.episodes.map(({ id }) => id);
  const coverage = milestoneCoverage(reference, vocabulary, ids);
  if (options.html !== undefined) await writeFile(options.html, reliabilityPage(report));
  if (options.json === true) {
    printJson({ ...report, coverage });
    return;
  }
  print(`${report.observer} on ${report.task} (${report.source} pool)`);
  const rows = figures(report).map(({ name, value, interval, published }) => [
    name,
    value,
    interval,
    published,
  ]);
  print(table(["figure", "here", "95 % interval", "published, over tasks"], rows));
  const tally = (title: string, counts: Readonly<Record<string, number>>): void => {
    const parts = Object.entries(counts).map(([reason, count]) => `${count} ${reason}`);
    if (parts.length > 0) print(`${title}: ${parts.join("; ")}`);
  };
  tally("no record", report.invalid);
  tally("refused by the gate", report.refused);
  const reached = coverage.map(({ rank, share }) => `${rankNames[rank] ?? rank} ${share.count}/${share.of}`);
  print(`truly reached, in the pool: ${reached.join(", ")}`);
  if (options.html !== undefined) print(options.html);
}

export function addPhaseReport(phase: Command): void {
  phase
    .command("report")
    .description("how far an observer's records are from what truly happened, beside the published figures")
    .argument("<pool>", "folder of the support pool")
    .requiredOption("--records <file>", "replies of an observer")
    .requiredOption("--reference <file>", "what truly happened")
    .option("--constants <file>", "YAML with other constants than the published ones")
    .option("--html <file>", "write a page with plots, too")
    .option("--vocabulary <file>", "vocabulary file instead of the shipped one")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw phase report pools/block-pick --records records.jsonl --reference pools/block-pick/reference.json --html report.html",
    )
    .action(guarded<[string, ReportOptions]>((_, options) => options.json === true, reportVerb));
}
