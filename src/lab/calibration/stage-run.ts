/**
 * Carries out a stage calibration: finds the room each axis has, visits the planned positions, notes what is seen. What
 * was seen is kept after each step, so that an interrupted run goes on where it was.
 */
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import {
  approachM,
  linearStages,
  nowhere,
  observationSchema,
  overshootM,
  planSteps,
  rangeOf,
  stageNames,
  type Follow,
  type LinearStage,
  type Observation,
  type Offsets,
  type Ranges,
  type Room,
  type Step,
} from "./stage-plan.js";
import type { RigLook, StageRig } from "./stage-rig.js";

const range = z.tuple([z.number(), z.number()]);
const position = z.strictObject({
  x: z.number(),
  y: z.number(),
  z: z.number(),
  focus1: z.number(),
  focus2: z.number(),
});

/** What an interrupted run leaves, beside the output. */
export const stageStateSchema = z.strictObject({
  version: z.literal(1),
  cell: z.string(),
  /** Where the arm stood, rad: the pictures belong to it. */
  armRad: z.array(z.number()),
  origin: position,
  ranges: z.strictObject({ x: range, y: range, z: range }),
  follow: z.strictObject({ x: range, y: range, z: range }),
  observations: z.array(observationSchema),
});
export type StageState = z.output<typeof stageStateSchema>;

export interface RunHooks {
  /** Before each step. */
  readonly onStep: (done: number, total: number, step: Step) => Promise<void> | void;
  /** After each step. */
  readonly keep: (state: StageState) => Promise<void>;
  /** Which steps are made; all unless given. */
  readonly wants?: (step: Step) => boolean;
}

/** The tip goes up by this much before anything else moves, m; registration keeps as much. */
const raiseM = 3e-4;
/** A tip that is seen above this share of both pictures is raised already: a second run must not lift it out of them. */
const raisedShare = 0.45;
const probeM = 1e-4;
/** X and Y bring the tip to the middle of the pictures by at most this, m: the loops of the cartridge are 3 mm away. */
const centreM = 8e-4;
/** Two looks at a standing tip may differ by this, px: three times what noise, arrival and tremor make. */
const stillPx = 3;

/**
 * Raises the tip and finds the room of each axis by short moves.
 * @throws CellError CALIBRATION_REFUSED with what was measured, what is needed and what to do; VISION_UNKNOWN
 */
export async function beginStages(
  rig: StageRig,
  cell: string,
  armRad: readonly number[],
  signal: AbortSignal,
): Promise<StageState> {
  const seen = await requireStill(rig, signal);
  const at = rig.position();
  const { min } = rig.limits("z");
  const isRaised = seen.tips.every(([, down]) => down < raisedShare * rig.size[1]);
  const raiseByM = isRaised ? 0 : raiseM;
  if (at.z - raiseByM < min + overshootM)
    throw new CellError(
      "CALIBRATION_REFUSED",
      `stage z stands ${((at.z - min) * 1e3).toFixed(2)} mm before its limit; ${(raiseByM * 1e3).toFixed(1)} mm are needed to raise the tip`,
      { remedy: "move stage Z towards the tissue side and raise the head with the arm" },
    );
  const follow = Object.fromEntries(
    linearStages.map((axis) => [axis, [...rig.focusFollows(axis)]]),
  ) as unknown as StageState["follow"];
  const raised = {
    z: at.z - raiseByM,
    focus1: at.focus1 - raiseByM * follow.z[0],
    focus2: at.focus2 - raiseByM * follow.z[1],
  };
  await rig.move(raised, true, signal);
  let origin: Offsets = { ...at, ...raised };
  await rig.move({ x: at.x, y: at.y }, true, signal);
  let first = await rig.look(signal);
  const rooms = {
    x: await roomOf(rig, "x", origin, first, signal),
    y: await roomOf(rig, "y", origin, first, signal),
    z: await roomOf(rig, "z", origin, first, signal),
  };
  const { x, y } = toMiddle(rig, rooms, first);
  origin = {
    x: origin.x + x,
    y: origin.y + y,
    z: origin.z,
    focus1: origin.focus1 + x * follow.x[0] + y * follow.y[0],
    focus2: origin.focus2 + x * follow.x[1] + y * follow.y[1],
  };
  await rig.move(origin, true, signal);
  first = await rig.look(signal);
  const ranges: Record<LinearStage, [number, number]> = { x: [0, 0], y: [0, 0], z: [0, 0] };
  for (const axis of linearStages) {
    const { min, max } = rig.limits(axis);
    const room: Room = { ...rooms[axis], limits: [min - origin[axis], max - origin[axis]] };
    ranges[axis] = [...rangeOf(axis, room, first.tips, rig.size)];
  }
  return { version: 1, cell, armRad: [...armRad], origin, ranges, follow, observations: [] };
}

async function requireStill(rig: StageRig, signal: AbortSignal): Promise<RigLook> {
  const [a, b] = [await rig.look(signal), await rig.look(signal)];
  const moved = Math.max(...([0, 1] as const).map((i) => distance(a.tips[i], b.tips[i])));
  if (moved > stillPx)
    throw new CellError(
      "CALIBRATION_REFUSED",
      `the tip moved by ${moved.toFixed(1)} px between two looks while nothing was commanded; ${stillPx} px are allowed`,
      { remedy: "let the arm come to rest and keep shocks and draughts away from the cell" },
    );
  return b;
}

