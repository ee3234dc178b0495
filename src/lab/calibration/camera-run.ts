/**
 * Carries out a calibration with a target: visits the planned places, notes where the crossings appear, and how grey the
 * glass is at several exposures. What was seen is kept after each step, so that an interrupted run goes on where it was.
 */
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import type { Roi } from "../../cell/native.js";
import { cellsAcross, type FoundTarget } from "./target-pattern.js";
import {
  planTarget,
  targetObservationSchema,
  offsetsSchema,
  type TargetObservation,
  type TargetStep,
  type ViewSeen,
} from "./camera-plan.js";
import type { Stand, TargetRig } from "./target-bench.js";

const greySchema = z.strictObject({
  /** As the camera holds it. */
  exposureUs: z.number(),
  grey: z.number(),
  /** Grey level at the reference exposure just before and just after: the light drifts. */
  before: z.number(),
  after: z.number(),
});
export type GreySample = z.output<typeof greySchema>;

export const cameraStateSchema = z.strictObject({
  version: z.literal(1),
  cell: z.string(),
  target: z.string(),
  armRad: z.array(z.number()),
  origin: offsetsSchema,
  steps: z.array(
    z.strictObject({
      id: z.string(),
      kind: targetObservationSchema.shape.kind,
      place: z.int(),
      offsets: offsetsSchema,
    }),
  ),
  observations: z.array(targetObservationSchema),
  /** Exposure at which the places were seen, µs, per view. */
  referenceUs: z.tuple([z.number(), z.number()]),
  greys: z.tuple([z.array(greySchema), z.array(greySchema)]),
});
export type CameraState = z.output<typeof cameraStateSchema>;

export interface CameraHooks {
  readonly onStep: (done: number, total: number, what: string) => Promise<void> | void;
  readonly keep: (state: CameraState) => Promise<void>;
}

/** Multiples of the exposure at which the places are seen. */
export const exposureShares = [0.125, 0.177, 0.25, 0.354, 0.5, 0.707, 0.85, 1.2] as const;
const greyFrames = 3;
/** White pixels in the part looked at: its mean says nothing then. */
const clippedShare = 0.001;

export function beginCamera(
  rig: TargetRig,
  context: Pick<CameraState, "cell" | "target" | "armRad" | "referenceUs">,
  seen: readonly [FoundTarget, FoundTarget],
): CameraState {
  const steps = planTarget(rig, seen);
  return {
    version: 1,
    ...context,
    origin: { ...rig.stand() },
    steps: steps.map((step) => ({ ...step })),
    observations: [],
    greys: [[], []],
  };
}

const standOf = (origin: Stand, { x, y, z: up, focus1, focus2 }: TargetStep["offsets"]): Stand => ({
  x: origin.x + x,
  y: origin.y + y,
  z: origin.z + up,
  focus1: origin.focus1 + focus1,
  focus2: origin.focus2 + focus2,
});

const seenOf = ({ crossings, cells }: FoundTarget): ViewSeen => ({
  crossings: crossings.map((one) => (one === undefined ? null : [one.at[0], one.at[1], one.sigmaPx])),
  cells: [...cells],
});

/** Moves to a step, looks. A view in which glare or dust hides the pattern there has seen nothing. */
export async function visit(
  rig: TargetRig,
  origin: Stand,
  step: TargetStep,
  signal: AbortSignal,
): Promise<TargetObservation> {
  await rig.move(standOf(origin, step.offsets), signal);
  const [first, second] = await rig.look(signal);
  return { ...step, views: [seenOf(first), seenOf(second)] };
}

/** So many places each view must have seen at least, to be fitted and to be compared with the fit. */
const leastPlaces = { fitted: 6, heldOut: 3 } as const;

