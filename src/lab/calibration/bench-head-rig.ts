/** The head's hands and eyes on the workbench of the skills: the same drivers, envelope, box and guardian. */
import {
  dot,
  multiply,
  rotate,
  rotationFromVector,
  scale,
  transpose,
  type Transform,
  type Vec3,
} from "../../base/transform.js";
import { asPair, viewIndexes, type StageTargets, type Workbench } from "../../agent/skills/workbench.js";
import { requireExposure, requireStandingArm } from "./bench-rig.js";
import type { HeadLook, HeadRig } from "./head-rig.js";

const framesPerLook = 3;
/** Slow: nothing is to swing. */
const needleMotion = { speedMS: 0.005, accelerationMS2: 0.5 } as const;

export class BenchHeadRig implements HeadRig {
  private home: readonly [number, number];

  constructor(private readonly bench: Workbench) {
    this.home = this.focus();
  }

  private focus(): readonly [number, number] {
    return asPair(viewIndexes.map((i) => this.bench.focusPosition(i)));
  }

  get size(): readonly [number, number] {
    const { widthPx, heightPx } = this.bench.file.microscopes[0];
    return [widthPx, heightPx];
  }

  flange(): Transform {
    return this.bench.reading().arm;
  }

  stages(): Vec3 {
    const { x, y, z } = this.bench.file.stageAxes;
    const at = (axis: number): number => this.bench.devices.stages.position(axis);
    return [at(x), at(y), at(z)];
  }

  tip(): Vec3 {
    return this.bench.tip();
  }

  up(): Vec3 {
    return rotate(transpose(this.bench.baseFromHead().rotation), this.bench.up());
  }

  motion(): readonly Vec3[] {
    const { rotation } = this.bench.baseFromHead();
    // A row in robot coordinates times baseFromHead is the row in the head.
    return viewIndexes.flatMap((i) =>
      this.bench.drawnViews()[i].rows.map((row) => rotate(transpose(rotation), row)),
    );
  }

  async moveStages(to: Vec3, fromHome: Vec3, signal: AbortSignal): Promise<void> {
    requireStandingArm(this.bench);
    const inBase = rotate(this.bench.baseFromHead().rotation, fromHome);
    const follow = (i: 0 | 1): number => this.home[i] + dot(this.bench.drawnViews()[i].forward, inBase);
    const at = this.stages();
    const moved: StageTargets = { focus1: follow(0), focus2: follow(1) };
    // An axis that is there already would only arrive anew, and scatter.
    (["x", "y", "z"] as const).forEach((axis, k) => {
      const target = to[k] ?? NaN;
      if (!(Math.abs(target - (at[k] ?? NaN)) < 1e-7)) moved[axis] = target;
    });
    await this.bench.moveStages(moved, signal, true);
  }

  setHome(): void {
    this.home = this.focus();
  }

  async turn(vector: Vec3, signal: AbortSignal): Promise<void> {
    const { rotation } = this.flange();
    const inFlange = rotationFromVector(vector);
    await this.bench.turnAboutTip(multiply(rotation, multiply(inFlange, transpose(rotation))), signal);
  }

  async awayAndBack(distanceM: number, signal: AbortSignal): Promise<void> {
    const stood = this.flange();
    await this.bench.moveHeadBy(scale(this.bench.up(), distanceM), signal);
    await this.bench.moveArm(stood, signal);
  }

  needle(): number {
    return this.bench.devices.needle.position();
  }

  async moveNeedle(to: number, signal: AbortSignal): Promise<void> {
    await this.bench.moveNeedle(to, needleMotion, signal);
  }

  async look(signal: AbortSignal): Promise<HeadLook> {
    requireStandingArm(this.bench);
    await requireExposure(this.bench);
    const { tips, directions } = await this.bench.look(signal, framesPerLook);
    return { tips, directions, atS: this.bench.clock.now() };
  }
}
