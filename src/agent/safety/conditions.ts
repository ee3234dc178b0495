/**
 * Three-valued conditions (Kleene): what a sensor or an image check established, or that it established nothing. Unknown
 * is never good enough for motion, so a condition only ever permits when it is exactly `true`.
 */
import type { CellState, FrameReference, VisualConditions } from "./types.js";

export type Tri = boolean | "unknown";

export const not = (a: Tri): Tri => (a === "unknown" ? a : !a);

/** False as soon as one is false, true only when all are; true for none, so never give it an open-ended list. */
export function and(...values: readonly Tri[]): Tri {
  if (values.includes(false)) return false;
  return values.every((value) => value === true) ? true : "unknown";
}

export function or(...values: readonly Tri[]): Tri {
  if (values.includes(true)) return true;
  return values.every((value) => value === false) ? false : "unknown";
}

/** Anything but a proper three-valued answer (a missing field, a stray string) counts as unknown. */
export const tri = (value: unknown): Tri => (value === true || value === false ? value : "unknown");

/** The rows of the prerequisite table; the last four are the row "something to do", one per skill that has it. */
export const conditionIds = [
  "noStopLatched",
  "selfCheckPassed",
  "camerasOnline",
  "notNearSingularity",
  "imageUsable",
  "registered",
  "aligned",
  "electrodeAvailable",
  "needleOutOfTissue",
  "targetLeft",
  "imageNotKnownSharp",
  "exposureNotKnownInBand",
  "recoveryNeeded",
] as const;

export type ConditionId = (typeof conditionIds)[number];
export type Conditions = Readonly<Record<ConditionId, Tri>>;

/** What each condition says when it does not hold, for people. */
export const conditionText: Readonly<Record<ConditionId, string>> = {
  noStopLatched: "no emergency, protective or software stop is latched",
  selfCheckPassed: "the self-check passed",
  camerasOnline: "all cameras are online and their frames fresh",
  notNearSingularity: "the arm is not near a singularity",
  imageUsable: "the images are usable: sharp, exposure in band, needle visible",
  registered: "image and robot coordinates are registered",
  aligned: "the needle is aligned in the present frame epoch",
  electrodeAvailable: "an electrode is in the cartridge or on the needle",
  needleOutOfTissue: "the needle is out of tissue",
  targetLeft: "a target is left to implant",
  imageNotKnownSharp: "the image is not known to be sharp",
  exposureNotKnownInBand: "the exposure is not known to be in band",
  recoveryNeeded: "a camera is offline or the arm is near a singularity",
};

/** How old a frame may be, and which cameras must deliver; empty `cameras` can never be satisfied. */
export interface FreshnessLimits {
  readonly cameras: readonly string[];
  readonly frameAgeS: number;
}

/** Known stale counts as not online; `!(age <= limit)` refuses NaN too. */
function frameFresh(frames: readonly FrameReference[], camera: string, nowS: number, ageS: number): boolean {
  const frame = frames.find((candidate) => candidate.camera === camera);
  if (frame === undefined) return false;
  const age = nowS - frame.takenAtS;
  return age >= 0 && age <= ageS;
}

/** Every camera of the cell reports that it delivers. */
function camerasReported(state: CellState, cameras: readonly string[]): Tri {
  if (cameras.length === 0) return "unknown";
  return and(...cameras.map((camera) => tri(state.camerasOnline[camera])));
}

/**
 * The conditions of the table, from a freshly read state and the visual conditions of the observation's frames. Pure;
 * model text never enters.
 */
export function evaluateConditions(
  nowS: number,
  state: CellState,
  visual: VisualConditions,
  frames: readonly FrameReference[],
  limits: FreshnessLimits,
): Conditions {
  const reported = camerasReported(state, limits.cameras);
  const fresh = limits.cameras.every((camera) => frameFresh(frames, camera, nowS, limits.frameAgeS));
  const notNearSingularity = not(tri(state.nearSingularity));
  return {
    noStopLatched: and(
      not(tri(state.emergencyStop)),
      not(tri(state.protectiveStop)),
      not(tri(state.stopLatched)),
    ),
    selfCheckPassed: tri(state.selfCheckOk),
    camerasOnline: and(reported, fresh),
    notNearSingularity,
    imageUsable: and(
      tri(visual.usable),
      tri(visual.sharp),
      tri(visual.exposureInBand),
      tri(visual.needleVisible),
    ),
    registered: tri(state.registered),
    aligned: and(tri(state.aligned), state.alignedEpoch === state.frameEpoch),
    electrodeAvailable: tri(state.electrodeAvailable),
    needleOutOfTissue: tri(state.needleOutOfTissue),
    targetLeft:
      typeof state.targetsLeft === "number" && Number.isFinite(state.targetsLeft)
        ? state.targetsLeft > 0
        : "unknown",
    imageNotKnownSharp: visual.sharp !== true,
    exposureNotKnownInBand: visual.exposureInBand !== true,
    recoveryNeeded: or(not(reported), not(notNearSingularity)),
  };
}
