#!/usr/bin/env node
/** surgiclaw: the command line. */
import { CommanderError } from "commander";
import { cliExit } from "./exit-codes.js";
import { createProgram } from "./program.js";
import { fail } from "./shared/connection.js";

async function main(args: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? cliExit.ok : cliExit.usage;
    else fail(error, args.includes("--json"));
  }
}

// A closed pipe (`| head`) is no error of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(cliExit.ok);
  throw error;
});
await main(process.argv.slice(2));
// Sockets of third parties must not keep a finished command alive; pipes and files are written by now.
process.exit();
