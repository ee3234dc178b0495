/** The evaluator's summary of a run: its shape, and how it is shown. */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { paint, table } from "./output.js";

const measured = z.number().nullable();

export const summarySchema = z.looseObject({
  seed: z.number(),
  completed: z.boolean(),
  targets: z.array(
    z.looseObject({
      treM: measured,
      alignAngleRad: measured,
      alignErrorM: z.tuple([measured, measured]).nullable(),
      landingErrorM: measured,
      insertAngleRad: measured,
      released: z.boolean(),
      vesselHit: z.boolean(),
    }),
  ),
  cycles: z.number(),
  refusals: z.record(z.string(), z.number()),
  dispatchedViolations: z.number(),
  takeovers: z.number(),
  wallS: z.number(),
  recording: z.string(),
});
export type Summary = z.output<typeof summarySchema>;

/** Published limits; a value must lie below. */
const limits = {
  treM: 0.5e-3,
  alignAngleRad: (2 * Math.PI) / 180,
  alignErrorM: 5e-6,
  landingErrorM: 30e-6,
  insertAngleRad: (5 * Math.PI) / 180,
} as const;

export async function readSummary(file: string): Promise<Summary> {
  const parsed = summarySchema.safeParse(JSON.parse(await readFile(file, "utf8")));
  if (parsed.success) return parsed.data;
  throw new CellError("INTERNAL", `${file}: not a summary: ${z.prettifyError(parsed.error)}`);
}

/** `12.3`, marked when it is not below its limit. */
function cell(value: number | null, limit: number, scale: number, digits: number): string {
  if (value === null) return "-";
  const text = (value * scale).toFixed(digits);
  return value < limit ? text : `${text} !`;
}

const toDeg = 180 / Math.PI;

/** The summary as lines for people. */
export function summaryLines(summary: Summary): string[] {
  const rows = summary.targets.map((target, index) => [
    String(index + 1),
    cell(target.treM, limits.treM, 1e6, 0),
    cell(target.alignAngleRad, limits.alignAngleRad, toDeg, 2),
    ...(target.alignErrorM ?? [null, null]).map((error) => cell(error, limits.alignErrorM, 1e6, 2)),
    cell(target.insertAngleRad, limits.insertAngleRad, toDeg, 2),
    cell(target.landingErrorM, limits.landingErrorM, 1e6, 1),
    target.released ? "yes" : "NO",
    target.vesselHit ? "HIT" : "clear",
  ]);
  const head = [
    "target",
    "TRE um",
    "align deg",
    "view1 um",
    "view2 um",
    "insert deg",
    "landing um",
    "released",
  ];
  const refusals = Object.entries(summary.refusals).map(([reason, count]) => `${count} ${reason}`);
  const violations = `${summary.dispatchedViolations} dispatched violations`;
  return [
    table([...head, "vessels"], rows),
    "limits: TRE < 500 um, alignment < 2 deg and < 5 um, insertion < 5 deg, landing < 30 um (! = not below)",
    `${summary.cycles} cycles, refusals: ${refusals.length > 0 ? refusals.join(", ") : "none"}, ` +
      `${summary.dispatchedViolations === 0 ? violations : paint("red", violations)}, ` +
      `${summary.takeovers} takeovers, ${summary.wallS.toFixed(0)} s`,
  ];
}
