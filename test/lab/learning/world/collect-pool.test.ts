/** Collected pools: what the readers of phase feedback need, the same from the same seed, with the truth beside it. */
import t from "tap";
import path from "node:path";
import {
  collectPool,
  noisyActor,
  randomActor,
  type Actor,
} from "../../../../src/lab/learning/world/collect-pool.js";
import { WorldEnvironment } from "../../../../src/lab/learning/world/world-environment.js";
import { loadReference } from "../../../../src/lab/phase/phase-reference.js";
import { drawStoryboard } from "../../../../src/lab/phase/storyboard/storyboard.js";
import { openPool, readEpisode } from "../../../../src/lab/phase/support-pool.js";
import { taskVocabulary } from "../../../../src/lab/phase/task-vocabulary.js";
import { experts } from "./experts.js";

const signal = new AbortController().signal;
const common = { note: "a test", seed: 9, frames: 7, frameHeight: 96, signal };

/** The block's expert, anew for each episode. */
function expert(): Actor {
  const play = experts["BlockPick"]?.() ?? (() => []);
  return (observation, action) => action.set(play(observation));
}

t.test("episodes of success have every phase in their reference and a storyboard can be drawn", async (t) => {
  const vocabulary = await taskVocabulary("BlockPick");
  const folder = path.join(t.testdir(), "pool");
  const { referenceFile, reached } = await collectPool(folder, vocabulary, {
    ...common,
    ...{ source: "shaped", episodes: 3, actorOf: expert },
  });
  t.same(reached, { approach: 3, "contact/grasp": 3, lift: 3, "stable success": 3 });
  const pool = await openPool(folder);
  const reference = await loadReference(referenceFile, vocabulary);
  for (const { id } of pool.manifest.episodes) {
    const episode = await readEpisode(pool, vocabulary, id);
    const steps = episode.rewards.length;
    t.equal(reference.get(id)?.phase, "stable success");
    t.equal(reference.get(id)?.arrival, steps - 1);
    t.same(episode.rewards.slice(-2), [0, 1]);
    t.same(episode.terminal.slice(-2), [false, true]);
    t.same(
      episode.frames?.map(({ step }) => step),
      Array.from({ length: 7 }, (_, k) => Math.round((k * (steps - 1)) / 6)),
    );
    t.equal(episode.stepTimesS?.at(-1), Number((steps * 0.02).toPrecision(9)), "20 ms a step");
    // The recorded actions lead through the recorded states again.
    if (id !== "e0") continue;
    const environment = new WorldEnvironment(vocabulary, 1);
    t.same(Array.from(environment.reset(9)), episode.observations?.[0]?.map(Math.fround));
    episode.actions?.forEach((action, step) => {
      const out = environment.step(Float32Array.from(action));
      t.same(Array.from(out.finalObservations), episode.observations?.[step + 1]?.map(Math.fround));
    });
    environment.close();
    const board = await drawStoryboard(pool, vocabulary, episode);
    t.equal(board.panels.length, vocabulary.crops.length === 0 ? 1 : 7);
  }
});

t.test("untrained exploration: the same seed, the same pool; time ends its episodes", async (t) => {
  const vocabulary = { ...(await taskVocabulary("BlockPick")), horizon: 12 };
  const collect = async (name: string, seed: number): Promise<string> => {
    const actor = randomActor(seed);
    const folder = path.join(t.testdirName, name);
    const { pool } = await collectPool(folder, vocabulary, {
      ...common,
      ...{ source: "random", episodes: 2, actorOf: () => actor, seed },
    });
    const episode = await readEpisode(pool, vocabulary, "e1");
    t.equal(episode.rewards.length, 12);
    t.notOk(episode.terminal.includes(true), "a time limit is no terminal");
    return pool.sha256;
  };
  t.testdir();
  const first = await collect("a", 4);
  t.equal(await collect("b", 4), first);
  t.not(await collect("c", 5), first);
});

t.test("noise is added to a policy's action, and the action stays within its limits", (t) => {
  const zero: Actor = (_, action) => void action.fill(0.9);
  const noisy = noisyActor(zero, 0.5, 3);
  const drawn = Array.from({ length: 4000 }, () => {
    const action = new Float32Array(1);
    noisy(new Float32Array(0), action);
    return action[0] ?? NaN;
  });
  t.ok(drawn.every((value) => value >= -1 && value <= 1));
  // Beyond 1 lie the normal deviates above 0.2: 42.07 % of them, with 3 sigma of 2.3 %.
  const clipped = drawn.filter((value) => value === 1).length / drawn.length;
  t.ok(Math.abs(clipped - 0.4207) < 0.024, `${clipped} clipped`);
  t.end();
});
