/** surgiclaw reset */
import type { Command } from "commander";
import { simpleVerb } from "./shared/simple-verb.js";

export function addReset(program: Command): void {
  simpleVerb(
    program,
    "reset",
    "clear a latched stop after its cause is gone; the cell observes anew and does not move",
    "npx surgiclaw reset",
  );
}
