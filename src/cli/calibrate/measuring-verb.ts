/**
 * What the verbs that measure have in common: their options, the calibration they build on, the state that an interrupted run
 * leaves, and the file that they write.
 */
import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import type { Command } from "commander";
import type { z } from "zod";
import { calibrationItems, type Calibration, type CalibrationItem } from "../../base/calibration-file.js";
import { loadConfig, type LoadedConfig } from "../../base/config.js";
import { CellError } from "../../base/errors.js";
import { loadCalibration, saveCalibration } from "../../record/calibration-store.js";
import { replaceFile } from "../../record/durable-file.js";
import { jsonOption } from "../shared/connection.js";
import { interruptSignal } from "../shared/follow.js";
import { print, printJson, table, warn } from "../shared/output.js";
import { wholeNumber } from "../procedure.js";
import { withMeasuringCell, type MeasuringCell } from "./measuring-cell.js";

export interface MeasureOptions {
  readonly config: string;
  readonly output?: string;
  readonly validDays: number;
  readonly dryRun?: boolean;
  readonly fresh?: boolean;
  readonly json?: boolean;
}

/** Adds the options that every measuring verb has. */
export const addMeasureOptions = (command: Command): Command =>
  command
    .requiredOption("--config <file>", "the daemon's configuration; no daemon may run with it meanwhile")
    .option(
      "--output <file>",
      "calibration file (default: calibration/CELL.yaml in the folder of recordings)",
    )
    .option("--valid-days <days>", "how long the result may be used", wholeNumber, 30)
    .option("--dry-run", "say what would be done; link and move nothing")
    .option("--fresh", "begin anew even if an interrupted run could go on")
    .addOption(jsonOption());

export const outputOf = ({ config }: LoadedConfig, given: string | undefined): string =>
  path.resolve(given ?? path.join(config.record.folder, "calibration", `${config.cell.id}.yaml`));

/**
 * The calibration that a measurement builds on: what its output holds already, where that is of this cell, whole and in force;
 * else the one that the configuration names; and when that has expired, which is a reason to measure, nothing but the drawing.
 * @throws CellError CALIBRATION_… of the file that the configuration names, unless it has expired
 */
export async function builtOn({ config }: LoadedConfig, output: string): Promise<Calibration> {
  const { id } = config.cell;
  const before = await loadCalibration(output, id, Date.now()).catch(() => undefined);
  if (before !== undefined) return before;
  try {
    return await loadCalibration(config.calibration.file, id, Date.now());
  } catch (error) {
    if (!(error instanceof CellError) || error.code !== "CALIBRATION_EXPIRED") throw error;
    return { version: 1, cell: id, method: "drawing", createdAt: new Date().toISOString(), edges: [] };
  }
}

/** What an interrupted run has left. @throws CellError CALIBRATION_INVALID for a file that is no such state */
export async function readState<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new CellError("CALIBRATION_INVALID", `${file} is not what an interrupted run leaves`, {
      cause: error,
      remedy: "begin anew with --fresh",
    });
  }
}

/** Keeps what was seen so far beside the output. */
export async function keepState(file: string, state: unknown): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await replaceFile(file, JSON.stringify(state));
}

export interface Measured {
  readonly items: Readonly<Record<string, CalibrationItem>>;
  /** Frames found elsewhere than the calibration before had them. */
  readonly edges?: Calibration["edges"];
  /** Items before that no longer hold: they were measured with what has changed now. */
  readonly voids?: (item: string) => boolean;
}

/** Serial numbers of the devices that tell them. */
const devicesOf = ({ cell }: MeasuringCell): Record<string, { model: string; serial: string }> =>
  Object.fromEntries(
    cell.devices.microscopes.flatMap(({ name, identity }) =>
      identity === undefined ? [] : [[name, { model: identity.model, serial: identity.serial }] as const],
    ),
  );

/**
 * Writes what was measured over what the calibration before holds; the file before goes into `history/`, the state of the
 * run away.
 * @returns where the file before lies now
 */
