/** surgiclaw stop */
import type { Command } from "commander";
import {
  clientName,
  guarded,
  withClient,
  withConnection,
  type ConnectionOptions,
} from "./shared/connection.js";
import { print, printJson } from "./shared/output.js";

export function addStop(program: Command): void {
  withConnection(program.command("stop"))
    .description("stop all motion now and latch; needs no control and is always accepted")
    .option("--reason <text>", "goes into the audit log", "stopped from the command line")
    .addHelpText("after", "\nExample: npx surgiclaw stop --reason 'sample slipped'")
    .action(
      guarded<[ConnectionOptions & { readonly reason: string }]>(
        (options) => options.json === true,
        async (options) => {
          const params = { reason: options.reason, client: clientName() };
          const result = await withClient(options, async (client) =>
            client.call("stop", params, { timeoutS: 5 }),
          );
          if (options.json === true) printJson(result);
          else print(result.detail);
        },
      ),
    );
}
