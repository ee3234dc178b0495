/**
 * The privileged reward of the published collectors: who trains on it gives the episodes of the source `shaped`, nothing else.
 * Each step is worth the shaped reward less one, and nothing after success: to succeed soon is best at any discount.
 */
import { taskVocabulary } from "../../phase/task-vocabulary.js";
import type { VectorEnvironment, VectorStep } from "../vector-environment.js";
import { WorldEnvironment } from "./world-environment.js";

export class ShapedEnvironment implements VectorEnvironment {
  readonly task: string;
  readonly observationSize: number;
  readonly actionSize: number;
  readonly count: number;
  readonly horizon: number;
  private readonly rewards: Float32Array;

  /** @param worlds made with `keepPrivileged` */
  constructor(private readonly worlds: WorldEnvironment) {
    const { task, observationSize, actionSize, count, horizon } = worlds;
    this.task = task;
    this.observationSize = observationSize;
    this.actionSize = actionSize;
    this.count = count;
    this.horizon = horizon;
    this.rewards = new Float32Array(count);
  }

  reset(seed: number): Float32Array {
    return this.worlds.reset(seed);
  }

  step(actions: Float32Array): VectorStep {
    const out = this.worlds.step(actions);
    for (let world = 0; world < this.count; world++)
      this.rewards[world] = out.terminals[world] === 1 ? 0 : this.worlds.privileged.guidance(world) - 1;
    return { ...out, rewards: this.rewards };
  }

  close(): void {
    this.worlds.close();
  }
}

/** Worlds of a shipped task with the shaped reward. @throws CellError COMMAND_INVALID when there is no such task or scene */
export async function createShapedEnvironment(task: string, count: number): Promise<VectorEnvironment> {
  return new ShapedEnvironment(new WorldEnvironment(await taskVocabulary(task), count, true));
}
