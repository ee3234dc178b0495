/** surgiclaw handback */
import type { Command } from "commander";
import { simpleVerb } from "./shared/simple-verb.js";

export function addHandback(program: Command): void {
  simpleVerb(
    program,
    "handback",
    "hand the cell back to the procedure, which observes anew",
    "npx surgiclaw handback",
  );
}
