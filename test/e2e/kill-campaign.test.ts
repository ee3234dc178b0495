/**
 * The kill campaign: the daemon is killed, held, stalled, its disk filled or a device taken away at random moments of
 * procedures on the twin, again and again. Afterwards an independent checker explains every motion that the twin saw. A
 * daemon that lives on is reset by a person, who lets the procedure go on into the next run; the others are started anew.
 *   npm run test:kill -- --runs 200 --seed 11
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import t, { type Test } from "tap";
import { monotonicNow, systemClock } from "../../src/base/clock.js";
import { asCellError } from "../../src/base/errors.js";
import type { TruthMotion } from "../../src/lab/evaluation/truth-client.js";
import { CellHarness, patience } from "./cell-harness.js";
import { readRecords, violations } from "./kill-checker.js";
import { deadly, drawRuns, inject, waitFor, type KillRun } from "./kill-plan.js";
import { KillRecord, type Rest } from "./kill-record.js";
import type { RestLimits } from "./stop-judgement.js";

const runs = Number(process.env["SURGICLAW_KILL_RUNS"] ?? 2);
/** Where a campaign that was broken off goes on. */
const first = Number(process.env["SURGICLAW_KILL_FROM"] ?? 1);
/** Fixed within `npm test`, drawn anew by `npm run test:kill`. */
const campaignSeed = Number(process.env["SURGICLAW_SEED"] ?? 11);
/** Each fills the disk with its recordings, and the checker reads all of them after every run. */
const perTwin = 10;
const runLimitS = 240;

const blocker = pathToFileURL(fileURLToPath(new URL("./block-on-signal.js", import.meta.url))).href;
// The stall of this campaign is shorter than that of the test of its own.
process.env["SURGICLAW_BLOCK_S"] = "1.5";

/** Seconds that the parts of a run took. */
class Parts {
  readonly seconds: Record<string, number> = {};
  async time<T>(name: string, work: () => Promise<T>): Promise<T> {
    const beganS = monotonicNow();
    try {
      return await work();
    } finally {
      this.seconds[name] = Number(((this.seconds[name] ?? 0) + monotonicNow() - beganS).toFixed(2));
    }
  }
}

/** A twin with the daemon and the procedure of the run before, where both go on. */
class Stage {
  /** How long the present procedure has run, s; undefined: the next run begins one. */
  ranS: number | undefined;

  private constructor(
    readonly number: number,
    readonly cell: CellHarness,
  ) {}

  static async open(t: Test, number: number): Promise<Stage> {
    return new Stage(number, await CellHarness.start(t, { nodeArguments: ["--import", blocker] }));
  }

  /**
   * A procedure that runs: the one before after a person's reset, or a new one by a new daemon. False where earlier runs left
   * the cell so that no targets can be picked, which is work for a person and no violation.
   */
  async prepare(t: Test, fresh: boolean, parts: Parts): Promise<boolean> {
    const { cell } = this;
    if (this.ranS !== undefined && (await parts.time("reset", () => this.goOn(t)))) return true;
    this.ranS = undefined;
    await this.endDaemon();
    await parts.time("start", () => cell.startDaemon());
    if ((await cell.status()).stopLatched) await cell.command.control("reset", {}, { timeoutS: 40 });
    try {
      const procedure = await parts.time("plan", () => cell.plan(1));
      await cell.begin(procedure);
      return true;
    } catch (error) {
      // Left by a kill in the middle of its work, the cell may be out of focus or the needle out of view.
      if (fresh || !["SKILL_FAILED", "VISION_UNKNOWN"].includes(asCellError(error).code)) throw error;
      t.comment(`another twin: ${asCellError(error).message}`);
      await this.endDaemon();
      return false;
    }
  }

  /** A person resets and lets the procedure go on; false where the cell or the procedure does not permit it. */
  private async goOn(t: Test): Promise<boolean> {
    try {
      // A daemon that was held hears of the guardian's stop only now.
      await this.cell.poll(
        async () => {
          const { stopLatched, procedure } = await this.cell.status();
          return (stopLatched && procedure !== "running") || undefined;
        },
        "the latched stop",
        patience.stopS,
      );
      await this.cell.command.control("reset", {}, { timeoutS: 40 });
      await this.cell.command.control("retry", {}, { timeoutS: 10 });
      return true;
    } catch (error) {
      t.comment(`a new daemon: ${(error as Error).message.split("\n")[0] ?? ""}`);
      return false;
    }
  }

  /** Waits while the procedure goes on; one that ended before is as good a moment. */
  async untilMoment(run: KillRun): Promise<string> {
    const beganS = monotonicNow();
    const waitS = waitFor(run, this.ranS ?? 0);
    for (;;) {
      const { procedure } = await this.cell.status();
      const passedS = monotonicNow() - beganS;
      if (procedure !== "running" || passedS >= waitS) {
        this.ranS = (this.ranS ?? 0) + passedS;
        return procedure;
      }
      await systemClock.sleep(Math.min(0.5, Math.max(0.01, waitS - passedS)));
    }
  }

