/** surgiclaw retry */
import type { Command } from "commander";
import { simpleVerb } from "./shared/simple-verb.js";

export function addRetry(program: Command): void {
  simpleVerb(
    program,
    "retry",
    "answer manual confirmation: observe again and ask the reasoner again",
    "npx surgiclaw retry",
  );
}
