/** surgiclaw policy report */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Command } from "commander";
import { CellError } from "../../base/errors.js";
import { curvesPicture } from "../../lab/learning/curves-picture.js";
import type { MeanInterval } from "../../lab/learning/mean-interval.js";
import { reportOf, type ReportCell } from "../../lab/learning/policy-report.js";
import { readRuns, runsFolder } from "../../lab/learning/run-file.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson, table } from "../shared/output.js";

interface ReportOptions {
  readonly runs: string;
  readonly out?: string;
  readonly json?: boolean;
}

const withInterval = ({ mean, half }: MeanInterval): string =>
  half === null ? mean.toFixed(1) : `${mean.toFixed(1)} ± ${half.toFixed(1)}`;
const beside = (published: number | undefined): string => published?.toFixed(1) ?? "-";

const row = (cell: ReportCell): string[] => [
  cell.task,
  cell.method,
  cell.source ?? "-",
  String(cell.updates),
  `${cell.width.join("-")}/${cell.batch}`,
  `${cell.gamma}${cell.bootstrapAtDone ? " always" : ""}`,
  withInterval(cell.success),
  String(cell.success.count),
  beside(cell.published),
];

async function report(options: ReportOptions): Promise<void> {
  const runs = await readRuns(options.runs);
  if (runs.length === 0) {
    throw new CellError("COMMAND_INVALID", `${options.runs} holds no run`, {
      remedy: "train one: `surgiclaw policy train`",
    });
  }
  const { cells, fiveTasks, unfinished } = reportOf(runs);
  const pictures: string[] = [];
  if (options.out !== undefined) {
    await mkdir(options.out, { recursive: true });
    for (const task of new Set(cells.map((cell) => cell.task))) {
      const file = path.join(options.out, `${task}.png`);
      await writeFile(
        file,
        curvesPicture(
          task,
          cells.filter((cell) => cell.task === task),
        ),
      );
      pictures.push(file);
    }
  }
  if (options.json === true) {
    printJson({
      cells: cells.map(({ runs: behind, ...cell }) => ({
        ...cell,
        seeds: behind.map(({ settings }) => settings.seed),
      })),
      ...{ fiveTasks, unfinished, pictures },
    });
    return;
  }
  const head = [
    "task",
    "method",
    "support",
    "updates",
    "network/batch",
    "gamma",
    "success %",
    "seeds",
    "published %",
  ];
  print(table(head, cells.map(row)));
  if (fiveTasks.length > 0) {
    print();
    print(
      table(
        ["mean of five tasks", "support", "updates", "success %", "seeds", "published %"],
        fiveTasks.map(({ method, source, updates, mean, seeds, published }) => [
          ...[method, source ?? "-", String(updates), mean.toFixed(1), String(seeds), beside(published)],
        ]),
      ),
    );
  }
  if (unfinished > 0) print(`${unfinished} runs are not finished and not counted`);
  for (const file of pictures) print(file);
}

export function addPolicyReport(policy: Command): void {
  policy
    .command("report")
    .description(
      "tables over all kept runs beside the published values, with 95 % intervals and the seeds behind them",
    )
    .option("--runs <folder>", "where runs are kept", runsFolder)
    .option("--out <folder>", "also draw the curves of each task as PNG")
    .addOption(jsonOption())
    .addHelpText("after", "\nExample: npx surgiclaw policy report --out runs/curves")
    .action(guarded<[ReportOptions]>((options) => options.json === true, report));
}
