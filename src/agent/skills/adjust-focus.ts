/**
 * The focus skill: a coarse scan of both focus axes at once, a parabola through the best, then the blur of the needle's
 * own edges decides: its square is a parabola of the defocus, so three positions give the focus to a few micrometres.
 */
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import type { NeedleEstimate, Roi } from "../../cell/native.js";
import { Skill } from "../safety/skill-names.js";
import { working } from "./limits.js";
import type { SkillContext, SkillOutcome, SkillProgram } from "./skill.js";
import { viewIndexes, type StageTargets, type ViewIndex, type Workbench } from "./workbench.js";

const coarseM = { from: -7e-4, to: 7e-4, step: 1e-4 } as const;
const fineStepM = 4e-5;

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

/**
 * Focuses both views on the needle's end around `near` (m, by view) by the blur of its edges, at three positions; notes
 * where the tip is sharp. Returns the blur reached, px.
 */
export async function refineFocus(
  bench: Workbench,
  near: readonly number[],
  context: Pick<SkillContext, "signal" | "stage">,
): Promise<number[]> {
  let centre = [...near];
  for (let round = 0; round < 2; round++) {
    const seen: { focusM: number; sigmaPx: number }[][] = [[], []];
    for (const k of [-1, 0, 1]) {
      await bench.moveStages(targets(centre.map((value) => value + k * fineStepM)), context.signal, false);
      const look = await bench.look(context.signal, 2);
      viewIndexes.forEach((i) =>
        seen[i]?.push({ focusM: bench.focusPosition(i), sigmaPx: look.needles[i].edgeSigmaPx }),
      );
    }
    const next = viewIndexes.map((i) => {
      const samples = seen[i] ?? [];
      const least = leastBlur(samples);
      const sharpest = samples.reduce((a, b) => (b.sigmaPx < a.sigmaPx ? b : a)).focusM;
      const wanted = least ?? sharpest;
      return Math.min(Math.max(wanted, (centre[i] ?? 0) - 1.5e-4), (centre[i] ?? 0) + 1.5e-4);
    });
    const moved = Math.max(...next.map((value, i) => Math.abs(value - (centre[i] ?? 0))));
    centre = next;
    if (moved < fineStepM) break;
  }
  await bench.moveStages(targets(centre), context.signal, false);
  const look = await bench.look(context.signal, 2);
  viewIndexes.forEach((i) => {
    bench.session.sharpAt[i] = { focusM: bench.focusPosition(i), tip: look.tipM };
  });
  const sigmas = look.needles.map((needle) => needle.edgeSigmaPx);
  await context.stage("focus", { edgeSigmaPx: sigmas, focusM: centre });
  return sigmas;
}
