/**
 * Finds a patch of one view in the other, carried over the tissue plane. The map of the drawing is off by what the
 * microscopes and the tissue are off (2 % of scale, 1 to 2 degrees), which draws the match aside by up to a pixel where the
 * patch's texture is not even; so the map is fitted along with the place.
 */
import type { Patch, PatchMatch } from "../../cell/native.js";
import type { Pixel } from "../perception/view-model.js";
import type { Plane } from "./tissue-view.js";

/** First search, then only around the place found, px. */
const searchPx = 70;
const nearPx = 6;
/** Steps in which the entries of the map are varied, px per px: what the drawing may be off by, then finer. */
const steps = [0.04, 0.02] as const;
/**
 * The drawing's map is not farther off than this, px per px. Where correlation wants more, the views do not show the same
 * bare surface: something lies on it.
 */
const farthest = 0.09;

/**
 * The place of the patch in the other view, and the map under which both views agree best: coordinate by coordinate, by the
 * vertex of the parabola through three correlations. No match when it is not found by the map given, or only by one that no
 * drawing is off by.
 */
export async function matchCarried(
  cut: (map: Plane) => Patch,
  find: (patch: Patch, near: Pixel, radiusPx: number) => Promise<PatchMatch>,
  drawn: Plane,
  near: Pixel,
): Promise<{ readonly match: PatchMatch | undefined; readonly map: Plane }> {
  let map = drawn;
  let match = await find(cut(map), near, searchPx);
  if (!match.found) return { match: undefined, map };
  for (const step of steps)
    for (const entry of [0, 1, 2, 3] as const) {
      const at = async (offset: number): Promise<{ readonly map: Plane; readonly match: PatchMatch }> => {
        const varied = withEntry(map, entry, map[entry] + offset);
        return { map: varied, match: await find(cut(varied), [match.x, match.y], nearPx) };
      };
      const sides = [await at(-step), await at(step)] as const;
      const [less, more] = sides.map((side) => (side.match.found ? side.match.score : -1));
      const offset = vertex(less ?? -1, match.score, more ?? -1, step);
      for (const tried of [...sides, await at(offset)])
        if (tried.match.found && tried.match.score > match.score) ({ map, match } = tried);
    }
  const likely = map.every((value, i) => Math.abs(value - (drawn[i] ?? NaN)) < farthest);
  return { match: likely ? match : undefined, map };
}

/** Where a parabola through scores at −step, 0 and step has its vertex, no farther than twice the step. Pure. */
export function vertex(less: number, here: number, more: number, step: number): number {
  const curvature = less - 2 * here + more;
  if (!(curvature < 0)) return more > less ? step : -step;
  return Math.max(-2 * step, Math.min(2 * step, (0.5 * step * (less - more)) / curvature));
}

function withEntry(map: Plane, entry: 0 | 1 | 2 | 3, value: number): Plane {
  const [a, b, c, d] = map;
  switch (entry) {
    case 0:
      return [value, b, c, d];
    case 1:
      return [a, value, c, d];
    case 2:
      return [a, b, value, d];
    case 3:
      return [a, b, c, value];
  }
}
