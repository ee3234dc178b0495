/**
 * The kill campaign: the daemon is killed, held, stalled, its disk filled or a device taken away at random moments of
 * procedures on the twin, again and again. Afterwards an independent checker explains every motion that the twin saw.
 *   npm run test:kill -- --runs 200 --seed 11
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import t, { type Test } from "tap";
import { monotonicNow, systemClock } from "../../src/base/clock.js";
import { asCellError } from "../../src/base/errors.js";
import { CellHarness, patience } from "./cell-harness.js";
import { readRecords, violations, type History } from "./kill-checker.js";
import { drawRuns, inject, type Injected, type KillRun } from "./kill-plan.js";
import { judgeRest } from "./stop-judgement.js";

const runs = Number(process.env["SURGICLAW_KILL_RUNS"] ?? 2);
/** Fixed within `npm test`, drawn anew by `npm run test:kill`. */
const campaignSeed = Number(process.env["SURGICLAW_SEED"] ?? 11);
/** One twin serves so many runs: it keeps its history for a quarter of an hour. */
const perTwin = 10;
const runLimitS = 240;

const blocker = pathToFileURL(fileURLToPath(new URL("./block-on-signal.js", import.meta.url))).href;
// The stall of this campaign is shorter than that of the test of its own.
process.env["SURGICLAW_BLOCK_S"] = "3";

async function history(cell: CellHarness): Promise<History> {
  const passages = (await cell.truth.events()).map(({ kind }) => kind);
  return {
    motions: await cell.truth.motions(),
    guardian: await cell.guardianLog(),
    passages: passages.filter((kind) => kind === "entered-tissue" || kind === "left-tissue"),
  };
}

/** Waits for the moment while the procedure goes on; one that ended before is as good a moment. */
async function untilMoment(cell: CellHarness, beganS: number, afterS: number): Promise<string> {
  for (;;) {
    const { procedure } = await cell.status();
    if (procedure !== "running" || monotonicNow() - beganS >= afterS) return procedure;
    await systemClock.sleep(Math.min(0.5, Math.max(0.01, beganS + afterS - monotonicNow())));
  }
}

/** The daemon that is left, if any, ends; a stop of an earlier one is reset by the person who starts anew. */
async function endDaemon(cell: CellHarness): Promise<void> {
  if (cell.daemon === undefined) return;
  const running = cell.daemon.process.exitCode === null && cell.daemon.process.signalCode === null;
  if (running) await cell.killDaemon();
}

/**
 * A daemon with a procedure that can begin; undefined where an earlier run left the cell so that no targets can be picked,
 * which is work for a person and no violation.
 */
async function prepare(t: Test, cell: CellHarness, used: boolean): Promise<string | undefined> {
  await cell.startDaemon();
  if ((await cell.status()).stopLatched) await cell.command.control("reset", {}, { timeoutS: 40 });
  try {
    return await cell.plan(1);
  } catch (error) {
    // Left by a kill in the middle of its work, the cell may be out of focus or the needle out of view.
    if (!used || !["SKILL_FAILED", "VISION_UNKNOWN"].includes(asCellError(error).code)) throw error;
    t.comment(`another twin: ${asCellError(error).message}`);
    await endDaemon(cell);
    return undefined;
  }
}

async function oneRun(t: Test, cell: CellHarness, run: KillRun, procedure: string): Promise<void> {
  await cell.begin(procedure);
  const state = await untilMoment(cell, monotonicNow(), run.afterS);
  t.comment(`the procedure was ${state}`);
  const injected: Injected = await inject(cell, run);
  if (injected.limits !== undefined) await judgeRest(t, cell, injected.atS, injected.limits);
  else {
    // The daemon lives and decides; whatever it does now must be on record. Then a person stops it.
    await systemClock.sleep(run.heldS);
    await cell.command
      .call("stop", { reason: "end of the run" }, { timeoutS: 10 })
      .catch((error: unknown) => {
        t.equal(asCellError(error).category, "link", "a daemon that ended by itself takes no stop");
      });
    await cell.atRest(patience.stopS);
  }
  await endDaemon(cell);
  await cell.atRest(patience.stopS);
  const { entries, faults } = await readRecords(cell.folder);
  t.same(faults, [], "the logs verify");
  t.same(violations(entries, await history(cell)), [], "everything that moved is explained");
}

t.test(`${runs} runs`, { timeout: (runs + 1) * runLimitS * 1e3 }, async (t) => {
  t.comment(`campaign seed ${campaignSeed}`);
  const left = [...drawRuns(runs, campaignSeed)];
  for (let twin = 1; left.length > 0; twin++) {
    await t.test(`twin ${twin}`, { timeout: perTwin * runLimitS * 1e3 }, async (t) => {
      const cell = await CellHarness.start(t, { nodeArguments: ["--import", blocker] });
      for (let used = 0; used < perTwin; used++) {
        const procedure = left.length > 0 ? await prepare(t, cell, used > 0) : undefined;
        const run = procedure === undefined ? undefined : left.shift();
        if (procedure === undefined || run === undefined) return;
        const title = `run ${run.number}: ${run.kind} after ${run.afterS.toFixed(2)} s`;
        await t.test(title, { timeout: runLimitS * 1e3 }, async (t) => oneRun(t, cell, run, procedure));
      }
    });
  }
});
