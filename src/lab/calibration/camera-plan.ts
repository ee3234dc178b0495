/** Where the stages carry a calibration target so that both views see it all over their pictures, and what was seen there. */
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import type { FoundTarget } from "./target-pattern.js";
import type { Axis, TargetRig } from "./target-bench.js";

export const stageAxes = ["x", "y", "z"] as const;

/** Metres from the origin of the measurement; X, Y, Z carry the target, the focus stages follow it and more. */
export const offsetsSchema = z.strictObject({
  x: z.number(),
  y: z.number(),
  z: z.number(),
  focus1: z.number(),
  focus2: z.number(),
});
export type TargetOffsets = z.output<typeof offsetsSchema>;

const crossingSchema = z.tuple([z.number(), z.number(), z.number()]).nullable();
export const viewSeenSchema = z.strictObject({
  /** x, y and blur (px) of each crossing, null where it could not be measured; none where the target was not found. */
  crossings: z.array(crossingSchema),
  /** Median grey levels of 16 × 16 parts of the picture. */
  cells: z.array(z.number()),
});
export type ViewSeen = z.output<typeof viewSeenSchema>;

export const targetObservationSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(["focus", "fit", "held-out"]),
  /** Observations of one place share where X, Y, Z stood. */
  place: z.int(),
  offsets: offsetsSchema,
  views: z.tuple([viewSeenSchema, viewSeenSchema]),
});
export type TargetObservation = z.output<typeof targetObservationSchema>;

export interface TargetStep {
  readonly id: string;
  readonly kind: TargetObservation["kind"];
  readonly place: number;
  readonly offsets: TargetOffsets;
}

/** The farthest that an axis is asked to go, m. Z only away from where tissue lies at other times. */
export const targetReach: Readonly<Record<Axis, readonly [number, number]>> = {
  x: [-5e-4, 5e-4],
  y: [-5e-4, 5e-4],
  z: [-5e-4, 0],
};
/** The least span of an axis that is worth measuring, m. */
export const leastSpanM = 1.5e-4;
/** Approaches begin this far beyond the goal, m. */
const overshootM = 4e-5;
/** The pattern's outer squares stay inside the picture, px. */
const marginPx = 170;

/** Offsets of the focus at the origin, beyond following, m: what the focus stages do to the picture. */
const focusOffsetsM = [-1.6e-4, -0.8e-4, 0, 0.8e-4, 1.6e-4] as const;
/** Shares of the ranges: x and y of either side, z of its one. */
const fitted: readonly (readonly [number, number, number])[] = [
  [1, 0, 0],
  [-1, 0, 0],
  [0, 1, 0],
  [0, -1, 0],
  [0, 0, 1],
  [0.6, 0.6, 0.3],
  [-0.6, 0.6, 0.6],
  [0.6, -0.6, 0.6],
  [-0.6, -0.6, 0.3],
];
const left: readonly (readonly [number, number, number])[] = [
  [0.5, 0.3, 0.7],
  [-0.4, 0.5, 0.2],
  [0.3, -0.5, 0.4],
  [-0.5, -0.3, 0.8],
];

const followed = (rig: TargetRig, at: Readonly<Record<Axis, number>>, beyond = 0): TargetOffsets => {
  const focus = (i: 0 | 1): number =>
    stageAxes.reduce((sum, axis) => sum + at[axis] * rig.follow(axis, i), beyond);
  return { ...at, focus1: focus(0), focus2: focus(1) };
};

/** How much of a displacement (1 = all) keeps the whole pattern in both pictures. */
function shareInPicture(
  rig: TargetRig,
  seen: readonly [FoundTarget, FoundTarget],
  at: Readonly<Record<Axis, number>>,
): number {
  let share = 1;
  for (const i of [0, 1] as const) {
    const points = seen[i].crossings.flatMap((one) => (one === undefined ? [] : [one.at]));
    for (const k of [0, 1] as const) {
      const shift = stageAxes.reduce((sum, axis) => sum + at[axis] * rig.motion(axis, i)[k], 0);
      const values = points.map((point) => point[k]);
      const room = shift > 0 ? rig.size[k] - marginPx - Math.max(...values) : Math.min(...values) - marginPx;
      if (Math.abs(shift) > 1) share = Math.min(share, Math.max(0, room) / Math.abs(shift));
    }
  }
  return share;
}

