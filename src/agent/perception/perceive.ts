/**
 * Frames → visual conditions, independent of any model. Measuring happens in native threads; a measurement that fails
 * makes its conditions unknown, never true.
 */
import type { FrameLease, Geometry, NeedleEstimate } from "../../cell/native.js";
import { asCellError } from "../../base/errors.js";
import type { VisualConditions } from "../safety/types.js";
import type { PerceptionLimits } from "./limits.js";
import {
  combineViews,
  viewConditions,
  type PoseMeasurement,
  type ViewMeasurement,
} from "./visual-conditions.js";

export interface PerceiveOptions {
  /** All cameras of the cell, in the order of the views. */
  readonly cameras: readonly string[];
  readonly limits: PerceptionLimits;
  /** Solves the two views for angle and tip error against the present target; undefined where that is ill-posed. */
  readonly pose?: (needles: readonly NeedleEstimate[]) => PoseMeasurement | undefined;
}

export interface Perception {
  readonly visual: VisualConditions;
  /** The needle estimates by camera, for controllers that start from them. */
  readonly needles: ReadonlyMap<string, NeedleEstimate>;
}

export async function perceive(
  frames: readonly FrameLease[],
  geometry: Pick<Geometry, "measureImage" | "findNeedle">,
  options: PerceiveOptions,
): Promise<Perception> {
  const needles = new Map<string, NeedleEstimate>();
  const measurements = await Promise.all(frames.map((frame) => measureView(frame, geometry, needles)));
  const views = measurements.map((view) => viewConditions(view, options.limits));
  const found = options.cameras
    .map((camera) => needles.get(camera))
    .filter((needle): needle is NeedleEstimate => needle?.found === true);
  const pose = found.length === options.cameras.length ? options.pose?.(found) : undefined;
  return { visual: combineViews(options.cameras, views, pose), needles };
}

async function measureView(
  frame: FrameLease,
  geometry: Pick<Geometry, "measureImage" | "findNeedle">,
  needles: Map<string, NeedleEstimate>,
): Promise<ViewMeasurement> {
  const { camera } = frame;
  const [image, needle] = await Promise.allSettled([
    geometry.measureImage(frame),
    geometry.findNeedle(frame),
  ]);
  const notes: string[] = [];
  for (const result of [image, needle]) {
    if (result.status === "rejected") notes.push(asCellError(result.reason).message);
  }
  if (needle.status === "fulfilled") needles.set(camera, needle.value);
  return {
    camera,
    ...(image.status === "fulfilled"
      ? {
          exposure: {
            mean: image.value.mean,
            p01: image.value.p01,
            p99: image.value.p99,
            clippedLow: image.value.clippedLow,
            clippedHigh: image.value.clippedHigh,
          },
        }
      : {}),
    ...(needle.status === "fulfilled" ? { needle: needle.value } : {}),
    ...(notes.length > 0 ? { note: notes.join("; ") } : {}),
  };
}
