/** The static scene that the camera server draws from: true microscopes, phantom, sensor. */
import { Random } from "../base/random.js";
import type { Scenario } from "./scenario.js";
import type { Phantom } from "./tissue.js";
import type { TrueCell } from "./true-cell.js";

export interface CameraPlace {
  readonly serial: string;
  readonly address: string;
}

/** Exposure that gives a well-exposed frame, µs: between the two, in the scene's own light. */
export const properExposureUs = 10_000;

/** The JSON of native/optics (docs of its fields are there). */
export function sceneJson(
  cell: TrueCell,
  scenario: Scenario,
  phantom: Phantom,
  places: readonly CameraPlace[],
): object {
  const random = new Random(cell.seed, "optics");
  return {
    seed: cell.seed,
    model: scenario.optics,
    cameras: cell.microscopes.map((microscope, i) => ({
      serial: places[i]?.serial ?? `MIC${i + 1}`,
      address: places[i]?.address ?? `127.0.0.${i + 2}`,
      rotation: microscope.cameraFromWorld,
      focusPointM: microscope.focusPoint,
      focusDirection: microscope.focusDirection,
      metresPerPixel: microscope.metresPerPixel,
      startExposureUs: Math.round(properExposureUs * cell.startExposureFactor),
      startGainRaw: 0,
      vignetting: random.uniform(0.15, 0.3),
      frameRate: scenario.frameRate,
      dust: Array.from({ length: 9 }, () => ({
        x: random.uniform(0, 2048),
        y: random.uniform(0, 2048),
        radiusPx: random.uniform(4, 14),
        darkness: random.uniform(0.1, 0.35),
      })),
      glare: Array.from({ length: 2 }, () => ({
        x: random.uniform(0, 2048),
        y: random.uniform(1400, 2048),
        radiusPx: random.uniform(20, 60),
        level: random.uniform(0.5, 1),
      })),
    })),
    tissue: {
      origin: cell.tissue.origin,
      normal: cell.tissue.normal,
      uAxis: cell.tissue.uAxis,
      reflectance: 0.5,
      textureContrast: 0.25,
      vessels: phantom.vessels,
      marks: phantom.marks.map(({ u, v, radiusM, strength }) => ({ u, v, radiusM, darkness: strength })),
      fluid: phantom.fluid,
    },
    sensor: { fullWellE: 10_000, readNoiseE: 5, properExposureUs, blackLevel: 6 },
    dofM: 50e-6,
  };
}
