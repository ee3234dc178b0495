/**
 * The insertion skill: pick up the electrode, make sure of it, align again (pickup moves things), stroke at
 * end-expiration, dwell, withdraw, and see that the electrode stayed. skill-agent.md 14.
 */
import { asCellError, CellError } from "../../base/errors.js";
import type { DeviceReading } from "../../base/frame-tree.js";
import { angleBetween, dot, norm, scale, subtract, type Vec3 } from "../../base/transform.js";
import {
  directionFromImages,
  projectVector,
  triangulateVector,
  type Pixel,
} from "../perception/view-model.js";
import { Skill } from "../safety/skill-names.js";
import {
  alignFinely,
  approachSite,
  isAligned,
  type AlignerParts,
  type FineAlignment,
} from "./align-needle.js";
import { barbDirection } from "./hook-check.js";
import { published, working } from "./limits.js";
import { leaveRow, pickUp } from "./pickup.js";
import { ringOnHook } from "./ring-on-hook.js";
import { seenAxis } from "./pose-correction.js";
import type { TargetState } from "./session.js";
import type { SkillContext, SkillOutcome, SkillProgram } from "./skill.js";
import { asPair, viewIndexes, type Workbench } from "./workbench.js";

/** Loops tried in one run of the skill, and attempts at fine alignment with the loop on the hook. */
const maxLoops = 2;
const maxAlignments = 2;

export class Insert implements SkillProgram {
  readonly name = Skill.insert;
  readonly summary =
    "Picks up an electrode, aligns again, strokes at end-expiration, releases, withdraws and verifies the release.";
  readonly timeLimitS = 240;

  constructor(private readonly parts: AlignerParts) {}

  async run(context: SkillContext): Promise<SkillOutcome> {
    const bench = this.parts.bench();
    const { session } = bench;
    const next = session.nextTarget();
    if (next === undefined || next.state.siteM === undefined)
      throw new CellError("COMMAND_INVALID", "there is no localised target left");
    if (session.alignment?.targetIndex !== next.index)
      return { status: "failed", code: "SKILL_FAILED", detail: "the needle is aligned to another target" };
    const { state } = next;
    const home = bench.reading();

    if (session.loaded === undefined) {
      const failure = await this.fetchElectrode(bench, state, context);
      await context.stage("back to the site", { target: state.target.id, loop: session.loaded ?? null });
      await this.returnHome(bench, home, context);
      if (failure !== undefined) {
        state.failedAttempts++;
        session.alignment = undefined;
        return { status: "failed", code: "SKILL_FAILED", detail: failure };
      }
    }

    const { siteM } = state;
    if (siteM === undefined)
      throw new CellError("INTERNAL", "the site was lost while its electrode was fetched");
    let look = await bench.look(context.signal, 3);
    bench.anchor(look);
    const barb = barbDirection(bench, seenAxis(bench, look));
    const carried = await ringOnHook(bench, look, seenAxis(bench, look), barb);
    if (state.struck) {
      // An earlier run was broken off between stroke and release test: what the hook carries now tells what it left.
      state.struck = false;
      await context.stage("release test", {
        target: state.target.id,
        carried: carried.seen,
        scores: [...carried.scores],
      });
      if (!carried.seen) {
        session.loaded = undefined;
        session.alignment = undefined;
        state.implanted = true;
        return {
          status: "succeeded",
          detail: `target ${state.target.id}: the electrode had stayed in the tissue`,
        };
      }
    }
    await context.stage("loop on the hook", { carried: carried.seen, scores: [...carried.scores] });
    if (!carried.seen) {
      const lost = session.loaded;
      session.loaded = undefined;
      session.alignment = undefined;
      state.failedAttempts++;
      return {
        status: "failed",
        code: "SKILL_FAILED",
        detail: `loop ${lost ?? "?"} was lost on the way to the site`,
      };
    }
    let fine: FineAlignment | undefined;
    for (let attempt = 0; attempt < maxAlignments; attempt++) {
      look = await bench.look(context.signal, 2);
      await approachSite(bench, state.target, siteM, look, context);
      fine = await alignFinely(bench, state.target, this.parts.runServo, context, state.sitePx);
      state.sitePx = fine.rest;
      if (isAligned(fine)) break;
    }
    if (fine === undefined || !isAligned(fine)) {
      session.alignment = undefined;
      return {
        status: "not_converged",
        code: "SKILL_NOT_CONVERGED",
        detail: "alignment with the electrode did not converge",
      };
    }
    await context.stage("alignment accepted", {
      target: state.target.id,
      angleRad: fine.angleRad,
      errorM: [...fine.errorM],
      goalsPx: fine.goals.flat(),
      sitePx: fine.rest.flat(),
      standoffM: working.standoffM,
      withElectrode: true,
    });
    return this.stroke(bench, state, fine, barb, context);
  }

