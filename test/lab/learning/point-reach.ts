/**
 * Worlds whose physics is a line of algebra: a point in the plane moves by at most 0.1 a step along each axis, and the
 * episode ends with reward 1 within 0.15 of a goal that differs between episodes.
 */
import { Random } from "../../../src/base/random.js";
import type { Episode } from "../../../src/lab/phase/episode.js";
import { episodeFormat } from "../../../src/lab/phase/episode.js";
import type { VectorEnvironment, VectorStep } from "../../../src/lab/learning/vector-environment.js";

export const reachTask = "NeedleReach";
export const reachHorizon = 25;
const stepM = 0.1;
const goalM = 0.15;

export class PointReach implements VectorEnvironment {
  readonly task = reachTask;
  readonly observationSize = 4;
  readonly actionSize = 2;
  readonly horizon = reachHorizon;
  private random = new Random(0);
  private readonly points: Float64Array;
  private readonly goals: Float64Array;
  private readonly steps: Int32Array;
  /** Puts NaN into what it shows from this step on. */
  breakAtStep = Infinity;
  private stepsDone = 0;

  constructor(readonly count: number) {
    this.points = new Float64Array(2 * count);
    this.goals = new Float64Array(2 * count);
    this.steps = new Int32Array(count);
  }

  reset(seed: number): Float32Array {
    this.random = new Random(seed);
    for (let world = 0; world < this.count; world++) this.begin(world);
    return this.look();
  }

  step(actions: Float32Array): VectorStep {
    this.stepsDone++;
    this.points.forEach((value, i) => {
      this.points[i] = Math.max(-1, Math.min(1, value + stepM * Math.max(-1, Math.min(1, actions[i] ?? 0))));
    });
    const finalObservations = this.look();
    const rewards = new Float32Array(this.count);
    const terminals = new Uint8Array(this.count);
    const truncations = new Uint8Array(this.count);
    for (let world = 0; world < this.count; world++) {
      this.steps[world]!++;
      const [dx, dy] = [0, 1].map((axis) => this.points[2 * world + axis]! - this.goals[2 * world + axis]!);
      if (Math.hypot(dx!, dy!) < goalM) rewards[world] = terminals[world] = 1;
      else if (this.steps[world]! >= this.horizon) truncations[world] = 1;
      else continue;
      this.begin(world);
    }
    return { observations: this.look(), finalObservations, rewards, terminals, truncations };
  }

  close(): void {
    // Nothing is held.
  }

  private begin(world: number): void {
    this.steps[world] = 0;
    for (const axis of [0, 1]) {
      this.points[2 * world + axis] = this.random.uniform(-1, 1);
      this.goals[2 * world + axis] = this.random.uniform(-1, 1);
    }
  }

  private look(): Float32Array {
    const seen = new Float32Array(4 * this.count);
    for (let world = 0; world < this.count; world++) {
      seen.set(this.points.subarray(2 * world, 2 * world + 2), 4 * world);
      seen.set(this.goals.subarray(2 * world, 2 * world + 2), 4 * world + 2);
    }
    if (this.stepsDone >= this.breakAtStep) seen[1] = NaN;
    return seen;
  }
}

/** Episodes of one world under a hand-made controller with noise; `skill` 0 wanders, 1 goes straight. */
export function reachEpisodes(count: number, skill: number, seed: number): Episode[] {
  const world = new PointReach(1);
  const random = new Random(seed, "demonstrator");
  return Array.from({ length: count }, (_, index) => {
    let seen = world.reset(seed * 1000 + index);
    const episode = {
      format: episodeFormat as typeof episodeFormat,
      id: `s${seed}-${index}`,
      task: reachTask,
      rewards: [] as number[],
      terminal: [] as boolean[],
      observations: [[...seen]] as number[][],
      actions: [] as number[][],
    };
    for (let step = 0; step < reachHorizon; step++) {
      const action = [0, 1].map((axis) => {
        const towards = Math.max(-1, Math.min(1, (seen[2 + axis]! - seen[axis]!) / stepM));
        return Math.fround(Math.max(-1, Math.min(1, skill * towards + random.normal(0, 0.3))));
      });
      const result = world.step(Float32Array.from(action));
      episode.actions.push(action);
      episode.rewards.push(result.rewards[0]!);
      episode.terminal.push(result.terminals[0] === 1);
      episode.observations.push([...result.finalObservations]);
      if (result.terminals[0] === 1) break;
      seen = result.observations;
    }
    return episode;
  });
}
