/** A head on an arm before two telecentric views, of known geometry, written down here from the definitions alone. */
import type { Random } from "../../../src/base/random.js";
import type { Transform, Vec3 } from "../../../src/base/transform.js";
import type { HeadLook, HeadRig } from "../../../src/lab/calibration/head-rig.js";

type M = number[][];
const mul = (a: M, b: M): M =>
  a.map((row) => (b[0] ?? []).map((_, j) => row.reduce((sum, v, k) => sum + v * (b[k]?.[j] ?? NaN), 0)));

/** Rotation by a vector, by its power series: nothing of ours but addition and multiplication. */
export function turned([x, y, z]: readonly number[]): M {
  const k: M = [
    [0, -(z ?? NaN), y ?? NaN],
    [z ?? NaN, 0, -(x ?? NaN)],
    [-(y ?? NaN), x ?? NaN, 0],
  ];
  const one: M = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ];
  let term = one;
  let sum = one;
  for (let n = 1; n < 40; n++) {
    term = mul(term, k).map((row) => row.map((v) => v / n));
    sum = sum.map((row, i) => row.map((v, j) => v + (term[i]?.[j] ?? NaN)));
  }
  return sum;
}

export interface HeadTruth {
  /** flangeFromHead: rotation vector and translation. */
  readonly head: readonly [Vec3, Vec3];
  /** baseFromMicroscopes; the frame's x is image right of view 1, its z into the scene. */
  readonly microscopes: readonly [Vec3, Vec3];
  /** Image right and down of view 1 and 2 in the frame of the microscopes, px/m. */
  readonly map: readonly [Vec3, Vec3, Vec3, Vec3];
  /** The needle in the head, unit, and how far the tip goes along it per metre of the drive. */
  readonly needle: Vec3;
  readonly stroke: Vec3;
  readonly noisePx: number;
  /** Per axis at every arrival of the arm, one standard deviation, m. */
  readonly arrivalM: number;
}

export const headTruth: HeadTruth = {
  head: [
    [0.012, -0.021, 0.008],
    [0.0013, -0.0009, 0.2017],
  ],
  microscopes: [
    [1.9, -0.6, 0.3],
    [-0.41, -0.252, 0.098],
  ],
  map: [
    [8.5e5, 0, 0],
    [2e3, 8.52e5, 0],
    [-4.2e5, 1e4, 7.3e5],
    [1.1e5, 8.3e5, 6e4],
  ],
  needle: [0.08, -0.05, Math.sqrt(1 - 0.08 ** 2 - 0.05 ** 2)],
  stroke: [0.0798, -0.0485, 0.9956],
  noisePx: 0.15,
  arrivalM: 3.3e-5,
};

const flat = (m: M, v: readonly number[]): Vec3 => {
  const at = (i: number): number => (m[i] ?? []).reduce((sum, a, k) => sum + a * (v[k] ?? NaN), 0);
  return [at(0), at(1), at(2)];
};
const plus = (a: Vec3, b: Vec3, k = 1): Vec3 => [a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]];
const flipped = (m: M): M => [0, 1, 2].map((i) => [0, 1, 2].map((j) => m[j]?.[i] ?? NaN));

export class SyntheticHead implements HeadRig {
  readonly size = [2048, 2048] as const;
  looks = 0;
  turns: number[] = [];
  awayM: number[] = [];
  /** Least height of the true tip over the start, or the last mark, m: base z is up. */
  lowestM = 0;
  shakePx = 0;
  private rotation: M = turned([2.2, -2.2, 0.05]);
  private translation: Vec3;
  private at: Vec3 = [2e-4, -3e-4, 1e-4];
  private arrival: Vec3 = [0, 0, 0];
  private driveM = 0;
  private startUp: number;

  constructor(
    readonly truth: HeadTruth,
    private readonly random: Random,
  ) {
    // The technician brought the tip near the middle of the pictures.
    this.translation = [0, 0, 0];
    const off = plus(truth.microscopes[1], this.tipInBase(), -1);
    this.translation = plus(off, [1e-4, -2e-4, 1.5e-4]);
    this.startUp = this.tipInBase()[2];
  }

