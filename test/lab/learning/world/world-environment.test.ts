/** The learning tasks' worlds: determinism, time limit, sparse reward, bad input. */
import t from "tap";
import { CellError } from "../../../../src/base/errors.js";
import { WorldEnvironment } from "../../../../src/lab/learning/world/world-environment.js";
import { worldAddon } from "../../../../src/lab/learning/world/native-world.js";
import { loadVocabularies, taskVocabulary } from "../../../../src/lab/phase/task-vocabulary.js";

const scenes = worldAddon().worldTasks();

/** SplitMix-like, for actions: the tests say which numbers they use. */
function noise(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** Every output of `steps` random steps, as bytes. */
function trace(environment: WorldEnvironment, seed: number, steps: number): Buffer {
  const random = noise(seed);
  const parts = [Buffer.from(environment.reset(seed).slice().buffer)];
  for (let step = 0; step < steps; step++) {
    const actions = Float32Array.from({ length: environment.count * environment.actionSize }, random);
    const out = environment.step(actions);
    for (const array of [
      out.observations,
      out.finalObservations,
      out.rewards,
      out.terminals,
      out.truncations,
    ])
      parts.push(Buffer.from(array.slice().buffer));
  }
  return Buffer.concat(parts);
}

t.test("every scene has a vocabulary with as many phases", async (t) => {
  const vocabularies = await loadVocabularies();
  for (const scene of scenes) {
    t.equal(vocabularies.get(scene.name)?.phases.length, scene.phases, scene.name);
    t.ok(scene.substeps >= 4 && scene.timeStepS <= 0.005, `${scene.name}: four substeps of 5 ms at most`);
  }
});

for (const { name } of scenes) {
  t.test(`${name}: the same seed gives the same bytes, after a reset and in another batch`, async (t) => {
    const vocabulary = await taskVocabulary(name);
    const three = new WorldEnvironment(vocabulary, 3);
    const first = trace(three, 5, 100);
    t.ok(first.equals(trace(three, 5, 100)), "again after what went before");
    t.notOk(first.equals(trace(three, 6, 100)), "another seed is another episode");
    const again = new WorldEnvironment(vocabulary, 3);
    t.ok(first.equals(trace(again, 5, 100)), "in new worlds");
    const alone = new WorldEnvironment(vocabulary, 1);
    const begun = Buffer.from(alone.reset(5).slice().buffer);
    t.ok(begun.equals(first.subarray(0, begun.length)), "world 0 does not depend on how many there are");
    for (const environment of [three, again, alone]) environment.close();
  });

  t.test(`${name}: time ends an episode, and is no terminal; states stay finite`, async (t) => {
    const vocabulary = await taskVocabulary(name);
    const environment = new WorldEnvironment(vocabulary, 2);
    environment.reset(11);
    const still = new Float32Array(2 * environment.actionSize);
    const random = noise(2);
    let ended = 0;
    let finite = true;
    let paired = true;
    for (let step = 1; step <= 2 * vocabulary.horizon; step++) {
      // World 0 keeps still, world 1 does anything.
      still.fill(0);
      for (let k = environment.actionSize; k < still.length; k++) still[k] = random();
      const out = environment.step(still);
      finite &&= out.observations.every(Number.isFinite) && out.finalObservations.every(Number.isFinite);
      paired &&= out.rewards.every((reward, world) => reward === out.terminals[world]);
      if (out.truncations[0] === 1) {
        ended++;
        t.equal(step % vocabulary.horizon, 0, "after the horizon");
        t.notSame(out.observations, out.finalObservations, "the next episode has begun");
      }
    }
    t.equal(ended, 2);
    t.ok(finite, "states are finite");
    t.equal(environment.privileged.diverged(), 0, "the physics holds");
    t.ok(paired, "reward and end for good come together");
    environment.close();
  });
}

t.test("an action that is not finite is refused and moves nothing", async (t) => {
  const vocabulary = await taskVocabulary("BlockPick");
  const environment = new WorldEnvironment(vocabulary, 2);
  environment.reset(3);
  const good = new Float32Array(8).fill(0.3);
  const before = environment.step(good).observations.slice();
  const bad = Float32Array.from(good);
  bad[6] = NaN;
  t.throws(() => environment.step(bad), { code: "COMMAND_INVALID", message: /action 2 of world 1/ });
  const reference = new WorldEnvironment(vocabulary, 2);
  reference.reset(3);
  t.same(reference.step(good).observations, before);
  t.same(environment.step(good).observations, reference.step(good).observations);
  environment.close();
  reference.close();
});

t.test("a task without a scene is refused by name", async (t) => {
  const vocabulary = { ...(await taskVocabulary("BlockPick")), task: "BlockPush" };
  t.throws(() => new WorldEnvironment(vocabulary, 1), CellError);
});