/** How far X and Y bring the tip nearer to the middle of both pictures, m: least squares, within reach and limits. */
function toMiddle(
  rig: StageRig,
  rooms: Readonly<Record<"x" | "y", Room>>,
  { tips }: RigLook,
): { readonly x: number; readonly y: number } {
  const goal = [0.5 * rig.size[0], 0.55 * rig.size[1]];
  const rows = ([0, 1] as const).flatMap((i) =>
    ([0, 1] as const).map((k) => [rooms.x.motion[i][k] * 1e-3, rooms.y.motion[i][k] * 1e-3]),
  );
  const missing = ([0, 1] as const).flatMap((i) =>
    ([0, 1] as const).map((k) => (goal[k] ?? NaN) - tips[i][k]),
  );
  const { x: shift } = leastSquares(rows, missing, 1e-2);
  const within = (axis: "x" | "y", value: number): number => {
    const { limits } = rooms[axis];
    const low = Math.max(-centreM, limits[0] + overshootM);
    const high = Math.min(centreM, limits[1] - overshootM);
    return low > high ? 0 : Math.min(Math.max(value, low), high);
  };
  return { x: within("x", (shift[0] ?? NaN) * 1e-3), y: within("y", (shift[1] ?? NaN) * 1e-3) };
}

const distance = (a: readonly [number, number], b: readonly [number, number]): number =>
  Math.hypot(a[0] - b[0], a[1] - b[1]);

async function roomOf(
  rig: StageRig,
  axis: LinearStage,
  origin: Offsets,
  first: RigLook,
  signal: AbortSignal,
): Promise<Room> {
  const { min, max } = rig.limits(axis);
  // Never deeper than the origin; otherwise to the side that has more room.
  const step = axis === "z" || max - origin[axis] < origin[axis] - min ? -probeM : probeM;
  await rig.move({ [axis]: origin[axis] + step }, true, signal);
  const there = await rig.look(signal);
  await rig.move({ [axis]: origin[axis] }, true, signal);
  const motion = ([0, 1] as const).map((i) =>
    ([0, 1] as const).map((k) => (there.tips[i][k] - first.tips[i][k]) / step),
  );
  const total = Math.hypot(...motion.flat());
  if (total * probeM < 20)
    throw new CellError(
      "CALIBRATION_REFUSED",
      `stage ${axis} was moved by ${probeM * 1e6} µm, the tip by ${(total * probeM).toFixed(1)} px; at least 20 px are needed`,
      { remedy: "does the stage move, and is it the needle that the pictures show?" },
    );
  return {
    motion: motion as unknown as Room["motion"],
    limits: [min - origin[axis], max - origin[axis]],
  };
}

/** Steps of a run, done or not. */
export const stepsOf = ({ ranges, follow }: { readonly ranges: Ranges; readonly follow: Follow }): Step[] =>
  planSteps(ranges, follow);

/** Visits every step that has no observation yet; ends at the origin. @throws CellError of rig and devices */
export async function runStages(
  rig: StageRig,
  begun: StageState,
  hooks: RunHooks,
  signal: AbortSignal,
): Promise<StageState> {
  const steps = stepsOf(begun).filter(hooks.wants ?? (() => true));
  let state = begun;
  const seen = new Set(state.observations.map(({ id }) => id));
  let resumed = seen.size > 0;
  for (const [done, step] of steps.entries()) {
    if (seen.has(step.id)) continue;
    signal.throwIfAborted();
    if (resumed) {
      // The pictures have wandered meanwhile: the origin is looked at first.
      resumed = false;
      const again: Step = { id: `reference-resumed-${seen.size}`, kind: "reference", offsets: nowhere };
      state = {
        ...state,
        observations: [...state.observations, await visit(rig, again, state.origin, signal)],
      };
    }
    await hooks.onStep(done, steps.length, step);
    state = { ...state, observations: [...state.observations, await visit(rig, step, state.origin, signal)] };
    await hooks.keep(state);
  }
  await rig.move(state.origin, true, signal);
  return state;
}

async function visit(rig: StageRig, step: Step, origin: Offsets, signal: AbortSignal): Promise<Observation> {
  const target = { ...origin };
  for (const stage of stageNames) target[stage] = origin[stage] + step.offsets[stage];
  if (step.kind === "above" && step.axis !== undefined) {
    const { axis } = step;
    await rig.move({ ...target, [axis]: target[axis] + overshootM }, true, signal);
    await rig.move({ [axis]: target[axis] }, false, signal);
  } else if (step.kind === "repeat" && step.axis !== undefined) {
    const { axis } = step;
    await rig.move({ ...target, [axis]: target[axis] - approachM }, true, signal);
    await rig.move({ [axis]: target[axis] }, false, signal);
  } else await rig.move(target, true, signal);
  const { tips, atS } = await rig.look(signal);
  const at = rig.position();
  const offsets = { ...nowhere };
  for (const stage of stageNames) offsets[stage] = at[stage] - origin[stage];
  return {
    id: step.id,
    kind: step.kind,
    ...(step.axis === undefined ? {} : { axis: step.axis }),
    offsets,
    tips,
    atS,
  };
}