export async function writeMeasured(
  output: string,
  stateFile: string | undefined,
  cell: MeasuringCell,
  before: Calibration,
  { items, edges = [], voids = () => false }: Measured,
): Promise<string | undefined> {
  const kept = Object.entries(calibrationItems(before)).filter(([name]) => !voids(name));
  const stays = before.edges.filter(({ frame }) => !edges.some((edge) => edge.frame === frame));
  const { kept: file } = await saveCalibration(output, {
    version: 1,
    cell: before.cell,
    method: "measured",
    createdAt: new Date().toISOString(),
    edges: [...stays, ...edges],
    devices: devicesOf(cell),
    items: { ...Object.fromEntries(kept), ...items },
  });
  if (stateFile !== undefined) await rm(stateFile, { force: true });
  return file;
}

export const datesOf = (validDays: number, now = new Date()): { measuredAt: string; expiresAt: string } => ({
  measuredAt: now.toISOString(),
  expiresAt: new Date(now.getTime() + validDays * 86_400_000).toISOString(),
});

/** The items as a table. */
export function showItems(items: Readonly<Record<string, CalibrationItem>>): void {
  const figure = (value: number): string => value.toPrecision(5);
  print(
    table(
      ["item", "unit", "values", "held out, rms", "max"],
      Object.entries(items).map(([name, { unit, values, residuals }]) => [
        name,
        unit,
        values.length > 6 ? `${values.length} values` : values.map(figure).join(" "),
        `${residuals.rms.toPrecision(3)} ${residuals.unit}`,
        `${residuals.max.toPrecision(3)} ${residuals.unit}`,
      ]),
    ),
  );
}

/** Says where the result is. */
export function showWritten(output: string, kept: string | undefined): void {
  if (kept !== undefined) print(`the file before is kept as ${kept}`);
  print(`${output} written; name it as calibration.file in the configuration to use it`);
}

/** A bar on a terminal; nothing elsewhere. */
export function bar(done: number, total: number, what: string): void {
  if (!process.stderr.isTTY) return;
  const width = 30;
  const full = Math.round((width * done) / total);
  const text = `[${"#".repeat(full)}${".".repeat(width - full)}] ${done}/${total} ${what}`;
  process.stderr.write(`\r${text.padEnd(78)}${done === total ? "\n" : ""}`);
}

export interface MeasureTask<S> {
  readonly stateFile: string;
  readonly before: S | undefined;
  readonly validDays: number;
  readonly onProgress: (done: number, total: number, what: string) => void;
}

/** A verb that measures: what a dry run says of it, and how it is done. */
export interface Verb<S> {
  readonly name: string;
  readonly schema: z.ZodType<S>;
  /** Whether the cell is exposed and focused by the needle first; unless said otherwise it is. */
  readonly byNeedle?: boolean;
  describe(before: S | undefined): {
    readonly steps: number;
    readonly left: number;
    readonly lines: readonly string[];
  };
  measure(cell: MeasuringCell, task: MeasureTask<S>): Promise<Measured>;
}

/** Runs a verb: resumes, measures, writes, shows. @throws CellError of files, devices and of what was measured */
export async function runVerb<S>(options: MeasureOptions, verb: Verb<S>): Promise<void> {
  const loaded = await loadConfig(options.config);
  const output = outputOf(loaded, options.output);
  const stateFile = `${output}.${verb.name}.partial.json`;
  const byNeedle = verb.byNeedle ?? true;
  const json = options.json === true;
  const before = options.fresh === true ? undefined : await readState(stateFile, verb.schema);
  if (options.dryRun === true) {
    const { steps, left, lines } = verb.describe(before);
    if (json) printJson({ cell: loaded.config.cell.id, output, steps, left });
    else {
      print(`cell ${loaded.config.cell.id}: ${left} of ${steps} steps to go; nothing has moved`);
      for (const line of lines) print(line);
      print(`before: devices powered and homed where they are not${byNeedle ? ", exposure, focus" : ""}`);
      print(`result: ${output}`);
    }
    return;
  }
  const calibration = await builtOn(loaded, output);
  const { measured, kept } = await withMeasuringCell(
    loaded,
    `calibrate-${verb.name}`,
    interruptSignal(),
    (line) => (json ? undefined : warn(line)),
    async (cell) => {
      const { validDays } = options;
      const onProgress = json ? (): void => undefined : bar;
      const result = await verb.measure(cell, { stateFile, before, validDays, onProgress });
      return { measured: result, kept: await writeMeasured(output, stateFile, cell, calibration, result) };
    },
    calibration,
    { prepare: byNeedle },
  );
  const { items, edges = [] } = measured;
  if (json) printJson({ output, kept: kept ?? null, items, edges });
  else {
    showItems(items);
    showWritten(output, kept);
  }
}
