/**
 * Where the table of a stage truly stands, as against what the pulse counter says: play between screw and table, lead
 * error, scatter of arrivals, lost steps. Everything is a pure function of the steps driven and a seed.
 */
import { Random } from "../../base/random.js";
import type { Vec3 } from "../../base/transform.js";
import type { StageModel } from "./stage-models.js";

export class StageMechanics {
  private readonly slow: { readonly amplitude: number; readonly period: number; readonly phase: number };
  private readonly screw: { readonly amplitude: number; readonly period: number; readonly phase: number };
  private readonly wanderPhase: number;
  private readonly arrivals: Random;
  private readonly sensor: Random;
  /** Table minus nominal is within ± half of the lost motion, in steps: the state of the play. */
  private readonly halfPlay: number;

  constructor(
    readonly model: StageModel,
    seed: number,
    axis: number,
  ) {
    const random = new Random(seed, `stage ${axis}`);
    const turn = 2 * Math.PI;
    this.slow = {
      amplitude: random.uniform(...model.slowError.amplitude),
      period: random.uniform(...model.slowError.period),
      phase: random.uniform(0, turn),
    };
    this.screw = {
      amplitude: random.uniform(...model.screwError.amplitude),
      period: model.screwError.period,
      phase: random.uniform(0, turn),
    };
    this.wanderPhase = random.uniform(0, turn);
    this.arrivals = new Random(seed, `arrivals ${axis}`);
    this.sensor = new Random(seed, `origin ${axis}`);
    this.halfPlay = model.lostMotion / model.step / 2;
  }

  /** The table's place (steps) after the screw went monotonically to `screwSteps` from a table at `tableSteps`. */
  follow(tableSteps: number, screwSteps: number): number {
    const low = screwSteps - this.halfPlay;
    const high = screwSteps + this.halfPlay;
    return tableSteps < low ? low : tableSteps > high ? high : tableSteps;
  }

  /** Scatter of the next arrival, metres or radians: uniform within the repeatability. */
  drawArrival(): number {
    const { repeatability } = this.model;
    return this.arrivals.uniform(-repeatability, repeatability);
  }

  /** Where the origin sensor switches this time, steps from its nominal edge. */
  drawOriginEdge(): number {
    return this.sensor.normal(0, this.model.originNoise) / this.model.step;
  }

  /** Error of the screw at a nominal position, both in metres or radians; zero at the origin. */
  leadError(position: number): number {
    const wave = (w: { amplitude: number; period: number; phase: number }): number =>
      w.amplitude * (Math.sin((2 * Math.PI * position) / w.period + w.phase) - Math.sin(w.phase));
    return wave(this.slow) + wave(this.screw);
  }

  /** True position, metres or radians from the nominal origin. */
  truePosition(tableSteps: number, arrivalNoise: number): number {
    const nominal = tableSteps * this.model.step;
    return nominal + this.leadError(nominal) + arrivalNoise;
  }

  /** Displacement of the centre of rotation at `angle` (rad) against its place at 0, in the stage's own axes, m. */
  centreWander(angle: number): Vec3 {
    const radius = this.model.centreWanderM;
    const at = (a: number): readonly [number, number] => {
      const phase = this.wanderPhase + (Math.PI * a) / this.model.limit;
      return [radius * Math.cos(phase), radius * Math.sin(phase)];
    };
    const [here, zero] = [at(angle), at(0)];
    return [here[0] - zero[0], 0, here[1] - zero[1]];
  }
}
