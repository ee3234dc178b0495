/** Pictures of a task's scene from the snapshots of its worlds, without display or GPU. */

import { Raster } from "../../phase/storyboard/raster.js";
import { nativeError, worldAddon, type NativeWorldRenderer } from "./native-world.js";

export class WorldRenderer {
  private native: NativeWorldRenderer | undefined;

  /** @param width @param height pixels, 16 to 1280 */
  constructor(
    readonly task: string,
    readonly width: number,
    readonly height: number,
  ) {}

  /**
   * The full view of the scene; drawn in a native thread, which the first picture starts.
   * @throws CellError RENDERING_UNAVAILABLE when EGL or OpenGL is missing, COMMAND_INVALID for a snapshot of another scene
   */
  async render(snapshot: Float64Array): Promise<Raster> {
    try {
      this.native ??= new (worldAddon().WorldRenderer)(this.task, this.width, this.height);
      return new Raster(this.width, this.height, await this.native.render(snapshot));
    } catch (error) {
      throw nativeError(error);
    }
  }

  close(): void {
    this.native?.close();
    this.native = undefined;
  }
}
