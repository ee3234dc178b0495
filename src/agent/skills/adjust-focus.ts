/**
 * The focus skill: a coarse scan of both focus axes at once, a parabola through the best, then the blur of the needle's
 * own edges decides: its square is a parabola of the defocus, so three positions give the focus to a few micrometres.
 */
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import { dot } from "../../base/transform.js";
import { clamp } from "../../base/units.js";
import type { NeedleEstimate, Roi } from "../../cell/native.js";
import { directionFromImages, projectVector, type Pixel } from "../perception/view-model.js";
import { Skill } from "../safety/skill-names.js";
import { working } from "./limits.js";
import type { SkillContext, SkillOutcome, SkillProgram } from "./skill.js";
import { viewIndexes, type StageTargets, type ViewIndex, type Workbench } from "./workbench.js";

const coarseM = { from: -7e-4, to: 7e-4, step: 1e-4 } as const;

interface Sample {
  readonly focusM: number;
  readonly score: number;
  readonly needle: NeedleEstimate;
}

/**
 * Vertex of the parabola through the best of equally spaced scores and its neighbours, in steps from it:
 * δ = ½ (S₋₁ − S₊₁) / (S₋₁ − 2 S₀ + S₊₁), skill-agent.md 13.4. Undefined at an end of the scan.
 */
export function parabolaPeak(
  scores: readonly number[],
): { readonly index: number; readonly offset: number } | undefined {
  const index = scores.indexOf(Math.max(...scores));
  const before = scores[index - 1];
  const at = scores[index];
  const after = scores[index + 1];
  if (before === undefined || at === undefined || after === undefined) return undefined;
  const curvature = before - 2 * at + after;
  return { index, offset: curvature < 0 ? (0.5 * (before - after)) / curvature : 0 };
}

/** Position of the least blur from (position m, sigma px) samples: σ² = a + b (z − z₀)². Undefined unless it is a minimum. */
export function leastBlur(
  samples: readonly { readonly focusM: number; readonly sigmaPx: number }[],
): number | undefined {
  const middle = samples.reduce((sum, s) => sum + s.focusM, 0) / samples.length;
  const rows = samples.map((s) => {
    const z = (s.focusM - middle) * 1e4;
    return [1, z, z * z];
  });
  const { x } = leastSquares(
    rows,
    samples.map((s) => s.sigmaPx ** 2),
    1e-6,
  );
  const [, slope = NaN, curvature = NaN] = x;
  if (!(curvature > 0)) return undefined;
  return middle - slope / (2 * curvature) / 1e4;
}

/** The region around the tip and the last of the shank, or the middle of the frame's upper part. */
function focusRegion(needle: NeedleEstimate | undefined, width: number, height: number): Roi {
  const side = 420;
  const x = needle?.found === true ? needle.tipX - side / 2 : (width - side) / 2;
  const y = needle?.found === true ? needle.tipY - side * 0.85 : (height - side) / 2;
  return {
    x: Math.round(Math.min(Math.max(0, x), width - side)),
    y: Math.round(Math.min(Math.max(0, y), height - side)),
    width: side,
    height: side,
  };
}

export class AdjustFocus implements SkillProgram {
  readonly name = Skill.focus;
  readonly summary = "Moves the focus stages alone until the needle's end is sharp in both views.";
  readonly timeLimitS = 60;

  constructor(private readonly bench: () => Workbench) {}

  async run(context: SkillContext): Promise<SkillOutcome> {
    const bench = this.bench();
    const { signal } = context;
    const start = viewIndexes.map((i) => bench.focusPosition(i));
    await context.stage("coarse scan", { fromM: coarseM.from, toM: coarseM.to, stepM: coarseM.step });
    const scans = await this.scan(bench, start, signal);
    const peaks = viewIndexes.map((i) => this.peakOf(bench, i, scans[i] ?? []));
    bench.session.advanceEpoch();
    const sigmas = await refineFocus(bench, peaks, context);
    if (bench.session.registration !== undefined) {
      // Image positions are calibrated for the focus they were registered at, give or take the depth of the work.
      const strayed = viewIndexes.some(
        (i) => Math.abs(bench.focusPosition(i) - (bench.session.registration?.focusM[i] ?? 0)) > 1.2e-3,
      );
      if (strayed) bench.session.clearRegistration();
    }
    const sharp = sigmas.every((sigma) => sigma < working.sharpSigmaPx);
    return {
      status: sharp ? "succeeded" : "failed",
      detail: `edge blur ${sigmas.map((sigma) => sigma.toFixed(2)).join(" and ")} px`,
      ...(sharp ? {} : { code: "SKILL_FAILED" as const }),
      measurements: { edgeSigmaPx: sigmas, focusM: viewIndexes.map((i) => bench.focusPosition(i)) },
    };
  }

