/** The seven skill programs of a cell, made for one session. */
import { AdjustExposure } from "../../agent/skills/adjust-exposure.js";
import { AdjustFocus } from "../../agent/skills/adjust-focus.js";
import { AlignNeedle, type RunServo } from "../../agent/skills/align-needle.js";
import { Insert } from "../../agent/skills/insert.js";
import { Recover, type ArmPath } from "../../agent/skills/recover.js";
import { SkillRegistry } from "../../agent/skills/registry.js";
import { SafeStop } from "../../agent/skills/safe-stop.js";
import { SpatialRegistration } from "../../agent/skills/spatial-registration.js";
import type { SkillProgram } from "../../agent/skills/skill.js";
import type { Workbench } from "../../agent/skills/workbench.js";
import { add } from "../../base/transform.js";
import { forward, inverse, joints, type DhParameters } from "../../cell/ur/kinematics.js";
import { singularityLevel, singularityMeasures } from "../../cell/ur/singularity.js";

export interface SkillParts {
  readonly bench: () => Workbench;
  readonly runServo: RunServo;
  /** Geometry of the arm. */
  readonly dh: DhParameters;
  readonly latch: (why: string) => void;
  readonly selfCheck: () => Promise<readonly string[]>;
}

export function makeSkills(parts: SkillParts): SkillRegistry {
  const { bench, runServo, dh, latch, selfCheck } = parts;
  const programs = [
    new SpatialRegistration(bench),
    new AlignNeedle({ bench, runServo }),
    new Insert({ bench, runServo }),
    new AdjustFocus(bench),
    new AdjustExposure(bench),
    new Recover(bench, armPath(dh)),
    new SafeStop({ bench, latch, selfCheck }),
  ];
  return new SkillRegistry(programs.map((program) => countingFrames(program, bench)));
}

/** The program, whose outcome also says how many frames it looked at: of the view that it looked at most. */
function countingFrames(program: SkillProgram, bench: () => Workbench): SkillProgram {
  const { name, summary, timeLimitS } = program;
  return {
    name,
    summary,
    timeLimitS,
    run: async (context) => {
      const [first, second] = bench().framesUsed;
      const outcome = await program.run(context);
      const [firstNow, secondNow] = bench().framesUsed;
      const framesUsed = Math.max(firstNow - first, secondNow - second);
      return { ...outcome, measurements: { ...outcome.measurements, framesUsed } };
    },
  };
}

/** Kinematics as the recovery needs it: least factor of the determinant as manipulability. */
function armPath(dh: DhParameters): ArmPath {
  const least = (q: readonly number[]): number => {
    const { wrist, elbow, shoulder } = singularityMeasures(dh, joints(q));
    return Math.min(wrist, elbow, shoulder);
  };
  return {
    manipulability: least,
    // With the hysteresis of a warning that stands: what the gate still calls near must be left.
    nearSingularity: (q) => singularityLevel(singularityMeasures(dh, joints(q)), "warn") !== "clear",
    flange: (q) => forward(dh, joints(q)).translation,
    raised: (q, heightM) => {
      const pose = forward(dh, joints(q));
      return inverse(
        dh,
        { rotation: pose.rotation, translation: add(pose.translation, [0, 0, heightM]) },
        joints(q),
      );
    },
  };
}
