/** The daemon's running log: JSON lines to a file or the journal, readable lines when a person watches a terminal. */
import { pino } from "pino";
import { createRunningLog, describeError, type Logger, type LogLevel } from "../../record/running-log.js";

export type { Logger } from "../../record/running-log.js";

/** `12:00:01.250 WARN  message key=value` */
function readable(line: string): string {
  const { level, time, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const label = pino.levels.labels[Number(level)]?.toUpperCase() ?? String(level);
  const clock = new Date(Number(time)).toISOString().slice(11, 23);
  const extra = Object.entries(rest)
    .map(([key, value]) => ` ${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("");
  return `${clock} ${label.padEnd(5)} ${String(msg)}${extra}\n`;
}

export function createLogger(options: { readonly level: LogLevel; readonly file?: string }): Logger {
  if (options.file !== undefined || !process.stderr.isTTY) return createRunningLog(options);
  return pino(
    { level: options.level, base: null, serializers: { err: describeError, error: describeError } },
    { write: (line: string) => void process.stderr.write(readable(line)) },
  );
}
