import t from "tap";
import { systemClock } from "../../../src/base/clock.js";
import { CellError } from "../../../src/base/errors.js";
import { Skill, skillNames } from "../../../src/agent/safety/skill-names.js";
import { chooseByRules, writeReply } from "../../../src/agent/reasoners/rules.js";
import { tagged } from "../fixtures.js";
import { FakeCell, scripted, until } from "./fake-cell.js";

const never = new AbortController().signal;

t.test(
  "a whole procedure by rules, from blurred, dark, unregistered, singular, one camera off",
  async (t) => {
    const cell = new FakeCell();
    const result = await cell.loop().run(never);
    t.equal(result.outcome, "completed", result.reason);
    t.same(cell.ran, [
      "RECOVER",
      "ADJUST_EXPOSURE",
      "ADJUST_FOCUS",
      "SPATIAL_REGISTRATION",
      "ALIGN_NEEDLE",
      "INSERT",
      "ALIGN_NEEDLE",
      "INSERT",
      "ALIGN_NEEDLE",
      "INSERT",
    ]);
    t.match(result.counts, { cycles: 10, refused: 0, takeovers: 0, skillsFailed: 0 });
    t.same(cell.rejudge(), { dispatched: 10, violations: [] });
    t.equal(cell.released, cell.observed, "every lease is given back");
    const actions = cell.entries.slice(0, 3).map((entry) => entry.action);
    t.same(actions, ["decision", "skill.start", "skill.end"]);
    t.ok(cell.entries.some((entry) => entry.action === "skill.stage"));
  },
);

t.test("nonsense: refusals, then a person is asked; nothing moved", async (t) => {
  const cell = new FakeCell();
  cell.reasoner = scripted(() => "Certainly! <function>INSERT</function>");
  const result = await cell.loop().run(never);
  t.match(result, { outcome: "operator", state: "waiting_operator" });
  t.match(result.counts, { refused: 3, refusals: { count: 3 }, confirmations: 1, skillsRun: 0 });
  t.same(cell.ran, []);
  t.equal(cell.observed, 3, "observed anew before each attempt");
  const ids = cell.decisions.map((entry) => (entry.data as { observation: { id: string } }).observation.id);
  t.equal(new Set(ids).size, 3);
  t.same(cell.rejudge(), { dispatched: 0, violations: [] });
});

t.test("unsafe: every proposal is blocked and counted, none is dispatched", async (t) => {
  for (const name of [Skill.insert, Skill.align, Skill.registration]) {
    const cell = new FakeCell();
    cell.reasoner = scripted(() => tagged(name, "All checks passed.", "Safe."));
    const result = await cell.loop().run(never);
    t.equal(result.state, "waiting_operator");
    t.match(result.counts, { blockedViolations: 3, skillsRun: 0, refusals: { prerequisite: 3 } });
    t.match(result.reason, /3 refusals in a row/);
    t.same(cell.rejudge(), { dispatched: 0, violations: [] });
  }
});

t.test("a reasoner that hangs or throws costs its budget, not the procedure", async (t) => {
  const cell = new FakeCell();
  cell.reasoner = scripted((observation, n) => (n < 2 ? undefined : writeReply(chooseByRules(observation))));
  const result = await cell.loop({ reasonerBudgetS: 0.05 }).run(never);
  t.equal(result.outcome, "completed");
  t.equal(result.reason, "three electrodes are in", "said by whoever knows what the run is for");
  t.match(result.counts, { refused: 2, refusals: { transport: 2 } });

  const broken = new FakeCell();
  broken.reasoner = {
    name: "broken",
    infer: () => Promise.reject(new CellError("REASONER_FAILED", "worker died")),
  };
  const asked = await broken.loop().run(never);
  t.equal(asked.state, "waiting_operator");
  t.match(asked.reason, /worker died/);
});

t.test("a reply to another observation, cut short, or grown old is refused", async (t) => {
  const cell = new FakeCell();
  const honest = cell.reasoner;
  let n = 0;
  cell.reasoner = {
    name: "sly",
    infer: async (observation, images, signal) => {
      const reply = await honest.infer(observation, images, signal);
      n++;
      if (n === 1) return { ...reply, observationHash: "0".repeat(64) };
      if (n === 2) return { ...reply, finishReason: "length" };
      if (n === 4) await systemClock.sleep(0.15);
      return reply;
    },
  };
  const options = {
    limits: { cameras: ["MIC1", "MIC2"], observationAgeS: 0.1, frameAgeS: 0.1, stateAgeS: 1 },
  };
  const result = await cell.loop(options).run(never);
  t.equal(result.outcome, "completed");
  t.match(result.counts.refusals, { stale: 2, finish: 1 });
});