  async endDaemon(): Promise<void> {
    const { daemon } = this.cell;
    if (daemon === undefined) return;
    const running = daemon.process.exitCode === null && daemon.process.signalCode === null;
    if (running) await this.cell.killDaemon();
  }

  /** The twin's motions once everything rests and nothing more can come. */
  async settled(): Promise<readonly TruthMotion[]> {
    await this.cell.atRest(patience.stopS);
    await systemClock.sleep(1.5);
    return this.cell.atRest(patience.stopS);
  }

  async passages(): Promise<readonly string[]> {
    const kinds = (await this.cell.truth.events()).map(({ kind }) => kind);
    return kinds.filter((kind) => kind === "entered-tissue" || kind === "left-tissue");
  }
}

/** When everything that moved then, or began to move later, came to rest. */
const restsAfter = (motions: readonly TruthMotion[], atS: number): Rest[] =>
  motions
    .filter(({ endS }) => (endS ?? Infinity) > atS)
    .map(({ device, axis, endS }) => ({
      ...{ device, axis },
      afterS: Number(((endS ?? Infinity) - atS).toFixed(3)),
    }));

const tooLate = (rest: readonly Rest[], limits: RestLimits): string[] =>
  rest
    .filter(({ device, afterS }) => afterS > limits[device])
    .map(({ device, axis, afterS }) => `${device} ${axis} came to rest after ${afterS} s`);

async function oneRun(t: Test, stage: Stage, run: KillRun, record: KillRecord, parts: Parts): Promise<void> {
  const { cell } = stage;
  const sameDaemon = stage.ranS !== undefined;
  const procedure = await parts.time("moment", () => stage.untilMoment(run));
  const found: string[] = [];
  let rest: readonly Rest[] = [];
  const intoS = Number((stage.ranS ?? 0).toFixed(2));
  const { atS, limits, aloneS = 0 } = await parts.time("injection", () => inject(cell, run));
  if (limits !== undefined) {
    rest = restsAfter(await parts.time("rest", () => stage.settled()), atS);
    found.push(...tooLate(rest, limits));
  } else {
    // The daemon lives and decides; whatever it does now must be on record. Then a person stops it.
    await parts.time("going on", () => systemClock.sleep(aloneS));
    const answer = cell.command.call("stop", { reason: "end of the run" }, { timeoutS: 10 });
    answer.catch(() => undefined);
    // One that ended by itself, because it can record nothing, takes no stop.
    await Promise.race([answer, cell.daemon?.ended]);
  }
  // A procedure that had ended leads nowhere, and a needle in the tissue is the guardian's to withdraw.
  const inside = (await stage.passages()).at(-1) === "entered-tissue";
  if (deadly.has(run.kind) || procedure !== "running" || inside) {
    await stage.endDaemon();
    stage.ranS = undefined;
  }
  const motions = await parts.time("rest", () => cell.atRest(patience.stopS));
  await parts.time("check", async () => {
    const { entries, faults } = await readRecords(cell.folder);
    const [guardian, passages] = [await cell.guardianLog(), await stage.passages()];
    found.push(...faults, ...violations(entries, { motions, guardian, passages }));
    await record.add({
      ...{ ...run, twin: stage.number, sameDaemon, procedure, intoS, rest, violations: found },
      ...{ motions: motions.length, entries: entries.length, seconds: parts.seconds },
    });
  });
  t.same(
    found,
    [],
    `the procedure was ${procedure}: everything rests in time, the logs verify and explain it`,
  );
}

const count = runs - first + 1;
t.test(`runs ${first} to ${runs}`, { timeout: (count + 1) * runLimitS * 1e3 }, async (t) => {
  t.comment(`campaign seed ${campaignSeed}`);
  const left = drawRuns(runs, campaignSeed).slice(first - 1);
  const record = new KillRecord(process.env["SURGICLAW_KILL_FOLDER"], {
    ...{ seed: campaignSeed, first, last: runs },
  });
  // A twin on which not even one run could begin says that the next will not do either.
  for (let [twin, before] = [1, Infinity]; left.length > 0 && left.length < before; twin++) {
    before = left.length;
    await t.test(`twin ${twin}`, { timeout: perTwin * runLimitS * 1e3 }, async (t) => {
      const stage = await Stage.open(t, twin);
      for (let used = 0; used < perTwin && left.length > 0; used++) {
        const parts = new Parts();
        if (!(await stage.prepare(t, used === 0, parts))) return;
        const run = left.shift();
        if (run === undefined) return;
        const title = `run ${run.number}: ${run.kind} at ${run.afterS.toFixed(2)} s`;
        await t.test(title, { timeout: runLimitS * 1e3 }, async (t) => oneRun(t, stage, run, record, parts));
      }
    });
  }
  t.equal(left.length, 0, "every run was made");
  t.comment(record.summary());
});
