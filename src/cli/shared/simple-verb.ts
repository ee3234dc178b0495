/** Verbs that are one controlling call: take the lease, call, say what happened. */
import type { Command } from "commander";
import type { MethodName, MethodParams } from "../../service/command/protocol.js";
import { guarded, withClient, withConnection, type ConnectionOptions } from "./connection.js";
import { print, printJson } from "./output.js";

type ControlOptions = ConnectionOptions & { readonly force?: boolean };

/** Methods whose result is one sentence. */
export type SimpleMethod = Extract<
  MethodName,
  "reset" | "confirm" | "retry" | "choose" | "takeover" | "handback" | "override" | "home"
>;

/** Calls a controlling method and prints its sentence. */
export async function callAndPrint<M extends SimpleMethod>(
  method: M,
  params: Omit<MethodParams<M>, "epoch">,
  options: ControlOptions,
): Promise<void> {
  const force = options.force === true;
  // Homing walks every axis through its travel.
  const timeoutS = method === "home" ? 240 : 30;
  const result = await withClient(options, async (client) =>
    client.control<M>(method, params, { timeoutS, force }),
  );
  const { detail } = result as { detail: string };
  if (options.json === true) printJson({ method, detail });
  else print(detail);
}

export const withControl = (command: Command): Command =>
  withConnection(command).option("--force", "take control from whoever holds it");

/** A verb without arguments. */
export function simpleVerb(
  program: Command,
  method: Exclude<SimpleMethod, "choose" | "override">,
  description: string,
  example: string,
): void {
  withControl(program.command(method))
    .description(description)
    .addHelpText("after", `\nExample: ${example}`)
    .action(
      guarded<[ControlOptions]>(
        (options) => options.json === true,
        async (options) => callAndPrint(method, {}, options),
      ),
    );
}
