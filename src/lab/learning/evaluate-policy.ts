/** Episodes with the policy's deterministic action, counted by sparse success. */
import { CellError } from "../../base/errors.js";
import type { VectorEnvironment } from "./vector-environment.js";

export interface Evaluation {
  readonly successes: number;
  readonly episodes: number;
  /** Mean of the undiscounted reward. */
  readonly meanReturn: number;
}

/** Writes a row of actions for each row of observations. */
export type Policy = (observations: Float32Array, actions: Float32Array) => void;

/**
 * The first `episodes` episodes, the same share from every world, so that short episodes do not count more often. A
 * success is an episode that ended for good with a reward above zero.
 * @throws CellError COMMAND_INVALID when the episodes do not divide among the worlds
 */
export function evaluatePolicy(
  environment: VectorEnvironment,
  policy: Policy,
  episodes: number,
  seed: number,
): Evaluation {
  const { count } = environment;
  if (episodes % count !== 0) {
    throw new CellError("COMMAND_INVALID", `${episodes} episodes do not divide among ${count} worlds`);
  }
  const wanted = episodes / count;
  const done = new Int32Array(count);
  const actions = new Float32Array(count * environment.actionSize);
  let observations = environment.reset(seed);
  let successes = 0;
  let total = 0;
  // Every world ends an episode within the horizon.
  for (let step = 0; step < wanted * environment.horizon; step++) {
    policy(observations, actions);
    const result = environment.step(actions);
    for (let world = 0; world < count; world++) {
      if ((done[world] ?? 0) >= wanted) continue;
      const reward = result.rewards[world] ?? 0;
      total += reward;
      const ended = result.terminals[world] === 1;
      if (ended && reward > 0) successes++;
      if (ended || result.truncations[world] === 1) done[world] = (done[world] ?? 0) + 1;
    }
    if (done.every((ended) => ended >= wanted)) return { successes, episodes, meanReturn: total / episodes };
    observations = result.observations;
  }
  throw new CellError("INTERNAL", `${environment.task}: an episode went on beyond its horizon`);
}
