/** The stop skill: everything still, the needle withdrawn along its own axis, latched until a person resets. */
import { Skill } from "../safety/skill-names.js";
import { working } from "./limits.js";
import type { SkillContext, SkillOutcome, SkillProgram } from "./skill.js";
import type { Workbench } from "./workbench.js";

export interface StopParts {
  readonly bench: () => Workbench;
  /** Sets the program's own latch; only a person's reset clears it. */
  readonly latch: (why: string) => void;
  /** Items of the self-check that do not pass, for the report. */
  readonly selfCheck: () => Promise<readonly string[]>;
}

export class SafeStop implements SkillProgram {
  readonly name = Skill.stop;
  readonly summary = "Stops every axis, withdraws the needle, latches and reports the self-check.";
  readonly timeLimitS = 20;

  constructor(private readonly parts: StopParts) {}

  async run(context: SkillContext): Promise<SkillOutcome> {
    const bench = this.parts.bench();
    const { arm, stages, needle } = bench.devices;
    arm.stop();
    stages.stop();
    if (bench.session.needleInTissue) {
      const { retractSpeedMS, retractAccelerationMS2 } = working.stroke;
      await bench.devices.needle.moveTo(
        0,
        { speedMS: retractSpeedMS, accelerationMS2: retractAccelerationMS2 },
        context.signal,
      );
      bench.setInTissue(false);
    } else needle.stop();
    const untilS = bench.clock.now() + 5;
    const moving = (): boolean => stages.moving || needle.moving || arm.state()?.moving === true;
    while (moving() && bench.clock.now() < untilS) await bench.clock.sleep(0.02, context.signal);
    this.parts.latch("stop skill");
    const faults = await this.parts.selfCheck();
    const still = !moving();
    return {
      status: still ? "succeeded" : "failed",
      detail: `${still ? "every axis stands" : "an axis still moves"}; self-check: ${faults.length > 0 ? faults.join("; ") : "passed"}`,
      ...(still ? {} : { code: "SAFETY_STOPPED" as const }),
    };
  }
}
