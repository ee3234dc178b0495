/**
 * The registration skill: relates what the microscopes see to robot coordinates and finds the targets in them. The tip
 * visits poses, is triangulated in both views, a rigid transform is fitted, and its error is measured on poses that were
 * left out, after the arm has been away and come back (skill-agent.md 4.2, 13.2).
 */
import { CellError } from "../../base/errors.js";
import {
  add,
  apply,
  distance,
  dot,
  scale,
  subtract,
  type Mat3,
  type Transform,
  type Vec3,
} from "../../base/transform.js";
import {
  anchored,
  fitView,
  triangulate,
  type Pixel,
  type ViewModel,
  type ViewPair,
} from "../perception/view-model.js";
import type { ProcedureTarget } from "../procedure/schema.js";
import { Skill } from "../safety/skill-names.js";
import { refineFocus } from "./adjust-focus.js";
import { hookContrast } from "./hook-check.js";
import { published, working } from "./limits.js";
import { correctPose, plannedAxis } from "./pose-correction.js";
import { findSite, focusOnTissue, picksOf, trackSites } from "./site-tracker.js";
import type { SkillContext, SkillOutcome, SkillProgram } from "./skill.js";
import { asPair, viewIndexes, type Look, type Workbench } from "./workbench.js";

/** Tip offsets of the fitted poses, head frame as seen from robot coordinates: x, y across, z up; m. */
const fittedPoses: readonly Vec3[] = [
  [0, 0, 0],
  [3e-4, 3e-4, 0],
  [-3e-4, 3e-4, 1.5e-4],
  [-3e-4, -3e-4, 0],
  [3e-4, -3e-4, 1.5e-4],
  [0, 3e-4, 3e-4],
  [3e-4, 0, 3e-4],
  [-3e-4, 0, 3e-4],
  [0, -3e-4, 3e-4],
];
const heldOutPoses: readonly Vec3[] = [
  [2e-4, 1e-4, 1e-4],
  [-2e-4, 2e-4, 0.5e-4],
  [1e-4, -2.5e-4, 2e-4],
  [-1e-4, -1e-4, 2.5e-4],
];
/** How far the arm goes away between fitted and held-out poses, m. */
const awayM = 0.02;

interface Visit {
  readonly points: Vec3[];
  readonly pixels: readonly [Pixel[], Pixel[]];
}

export class SpatialRegistration implements SkillProgram {
  readonly name = Skill.registration;
  readonly summary =
    "Visits poses with the tip, fits image to robot, measures TRE on held-out poses and localises the targets.";
  readonly timeLimitS = 180;

  constructor(private readonly bench: () => Workbench) {}

  async run(context: SkillContext): Promise<SkillOutcome> {
    const { session } = this.bench();
    try {
      const outcome = await this.register(context);
      if (outcome.status !== "succeeded") session.clearRegistration();
      return outcome;
    } catch (error) {
      // Half a registration is none: broken off between fit and localisation it would leave targets without a place.
      session.clearRegistration();
      throw error;
    }
  }

