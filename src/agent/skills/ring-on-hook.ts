/**
 * Does a loop hang on the hook? The part of its outline that stands out beside the shank is compared with what lies just
 * outside it. Only the outline counts: barb and shank, which are there anyway, cross few of its points.
 */
import { add, cross, scale, unit, type Vec3 } from "../../base/transform.js";
import type { Patch } from "../../cell/native.js";
import { projectVector, type Pixel } from "../perception/view-model.js";
import { asPair, median, viewIndexes, type Look, type Workbench } from "./workbench.js";

export interface RingOnHook {
  readonly seen: boolean;
  /** By view: how much darker the outline is than its surroundings, as a share; the best over small displacements. */
  readonly scores: readonly [number, number];
}

/** A wire in focus is darker by 30–50 %; tissue, noise and what was left beside the needle reach 14. */
const presentAbove = 0.2;
const patchSize = 112;
const points = 48;

export interface OutlineView {
  /** Centre of the ring in the patch, px. */
  readonly centre: Pixel;
  /** Half axes of the wire's middle line, px. */
  readonly a: Pixel;
  readonly b: Pixel;
  /** The tip in the patch, direction of the shank toward it, and half its width, px. */
  readonly tip: Pixel;
  readonly direction: Pixel;
  readonly halfShankPx: number;
}

/** Share by which the outline beside the shank is darker than just outside it: median over its points. Pure. */
export function outlineContrast(patch: Patch, view: OutlineView): number {
  const contrasts: number[] = [];
  for (let k = 0; k < points; k++) {
    const angle = (2 * Math.PI * k) / points;
    const at = (size: number): Pixel => [
      view.centre[0] + size * (view.a[0] * Math.cos(angle) + view.b[0] * Math.sin(angle)),
      view.centre[1] + size * (view.a[1] * Math.cos(angle) + view.b[1] * Math.sin(angle)),
    ];
    const length = Math.hypot(
      view.a[0] * Math.cos(angle) + view.b[0] * Math.sin(angle),
      view.a[1] * Math.cos(angle) + view.b[1] * Math.sin(angle),
    );
    const outside = at((length + 8) / length);
    const on = at(1);
    if (besideShank(on, view) < 3 || besideShank(outside, view) < 3) continue;
    const surround = sample(patch, outside);
    const wire = sample(patch, on);
    if (surround > 0 && Number.isFinite(wire)) contrasts.push((surround - wire) / surround);
  }
  return contrasts.length < 6 ? 0 : median(contrasts);
}

/** Distance of a point from the shank's edge, px; negative on it. Beyond the tip there is no shank. */
function besideShank(point: Pixel, view: OutlineView): number {
  const dx = point[0] - view.tip[0];
  const dy = point[1] - view.tip[1];
  const along = dx * view.direction[0] + dy * view.direction[1];
  const across = Math.abs(dx * view.direction[1] - dy * view.direction[0]);
  return along > 0 ? Math.hypot(along, across) : across - view.halfShankPx;
}

function sample(patch: Patch, [x, y]: Pixel): number {
  const i = Math.floor(x);
  const j = Math.floor(y);
  if (i < 0 || j < 0 || i + 1 >= patch.width || j + 1 >= patch.height) return NaN;
  const level = (u: number, v: number): number => patch.pixels[v * patch.width + u] ?? NaN;
  const fx = x - i;
  const fy = y - j;
  return (
    (level(i, j) * (1 - fx) + level(i + 1, j) * fx) * (1 - fy) +
    (level(i, j + 1) * (1 - fx) + level(i + 1, j + 1) * fx) * fy
  );
}

/** Looks for a ring on the barb in both views, in fresh frames. */
export async function ringOnHook(bench: Workbench, look: Look, axis: Vec3, barb: Vec3): Promise<RingOnHook> {
  const { hookHeightM, hookReachM, tipDiameterM } = bench.file.needle;
  const { ringInnerM, wireM } = bench.file.cartridge;
  const across = unit(cross(axis, barb));
  const views = bench.views();
  const middleM = (tipDiameterM / 2 + hookReachM) / 2;
  const afterS = bench.clock.now();
  const scores = await Promise.all(
    viewIndexes.map((i) =>
      bench.withFrame(i, afterS, (frame) => {
        const view = views[i];
        const tip = look.tips[i];
        const corner: Pixel = [Math.round(tip[0]) - patchSize / 2, Math.round(tip[1]) - patchSize / 2];
        const patch = bench.geometry.cutPatch(
          frame,
          corner[0] + (patchSize - 1) / 2,
          corner[1] + (patchSize - 1) / 2,
          patchSize,
          patchSize,
        );
        const inPatch: Pixel = [tip[0] - corner[0], tip[1] - corner[1]];
        let best = 0;
        // The ring may hang anywhere along the barb and has some play along the needle.
        for (const along of [-8e-6, -4e-6, 0, 4e-6, 8e-6])
          for (const play of [-8e-6, 0, 8e-6]) {
            const [u, v] = projectVector(
              view,
              add(scale(axis, play - hookHeightM), scale(barb, middleM + along)),
            );
            best = Math.max(
              best,
              outlineContrast(patch, {
                centre: [inPatch[0] + u, inPatch[1] + v],
                a: projectVector(view, scale(across, (ringInnerM.y + wireM) / 2)),
                b: projectVector(view, scale(axis, (ringInnerM.z + wireM) / 2)),
                tip: inPatch,
                direction: look.directions[i],
                halfShankPx: (0.5 * tipDiameterM) / bench.file.microscopes[i].metresPerPixel,
              }),
            );
          }
        return best;
      }),
    ),
  );
  const [first, second] = asPair(scores);
  return {
    seen: Math.max(first, second) > presentAbove && first + second > 1.3 * presentAbove,
    scores: [first, second],
  };
}
