/**
 * One allowed decision carried out: its start is on disk before the skill begins, its end afterwards. A stop that comes
 * between decision and motion withholds the motion.
 */
import type { CellError } from "../../base/errors.js";
import { Skill, type SkillName } from "../safety/skill-names.js";
import type { Observation } from "../safety/types.js";
import type { SkillOutcome } from "../skills/skill.js";
import { skillEndAction, skillStartAction } from "./decision-record.js";
import type { SkillEvent } from "./events.js";
import { runGuarded } from "./guarded-run.js";
import type { LoopOptions, LoopPorts } from "./ports.js";

export interface Execution {
  readonly skill: SkillName;
  readonly observation: Observation;
  readonly decisionId: string;
  readonly cycle: number;
  /** Why it runs, for people. */
  readonly why: string;
  readonly interrupted: AbortSignal;
  /** Called when the program begins, and when it has ended. */
  readonly running: (skill: SkillName | undefined) => void;
}

/** `withheld`: nothing moved, a stop came first. */
export type ExecutionEnd =
  | { readonly withheld: true }
  | { readonly withheld: false; readonly outcome: SkillOutcome; readonly defect?: CellError };

export async function execute(
  given: Execution,
  ports: LoopPorts,
  options: LoopOptions,
): Promise<ExecutionEnd> {
  const { skill, observation, decisionId, cycle, interrupted } = given;
  const { audit, clock, latch } = ports;
  await audit.append("loop", skillStartAction, { decisionId, skill, observationId: observation.id });
  if (interrupted.aborted || (latch.latched && skill !== Skill.stop)) {
    const end = { decisionId, skill, status: "stopped", detail: "not begun" };
    await audit.append("loop", skillEndAction, end);
    return { withheld: true };
  }
  const startS = clock.now();
  const tell = (event: Pick<SkillEvent, "phase" | "name" | "detail" | "measurements">): void =>
    ports.emit({ kind: "skill", cycle, atS: clock.now(), skill, ...event });
  given.running(skill);
  tell({ phase: "started", name: "started", detail: given.why, measurements: {} });
  let end: Awaited<ReturnType<typeof runGuarded>>;
  try {
    const program = ports.skills.get(skill);
    end = await runGuarded({ program, observation, decisionId, cycle, interrupted }, ports, options);
  } finally {
    given.running(undefined);
  }
  const { outcome, defect } = end;
  await audit.append("skill", skillEndAction, {
    decisionId,
    skill,
    ...outcome,
    defect: defect?.message ?? null,
    durationS: clock.now() - startS,
  });
  const { status, detail, measurements = {} } = outcome;
  tell({ phase: "ended", name: status, detail, measurements });
  return { withheld: false, outcome, ...(defect === undefined ? {} : { defect }) };
}
