/**
 * The tissue as both microscopes see it beside the needle: sites of view 1, and their matches in view 2, found by carrying
 * a patch over the tissue plane and correlating it there.
 */
import { CellError } from "../../base/errors.js";
import { add, cross, dot, scale, subtract, unit, type Vec3 } from "../../base/transform.js";
import type { FrameLease, SiteCandidate } from "../../cell/native.js";
import {
  anchored,
  projectPoint,
  projectVector,
  triangulate,
  type Pixel,
  type ViewModel,
  type ViewPair,
} from "../perception/view-model.js";
import { asPair, viewIndexes, type Look, type Workbench } from "./workbench.js";

export const patchSize = 112;
export const minScore = 0.6;
/** Sites lie where the tip above them stays well inside both views: this far from the middle column, and in these rows. */
const reachPx = 430;
const rows = { from: 900, to: 1560 } as const;
/** Least distance of a site from a vessel, m. */
const vesselM = 7e-5;
/** The tissue is looked for this far below the tip when it cannot be matched with the focus where it is, m. */
const depthsM = [4e-4, 7e-4, 1e-3, 1.3e-3, 1.6e-3] as const;
const usualDepthM = 4.5e-4;

/** 2×2 image matrix of the tissue plane (spanned by `u`, `v`): px per metre. */
export type Plane = readonly [number, number, number, number];

const planeOf = (view: ViewModel, u: Vec3, v: Vec3): Plane => {
  const a = projectVector(view, u);
  const b = projectVector(view, v);
  return [a[0], b[0], a[1], b[1]];
};

function planeMap(to: Plane, from: Plane): Plane {
  const determinant = from[0] * from[3] - from[1] * from[2];
  const inverse = [from[3], -from[1], -from[2], from[0]].map((value) => value / determinant);
  const [a = 0, b = 0, c = 0, d = 0] = inverse;
  return [to[0] * a + to[1] * c, to[0] * b + to[1] * d, to[2] * a + to[3] * c, to[2] * b + to[3] * d];
}

export interface Match {
  readonly pixels: readonly [Pixel, Pixel];
  readonly point: Vec3;
  readonly score: number;
  readonly candidate: SiteCandidate;
}

export interface TissueView {
  readonly look: Look;
  readonly views: ViewPair;
  readonly up: Vec3;
  readonly frames: readonly [FrameLease, FrameLease];
  /** Textured, clear of vessels and of the needle, the most textured first. */
  readonly candidates: readonly SiteCandidate[];
  /** How far below the tip the tissue lies, m. */
  readonly heightM: number;
  readonly match: Matcher;
  /** Carries a patch of view 1 over the tissue plane into view 2. */
  readonly map: Plane;
  /** Gives the frames back. */
  release(): void;
}

/** The match of a candidate for tissue `heightM` below the tip, searched `radius` px around where it would be. */
type Matcher = (candidate: SiteCandidate, heightM: number, radius: number) => Promise<Match | undefined>;

/**
 * Looks at the tissue with the focus where it is, then with the focus brought below the tip, ever deeper: after a procedure
 * was broken off the tip may stand far above it, and tissue far out of focus has nothing to match. Moves the focus stages
 * alone. @throws CellError VISION_UNKNOWN when no site can be matched at any depth
 */
export async function seeTissue(bench: Workbench, signal: AbortSignal): Promise<TissueView> {
  const look = await bench.look(signal, 2);
  let failure: unknown;
  for (const depthM of [undefined, ...depthsM]) {
    signal.throwIfAborted();
    if (depthM !== undefined) {
      const below = subtract(look.tipM, scale(bench.up(), depthM));
      await bench.moveStages(bench.focusFor(below), signal, false);
    }
    try {
      return await lookOnce(bench, look, depthM ?? usualDepthM);
    } catch (error) {
      if (!(error instanceof CellError) || error.code !== "VISION_UNKNOWN") throw error;
      failure ??= error;
    }
  }
  throw failure;
}