  private tipInHead(): Vec3 {
    return plus(this.at, this.truth.stroke, this.driveM);
  }

  private tipInBase(): Vec3 {
    const inFlange = plus(flat(turned(this.truth.head[0]), this.tipInHead()), this.truth.head[1]);
    return plus(plus(flat(this.rotation, inFlange), this.translation), this.arrival);
  }

  flange(): Transform {
    const row = (i: number): Vec3 => [
      this.rotation[i]?.[0] ?? NaN,
      this.rotation[i]?.[1] ?? NaN,
      this.rotation[i]?.[2] ?? NaN,
    ];
    return { rotation: [row(0), row(1), row(2)], translation: this.translation };
  }

  stages(): Vec3 {
    return this.at;
  }

  /** As the drawing has it unless told better. */
  reportedHead: readonly [Vec3, Vec3] = [
    [0, 0, 0],
    [0, 0, 0.2],
  ];

  tip(): Vec3 {
    const inFlange = plus(flat(turned(this.reportedHead[0]), this.tipInHead()), this.reportedHead[1]);
    return plus(flat(this.rotation, inFlange), this.translation);
  }

  up(): Vec3 {
    return flat(flipped(this.rotation), [0, 0, 1]);
  }

  /** The map as the drawing has it: the head straight on the flange. */
  motion(): readonly Vec3[] {
    const inHead = mul(flipped(turned(this.truth.microscopes[0])), this.rotation);
    return this.truth.map.map((row) => flat(flipped(inHead), row));
  }

  async moveStages(to: Vec3): Promise<void> {
    await Promise.resolve();
    this.at = to;
    this.note();
  }

  setHome(): void {
    // Everything is in focus here.
  }

  async turn(vector: Vec3): Promise<void> {
    await Promise.resolve();
    this.turns.push(Math.hypot(...vector));
    // About the tip as the drawing has it: the head's origin 0.2 m before the flange.
    const drawn: Vec3 = plus(this.at, [0, 0, 0.2]);
    const pivot = plus(flat(this.rotation, drawn), this.translation);
    this.rotation = mul(this.rotation, turned(vector));
    this.translation = plus(pivot, flat(this.rotation, drawn), -1);
    this.arrive();
    this.note();
  }

  async awayAndBack(distanceM: number): Promise<void> {
    await Promise.resolve();
    this.awayM.push(distanceM);
    this.arrive();
  }

  private arrive(): void {
    const one = (): number => this.random.normal(0, this.truth.arrivalM);
    this.arrival = [one(), one(), one()];
  }

  /** Heights count from here. */
  mark(): void {
    this.startUp = this.tipInBase()[2];
    this.lowestM = 0;
  }

  private note(): void {
    this.lowestM = Math.min(this.lowestM, this.tipInBase()[2] - this.startUp);
  }

  needle(): number {
    return this.driveM;
  }

  async moveNeedle(to: number): Promise<void> {
    await Promise.resolve();
    this.driveM = to;
  }

  async look(): Promise<HeadLook> {
    await Promise.resolve();
    this.looks++;
    const toMicroscopes = flipped(turned(this.truth.microscopes[0]));
    const point = flat(toMicroscopes, plus(this.tipInBase(), this.truth.microscopes[1], -1));
    const along = flat(mul(toMicroscopes, mul(this.rotation, turned(this.truth.head[0]))), this.truth.needle);
    const seen = (v: Vec3): number[] =>
      this.truth.map.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
    const pixels = seen(point).map(
      (v) => 1024 + v + this.random.normal(0, this.truth.noisePx) + (this.looks % 2) * this.shakePx,
    );
    const d = seen(along);
    const pair = (list: readonly number[], i: 0 | 1): [number, number] => [
      list[2 * i] ?? NaN,
      list[2 * i + 1] ?? NaN,
    ];
    const unit = ([u, v]: [number, number]): [number, number] => [u / Math.hypot(u, v), v / Math.hypot(u, v)];
    return {
      tips: [pair(pixels, 0), pair(pixels, 1)],
      directions: [unit(pair(d, 0)), unit(pair(d, 1))],
      atS: this.looks,
    };
  }
}
