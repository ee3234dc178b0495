/** The learning tasks' worlds: determinism, time limit, sparse reward, reference against hand-made and expert motions. */
import t from "tap";
import { CellError } from "../../../../src/base/errors.js";
import { WorldEnvironment } from "../../../../src/lab/learning/world/world-environment.js";
import { worldAddon } from "../../../../src/lab/learning/world/native-world.js";
import { truePhase } from "../../../../src/lab/phase/phase-reference.js";
import { loadVocabularies, taskVocabulary } from "../../../../src/lab/phase/task-vocabulary.js";
import { experts } from "./experts.js";

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

for (const [name, expert] of Object.entries(experts)) {
  t.test(
    `${name}: an expert solves it; phases are reached in order and reward comes at success alone`,
    async (t) => {
      const vocabulary = await taskVocabulary(name);
      const count = 4;
      const episodes = 40;
      const environment = new WorldEnvironment(vocabulary, count);
      let states = environment.reset(21);
      let players = Array.from({ length: count }, expert);
      const steps = new Array<number>(count).fill(0);
      const last = vocabulary.phases.length - 1;
      let done = 0;
      let solved = 0;
      let asItShould = true;
      while (done < episodes) {
        const actions = new Float32Array(count * environment.actionSize);
        players.forEach((play, world) => {
          const size = environment.observationSize;
          actions.set(
            play(states.subarray(world * size, (world + 1) * size)),
            world * environment.actionSize,
          );
        });
        const out = environment.step(actions);
        states = out.observations;
        for (let world = 0; world < count; world++) {
          const step = steps[world] ?? 0;
          steps[world] = step + 1;
          const success = out.terminals[world] === 1;
          asItShould &&= out.rewards[world] === (success ? 1 : 0);
          asItShould &&= (environment.privileged.furthest(world) === last) === success;
          if (!success && out.truncations[world] !== 1) continue;
          const truth = truePhase(vocabulary, `${name}-${done}`, environment.privileged.arrivals(world));
          if (success) {
            t.equal(truth.arrival, step, "success is reached at the last step");
            t.equal(Object.keys(truth.arrivals).length, last, "by way of every phase");
            solved++;
          }
          done++;
          steps[world] = 0;
          players = players.map((player, index) => (index === world ? expert() : player));
        }
      }
      t.ok(asItShould, "the reward is 1 with the last phase and 0 before");
      t.comment(`${name}: ${solved} of ${done}`);
      t.ok(solved >= 0.9 * done, `${solved} of ${done}`);
      environment.close();
    },
  );
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
