import type { Command } from "commander";
export function addDemo(program: Command): void {
  program.command("demo");
}
