/** A picture of 8-bit RGB pixels in memory: filling, pasting, differences, hash. Files are `picture-file.ts`. */
import { createHash } from "node:crypto";
import { CellError } from "../../../base/errors.js";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export type Colour = readonly [number, number, number];

export class Raster {
  readonly pixels: Uint8Array;

  /** @throws CellError INTERNAL when `pixels` do not fill the picture */
  constructor(
    readonly width: number,
    readonly height: number,
    pixels?: Uint8Array,
  ) {
    this.pixels = pixels ?? new Uint8Array(width * height * 3);
    if (this.pixels.length !== width * height * 3) {
      throw new CellError("INTERNAL", `${this.pixels.length} bytes are no ${width} x ${height} RGB picture`);
    }
  }

  /** Parts outside the picture are left out. */
  fill(box: Box, [red, green, blue]: Colour): void {
    const { x0, x1, y0, y1 } = this.inside(box);
    for (let y = y0; y < y1; y++) {
      for (let at = (y * this.width + x0) * 3; at < (y * this.width + x1) * 3; at += 3) {
        this.pixels[at] = red;
        this.pixels[at + 1] = green;
        this.pixels[at + 2] = blue;
      }
    }
  }

  /** A frame `thickness` wide along the inner edge of a box. */
  outline({ x, y, width, height }: Box, thickness: number, colour: Colour): void {
    this.fill({ x, y, width, height: thickness }, colour);
    this.fill({ x, y: y + height - thickness, width, height: thickness }, colour);
    this.fill({ x, y, width: thickness, height }, colour);
    this.fill({ x: x + width - thickness, y, width: thickness, height }, colour);
  }

  /** Copies another picture to (x, y); what does not fit is left out. */
  paste(other: Raster, x: number, y: number): void {
    const { x0, x1, y0, y1 } = this.inside({ x, y, width: other.width, height: other.height });
    for (let row = y0; row < y1; row++) {
      const from = ((row - y) * other.width + (x0 - x)) * 3;
      this.pixels.set(other.pixels.subarray(from, from + (x1 - x0) * 3), (row * this.width + x0) * 3);
    }
  }

  crop(box: Box): Raster {
    const { x0, x1, y0, y1 } = this.inside(box);
    const part = new Raster(x1 - x0, y1 - y0);
    for (let row = y0; row < y1; row++) {
      const from = (row * this.width + x0) * 3;
      part.pixels.set(this.pixels.subarray(from, from + part.width * 3), (row - y0) * part.width * 3);
    }
    return part;
  }

  /** Of size and pixels: the same on every machine, however files are compressed. */
  sha256(): string {
    return createHash("sha256").update(`${this.width}x${this.height}:`).update(this.pixels).digest("hex");
  }

  private inside({ x, y, width, height }: Box): { x0: number; x1: number; y0: number; y1: number } {
    const x0 = Math.max(0, x);
    const y0 = Math.max(0, y);
    return {
      x0,
      y0,
      x1: Math.max(x0, Math.min(this.width, x + width)),
      y1: Math.max(y0, Math.min(this.height, y + height)),
    };
  }
}

/** |a - b| in each channel, made `gain` times stronger. @throws CellError PHASE_FILE_INVALID when the sizes differ */
export function difference(a: Raster, b: Raster, gain: number): Raster {
  if (a.width !== b.width || a.height !== b.height) {
    throw new CellError(
      "PHASE_FILE_INVALID",
      `pictures of ${a.width} x ${a.height} and ${b.width} x ${b.height}`,
    );
  }
  const pixels = a.pixels.map((value, at) => Math.min(255, gain * Math.abs(value - (b.pixels[at] ?? 0))));
  return new Raster(a.width, a.height, pixels);
}
