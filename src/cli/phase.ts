/** surgiclaw phase tasks | collect | import | storyboard | observe | compile | show | report */
import type { Command } from "commander";
import { addPhaseBank } from "./phase/bank.js";
import { addPhaseCollect } from "./phase/collect.js";
import { addPhaseImport } from "./phase/import.js";
import { addPhaseObserve } from "./phase/observe.js";
import { addPhaseReport } from "./phase/report.js";
import { addPhaseStoryboard } from "./phase/storyboard.js";
import { addPhaseTasks } from "./phase/tasks.js";

export function addPhase(program: Command): void {
  const phase = program
    .command("phase")
    .description("phase feedback: judge recorded episodes once, compile a frozen bank of credit and weights");
  addPhaseTasks(phase);
  addPhaseCollect(phase);
  addPhaseImport(phase);
  addPhaseStoryboard(phase);
  addPhaseObserve(phase);
  addPhaseBank(phase);
  addPhaseReport(phase);
}
