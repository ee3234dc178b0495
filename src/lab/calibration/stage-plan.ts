/**
 * Which positions the stages visit to be measured, and what was seen there. Everything relative to the origin of the
 * measurement, where the tip hangs raised above the tissue: Z never goes deeper than that.
 */
import { z } from "zod";
import { CellError } from "../../base/errors.js";

export const linearStages = ["x", "y", "z"] as const;
export type LinearStage = (typeof linearStages)[number];
export const stageNames = ["x", "y", "z", "focus1", "focus2"] as const;
export type StageName = (typeof stageNames)[number];
/** Metres. */
export type Offsets = Readonly<Record<StageName, number>>;

export const nowhere: Offsets = { x: 0, y: 0, z: 0, focus1: 0, focus2: 0 };

const pixel = z.tuple([z.number(), z.number()]);
const metres = z.number();
export const observationSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(["reference", "scan", "below", "above", "focus", "held-out", "repeat"]),
  axis: z.enum(linearStages).optional(),
  /** Reported, m from the origin. */
  offsets: z.strictObject({ x: metres, y: metres, z: metres, focus1: metres, focus2: metres }),
  /** Tip in view 1 and 2, px. */
  tips: z.tuple([pixel, pixel]),
  /** Monotonic s. */
  atS: z.number(),
});
export type Observation = z.output<typeof observationSchema>;

export interface Step {
  readonly id: string;
  readonly kind: Observation["kind"];
  readonly axis?: LinearStage;
  readonly offsets: Offsets;
}

export const rangesSchema = z.record(z.enum(linearStages), z.tuple([metres, metres]));
/** Lowest and highest offset of each axis, m. */
export type Ranges = Readonly<Record<LinearStage, readonly [number, number]>>;

/** How the focus follows the tip, m of focus stage per m of each axis, in view 1 and 2. */
export type Follow = Readonly<Record<LinearStage, readonly [number, number]>>;

/** The farthest from the origin an axis is asked to go, and the least span that a measurement is worth, m. */
export const reach: Ranges = { x: [-5e-4, 5e-4], y: [-5e-4, 5e-4], z: [-8e-4, 0] };
export const leastSpanM = 2.5e-4;
/** An approach from above begins this far beyond: many times the lost motion. */
export const overshootM = 4e-5;
const scanPoints = 9;
const pairPoints = 6;
const focusStepM = 4e-5;
/** Repeatability after JIS B 6191, as KOHZU inspects its stages: seven approaches from one side at three points. */
const repeatPoints = [0.2, 0.5, 0.8] as const;
const repeatApproaches = 7;
/** Every approach begins so far below, m: many times the lost motion. */
export const approachM = 4e-5;
const heldOut: readonly (readonly [number, number, number])[] = [
  [0.1, 0.2, 0.9],
  [0.85, 0.15, 0.6],
  [0.2, 0.8, 0.35],
  [0.75, 0.7, 0.15],
  [0.5, 0.35, 0.5],
  [0.3, 0.6, 0.75],
  [0.65, 0.45, 0.25],
  [0.4, 0.1, 0.05],
];

/** What is known of an axis before it is measured: enough to keep the tip in both pictures. */
export interface Room {
  /** Image motion of the tip per metre of the axis, view 1 and 2, px/m. */
  readonly motion: readonly [readonly [number, number], readonly [number, number]];
  /** How far the controller lets it go, m from the origin. */
  readonly limits: readonly [number, number];
}

/** The part of the picture where tip and shank are seen whole, px. */
const margin = { side: 150, top: 250, bottom: 150 } as const;

/**
 * The range of one axis: within reach, within its limits, with the tip inside both pictures.
 * @throws CellError CALIBRATION_REFUSED with what was measured, what is needed and what to do
 */
