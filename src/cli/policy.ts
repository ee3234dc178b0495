/** surgiclaw policy methods | train | evaluate | report | export */
import type { Command } from "commander";
import { addPolicyEvaluate } from "./policy/evaluate.js";
import { addPolicyExport } from "./policy/export.js";
import { addPolicyMethods } from "./policy/methods.js";
import { addPolicyReport } from "./policy/report.js";
import { addPolicyTrain } from "./policy/train.js";

export function addPolicy(program: Command): void {
  const policy = program
    .command("policy")
    .description("learned controllers: train on a task's worlds, evaluate, report what every run has shown");
  addPolicyMethods(policy);
  addPolicyTrain(policy);
  addPolicyEvaluate(policy);
  addPolicyReport(policy);
  addPolicyExport(policy);
}
