/**
 * Follows tissue sites in both views for a few breaths and says where they rest: the inner stage "target localisation".
 */
import { CellError } from "../../base/errors.js";
import type { Patch, PatchMatch } from "../../cell/native.js";
import { add, scale } from "../../base/transform.js";
import { fitBreathing, type BreathingFit, type TrackSample } from "../perception/breathing.js";
import { triangulate, type Pixel } from "../perception/view-model.js";
import { patchPixels } from "../procedure/procedure-file.js";
import type { ProcedureTarget } from "../procedure/schema.js";
import { working } from "./limits.js";
import { asPair, viewIndexes, type ViewIndex, type Workbench } from "./workbench.js";

/**
 * Whether a match is the same tissue: a good correlation, or a fair one that stands out. A thread that an earlier
 * electrode left across the patch, or a little blur, costs correlation but leaves no other place that looks alike.
 */
const recognised = (match: PatchMatch): boolean =>
  match.found && (match.score >= 0.55 || (match.score >= 0.38 && match.distinctness >= 0.12));
/** Breathing and pulse move a site less than this from one frame to the next, px. */
const followRadiusPx = 26;

export interface SiteAtRest {
  /** End-expiration position in each view, px. */
  readonly rest: readonly [Pixel, Pixel];
  readonly fits: readonly [BreathingFit, BreathingFit];
}

interface Follow {
  readonly patch: Patch;
  at: Pixel;
  found: boolean;
  readonly samples: TrackSample[];
  lost: number;
}

const patchOf = (target: ProcedureTarget, i: ViewIndex): Patch => {
  const pick = target.picks[i];
  if (pick === undefined)
    throw new CellError("PROCEDURE_UNREADABLE", `target ${target.id} has no pick in view ${i + 1}`);
  return { width: pick.patch.width, height: pick.patch.height, pixels: patchPixels(pick.patch) };
};

const pickOf = (target: ProcedureTarget, i: ViewIndex): Pixel => {
  const pick = target.picks[i];
  return pick === undefined ? [0, 0] : [pick.x, pick.y];
};

/** Focuses both views on a tissue point; the needle's tip is brought back by `bench.focusFor(bench.tip())`. */
export async function focusOnTissue(
  bench: Workbench,
  pixels: readonly (readonly [Pixel, Pixel])[],
  signal: AbortSignal,
): Promise<void> {
  const points = pixels.map((pair) => triangulate(bench.views(), pair).point);
  const mean = scale(
    points.reduce((sum, point) => add(sum, point), [0, 0, 0]),
    1 / points.length,
  );
  await bench.moveStages(bench.focusFor(mean), signal, false);
}

/** Where a target was picked, in both views. */
export const picksOf = (target: ProcedureTarget): readonly [Pixel, Pixel] => [
  pickOf(target, 0),
  pickOf(target, 1),
];

/** Where a site is in one frame of each view now, searched `radius` px around where it was last known. */
export async function findSite(
  bench: Workbench,
  target: ProcedureTarget,
  near: readonly [Pixel, Pixel] | undefined,
  radius: number,
): Promise<readonly [Pixel, Pixel]> {
  const afterS = bench.clock.now();
  const found = await Promise.all(
    viewIndexes.map((i) =>
      bench.withFrame(i, afterS, async (frame): Promise<Pixel> => {
        const [x, y] = near?.[i] ?? pickOf(target, i);
        const match = await bench.geometry.matchPatch(frame, patchOf(target, i), x, y, radius);
        if (!recognised(match))
          throw new CellError(
            "VISION_UNKNOWN",
            `target ${target.id} is not seen in ${bench.file.microscopes[i].name} (best match ${match.score.toFixed(2)})`,
          );
        return [match.x, match.y];
      }),
    ),
  );
  const [first, second] = found;
  if (first === undefined || second === undefined) throw new RangeError("two views");
  return [first, second];
}

/**
 * Tracks the targets for `durationS` and fits their rest positions.
 * @throws CellError VISION_UNKNOWN when a target is lost in a view.
 */
export async function trackSites(
  bench: Workbench,
  targets: readonly {
    readonly target: ProcedureTarget;
    readonly near: readonly [Pixel, Pixel] | undefined;
  }[],
  signal: AbortSignal,
  durationS: number = working.siteTrackS,
): Promise<SiteAtRest[]> {
  const startS = bench.clock.now();
  const follows = viewIndexes.map((i) =>
    targets.map(({ target, near }): Follow => ({
      patch: patchOf(target, i),
      at: near?.[i] ?? pickOf(target, i),
      found: false,
      samples: [],
      lost: 0,
    })),
  );
  await Promise.all(
    viewIndexes.map(async (i) => {
      let afterS = startS;
      while (afterS - startS < durationS) {
        signal.throwIfAborted();
        afterS = await bench.withFrame(i, afterS, async (frame) => {
          await Promise.all(
            (follows[i] ?? []).map(async (follow) => {
              const radius = follow.found ? followRadiusPx : 70;
              const match = await bench.geometry.matchPatch(
                frame,
                follow.patch,
                follow.at[0],
                follow.at[1],
                radius,
              );
              if (recognised(match)) {
                follow.found = true;
                follow.at = [match.x, match.y];
                follow.samples.push({ timeS: frame.hostTimestampS, coordinates: [match.x, match.y] });
              } else if (++follow.lost % 3 === 0) follow.found = false;
            }),
          );
          return frame.hostTimestampS;
        });
      }
    }),
  );
  const sites: SiteAtRest[] = [];
  for (const [k, { target }] of targets.entries()) {
    const fits: BreathingFit[] = [];
    for (const i of viewIndexes) {
      const follow = follows[i]?.[k];
      try {
        fits.push(await fitBreathing(follow?.samples ?? []));
      } catch (error) {
        throw new CellError(
          "VISION_UNKNOWN",
          `target ${target.id} was not followed in ${bench.file.microscopes[i].name}: seen ${follow?.samples.length ?? 0} times, lost ${follow?.lost ?? 0} times`,
          { cause: error },
        );
      }
    }
    const [first, second] = asPair(fits);
    const pixel = (fit: BreathingFit): Pixel => [fit.rest[0] ?? NaN, fit.rest[1] ?? NaN];
    sites.push({ rest: [pixel(first), pixel(second)], fits: [first, second] });
  }
  return sites;
}