/** @throws CellError CALIBRATION_REFUSED when a view has seen the target at too few places */
export function requirePlaces(observations: readonly TargetObservation[]): void {
  for (const view of [0, 1] as const) {
    const seen = observations.filter(({ views }) => views[view].crossings.length > 0);
    const places = (wanted: (kind: TargetObservation["kind"]) => boolean): number =>
      new Set(seen.filter(({ kind }) => wanted(kind)).map(({ place }) => place)).size;
    const [fitted, heldOut] = [places((kind) => kind !== "held-out"), places((kind) => kind === "held-out")];
    if (fitted >= leastPlaces.fitted && heldOut >= leastPlaces.heldOut) continue;
    throw new CellError(
      "CALIBRATION_REFUSED",
      `view ${view + 1} has seen the target whole at ${fitted} and ${heldOut} places; ` +
        `${leastPlaces.fitted} to be fitted and ${leastPlaces.heldOut} to be compared are needed`,
      {
        remedy:
          "clean target and optics, mount the target nearer to the middle of both pictures, begin with --fresh",
      },
    );
  }
}

/** The part of the picture nearest to its middle that shows glass alone. */
export function plainPart({ crossings, cells }: ViewSeen, size: readonly [number, number]): Roi {
  const side = size[0] / cellsAcross;
  const points = crossings.flatMap((one) => (one === null ? [] : [one]));
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const clear = side * 0.5 + 110;
  const free = cells
    .map((_, n) => {
      const x = ((n % cellsAcross) + 0.5) * side;
      const y = (Math.floor(n / cellsAcross) + 0.5) * side;
      return { x, y, off: Math.hypot(x - size[0] / 2, y - size[1] / 2) };
    })
    .filter(
      ({ x, y }) =>
        x < Math.min(...xs) - clear ||
        x > Math.max(...xs) + clear ||
        y < Math.min(...ys) - clear ||
        y > Math.max(...ys) + clear,
    )
    .sort((a, b) => a.off - b.off);
  const [best] = free;
  if (best === undefined)
    throw new CellError("CALIBRATION_REFUSED", "no part of the picture shows glass without pattern", {
      remedy: "use a target with plain glass around its pattern",
    });
  const half = Math.floor(side / 2 - 8);
  return { x: Math.round(best.x) - half, y: Math.round(best.y) - half, width: 2 * half, height: 2 * half };
}

/** Visits what is left of the plan, then measures the greys; each result is kept as it comes. */
export async function runCamera(
  rig: TargetRig,
  begun: CameraState,
  hooks: CameraHooks,
  signal: AbortSignal,
): Promise<CameraState> {
  let state = begun;
  const total = state.steps.length + 2 * exposureShares.length;
  for (const step of state.steps.slice(state.observations.length)) {
    signal.throwIfAborted();
    await hooks.onStep(state.observations.length, total, step.id);
    const seen = await visit(rig, state.origin, step, signal);
    state = { ...state, observations: [...state.observations, seen] };
    await hooks.keep(state);
  }
  requirePlaces(state.observations);
  for (const view of [0, 1] as const) {
    const last = [...state.observations].reverse().find(({ views }) => views[view].crossings.length > 0);
    if (last === undefined) throw new CellError("INTERNAL", "a calibration without places");
    await rig.move(standOf(state.origin, last.offsets), signal);
    const roi = plainPart(last.views[view], rig.size);
    const referenceUs = state.referenceUs[view];
    const reference = async (): Promise<number> => {
      await rig.setExposureUs(view, referenceUs);
      return greyOf(rig, view, roi);
    };
    let before = await reference();
    for (const share of exposureShares.slice(state.greys[view].length)) {
      signal.throwIfAborted();
      await hooks.onStep(
        state.observations.length + state.greys[0].length + state.greys[1].length,
        total,
        `exposure × ${share}`,
      );
      const exposureUs = await rig.setExposureUs(view, referenceUs * share);
      const grey = await greyOf(rig, view, roi);
      const after = await reference();
      const greys: CameraState["greys"] = [[...state.greys[0]], [...state.greys[1]]];
      greys[view].push({ exposureUs, grey, before, after });
      before = after;
      state = { ...state, greys };
      await hooks.keep(state);
    }
  }
  return state;
}

async function greyOf(rig: TargetRig, view: 0 | 1, roi: Roi): Promise<number> {
  const { mean, clipped } = await rig.grey(view, roi, greyFrames);
  if (clipped > clippedShare)
    throw new CellError(
      "CALIBRATION_REFUSED",
      `view ${view + 1}: ${(100 * clipped).toFixed(1)} % of the plain glass is white; ${100 * clippedShare} % is allowed`,
      { remedy: "lower the light, and begin anew with --fresh" },
    );
  return mean;
}
