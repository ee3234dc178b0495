/** surgiclaw takeover */
import type { Command } from "commander";
import { simpleVerb } from "./shared/simple-verb.js";

export function addTakeover(program: Command): void {
  simpleVerb(
    program,
    "takeover",
    "stop the procedure's decisions and take the cell; control stays with you until handback",
    "npx surgiclaw takeover",
  );
}
