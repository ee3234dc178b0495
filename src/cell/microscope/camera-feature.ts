/** One numeric setting of a camera: bounded by the camera and by its profile, remembered for the next opening. */
import { CellError } from "../../base/errors.js";
import { finite } from "../../base/units.js";
import type { NativeCamera } from "../native.js";

export interface FeatureBounds {
  readonly min: number;
  readonly max: number;
}

export class CameraFeature {
  /**
   * @param name GenICam feature; values in its own unit
   * @param limits of the profile
   * @param wanted value to begin with; undefined leaves what the camera has
   */
  constructor(
    private readonly camera: string,
    private readonly name: string,
    private readonly limits: FeatureBounds,
    private wanted: number | undefined,
  ) {}

  async read(camera: NativeCamera): Promise<number> {
    return camera.getFeature(this.name);
  }

  async bounds(camera: NativeCamera): Promise<FeatureBounds> {
    const { min, max } = await camera.featureBounds(this.name);
    return { min: Math.max(min, this.limits.min), max: Math.min(max, this.limits.max) };
  }

  /**
   * Writes the nearest value that the camera can hold, and reads it back.
   * @throws CellError DEVICE_LIMIT outside the bounds: nothing is limited silently
   */
  async write(camera: NativeCamera, value: number): Promise<number> {
    finite(value, `${this.camera}: ${this.name}`);
    const device = await camera.featureBounds(this.name);
    const min = Math.max(device.min, this.limits.min);
    const max = Math.min(device.max, this.limits.max);
    if (value < min || value > max)
      throw new CellError(
        "DEVICE_LIMIT",
        `${this.camera}: ${this.name} = ${value} lies outside ${min}…${max}`,
      );
    const held = await camera.setFeature(this.name, nearestStep(value, device.min, max, device.increment));
    this.wanted = held;
    return held;
  }

  /** After opening: writes what was last set, or else remembers what the camera has. */
  async apply(camera: NativeCamera): Promise<void> {
    if (this.wanted === undefined) this.wanted = await this.read(camera);
    else await this.write(camera, this.wanted);
  }
}

/** min + n · increment nearest to `value` and not above `max`; the value itself without an increment. */
export function nearestStep(value: number, min: number, max: number, increment: number): number {
  if (increment <= 0) return value;
  const step = Math.round((value - min) / increment);
  const last = Math.floor((max - min) / increment + 1e-9);
  return min + Math.min(step, last) * increment;
}