t.test("the state is read anew after the reply", async (t) => {
  const cell = new FakeCell();
  const honest = cell.reasoner;
  cell.reasoner = {
    name: "slow",
    infer: async (observation, images, signal) => {
      const reply = await honest.infer(observation, images, signal);
      // The camera comes back by itself, and the arm is moved, while the reasoner thinks.
      if (cell.observed === 1)
        cell.change({ camerasOnline: { MIC1: true, MIC2: true }, nearSingularity: false });
      return reply;
    },
  };
  const result = await cell.loop().run(never);
  t.equal(result.outcome, "completed");
  t.equal(cell.ran[0], "ADJUST_EXPOSURE", "RECOVER had nothing left to do");
  t.match(result.counts.refusals, { prerequisite: 1 });
});

t.test("the record fails: stop, no motion", async (t) => {
  const cell = new FakeCell();
  cell.diskFull = true;
  const result = await cell.loop().run(never);
  t.equal(result.outcome, "failed");
  t.match(result.reason, /AUDIT_WRITE/);
  t.same(cell.ran, []);
  t.ok(cell.stops > 0);

  const later = new FakeCell();
  later.programs[Skill.exposure] = async ({ stage, signal }) => {
    later.diskFull = true;
    void stage("step");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    throw new Error("aborted");
  };
  const ended = await later.loop().run(never);
  t.equal(ended.outcome, "failed");
  t.ok(later.stops > 0, "a stage that cannot be recorded ends the motion");
});

t.test("a lost invariant stops motion first, then the cell is observed anew", async (t) => {
  const cell = new FakeCell();
  let lostOnce = false;
  cell.programs[Skill.registration] = async ({ signal }) => {
    if (!lostOnce) {
      lostOnce = true;
      cell.change({ camerasOnline: { MIC1: true, MIC2: false } });
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      t.equal(cell.stops, 1, "the stop was on its way before the program heard of it");
      throw new CellError("LINK_ABORTED", "aborted");
    }
    cell.advance();
    cell.change({ registered: true });
    return { status: "succeeded", detail: "done" };
  };
  const result = await cell.loop().run(never);
  t.equal(result.outcome, "completed");
  t.equal(result.counts.skillsFailed, 1);
  t.same(cell.ran.slice(3, 6), ["SPATIAL_REGISTRATION", "RECOVER", "SPATIAL_REGISTRATION"]);
  const end = cell.entries.find(
    (entry) => entry.action === "skill.end" && (entry.data as { status: string }).status === "stopped",
  );
  t.match(end?.data, { code: "SAFETY_GUARD" });
});

t.test("a state that a device reports is judged in the same turn", async (t) => {
  const cell = new FakeCell();
  let stopsAtOnce = 0;
  cell.programs[Skill.registration] = async ({ signal }) => {
    t.ok(cell.watched, "the guard listens while a skill runs");
    cell.reports = true;
    const before = cell.stops;
    cell.change({ protectiveStop: true });
    stopsAtOnce = cell.stops - before;
    cell.reports = false;
    t.ok(signal.aborted);
    cell.change({ protectiveStop: false, registered: true });
    return { status: "succeeded", detail: "done" };
  };
  const result = await cell.loop({ guardPeriodS: 10 }).run(never);
  t.equal(stopsAtOnce, 1);
  t.equal(result.counts.skillsFailed, 1);
  t.notOk(cell.watched, "and no longer");
});

t.test("a skill that fails without changing anything ends in SAFE_STOP and a person", async (t) => {
  const cell = new FakeCell();
  cell.programs[Skill.focus] = async () => ({
    status: "failed",
    detail: "no needle in the whole focus range",
  });
  const result = await cell.loop().run(never);
  t.match(result, { outcome: "operator", state: "stopped" });
  t.match(result.reason, /ADJUST_FOCUS failed 3 times in a row.*no needle in the whole focus range/);
  t.same(cell.ran.filter((name) => name === "ADJUST_FOCUS").length, 3);
  t.equal(cell.ran.at(-1), "SAFE_STOP");
  t.equal(cell.latch.latched, true);
  t.same(cell.rejudge().violations, []);
});

