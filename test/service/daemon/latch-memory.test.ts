/** What a daemon finds of the stop latch that an earlier one left. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import type { CellError } from "../../../src/base/errors.js";
import { LatchMemory } from "../../../src/service/daemon/latch-memory.js";

t.test("kept, and doubted when it cannot be understood", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-latch-"));
  const file = path.join(folder, "stop-latch.json");
  const failures: CellError[] = [];
  const memory = new LatchMemory(file, (error) => failures.push(error));
  t.same(await memory.read(), { latched: false, reason: "" }, "no earlier daemon");
  void memory.write({ latched: true, reason: "a person's stop" });
  void memory.write({ latched: false, reason: "" });
  await memory.write({ latched: true, reason: "another stop" });
  t.same(await memory.read(), { latched: true, reason: "another stop" }, "the last of several");
  for (const text of ["", "{", '{"latched":"no"}', '{"latched":false,"reason":"","more":1}']) {
    await writeFile(file, text);
    t.match(await memory.read(), { latched: true, reason: /damaged/ }, JSON.stringify(text));
  }
  await new LatchMemory(path.join(folder, "no", "file"), (error) => failures.push(error)).write({
    latched: true,
    reason: "",
  });
  t.equal(failures.length, 1, "a full disk is told, and stops nobody");
});