  private async scan(bench: Workbench, start: readonly number[], signal: AbortSignal): Promise<Sample[][]> {
    const scans: Sample[][] = [[], []];
    for (let offset: number = coarseM.from; offset <= coarseM.to + 1e-9; offset += coarseM.step) {
      const wanted = start.map((value) => value + offset);
      await bench.moveStages(targets(wanted), signal, false);
      await Promise.all(
        viewIndexes.map(async (i) => {
          const sample = await bench.withFrame(i, bench.clock.now(), async (frame) => {
            const needle = await bench.geometry.findNeedle(frame);
            const known = needle.found ? needle : bench.session.needles[i];
            const metrics = await bench.geometry.measureImage(
              frame,
              focusRegion(known, frame.width, frame.height),
            );
            // Divided by the squared mean: light drift between frames must not look like focus.
            return {
              focusM: bench.focusPosition(i),
              score: metrics.tenengrad / Math.max(1, metrics.mean ** 2),
              needle,
            };
          });
          if (sample.needle.found) bench.session.needles[i] = sample.needle;
          scans[i]?.push(sample);
        }),
      );
      if (scans.every((list) => isPast(list))) break;
    }
    return scans;
  }

  private peakOf(bench: Workbench, i: ViewIndex, samples: readonly Sample[]): number {
    // The needle's own blur is the better witness wherever it was measured.
    const seen = samples.filter((s) => s.needle.found && s.needle.edgeSigmaPx < 12);
    const best = seen.reduce<Sample | undefined>(
      (low, s) => (low === undefined || s.needle.edgeSigmaPx < low.needle.edgeSigmaPx ? s : low),
      undefined,
    );
    if (best !== undefined && seen.length >= 3) return best.focusM;
    const peak = parabolaPeak(samples.map((s) => s.score));
    const at = peak === undefined ? undefined : samples[peak.index];
    if (peak === undefined || at === undefined)
      throw new CellError(
        "VISION_UNKNOWN",
        `${bench.file.microscopes[i].name}: the sharpest position lies at an end of the scan`,
        {
          remedy: "bring needle and focus stage nearer to each other by hand",
        },
      );
    return at.focusM + peak.offset * coarseM.step;
  }
}

const targets = (focus: readonly number[]): StageTargets => ({
  focus1: focus[0] ?? 0,
  focus2: focus[1] ?? 0,
});

/** The scan has gone far enough beyond a clear best. */
function isPast(samples: readonly Sample[]): boolean {
  const blurs = samples.map((s) => (s.needle.found ? s.needle.edgeSigmaPx : Infinity));
  const least = Math.min(...blurs);
  const at = blurs.indexOf(least);
  return least < 4 && samples.length - at > 3;
}

/** Defocus that a blur speaks of, m: from the depth of field (1.2 px of blur at its end) and the blur in focus. */
export function defocusOf(sigmaPx: number, depthOfFieldM: number): number {
  return (depthOfFieldM * Math.sqrt(Math.max(0, sigmaPx ** 2 - sharpestPx ** 2))) / 1.2;
}

/** A focus stage moves at most so far for where the shank is sharpest, m: beyond it the scan was wrong. */
const settleRangeM = 1e-4;

/**
 * The needle slants through the depth of field, and its blur alone does not tell a sharp tip from a tip a little beyond a
 * sharp shank. Where the shank is sharpest does: the plane of focus cuts it there, so many pixels above the tip. One move
 * brings the plane to the tip; a view whose picture gets worse by it goes back. Returns the blur then, px.
 */