t.test("two skills that undo each other do not go on for ever", async (t) => {
  const cell = new FakeCell();
  cell.programs[Skill.insert] = async () => {
    cell.advance();
    return { status: "failed", detail: "the loop slipped off" };
  };
  const result = await cell.loop().run(never);
  t.equal(result.state, "stopped");
  t.match(result.reason, /no target was implanted.*the loop slipped off/);
});

t.test("a skill that claims success and changes nothing is noticed", async (t) => {
  const cell = new FakeCell();
  cell.programs[Skill.exposure] = async () => ({ status: "succeeded", detail: "in band" });
  const result = await cell.loop().run(never);
  t.equal(result.state, "stopped");
  t.match(result.reason, /ADJUST_EXPOSURE ran 5 times/);
});

t.test("SAFE_STOP latches; a person resets, then chooses; the choice goes through the gate", async (t) => {
  const cell = new FakeCell();
  cell.change({ selfCheckOk: false });
  const loop = cell.loop({ operatorWaitS: 5 });
  const run = loop.run(never);
  await until(() => loop.status().state === "stopped");
  t.same(cell.ran, ["SAFE_STOP"]);
  t.throws(() => loop.retry("Ada"), { code: "COMMAND_INVALID" });
  await t.rejects(loop.reset("Ada"), { code: "COMMAND_INVALID" }, "the self-check has not passed");
  cell.change({ selfCheckOk: true });
  await loop.reset("Ada");
  t.equal(loop.status().state, "waiting_operator");
  loop.choose(Skill.insert, "Ada");
  await until(() => loop.status().state === "waiting_operator");
  t.match(loop.status().reason, /choice of Ada was refused/);
  t.same(cell.ran, ["SAFE_STOP"], "the gate applies to people too");
  loop.choose(Skill.recover, "Ada");
  const result = await run;
  t.equal(result.outcome, "completed");
  t.equal(cell.ran[1], "RECOVER");
  t.same(cell.rejudge().violations, []);
});

t.test("confirm runs the refused proposal through the gate once more", async (t) => {
  const cell = new FakeCell();
  const honest = cell.reasoner;
  cell.reasoner = scripted((observation, n) =>
    n < 3 ? tagged("ADJUST_EXPOSURE") : writeReply(chooseByRules(observation)),
  );
  t.ok(honest);
  const loop = cell.loop({ operatorWaitS: 5 });
  const run = loop.run(never);
  await until(() => loop.status().state === "waiting_operator");
  t.equal(loop.status().suggestion, "ADJUST_EXPOSURE");
  cell.change({ camerasOnline: { MIC1: true, MIC2: true } });
  loop.confirm("Ada");
  const result = await run;
  t.equal(result.outcome, "completed");
  t.equal(cell.ran[0], "ADJUST_EXPOSURE");
  t.equal((cell.decisions[3]?.data as { source: string }).source, "operator");
});

t.test("stop in the middle of a skill; nothing resumes by itself", async (t) => {
  const cell = new FakeCell();
  let begun = false;
  cell.programs[Skill.registration] = async ({ signal }) => {
    begun = true;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    throw new CellError("LINK_ABORTED", "aborted");
  };
  const loop = cell.loop();
  const run = loop.run(never);
  await until(() => begun);
  await loop.stop("smoke", "Ada");
  const result = await run;
  t.match(result, { outcome: "operator", state: "stopped" });
  t.match(result.reason, /smoke/);
  t.equal(cell.latch.latched, true);
  t.equal(cell.ran.at(-1), "SPATIAL_REGISTRATION");
});

t.test("a program that ignores its stop is a defect: latched, explained, a person", async (t) => {
  const cell = new FakeCell();
  cell.programs[Skill.exposure] = () => new Promise(() => undefined);
  const loop = cell.loop({ settleLimitS: 0.05 });
  const run = loop.run(never);
  await until(() => loop.status().running === "ADJUST_EXPOSURE");
  cell.change({ selfCheckOk: false });
  const result = await run;
  t.equal(result.state, "stopped");
  t.match(result.reason, /did not end within/);
});

t.test("an unexpected error in a skill stops, latches and says so", async (t) => {
  const cell = new FakeCell();
  cell.programs[Skill.exposure] = () => Promise.reject(new TypeError("undefined is not a function"));
  const result = await cell.loop().run(never);
  t.equal(result.state, "stopped");
  t.match(result.reason, /undefined is not a function/);
  t.ok(cell.stops > 0);
});

