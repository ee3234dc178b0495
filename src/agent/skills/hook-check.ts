/** Is there a hook at the needle's tip? Compares the place where the barb must be with its mirror image. */
import { add, dot, rotate, scale, unit, type Vec3 } from "../../base/transform.js";
import { projectPoint, projectVector } from "../perception/view-model.js";
import { viewIndexes, type Look, type Workbench } from "./workbench.js";

/** Grey levels that the barb must be darker than its mirror image, in the better view. */
const presentAbove = 8;

/** Direction of the barb, robot coordinates: drawn along x of the head, square to the needle's axis. */
export function barbDirection(bench: Workbench, axis: Vec3): Vec3 {
  const x = rotate(bench.baseFromHead().rotation, [1, 0, 0]);
  return unit(add(x, scale(axis, -dot(x, axis))));
}

export async function hookContrast(
  bench: Workbench,
  look: Look,
  axis: Vec3,
): Promise<{ readonly present: boolean | "unknown"; readonly contrast: readonly number[] }> {
  const barb = barbDirection(bench, axis);
  const { hookHeightM, hookReachM, tipDiameterM, hookThicknessM } = bench.file.needle;
  const views = bench.views();
  const tip = bench.seenTip(look);
  const middle = (tipDiameterM / 2 + hookReachM) / 2;
  const afterS = bench.clock.now();
  const contrast = await Promise.all(
    viewIndexes.map((i) =>
      bench.withFrame(i, afterS, (frame) => {
        const level = (side: 1 | -1): number => {
          const point = add(tip, add(scale(axis, -hookHeightM), scale(barb, side * middle)));
          const [x, y] = projectPoint(views[i], point);
          const size = Math.max(3, Math.round((hookThicknessM / 1.17e-6) * 0.8));
          const patch = bench.geometry.cutPatch(frame, x, y, size, size);
          return patch.pixels.reduce((sum, value) => sum + value, 0) / patch.pixels.length;
        };
        return level(-1) - level(1);
      }),
    ),
  );
  // Only a view that shows the barb beside the shank, not in front of it, can tell.
  const telling = viewIndexes.filter((i) => {
    return Math.hypot(...projectVector(views[i], scale(barb, middle))) > 10;
  });
  const seen = telling.map((i) => contrast[i] ?? 0);
  if (seen.length === 0) return { present: "unknown", contrast };
  return { present: Math.max(...seen) > presentAbove, contrast };
}
