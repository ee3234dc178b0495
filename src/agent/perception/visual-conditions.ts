/**
 * Native measurements → three-valued visual conditions. Pure. What was not measured, or measured as no number, is
 * unknown; a combined condition is true only when it is true in every view of the cell.
 */
import { and, type Tri } from "../safety/conditions.js";
import type { ExposureMeasurement, ViewConditions, VisualConditions } from "../safety/types.js";
import type { PerceptionLimits } from "./limits.js";

/** The part of a needle estimate that conditions rest on; native estimates fit. */
export interface NeedleMeasurement {
  readonly found: boolean;
  readonly reason: string;
  readonly tipX: number;
  readonly tipY: number;
  readonly directionX: number;
  readonly directionY: number;
  readonly edgeSigmaPx: number;
  readonly tipSigmaPx: number;
  readonly confidence: number;
}

/** One view as measured; a part that failed is absent. */
export interface ViewMeasurement {
  readonly camera: string;
  readonly exposure?: ExposureMeasurement;
  readonly needle?: NeedleMeasurement;
  /** Why a part is absent. */
  readonly note?: string;
}

/** Two-view results, where geometry could be solved. */
export interface PoseMeasurement {
  readonly needleAngleRad: number;
  /** One per view, m. */
  readonly tipErrorM: readonly number[];
}

const finite = (...values: readonly number[]): boolean => values.every(Number.isFinite);

export function viewConditions(view: ViewMeasurement, limits: PerceptionLimits): ViewConditions {
  const exposureInBand = judgeExposure(view.exposure, limits);
  const needle = view.needle?.found === true && positionKnown(view.needle) ? view.needle : undefined;
  const note =
    view.note ?? (view.needle !== undefined && !view.needle.found ? view.needle.reason : undefined);
  return {
    camera: view.camera,
    sharp: judgeSharpness(needle, limits),
    exposureInBand,
    needleVisible: judgeVisibility(view.needle, exposureInBand, limits),
    ...(view.exposure === undefined ? {} : { exposure: view.exposure }),
    ...(needle === undefined
      ? {}
      : {
          edgeSigmaPx: needle.edgeSigmaPx,
          tipPx: [needle.tipX, needle.tipY] as const,
          directionPx: [needle.directionX, needle.directionY] as const,
          confidence: needle.confidence,
        }),
    ...(note === undefined || note === "" ? {} : { note }),
  };
}

/** @param cameras all cameras of the cell: one without a measurement makes every combined condition unknown. */
export function combineViews(
  cameras: readonly string[],
  views: readonly ViewConditions[],
  pose?: PoseMeasurement,
): VisualConditions {
  const over = (condition: "sharp" | "exposureInBand" | "needleVisible"): Tri =>
    cameras.length === 0
      ? "unknown"
      : and(
          ...cameras.map((camera) => views.find((view) => view.camera === camera)?.[condition] ?? "unknown"),
        );
  const sharp = over("sharp");
  const exposureInBand = over("exposureInBand");
  const needleVisible = over("needleVisible");
  const poseKnown = pose !== undefined && finite(pose.needleAngleRad, ...pose.tipErrorM);
  return {
    views,
    sharp,
    exposureInBand,
    needleVisible,
    usable: and(sharp, exposureInBand, needleVisible),
    ...(poseKnown ? { needleAngleRad: pose.needleAngleRad, tipErrorM: pose.tipErrorM } : {}),
  };
}

function judgeExposure(exposure: ExposureMeasurement | undefined, limits: PerceptionLimits): Tri {
  if (exposure === undefined) return "unknown";
  const { mean, p01, p99, clippedLow, clippedHigh } = exposure;
  if (!finite(mean, p01, p99, clippedLow, clippedHigh)) return "unknown";
  return (
    mean >= limits.meanLow &&
    mean <= limits.meanHigh &&
    clippedHigh <= limits.maxClippedHigh &&
    clippedLow <= limits.maxClippedLow
  );
}

/** Sharpness is that of the needle's own edges: dirt on a cover or tissue elsewhere says nothing about the tip. */
function judgeSharpness(needle: NeedleMeasurement | undefined, limits: PerceptionLimits): Tri {
  if (needle === undefined || !(needle.edgeSigmaPx > 0) || !finite(needle.edgeSigmaPx)) return "unknown";
  return needle.edgeSigmaPx <= limits.maxEdgeSigmaPx;
}

/** Not found is only evidence of absence when the exposure would have shown it. */
function judgeVisibility(
  needle: NeedleMeasurement | undefined,
  exposureInBand: Tri,
  limits: PerceptionLimits,
): Tri {
  if (needle === undefined) return "unknown";
  if (!needle.found) return exposureInBand === true ? false : "unknown";
  if (!positionKnown(needle)) return "unknown";
  return needle.confidence >= limits.minConfidence && needle.tipSigmaPx <= limits.maxTipSigmaPx;
}

const positionKnown = (needle: NeedleMeasurement): boolean =>
  finite(
    needle.tipX,
    needle.tipY,
    needle.directionX,
    needle.directionY,
    needle.confidence,
    needle.tipSigmaPx,
    needle.edgeSigmaPx,
  );
