/** surgiclaw home */
import type { Command } from "commander";
import { simpleVerb } from "./shared/simple-verb.js";

export function addHome(program: Command): void {
  simpleVerb(
    program,
    "home",
    "search the origin of every axis that has none: Z first, away from the tissue, then focus, X, Y, tilts, needle drive",
    "npx surgiclaw home",
  );
}
