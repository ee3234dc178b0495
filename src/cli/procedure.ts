/** surgiclaw procedure plan | show */
import { access } from "node:fs/promises";
import path from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import { procedureSchema } from "../agent/procedure/schema.js";
import { CellError } from "../base/errors.js";
import { loadYaml } from "../base/yaml-file.js";
import { guarded, jsonOption, withClient, type ConnectionOptions } from "./shared/connection.js";
import { interruptSignal } from "./shared/follow.js";
import { print, printJson, table } from "./shared/output.js";
import { withControl } from "./shared/simple-verb.js";

interface PlanOptions extends ConnectionOptions {
  readonly targets: number;
  readonly out: string;
  readonly query?: string;
  readonly force?: boolean;
  readonly overwrite?: boolean;
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError("a whole number, 0 or more");
  return value;
}

async function plan(options: PlanOptions): Promise<void> {
  const file = path.resolve(options.out);
  const exists = await access(file).then(
    () => true,
    () => false,
  );
  if (exists && options.overwrite !== true) {
    throw new CellError("COMMAND_INVALID", `${file} exists`, {
      remedy: "name another file, or give --overwrite",
    });
  }
  const query = options.query === undefined ? {} : { query: options.query };
  const params = { targets: options.targets, file, ...query };
  const answer = await withClient(options, async (client) =>
    client.control("plan", params, {
      timeoutS: 180,
      signal: interruptSignal(),
      force: options.force === true,
    }),
  );
  if (options.json === true) printJson(answer);
  else print(`${answer.detail}\n${answer.file}: ${answer.targets} targets; read it before you start it`);
}

export function addProcedure(program: Command): void {
  const procedure = program.command("procedure").description("plan a procedure, or show one");
  withControl(procedure.command("plan"))
    .description(
      "let the daemon propose targets on unmarked tissue away from vessels, and write a procedure file",
    )
    .option("--targets <count>", "how many", wholeNumber, 3)
    .option("--out <file>", "procedure file to write", "procedure.yaml")
    .option("--query <text>", "operator's query to keep in the file")
    .option("--overwrite", "replace the file if it exists")
    .addHelpText("after", "\nExample: npx surgiclaw procedure plan --targets 3 --out procedure.yaml")
    .action(guarded<[PlanOptions]>((options) => options.json === true, plan));
  procedure
    .command("show")
    .description("check a procedure file and list its targets")
    .argument("<file>")
    .addOption(jsonOption())
    .addHelpText("after", "\nExample: npx surgiclaw procedure show procedure.yaml")
    .action(
      guarded<[string, { readonly json?: boolean }]>(
        (_, options) => options.json === true,
        async (file, options) => {
          const codes = { unreadable: "PROCEDURE_UNREADABLE", invalid: "PROCEDURE_UNREADABLE" } as const;
          const { value } = await loadYaml(file, procedureSchema, codes);
          if (options.json === true) {
            printJson(value);
            return;
          }
          print(`${value.id} for cell ${value.cell}, planned ${value.createdAt}`);
          if (value.query !== "") print(`query: ${value.query}`);
          const rows = value.targets.map(({ id, electrode, picks }) => [
            id,
            String(electrode),
            ...picks.map((pick) => `${pick.x.toFixed(1)}, ${pick.y.toFixed(1)}`),
          ]);
          const views = value.targets[0]?.picks.map((pick) => `${pick.view} px`) ?? [];
          print(table(["target", "electrode", ...views], rows));
        },
      ),
    );
}
