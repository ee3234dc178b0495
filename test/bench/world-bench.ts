/**
 * Control steps a second of each learning task on one core, physics and states together, with the substeps that a control step
 * has; random actions, one thread. The anchors are the limits that the project set itself. CPU time, so that a busy machine
 * does not count. Prints a table and writes JSON to the file named.
 *   npm run bench -- world
 */
import { writeFile } from "node:fs/promises";
import { worldAddon } from "../../src/lab/learning/world/native-world.js";
import { WorldEnvironment } from "../../src/lab/learning/world/world-environment.js";
import { loadVocabularies } from "../../src/lab/phase/task-vocabulary.js";

const worlds = 8;
const rounds = 5;
const roundS = 0.4;
const wanted = { rigid: 3000, cloth: 1300 } as const;
const cloths = new Set(["GauzePull", "GauzeRetrieve", "TissueRetract"]);

let state = 1;
const random = (): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 31 - 1;
};

/** Control steps a second of CPU time. */
function rate(environment: WorldEnvironment): number {
  const actions = new Float32Array(worlds * environment.actionSize);
  const began = process.cpuUsage();
  let steps = 0;
  for (;;) {
    for (let i = 0; i < actions.length; i++) actions[i] = random();
    environment.step(actions);
    steps += worlds;
    const { user, system } = process.cpuUsage(began);
    const spentS = (user + system) / 1e6;
    if (spentS >= roundS) return steps / spentS;
  }
}

const vocabularies = await loadVocabularies();
const results = [];
console.log(`one core, random actions${" ".repeat(6)}steps/s   substeps   of at least`);
for (const scene of worldAddon().worldTasks()) {
  const vocabulary = vocabularies.get(scene.name);
  if (vocabulary === undefined) throw new Error(`${scene.name} has no vocabulary`);
  const environment = new WorldEnvironment(vocabulary, worlds);
  environment.reset(1);
  rate(environment);
  const rates = Array.from({ length: rounds }, () => rate(environment)).sort((a, b) => a - b);
  const diverged = environment.privileged.diverged();
  environment.close();
  const median = rates[Math.floor(rounds / 2)] ?? NaN;
  const limit = cloths.has(scene.name) ? wanted.cloth : wanted.rigid;
  results.push({
    ...{ task: scene.name, stepsPerS: median, limit },
    ...{ substeps: scene.substeps, timeStepS: scene.timeStepS, diverged },
  });
  console.log(
    `  ${scene.name.padEnd(24)}${median.toFixed(0).padStart(9)}   ${scene.substeps} x ${(scene.timeStepS * 1e3).toFixed(1)} ms` +
      `   ${limit}: ${(median / limit).toFixed(1)} times${median >= limit ? "" : " MISSED"}${diverged > 0 ? `, ${diverged} DIVERGED` : ""}`,
  );
}
const [, , file] = process.argv;
if (file !== undefined) await writeFile(file, `${JSON.stringify({ worlds, results })}\n`);
