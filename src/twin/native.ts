/** The native addon of the twin (`native/addons/twin`), typed. */
import { createRequire } from "node:module";
import { CellError } from "../base/errors.js";
import { addonPath } from "../base/paths.js";
import type { sceneLayout } from "./scene-layout.js";

/** Publishes what the microscopes see, in the mapped file that the camera server reads. */
export interface SceneWriter {
  /**
   * Replaces the state (layout: scene-layout.ts); readers never see half of one. Takes microseconds and never waits. The
   * first write opens the file, creating it when needed.
   * @throws Error with code CONFIG_INVALID when the state is refused, or another writer holds the file
   */
  write(state: Float64Array): void;
  /** Lets the file go; another write opens it again. */
  close(): void;
}

export interface TwinAddon {
  readonly SceneWriter: new (path: string) => SceneWriter;
  /**
   * One frame without a camera server, for tests and pictures: 2048 × 2048 Mono8, row-major. Drawn in a native thread; the
   * first of a scene takes seconds. The same arguments give the same bytes.
   * @param sceneJson what the camera server reads with --scene
   * @param exposureUs exposure time
   * @param gain dB
   * @param frameNumber chooses the noise
   */
  renderFrame(
    sceneJson: string,
    cameraIndex: number,
    state: Float64Array,
    exposureUs: number,
    gain: number,
    frameNumber: number,
  ): Promise<Uint8Array>;
  /** The layout that the native side was built with. */
  readonly sceneLayout: Readonly<Record<keyof typeof sceneLayout, number>>;
}

let loaded: TwinAddon | undefined;

/** @throws CellError INTERNAL with what to do when the native part was never built. */
export function twinAddon(): TwinAddon {
  if (loaded === undefined) {
    const file = addonPath("twin");
    try {
      loaded = createRequire(import.meta.url)(file) as TwinAddon;
    } catch (error) {
      throw new CellError("INTERNAL", `the native addon cannot be loaded from ${file}`, {
        cause: error,
        remedy: "build it with `npm run build:native`",
      });
    }
  }
  return loaded;
}
