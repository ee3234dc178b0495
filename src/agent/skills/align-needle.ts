/**
 * The alignment skill: turns the needle onto the planned axis and puts its tip over the site at the stand-off, in both
 * views. The fine part is the native servo loop: frame → geometry → law → envelope → stage, without JavaScript.
 */
import { asCellError, CellError } from "../../base/errors.js";
import { add, angleBetween, distance, dot, scale, subtract, type Vec3 } from "../../base/transform.js";
import type { ServoAxis, ServoReport } from "../../cell/native.js";
import type { BreathingFit } from "../perception/breathing.js";
import { projectPoint, projectVector, triangulateVector, type Pixel } from "../perception/view-model.js";
import { rotate } from "../../base/transform.js";
import type { ProcedureTarget } from "../procedure/schema.js";
import { Skill } from "../safety/skill-names.js";
import { refineFocus } from "./adjust-focus.js";
import { published, working } from "./limits.js";
import { correctPose, plannedAxis, seenAxis } from "./pose-correction.js";
import { focusOnTissue, picksOf, trackSites, type SiteAtRest } from "./site-tracker.js";
import type { SkillContext, SkillOutcome, SkillProgram } from "./skill.js";
import { asPair, viewIndexes, type Look, type Workbench } from "./workbench.js";

/** Frames of a view that last about a breath, at 1 to 1.5 Hz. */
const breathFrames = 13;
/** No correction below this share of the published alignment error: a stage's step and the noise of a look. */
const settledShare = 0.25;
const maxCorrections = 2;
/** A correction that leaves more than this share of the error is the last. */
const shrinking = 0.8;

export interface AlignerParts {
  readonly bench: () => Workbench;
  readonly runServo: RunServo;
}

/** Runs the native servo with goals (px) in both views; the composition lends it the stage link and the cameras. */
export type RunServo = (
  request: {
    readonly goals: readonly [Pixel, Pixel];
    readonly priors: Look["needles"];
    readonly axes: readonly ServoAxis[];
    readonly tolerancePx: number;
    readonly consecutive: number;
  },
  signal: AbortSignal,
) => Promise<ServoReport>;

export interface FineAlignment {
  readonly angleRad: number;
  readonly errorM: readonly [number, number];
  readonly goals: readonly [Pixel, Pixel];
  readonly rest: readonly [Pixel, Pixel];
  readonly breathing: readonly [BreathingFit, BreathingFit];
  readonly axis: Vec3;
}

export class AlignNeedle implements SkillProgram {
  readonly name = Skill.align;
  readonly summary =
    "Turns the needle onto the planned axis and centres its tip over the site until both views agree for three looks.";
  readonly timeLimitS = 120;

  constructor(private readonly parts: AlignerParts) {}

  async run(context: SkillContext): Promise<SkillOutcome> {
    const bench = this.parts.bench();
    const { session } = bench;
    session.alignment = undefined;
    const next = session.nextTarget();
    if (next === undefined) throw new CellError("COMMAND_INVALID", "there is no target left to align to");
    const { siteM, target } = next.state;
    if (siteM === undefined) {
      // Nothing but a registration localises: make it the next step.
      session.clearRegistration();
      return { status: "failed", code: "SKILL_FAILED", detail: `target ${target.id} has not been localised` };
    }

    const look = await this.confirmRegistration(bench, context);
    if (look === undefined)
      return {
        status: "failed",
        code: "REGISTRATION_POOR",
        detail: "the tip is not seen where the registration says: register again",
      };
    await approachSite(bench, target, siteM, look, context);
    const fine = await alignFinely(bench, target, this.parts.runServo, context, next.state.sitePx);
    next.state.sitePx = fine.rest;
    const accepted = isAligned(fine);
    await context.stage(accepted ? "alignment accepted" : "alignment not accepted", {
      target: target.id,
      angleRad: fine.angleRad,
      errorM: [...fine.errorM],
      goalsPx: fine.goals.flat(),
      sitePx: fine.rest.flat(),
      standoffM: working.standoffM,
    });
    await bench.keepFrames("aligned");
    const detail = `angle ${((fine.angleRad * 180) / Math.PI).toFixed(2)}°, ${fine.errorM.map((e) => (e * 1e6).toFixed(1)).join(" and ")} µm`;
    if (!accepted) return { status: "not_converged", code: "SKILL_NOT_CONVERGED", detail };
    session.frameEpoch++;
    session.alignment = {
      targetIndex: next.index,
      epoch: session.frameEpoch,
      angleRad: fine.angleRad,
      errorM: fine.errorM,
    };
    return {
      status: "succeeded",
      detail,
      measurements: { angleRad: fine.angleRad, errorM: [...fine.errorM] },
    };
  }

