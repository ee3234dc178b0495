/** The table of the document's fault modes names switches that exist, all of them, and tests that set them. */
import { readFileSync } from "node:fs";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../../src/base/paths.js";
import { UrController } from "../../../src/twin/ur/ur-controller.js";
import { urFaults } from "../../../src/twin/ur/ur-faults.js";
import { documentFaults } from "./document-faults.js";

const known = Object.keys(urFaults(new UrController()));

t.test("every switch of the arm stands in the table, and every one of the table exists", (t) => {
  const named = new Set(documentFaults.flatMap(({ switches }) => switches));
  t.same([...named].sort(), [...known].sort());
  t.end();
});

t.test("every row names a test that is there and that uses its switches", (t) => {
  for (const { fault, switches, test } of documentFaults) {
    const [file = "", title = ""] = test.split(" :: ");
    const source = readFileSync(path.join(projectRoot, "test", file), "utf8");
    t.ok(title.length > 10 && source.includes(title), `${fault}: ${test}`);
    for (const one of switches) t.ok(source.includes(`"${one}"`), `${fault}: ${file} sets ${one}`);
  }
  t.end();
});
