/** surgiclaw choose SKILL */
import { Argument, type Command } from "commander";
import { skillNames, type SkillName } from "../agent/safety/skill-names.js";
import { guarded, type ConnectionOptions } from "./shared/connection.js";
import { callAndPrint, withControl } from "./shared/simple-verb.js";

export function addChoose(program: Command): void {
  withControl(program.command("choose"))
    .description("answer manual confirmation with a skill of your choice (the gate still applies)")
    .addArgument(new Argument("<skill>", "one of the seven skills").choices(skillNames))
    .addHelpText("after", `\nExample: npx surgiclaw choose ${skillNames[0] ?? ""}`)
    .action(
      guarded<[string, ConnectionOptions & { readonly force?: boolean }]>(
        (_, options) => options.json === true,
        async (skill, options) => callAndPrint("choose", { skill: skill as SkillName }, options),
      ),
    );
}
