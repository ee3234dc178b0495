/** The hazard file is whole, every test that it names exists, and a control without a passing test is found. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";

interface Hazard {
  readonly id: string;
  readonly controls: readonly { readonly id: string; readonly tests: readonly string[] }[];
}
interface Script {
  readHazards(file?: string): Promise<{ readonly hazards: readonly Hazard[] }>;
  tapResults(text: string): Map<string, boolean>;
  judgeControls(
    hazards: readonly Hazard[],
    results: Map<string, boolean>,
  ): readonly { readonly test: string; readonly passed: boolean | undefined }[];
}
const script = (await import(
  pathToFileURL(path.join(projectRoot, "scripts", "hazards.mjs")).href
)) as unknown as Script;

t.test("every seed hazard is there, and every named test exists", async (t) => {
  const { hazards } = await script.readHazards();
  const ids = hazards.map(({ id }) => id);
  for (let k = 1; k <= 12; k++) t.ok(ids.includes(`HAZ-${String(k).padStart(3, "0")}`), `HAZ ${k}`);
  for (const { controls } of hazards) {
    for (const { id, tests } of controls) {
      for (const test of tests) {
        const [file = "", title = ""] = test.split(" :: ");
        const text = await readFile(path.join(projectRoot, "test", file), "utf8").catch(() => "");
        // Titles may be put together from data: then their fixed end stands in the file.
        const end = title.includes(": ") ? title.slice(title.indexOf(": ") + 2) : title;
        const spec = await readFile(
          path.join(projectRoot, "test/agent/safety/fault-rules.spec.json"),
          "utf8",
        );
        const modes = await readFile(path.join(projectRoot, "test/agent/safety/failure-modes.ts"), "utf8");
        const found = [text, spec, modes].some((one) => one.includes(title) || one.includes(end));
        t.ok(text !== "" && found, `${id}: ${test}`);
      }
    }
  }
});

t.test("results are read from TAP, and what did not pass is open", async (t) => {
  const tap = [
    "# Subtest: dist/test/a/one.test.js",
    "    # Subtest: holds",
    "        ok 1 - inner",
    "    ok 1 - holds # time=12.3ms",
    "    not ok 2 - breaks # time=1ms",
    "    ok 3 - left out # SKIP no device",
    "ok 1 - dist/test/a/one.test.js # time=20ms",
    "# Subtest: dist/test/a/two.test.js",
    "    ok 1 - holds # time=12.3ms",
  ].join("\n");
  const results = script.tapResults(tap);
  t.equal(results.get("a/one.test.ts :: holds"), true);
  t.equal(results.get("a/one.test.ts :: breaks"), false);
  t.equal(results.get("a/one.test.ts :: left out"), false, "a skipped test proves nothing");
  t.equal(results.get("a/two.test.ts :: holds"), true);
  const tests = ["a/one.test.ts :: holds", "a/one.test.ts :: breaks", "a/two.test.ts :: gone"];
  const rows = script.judgeControls([{ id: "HAZ-1", controls: [{ id: "CTL-1", tests }] }], results);
  t.same(
    rows.map(({ passed }) => passed),
    [true, false, undefined],
  );
});
