/**
 * Changes of size in plain arithmetic, so that panels have the same pixels on every machine: a triangle filter that
 * widens when a picture shrinks (no detail is skipped) and interpolates linearly when it grows.
 */
import { Raster } from "./raster.js";

interface Taps {
  readonly first: number;
  readonly weights: readonly number[];
}

/** For each pixel of the new line, which old ones it is made of. */
function tapsOf(from: number, to: number): Taps[] {
  const scale = from / to;
  const reach = Math.max(1, scale);
  return Array.from({ length: to }, (_, index) => {
    const centre = (index + 0.5) * scale - 0.5;
    const first = Math.max(0, Math.ceil(centre - reach));
    const last = Math.min(from - 1, Math.floor(centre + reach));
    const weights: number[] = [];
    for (let at = first; at <= last; at++) weights.push(Math.max(0, 1 - Math.abs(at - centre) / reach));
    const sum = weights.reduce((total, weight) => total + weight, 0);
    return { first, weights: weights.map((weight) => weight / sum) };
  });
}

/** The picture in another size. */
export function resized(source: Raster, width: number, height: number): Raster {
  const across = tapsOf(source.width, width);
  const down = tapsOf(source.height, height);
  const lines = new Float64Array(width * source.height * 3);
  for (let y = 0; y < source.height; y++) {
    across.forEach(({ first, weights }, x) => {
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0;
        for (let tap = 0; tap < weights.length; tap++) {
          sum += (weights[tap] ?? 0) * (source.pixels[(y * source.width + first + tap) * 3 + channel] ?? 0);
        }
        lines[(y * width + x) * 3 + channel] = sum;
      }
    });
  }
  const result = new Raster(width, height);
  const row = width * 3;
  down.forEach(({ first, weights }, y) => {
    for (let at = 0; at < row; at++) {
      let sum = 0;
      for (let tap = 0; tap < weights.length; tap++) {
        sum += (weights[tap] ?? 0) * (lines[(first + tap) * row + at] ?? 0);
      }
      result.pixels[y * row + at] = Math.round(sum);
    }
  });
  return result;
}

/** The picture made to fit a size exactly; its shape is kept, the rest is black. */
export function fitted(source: Raster, width: number, height: number): Raster {
  const shrink = Math.min(width / source.width, height / source.height);
  const inner = resized(
    source,
    Math.max(1, Math.round(source.width * shrink)),
    Math.max(1, Math.round(source.height * shrink)),
  );
  const canvas = new Raster(width, height);
  canvas.paste(inner, Math.floor((width - inner.width) / 2), Math.floor((height - inner.height) / 2));
  return canvas;
}
