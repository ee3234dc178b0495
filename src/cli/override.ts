/** surgiclaw override FAULT */
import { Argument, type Command } from "commander";
import { faultRules } from "../agent/safety/fault-rules.js";
import { guarded, type ConnectionOptions } from "./shared/connection.js";
import { callAndPrint, withControl } from "./shared/simple-verb.js";

const permitted = faultRules.filter((rule) => rule.override).map((rule) => rule.id);

export function addOverride(program: Command): void {
  withControl(program.command("override"))
    .description("go on in spite of a fault whose rule permits it, until it is gone")
    .addArgument(new Argument("<fault>", "as status names it").choices(permitted))
    .addHelpText("after", `\nExample: npx surgiclaw override ${permitted[0] ?? ""}`)
    .action(
      guarded<[string, ConnectionOptions & { readonly force?: boolean }]>(
        (_, options) => options.json === true,
        async (fault, options) => callAndPrint("override", { fault }, options),
      ),
    );
}
