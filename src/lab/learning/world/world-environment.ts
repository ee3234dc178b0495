/**
 * Simulated worlds of a task behind the port that learners know. What only the simulator knows is on `privileged`, for
 * collectors and for tests; nothing that learns or judges is given a `WorldEnvironment` itself.
 */
import { CellError } from "../../../base/errors.js";
import { taskVocabulary, type TaskVocabulary } from "../../phase/task-vocabulary.js";
import type { Arrivals } from "../../phase/phase-reference.js";
import type { VectorEnvironment, VectorStep } from "../vector-environment.js";
import { nativeError, worldAddon, type NativeTask, type NativeVectorWorld } from "./native-world.js";

/** What truly happened, of the episode that a world's last step belonged to. */
export interface Privileged {
  /** Label -> step of first arrival, of every phase that was reached. */
  arrivals(world: number): Arrivals;
  /** Position of the furthest phase in the vocabulary. */
  furthest(world: number): number;
  /** A shaped reward for the last step, 0 to 1: only collectors of the source `shaped` use it. */
  guidance(world: number): number;
  /** Episodes that ended as if time were up because their physics left the finite numbers. */
  diverged(): number;
  /** The scene after the last step, for a `WorldRenderer`. */
  snapshot(world: number): Float64Array;
}

/** The native side's word on a task. @throws CellError COMMAND_INVALID when no scene of that name is built */
export function nativeTask(task: string): NativeTask {
  const known = worldAddon().worldTasks();
  const found = known.find(({ name }) => name === task);
  if (found === undefined) {
    throw new CellError("COMMAND_INVALID", `there is no scene for ${task}`, {
      remedy: `one of ${known.map(({ name }) => name).join(", ")}`,
    });
  }
  return found;
}

export class WorldEnvironment implements VectorEnvironment {
  readonly task: string;
  readonly observationSize: number;
  readonly actionSize: number;
  readonly count: number;
  readonly horizon: number;
  readonly privileged: Privileged;
  private readonly worlds: NativeVectorWorld;
  private readonly outputs: VectorStep;

  /** @param keepPrivileged whether shaped rewards and snapshots are kept at each step */
  constructor(vocabulary: TaskVocabulary, count: number, keepPrivileged = false) {
    const about = nativeTask(vocabulary.task);
    if (about.phases !== vocabulary.phases.length) {
      throw new CellError(
        "PHASE_FILE_FOREIGN",
        `${vocabulary.task} has ${about.phases} phases in its scene and ${vocabulary.phases.length} in its vocabulary`,
      );
    }
    this.task = vocabulary.task;
    this.observationSize = about.observationSize;
    this.actionSize = about.actionSize;
    this.count = count;
    this.horizon = vocabulary.horizon;
    const worlds = guarded(() => new (worldAddon().VectorWorld)(this.task, count, this.horizon));
    worlds.keepPrivileged(keepPrivileged);
    this.worlds = worlds;
    this.outputs = {
      observations: new Float32Array(count * this.observationSize),
      finalObservations: new Float32Array(count * this.observationSize),
      rewards: new Float32Array(count),
      terminals: new Uint8Array(count),
      truncations: new Uint8Array(count),
    };
    this.privileged = {
      furthest: (world) => worlds.furthest(world),
      guidance: (world) => worlds.guidance(world),
      diverged: () => worlds.diverged(),
      snapshot: (world) => worlds.snapshot(world),
      arrivals: (world) => {
        const reached = worlds.arrivals(world);
        return Object.fromEntries(
          vocabulary.phases.flatMap(({ label }, phase) => {
            const step = reached[phase] ?? -1;
            return phase === 0 || step < 0 ? [] : [[label, step] as const];
          }),
        );
      },
    };
  }

  reset(seed: number): Float32Array {
    guarded(() => {
      this.worlds.reset(seed, this.outputs.observations);
    });
    return this.outputs.observations;
  }

  step(actions: Float32Array): VectorStep {
    const { observations, finalObservations, rewards, terminals, truncations } = this.outputs;
    guarded(() => {
      this.worlds.step(actions, observations, finalObservations, rewards, terminals, truncations);
    });
    return this.outputs;
  }

  close(): void {
    this.worlds.close();
  }
}

function guarded<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw nativeError(error);
  }
}

/** Worlds of a shipped task for a learner. @throws CellError COMMAND_INVALID when there is no such task or scene */
export async function createWorldEnvironment(task: string, count: number): Promise<VectorEnvironment> {
  return new WorldEnvironment(await taskVocabulary(task), count);
}
