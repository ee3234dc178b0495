/** The verbs of `surgiclaw phase` as processes, one after the other: from a pool to a report. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";
import { makePool } from "../lab/phase/fixtures.js";

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const phase = (...args: string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    const file = path.join(projectRoot, "dist", "src", "cli", "main.js");
    execFile(process.execPath, [file, "phase", ...args], (error, out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, err }),
    );
  });

t.test("from a pool to a report", { timeout: 120_000 }, async (t) => {
  const made = await makePool({ frames: true });
  const { folder } = made.pool;
  const at = (name: string): string => path.join(folder, name);

  const tasks = await phase("tasks", "--json");
  t.equal((JSON.parse(tasks.out) as { inferred: boolean }[]).filter(({ inferred }) => inferred).length, 6);
  t.match(await phase("tasks", "ShuntInsert"), { code: 0, out: /rank +means +phase[^]*4 +at-goal +align/ });

  const drawn = await phase("storyboard", folder, "drop", "--out", at("panels"), "--json");
  t.match(JSON.parse(drawn.out), { episode: "drop", panels: { length: 7 }, files: { length: 8 } });

  const records = at("records.jsonl");
  const observe = (...more: string[]): Promise<Outcome> =>
    phase("observe", folder, "--records", records, ...more);
  t.match(await observe("--observer", "oracle"), { code: 1, err: /needs --reference/ });
  t.match(await observe("--observer", "zmq"), { code: 1, err: /either --bind or --connect/ });
  const degraded = ["--observer", "degraded-oracle", "--reference", made.referenceFile, "--seed", "4"];
  const asked = await observe(...degraded, "--arrival-sigma", "3", "--bracket-half-width", "2", "--json");
  t.match(JSON.parse(asked.out), { asked: 5, already: 0, unanswered: [] });
  t.match(await observe("--observer", "oracle", "--reference", made.referenceFile), {
    code: 6,
    err: /PHASE_FILE_FOREIGN/,
  });

  const bank = at("a.bank");
  const compile = (out: string, ...more: string[]): Promise<Outcome> =>
    phase("compile", folder, "--records", records, "--out", out, ...more);
  t.match(await compile(bank), { code: 0, out: /160 transitions of 4 episodes, 1 refused/ });
  await compile(at("b.bank"));
  t.same(await readFile(at("b.bank")), await readFile(bank), "compiled again to the same bytes");
  await writeFile(at("constants.yaml"), "creditHalfWidth: 4\n");
  const narrow = await compile(at("c.bank"), "--constants", at("constants.yaml"), "--json");
  t.equal(narrow.code, 0);
  const shown = await phase("show", "whole", "--bank", at("c.bank"), "--json");
  t.match(JSON.parse(shown.out), { episode: "whole", rank: 5, credit: 0.9, accepted: true });
  const { window, reward, environmentReward } = JSON.parse(shown.out) as {
    window: [number, number];
    reward: number[];
    environmentReward: number[];
  };
  t.ok(window[1] - window[0] <= 8, "4 steps to either side");
  const total = (list: number[]): number => list.reduce((sum, value) => sum + value, 0);
  t.ok(Math.abs(total(reward) - total(environmentReward) - 0.9) < 1e-12);
  t.match(await phase("show", "drop", "--bank", bank), { code: 0, out: /"lift" \(rank 3\)[^]*credited/ });
  t.match(await phase("show", "idle", "--bank", bank), { code: 0, out: /not in the bank \(rank, arrival\)/ });
  t.match(await phase("show", "nobody", "--bank", bank), { code: 1, err: /knows no episode/ });
  await writeFile(at("constants.yaml"), "creditByRank: [0, 0, 0.5, 0.4, 0.5, 0.9]\n");
  t.match(await compile(at("d.bank"), "--constants", at("constants.yaml")), { code: 6, err: /never falls/ });

  const args = ["--records", records, "--reference", made.referenceFile];
  const report = await phase("report", folder, ...args, "--html", at("report.html"));
  t.equal(report.code, 0, report.err);
  t.match(report.out, /exact phase, of the valid +100.0 % \(5\/5\)[^]*33.3 % to 58.3 %/);
  t.match(report.out, /truly reached, in the pool: approach 4\/5, grasp 3\/5, lift 2\/5, success 1\/5/);
  t.match(await readFile(at("report.html"), "utf8"), /^<!doctype html>/);
  t.match(JSON.parse((await phase("report", folder, ...args, "--json")).out), {
    valid: { count: 5 },
    confusion: [],
  });
});
