/** The running log: pino JSON lines to a file, or to standard error (readable lines when that is a terminal). */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { pino, type Logger as PinoLogger } from "pino";

export type Logger = PinoLogger;

/** `12:00:01.250 WARN  message key=value`, for terminals. */
function readable(line: string): string {
  const {
    level,
    time,
    msg,
    pid: _pid,
    hostname: _host,
    ...rest
  } = JSON.parse(line) as Record<string, unknown>;
  const label = pino.levels.labels[Number(level)]?.toUpperCase() ?? String(level);
  const clock = new Date(Number(time)).toISOString().slice(11, 23);
  const extra = Object.entries(rest)
    .map(([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("");
  return `${clock} ${label.padEnd(5)} ${String(msg)}${extra}\n`;
}

/** Entries to a file are flushed as they are written: after a crash the last line is there. */
export function createLogger(options: { readonly level: string; readonly file?: string }): Logger {
  if (options.file !== undefined) {
    mkdirSync(path.dirname(options.file), { recursive: true });
    return pino({ level: options.level }, pino.destination({ dest: options.file, sync: true }));
  }
  if (process.stderr.isTTY) {
    const stream = { write: (line: string) => void process.stderr.write(readable(line)) };
    return pino({ level: options.level }, stream);
  }
  return pino({ level: options.level }, pino.destination({ dest: 2, sync: true }));
}
