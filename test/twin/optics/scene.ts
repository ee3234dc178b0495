/** A small scene for the tests of the microscopes: flat, clean tissue seen by the two views of the reference cell. */
import { cross, type Vec3 } from "../../../src/base/transform.js";
import type { SceneCamera, SceneState } from "../../../src/twin/scene-layout.js";

export const metresPerPixel = 2.4e-3 / 2048;

function view(serial: string, address: string, azimuthDeg: number, startExposureUs: number): object {
  const azimuth = (azimuthDeg * Math.PI) / 180;
  const elevation = (35 * Math.PI) / 180;
  const forward: Vec3 = [
    -Math.cos(elevation) * Math.cos(azimuth),
    -Math.cos(elevation) * Math.sin(azimuth),
    -Math.sin(elevation),
  ];
  const right: Vec3 = [-Math.sin(azimuth), Math.cos(azimuth), 0];
  return {
    serial,
    address,
    rotation: [right, cross(forward, right), forward],
    focusPointM: [0, 0, 3e-4],
    metresPerPixel,
    focusDirection: forward,
    startExposureUs,
    startGainRaw: 2,
    vignetting: 0,
  };
}

export function flatScene(addresses: readonly [string, string], startExposureUs = 10_000): string {
  return JSON.stringify({
    seed: 5,
    cameras: [view("T1", addresses[0], 30, startExposureUs), view("T2", addresses[1], 150, startExposureUs)],
    tissue: { origin: [0, 0, 0], normal: [0, 0, 1], uAxis: [1, 0, 0], reflectance: 0.5, textureContrast: 0 },
  });
}

const camera: SceneCamera = { focusM: 0, wanderM: [0, 0], online: true, frozen: false };

/** A needle of 40 µm whose end lies at the focus point, unless told otherwise. */
export function needleState(changes: Partial<SceneState> = {}): SceneState {
  return {
    monotonicNs: 0,
    light: 1,
    tissueShiftM: [0, 0, 0],
    cameras: [camera, camera],
    segments: [
      { a: [0, 0, 3e-3], b: [0, 0, 3.2e-4], radiusA: 2e-5, radiusB: 2e-5, reflectance: 0.12, kind: "needle" },
    ],
    ...changes,
  };
}

export const cameraState = (changes: Partial<SceneCamera>): SceneCamera => ({ ...camera, ...changes });
