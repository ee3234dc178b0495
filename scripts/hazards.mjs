/**
 * Compares the hazard file with what the tests said: every hazard has a control, every control a requirement that exists and
 * tests that passed in the last run. Writes the table hazard -> control -> test -> result beside the logs.
 *   node scripts/hazards.mjs runs/logs             after a whole run
 *   node scripts/hazards.mjs runs/logs --no-e2e    tests of e2e/ are left out
 */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** The file as it is meant. @throws Error naming what is missing */
export async function readHazards(file = path.join(root, "src/agent/safety/hazards.yaml")) {
  const { requirements, hazards } = parse(await readFile(file, "utf8"));
  const problems = [];
  const seen = new Set();
  const unique = (id) => (seen.has(id) ? problems.push(`${id} stands twice`) : seen.add(id));
  for (const hazard of hazards) {
    unique(hazard.id);
    for (const key of ["situation", "cause", "severity"])
      if (!hazard[key]) problems.push(`${hazard.id} has no ${key}`);
    if (!["sample-loss", "work-loss", "wrong-record"].includes(hazard.severity))
      problems.push(`${hazard.id}: severity ${hazard.severity}`);
    if (!(hazard.controls?.length > 0)) problems.push(`${hazard.id} has no control`);
    for (const control of hazard.controls ?? []) {
      unique(control.id);
      if (!control.text) problems.push(`${control.id} has no text`);
      if (!(control.requirement in requirements))
        problems.push(`${control.id}: there is no requirement ${control.requirement}`);
      if (!(control.tests?.length > 0)) problems.push(`${control.id} has no test`);
      for (const test of control.tests ?? [])
        if (!/^\S+\.test\.ts :: ./.test(test)) problems.push(`${control.id}: ${test} is not FILE :: TITLE`);
    }
  }
  const used = new Set(
    hazards.flatMap(({ controls = [] }) => controls.map(({ requirement }) => requirement)),
  );
  for (const id of Object.keys(requirements)) if (!used.has(id)) problems.push(`${id} is used by no control`);
  if (problems.length > 0) throw new Error(`hazards.yaml: ${problems.join("; ")}`);
  return { requirements, hazards };
}

/** "FILE :: TITLE" -> passed, from TAP of several files. A title that stands twice must pass twice. */
export function tapResults(text) {
  const results = new Map();
  let file = "";
  for (const line of text.split("\n")) {
    const begun = /^# Subtest: (?:\.\/)?dist\/test\/(\S+)\.js/.exec(line);
    if (begun) file = `${begun[1]}.ts`;
    const said = /^ +(not )?ok \d+ - (.*?)(?: # (?:time=\S+|(SKIP|TODO).*))?(?: \{)?$/i.exec(line);
    if (!said || file === "") continue;
    const [, not, title, skipped] = said;
    const key = `${file} :: ${title.replaceAll("\\#", "#").trim()}`;
    results.set(key, (results.get(key) ?? true) && not === undefined && skipped === undefined);
  }
  return results;
}

/** Rows of control and test with what is wrong; `undefined` result: it did not run. */
export function judgeControls(hazards, results, without = () => false) {
  return hazards.flatMap((hazard) =>
    hazard.controls.flatMap((control) =>
      control.tests
        .filter((test) => !without(test))
        .map((test) => ({ hazard, control, test, passed: results.get(test) })),
    ),
  );
}

async function main(folder, options) {
  const { hazards } = await readHazards();
  const without = options.includes("--no-e2e") ? (test) => test.startsWith("e2e/") : () => false;
  const texts = await Promise.all(
    ["unit.tap", "e2e.tap"].map((name) => readFile(path.join(folder, name), "utf8").catch(() => "")),
  );
  const rows = judgeControls(hazards, tapResults(texts.join("\n")), without);
  const words = (passed) => (passed === undefined ? "did not run" : passed ? "passed" : "FAILED");
  const table = rows.map(
    ({ hazard, control, test, passed }) =>
      `| ${hazard.id} | ${control.id} | ${control.requirement} | ${test} | ${words(passed)} |`,
  );
  const head = ["| hazard | control | requirement | test | result |", "|---|---|---|---|---|"];
  await writeFile(path.join(folder, "hazards.md"), `${[...head, ...table].join("\n")}\n`);
  const open = rows.filter(({ passed }) => passed !== true);
  for (const { control, test, passed } of open) console.error(`${control.id}: ${test}: ${words(passed)}`);
  process.exitCode = open.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder = "runs/logs", ...options] = process.argv.slice(2);
  await main(folder, options);
}
