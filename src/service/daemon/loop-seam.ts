/** Between configuration, decision loop and command socket: options in, events out. */
import type { Config } from "../../base/config.js";
import type { LoopEvent } from "../../agent/loop/events.js";
import { defaultLoopOptions, type LoopOptions } from "../../agent/loop/ports.js";
import type { CellEvent, CellStatus } from "../command/protocol.js";

/** A preparation for planning ends where a procedure would wait for a person: its caller is there. */
export function loopOptions({ loop, reasoner, devices }: Config, planning: boolean): LoopOptions {
  const cameras = devices.microscopes.map((microscope) => microscope.name);
  const standard = defaultLoopOptions(cameras);
  return {
    ...standard,
    limits: {
      ...standard.limits,
      observationAgeS: loop.observationMaxAgeS,
      frameAgeS: loop.observationMaxAgeS,
    },
    refusalBudget: loop.refusalBudget,
    reasonerBudgetS: Math.min(reasoner.deadlineS, loop.observationMaxAgeS),
    ...(planning
      ? { operatorWaitS: 0.1 }
      : loop.operatorTimeoutS > 0
        ? { operatorWaitS: loop.operatorTimeoutS }
        : {}),
    progress: { ...standard.progress, runsPerTarget: loop.maxCycles },
  };
}

/** An event of the loop as the command socket publishes it. */
export function asCellEvent(event: LoopEvent, status: () => CellStatus): CellEvent {
  if (event.kind === "cycle") {
    const {
      kind: _kind,
      observationId,
      source: _source,
      violations: _violations,
      note: _note,
      ...rest
    } = event;
    return { topic: "cycle", event: { ...rest, observation: observationId, reasons: [...event.reasons] } };
  }
  if (event.kind === "skill") {
    const { kind: _kind, ...rest } = event;
    return { topic: "skill", event: { ...rest, measurements: { ...event.measurements } } };
  }
  return { topic: "state", event: status() };
}
