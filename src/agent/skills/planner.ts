/**
 * Proposes targets on a snapshot: unmarked tissue away from vessels, a pixel in view 1 with its match in view 2. The
 * match is found by carrying the patch of view 1 over the tissue plane into view 2 and correlating it there.
 */
import { CellError } from "../../base/errors.js";
import { add, cross, dot, scale, subtract, unit, type Vec3 } from "../../base/transform.js";
import type { FrameLease, Patch, SiteCandidate } from "../../cell/native.js";
import {
  anchored,
  projectPoint,
  projectVector,
  triangulate,
  type Pixel,
  type ViewModel,
  type ViewPair,
} from "../perception/view-model.js";
import { asPair, viewIndexes, type Workbench } from "./workbench.js";
import type { Procedure, ProcedureTarget } from "../procedure/schema.js";

export interface PlanOptions {
  readonly count: number;
  readonly id: string;
  readonly cell: string;
  readonly query: string;
  readonly createdAt: string;
}

const patchSize = 112;
/** Sites lie where the tip above them stays well inside both views: this far from the middle column, and in these rows. */
const reachPx = 430;
const rows = { from: 900, to: 1560 } as const;
/** Distances on the tissue, m. */
const spacingM = 2.4e-4;
const vesselM = 7e-5;
const minScore = 0.6;
/** Sites beyond the wanted ones, in case some have no sharp match. */
const spareSites = 3;

/** 2×2 image matrix of the tissue plane (spanned by `u`, `v`): px per metre. */
type Plane = readonly [number, number, number, number];

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

interface Match {
  readonly pixels: readonly [Pixel, Pixel];
  readonly point: Vec3;
  readonly score: number;
  readonly candidate: SiteCandidate;
}

