/** The part of the native addon `lab` that simulates and draws the learning tasks (`native/surgworld`), typed. */
import { createRequire } from "node:module";
import { CellError, errorCatalogue, type ErrorCode } from "../../../base/errors.js";
import { addonPath } from "../../../base/paths.js";

/** What the native side knows of a task. */
export interface NativeTask {
  readonly name: string;
  readonly observationSize: number;
  readonly actionSize: number;
  /** Phases of its vocabulary, the first included. */
  readonly phases: number;
  /** Physics steps of one control step, and how long one takes, s. */
  readonly substeps: number;
  readonly timeStepS: number;
  /** Scenes are drawn larger than life: true metres of one model metre. */
  readonly metresPerModelMetre: number;
  /** The longest way of the tip in one control step along each axis, true metres. */
  readonly maxStepM: number;
}

export interface NativeVectorWorld {
  reset(seed: number, observations: Float32Array): void;
  step(
    actions: Float32Array,
    observations: Float32Array,
    finalObservations: Float32Array,
    rewards: Float32Array,
    terminals: Uint8Array,
    truncations: Uint8Array,
  ): void;
  /** Whether `guidance` and `snapshot` are kept at each step; they cost time. */
  keepPrivileged(keep: boolean): void;
  /** The furthest phase of the episode that the world's last step belonged to. */
  furthest(world: number): number;
  /** Phase -> step of first arrival in that episode, or -1. */
  arrivals(world: number): Int32Array;
  /** Shaped reward of the last step, 0 to 1. */
  guidance(world: number): number;
  /** What a renderer needs to draw the scene after the last step. */
  snapshot(world: number): Float64Array;
  /** Episodes given up because their physics left the finite numbers. */
  diverged(): number;
  close(): void;
}

export interface NativeWorldRenderer {
  /** RGB, 8 bits, rows from the top. Drawn in a thread of its own. */
  render(snapshot: Float64Array): Promise<Uint8Array>;
  close(): void;
}

export interface WorldAddon {
  readonly VectorWorld: new (task: string, count: number, horizon: number) => NativeVectorWorld;
  readonly WorldRenderer: new (task: string, width: number, height: number) => NativeWorldRenderer;
  worldTasks(): NativeTask[];
}

let loaded: WorldAddon | undefined;

/** @throws CellError INTERNAL with what to do when the native part was never built, or without physics. */
export function worldAddon(): WorldAddon {
  if (loaded === undefined) {
    const file = addonPath("lab");
    const remedy = "`npm run setup` installs MuJoCo and builds it";
    let addon: Partial<WorldAddon>;
    try {
      addon = createRequire(import.meta.url)(file) as Partial<WorldAddon>;
    } catch (error) {
      throw new CellError("INTERNAL", `the native addon cannot be loaded from ${file}`, {
        cause: error,
        remedy,
      });
    }
    if (addon.VectorWorld === undefined)
      throw new CellError("INTERNAL", `${file} was built without physics`, { remedy });
    loaded = addon as WorldAddon;
  }
  return loaded;
}

/** An error of the native side as one of the catalogue. */
export function nativeError(error: unknown): CellError {
  if (error instanceof CellError) return error;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const known = typeof code === "string" && code in errorCatalogue ? (code as ErrorCode) : "INTERNAL";
  return new CellError(known, String(message ?? error), { cause: error });
}