  /** A check pose: the tip must be seen near where the registration predicts it; then the arm's own error drops out. */
  private async confirmRegistration(bench: Workbench, context: SkillContext): Promise<Look | undefined> {
    const look = await bench.look(context.signal, 2);
    const strayed = viewIndexes.map((i) =>
      bench.lengthInView(i, projectPoint(bench.views()[i], look.tipM), look.tips[i]),
    );
    await context.stage("check pose", { strayedM: strayed });
    if (Math.max(...strayed) >= published.treM) {
      bench.session.clearRegistration();
      return undefined;
    }
    return look;
  }
}

export const isAligned = (fine: Pick<FineAlignment, "angleRad" | "errorM">): boolean =>
  fine.angleRad < published.alignAngleRad &&
  fine.errorM.every((error) => error < working.alignAcceptShare * published.alignErrorM);

/**
 * Brings the tip over the site: clear of the tissue first, then turned onto the planned axis, then to the registered
 * coordinates of the stand-off.
 */
export async function approachSite(
  bench: Workbench,
  target: ProcedureTarget,
  siteM: Vec3,
  first: Look,
  context: Pick<SkillContext, "signal" | "stage">,
): Promise<void> {
  const up = bench.up();
  const height = dot(up, subtract(bench.tip(), siteM));
  if (height < working.clearanceM)
    await bench.moveTipBy(scale(up, working.clearanceM - height), context.signal);
  await correctPose(
    bench,
    target,
    context,
    height < working.clearanceM ? await bench.look(context.signal) : first,
  );
  const axis = plannedAxis(bench, target);
  const goal = add(siteM, scale(axis, -working.standoffM));
  const above = add(goal, scale(up, working.clearanceM - working.standoffM));
  if (distance(above, bench.tip()) > 1e-4) await bench.moveTipTo(above, context.signal);
  await bench.moveTipTo(goal, context.signal);
  await context.stage("arrived at registered coordinates", {
    target: target.id,
    siteM: [...siteM],
    goalM: [...goal],
    reportedTipM: [...bench.tip()],
    atS: bench.clock.now(),
  });
}

/** Tracks the site at the focus of the tip; where it is too blurred to be recognised, at its own focus. */
async function followSite(
  bench: Workbench,
  target: ProcedureTarget,
  near: readonly [Pixel, Pixel] | undefined,
  { signal, stage }: Pick<SkillContext, "signal" | "stage">,
): Promise<SiteAtRest | undefined> {
  try {
    return (await trackSites(bench, [{ target, near }], signal))[0];
  } catch (error) {
    const known = asCellError(error);
    if (known.code !== "VISION_UNKNOWN" || signal.aborted) throw error;
    await stage("site too blurred", { target: target.id, why: known.detail });
    const focus = { focus1: bench.focusPosition(0), focus2: bench.focusPosition(1) };
    await focusOnTissue(bench, [near ?? picksOf(target)], signal);
    const [site] = await trackSites(bench, [{ target, near }], signal);
    await bench.moveStages(focus, signal, false);
    return site;
  }
}

