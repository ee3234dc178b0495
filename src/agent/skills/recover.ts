/** The recovery skill: reopens cameras that are offline and takes the arm away from a singularity to the known pose. */
import { CellError } from "../../base/errors.js";
import type { Vec3 } from "../../base/transform.js";
import { Skill } from "../safety/skill-names.js";
import { working } from "./limits.js";
import type { SkillContext, SkillOutcome, SkillProgram } from "./skill.js";
import type { Workbench } from "./workbench.js";

/** What the skill needs to know of the arm's kinematics. */
export interface ArmPath {
  /** Largest is best; 0 is singular. */
  manipulability(q: readonly number[]): number;
  nearSingularity(q: readonly number[]): boolean;
  /** Flange in the base frame, m. */
  flange(q: readonly number[]): Vec3;
  /** Joint angles that put the flange `heightM` above its place at `q`, orientation kept; undefined out of reach. */
  raised(q: readonly number[], heightM: number): readonly number[] | undefined;
}

const pathSteps = 50;
/** The known pose is approached from this height above it, m. */
const approachHeightM = 0.03;

/** Why a straight joint path may not be taken, or undefined. Pure. */
export function pathObstacle(
  path: ArmPath,
  from: readonly number[],
  to: readonly number[],
  lowestM: number,
): string | undefined {
  // The first part may still be near the singularity it leaves, but must not come nearer to it.
  let before = path.manipulability(from);
  let away = !path.nearSingularity(from);
  for (let k = 1; k <= pathSteps; k++) {
    const q = from.map((value, i) => value + (((to[i] ?? value) - value) * k) / pathSteps);
    const now = path.manipulability(q);
    if (!away && now < before * 0.999)
      return `manipulability falls from ${before.toFixed(4)} to ${now.toFixed(4)} on the way`;
    if (away && path.nearSingularity(q)) return "the path passes another singularity";
    away ||= !path.nearSingularity(q);
    before = now;
    if (path.flange(q)[2] < lowestM) return `the flange would come down to ${path.flange(q)[2].toFixed(3)} m`;
  }
  return away ? undefined : "the path ends near a singularity";
}

export class Recover implements SkillProgram {
  readonly name = Skill.recover;
  readonly summary =
    "Reopens offline cameras; moves the arm from a singularity to the known pose along a checked path.";
  readonly timeLimitS = 90;

  constructor(
    private readonly bench: () => Workbench,
    private readonly path: ArmPath,
  ) {}

  async run(context: SkillContext): Promise<SkillOutcome> {
    const bench = this.bench();
    const done: string[] = [];
    for (const microscope of bench.devices.microscopes) {
      if (microscope.online()) continue;
      await context.stage("camera", { camera: microscope.name });
      // A camera that restarts needs a while; the deadline of the skill ends the patience.
      await this.reopen(bench, microscope, context);
      bench.session.clearRegistration();
      bench.session.advanceEpoch();
      bench.session.needles.fill(undefined);
      done.push(`${microscope.name} delivers again`);
    }
    const arm = bench.devices.arm.state();
    if (arm === undefined) throw new CellError("LINK_CLOSED", "the arm reports no position");
    if (this.path.nearSingularity(arm.q)) {
      await this.leaveSingularity(bench, arm.q, context);
      done.push("the arm stands at the known pose");
    }
    return { status: "succeeded", detail: done.length > 0 ? done.join("; ") : "nothing was wrong any more" };
  }

  private async reopen(
    bench: Workbench,
    microscope: Workbench["devices"]["microscopes"][0],
    context: SkillContext,
  ): Promise<void> {
    const untilS = bench.clock.now() + 30;
    for (;;) {
      context.signal.throwIfAborted();
      try {
        await microscope.reopen(context.signal);
        const frame = await microscope.nextFrame(bench.clock.now(), 3);
        frame.release();
        return;
      } catch (error) {
        if (bench.clock.now() > untilS)
          throw new CellError("CAMERA_OFFLINE", `${microscope.name} did not come back within 30 s`, {
            cause: error,
          });
        await bench.clock.sleep(0.5, context.signal);
      }
    }
  }

  private async leaveSingularity(
    bench: Workbench,
    q: readonly number[],
    context: SkillContext,
  ): Promise<void> {
    const known = bench.file.knownPoseRad;
    const above = this.path.raised(known, approachHeightM);
    if (above === undefined)
      throw new CellError("SKILL_FAILED", "the approach to the known pose is out of reach");
    const lowest = this.path.flange(known)[2] + 0.5 * approachHeightM;
    const obstacle = pathObstacle(this.path, q, above, lowest);
    if (obstacle !== undefined)
      throw new CellError("SKILL_FAILED", `no safe path away from the singularity: ${obstacle}`, {
        remedy: "take over and move the arm by hand to the known pose",
      });
    const { speedRadS, accelerationRadS2 } = working.arm;
    await context.stage("to above the known pose", { from: [...q], to: [...above] });
    await bench.devices.arm.moveJoints(above, { speedRadS, accelerationRadS2 }, context.signal);
    await context.stage("down to the known pose", { to: [...known] });
    await bench.devices.arm.moveJoints(known, { speedRadS: 0.1, accelerationRadS2: 0.5 }, context.signal);
    bench.session.clearRegistration();
    bench.session.advanceEpoch();
    bench.session.needles.fill(undefined);
  }
}
