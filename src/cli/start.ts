/** surgiclaw start PROCEDURE --query TEXT */
import path from "node:path";
import type { Command } from "commander";
import { guarded, withClient } from "./shared/connection.js";
import { eventLines, rationaleNote } from "./shared/event-view.js";
import { exitCodeForState, follow, interruptSignal } from "./shared/follow.js";
import { paint, print, printJson } from "./shared/output.js";
import { withControl } from "./shared/simple-verb.js";

interface StartOptions {
  readonly query: string;
  readonly watch?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly endpoint?: string;
  readonly config?: string;
}

export function addStart(program: Command): void {
  withControl(program.command("start"))
    .description("start a procedure")
    .argument("<procedure>", "procedure file, made by `surgiclaw procedure plan`")
    .requiredOption("--query <text>", "what the operator asks for")
    .option("--watch", "show progress until the procedure ends; the exit code tells how")
    .addHelpText(
      "after",
      "\nExit codes with --watch: 0 completed, 3 waits for an operator (also after a stop), 1 failed.\n" +
        "\nExample: npx surgiclaw start procedure.yaml --query 'Implant all targets' --watch",
    )
    .action(
      guarded<[string, StartOptions]>(
        (_, options) => options.json === true,
        async (procedure, options) => {
          const params = { procedure: path.resolve(procedure), query: options.query };
          const json = options.json === true;
          await withClient(options, async (client) => {
            const begin = async (): Promise<void> => {
              const force = options.force === true;
              const answer = await client.control("start", params, { timeoutS: 30, force });
              if (json) printJson(answer);
              else print(`${answer.detail}\nrecording  ${answer.recording}`);
            };
            if (options.watch !== true) {
              await begin();
              return;
            }
            if (!json) print(paint("dim", rationaleNote));
            const status = await follow(client, begin, {
              signal: interruptSignal(),
              onEvent: (item) => {
                if (json) printJson(item);
                else eventLines(item).forEach((line) => print(line));
              },
              operatorTimeoutS: process.stdout.isTTY ? Number.POSITIVE_INFINITY : 0,
            });
            process.exitCode = exitCodeForState(status.procedure);
          });
        },
      ),
    );
}
