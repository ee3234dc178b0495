/**
 * The default scenario as `npm start` runs it, and the two tests that prove that the daemon works from what it sees: the
 * same decisions without the twin's truth, and other results where truth and frames were moved. They share one file because
 * they compare their records with the demonstration's.
 */
import { unlink } from "node:fs/promises";
import path from "node:path";
import t from "tap";
import { loadProcedure } from "../../src/agent/procedure/procedure-file.js";
import { working } from "../../src/agent/skills/limits.js";
import type { Vec3 } from "../../src/base/transform.js";
import { evaluateTargets, stagesOf } from "../../src/lab/evaluation/procedure-evaluation.js";
import type { AuditEntry } from "../../src/record/audit-entry.js";
import { CellHarness, patience, recordsIn, seed } from "./cell-harness.js";
import { judgeSummary, limits, runDemo } from "./demo-program.js";
import { judgeNeedleOut, judgeRecord, judgeRest, killLimits, underWay } from "./stop-judgement.js";

const timeout = 420_000;

/** Draws another cell and scene. */
const otherSeed = 4;

interface Decision {
  readonly skill: string | null;
  readonly allowed: boolean;
}

/** Decisions up to the first insertion. */
function decisionsToInsert(entries: readonly AuditEntry[]): string[] {
  const all = entries
    .filter(({ action }) => action === "decision")
    .map(({ data }) => data as Decision)
    .map(({ skill, allowed }) => `${skill ?? "none"} ${allowed ? "allowed" : "refused"}`);
  const first = all.findIndex((decision) => decision.startsWith("INSERT"));
  return all.slice(0, first === -1 ? all.length : first + 1);
}

/** Where each site was first localised, robot coordinates. */
function sitesOf(entries: readonly AuditEntry[]): Map<string, Vec3> {
  const sites = new Map<string, Vec3>();
  for (const { data } of stagesOf(entries)) {
    const { target, siteM } = data.measurements;
    if (data.stage !== "target localised" || typeof target !== "string" || sites.has(target)) continue;
    sites.set(target, siteM as Vec3);
  }
  return sites;
}

t.test("the default scenario", { timeout: 900_000 }, async (t) => {
  const run = await runDemo(t, "--seed", String(seed));
  await t.test("completes within the published thresholds", async (t) => {
    judgeSummary(t, run, seed, 3);
    t.ok(run.summary.wallS > 0, `took ${run.summary.wallS} s`);
  });
  const whole = await recordsIn(path.dirname(run.summary.recording));
  t.same(whole.faults, [], "every audit log verifies");

  await t.test("without the truth socket the decisions are the same", { timeout }, async (t) => {
    const cell = await CellHarness.start(t);
    await unlink(path.join(cell.place.folder, "truth.sock"));
    await cell.startDaemon();
    await cell.begin(await cell.plan(3));
    await cell.until(
      ({ topic, event }) => topic === "cycle" && event.skill === "INSERT",
      "the decision to insert",
      patience.insertS,
    );
    const decisions = decisionsToInsert((await cell.records()).entries);
    t.equal(decisions.at(-1), "INSERT allowed", "came as far as the insertion");
    t.same(decisions, decisionsToInsert(whole.entries), decisions.join(", "));
  });

  await t.test("another cell, other results; then SIGKILL in the stroke", { timeout }, async (t) => {
    const cell = await CellHarness.start(t, { seed: otherSeed });
    await cell.startDaemon();
    const file = await cell.plan(3);
    const from = cell.mark();
    const recording = await cell.begin(file);
    await cell.stage("stroke", patience.insertS + patience.registrationS, from);
    await cell.poll(
      async () => (await cell.truth.events()).find(({ kind }) => kind === "entered-tissue"),
      "the needle in the tissue",
      patience.stopS,
    );
    const killedS = await cell.killDaemon();

    const motions = await judgeRest(t, cell, killedS, killLimits);
    t.ok(underWay(motions, "needle", killedS).length > 0, "the stroke was under way");
    const entered = (await cell.truth.events()).find(({ kind }) => kind === "entered-tissue");
    const left = (await cell.truth.events()).find(({ kind }) => kind === "left-tissue");
    t.ok((entered?.timeS ?? Infinity) < killedS, "the needle was in the tissue");
    t.ok((left?.timeS ?? -Infinity) > killedS, "the needle left the tissue after the daemon's end");
    await judgeNeedleOut(t, cell, true);
    await judgeRecord(t, cell);
    const acted = (await cell.guardianLog()).map(({ event }) => event);
    t.ok(acted.includes("retract_sent"), "the guardian withdrew the needle");

    const { entries } = await recordsIn(path.dirname(recording));
    const here = sitesOf(entries);
    const there = sitesOf(whole.entries);
    t.equal(here.size, 3, "all sites were localised");
    for (const [id, site] of here) {
      const other = there.get(id) ?? [NaN, NaN, NaN];
      const apart = Math.hypot(...site.map((value, k) => value - (other[k] ?? NaN)));
      t.ok(apart > 20e-6, `${id}: ${(apart * 1e6).toFixed(0)} um from where the first cell has it`);
    }
    const procedure = await loadProcedure(file, "reference-cell");
    const [first] = await evaluateTargets(cell.truth, procedure, entries, working.standoffM);
    for (const view of [0, 1] as const) {
      const error = first?.alignErrorM?.[view] ?? NaN;
      t.ok(error < limits.alignErrorM, `aligned to ${(error * 1e6).toFixed(1)} um in view ${view + 1}`);
    }
    t.ok((first?.alignAngleRad ?? NaN) < limits.alignAngleRad, "on the planned axis");
    t.ok((first?.treM ?? NaN) < limits.treM, "registered");
  });
});
