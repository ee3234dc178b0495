/** Prints the results of one bench as a table: node scripts/bench-table.mjs FILE.json */
import { readFile } from "node:fs/promises";

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: node scripts/bench-table.mjs FILE.json");
  process.exit(2);
}
const { seed, sets } = JSON.parse(await readFile(file, "utf8"));
const pair = ([median, p95], digits) =>
  median < 0 ? "-" : `${median.toFixed(digits)} (${p95.toFixed(digits)})`;
console.log(`seed ${seed}; medians, p95 in brackets; found: angle < 2 deg and across < 15 px`);
for (const { set, frames, ratio, ...methods } of sets) {
  console.log(`\n${set}, ${frames} frames: ${ratio.toFixed(1)} times faster`);
  const rows = [["", "ms", "found", "wrong", "angle deg", "across px", "along px"]];
  for (const [name, m] of Object.entries(methods))
    rows.push([
      ...[name, pair(m.ms, 2), String(m.found), String(m.wrong)],
      ...[pair(m.angleDeg, 3), pair(m.acrossPx, 2), pair(m.alongPx, 1)],
    ]);
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  for (const row of rows)
    console.log(
      `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ")}`,
    );
}
