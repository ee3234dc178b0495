/** surgiclaw confirm */
import type { Command } from "commander";
import { simpleVerb } from "./shared/simple-verb.js";

export function addConfirm(program: Command): void {
  simpleVerb(
    program,
    "confirm",
    "answer manual confirmation: run the skill that waits for it (the gate still applies)",
    "npx surgiclaw confirm",
  );
}
