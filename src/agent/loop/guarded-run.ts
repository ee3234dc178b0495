/**
 * Runs one skill under its guard. Whatever goes wrong (lost invariant, stop, takeover, time, failed record), motion ends
 * first: the stop is on its way before the program hears of it and before anything is explained.
 */
import { asCellError, CellError } from "../../base/errors.js";
import { withDeadline } from "../../base/clock.js";
import { invariants, lostInvariant } from "../safety/guard.js";
import type { CellState, Observation } from "../safety/types.js";
import type { Measurements, SkillOutcome, SkillProgram } from "../skills/skill.js";
import type { LoopOptions, LoopPorts } from "./ports.js";

export interface GuardedRun {
  readonly program: SkillProgram;
  readonly observation: Observation;
  readonly decisionId: string;
  readonly cycle: number;
  /** Fires on stop, takeover and the end of the run; motion has been stopped by whoever fired it. */
  readonly interrupted: AbortSignal;
}

export interface GuardedEnd {
  readonly outcome: SkillOutcome;
  /** Set when the program broke in a way that a new observation does not mend. */
  readonly defect?: CellError;
}

export async function runGuarded(
  run: GuardedRun,
  ports: LoopPorts,
  options: LoopOptions,
): Promise<GuardedEnd> {
  const { program, interrupted } = run;
  const end = new AbortController();
  let stopping: Promise<void> | undefined;
  const breakOff = (why: CellError): void => {
    if (end.signal.aborted) return;
    stopping = ports.stop(why.message);
    stopping.catch(() => undefined);
    end.abort(why);
  };
  const onInterrupt = (): void => breakOff(asCellError(interrupted.reason));
  const timer = new AbortController();
  const ended = AbortSignal.any([end.signal, timer.signal]);

  if (interrupted.aborted) onInterrupt();
  interrupted.addEventListener("abort", onInterrupt, { once: true });
  const unwatch = watchGuard(run, ports, options, breakOff, ended);
  ports.clock
    .sleep(program.timeLimitS, ended)
    .then(() =>
      breakOff(new CellError("SKILL_FAILED", `${program.name} took more than ${program.timeLimitS} s`)),
    )
    .catch(() => undefined);

  try {
    if (end.signal.aborted) return { outcome: stopped(asCellError(end.signal.reason)) };
    const work = program.run({
      observation: run.observation,
      decisionId: run.decisionId,
      signal: end.signal,
      clock: ports.clock,
      stage: (name, measurements = {}) => {
        const noted = noteStage(run, ports, breakOff, name, measurements);
        // A program need not await it: the failure has ended the motion already.
        noted.catch(() => undefined);
        return noted;
      },
    });
    return await settle(work, end.signal, ports, options, program);
  } catch (error) {
    return await broken(error, end.signal, ports);
  } finally {
    interrupted.removeEventListener("abort", onInterrupt);
    timer.abort(new CellError("LINK_ABORTED", "the skill has ended"));
    unwatch();
    await stopConfirmed(stopping, ports, options);
  }
}

/** The program's own end, or, once it was broken off, its end within the settling time. */
async function settle(
  work: Promise<SkillOutcome>,
  broken: AbortSignal,
  ports: LoopPorts,
  options: LoopOptions,
  program: SkillProgram,
): Promise<GuardedEnd> {
  const done = new AbortController();
  const tooLate = new Promise<never>((_, reject) => {
    const count = (): void => {
      ports.clock
        .sleep(options.settleLimitS, done.signal)
        .then(() => {
          reject(
            new CellError(
              "INTERNAL",
              `${program.name} did not end within ${options.settleLimitS} s of its stop`,
            ),
          );
        })
        .catch(() => undefined);
    };
    if (broken.aborted) count();
    else broken.addEventListener("abort", count, { once: true });
  });
  work.catch(() => undefined);
  try {
    const outcome = await Promise.race([work, tooLate]);
    return { outcome: broken.aborted ? stopped(asCellError(broken.reason)) : outcome };
  } finally {
    done.abort(new CellError("LINK_ABORTED", "the skill has ended"));
  }
}

/** A rejection: when the skill was broken off it is the echo of that, otherwise motion ends now. */
async function broken(error: unknown, end: AbortSignal, ports: LoopPorts): Promise<GuardedEnd> {
  const known = asCellError(error);
  if (end.aborted) {
    const outcome = stopped(asCellError(end.reason));
    return known.code === "INTERNAL" ? { outcome, defect: known } : { outcome };
  }
  await ports.stop(known.message).catch(() => undefined);
  const outcome: SkillOutcome = { status: "failed", code: known.code, detail: known.message };
  return known.category === "software" ? { outcome, defect: known } : { outcome };
}

const stopped = (why: CellError): SkillOutcome => ({
  status: "stopped",
  code: why.code,
  detail: why.message,
});

async function stopConfirmed(
  stopping: Promise<void> | undefined,
  ports: LoopPorts,
  options: LoopOptions,
): Promise<void> {
  if (stopping === undefined) return;
  const over = new AbortController();
  await Promise.race([
    stopping.catch(() => undefined),
    ports.clock.sleep(options.stopLimitS, over.signal).catch(() => undefined),
  ]);
  over.abort(new CellError("LINK_ABORTED", "the stop has been confirmed"));
}

/** Judges every state that comes in; a state that cannot be read is a lost invariant too. */
function watchGuard(
  run: GuardedRun,
  ports: LoopPorts,
  options: LoopOptions,
  breakOff: (why: CellError) => void,
  ended: AbortSignal,
): () => void {
  if (invariants[run.program.name].length === 0) return () => undefined;
  const { cameras, stateAgeS } = options.limits;
  const judge = (state: CellState): void => {
    const lost = lostInvariant(run.program.name, ports.clock.now(), state, { cameras, stateAgeS });
    if (lost !== undefined) breakOff(new CellError("SAFETY_GUARD", lost.detail));
  };
  const unsubscribe = ports.watchState?.(judge);
  const poll = async (): Promise<void> => {
    while (!ended.aborted) {
      try {
        const state = await withDeadline(ports.readState(), stateAgeS, "the guard's state");
        if (!ended.aborted) judge(state);
      } catch (error) {
        breakOff(new CellError("SAFETY_GUARD", "the cell state cannot be read", { cause: error }));
      }
      await ports.clock.sleep(options.guardPeriodS, ended).catch(() => undefined);
    }
  };
  // Also with a subscription: devices that fall silent report nothing.
  void poll();
  return () => unsubscribe?.();
}

/** Stage entries share the chain; a record that fails ends the motion. */
async function noteStage(
  run: GuardedRun,
  ports: LoopPorts,
  breakOff: (why: CellError) => void,
  name: string,
  measurements: Measurements,
): Promise<void> {
  const skill = run.program.name;
  ports.emit({
    kind: "skill",
    cycle: run.cycle,
    atS: ports.clock.now(),
    skill,
    phase: "stage",
    name,
    detail: "",
    measurements,
  });
  try {
    await ports.audit.append("skill", "skill.stage", {
      decisionId: run.decisionId,
      skill,
      stage: name,
      measurements,
    });
  } catch (error) {
    breakOff(asCellError(error));
    throw error;
  }
}
