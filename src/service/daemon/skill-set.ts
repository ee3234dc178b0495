/** The seven skill programs of a cell, made for one session. */
import { AdjustExposure } from "../../agent/skills/adjust-exposure.js";
import { AdjustFocus } from "../../agent/skills/adjust-focus.js";
import { AlignNeedle, type RunServo } from "../../agent/skills/align-needle.js";
import { Insert } from "../../agent/skills/insert.js";
import { Recover, type ArmPath } from "../../agent/skills/recover.js";
import { SkillRegistry } from "../../agent/skills/registry.js";
import { SafeStop } from "../../agent/skills/safe-stop.js";
import { SpatialRegistration } from "../../agent/skills/spatial-registration.js";
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
  return new SkillRegistry([
    new SpatialRegistration(bench),
    new AlignNeedle({ bench, runServo }),
    new Insert({ bench, runServo }),
    new AdjustFocus(bench),
    new AdjustExposure(bench),
    new Recover(bench, armPath(dh)),
    new SafeStop({ bench, latch, selfCheck }),
  ]);
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
