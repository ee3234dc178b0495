/** surgiclaw watch */
import type { Command } from "commander";
import { subscribe } from "../service/command/client.js";
import { guarded, withClient, withConnection, type ConnectionOptions } from "./shared/connection.js";
import { eventLines, rationaleNote } from "./shared/event-view.js";
import { interruptSignal } from "./shared/follow.js";
import { paint, print, printJson } from "./shared/output.js";

export function addWatch(program: Command): void {
  withConnection(program.command("watch"))
    .description("show every cycle, skill and change of state as it happens, until Ctrl-C")
    .addHelpText("after", `\n${rationaleNote}\n\nExample: npx surgiclaw watch`)
    .action(
      guarded<[ConnectionOptions]>(
        (options) => options.json === true,
        async (options) => {
          const signal = interruptSignal();
          const { events } = await withClient(options, async (client) => client.call("describe", {}));
          if (options.json !== true) print(paint("dim", rationaleNote));
          for await (const item of subscribe(events, ["cycle", "skill", "state", "log"], signal)) {
            if (options.json === true) printJson(item);
            else eventLines(item).forEach((line) => print(line));
          }
        },
      ),
    );
}