  /** Undefined when an electrode is on the hook, else why not; the needle then stands clear of the cartridge. */
  private async fetchElectrode(
    bench: Workbench,
    state: TargetState,
    context: SkillContext,
  ): Promise<string | undefined> {
    const { session } = bench;
    const axis = seenAxis(bench, await bench.look(context.signal));
    const first = state.target.electrode - 1;
    const order = [...session.loops].sort((a, b) => Math.abs(a - first) - Math.abs(b - first));
    const reasons: string[] = [];
    for (const k of order.slice(0, maxLoops)) {
      let why: string;
      try {
        const pickup = await pickUp(bench, k, state.siteM ?? [0, 0, 0], axis, context);
        if (pickup.engaged) return undefined;
        why = pickup.detail;
      } catch (error) {
        const known = asCellError(error);
        if (context.signal.aborted || !["VISION_UNKNOWN", "SKILL_NOT_CONVERGED"].includes(known.code))
          throw known;
        why = known.detail;
        // Broken off between hook and lift test: at the site it is seen whether the loop came along.
        if (session.loaded !== undefined) return undefined;
      }
      reasons.push(why);
      await bench.keepFrames("pickup-failed");
      await context.stage("pickup failed", { loop: k, why });
      await leaveRow(bench, context.signal);
    }
    return reasons.length > 0 ? reasons.join("; ") : "no electrode is left in the cartridge";
  }

  /** Back the way it came: up, the needle to its place in the head (a little higher), the head to its pose. */
  private async returnHome(bench: Workbench, home: DeviceReading, context: SkillContext): Promise<void> {
    const { x, y, z } = bench.file.stageAxes;
    const lift = -(working.clearanceM - working.standoffM);
    await bench.moveHeadBy(scale(bench.up(), 1.2e-3), context.signal);
    // Out of the row of rings first, along their ribbons.
    await bench.moveStages({ y: home.stages.get(y) ?? 0 }, context.signal, false);
    await bench.moveStages(
      { y: home.stages.get(y) ?? 0, x: home.stages.get(x) ?? 0, z: (home.stages.get(z) ?? 0) + lift },
      context.signal,
    );
    await bench.moveArm(home.arm, context.signal);
    await bench.moveStages(bench.focusFor(bench.tip()), context.signal, false);
  }

