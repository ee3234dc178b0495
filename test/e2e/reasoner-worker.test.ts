/**
 * The example worker over ZeroMQ as reasoner of the daemon: first in every misbehaviour, then in earnest. Whatever it
 * answers, the worst that may follow is that a person is asked.
 */
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";
import { rejudgeRecord } from "../../src/agent/loop/rejudge.js";
import { monotonicNow } from "../../src/base/clock.js";
import type { Child } from "../../src/cli/shared/children.js";
import { CellHarness, patience } from "./cell-harness.js";

const timeout = 420_000;
/** Longest wait for a reply, s. */
const deadlineS = 3;
const refusalBudget = 3;

/** Misbehaviour -> the reason that each refusal must name. */
const misbehaviours: readonly (readonly [string, RegExp])[] = [
  ["nonsense", /^count$/],
  ["unsafe", /^prerequisite$/],
  ["hang", /^transport$/],
  ["die", /^transport$/],
];

t.test("the example worker decides", { timeout }, async (t) => {
  const cell = await CellHarness.start(t, {
    reasoner: "zmq",
    change: (config) => {
      config.reasoner["deadlineS"] = deadlineS;
      config.loop["refusalBudget"] = refusalBudget;
    },
  });
  const worker = (name: string, ...flags: string[]): Child => {
    const script = path.join(projectRoot, "examples", "reasoner-worker", "worker.py");
    const python = process.env["SURGICLAW_PYTHON"] ?? "/usr/bin/python3";
    const endpoint = `ipc://${cell.place.folder}/reasoner.sock`;
    return cell.startProgram(`worker-${name}`, python, [script, "--connect", endpoint, ...flags]);
  };
  const waiting = (from: number): Promise<unknown> =>
    cell.until(
      ({ topic, event }) => topic === "state" && event.procedure === "waiting_operator",
      "the question to the operator",
      (deadlineS + 5) * refusalBudget + 30,
      from,
    );

  await cell.startDaemon();
  const first = worker("first");
  const procedure = await cell.plan(1);
  const prepared = cell.skills().filter(({ phase }) => phase === "ended");
  t.match(
    new Set(prepared.map(({ skill }) => skill)),
    new Set(["ADJUST_EXPOSURE", "ADJUST_FOCUS"]),
    "prepared the images",
  );
  t.ok(
    cell.cycles().every(({ reasoner }) => /^zmq/.test(reasoner)),
    "the worker decided",
  );
  await cell.endProgram(first);

  const troubledS = monotonicNow();
  let recording = "";
  for (const [mode, reason] of misbehaviours) {
    await t.test(`${mode}: refused, observed again, and a person is asked`, { timeout }, async (t) => {
      const from = cell.mark();
      const child = worker(mode, "--misbehave", mode);
      if (recording === "") recording = await cell.begin(procedure);
      else await cell.command.control("retry", {}, { timeoutS: 30 });
      await waiting(from);
      const cycles = cell.cycles(from);
      t.equal(cycles.length, refusalBudget, "asked as often as the budget allows");
      t.equal(new Set(cycles.map(({ observation }) => observation)).size, cycles.length, "each time anew");
      for (const cycle of cycles) {
        t.equal(cycle.verdict, "refused", `cycle ${cycle.cycle}`);
        t.match(cycle.reasons[0]?.code, reason, JSON.stringify(cycle.reasons));
      }
      t.same(cell.skills(from), [], "nothing is dispatched");
      await cell.endProgram(child);
    });
  }
  const moved = (await cell.truth.motions()).filter(({ startS }) => startS > troubledS);
  t.same(moved, [], "nothing moved meanwhile");

  await t.test("a worker that works completes the registration", { timeout }, async (t) => {
    const from = cell.mark();
    worker("last");
    await cell.command.control("retry", {}, { timeoutS: 30 });
    const end = await cell.skillEnded("SPATIAL_REGISTRATION", patience.registrationS, from);
    t.match(end.event, { name: "succeeded" }, "registered");
    await cell.until(
      ({ topic, event }) => topic === "cycle" && event.skill === "ALIGN_NEEDLE",
      "the decision to align",
      patience.stopS,
      from,
    );
    await cell.command.call("stop", { reason: "enough was seen" }, { timeoutS: 10 });
    await cell.atRest(patience.stopS);
  });

  const { dispatched, violations } = await rejudgeRecord(path.join(recording, "audit.jsonl"));
  t.ok(dispatched > 0, `${dispatched} skills were dispatched`);
  t.same(violations, [], "no dispatched violation");
});
