/**
 * SIGKILL of the daemon while something moves: nothing of it is left to stop the cell, so the guardian and the robot's own
 * control program must. One twin, and a new daemon after each kill, as after a crash.
 */
import t from "tap";
import { monotonicNow } from "../../src/base/clock.js";
import { stagesOf } from "../../src/lab/evaluation/procedure-evaluation.js";
import type { TruthMotion } from "../../src/lab/evaluation/truth-client.js";
import { atS, CellHarness, patience } from "./cell-harness.js";
import { judgeNeedleOut, judgeRecord, judgeRest, killLimits, underWay } from "./stop-judgement.js";

const timeout = 420_000;

t.test("SIGKILL of the daemon", { timeout }, async (t) => {
  const cell = await CellHarness.start(t);

  const begin = async (targets = 1): Promise<number> => {
    await cell.startDaemon();
    const procedure = await cell.plan(targets);
    const from = cell.mark();
    await cell.begin(procedure);
    return from;
  };

  await t.test("while the arm turns the head", { timeout }, async (t) => {
    const from = await begin();
    const turning = await cell.stage("pose correction", patience.registrationS, from);
    await cell.moving("arm", atS(turning), patience.stopS);
    const killedS = await cell.killDaemon();
    const motions = await judgeRest(t, cell, killedS, killLimits);
    t.ok(underWay(motions, "arm", killedS).length > 0, "the arm moved when the daemon was killed");
    await judgeRecord(t, cell);
    await judgeNeedleOut(t, cell, false);
  });

  await t.test("while stages move from pose to pose", { timeout }, async (t) => {
    const from = await begin();
    await cell.stage("fitted pose", patience.registrationS, from);
    await cell.moving("stage", monotonicNow(), patience.stopS);
    const killedS = await cell.killDaemon();
    const motions = await judgeRest(t, cell, killedS, killLimits);
    t.ok(underWay(motions, "stage", killedS).length > 0, "a stage moved when the daemon was killed");
    await judgeRecord(t, cell);
    await judgeNeedleOut(t, cell, false);
  });

  await t.test("while the native loop aligns the needle", { timeout }, async (t) => {
    let from = await begin(3);
    // The loop ends within half a second, and may find that nothing is left to do: then the next one is awaited.
    let moved: TruthMotion | undefined;
    for (let chance = 0; chance < 3 && moved === undefined; chance++) {
      const servo = await cell.stage("servo", patience.insertS, from);
      from = cell.mark();
      const sinceS = atS(servo);
      moved = await cell
        .poll(
          async () =>
            (await cell.truth.motions()).find(
              ({ device, axis, startS }) => device === "stage" && axis <= 3 && startS > sinceS,
            ),
          "a step of the loop",
          0.25,
        )
        .catch(() => undefined);
    }
    const killedS = await cell.killDaemon();
    t.ok(moved, "the loop moved a stage");
    await judgeRest(t, cell, killedS, killLimits);
    const stages = stagesOf((await cell.records()).entries).map(({ data }) => data.stage);
    t.equal(stages.at(-1), "servo", "the loop ran when the daemon was killed");
    await judgeRecord(t, cell);
    await judgeNeedleOut(t, cell, false);
  });
});
