/**
 * The daemon's event loop stands for ten seconds while something moves: the process lives, its links stay open, but nobody
 * decides. The cell must stop as if it were dead, and when the loop runs again, nothing of what it was about to do may follow.
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import t from "tap";
import { monotonicNow, systemClock } from "../../src/base/clock.js";
import { blockedMark, blockS } from "./block-on-signal.js";
import { atS, CellHarness, patience } from "./cell-harness.js";
import { blockLimits, judgeNeedleOut, judgeRecord, judgeRest, underWay } from "./stop-judgement.js";

const timeout = 420_000;
const blocker = pathToFileURL(fileURLToPath(new URL("./block-on-signal.js", import.meta.url))).href;

t.test("the event loop blocked for ten seconds", { timeout }, async (t) => {
  const cell = await CellHarness.start(t, { nodeArguments: ["--import", blocker] });
  let blocks = 0;

  /** Resolves with the moment when the loop stood, monotonic s. */
  const block = async (): Promise<number> => {
    blocks++;
    cell.daemon?.process.kill("SIGUSR2");
    const mark = new RegExp(`${blockedMark} ([0-9.]+)`, "g");
    return cell.poll(
      async () => {
        const moments = [...cell.output().matchAll(mark)];
        return moments.length < blocks ? undefined : Number(moments.at(-1)?.[1]);
      },
      "the block",
      patience.stopS,
    );
  };

  /** The cell stands, and when the loop runs again the daemon says so and moves nothing. */
  const judgeBlock = async (t: Parameters<typeof judgeRest>[0], blockedS: number): Promise<void> => {
    const status = await cell.poll(
      async () => {
        const answer = await cell.status();
        return answer.stopLatched && answer.procedure === "stopped" ? answer : undefined;
      },
      "the stop that the daemon reports",
      blockS + patience.stopS,
    );
    t.ok(monotonicNow() - blockedS > blockS - 0.5, "the loop had stood for ten seconds");
    t.match(status.reason, /guardian|heartbeat/i, status.reason);
    await systemClock.sleep(3);
    const late = (await cell.truth.motions()).filter(({ startS }) => startS > blockedS + blockS - 0.5);
    t.same(late, [], "nothing moves by itself afterwards");
    t.match(await cell.status(), { stopLatched: true, procedure: "stopped" }, "still latched");
    const acts = (await cell.guardianLog()).filter(({ event }) => event === "triggered");
    t.match(acts.at(-1), { reason: "silence" }, "the guardian acted on silence");
    await judgeRecord(t, cell);
    await judgeNeedleOut(t, cell, false);
  };

  await cell.startDaemon();
  const from = cell.mark();
  await cell.begin(await cell.plan(1));

  await t.test("while stages move from pose to pose", { timeout }, async (t) => {
    await cell.stage("fitted pose", patience.registrationS, from);
    await cell.moving("stage", monotonicNow(), patience.stopS);
    const blockedS = await block();
    await judgeRest(t, cell, blockedS, blockLimits);
    await judgeBlock(t, blockedS);
  });

  await t.test("a reset and the operator's word, and the procedure goes on", { timeout }, async (t) => {
    await cell.command.control("reset", {}, { timeoutS: 40 });
    t.match(await cell.status(), { stopLatched: false, procedure: "waiting_operator" }, "reset, and waiting");
    const resetS = monotonicNow();
    await systemClock.sleep(1);
    const moved = (await cell.truth.motions()).filter(({ startS }) => startS > resetS);
    t.same(moved, [], "a reset moves nothing");
    const again = cell.mark();
    await cell.command.control("retry", {}, { timeoutS: 30 });
    const away = await cell.stage("arm away and back", patience.registrationS, again);
    await cell.moving("arm", atS(away), patience.stopS);
    t.pass("the registration runs again");
  });

  await t.test("while the arm moves away", { timeout }, async (t) => {
    const blockedS = await block();
    const motions = await judgeRest(t, cell, blockedS, blockLimits);
    t.ok(underWay(motions, "arm", blockedS).length > 0, "the arm moved when the loop stood");
    await judgeBlock(t, blockedS);
  });
});
