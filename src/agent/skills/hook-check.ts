/** Is there a hook at the needle's tip? Compares the place where the barb must be with its mirror image. */
import { add, dot, rotate, scale, unit, type Vec3 } from "../../base/transform.js";
import { projectVector, type Pixel } from "../perception/view-model.js";
import { viewIndexes, type Look, type Workbench } from "./workbench.js";

/** Grey levels that the barb must be darker than its mirror image, in the better view. */
const presentAbove = 8;

/** Direction of the barb, robot coordinates: drawn along x of the head, square to the needle's axis. */
export function barbDirection(bench: Workbench, axis: Vec3): Vec3 {
  const x = rotate(bench.baseFromHead().rotation, [1, 0, 0]);
  return unit(add(x, scale(axis, -dot(x, axis))));
}

/** The mirror image of an offset from the tip, about the needle's direction in the image (unit). */
export function mirrored(offset: Pixel, direction: Pixel): Pixel {
  const along = offset[0] * direction[0] + offset[1] * direction[1];
  return [2 * along * direction[0] - offset[0], 2 * along * direction[1] - offset[1]];
}

/** How much darker the end of the barb is than its mirror image on the other side of the needle, grey levels by view. */
export async function hookContrast(
  bench: Workbench,
  look: Look,
  axis: Vec3,
): Promise<{ readonly present: boolean | "unknown"; readonly contrast: readonly number[] }> {
  const barb = barbDirection(bench, axis);
  const { hookHeightM, hookReachM, tipDiameterM, hookThicknessM } = bench.file.needle;
  const views = bench.views();
  const end = add(scale(axis, -hookHeightM), scale(barb, hookReachM - hookThicknessM / 2));
  const afterS = bench.clock.now();
  const seen = await Promise.all(
    viewIndexes.map((i) =>
      bench.withFrame(i, afterS, (frame) => {
        const offset = projectVector(views[i], end);
        const pixel = bench.file.microscopes[i].metresPerPixel;
        const size = Math.max(3, Math.round((0.8 * hookThicknessM) / pixel));
        const level = ([x, y]: Pixel): number => {
          const patch = bench.geometry.cutPatch(frame, look.tips[i][0] + x, look.tips[i][1] + y, size, size);
          return patch.pixels.reduce((sum, value) => sum + value, 0) / patch.pixels.length;
        };
        const [dx, dy] = look.directions[i];
        const aside = Math.abs(offset[0] * dy - offset[1] * dx);
        return {
          contrast: level(mirrored(offset, look.directions[i])) - level(offset),
          // Only a view that shows the barb beside the shank, not in front of it, can tell.
          telling: aside > tipDiameterM / 2 / pixel + 3,
        };
      }),
    ),
  );
  const contrast = seen.map((view) => view.contrast);
  const telling = seen.filter((view) => view.telling).map((view) => view.contrast);
  if (telling.length === 0) return { present: "unknown", contrast };
  return { present: Math.max(...telling) > presentAbove, contrast };
}
