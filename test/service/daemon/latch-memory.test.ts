/** What a daemon finds of the stop latch that an earlier one left. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import type { CellError } from "../../../src/base/errors.js";
import { pino } from "pino";
import { systemClock } from "../../../src/base/clock.js";
import { StopLatch } from "../../../src/agent/safety/stop-latch.js";
import { LatchKeeper, LatchMemory } from "../../../src/service/daemon/latch-memory.js";

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

t.test("over the lives of a daemon", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-latch-"));
  const context = { clock: systemClock, log: pino({ level: "silent" }) };
  const begin = async (): Promise<{ latch: StopLatch; keeper: LatchKeeper }> => {
    const latch = new StopLatch();
    const keeper = new LatchKeeper(latch, context);
    await keeper.open(folder);
    return { latch, keeper };
  };
  const first = await begin();
  t.equal(first.latch.latched, false);
  first.latch.engage("a person's stop", 1);
  await first.keeper.kept();

  const afterCrash = await begin();
  t.match(afterCrash.latch.state, { latched: true, reason: /a person's stop/ });
  afterCrash.latch.reset({ stopNumber: 1, by: "Ada" }, { stopReleased: true, selfCheckOk: true });
  await afterCrash.keeper.kept();

  const afterReset = await begin();
  t.equal(afterReset.latch.latched, false);
  afterReset.keeper.daemonStops();
  afterReset.latch.engage("the daemon ends", 2);
  await afterReset.keeper.endOfStop();
  t.equal((await begin()).latch.latched, false, "an orderly end is nothing to reset");

  const stopped = await begin();
  stopped.latch.engage("a person's stop", 3);
  stopped.keeper.daemonStops();
  stopped.latch.engage("the daemon ends", 4);
  await stopped.keeper.endOfStop();
  t.match((await begin()).latch.state, { latched: true }, "what was latched before it stays so");
});
