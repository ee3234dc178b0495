/** docs/interop.md from the records of a run: `node table.js --write|--check RECORDS FILE`. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { PeerRecord } from "./peer.js";

const head = `# Proven by others

\`npm run test:interop\` runs programs that others wrote against the emulated devices, and our drivers against theirs. Python
peers are installed with fixed versions into \`.venv/interop\` (\`test/interop/requirements.txt\`), the others come from Debian
(\`scripts/debian-packages.txt\`). This table is written by \`npm run test:interop -- --write\`, and a run that no longer agrees
with it fails.
`;

const [mode, folder, file] = process.argv.slice(2);
if ((mode !== "--write" && mode !== "--check") || folder === undefined || file === undefined) {
  process.stderr.write("table.js --write|--check RECORDS FILE\n");
  process.exit(2);
}
const records = readdirSync(folder)
  .sort()
  .map((name) => JSON.parse(readFileSync(path.join(folder, name), "utf8")) as PeerRecord);

/** Versions of Debian packages differ between releases of Debian: the table names them, a check does not compare them. */
const rows = (withVersion: boolean): string[][] =>
  records.map(({ peer, version, against, exercised, checks }) => [
    peer,
    ...(withVersion ? [version] : []),
    against,
    exercised,
    String(checks),
  ]);

if (mode === "--write") {
  const lines = [
    ["peer", "version", "against", "what was exercised", "checks"],
    ["---", "---", "---", "---", "--:"],
  ]
    .concat(rows(true))
    .map((cells) => `| ${cells.join(" | ")} |`);
  writeFileSync(file, `${head}\n${lines.join("\n")}\n`);
} else {
  const known = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()).filter((_, i) => i !== 1));
  const wanted = rows(false);
  const differs = (a: readonly string[][], b: readonly string[][]): string[][] =>
    a.filter((row) => !b.some((other) => other.join("|") === row.join("|")));
  for (const row of differs(wanted, known))
    process.stdout.write(`ran, but not in ${file}: ${row.join(" | ")}\n`);
  for (const row of differs(known, wanted))
    process.stdout.write(`in ${file}, but did not run: ${row.join(" | ")}\n`);
  if (differs(wanted, known).length > 0 || differs(known, wanted).length > 0) process.exitCode = 1;
}