/** Site tracking, servo and measurement at the stand-off. */
export async function alignFinely(
  bench: Workbench,
  target: ProcedureTarget,
  runServo: RunServo,
  context: Pick<SkillContext, "signal" | "stage">,
  near: readonly [Pixel, Pixel] | undefined,
): Promise<FineAlignment> {
  const { signal } = context;
  let look = await bench.look(signal, 2);
  if (look.needles.some((needle) => needle.edgeSigmaPx > working.refocusSigmaPx)) {
    await refineFocus(
      bench,
      viewIndexes.map((i) => bench.focusPosition(i)),
      context,
    );
    look = await bench.look(signal, 2);
  }
  bench.anchor(look);
  const site = await followSite(bench, target, near, context);
  if (site === undefined) throw new RangeError("one target, one site");
  const axis = plannedAxis(bench, target);
  const goals = bench.goals(target, site.rest);
  await context.stage("servo", {
    target: target.id,
    goalsPx: goals.flat(),
    breathingHz: site.fits[0].breathingHz,
  });
  const tolerancePx = (0.35 * published.alignErrorM) / bench.file.microscopes[0].metresPerPixel;
  const report = await runServo(
    { goals, priors: look.needles, axes: servoAxes(bench), tolerancePx, consecutive: working.consecutive },
    signal,
  );
  await context.stage("servo ended", {
    status: report.status,
    detail: report.detail,
    iterations: report.iterations,
    errorPx: [...report.errorPx],
    frameToCommandS: report.frameToCommandS,
  });
  if (report.status === "link" || report.status === "envelope" || report.status === "stopped")
    throw new CellError(
      report.status === "envelope" ? "SAFETY_ENVELOPE" : "SKILL_FAILED",
      `servo: ${report.detail}`,
    );
  const { look: end, errorM } = await settleOnGoals(bench, goals, context);
  return {
    angleRad: angleBetween(seenAxis(bench, end), axis),
    errorM,
    goals,
    rest: site.rest,
    breathing: site.fits,
    axis,
  };
}

/**
 * Looks at the tip for about a breath and moves it by what is still missing, until both views agree or it no longer comes
 * nearer. The tissue moves behind the tip and shifts what single frames show of it by up to two pixels: the servo's few
 * frames may all come from one phase of a breath, the median over a whole one does not care.
 */
async function settleOnGoals(
  bench: Workbench,
  goals: readonly [Pixel, Pixel],
  { signal, stage }: Pick<SkillContext, "signal" | "stage">,
): Promise<{ readonly look: Look; readonly errorM: readonly [number, number] }> {
  let beforeM = Infinity;
  for (let correction = 0; ; correction++) {
    const look = await bench.look(signal, breathFrames);
    const errorM = asPair(viewIndexes.map((i) => bench.lengthInView(i, look.tips[i], goals[i])));
    const worstM = Math.max(...errorM);
    const close = worstM < settledShare * published.alignErrorM;
    if (close || correction >= maxCorrections || worstM > shrinking * beforeM) return { look, errorM };
    beforeM = worstM;
    const missing = asPair(
      viewIndexes.map((i): Pixel => [goals[i][0] - look.tips[i][0], goals[i][1] - look.tips[i][1]]),
    );
    const deltaM = triangulateVector(bench.views(), missing);
    await stage("correction", { errorM: [...errorM], deltaM: [...deltaM] });
    await bench.moveTipBy(deltaM, signal, false);
  }
}

/** Image motion of the tip per pulse of X, Y, Z in both views, with the limits of each axis. */
export function servoAxes(bench: Workbench): ServoAxis[] {
  const { rotation } = bench.baseFromHead();
  const views = bench.views();
  const axes = bench.file.stageAxes;
  const unitMoves: readonly (readonly [number, Vec3])[] = [
    [axes.x, [1, 0, 0]],
    [axes.y, [0, 1, 0]],
    [axes.z, [0, 0, 1]],
  ];
  return unitMoves.map(([axis, direction]) => {
    const step = bench.devices.stages.step(axis);
    const move = scale(rotate(rotation, direction), step);
    const [first, second] = asPair(viewIndexes.map((i) => projectVector(views[i], move)));
    const { min, max } = bench.devices.stages.limits(axis);
    // The loop may wander by half a millimetre around here, no further.
    const here = bench.devices.stages.position(axis);
    return {
      axis,
      pxPerPulse: [first[0], first[1], second[0], second[1]],
      minPulses: Math.ceil(Math.max(min, here - 5e-4) / step),
      maxPulses: Math.floor(Math.min(max, here + 5e-4) / step),
      approach: 1,
    };
  });
}