async function settleOnTip(
  bench: Workbench,
  before: readonly number[],
  context: Pick<SkillContext, "signal">,
): Promise<number[]> {
  const { signal } = context;
  const at = viewIndexes.map((i) => bench.focusPosition(i));
  const look = await bench.look(signal, 3);
  const views = bench.drawnViews();
  const axis = directionFromImages(views, look.directions);
  const shifts = viewIndexes.map((i) =>
    tipBeyondFocus(look.needles[i].sharpestPx, dot(views[i].forward, axis), projectVector(views[i], axis)),
  );
  if (shifts.every((shift) => Math.abs(shift) < 5e-6)) return [...before];
  await bench.moveStages(targets(viewIndexes.map((i) => (at[i] ?? NaN) + (shifts[i] ?? 0))), signal, false);
  const after = (await bench.look(signal, 2)).needles.map((needle) => needle.edgeSigmaPx);
  const worse = viewIndexes.map(
    (i) => (after[i] ?? NaN) > Math.max(working.sharpSigmaPx / 2, 1.5 * (before[i] ?? NaN)),
  );
  if (!worse.includes(true)) return after;
  const back = viewIndexes.map((i) => (worse[i] === true ? (at[i] ?? NaN) : bench.focusPosition(i)));
  await bench.moveStages(targets(back), signal, false);
  return viewIndexes.map((i) => (worse[i] === true ? (before[i] ?? NaN) : (after[i] ?? NaN)));
}

/**
 * How far the tip lies beyond the plane of focus, m along the view: `sharpestPx` above the tip, on a needle that goes
 * `forward` m deeper per metre and appears as `imagePxPerM`. 0 where it is not known, bounded to the range of one move. Pure.
 */
export function tipBeyondFocus(sharpestPx: number | undefined, forward: number, imagePxPerM: Pixel): number {
  const depthM = ((sharpestPx ?? NaN) * forward) / Math.hypot(...imagePxPerM);
  return Number.isFinite(depthM) ? clamp(depthM, -settleRangeM, settleRangeM) : 0;
}

/** Blur in focus, px; below `goodPx` nothing is to be gained by another round. */
const sharpestPx = 0.8;
const goodPx = 1.15;
const maxRounds = 4;

/**
 * Focuses both views on the needle's end around `near` (m, by view) by the blur of its edges: three positions, as far
 * apart as the blur says that the focus is off, and the vertex of the parabola through the squares. Notes where the tip
 * is sharp. Returns the blur reached, px.
 */
export async function refineFocus(
  bench: Workbench,
  near: readonly number[],
  context: Pick<SkillContext, "signal" | "stage">,
): Promise<number[]> {
  const { signal } = context;
  let centre = [...near];
  await bench.moveStages(targets(centre), signal, false);
  let sigmas = (await bench.look(signal, 2)).needles.map((needle) => needle.edgeSigmaPx);
  for (let round = 0; round < maxRounds && Math.max(...sigmas) > goodPx; round++) {
    const steps = viewIndexes.map((i) =>
      Math.min(
        2e-4,
        Math.max(3e-5, 0.8 * defocusOf(sigmas[i] ?? NaN, bench.file.microscopes[i].depthOfFieldM)),
      ),
    );
    const seen = viewIndexes.map((i) => [{ focusM: centre[i] ?? NaN, sigmaPx: sigmas[i] ?? NaN }]);
    for (const k of [-1, 1]) {
      const at = viewIndexes.map((i) => (centre[i] ?? NaN) + k * (steps[i] ?? NaN));
      await bench.moveStages(targets(at), signal, false);
      const look = await bench.look(signal, 2);
      viewIndexes.forEach((i) =>
        seen[i]?.push({ focusM: bench.focusPosition(i), sigmaPx: look.needles[i].edgeSigmaPx }),
      );
    }
    centre = viewIndexes.map((i) => {
      const samples = seen[i] ?? [];
      const sharpest = samples.reduce((a, b) => (b.sigmaPx < a.sigmaPx ? b : a)).focusM;
      const wanted = leastBlur(samples) ?? sharpest;
      const reach = 1.5 * (steps[i] ?? 0);
      return Math.min(Math.max(wanted, (centre[i] ?? 0) - reach), (centre[i] ?? 0) + reach);
    });
    await bench.moveStages(targets(centre), signal, false);
    sigmas = (await bench.look(signal, 2)).needles.map((needle) => needle.edgeSigmaPx);
  }
  sigmas = await settleOnTip(bench, sigmas, context);
  centre = viewIndexes.map((i) => bench.focusPosition(i));
  const tip = bench.tip();
  viewIndexes.forEach((i) => {
    bench.session.sharpAt[i] = { focusM: bench.focusPosition(i), tip };
  });
  await context.stage("focus", { edgeSigmaPx: sigmas, focusM: centre });
  return sigmas;
}