async function lookOnce(bench: Workbench, look: Look, depthM: number): Promise<TissueView> {
  const views: ViewPair = asPair(
    viewIndexes.map((i) => anchored(bench.drawnViews()[i], look.tipM, look.tips[i])),
  );
  const up = bench.up();
  const side: Vec3 = Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
  const across = unit(subtract(side, scale(up, dot(side, up))));
  const along = cross(up, across);
  const planes = asPair(viewIndexes.map((i) => planeOf(views[i], across, along)));
  const map = planeMap(planes[0], planes[1]);
  const afterS = bench.clock.now();
  const frames: FrameLease[] = [];
  const release = (): void => frames.forEach((frame) => frame.release());
  try {
    for (const i of viewIndexes) frames.push(await bench.devices.microscopes[i].nextFrame(afterS, 2));
    const [first, second] = asPair(frames);
    const match: Matcher = async (candidate, heightM, radius) => {
      // The point of the viewing ray of view 1 that lies `heightM` below the tip.
      const guess = onRay(views[0], [candidate.x, candidate.y], look.tipM, up, heightM);
      const [x, y] = projectPoint(views[1], guess);
      const patch = bench.geometry.cutPatch(first, candidate.x, candidate.y, patchSize, patchSize, map);
      const found = await bench.geometry.matchPatch(second, patch, x, y, radius);
      if (!found.found || found.score < minScore) return undefined;
      const pixels: readonly [Pixel, Pixel] = [
        [candidate.x, candidate.y],
        [found.x, found.y],
      ];
      const { point, residualPx } = triangulate(views, pixels);
      return residualPx < 25 ? { pixels, point, score: found.score, candidate } : undefined;
    };
    const scaleM = bench.file.microscopes[0].metresPerPixel;
    const region = {
      x: first.width / 2 - reachPx,
      y: rows.from,
      width: 2 * reachPx,
      height: rows.to - rows.from,
    };
    const candidates = (await bench.geometry.findSites(first, region)).filter(
      (site) =>
        site.vesselDistancePx * scaleM > vesselM && clearOfNeedle(site, look.tips[0], look.directions[0]),
    );
    candidates.sort((a, b) => b.texture - a.texture);
    const heightM = await surfaceHeight(candidates, match, look.tipM, up, depthM);
    return { look, views, up, frames: [first, second], candidates, heightM, match, map, release };
  } catch (error) {
    release();
    throw error;
  }
}

export const inReach = ([x, y]: Pixel, frame: Pick<FrameLease, "width">): boolean =>
  Math.abs(x - frame.width / 2) < reachPx && y > rows.from && y < rows.to;

/** How many of the most textured candidates are asked for the height of the surface, and how many of them must agree. */
const asked = 10;
const agreeing = 3;
/** The tissue is flat to this over a view, the errors of the drawing included, m. */
const flatToM = 6e-5;

/**
 * The height on which most agree, the median of those; undefined when fewer than three do. False matches scatter along the
 * viewing rays, true ones lie in one plane. Pure.
 */
export function agreedHeight(heights: readonly number[]): number | undefined {
  const sorted = [...heights].sort((a, b) => a - b);
  let best: readonly number[] = [];
  sorted.forEach((lowest, i) => {
    const group = sorted.slice(i).filter((height) => height - lowest <= flatToM);
    if (group.length > best.length) best = group;
  });
  return best.length < agreeing ? undefined : best[best.length >> 1];
}

/** How far below the tip the tissue lies, searched over half a millimetre either way of `depthM`. */
async function surfaceHeight(
  candidates: readonly SiteCandidate[],
  match: Matcher,
  tip: Vec3,
  up: Vec3,
  depthM: number,
): Promise<number> {
  const heights: number[] = [];
  for (const candidate of candidates.slice(0, asked)) {
    const found = await match(candidate, depthM, 420);
    if (found !== undefined) heights.push(dot(up, subtract(tip, found.point)));
  }
  const height = agreedHeight(heights);
  if (height === undefined)
    throw new CellError("VISION_UNKNOWN", "no tissue site could be matched between the two views", {
      remedy: "bring the tissue into focus, or pick the targets by hand",
    });
  return height;
}

/** The point on the viewing ray of a pixel that lies `heightM` below `tip`. */
function onRay(view: ViewModel, pixel: Pixel, tip: Vec3, up: Vec3, heightM: number): Vec3 {
  // Any point of the ray: the tip, moved within the image plane.
  const [tu, tv] = projectPoint(view, tip);
  const right = view.rows[0];
  const down = view.rows[1];
  const inPlane = add(
    scale(right, (pixel[0] - tu) / dot(right, right)),
    scale(down, (pixel[1] - tv) / dot(down, down)),
  );
  const start = add(tip, inPlane);
  const wanted = dot(up, tip) - heightM;
  return add(start, scale(view.forward, (wanted - dot(up, start)) / dot(up, view.forward)));
}

/** The patch must not hold a part of the needle: below the tip, or well beside the shank. */
export function clearOfNeedle(
  site: { readonly x: number; readonly y: number },
  tip: Pixel,
  direction: Pixel,
): boolean {
  const dx = site.x - tip[0];
  const dy = site.y - tip[1];
  const ahead = dx * direction[0] + dy * direction[1];
  const aside = Math.abs(dx * direction[1] - dy * direction[0]);
  return ahead > patchSize * 0.6 || aside > patchSize * 0.9;
}
