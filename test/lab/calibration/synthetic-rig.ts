/** Stages and two telecentric views of known geometry, written down here from the definitions alone. */
import type { Random } from "../../../src/base/random.js";
import { stageNames, type Observation, type StageName } from "../../../src/lab/calibration/stage-plan.js";
import type { RigLook, StagePosition, StageRig } from "../../../src/lab/calibration/stage-rig.js";

type Vec = readonly [number, number, number];
const dot = (a: Vec, b: Vec): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

export interface Truth {
  /** Unit directions of X, Y, Z. */
  readonly axes: readonly [Vec, Vec, Vec];
  /** Image right and down of each view, unit. */
  readonly views: readonly [readonly [Vec, Vec], readonly [Vec, Vec]];
  readonly metresPerPixel: readonly [number, number];
  /** Image motion per metre of the focus stage, px/m. */
  readonly drift: readonly [readonly [number, number], readonly [number, number]];
  readonly lostMotionM: number;
  readonly noisePx: number;
  /** What blur does to the tip found, px along image down per px² of blur. */
  readonly blurShift: number;
  /** Slow wander of the pictures, px per look. */
  readonly wanderPx: number;
}

const cross = (a: Vec, b: Vec): Vec => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

const c = Math.cos;
const s = Math.sin;
/** A view at (azimuth, elevation): right is horizontal, down completes it. */
function viewAt(a: number, e: number): readonly [Vec, Vec] {
  const right: Vec = [-s(a), c(a), 0];
  const forward: Vec = [-c(e) * c(a), -c(e) * s(a), -s(e)];
  const down: Vec = [
    forward[1] * right[2] - forward[2] * right[1],
    forward[2] * right[0] - forward[0] * right[2],
    forward[0] * right[1] - forward[1] * right[0],
  ];
  return [right, down];
}

/** cos(X, Y) = 0.004, cos(X, Z) = -0.003, cos(Y, Z) = 0.002 up to their squares. */
export const truth: Truth = {
  axes: [
    [1, 0, 0],
    [0.004, Math.sqrt(1 - 0.004 ** 2), 0],
    [-0.003, 0.002, Math.sqrt(1 - 0.003 ** 2 - 0.002 ** 2)],
  ],
  views: [viewAt(0.54, 0.62), viewAt(2.6, 0.6)],
  metresPerPixel: [1.19e-6, 1.15e-6],
  drift: [
    [3000, -1500],
    [-2000, 4000],
  ],
  lostMotionM: 0.9e-6,
  noisePx: 0.1,
  blurShift: 0.3,
  wanderPx: 0.01,
};

export class SyntheticRig implements StageRig {
  readonly size = [2048, 2048] as const;
  looks = 0;
  moves = 0;
  /** Deepest Z that was commanded, m. */
  deepestZ = -Infinity;
  at: Record<StageName, number> = { x: 1e-3, y: -5e-4, z: 2e-4, focus1: 1e-4, focus2: -2e-4 };
  limitsM: Record<StageName, { min: number; max: number }>;
  /** Pixels that the tip jumps by at each look. */
  shakePx = 0;
  private readonly side: Record<StageName, number> = { x: -1, y: -1, z: -1, focus1: -1, focus2: -1 };
  private readonly start: Readonly<Record<StageName, number>> = { ...this.at };

  constructor(
    readonly truth: Truth,
    private readonly random: Random,
  ) {
    const wide = { min: -7.35e-3, max: 7.35e-3 };
    this.limitsM = { x: wide, y: wide, z: wide, focus1: wide, focus2: wide };
  }

  position(): StagePosition {
    return { ...this.at };
  }

  limits(stage: StageName): { min: number; max: number } {
    return this.limitsM[stage];
  }

  focusFollows(axis: "x" | "y" | "z"): readonly [number, number] {
    const direction = this.truth.axes[axis === "x" ? 0 : axis === "y" ? 1 : 2];
    const along = (i: 0 | 1): number => dot(cross(...this.truth.views[i]), direction);
    return [along(0), along(1)];
  }

  async move(targets: Partial<StagePosition>, oneSided: boolean): Promise<void> {
    await Promise.resolve();
    this.moves++;
    for (const stage of stageNames) {
      const target = targets[stage];
      if (target === undefined) continue;
      const { min, max } = this.limitsM[stage];
      if (!(target >= min && target <= max)) throw new RangeError(`${stage} would leave its limits`);
      if (stage === "z") this.deepestZ = Math.max(this.deepestZ, target);
      if (oneSided || target > this.at[stage]) this.side[stage] = -1;
      else if (target < this.at[stage]) this.side[stage] = 1;
      this.at[stage] = target;
    }
  }

  async look(): Promise<RigLook> {
    await Promise.resolve();
    this.looks++;
    const { axes, views, metresPerPixel, drift, lostMotionM, noisePx, blurShift, wanderPx } = this.truth;
    const table = (["x", "y", "z"] as const).map(
      (stage) => this.at[stage] - this.start[stage] + (this.side[stage] * lostMotionM) / 2,
    );
    const tip = [0, 1, 2].map((k) =>
      axes.reduce((sum, axis, n) => sum + (axis[k] ?? 0) * (table[n] ?? 0), 0),
    );
    const point: Vec = [tip[0] ?? NaN, tip[1] ?? NaN, tip[2] ?? NaN];
    // In focus at the start; off it blur grows as a hyperbola: 1.2 px at the end of the depth of field.
    const blurOf = (i: 0 | 1): number => {
      return Math.hypot(0.8, (1.2 * this.defocus(i, point)) / 5e-5);
    };
    const seen = (i: 0 | 1): [number, number] => {
      const focus = this.at[i === 0 ? "focus1" : "focus2"] - this.start[i === 0 ? "focus1" : "focus2"];
      const at = (k: 0 | 1): number =>
        1000 +
        dot(views[i][k], point) / metresPerPixel[i] +
        drift[i][k] * focus +
        wanderPx * this.looks +
        (k === 1 ? blurShift * blurOf(i) ** 2 : 0) +
        (this.looks % 2) * this.shakePx +
        this.random.normal(0, noisePx);
      return [at(0), at(1)];
    };
    const tips: Observation["tips"] = [seen(0), seen(1)];
    return { tips, atS: this.looks };
  }

  /** How far the tip lies before or behind what is sharp, m: the focus stage follows it exactly but for a constant. */
  private defocus(i: 0 | 1, tip: Vec): number {
    const focus = i === 0 ? "focus1" : "focus2";
    const [right, down] = this.truth.views[i];
    const depth = dot(cross(right, down), tip);
    return depth - (this.at[focus] - this.start[focus]) + 2e-5;
  }
}
