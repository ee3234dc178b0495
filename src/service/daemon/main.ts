#!/usr/bin/env node
/** surgiclawd: the daemon's command line, signals and exit codes. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../base/clock.js";
import { loadConfig } from "../../base/config.js";
import { asCellError, CellError } from "../../base/errors.js";
import { projectRoot } from "../../base/paths.js";
import { cellAddon } from "../../cell/native.js";
import { createCell } from "./compose.js";
import { countStart } from "../command/authority.js";
import { Daemon } from "./daemon.js";
import { daemonExit } from "./exit-codes.js";
import { createLogger } from "./logger.js";

const usage = `surgiclawd --config FILE [--once] [--tied]

Runs the controller of one cell until SIGTERM. SIGHUP reads the configuration again.

  --config FILE   the configuration (see docs/configuration.md)
  --once          leave when a device is missing, instead of waiting for it
  --tied          stop when standard input closes: for programs that start it and must not leave it behind
  --version       print the version

Exit codes: 0 stopped by signal, 64 command line, 69 device missing (--once), 70 defect, 73 cannot create a socket or
folder, 75 another daemon runs, 78 configuration, profile or calibration must be corrected.

Example: surgiclawd --config surgiclawd.example.yaml
`;

async function version(): Promise<string> {
  const text = await readFile(path.join(projectRoot, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

function readArguments(args: readonly string[]): {
  config?: string;
  once: boolean;
  tied: boolean;
  version: boolean;
  help: boolean;
} {
  const { values } = parseArgs({
    args: [...args],
    options: {
      config: { type: "string" },
      once: { type: "boolean", default: false },
      tied: { type: "boolean", default: false },
      version: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  return values;
}

async function main(args: readonly string[]): Promise<number> {
  let options: ReturnType<typeof readArguments>;
  try {
    options = readArguments(args);
  } catch (error) {
    process.stderr.write(`surgiclawd: ${asCellError(error).detail}\n\n${usage}`);
    return daemonExit.usage;
  }
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  if (options.version) {
    process.stdout.write(`${await version()}\n`);
    return 0;
  }
  if (options.config === undefined) {
    process.stderr.write(`surgiclawd: --config FILE is missing\n\n${usage}`);
    return daemonExit.usage;
  }
  const loaded = await loadConfig(options.config);
  const { level, file } = loaded.config.log;
  const log = createLogger({ level, ...(file === undefined ? {} : { file }) });
  const daemon = new Daemon({
    loaded,
    createCell,
    clock: systemClock,
    log,
    notify: (message) => cellAddon().notifySystemd(message),
    env: process.env,
    version: await version(),
    start: await countStart(path.join(loaded.config.record.folder, "starts.json"), (why) =>
      log.warn({ why }, "the start was not counted"),
    ),
    once: options.once,
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      daemon.shutdown(`received ${signal}`);
    });
  }
  if (options.tied) {
    process.stdin.resume().on("end", () => {
      daemon.shutdown("standard input was closed");
    });
  }
  process.on("SIGHUP", () => void daemon.reload());
  const defect = (error: unknown): void => {
    log.fatal({ error: error instanceof Error ? error.stack : String(error) }, "defect; stopping");
    daemon.shutdown("a defect in this program", daemonExit.software);
  };
  process.on("uncaughtException", defect);
  process.on("unhandledRejection", defect);
  return daemon.run();
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const known = asCellError(error);
  process.stderr.write(`surgiclawd: ${known.message}\n  ${known.remedy}\n`);
  process.exitCode =
    known instanceof CellError && known.category === "configuration"
      ? daemonExit.config
      : daemonExit.software;
}
// Native threads and sockets of third parties must not keep a stopped daemon alive.
process.exit();