export function rangeOf(
  axis: LinearStage,
  room: Room,
  tips: Observation["tips"],
  size: readonly [number, number],
): readonly [number, number] {
  // Corners of the box of the other axes take their share: an axis alone uses at most 70 % of what the picture has.
  let [low, high]: readonly [number, number] = reach[axis];
  low = Math.max(low, room.limits[0] + overshootM);
  high = Math.min(high, room.limits[1] - overshootM);
  const atLimit = high - low < leastSpanM;
  room.motion.forEach((motion, i) =>
    motion.forEach((perMetre, k) => {
      const at = tips[i as 0 | 1][k as 0 | 1];
      const first = k === 0 ? margin.side : margin.top;
      const last = k === 0 ? size[0] - margin.side : size[1] - margin.bottom;
      if (Math.abs(perMetre) < 1e3) return;
      const ends = [(0.7 * (first - at)) / perMetre, (0.7 * (last - at)) / perMetre].sort((a, b) => a - b);
      low = Math.max(low, ends[0] ?? NaN);
      high = Math.min(high, ends[1] ?? NaN);
    }),
  );
  if (high - low >= leastSpanM) return [low, high];
  const seen = tips.map(([u, v]) => `(${u.toFixed(0)}, ${v.toFixed(0)})`).join(" and ");
  throw new CellError(
    "CALIBRATION_REFUSED",
    `stage ${axis}: ${(Math.max(0, high - low) * 1e3).toFixed(2)} mm of travel are left, ${leastSpanM * 1e3} mm are needed; ` +
      (atLimit ? "the stage stands near its limit" : `the tip stands at ${seen} px`),
    {
      remedy: atLimit
        ? `move stage ${axis} towards the middle of its travel and bring the tip back with the arm`
        : "bring the tip nearer to the middle of both pictures",
    },
  );
}

/** The steps in their order. Every few of them a look at the origin tells how far the pictures have wandered. */
export function planSteps(ranges: Ranges, follow: Follow): Step[] {
  const followed = (at: Readonly<Record<LinearStage, number>>): Offsets => {
    const focus = (i: 0 | 1): number =>
      linearStages.reduce((sum, axis) => sum + at[axis] * follow[axis][i], 0);
    return { ...at, focus1: focus(0), focus2: focus(1) };
  };
  const only = (axis: LinearStage, value: number): Record<LinearStage, number> => ({
    ...{ x: 0, y: 0, z: 0 },
    [axis]: value,
  });
  const between = (axis: LinearStage, share: number): number => {
    const [low, high] = ranges[axis];
    return low + share * (high - low);
  };
  const work: Step[] = [];
  for (const axis of linearStages)
    for (let k = 0; k < scanPoints; k++) {
      const at = only(axis, between(axis, k / (scanPoints - 1)));
      work.push({ id: `${axis}-scan-${k}`, kind: "scan", axis, offsets: followed(at) });
    }
  for (const k of [-2, -1, 1, 2]) {
    const offset = k * focusStepM;
    const offsets = { ...nowhere, focus1: offset, focus2: offset };
    work.push({ id: `focus-${k}`, kind: "focus", offsets });
  }
  for (const axis of linearStages)
    for (let k = 0; k < pairPoints; k++) {
      const offsets = followed(only(axis, between(axis, (k + 0.7) / (pairPoints + 0.5))));
      work.push({ id: `${axis}-below-${k}`, kind: "below", axis, offsets });
      work.push({ id: `${axis}-above-${k}`, kind: "above", axis, offsets });
    }
  for (const axis of linearStages)
    repeatPoints.forEach((share, point) => {
      for (let k = 0; k < repeatApproaches; k++)
        work.push({
          id: `${axis}-repeat-${point}-${k}`,
          kind: "repeat",
          axis,
          offsets: followed(only(axis, between(axis, share))),
        });
    });
  heldOut.forEach((shares, k) => {
    const at = { x: 0, y: 0, z: 0 };
    linearStages.forEach((axis, i) => (at[axis] = between(axis, shares[i] ?? NaN)));
    work.push({ id: `held-out-${k}`, kind: "held-out", offsets: followed(at) });
  });
  const steps: Step[] = [];
  let since = Infinity;
  let references = 0;
  for (const step of work) {
    // A pair is not torn apart.
    if (since >= 6 && step.kind !== "above") {
      steps.push({ id: `reference-${references++}`, kind: "reference", offsets: nowhere });
      since = 0;
    }
    steps.push(step);
    since++;
  }
  steps.push({ id: "reference-last", kind: "reference", offsets: nowhere });
  return steps;
}
