/**
 * The focus skill. The blur of the needle's own edges says how far the focus is off, though not to which side: two or three
 * positions tell where it lies, then the square of the blur, a parabola of the defocus, gives it to a few micrometres.
 */
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import { dot } from "../../base/transform.js";
import { clamp } from "../../base/units.js";
import type { NeedleEstimate, Roi } from "../../cell/native.js";
import { directionFromImages, projectVector, type Pixel } from "../perception/view-model.js";
import { Skill } from "../safety/skill-names.js";
import { defocusOf, FocusHunt } from "./focus-hunt.js";
import { working } from "./limits.js";
import type { SkillContext, SkillOutcome, SkillProgram } from "./skill.js";
import { viewIndexes, type StageTargets, type ViewIndex, type Workbench } from "./workbench.js";

/** Looks of a view that one run of the skill may take. */
const frameBudget = 12;
/** Share of the picture around the needle that may be clipped: edges that are cut off say nothing of their blur. */
const clippedShare = 0.1;

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
    const before = [...bench.framesUsed];
    const start = viewIndexes.map((i) => bench.focusPosition(i));
    const near = await this.hunt(bench, context).catch(async (error: unknown) => {
      // Not left where the search ended: the next attempt would begin there and wander off for good.
      if (!context.signal.aborted) await bench.moveStages(targets(start), context.signal, false);
      throw error;
    });
    bench.session.advanceEpoch();
    const used = Math.max(...viewIndexes.map((i) => bench.framesUsed[i] - (before[i] ?? 0)));
    const rounds = Math.floor((frameBudget - used - 1 - settleFrames) / framesOfRound);
    const sigmas = await refineFocus(bench, near, context, Math.max(1, rounds));
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

  /** Where the needle's end is about sharp in each view, m; both axes move at once. @throws CellError VISION_UNKNOWN */
  private async hunt(bench: Workbench, { signal, stage }: SkillContext): Promise<number[]> {
    const hunts = viewIndexes.map((i) => {
      const { depthOfFieldM, focusAxis } = bench.file.microscopes[i];
      return new FocusHunt(bench.focusPosition(i), bench.devices.stages.limits(focusAxis), depthOfFieldM);
    });
    for (;;) {
      const wanted = hunts.map((hunt) => hunt.next());
      if (wanted.every((focusM) => focusM === undefined)) break;
      await bench.moveStages(
        targets(viewIndexes.map((i) => wanted[i] ?? bench.focusPosition(i))),
        signal,
        false,
      );
      const afterS = bench.clock.now();
      await Promise.all(
        viewIndexes.map(async (i) => {
          if (wanted[i] === undefined) return;
          hunts[i]?.add(bench.focusPosition(i), await this.blur(bench, i, afterS));
        }),
      );
    }
    const found = viewIndexes.map((i) => {
      const { name } = bench.file.microscopes[i];
      const hunt = hunts[i];
      if (hunt?.focusM === undefined)
        throw new CellError(
          "VISION_UNKNOWN",
          `${name}: no focus ${hunt?.coverage ?? ""} shows the needle sharp enough to be measured`,
          { remedy: "bring needle and focus stage nearer to each other by hand, and set the exposure first" },
        );
      return hunt.focusM;
    });
    await stage("hunt", { looks: hunts.map((hunt) => hunt.looks), focusM: found });
    return found;
  }

  /** Blur of the needle's edges in one frame, px; undefined when it shows no needle. @throws CellError VISION_UNKNOWN when clipped */
  private async blur(bench: Workbench, i: ViewIndex, afterS: number): Promise<number | undefined> {
    return bench.withFrame(i, afterS, async (frame) => {
      const needle = await bench.geometry.findNeedle(frame);
      const known = needle.found ? needle : bench.session.needles[i];
      const { clippedHigh, clippedLow } = await bench.geometry.measureImage(
        frame,
        focusRegion(known, frame.width, frame.height),
      );
      const clipped = Math.max(clippedHigh, clippedLow);
      if (clipped > clippedShare)
        throw new CellError(
          "VISION_UNKNOWN",
          `${bench.file.microscopes[i].name}: ${(100 * clipped).toFixed(0)} % of the picture around the needle is clipped`,
          { remedy: "set the exposure first: clipped edges do not tell how sharp they are" },
        );
      if (!needle.found) return undefined;
      bench.session.needles[i] = needle;
      return needle.edgeSigmaPx;
    });
  }
}

const targets = (focus: readonly number[]): StageTargets => ({
  focus1: focus[0] ?? 0,
  focus2: focus[1] ?? 0,
});

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
  const look = await bench.look(signal, settleFrames - 1);
  const views = bench.drawnViews();
  const axis = directionFromImages(views, look.directions);
  const shifts = viewIndexes.map((i) =>
    tipBeyondFocus(look.needles[i].sharpestPx, dot(views[i].forward, axis), projectVector(views[i], axis)),
  );
  if (shifts.every((shift) => Math.abs(shift) < 5e-6)) return [...before];
  await bench.moveStages(targets(viewIndexes.map((i) => (at[i] ?? NaN) + (shifts[i] ?? 0))), signal, false);
  const after = (await bench.look(signal, 1)).needles.map((needle) => needle.edgeSigmaPx);
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

/** Below this blur nothing is to be gained by another round, px. */
const goodPx = 1.15;
const usualRounds = 4;
/** Frames of a view that a round of three positions takes, and those that settle on the tip. */
const framesOfRound = 3;
const settleFrames = 3;

/**
 * Focuses both views on the needle's end around `near` (m, by view) by the blur of its edges: three positions, as far
 * apart as the blur says that the focus is off, and the vertex of the parabola through the squares. Notes where the tip
 * is sharp. Returns the blur reached, px.
 */
export async function refineFocus(
  bench: Workbench,
  near: readonly number[],
  context: Pick<SkillContext, "signal" | "stage">,
  maxRounds = usualRounds,
): Promise<number[]> {
  const { signal } = context;
  let centre = [...near];
  await bench.moveStages(targets(centre), signal, false);
  let sigmas = (await bench.look(signal, 1)).needles.map((needle) => needle.edgeSigmaPx);
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
      const look = await bench.look(signal, 1);
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
    sigmas = (await bench.look(signal, 1)).needles.map((needle) => needle.edgeSigmaPx);
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