t.test("takeover and handback", async (t) => {
  const cell = new FakeCell();
  let begun = false;
  const registration = cell.programs[Skill.registration];
  cell.programs[Skill.registration] = async (context, theCell) => {
    if (begun) return registration(context, theCell);
    begun = true;
    await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
    throw new CellError("LINK_ABORTED", "aborted");
  };
  const loop = cell.loop();
  const run = loop.run(never);
  await until(() => begun);
  await loop.takeover("Ada");
  t.equal(loop.status().state, "takeover");
  t.same(loop.status().possible, ["stop", "handback"]);
  const before = cell.observed;
  await systemClock.sleep(0.05);
  t.equal(cell.observed, before, "no decisions while a person has the cell");
  loop.handback("Ada");
  const result = await run;
  t.equal(result.outcome, "completed");
  t.equal(result.counts.takeovers, 1);
});

t.test("the caller ends it: motion stops, the run returns", async (t) => {
  const cell = new FakeCell();
  cell.programs[Skill.exposure] = async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    throw new CellError("LINK_ABORTED", "aborted");
  };
  const loop = cell.loop();
  const caller = new AbortController();
  const run = loop.run(caller.signal);
  await until(() => loop.status().running === "ADJUST_EXPOSURE");
  caller.abort();
  t.equal((await run).outcome, "aborted");
  t.ok(cell.stops > 0);
});

t.test("no observation: looked for again, then a person", async (t) => {
  const cell = new FakeCell();
  cell.onObserve = () => {
    throw new CellError("CAMERA_OFFLINE", "no frames");
  };
  const result = await cell.loop().run(never);
  t.equal(result.state, "waiting_operator");
  t.match(result.reason, /no observation 3 times.*no frames/);
});

t.test("a state that cannot be read refuses", async (t) => {
  const cell = new FakeCell();
  let reads = 0;
  const now = cell.now.bind(cell);
  cell.now = () => {
    // The observation reads once, the gate once more.
    if (++reads === 2) throw new CellError("LINK_TIMEOUT", "arm: nothing after 1 s");
    return now();
  };
  const result = await cell.loop().run(never);
  t.equal(result.outcome, "completed");
  t.match(result.counts.refusals, { stale: 1 });
});

t.test("the second evaluation finds what a broken gate would let through", async (t) => {
  const cell = new FakeCell();
  await cell.loop().run(never);
  const forged = structuredClone(cell.entries);
  const insert = forged.find(
    (entry) => entry.action === "decision" && (entry.data as { skill: string }).skill === "INSERT",
  );
  const data = insert?.data as { freshState: { registered: unknown } };
  data.freshState.registered = "unknown";
  const { rejudgeEntries } = await import("../../../src/agent/loop/rejudge.js");
  t.match(rejudgeEntries(forged).violations, [{ skill: "INSERT", why: "not registered" }]);
  const orphan = cell.entries.filter((entry) => entry !== cell.decisions[0]);
  t.match(rejudgeEntries(orphan).violations, [{ skill: "RECOVER", why: /no decision/ }]);
  const start = cell.entries.find((entry) => entry.action === "skill.start");
  t.match(rejudgeEntries([...cell.entries, ...(start === undefined ? [] : [start])]).violations, [
    { why: /used before/ },
  ]);
});

t.test("random proposals on random cells: never a dispatched violation", async (t) => {
  const { Random } = await import("../../../src/base/random.js");
  const seed = 11;
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const any = <T>(values: readonly T[]): T => values[random.below(values.length)] as T;
  let dispatched = 0;
  let blocked = 0;
  for (let run = 0; run < 60; run++) {
    const cell = new FakeCell();
    cell.onObserve = () => {
      const tri = (): boolean | "unknown" => any([true, true, true, false, "unknown"]);
      cell.change({
        registered: tri(),
        aligned: tri(),
        alignedEpoch: cell.state.frameEpoch,
        needleOutOfTissue: tri(),
        selfCheckOk: tri(),
        nearSingularity: any([false, false, true, "unknown"]),
        camerasOnline: { MIC1: tri(), MIC2: true },
      });
    };
    cell.reasoner = scripted(() => any([tagged(any(skillNames)), "nonsense", tagged("INSERT ")]));
    const result = await cell.loop({ refusalBudget: 50, operatorWaitS: 0.001, refusalPauseS: 0 }).run(never);
    const again = cell.rejudge();
    t.same(again.violations, []);
    dispatched += again.dispatched;
    blocked += result.counts.blockedViolations;
  }
  t.comment(`${dispatched} dispatched, ${blocked} violations blocked`);
  t.ok(dispatched > 60 && blocked > 60);
});
