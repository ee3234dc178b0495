/**
 * The changing part of what the microscopes see, as the flat array that the camera server reads. The layout is that of
 * `native/optics/include/surgiclaw/optics/scene_state.h`; a test holds the two against each other.
 */
import { CellError } from "../base/errors.js";
import type { Vec3 } from "../base/transform.js";
import { finite } from "../base/units.js";

/** Indices and strides into the flat array (numbers, not bytes). */
export const sceneLayout = {
  /** Time of the state, CLOCK_MONOTONIC in ns. */
  monotonicNs: 0,
  /** Multiplier of the illumination. */
  light: 1,
  /** Three numbers: shift of the tissue from its rest, world metres. */
  tissueShift: 2,
  segmentCount: 5,
  /** A calibration target is mounted, 0 or 1. */
  plateMounted: 6,
  /** Per camera: focus stage (m), image shift x and y (m), online, frozen (0 or 1), three reserved. */
  cameras: 8,
  cameraStride: 8,
  /** Per segment: a (3, m), b (3, m), radius at a and b (m), reflectance, kind. */
  segments: 40,
  segmentStride: 10,
  /** The target: centre (3, m), u and v axes (3 each), crossings along u and v, pitch (m), white, black. */
  plate: 1960,
  length: 1974,
  maxCameras: 4,
  maxSegments: 192,
} as const;

/** What a segment is made to look like; numbered as in scene_state.h. */
export const segmentKinds = ["needle", "hook", "loop", "thread", "cartridge"] as const;
export type SceneSegmentKind = (typeof segmentKinds)[number];

/** A tapered capsule in the world: the hull of a ball around `a` and one around `b`. Metres. */
export interface SceneSegment {
  readonly a: Vec3;
  readonly b: Vec3;
  readonly radiusA: number;
  readonly radiusB: number;
  readonly reflectance: number;
  readonly kind: SceneSegmentKind;
}

export interface SceneCamera {
  /** Position of the focus stage, m. */
  readonly focusM: number;
  /** Shift of the image, m in the image plane (x right, y down). */
  readonly wanderM: readonly [number, number];
  /** Switched off, the camera answers nothing; switched on again it has the registers of power-up. */
  readonly online: boolean;
  /** Sends the same frame again and again. */
  readonly frozen: boolean;
}

/** A plate with a chessboard in place of needle and tissue. Metres; world axes of unit length; square (0, 0) is dark. */
export interface ScenePlate {
  readonly origin: Vec3;
  readonly uAxis: Vec3;
  readonly vAxis: Vec3;
  readonly columns: number;
  readonly rows: number;
  readonly pitchM: number;
  readonly white: number;
  readonly black: number;
}

export interface SceneState {
  readonly monotonicNs: number;
  readonly light: number;
  readonly tissueShiftM: Vec3;
  readonly cameras: readonly SceneCamera[];
  readonly segments: readonly SceneSegment[];
  readonly plate?: ScenePlate | undefined;
}

/**
 * The state as the flat array that `SceneWriter.write` and `renderFrame` take; as short as its segments allow where no target is mounted.
 * @throws CellError UNIT_NOT_FINITE, or INTERNAL for more cameras or segments than the layout has room for
 */
export function packScene(state: SceneState): Float64Array {
  const { cameras, segments, plate } = state;
  if (cameras.length > sceneLayout.maxCameras || segments.length > sceneLayout.maxSegments) {
    throw new CellError(
      "INTERNAL",
      `a scene of ${cameras.length} cameras and ${segments.length} segments; ` +
        `there is room for ${sceneLayout.maxCameras} and ${sceneLayout.maxSegments}`,
    );
  }
  const flat = new Float64Array(
    plate === undefined
      ? sceneLayout.segments + sceneLayout.segmentStride * segments.length
      : sceneLayout.length,
  );
  flat[sceneLayout.monotonicNs] = state.monotonicNs;
  flat[sceneLayout.light] = state.light;
  flat.set(state.tissueShiftM, sceneLayout.tissueShift);
  flat[sceneLayout.segmentCount] = segments.length;
  for (let i = 0; i < sceneLayout.maxCameras; i++) {
    const { focusM, wanderM, online, frozen } = cameras[i] ?? absentCamera;
    flat.set(
      [focusM, ...wanderM, online ? 1 : 0, frozen ? 1 : 0],
      sceneLayout.cameras + i * sceneLayout.cameraStride,
    );
  }
  if (plate !== undefined) {
    const { origin, uAxis, vAxis, columns, rows, pitchM, white, black } = plate;
    flat[sceneLayout.plateMounted] = 1;
    flat.set([...origin, ...uAxis, ...vAxis, columns, rows, pitchM, white, black], sceneLayout.plate);
  }
  segments.forEach((segment, i) => {
    flat.set(
      [
        ...segment.a,
        ...segment.b,
        segment.radiusA,
        segment.radiusB,
        segment.reflectance,
        segmentKinds.indexOf(segment.kind),
      ],
      sceneLayout.segments + i * sceneLayout.segmentStride,
    );
  });
  flat.forEach((value, i) => finite(value, `the scene's number at index ${i}`));
  return flat;
}

const absentCamera: SceneCamera = { focusM: 0, wanderM: [0, 0], online: false, frozen: false };
