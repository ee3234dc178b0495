/** Picture files to pixels and back, by sharp in its own threads. */
import type Sharp from "sharp";
import { CellError } from "../../../base/errors.js";
import { Raster } from "./raster.js";

// Loaded when the first picture is touched: most commands never need it.
const library = async (): Promise<typeof Sharp> => (await import("sharp")).default;

/** A frame may not be larger than this; what claims to be is refused before it is unpacked. */
const maxPixels = 64_000_000;

/** PNG or JPEG to RGB; grey becomes RGB, transparency lies on black. @throws CellError PHASE_FILE_INVALID */
export async function decodePicture(bytes: Uint8Array, name: string): Promise<Raster> {
  const sharp = await library();
  try {
    const { data, info } = await sharp(bytes, { limitInputPixels: maxPixels, failOn: "error" })
      .flatten({ background: "black" })
      .toColourspace("srgb")
      .raw()
      .toBuffer({ resolveWithObject: true });
    if (info.channels !== 3) throw new Error(`${info.channels} channels`);
    return new Raster(info.width, info.height, data);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CellError("PHASE_FILE_INVALID", `${name} is no picture: ${why}`, { cause: error });
  }
}

/** Pixels as they came from a camera or renderer, without a header. @throws CellError PHASE_FILE_INVALID */
export function rawPicture(bytes: Uint8Array, width: number, height: number, name: string): Raster {
  const pixels = width * height;
  if (bytes.length === pixels * 3) return new Raster(width, height, Uint8Array.from(bytes));
  if (bytes.length === pixels) {
    const rgb = new Uint8Array(pixels * 3);
    bytes.forEach((grey, at) => rgb.fill(grey, at * 3, at * 3 + 3));
    return new Raster(width, height, rgb);
  }
  throw new CellError(
    "PHASE_FILE_INVALID",
    `${name}: ${bytes.length} bytes are no ${width} x ${height} picture`,
  );
}

export async function encodePng(picture: Raster): Promise<Buffer> {
  const sharp = await library();
  const raw = { width: picture.width, height: picture.height, channels: 3 } as const;
  return sharp(picture.pixels, { raw }).png({ compressionLevel: 6, palette: false }).toBuffer();
}
