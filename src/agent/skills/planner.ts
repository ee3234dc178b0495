/**
 * Proposes targets on a snapshot: unmarked tissue away from vessels, a pixel in view 1 with its match in view 2. The
 * match is found by carrying the patch of view 1 over the tissue plane into view 2 and correlating it there.
 */
import { CellError } from "../../base/errors.js";
import { dot, scale, subtract, type Vec3 } from "../../base/transform.js";
import type { FrameLease, Patch } from "../../cell/native.js";
import { projectVector, type Pixel, type ViewPair } from "../perception/view-model.js";
import { matchCarried } from "./carried-match.js";
import {
  clearOfNeedle,
  inReach,
  minScore,
  patchSize,
  seeTissue,
  type Match,
  type Plane,
  type TissueView,
} from "./tissue-view.js";
import { asPair, viewIndexes, type Workbench } from "./workbench.js";
import type { Procedure, ProcedureTarget } from "../procedure/schema.js";

export interface PlanOptions {
  readonly count: number;
  readonly id: string;
  readonly cell: string;
  readonly query: string;
  readonly createdAt: string;
}

/** Distances on the tissue, m. */
const spacingM = 2.4e-4;
/** Sites beyond the wanted ones, in case some have no sharp match. */
const spareSites = 9;
/**
 * A sharp match this good is of bare tissue alone. What lies on it (a thread, a drop, a reflection) is seen elsewhere on it
 * by the other view, draws the match away by some pixels and costs correlation.
 */
const clearScore = 0.955;
/** Below this a sharp match is not believed at all. */
const leastScore = 0.8;

/** One site in focus, in both views, and how well they agree. */
interface Picks {
  readonly picks: readonly Omit<ProcedureTarget["picks"][number], "axis">[];
  readonly score: number;
}

/** @throws CellError VISION_UNKNOWN when too few sites can be matched in both views. */
export async function proposeTargets(
  bench: Workbench,
  signal: AbortSignal,
  options: PlanOptions,
): Promise<Procedure> {
  const focusBefore = { focus1: bench.focusPosition(0), focus2: bench.focusPosition(1) };
  let tissue: TissueView | undefined;
  try {
    tissue = await seeTissue(bench, signal);
    const { look, views, up, frames, candidates, heightM, match, map } = tissue;
    const [, second] = frames;
    const scaleM = bench.file.microscopes[0].metresPerPixel;
    const matches: Match[] = [];
    for (const candidate of candidates) {
      signal.throwIfAborted();
      if (matches.length >= options.count + spareSites) break;
      const found = await match(candidate, heightM, 48);
      if (
        found === undefined ||
        !inReach(found.pixels[1], second) ||
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
    const picked: { readonly found: Match; readonly picks: Picks }[] = [];
    for (const found of matches) {
      if (picked.filter(({ picks }) => picks.score >= clearScore).length >= options.count) break;
      signal.throwIfAborted();
      const patch = bench.geometry.cutPatch(
        frames[0],
        found.candidate.x,
        found.candidate.y,
        patchSize,
        patchSize,
      );
      const picks = await pickInFocus(bench, signal, { ...found, patch, map, views });
      // A site that is lost or has no match once it is sharp is left out; spare ones follow.
      if (picks !== undefined) picked.push({ found, picks });
    }
    if (picked.length < options.count) throw tooFew(picked.length, options.count, candidates.length);
    const best = picked.sort((a, b) => b.picks.score - a.picks.score).slice(0, options.count);
    const targets = best.map(({ found, picks }, k): ProcedureTarget => ({
      id: `T${k + 1}`,
      electrode: k + 1,
      picks: picks.picks.map((pick, i) => ({ ...pick, axis: [...axes[i as 0 | 1]] })),
      vesselDistanceM: found.candidate.vesselDistancePx * scaleM,
    }));
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
    tissue?.release();
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
): Promise<Picks | undefined> {
  await bench.moveStages(bench.focusFor(site.point), signal, false);
  const afterS = bench.clock.now();
  const frames: FrameLease[] = [];
  try {
    for (const i of viewIndexes) frames.push(await bench.devices.microscopes[i].nextFrame(afterS, 2));
    const [first, second] = asPair(frames);
    const [x, y] = site.pixels[0];
    const again = await bench.geometry.matchPatch(first, site.patch, x, y, 70);
    if (!again.found || again.score < minScore) return undefined;
    const { match } = await matchCarried(
      (map) => bench.geometry.cutPatch(first, again.x, again.y, patchSize, patchSize, map),
      (patch, near, radius) => bench.geometry.matchPatch(second, patch, near[0], near[1], radius),
      site.map,
      site.pixels[1],
    );
    if (match === undefined || match.score < leastScore) return undefined;
    const picks = viewIndexes.map((i) => {
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
    return { picks, score: match.score };
  } finally {
    for (const frame of frames) frame.release();
  }
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
