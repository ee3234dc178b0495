/** The exposure skill: brings the mean of each view into its band. skill-agent.md 13.5, for a linear sensor. */
import { CellError } from "../../base/errors.js";
import { clamp } from "../../base/units.js";
import type { ImageMetrics } from "../../cell/native.js";
import { Skill } from "../safety/skill-names.js";
import { working } from "./limits.js";
import type { SkillContext, SkillOutcome, SkillProgram } from "./skill.js";
import { viewIndexes, type ViewIndex, type Workbench } from "./workbench.js";

const maxFrames = 10;

/** One step of the loop: the factor on exposure that a frame asks for. Pure. */
export function exposureFactor(metrics: Pick<ImageMetrics, "mean" | "clippedHigh">): number {
  const black = working.blackLevel;
  // A clipped frame says only "too bright": the further into clipping, the bolder the step.
  if (metrics.clippedHigh > 0.5) return 1 / 8;
  if (metrics.clippedHigh > 0.1) return 1 / 3;
  return clamp((working.meanTarget - black) / Math.max(1, metrics.mean - black), 1 / 4, 4);
}

export const exposureInBand = (metrics: Pick<ImageMetrics, "mean" | "clippedHigh">): boolean =>
  metrics.mean >= working.meanBand[0] &&
  metrics.mean <= working.meanBand[1] &&
  metrics.clippedHigh < working.clippedShare;

export class AdjustExposure implements SkillProgram {
  readonly name = Skill.exposure;
  readonly summary =
    "Sets exposure (then gain) of both microscopes until their means lie in band for two frames.";
  readonly timeLimitS = 30;

  constructor(private readonly bench: () => Workbench) {}

  async run(context: SkillContext): Promise<SkillOutcome> {
    const bench = this.bench();
    const results = await Promise.all(viewIndexes.map((i) => this.adjust(bench, i, context)));
    const failed = results.filter((result) => !result.ok);
    return {
      status: failed.length === 0 ? "succeeded" : "failed",
      detail: results.map((result) => result.detail).join("; "),
      ...(failed.length > 0 ? { code: "SKILL_FAILED" as const } : {}),
      measurements: {
        means: results.map((result) => result.mean),
        frames: results.map((result) => result.frames),
      },
    };
  }

  private async adjust(
    bench: Workbench,
    i: ViewIndex,
    context: SkillContext,
  ): Promise<{ ok: boolean; detail: string; mean: number; frames: number }> {
    const microscope = bench.devices.microscopes[i];
    const bounds = await microscope.exposureBoundsUs();
    let inBand = 0;
    let mean = NaN;
    let afterS = bench.clock.now();
    for (let frame = 1; frame <= maxFrames; frame++) {
      context.signal.throwIfAborted();
      const { metrics, timeS } = await bench.withFrame(i, afterS, async (lease) => ({
        metrics: await bench.geometry.measureImage(lease),
        timeS: lease.hostTimestampS,
      }));
      afterS = timeS;
      mean = metrics.mean;
      inBand = exposureInBand(metrics) ? inBand + 1 : 0;
      if (inBand >= 2)
        return {
          ok: true,
          detail: `${microscope.name}: mean ${mean.toFixed(0)} in ${frame} frames`,
          mean,
          frames: frame,
        };
      if (inBand > 0) continue;
      const exposure = await microscope.exposureUs();
      const wanted = exposure * exposureFactor(metrics);
      const next = clamp(wanted, bounds.min, bounds.max);
      if (next !== exposure) await microscope.setExposureUs(next);
      else if (!(await this.turnGain(bench, i, wanted > exposure)))
        throw new CellError(
          "CAMERA_FEATURE",
          `${microscope.name}: exposure and gain are at their limit at mean ${mean.toFixed(0)}`,
        );
      await context.stage("exposure", {
        view: i + 1,
        mean,
        clippedHigh: metrics.clippedHigh,
        exposureUs: next,
      });
      // Frames already on their way still carry the old exposure.
      afterS = bench.clock.now() + 0.12;
    }
    return {
      ok: false,
      detail: `${microscope.name}: mean ${mean.toFixed(0)} after ${maxFrames} frames`,
      mean,
      frames: maxFrames,
    };
  }

  /** Gain moves only once exposure is at its limit. */
  private async turnGain(bench: Workbench, i: ViewIndex, brighter: boolean): Promise<boolean> {
    const microscope = bench.devices.microscopes[i];
    const { min, max } = await microscope.gainBounds();
    const gain = await microscope.gain();
    const next = clamp(gain + (brighter ? 1 : -1), min, max);
    if (next === gain) return false;
    await microscope.setGain(next);
    return true;
  }
}
