/** surgiclaw config check FILE | explain */
import { access } from "node:fs/promises";
import type { Command } from "commander";
import { explainConfig, loadConfig, type Config } from "../base/config.js";
import { CellError } from "../base/errors.js";
import type { ExplainedKey } from "../base/schema-keys.js";
import { guarded, jsonOption } from "./shared/connection.js";
import { paint, print, printJson } from "./shared/output.js";

interface JsonOnly {
  readonly json?: boolean;
}

/** Files that the configuration names, by key. */
function namedFiles(config: Config): [string, string][] {
  const { devices } = config;
  return [
    ["cell.file", config.cell.file],
    ["calibration.file", config.calibration.file],
    ["devices.arm.profile", devices.arm.profile],
    ["devices.stages.profile", devices.stages.profile],
    ["devices.needle.profile", devices.needle.profile],
    ...devices.microscopes.map(({ profile }, index): [string, string] => [
      `devices.microscopes[${index}].profile`,
      profile,
    ]),
  ];
}

async function check(file: string): Promise<void> {
  const { config } = await loadConfig(file);
  const missing: string[] = [];
  for (const [key, named] of namedFiles(config)) {
    await access(named).catch(() => missing.push(`${file}: ${key}: there is no file ${named}`));
  }
  if (missing.length > 0) throw new CellError("CONFIG_INVALID", missing.join("\n"));
}

function defaultText(entry: ExplainedKey): string {
  if (entry.required) return "required";
  return entry.default === undefined ? "none" : `default ${JSON.stringify(entry.default)}`;
}

function explain(keys: readonly ExplainedKey[]): void {
  let section = "";
  for (const entry of keys) {
    const parts = entry.path.split(".");
    const leaf = parts.pop() ?? "";
    if (parts.join(".") !== section) {
      section = parts.join(".");
      print();
      print(paint("bold", section));
    }
    const unit = entry.unit === undefined ? "" : ` (${entry.unit})`;
    const change = entry.requiresRestart ? "restart" : "live";
    print(`  ${leaf.padEnd(20)} ${entry.type}${unit}; ${defaultText(entry)}; ${change}`);
    print(paint("dim", `  ${"".padEnd(20)} ${entry.description}`));
  }
}

export function addConfig(program: Command): void {
  const config = program.command("config").description("check a configuration, or explain every key");
  config
    .command("check")
    .description("check a configuration file: keys, types, ranges, and the files it names")
    .argument("<file>")
    .addOption(jsonOption())
    .addHelpText("after", "\nExample: npx surgiclaw config check surgiclawd.example.yaml")
    .action(
      guarded<[string, JsonOnly]>(
        (_, options) => options.json === true,
        async (file, options) => {
          await check(file);
          if (options.json === true) printJson({ file, ok: true });
          else print(`${file}: ${paint("green", "ok")}`);
        },
      ),
    );
  config
    .command("explain")
    .description("every key: type, range, unit, default, whether a change needs a restart (or SIGHUP: live)")
    .argument("[prefix]", "only keys that begin so, as in devices.arm")
    .addOption(jsonOption())
    .addHelpText("after", "\nExample: npx surgiclaw config explain loop")
    .action(
      guarded<[string | undefined, JsonOnly]>(
        (_, options) => options.json === true,
        async (prefix, options) => {
          const keys = explainConfig().filter((entry) => entry.path.startsWith(prefix ?? ""));
          if (keys.length === 0) throw new CellError("CONFIG_INVALID", `no key begins with ${prefix ?? ""}`);
          if (options.json === true) printJson(keys);
          else explain(keys);
          return Promise.resolve();
        },
      ),
    );
}