  private async register(context: SkillContext): Promise<SkillOutcome> {
    const bench = this.bench();
    const { session } = bench;
    const { signal } = context;
    session.clearRegistration();
    session.advanceEpoch();
    const next = session.nextTarget();
    if (next === undefined) throw new CellError("COMMAND_INVALID", "there is no target left to register for");

    let look = await bench.look(signal);
    bench.anchor(look);
    await context.stage("clearance", { tipM: look.tipM });
    const sites = await this.findTarget(bench, next.state.target, signal);
    await this.rise(bench, look, sites, context);
    look = await bench.look(signal);
    bench.anchor(look);
    if (
      session.sharpAt.includes(undefined) ||
      look.needles.some((n) => n.edgeSigmaPx > working.refocusSigmaPx)
    ) {
      await refineFocus(
        bench,
        viewIndexes.map((i) => bench.focusPosition(i)),
        context,
      );
      look = await bench.look(signal);
    }
    ({ look } = await correctPose(bench, next.state.target, context, look));
    await this.recentre(bench, look, sites, context);

    await context.stage("hook", {});
    const hook = await hookContrast(
      bench,
      await bench.look(signal, 2),
      plannedAxis(bench, next.state.target),
    );
    session.needleIntact = hook.present;
    if (hook.present === false) {
      return {
        status: "failed",
        code: "DEVICE_FAULT",
        detail: "the needle has no hook at its tip: it is broken or worn; replace it",
        measurements: { hookContrast: hook.contrast },
      };
    }

    const first = await this.visit(bench, fittedPoses, context, "fitted pose");
    await context.stage("arm away and back", { distanceM: awayM });
    const home = bench.reading().arm;
    await bench.moveHeadBy(scale(bench.up(), awayM), signal);
    await bench.moveArm(home, signal);
    const second = await this.visit(bench, heldOutPoses, context, "held-out pose");

    const { freM, treM, robotFromImage } = rigidErrors(bench, first, second);
    const views = asPair(
      viewIndexes.map(
        (i): ViewModel =>
          fitView(bench.drawnViews()[i], [
            { points: first.points, pixels: first.pixels[i] },
            { points: second.points, pixels: second.pixels[i] },
          ]).view,
      ),
    );
    if (!(treM < published.treM))
      return {
        status: "failed",
        code: "REGISTRATION_POOR",
        detail: `held-out error ${(treM * 1e3).toFixed(3)} mm; needed < ${published.treM * 1e3} mm`,
        measurements: { treM, freM },
      };
    session.registration = {
      views,
      freM,
      treM,
      establishedS: bench.clock.now(),
      focusM: asPair(viewIndexes.map((i) => bench.focusPosition(i))),
    };
    bench.anchor(await bench.look(signal, 2));
    await context.stage("registered", {
      treM,
      freM,
      robotFromImageTranslationM: [...robotFromImage.translation],
      robotFromImageRotation: robotFromImage.rotation.flat(),
    });
    await this.strokeDirection(bench, context);
    const localisationM = await this.localise(bench, context);
    if (!(localisationM < Math.min(working.viewsAgreeM, published.localisationM))) {
      return {
        status: "failed",
        code: "REGISTRATION_POOR",
        detail:
          `the views disagree about a target by ${(localisationM * 1e6).toFixed(0)} µm, at most ` +
          `${working.viewsAgreeM * 1e6} µm are allowed: its picks are not of the same tissue; plan again`,
        measurements: { treM, localisationM },
      };
    }
    return {
      status: "succeeded",
      detail: `held-out error ${(treM * 1e6).toFixed(0)} µm, targets localised within ${(localisationM * 1e6).toFixed(1)} µm`,
      measurements: { treM, freM, localisationM, poses: first.points.length, heldOut: second.points.length },
    };
  }

  /** Where the target is now; the focus goes to the tissue for it and comes back to the tip, found or not. */
  private async findTarget(
    bench: Workbench,
    target: ProcedureTarget,
    signal: AbortSignal,
  ): Promise<readonly [Pixel, Pixel]> {
    await focusOnTissue(bench, [picksOf(target)], signal);
    try {
      return await findSite(bench, target, undefined, 120);
    } finally {
      if (!signal.aborted) await bench.moveStages(bench.focusFor(bench.tip()), signal, false);
    }
  }

  /** Lifts the tip until it is clear of the tissue for moves across. */
  private async rise(
    bench: Workbench,
    look: Look,
    sites: readonly [Pixel, Pixel],
    context: SkillContext,
  ): Promise<void> {
    const height = dot(bench.up(), subtract(bench.seenTip(look), triangulate(bench.views(), sites).point));
    const lift = working.clearanceM - height;
    await context.stage("height above the site", { heightM: height });
    if (lift > 0) await bench.moveTipBy(scale(bench.up(), lift), context.signal);
  }

  /** Tip to the middle of both views, so that all poses stay inside, but clear of the tissue. */
  private async recentre(
    bench: Workbench,
    look: Look,
    sites: readonly [Pixel, Pixel],
    context: SkillContext,
  ): Promise<void> {
    bench.anchor(look);
    const views = bench.views();
    const { widthPx, heightPx } = bench.file.microscopes[0];
    const middle: Pixel = [widthPx / 2, 0.4 * heightPx];
    const centre = triangulate(views, [middle, middle]).point;
    const height = dot(bench.up(), subtract(centre, triangulate(views, sites).point));
    const goal = add(centre, scale(bench.up(), Math.max(0, working.clearanceM - height)));
    const delta = subtract(goal, bench.seenTip(look));
    await context.stage("recentre", { deltaM: [...delta] });
    await bench.moveTipBy(delta, context.signal);
  }