/**
 * The steps in their order. Positions are cut short so that the pattern stays in both pictures, and refused when that or a
 * limit leaves too little.
 * @throws CellError CALIBRATION_REFUSED with what was measured, what is needed and what to do
 */
export function planTarget(rig: TargetRig, seen: readonly [FoundTarget, FoundTarget]): TargetStep[] {
  const stand = rig.stand();
  const ranges = {} as Record<Axis, readonly [number, number]>;
  for (const axis of stageAxes) {
    const { min, max } = rig.limits(axis);
    const ends = targetReach[axis].map((end) => {
      const limit = end > 0 ? max - overshootM - stand[axis] : stand[axis] - overshootM - min;
      const reach = Math.min(Math.abs(end), Math.max(0, limit));
      const at = { x: 0, y: 0, z: 0, [axis]: Math.sign(end) * reach };
      return { at: Math.sign(end) * reach * shareInPicture(rig, seen, at), atLimit: limit < Math.abs(end) };
    });
    const [low, high] = [ends[0]?.at ?? 0, ends[1]?.at ?? 0];
    if (high - low < leastSpanM) {
      const atLimit = ends.some((end) => end.atLimit);
      throw new CellError(
        "CALIBRATION_REFUSED",
        `stage ${axis}: ${((high - low) * 1e3).toFixed(2)} mm of travel are left, ${leastSpanM * 1e3} mm are needed; ` +
          (atLimit ? "the stage stands near its limit" : "the pattern would leave a picture"),
        {
          remedy: atLimit
            ? `move stage ${axis} towards the middle of its travel and mount the target anew`
            : "mount the target nearer to the middle of both pictures",
        },
      );
    }
    ranges[axis] = [low, high];
  }
  const placed = ([sx, sy, sz]: readonly [number, number, number]): TargetOffsets => {
    const of = (axis: Axis, share: number): number =>
      share < 0 ? -share * ranges[axis][0] : share * ranges[axis][1];
    const wanted = { x: of("x", sx), y: of("y", sy), z: sz * ranges.z[0] };
    const share = shareInPicture(rig, seen, wanted);
    return followed(rig, { x: wanted.x * share, y: wanted.y * share, z: wanted.z * share });
  };
  const origin = { x: 0, y: 0, z: 0 };
  const steps: TargetStep[] = [
    ...focusOffsetsM.map((beyond, k) => ({
      id: `focus-${k + 1}`,
      kind: "focus" as const,
      place: 0,
      offsets: followed(rig, origin, beyond),
    })),
    ...fitted.map((at, k) => ({
      id: `place-${k + 1}`,
      kind: "fit" as const,
      place: k + 1,
      offsets: placed(at),
    })),
    ...left.map((at, k) => ({
      id: `held-out-${k + 1}`,
      kind: "held-out" as const,
      place: 100 + k,
      offsets: placed(at),
    })),
  ];
  for (const focus of ["focus1", "focus2"] as const) {
    const { min, max } = rig.limits(focus);
    const wanted = steps.map(({ offsets }) => stand[focus] + offsets[focus]);
    const [low, high] = [Math.min(...wanted) - overshootM, Math.max(...wanted) + overshootM];
    if (low < min || high > max)
      throw new CellError(
        "CALIBRATION_REFUSED",
        `stage ${focus} stands near its limit: it would have to go from ${(low * 1e3).toFixed(2)} to ${(high * 1e3).toFixed(2)} mm ` +
          `of ${(min * 1e3).toFixed(2)} to ${(max * 1e3).toFixed(2)} mm`,
        { remedy: `bring ${focus} towards the middle of its travel and the target back into focus` },
      );
  }
  return steps;
}

/** How many steps a plan has: what a dry run can say before anything was seen. */
export const plannedSteps = focusOffsetsM.length + fitted.length + left.length;
