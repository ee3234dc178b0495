/**
 * What a learner sees of its task: several worlds that step together. It sees states, the sparse reward and how episodes
 * end, and nothing else; what only a simulator knows (phases, first arrivals, shaped rewards) does not pass here.
 */

/** What one step of all worlds gave. The arrays belong to the environment and hold until its next step. */
export interface VectorStep {
  /** count x observationSize: where the next action starts, after worlds whose episode ended were reset. */
  readonly observations: Float32Array;
  /** count x observationSize: where the actions led, before any reset. */
  readonly finalObservations: Float32Array;
  /** count: 1 at success, else 0. */
  readonly rewards: Float32Array;
  /** count: 1 where the episode ended for good (is_terminal). */
  readonly terminals: Uint8Array;
  /** count: 1 where the time limit ended it (is_last without is_terminal). */
  readonly truncations: Uint8Array;
}

export interface VectorEnvironment {
  readonly task: string;
  readonly observationSize: number;
  readonly actionSize: number;
  /** Worlds. */
  readonly count: number;
  /** Control steps of the longest episode. */
  readonly horizon: number;
  /** Begins new episodes in all worlds. The same seed gives the same episodes, bit for bit. */
  reset(seed: number): Float32Array;
  /** @param actions count x actionSize, each clipped to [-1, 1] @throws CellError when a value is not finite */
  step(actions: Float32Array): VectorStep;
  close(): void;
}
