/**
 * Reads the summaries that seeds.sh collected, prints one row per seed and exits 0 only when every run completed
 * within the published thresholds with no dispatched violation and every motion of the cell explained.
 *   node scripts/seeds-table.mjs FOLDER SEED ...
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Published limits (strictly below): registration, alignment (angle, image error per view), insertion (angle, landing). */
const limits = {
  treM: 0.5e-3,
  alignAngleRad: (2 * Math.PI) / 180,
  alignErrorM: 5e-6,
  insertAngleRad: (5 * Math.PI) / 180,
  landingErrorM: 30e-6,
};

const [folder, ...seeds] = process.argv.slice(2);
const worst = (targets, key) =>
  Math.max(...targets.flatMap((target) => target[key] ?? Number.POSITIVE_INFINITY));
const rows = seeds.map((seed) => {
  const file = path.join(folder, `seed-${seed}.json`);
  const exit = Number(readFileSync(path.join(folder, `seed-${seed}.exit`), "utf8"));
  if (!existsSync(file)) return { seed, exit, passed: false, why: ["no summary"] };
  const summary = JSON.parse(readFileSync(file, "utf8"));
  const targets = summary.targets ?? [];
  const why = [];
  if (exit !== 0) why.push(`exit ${exit}`);
  if (summary.completed !== true) why.push("not completed");
  if (targets.length === 0) why.push("no targets");
  if (summary.dispatchedViolations !== 0) why.push(`${summary.dispatchedViolations} dispatched violations`);
  if (summary.unexplainedMotions !== 0) why.push(`${summary.unexplainedMotions} unexplained motions`);
  const measured = {};
  for (const [key, limit] of Object.entries(limits)) {
    measured[key] = worst(targets, key);
    if (!(measured[key] < limit)) why.push(key);
  }
  if (targets.some((target) => target.released !== true)) why.push("not released");
  if (targets.some((target) => target.vesselHit !== false)) why.push("vessel hit");
  return {
    seed,
    exit,
    passed: why.length === 0,
    why,
    measured,
    cycles: summary.cycles,
    wallS: summary.wallS,
  };
});

const cell = (value, width, digits = 1) =>
  (Number.isFinite(value) ? value.toFixed(digits) : "-").padStart(width);
console.log("seed  TRE um  align deg  align um  insert deg  landing um  cycles  wall s  result");
for (const row of rows) {
  const m = row.measured ?? {};
  console.log(
    String(row.seed).padStart(4),
    cell(m.treM * 1e6, 7),
    cell((m.alignAngleRad * 180) / Math.PI, 10, 2),
    cell(m.alignErrorM * 1e6, 9, 2),
    cell((m.insertAngleRad * 180) / Math.PI, 11, 2),
    cell(m.landingErrorM * 1e6, 11),
    cell(row.cycles, 7, 0),
    cell(row.wallS, 7, 0),
    ` ${row.passed ? "passed" : row.why.join(", ")}`,
  );
}
writeFileSync(path.join(folder, "results.json"), `${JSON.stringify(rows, null, 2)}\n`);
const failed = rows.filter((row) => !row.passed).length;
console.log(`worst of each run over its targets; all values: ${folder}/results.json`);
console.log(`${rows.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
