/** The verbs of `surgiclaw policy` as processes on the worlds of BlockPick: train, kill, go on, evaluate, report. */
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";
import { readRun, type PolicyRun } from "../../src/lab/learning/run-file.js";

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const main = path.join(projectRoot, "dist", "src", "cli", "main.js");
const policy = (...args: string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    execFile(process.execPath, [main, "policy", ...args], (error, out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, err }),
    );
  });
const folder = () => mkdtemp(path.join(tmpdir(), "surgiclaw-policy-"));
const small = ["--updates", "40", "--point-every", "10", "--width", "16", "--batch", "32", "--episodes", "8"];
const sparse = ["train", "BlockPick", "--method", "sparse", ...small];

t.test("train, evaluate, report", { timeout: 120_000 }, async (t) => {
  const runs = await folder();
  const trained = await policy(...sparse, "--seeds", "2", "--first-seed", "5", "--runs", runs, "--json");
  t.equal(trained.code, 0, trained.err);
  const said = JSON.parse(trained.out) as { success: number; runs: PolicyRun[] };
  t.same(
    said.runs.map(({ settings }) => settings.seed),
    [5, 6],
  );
  t.equal(said.runs[0]?.curve.length, 5);
  const [name] = await readdir(runs);
  const place = path.join(runs, name ?? "");

  const evaluated = await policy("evaluate", place, "--episodes", "16", "--seed", "9", "--json");
  t.equal(evaluated.code, 0, evaluated.err);
  t.match(JSON.parse(evaluated.out), { task: "BlockPick", run: name, success: { of: 16 } });

  const pictures = path.join(runs, "curves");
  const report = await policy("report", "--runs", runs, "--out", pictures, "--json");
  t.match(JSON.parse(report.out), {
    cells: [{ task: "BlockPick", method: "sparse", seeds: [5, 6] }],
    unfinished: 0,
  });
  t.same(await readdir(pictures), ["BlockPick.png"]);
  t.match(await policy("report", "--runs", runs), { code: 0, out: /BlockPick +sparse/ });
});

t.test("a run that is killed goes on to the same curve", { timeout: 120_000 }, async (t) => {
  const [whole, killed] = [await folder(), await folder()];
  t.equal((await policy(...sparse, "--runs", whole)).code, 0);
  const child = spawn(process.execPath, [main, "policy", ...sparse, "--runs", killed], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  // After the second point of the curve; its job is told to end and does so.
  let points = 0;
  child.stderr.on("data", () => {
    if (++points === 2) child.kill("SIGTERM");
  });
  await ended;
  t.equal((await policy(...sparse, "--runs", killed)).code, 0);
  const curve = async (place: string) => {
    const [name] = await readdir(place);
    return (await readRun(path.join(place, name ?? "", "run.json"))).curve;
  };
  t.same(await curve(killed), await curve(whole));
});

t.test("what cannot be is refused by name", async (t) => {
  t.match(await policy("train", "BlockPick", "--method", "magic"), { code: 1, err: /no method magic/ });
  t.match(await policy("train", "Juggling", "--method", "sparse"), { code: 1, err: /no task Juggling/ });
  t.match(await policy("train", "BlockPick", "--method", "oracle"), { code: 1, err: /needs a bank file/ });
  t.match(await policy("train", "BlockPick", "--method", "sparse", "--updates", "x"), { code: 2 });
  t.match(await policy(...sparse, "--seeds", "0"), { code: 1, err: /at least one seed/ });
  const runs = await folder();
  t.match(await policy("report", "--runs", runs), { code: 1, err: /holds no run/ });
  const file = path.join(runs, "policy.json");
  await writeFile(file, '{"format":"surgiclaw.policy/9"}');
  t.match(await policy("evaluate", file), { code: 6, err: /PHASE_FILE_INVALID/ });
  t.match(JSON.parse((await policy("methods", "--json")).out), { sparse: { support: "none" } });
});
