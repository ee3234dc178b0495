/** Each task can be solved, and what truly happened is told as an expert's motion makes it happen. */
import t from "tap";
import { WorldEnvironment } from "../../../../src/lab/learning/world/world-environment.js";
import { truePhase } from "../../../../src/lab/phase/phase-reference.js";
import { taskVocabulary } from "../../../../src/lab/phase/task-vocabulary.js";
import { experts } from "./experts.js";

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

t.test(
  "BlockPick: hand-made motions reach the phase that they end in, at the step that they do",
  async (t) => {
    const vocabulary = await taskVocabulary("BlockPick");
    const environment = new WorldEnvironment(vocabulary, 1);
    /** Plays the expert until `stop` says so of the state, then `rest`, to the end of the episode. */
    const play = (
      stop: (state: Float32Array) => boolean,
      rest: (state: Float32Array) => number[],
    ): { readonly stopped: number; readonly arrivals: Readonly<Record<string, number>> } => {
      const expert = experts["BlockPick"]?.() ?? rest;
      let state = environment.reset(33);
      let stopped = -1;
      for (let step = 0; step < vocabulary.horizon; step++) {
        if (stopped < 0 && stop(state)) stopped = step;
        const out = environment.step(Float32Array.from(stopped < 0 ? expert(state) : rest(state)));
        state = out.observations;
      }
      return { stopped, arrivals: environment.privileged.arrivals(0) };
    };
    const height = (state: Float32Array): number => (state[10] ?? NaN) / 10 - 0.018;
    const distance = (state: Float32Array): number => Math.hypot(...state.subarray(11, 14)) / 10;
    const still = (): number[] => [0, 0, 0, 1];

    t.same(play(() => true, still).arrivals, {}, "who keeps still far away reaches nothing");

    const near = play((state) => distance(state) < 0.04, still);
    t.same(Object.keys(near.arrivals), ["approach"], "who stops above the block only approaches");
    t.ok((near.arrivals["approach"] ?? Infinity) <= near.stopped, "before it stops");

    const touched = play(
      (state) => (state[7] ?? 0) < 0 && (state[6] ?? 1) < 0.57,
      (state) => [0, 0, 0.05 * (0.05 - height(state)), -1],
    );
    t.same(
      Object.keys(touched.arrivals),
      ["approach", "contact/grasp"],
      "who holds it on the table does not lift",
    );

    const dropped = play((state) => height(state) > 0.03, still);
    t.same(
      Object.keys(dropped.arrivals),
      ["approach", "contact/grasp", "lift"],
      "who drops it has lifted it",
    );
    const { lift = -1, approach = -1 } = dropped.arrivals;
    // It is 8 mm up where the reference begins and 30 mm where the hand opens: at most two steps of 20 mm before.
    t.ok(
      approach < lift && lift <= dropped.stopped - 1 && lift >= dropped.stopped - 3,
      `${lift} of ${dropped.stopped}`,
    );
    environment.close();
  },
);