/** @throws CellError VISION_UNKNOWN when too few sites can be matched in both views. */
export async function proposeTargets(
  bench: Workbench,
  signal: AbortSignal,
  options: PlanOptions,
): Promise<Procedure> {
  const look = await bench.look(signal, 2);
  const views: ViewPair = asPair(
    viewIndexes.map((i) => anchored(bench.drawnViews()[i], look.tipM, look.tips[i])),
  );
  const up = bench.up();
  const side: Vec3 = Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
  const across = unit(subtract(side, scale(up, dot(side, up))));
  const along = cross(up, across);
  const planes = asPair(viewIndexes.map((i) => planeOf(views[i], across, along)));
  const focusBefore = { focus1: bench.focusPosition(0), focus2: bench.focusPosition(1) };
  const afterS = bench.clock.now();
  const frames: FrameLease[] = [];
  try {
    for (const i of viewIndexes) frames.push(await bench.devices.microscopes[i].nextFrame(afterS, 2));
    const [first, second] = asPair(frames);
    const match = async (
      candidate: SiteCandidate,
      heightM: number,
      radius: number,
    ): Promise<Match | undefined> => {
      // The point of the viewing ray of view 1 that lies `heightM` below the tip.
      const guess = onRay(views[0], [candidate.x, candidate.y], look.tipM, up, heightM);
      const [x, y] = projectPoint(views[1], guess);
      const map = planeMap(planes[0], planes[1]);
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
    const inReach = (x: number, y: number, frame: FrameLease): boolean =>
      Math.abs(x - frame.width / 2) < reachPx && y > rows.from && y < rows.to;
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

    const heightM = await surfaceHeight(candidates, match, look.tipM, up);
    const matches: Match[] = [];
    for (const candidate of candidates) {
      signal.throwIfAborted();
      if (matches.length >= options.count + spareSites) break;
      const found = await match(candidate, heightM, 48);
      if (
        found === undefined ||
        !inReach(...found.pixels[1], second) ||
        !clearOfNeedle({ x: found.pixels[1][0], y: found.pixels[1][1] }, look.tips[1], look.directions[1])
      )
        continue;
      if (matches.some((other) => flatDistance(other.point, found.point, up) < spacingM)) continue;
      matches.push(found);
    }
    if (matches.length < options.count) throw tooFew(matches.length, options.count, candidates.length);
    const hashes = await Promise.all(frames.map((frame) => bench.geometry.hashFrame(frame)));
    const snapshot = frames.map((frame, i) => ({
      view: bench.file.microscopes[i as 0 | 1].name,
      width: frame.width,
      height: frame.height,
      sha256: hashes[i] ?? "",
    }));
    const axes = asPair(
      viewIndexes.map((i): Pixel => {
        const [x, y] = projectVector(views[i], scale(up, -1));
        const size = Math.hypot(x, y);
        return [x / size, y / size];
      }),
    );
    const targets: ProcedureTarget[] = [];
    for (const found of matches) {
      if (targets.length >= options.count) break;
      signal.throwIfAborted();
      const patch = bench.geometry.cutPatch(
        first,
        found.candidate.x,
        found.candidate.y,
        patchSize,
        patchSize,
      );
      const map = planeMap(planes[0], planes[1]);
      const picks = await pickInFocus(bench, signal, { ...found, patch, map, views });
      // A site that is lost or has no match once it is sharp is left out; spare ones follow.
      if (picks === undefined) continue;
      targets.push({
        id: `T${targets.length + 1}`,
        electrode: targets.length + 1,
        picks: picks.map((pick, i) => ({ ...pick, axis: [...axes[i as 0 | 1]] })),
        vesselDistanceM: found.candidate.vesselDistancePx * scaleM,
      });
    }
    if (targets.length < options.count) throw tooFew(targets.length, options.count, candidates.length);
    return {
      version: 1,
      id: options.id,
      createdAt: options.createdAt,
      cell: options.cell,
      query: options.query,
      snapshot: { frames: snapshot },
      targets,
      terminal: { allTargetsImplanted: true, needleRetracted: true },
    };
  } finally {
    for (const frame of frames) frame.release();
    if (!signal.aborted) await bench.moveStages(focusBefore, signal, false);
  }
}

const tooFew = (found: number, wanted: number, candidates: number): CellError =>
  new CellError(
    "VISION_UNKNOWN",
    `only ${found} of ${wanted} sites are textured, clear of vessels and matched in both views (${candidates} candidates)`,
    { remedy: "move the tissue, ask for fewer targets, or pick them by hand" },
  );

/**
 * Picks one site with both microscopes focused on it: sharp patches correlate without bias, and track best. The pixel of
 * view 1 is the pick; view 2 holds its match.
 */
async function pickInFocus(
  bench: Workbench,
  signal: AbortSignal,
  site: Match & { readonly patch: Patch; readonly map: Plane; readonly views: ViewPair },
): Promise<Omit<ProcedureTarget["picks"][number], "axis">[] | undefined> {
  await bench.moveStages(bench.focusFor(site.point), signal, false);
  const afterS = bench.clock.now();
  const frames: FrameLease[] = [];
  try {
    for (const i of viewIndexes) frames.push(await bench.devices.microscopes[i].nextFrame(afterS, 2));
    const [first, second] = asPair(frames);
    const [x, y] = site.pixels[0];
    const again = await bench.geometry.matchPatch(first, site.patch, x, y, 70);
    if (!again.found || again.score < minScore) return undefined;
    const carried = bench.geometry.cutPatch(first, again.x, again.y, patchSize, patchSize, site.map);
    const match = await bench.geometry.matchPatch(second, carried, site.pixels[1][0], site.pixels[1][1], 70);
    if (!match.found || match.score < minScore) return undefined;
    return viewIndexes.map((i) => {
      const frame = asPair(frames)[i];
      const at = i === 0 ? again : match;
      return {
        view: bench.file.microscopes[i].name,
        x: at.x,
        y: at.y,
        takenAtS: frame.hostTimestampS,
        patch: asText(bench.geometry.cutPatch(frame, at.x, at.y, patchSize, patchSize)),
      };
    });
  } finally {
    for (const frame of frames) frame.release();
  }
}

/** How far below the tip the tissue lies: from the candidates that match best, searched over the whole possible range. */
async function surfaceHeight(
  candidates: readonly SiteCandidate[],
  match: (candidate: SiteCandidate, heightM: number, radius: number) => Promise<Match | undefined>,
  tip: Vec3,
  up: Vec3,
): Promise<number> {
  const heights: { height: number; score: number }[] = [];
  for (const candidate of candidates.slice(0, 8)) {
    const found = await match(candidate, 4.5e-4, 420);
    if (found !== undefined)
      heights.push({ height: dot(up, subtract(tip, found.point)), score: found.score });
    if (heights.length >= 5) break;
  }
  heights.sort((a, b) => a.height - b.height);
  const middle = heights[heights.length >> 1];
  if (middle === undefined || heights.length < 2)
    throw new CellError("VISION_UNKNOWN", "no tissue site could be matched between the two views", {
      remedy: "bring the tissue into focus, or pick the targets by hand",
    });
  return middle.height;
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
function clearOfNeedle(
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

const flatDistance = (a: Vec3, b: Vec3, up: Vec3): number => {
  const d = subtract(a, b);
  const flat = subtract(d, scale(up, dot(d, up)));
  return Math.hypot(...flat);
};

const asText = (patch: Patch): { width: number; height: number; pixels: string } => ({
  width: patch.width,
  height: patch.height,
  pixels: Buffer.from(patch.pixels).toString("base64"),
});
