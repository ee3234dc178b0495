/** The inner stage "pose correction": turns the head about the tip until the needle lies on the planned axis. */
import {
  rotationAbout,
  angleBetween,
  cross,
  norm,
  scale,
  subtract,
  unit,
  type Vec3,
} from "../../base/transform.js";
import { CellError } from "../../base/errors.js";
import { directionFromImages, triangulate, type Pixel } from "../perception/view-model.js";
import type { ProcedureTarget } from "../procedure/schema.js";
import { working } from "./limits.js";
import type { SkillContext } from "./skill.js";
import { asPair, type Look, type Workbench } from "./workbench.js";

/** Planned axis of a target in robot coordinates, unit, into the tissue, from its line in both views. */
export function plannedAxis(bench: Workbench, target: ProcedureTarget): Vec3 {
  return directionFromImages(bench.views(), asPair(target.picks.map((pick): Pixel => pick.axis)));
}

/** Axis of the needle as seen, robot coordinates, unit, out of the tip. */
export const seenAxis = (bench: Workbench, look: Look): Vec3 =>
  directionFromImages(bench.views(), look.directions);

/**
 * Turns in small steps, looking after each: the tip strays by what the drawing does not know of the tool, and the stages
 * bring it back before the next. Returns the last look, with the remaining angle.
 * @throws CellError SKILL_NOT_CONVERGED when the angle stops shrinking.
 */
export async function correctPose(
  bench: Workbench,
  target: ProcedureTarget,
  context: Pick<SkillContext, "signal" | "stage">,
  first: Look,
): Promise<{ readonly look: Look; readonly angleRad: number }> {
  const { signal } = context;
  let look = first;
  let before = Infinity;
  for (let turn = 0; ; turn++) {
    const views = bench.anchor(look);
    const axis = seenAxis(bench, look);
    const wanted = plannedAxis(bench, target);
    const angleRad = angleBetween(axis, wanted);
    if (angleRad < working.turnDoneRad) return { look, angleRad };
    if (turn >= 8 || angleRad > 0.9 * before) {
      if (angleRad < 2 * working.turnDoneRad) return { look, angleRad };
      throw new CellError(
        "SKILL_NOT_CONVERGED",
        `the needle stays ${angleRad.toFixed(4)} rad off the planned axis`,
      );
    }
    before = angleRad > working.turnStepRad ? Infinity : angleRad;
    const normal = cross(axis, wanted);
    if (norm(normal) < 1e-9)
      throw new CellError("SKILL_NOT_CONVERGED", "the needle points against the planned axis");
    const step = Math.min(angleRad, working.turnStepRad);
    await context.stage("pose correction", { angleRad, stepRad: step });
    const goal = triangulate(views, look.tips).point;
    await bench.turnAboutTip(rotationAbout(unit(normal), step), signal);
    look = await bench.look(signal);
    // The tip went where the true tool took it; bring it back to where it was seen before the turn.
    const strayed = subtract(triangulate(views, look.tips).point, goal);
    if (norm(strayed) > 2e-5) {
      bench.anchor(look);
      await bench.moveTipBy(scale(strayed, -1), signal);
      look = await bench.look(signal);
    }
  }
}
