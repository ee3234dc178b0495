/** surgiclaw policy methods */
import type { Command } from "commander";
import { methodNames, methods } from "../../lab/learning/methods.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson, table } from "../shared/output.js";

interface MethodsOptions {
  readonly json?: boolean;
}

function list(options: MethodsOptions): Promise<void> {
  if (options.json === true) {
    printJson(methods);
    return Promise.resolve();
  }
  print(
    table(
      ["method", "support", "what it is"],
      methodNames.map((name) => [name, methods[name].support, methods[name].summary]),
    ),
  );
  return Promise.resolve();
}

export function addPolicyMethods(policy: Command): void {
  policy
    .command("methods")
    .description("list the learning methods and the support that each takes")
    .addOption(jsonOption())
    .addHelpText("after", "\nExample: npx surgiclaw policy methods")
    .action(guarded<[MethodsOptions]>((options) => options.json === true, list));
}