  private async stroke(
    bench: Workbench,
    state: TargetState,
    fine: FineAlignment,
    barb: Vec3,
    context: SkillContext,
  ): Promise<SkillOutcome> {
    const { session, clock } = bench;
    const { signal } = context;
    const depthM = state.target.insertionDepthM ?? working.depthM;
    const start = bench.devices.needle.position();
    const goal = start + working.standoffM + depthM;
    const { speedMS, accelerationMS2, dwellS, retractSpeedMS, retractAccelerationMS2 } = working.stroke;

    // Landing prediction: the stroke's own direction, measured in air, from the tip to the surface at the site.
    const predicted = predictedLanding(bench, fine);
    if (!(predicted < published.landingM)) {
      session.alignment = undefined;
      return {
        status: "failed",
        code: "SKILL_FAILED",
        detail: `the stroke would land ${(predicted * 1e6).toFixed(1)} µm off the site`,
      };
    }
    // Time from the command to the surface: acceleration over part of the way, then constant speed.
    const ramp = speedMS ** 2 / (2 * accelerationMS2);
    const travelS =
      working.standoffM < ramp
        ? Math.sqrt((2 * working.standoffM) / accelerationMS2)
        : speedMS / accelerationMS2 + (working.standoffM - ramp) / speedMS;
    const commandS = fine.breathing[0].nextRestS(clock.now() + 0.12 + travelS) - travelS;
    await context.stage("stroke", {
      target: state.target.id,
      loop: session.loaded ?? null,
      fromM: start,
      toM: goal,
      depthM,
      predictedLandingM: predicted,
      commandS,
    });
    await clock.sleep(commandS - clock.now(), signal);
    bench.setInTissue(true);
    state.struck = true;
    const beganS = clock.now();
    const running = bench.stroke(
      {
        depthPositionM: goal,
        speedMS,
        accelerationMS2,
        dwellS,
        retractToM: start,
        retractSpeedMS,
        retractAccelerationMS2,
      },
      signal,
    );
    running.catch(() => undefined);
    // A frame exposed while the needle stands at its depth, before the drive withdraws it.
    const downS = speedMS / accelerationMS2 + (goal - start) / speedMS;
    const seen = await this.measureLanding(bench, fine, beganS + downS + 0.02, beganS + downS + dwellS).catch(
      () => undefined,
    );
    const report = await running;
    bench.setInTissue(false);
    // On a busy machine no frame may fall into the dwell: then what was predicted from the alignment stands, and is named so.
    const landing = seen ?? { landingM: predicted, angleRad: fine.angleRad };
    await context.stage("withdrawn", {
      target: state.target.id,
      deepestSeenM: report.deepestSeenM,
      landingSeen: seen !== undefined,
      ...landing,
    });

    const look = await bench.look(signal, 3);
    const axis = seenAxis(bench, look);
    const still = await ringOnHook(bench, look, axis, barb);
    state.struck = false;
    await context.stage("release test", {
      target: state.target.id,
      carried: still.seen,
      scores: [...still.scores],
    });
    await bench.moveTipBy(scale(bench.up(), working.clearanceM), signal);
    session.alignment = undefined;
    if (still.seen) {
      state.failedAttempts++;
      return {
        status: "failed",
        code: "SKILL_FAILED",
        detail: "the electrode came out again with the needle",
      };
    }
    const loop = session.loaded;
    session.loaded = undefined;
    const good = landing.landingM < published.landingM && landing.angleRad < published.insertAngleRad;
    state.implanted = true;
    return {
      status: good ? "succeeded" : "failed",
      detail: `target ${state.target.id}: landing ${(landing.landingM * 1e6).toFixed(1)} µm, ${((landing.angleRad * 180) / Math.PI).toFixed(2)}°, released`,
      measurements: { ...landing, loop: loop ?? null },
    };
  }

  /** While the needle stands in the tissue: distance of its line from where the site is now, and its angle to the plan. */
  private async measureLanding(
    bench: Workbench,
    fine: FineAlignment,
    afterS: number,
    beforeS: number,
  ): Promise<{ landingM: number; angleRad: number } | undefined> {
    const seen = await Promise.all(viewIndexes.map((i) => bench.findNeedle(i, afterS)));
    if (seen.some(({ needle, timeS }) => !needle.found || timeS > beforeS)) return undefined;
    const directions = asPair(seen.map(({ needle }): Pixel => [needle.directionX, needle.directionY]));
    const axis = directionFromImages(bench.views(), directions);
    const gaps = asPair(
      viewIndexes.map((i): Pixel => {
        const view = seen[i];
        const [u = NaN, v = NaN] = fine.breathing[i].at(view?.timeS ?? NaN);
        return [(view?.needle.tipX ?? NaN) - u, (view?.needle.tipY ?? NaN) - v];
      }),
    );
    const gap = triangulateVector(bench.views(), gaps);
    const across = subtract(gap, scale(axis, dot(gap, axis)));
    return { landingM: norm(across), angleRad: angleBetween(axis, fine.axis) };
  }
}

/** How far from the site the stroke will meet the surface, m: what the tip is off now, plus the stroke's own slant. */
export function predictedLanding(bench: Workbench, fine: FineAlignment): number {
  const stroke = bench.session.strokeImage;
  if (stroke === undefined) return Math.max(...fine.errorM);
  const views = bench.views();
  const slant = asPair(
    viewIndexes.map((i): Pixel => {
      const planned = projectVector(views[i], fine.axis);
      return [
        (stroke[i][0] - planned[0]) * working.standoffM,
        (stroke[i][1] - planned[1]) * working.standoffM,
      ];
    }),
  );
  const off = triangulateVector(views, slant);
  const across = subtract(off, scale(fine.axis, dot(off, fine.axis)));
  return norm(across) + Math.max(...fine.errorM);
}
