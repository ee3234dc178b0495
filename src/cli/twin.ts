import type { Command } from "commander";
export function addTwin(program: Command): void {
  program.command("twin");
}
