/** surgiclaw phase compile POOL, surgiclaw phase show EPISODE */
import type { Command } from "commander";
import { CellError } from "../../base/errors.js";
import { readBank, writeBank, type PhaseBank } from "../../lab/phase/bank-file.js";
import { compileBank } from "../../lab/phase/compile-bank.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson, table } from "../shared/output.js";
import { existingRecords, loadConstants, openPoolWithTask, type PoolOptions } from "./pool-arguments.js";

interface CompileOptions extends PoolOptions {
  readonly records: string;
  readonly out: string;
  readonly constants?: string;
  readonly json?: boolean;
}

async function compile(folder: string, options: CompileOptions): Promise<void> {
  const { pool, vocabulary } = await openPoolWithTask(folder, options);
  const constants = await loadConstants(options.constants);
  const lines = await existingRecords(options.records);
  const { header, columns } = await compileBank(pool, vocabulary, lines, constants);
  const bank = await writeBank(options.out, header, columns);
  const { accepted, refused, transitions } = bank.header;
  if (options.json === true) {
    const { sha256 } = bank;
    printJson({ file: options.out, sha256, transitions, accepted: accepted.length, refused });
    return;
  }
  print(
    `${options.out}: ${transitions} transitions of ${accepted.length} episodes, ${refused.length} refused`,
  );
  print(`sha256 ${bank.sha256}`);
}

interface ShowOptions {
  readonly bank: string;
  readonly json?: boolean;
}

/** The rows of one accepted episode. */
function rowsOf(bank: PhaseBank, firstRow: number, steps: number): Record<string, number[]> {
  const names = ["environmentReward", "reward", "weight", "probability", "terminal"];
  return Object.fromEntries(
    names.map((name) => [
      name,
      [...(bank.columns.get(name) ?? new Float64Array()).subarray(firstRow, firstRow + steps)],
    ]),
  );
}

async function show(id: string, options: ShowOptions): Promise<void> {
  const bank = await readBank(options.bank);
  const refused = bank.header.refused.find(({ episode }) => episode === id);
  const accepted = bank.header.accepted.find(({ episode }) => episode === id);
  if (accepted === undefined) {
    if (refused === undefined)
      throw new CellError("COMMAND_INVALID", `${options.bank} knows no episode ${id}`);
    if (options.json === true) printJson({ ...refused, accepted: false });
    else {
      print(`${id}: not in the bank (${refused.reasons.join(", ")})`);
      if (refused.phase !== undefined) {
        const arrival = refused.arrival ? `${refused.arrival[0]} to ${refused.arrival[1]}` : "not told";
        print(`phase "${refused.phase}", arrival ${arrival}, confidence ${refused.confidence ?? "-"}`);
      }
    }
    return;
  }
  const rows = rowsOf(bank, accepted.firstRow, accepted.steps);
  if (options.json === true) {
    printJson({ ...accepted, accepted: true, ...rows });
    return;
  }
  const { phase, rank, arrival, confidence, window, credit, middle } = accepted;
  print(
    `${id}: "${phase}" (rank ${rank}), first reached in steps ${arrival[0]} to ${arrival[1]}, confidence ${confidence}`,
  );
  print(`credit ${credit} over steps ${window[0]} to ${window[1]} around ${middle}`);
  const most = Math.max(...(rows["probability"] ?? []));
  const lines = Array.from({ length: accepted.steps }, (_, step) => {
    const at = (name: string): number => rows[name]?.[step] ?? 0;
    const bar = "#".repeat(Math.round((24 * at("probability")) / most));
    return [
      `${step}${step >= window[0] && step <= window[1] ? "*" : " "}`,
      at("environmentReward").toFixed(3),
      at("reward").toFixed(5),
      at("weight").toFixed(4),
      at("probability").toExponential(3),
      bar,
    ];
  });
  print(table(["step", "reward", "credited", "weight", "probability", ""], lines));
}

export function addPhaseBank(phase: Command): void {
  phase
    .command("compile")
    .description("compile the replies to a pool into a frozen bank; nobody is asked")
    .argument("<pool>", "folder of the support pool")
    .requiredOption("--records <file>", "replies of an observer")
    .requiredOption("--out <file>", "bank to write")
    .option("--constants <file>", "YAML with other constants than the published ones")
    .option("--vocabulary <file>", "vocabulary file instead of the shipped one")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw phase compile pools/block-pick --records records.jsonl --out block-pick.bank",
    )
    .action(guarded<[string, CompileOptions]>((_, options) => options.json === true, compile));
  phase
    .command("show")
    .description("what a bank holds of an episode: its record, credit, weights and probabilities, or why not")
    .argument("<episode>")
    .requiredOption("--bank <file>", "bank file")
    .addOption(jsonOption())
    .addHelpText("after", "\nExample: npx surgiclaw phase show e0007 --bank block-pick.bank")
    .action(guarded<[string, ShowOptions]>((_, options) => options.json === true, show));
}
