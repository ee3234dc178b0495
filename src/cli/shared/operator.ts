/** Answers an operator types into the terminal that shows the procedure. */
import { createInterface, type Interface } from "node:readline";
import { isSkillName, skillNames } from "../../agent/safety/skill-names.js";
import { asCellError } from "../../base/errors.js";
import type { CommandClient } from "../../service/command/client.js";
import { paint, print } from "./output.js";

const help = `type: retry | confirm | choose SKILL | takeover | handback | reset | stop   (skills: ${skillNames.join(", ")})`;

export class OperatorPrompt {
  private lines: Interface | undefined;
  private hinted = false;

  constructor(private readonly client: CommandClient) {}

  /** Reads lines until `close`. */
  open(): void {
    this.lines = createInterface({ input: process.stdin });
    this.lines.on("line", (line) => void this.answer(line.trim()));
  }

  /** Shows once per wait what may be typed. */
  hint(waiting: boolean): void {
    if (waiting && !this.hinted && this.lines !== undefined) print(paint("cyan", help));
    this.hinted = waiting;
  }

  close(): void {
    this.lines?.close();
    this.lines = undefined;
  }

  private async answer(line: string): Promise<void> {
    if (line === "") return;
    try {
      print(await this.send(line));
    } catch (error) {
      const { message, remedy } = asCellError(error);
      print(paint("red", `${message}: ${remedy}`));
    }
  }

  private async send(line: string): Promise<string> {
    const [verb, skill] = line.split(/\s+/);
    switch (verb) {
      case "stop":
        return (
          await this.client.call("stop", { reason: "operator at the terminal", client: this.client.name })
        ).detail;
      case "retry":
      case "confirm":
      case "takeover":
      case "handback":
      case "reset":
        return (await this.client.control(verb, {}, { timeoutS: 30 })).detail;
      case "choose":
        if (skill === undefined || !isSkillName(skill)) return help;
        return (await this.client.control("choose", { skill }, { timeoutS: 30 })).detail;
      default:
        return help;
    }
  }
}