  private async visit(
    bench: Workbench,
    offsets: readonly Vec3[],
    context: SkillContext,
    name: string,
  ): Promise<Visit> {
    const centre = bench.tip();
    const up = bench.up();
    const points: Vec3[] = [];
    const pixels: [Pixel[], Pixel[]] = [[], []];
    for (const [x, y, z] of offsets) {
      const goal = add(add(centre, [x, y, 0]), scale(up, z));
      await bench.moveTipTo(goal, context.signal);
      const look = await bench.look(context.signal, 3);
      points.push(look.tipM);
      viewIndexes.forEach((i) => pixels[i].push(look.tips[i]));
      await context.stage(name, { tipM: [...look.tipM], pixels: look.tips.flat() });
    }
    await bench.moveTipTo(centre, context.signal);
    return { points, pixels };
  }

  /** How the tip's image moves when the needle drive strokes: measured in air. */
  private async strokeDirection(bench: Workbench, context: SkillContext): Promise<void> {
    const { signal } = context;
    const strokeM = 2e-4;
    const before = await bench.look(signal, 3);
    const at = bench.devices.needle.position();
    await bench.moveNeedle(at + strokeM, { speedMS: 0.005, accelerationMS2: 0.5 }, signal);
    const after = await bench.look(signal, 3);
    await bench.moveNeedle(at, { speedMS: 0.005, accelerationMS2: 0.5 }, signal);
    bench.session.strokeImage = asPair(
      viewIndexes.map((i): Pixel => [
        (after.tips[i][0] - before.tips[i][0]) / strokeM,
        (after.tips[i][1] - before.tips[i][1]) / strokeM,
      ]),
    );
    await context.stage("stroke direction", { pxPerMetre: bench.session.strokeImage.flat() });
  }

  /** Target localisation: end-expiration positions of all targets left. Returns the largest disagreement of views, m. */
  private async localise(bench: Workbench, context: SkillContext): Promise<number> {
    const left = bench.session.targets.filter((state) => !state.implanted);
    await focusOnTissue(
      bench,
      left.map((state) => state.sitePx ?? picksOf(state.target)),
      context.signal,
    );
    const sites = await trackSites(
      bench,
      left.map((state) => ({ target: state.target, near: state.sitePx })),
      context.signal,
    );
    await bench.moveStages(bench.focusFor(bench.tip()), context.signal, false);
    let worst = 0;
    for (const [k, site] of sites.entries()) {
      const state = left[k];
      if (state === undefined) continue;
      const { point, residualPx } = triangulate(bench.views(), site.rest);
      state.sitePx = site.rest;
      state.siteM = point;
      const disagreement = residualPx * bench.file.microscopes[0].metresPerPixel * 2;
      worst = Math.max(worst, disagreement);
      await context.stage("target localised", {
        target: state.target.id,
        siteM: [...point],
        sitePx: site.rest.flat(),
        residualPx,
        breathingHz: site.fits[0].breathingHz,
        pulseHz: site.fits[0].pulseHz,
      });
    }
    return worst;
  }
}

/** Rigid fit of triangulated (drawn) image points to robot points; FRE on the fitted, TRE on the held-out poses. */
export function rigidErrors(
  bench: Pick<Workbench, "drawnViews" | "geometry">,
  fitted: Visit,
  heldOut: Visit,
): { readonly freM: number; readonly treM: number; readonly robotFromImage: Transform } {
  const origin = fitted.points[0] ?? [0, 0, 0];
  const views: ViewPair = asPair(
    viewIndexes.map((i) => anchored(bench.drawnViews()[i], origin, fitted.pixels[i][0] ?? [0, 0])),
  );
  const image = (visit: Visit): Vec3[] =>
    visit.points.map(
      (_, k) =>
        triangulate(views, asPair(viewIndexes.map((i): Pixel => visit.pixels[i][k] ?? [NaN, NaN]))).point,
    );
  const flat = (points: readonly Vec3[]): Float64Array => Float64Array.from(points.flat());
  const fit = bench.geometry.registerRigid(flat(image(fitted)), flat(fitted.points));
  const r = fit.rotation;
  const at = (k: number): number => r[k] ?? NaN;
  const rotation: Mat3 = [
    [at(0), at(1), at(2)],
    [at(3), at(4), at(5)],
    [at(6), at(7), at(8)],
  ];
  const robotFromImage: Transform = {
    rotation,
    translation: [fit.translation[0] ?? NaN, fit.translation[1] ?? NaN, fit.translation[2] ?? NaN],
  };
  const errors = image(heldOut).map((point, k) =>
    distance(apply(robotFromImage, point), heldOut.points[k] ?? [NaN, NaN, NaN]),
  );
  const treM = Math.sqrt(errors.reduce((sum, e) => sum + e * e, 0) / errors.length);
  return { freM: fit.fre, treM, robotFromImage };
}
