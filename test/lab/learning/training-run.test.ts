/** Whole learning runs on worlds that are a line of algebra: they learn, stop, go on to the same result, and refuse. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { methods, type MethodName } from "../../../src/lab/learning/methods.js";
import { evaluatePolicy } from "../../../src/lab/learning/evaluate-policy.js";
import { policyActions, readPolicy } from "../../../src/lab/learning/policy-file.js";
import {
  readRun,
  readRuns,
  runId,
  type PolicyRun,
  type RunSettings,
} from "../../../src/lab/learning/run-file.js";
import { runSettings } from "../../../src/lab/learning/run-settings.js";
import { loadSupport } from "../../../src/lab/learning/support-columns.js";
import { trainPolicy } from "../../../src/lab/learning/training-run.js";
import { PointReach, reachEpisodes, reachTask } from "./point-reach.js";
import { makeReachSupport } from "./reach-support.js";

const support = await makeReachSupport([...reachEpisodes(15, 1, 1), ...reachEpisodes(25, 0, 2)]);
const bank = await support.bank("oracle.bank", "oracle");

const small = (method: MethodName, more: Partial<RunSettings> = {}): RunSettings => ({
  ...runSettings(reachTask, method, 3, {
    updates: 600,
    warmStart: 300,
    pointEvery: 300,
    width: 32,
    batch: 64,
  }),
  evaluationEpisodes: 80,
  ...more,
});

async function run(
  settings: RunSettings,
  folder: string,
  options: { readonly stopAfterPoint?: number; readonly breakAtStep?: number } = {},
): Promise<PolicyRun> {
  const method = methods[settings.method];
  const file = { none: undefined, pool: support.pool.folder, bank, "oracle-bank": bank }[method.support];
  const evaluator = new PointReach(settings.environments);
  const collector = new PointReach(settings.environments);
  collector.breakAtStep = options.breakAtStep ?? Infinity;
  const content = await loadSupport(file, method, support.vocabulary, evaluator);
  const abort = new AbortController();
  let points = 0;
  return trainPolicy({
    ...{ settings, collector, evaluator, folder, signal: abort.signal },
    support: file === undefined || content === undefined ? undefined : { path: file, content },
    onPoint: () => {
      if (++points === options.stopAfterPoint) abort.abort();
    },
  });
}

const newFolder = () => mkdtemp(path.join(tmpdir(), "surgiclaw-run-"));
const share = ({ curve }: PolicyRun): number => {
  const last = curve.at(-1)!;
  return last.successes / last.episodes;
};

t.test("the whole method learns what cloning of the mixed pool does not", async (t) => {
  const folder = await newFolder();
  const longer = { updates: 3000, warmStart: 1500, pointEvery: 1500, gamma: 0.96 };
  const full = await run(small("oracle", longer), folder);
  const cloned = await run(small("uniform-bc", longer), await newFolder());
  t.ok(share(full) >= 0.75, `success ${share(full)}`);
  t.ok(share(full) > share(cloned) + 0.3, `${share(full)} beside ${share(cloned)}`);
  t.same(
    full.curve.map(({ updates }) => updates),
    [0, 1500, 3000],
  );
  // Two transitions an update after the first 1000, in steps of eight worlds.
  const { transitions } = full.curve[2]!;
  t.ok(transitions >= 1000 + 6000 && transitions < 1000 + 6000 + 16, `${transitions} transitions`);
  t.equal(cloned.curve[2]?.transitions, 0, "cloning collects nothing");

  const policy = await readPolicy(path.join(folder, "policy.json"));
  const again = evaluatePolicy(
    new PointReach(8),
    (observations, actions) => policyActions(policy, observations, actions),
    200,
    17,
  );
  t.ok(again.successes >= 150, `the policy on disk succeeds ${again.successes} times of 200`);
  t.throws(() => policyActions(policy, new Float32Array([0, NaN, 0, 0]), new Float32Array(2)), {
    code: "LEARNING_DATA_INVALID",
  });
});

t.test("a run that was ended goes on to the same result", async (t) => {
  for (const method of ["oracle", "sparse", "phase-bc"] as const) {
    const settings = small(method, { updates: 60, pointEvery: 20, warmStart: 40 });
    const whole = await run(settings, await newFolder());
    const folder = await newFolder();
    await t.rejects(run(settings, folder, { stopAfterPoint: 2 }), { code: "LINK_ABORTED" });
    t.equal((await readRun(path.join(folder, "run.json"))).finished, false);
    const resumed = await run(settings, folder);
    t.same(resumed.curve, whole.curve, method);
    t.equal(resumed.curve.length, 4);
    const weights = async (place: string) => (await readPolicy(path.join(place, "policy.json"))).layers;
    const straight = await newFolder();
    await run(settings, straight);
    t.same(await weights(folder), await weights(straight), "the same weights, bit for bit");
    t.same(await run(settings, folder), resumed, "a finished run is read, not run");
    // Killed after its last checkpoint, before what others read was written.
    await rm(path.join(folder, "run.json"));
    await run(settings, folder);
    t.same(await readRun(path.join(folder, "run.json")), resumed);
  }
});

t.test("another seed gives another run", async (t) => {
  const settings = small("sparse", { updates: 20, pointEvery: 20 });
  const one = await run(settings, await newFolder());
  const other = await run({ ...settings, seed: 4 }, await newFolder());
  t.not(one.curve[1]?.criticLoss, other.curve[1]?.criticLoss);
  t.not(runId(settings, null), runId({ ...settings, seed: 4 }, null));
  t.not(runId(settings, null), runId({ ...settings, gamma: 0.9 }, null));
});

t.test("a checkpoint of other settings, a damaged one, observations that are not finite", async (t) => {
  const settings = small("sparse", { updates: 20, pointEvery: 20 });
  const folder = await newFolder();
  await run(settings, folder);
  await t.rejects(run({ ...settings, gamma: 0.5 }, folder), {
    code: "CHECKPOINT_INVALID",
    message: /settings/,
  });
  const file = path.join(folder, "checkpoint.bin");
  const bytes = await readFile(file);
  bytes[bytes.length - 100]! ^= 1;
  await writeFile(file, bytes);
  await t.rejects(run(settings, folder), { code: "CHECKPOINT_INVALID", message: /checksum/ });
  await writeFile(file, "hello");
  await t.rejects(run(settings, folder), { code: "CHECKPOINT_INVALID" });
  await t.rejects(run(settings, await newFolder(), { breakAtStep: 230 }), {
    code: "LEARNING_DATA_INVALID",
    message: /observation of row 0, value 1, is not finite/,
  });
});

t.test("kept runs are found, and one that is not as it should be is named", async (t) => {
  const runs = await newFolder();
  const settings = small("sparse", { updates: 10, pointEvery: 10 });
  await run(settings, path.join(runs, runId(settings, null)));
  t.equal((await readRuns(runs)).length, 1);
  t.same(await readRuns(path.join(runs, "nowhere")), []);
  await writeFile(path.join(runs, runId(settings, null), "run.json"), '{"format":"surgiclaw.policy-run/9"}');
  await t.rejects(readRuns(runs), { code: "RUN_FILE_INVALID", message: /run\.json/ });
});
