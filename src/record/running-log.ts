/** The running log (pino): what a person follows while the daemon works. The audit log, not this, is the record. */
import { mkdirSync, openSync } from "node:fs";
import path from "node:path";
import pino, { type Logger } from "pino";
import { CellError } from "../base/errors.js";

export type { Logger } from "pino";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

export interface RunningLogOptions {
  readonly level: LogLevel;
  /** A file to append to; standard error otherwise (the journal under systemd). */
  readonly file?: string;
  readonly name?: string;
}

/** Lines are written asynchronously in pino's own buffer; call `flush` before leaving. */
export function createRunningLog(options: RunningLogOptions): Logger {
  const destination = pino.destination({ dest: openFor(options.file), sync: false, minLength: 0 });
  return pino(
    {
      level: options.level,
      name: options.name ?? "surgiclawd",
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError, error: describeError },
      // Keys and secrets of the command socket never reach a log.
      redact: { paths: ["secretKey", "*.secretKey", "password", "*.password"], censor: "(hidden)" },
    },
    destination,
  );
}

/** Opened at once, so that a file that cannot be written shows at start-up and `flush` always has where to write. */
function openFor(file: string | undefined): number {
  if (file === undefined) return 2;
  mkdirSync(path.dirname(file), { recursive: true });
  return openSync(file, "a");
}

/** A CellError with its number and remedy; the chain of causes in words. */
export function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) };
  if (error instanceof CellError) {
    const { code, number, category, detail, remedy } = error;
    return { code, number, category, detail, remedy, ...cause };
  }
  return { type: error.name, message: error.message, stack: error.stack, ...cause };
}
