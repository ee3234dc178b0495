/** Finding and reaching the daemon: which socket, under which name, and what its errors mean for the exit code. */
import { existsSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import path from "node:path";
import { Option, type Command } from "commander";
import { loadConfig } from "../../base/config.js";
import { asCellError, type CellError } from "../../base/errors.js";
import { projectRoot } from "../../base/paths.js";
import { CommandClient } from "../../service/command/client.js";
import { cliExit } from "../exit-codes.js";
import { paint, printJson, warn } from "./output.js";

export interface ConnectionOptions {
  readonly endpoint?: string;
  readonly config?: string;
  readonly json?: boolean;
}

/** The same for every terminal of one person, so that a takeover can be handed back from another one. */
export const clientName = (): string => `${userInfo().username}@${hostname()}`;

export const jsonOption = (): Option => new Option("--json", "machine-readable output");

/** Adds the options that every verb that talks to the daemon has. */
export function withConnection(command: Command): Command {
  return command
    .option("--endpoint <address>", "command socket, as in ipc:///run/surgiclaw/command.sock")
    .option("--config <file>", "take the command socket from this configuration")
    .addOption(jsonOption());
}

/** --endpoint, --config, SURGICLAW_ENDPOINT, the checkout's own daemon, the system's daemon: the first there is. */
export async function endpointOf(options: ConnectionOptions): Promise<string> {
  if (options.endpoint !== undefined) return options.endpoint;
  if (options.config !== undefined) return (await loadConfig(options.config)).config.command.endpoint;
  const fromEnvironment = process.env["SURGICLAW_ENDPOINT"];
  if (fromEnvironment !== undefined && fromEnvironment !== "") return fromEnvironment;
  const checkout = path.join(projectRoot, "runs", "command.sock");
  return existsSync(checkout) ? `ipc://${checkout}` : "ipc:///run/surgiclaw/command.sock";
}

/** Opens a client, runs `work`, closes it. */
export async function withClient<T>(
  options: ConnectionOptions,
  work: (client: CommandClient) => Promise<T>,
): Promise<T> {
  const client = new CommandClient(await endpointOf(options), clientName());
  try {
    client.open();
    return await work(client);
  } finally {
    client.close();
  }
}

/** The exit code for an error. */
export function exitCodeOf(error: CellError): number {
  switch (error.code) {
    case "LINK_CONNECT":
    case "LINK_TIMEOUT":
    case "LINK_CLOSED":
      return cliExit.unreachable;
    case "LINK_ABORTED":
      return cliExit.interrupted;
    case "SAFETY_STOPPED":
      return cliExit.stopped;
    default:
      return error.category === "configuration" ? cliExit.invalid : cliExit.failed;
  }
}

/** Says what went wrong and what to do, and sets the exit code. */
export function fail(error: unknown, json: boolean): void {
  const known = asCellError(error);
  const { code, number, detail, remedy } = known;
  if (json) printJson({ error: { code, number, detail, remedy } });
  else {
    warn(`${paint("red", `error ${number} ${code}`, process.stderr)}: ${detail}`);
    warn(`  what to do: ${remedy}`);
    if (code === "INTERNAL" && known.cause instanceof Error && known.cause.stack !== undefined) {
      warn(paint("dim", known.cause.stack, process.stderr));
    }
  }
  process.exitCode = exitCodeOf(known);
}

/** Wraps the action of a verb: errors become messages and exit codes, never stack traces. */
export function guarded<A extends unknown[]>(
  json: (...args: A) => boolean,
  action: (...args: A) => Promise<void>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      await action(...args);
    } catch (error) {
      fail(error, json(...args));
    }
  };
}
