/**
 * Collects a support pool in the simulator: episodes with their transitions, pictures of the full view, and beside the pool
 * the reference of what truly happened. The same source and seed give the same episodes.
 */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { CellError } from "../../../base/errors.js";
import { episodeFormat, type Episode } from "../../phase/episode.js";
import { writeReference, type Arrivals } from "../../phase/phase-reference.js";
import { encodePng } from "../../phase/storyboard/picture-file.js";
import { writePool, type SupportPool } from "../../phase/support-pool.js";
import type { TaskVocabulary } from "../../phase/task-vocabulary.js";
import { nativeTask, WorldEnvironment } from "./world-environment.js";
import { WorldRenderer } from "./world-renderer.js";

/** Writes the action for one state. */
export type Actor = (observation: Float32Array, action: Float32Array) => void;

export interface CollectOptions {
  /** Who acts, as published: a policy trained on a shaped or on the sparse reward, or nobody. */
  readonly source: "shaped" | "sparse" | "random";
  /** Where it comes from, in words. */
  readonly note: string;
  /** Who acts in an episode. */
  readonly actorOf: (episode: number) => Actor;
  readonly episodes: number;
  readonly seed: number;
  /** Pictures of an episode, evenly spaced, of its first and last step among them; two or more. */
  readonly frames: number;
  /** Of the view, pixels; it is 4:3, as the panels are. */
  readonly frameHeight: number;
  readonly signal: AbortSignal;
  readonly onEpisode?: (done: number, id: string, phase: string) => void;
}

export interface CollectResult {
  readonly pool: SupportPool;
  readonly referenceFile: string;
  /** Label -> episodes in which it was reached. */
  readonly reached: Readonly<Record<string, number>>;
}

/** The same float32 again from the shortest usual decimal. */
const short = (value: number): number => Number(value.toPrecision(9));

/**
 * @throws CellError RENDERING_UNAVAILABLE, LINK_ABORTED when interrupted (nothing counts then: the list that makes a pool is
 *   written last), INTERNAL when the physics diverged
 */
export async function collectPool(
  folder: string,
  vocabulary: TaskVocabulary,
  options: CollectOptions,
): Promise<CollectResult> {
  const { task } = vocabulary;
  const { substeps, timeStepS } = nativeTask(task);
  const environment = new WorldEnvironment(vocabulary, 1, true);
  const renderer = new WorldRenderer(task, Math.round((options.frameHeight * 4) / 3), options.frameHeight);
  await mkdir(path.join(folder, "frames"), { recursive: true });
  const episodes: Episode[] = [];
  const truth: Record<string, Arrivals> = {};
  const reached = Object.fromEntries(vocabulary.phases.slice(1).map(({ label }) => [label, 0]));
  const digits = String(options.episodes - 1).length;
  try {
    let state = environment.reset(options.seed);
    for (let number = 0; number < options.episodes; number++) {
      const actor = options.actorOf(number);
      const id = `e${String(number).padStart(digits, "0")}`;
      const observations = [Array.from(state, short)];
      const actions: number[][] = [];
      const rewards: number[] = [];
      const terminal: boolean[] = [];
      const snapshots: Float64Array[] = [];
      for (let ended = false; !ended;) {
        if (options.signal.aborted) throw new CellError("LINK_ABORTED", `collecting ${task} was interrupted`);
        const action = new Float32Array(environment.actionSize);
        actor(state, action);
        const out = environment.step(action);
        actions.push(Array.from(action, short));
        observations.push(Array.from(out.finalObservations, short));
        rewards.push(out.rewards[0] ?? 0);
        terminal.push(out.terminals[0] === 1);
        ended = out.terminals[0] === 1 || out.truncations[0] === 1;
        state = out.observations;
        snapshots.push(environment.privileged.snapshot(0));
      }
      const frames: { step: number; file: string }[] = [];
      for (const step of evenSteps(snapshots.length, options.frames)) {
        const file = path.join("frames", `${id}-${String(step).padStart(3, "0")}.png`);
        const picture = await renderer.render(snapshots[step] ?? new Float64Array());
        await writeFile(path.join(folder, file), await encodePng(picture));
        frames.push({ step, file });
      }
      const arrivals = environment.privileged.arrivals(0);
      for (const label of Object.keys(arrivals)) reached[label] = (reached[label] ?? 0) + 1;
      truth[id] = arrivals;
      const stepTimesS = rewards.map((_, step) => short((step + 1) * substeps * timeStepS));
      const format = episodeFormat;
      episodes.push({ format, id, task, rewards, terminal, observations, actions, stepTimesS, frames });
      const phase = vocabulary.phases[environment.privileged.furthest(0)]?.label ?? "";
      options.onEpisode?.(number + 1, id, phase);
    }
    if (environment.privileged.diverged() > 0)
      throw new CellError(
        "INTERNAL",
        `${task}: the physics diverged in ${environment.privileged.diverged()} episodes`,
      );
  } finally {
    environment.close();
    renderer.close();
  }
  const pool = await writePool(folder, { task, source: options.source, note: options.note }, episodes);
  const referenceFile = path.join(folder, "reference.json");
  await writeReference(referenceFile, vocabulary, truth);
  return { pool, referenceFile, reached };
}

/** At most `wanted` of `steps` steps, evenly spaced, with the first and the last. */
const evenSteps = (steps: number, wanted: number): number[] => {
  const count = Math.min(steps, wanted);
  const all = Array.from({ length: count }, (_, k) => Math.round((k * (steps - 1)) / Math.max(1, count - 1)));
  return [...new Set(all)];
};

/** A generator of uniform numbers in [0, 1): SplitMix32, the same on every machine. */
export function uniformNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** Untrained exploration: every action uniform in [-1, 1]. */
export function randomActor(seed: number): Actor {
  const random = uniformNumbers(seed);
  return (_, action) => {
    for (let i = 0; i < action.length; i++) action[i] = 2 * random() - 1;
  };
}

/** A policy's action with normal noise added, clipped to [-1, 1]. */
export function noisyActor(actor: Actor, sigma: number, seed: number): Actor {
  const random = uniformNumbers(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return (observation, action) => {
    actor(observation, action);
    for (let i = 0; i < action.length; i++)
      action[i] = Math.max(-1, Math.min(1, (action[i] ?? 0) + sigma * normal()));
  };
}
