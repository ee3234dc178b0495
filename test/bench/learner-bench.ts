/**
 * Updates per second of the learner beside the SAC of stable-baselines3 (PyPI, CPU, one thread): the same network, batch and
 * observation, plain SAC on both sides, in turns, in CPU time of one process each. Then what the bank and cloning add, and
 * how long a run of 120,000 updates takes with its worlds. Prints a table; writes JSON to the file named.
 *   npm run bench -- learner
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { projectRoot } from "../../src/base/paths.js";
import { Random } from "../../src/base/random.js";
import { createLearner, type NativeLearner } from "../../src/lab/learning/native-learner.js";
import { runSettings } from "../../src/lab/learning/run-settings.js";
import { publishedUpdates } from "../../src/lab/learning/task-settings.js";
import { trainPolicy } from "../../src/lab/learning/training-run.js";
import { createWorldEnvironment } from "../../src/lab/learning/world/world-environment.js";

const [observationSize, actionSize, rows] = [30, 4, 10_000];
const rounds = 6;
const sizes = [
  { width: 128, batch: 256, updates: 100 },
  { width: 256, batch: 256, updates: 50 },
];
const leastRatio = 3;
const longestRunMin = 12;

const python = path.join(projectRoot, ".venv", "learner-bench", "bin", "python");
const script = path.join(projectRoot, "test", "bench", "learner", "sb3_updates.py");

/** The other side: one process that answers a line with CPU seconds. */
class Peer {
  private readonly child = spawn(python, [script, String(observationSize), String(actionSize)], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, OMP_NUM_THREADS: "1", MKL_NUM_THREADS: "1", CUDA_VISIBLE_DEVICES: "" },
  });
  private readonly lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();

  async line(): Promise<string> {
    const { value, done } = await this.lines.next();
    if (done === true) throw new Error("stable-baselines3 ended");
    return value;
  }
  async cpuS(width: number, batch: number, updates: number): Promise<number> {
    this.child.stdin.write(`${width} ${batch} ${updates}\n`);
    return Number(await this.line());
  }
  end(): void {
    this.child.stdin.end();
  }
}

function made(width: number, batch: number, banked: boolean): NativeLearner {
  const random = new Random(1);
  const floats = (count: number): Float32Array =>
    Float32Array.from({ length: count }, () => random.uniform(-1, 1));
  const learner = createLearner({
    ...{ observationSize, actionSize, hidden: [width, width], batch },
    ...(banked ? {} : { cloningWeight: 0 }),
  });
  const columns = {
    observations: floats(rows * observationSize),
    actions: floats(rows * actionSize),
    nextObservations: floats(rows * observationSize),
    rewards: floats(rows),
    terminals: new Uint8Array(rows),
  };
  if (banked) {
    const [weights, probabilities] = [new Float32Array(rows).fill(1), new Float64Array(rows).fill(1)];
    learner.setBank({ ...columns, weights, probabilities });
  }
  const { observations, actions, nextObservations, rewards, terminals } = columns;
  learner.store(observations, actions, nextObservations, rewards, terminals);
  return learner;
}

function cpuS(learner: NativeLearner, updates: number): number {
  const began = process.cpuUsage();
  learner.update(updates);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

const peer = new Peer();
console.log(`stable-baselines3 on ${await peer.line()}`);
const results = [];
for (const { width, batch, updates } of sizes) {
  const plain = made(width, batch, false);
  const banked = made(width, batch, true);
  const times: Record<"ours" | "theirs" | "banked", number[]> = { ours: [], theirs: [], banked: [] };
  // The first round warms up.
  for (let round = -1; round < rounds; round++) {
    const one = {
      ours: cpuS(plain, updates),
      theirs: await peer.cpuS(width, batch, updates),
      banked: cpuS(banked, updates),
    };
    if (round >= 0)
      for (const name of ["ours", "theirs", "banked"] as const) times[name].push(one[name] / updates);
  }
  const ratio = median(times.ours.map((value, index) => (times.theirs[index] ?? NaN) / value));
  results.push({ width, batch, instructionSet: plain.instructionSet, ratio, cpuSPerUpdate: times });
  console.log(`two layers of ${width}, batch ${batch} (${plain.instructionSet})    ms/update   updates/s`);
  for (const [name, list] of [
    ["surgiclaw, SAC", times.ours],
    ["stable-baselines3, SAC", times.theirs],
    ["surgiclaw, SAC with bank and cloning", times.banked],
  ] as const) {
    const value = median(list);
    console.log(
      `  ${name.padEnd(40)}${(value * 1e3).toFixed(3).padStart(10)}${(1 / value).toFixed(0).padStart(12)}`,
    );
  }
  console.log(
    `  ${ratio.toFixed(2)} times its updates, at least ${leastRatio} wanted: ${ratio >= leastRatio ? "met" : "MISSED"}`,
  );
}
peer.end();

// A stretch of a whole run: worlds, updates, evaluation.
const stretch = 3000;
const settings = {
  ...runSettings("BlockPick", "sparse", 1, { updates: stretch, pointEvery: stretch, evaluationEpisodes: 8 }),
  collectFirst: 100,
};
const [collector, evaluator] = [
  await createWorldEnvironment("BlockPick", settings.environments),
  await createWorldEnvironment("BlockPick", settings.environments),
];
const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-bench-"));
const before = process.cpuUsage();
await trainPolicy({
  ...{ settings, collector, evaluator, folder, support: undefined },
  signal: new AbortController().signal,
  onPoint: () => undefined,
});
const used = process.cpuUsage(before);
const minutes = (((used.user + used.system) / 1e6 / stretch) * publishedUpdates) / 60;
await rm(folder, { recursive: true });
console.log(
  `a run of ${publishedUpdates} updates on BlockPick, from ${stretch}: ${minutes.toFixed(1)} min of one core, at most ${longestRunMin} wanted: ${minutes <= longestRunMin ? "met" : "MISSED"}`,
);
const [, , file] = process.argv;
if (file !== undefined)
  await writeFile(
    file,
    `${JSON.stringify({ leastRatio, longestRunMin, results, minutesOfARun: minutes })}\n`,
  );
