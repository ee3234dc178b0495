/** Programs that a verb runs beside itself. All of them end with it, however it ends. */
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import { systemClock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import { projectRoot } from "../../base/paths.js";

export interface ChildOptions {
  /** Standard output and error go there. */
  readonly log: string;
  readonly env?: NodeJS.ProcessEnv;
  /** In an emergency end what the program itself has started, too. Not for the daemon: its guardian must outlive it. */
  readonly withDescendants?: boolean;
  /** Its standard input stays open for as long as this process lives: it ends when that closes, even after a SIGKILL. */
  readonly tied?: boolean;
}

export interface Child {
  readonly name: string;
  readonly process: ChildProcess;
  readonly log: string;
  readonly withDescendants: boolean;
  /** Resolves with the exit code, or 128 + signal number as the shell counts. */
  readonly ended: Promise<number>;
}

/** Time a program has to end after SIGTERM. */
const graceS = 8;

/** A compiled program of ours. */
export const programFile = (...parts: string[]): string => path.join(projectRoot, "dist", "src", ...parts);

/** The end of a log, for messages about a program that failed. */
export function tail(file: string, lines = 12): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  } catch {
    return "";
  }
}

/** Each program leads its own process group, so one signal reaches what it has started. */
function killHard(child: Child): void {
  const { pid } = child.process;
  if (pid === undefined || child.process.exitCode !== null || child.process.signalCode !== null) return;
  try {
    process.kill(child.withDescendants ? -pid : pid, "SIGKILL");
  } catch {
    // It ended in the meantime.
  }
}

export class Children {
  private readonly all: Child[] = [];
  private readonly killAll = (): void => {
    for (const child of this.all) killHard(child);
  };

  constructor() {
    // The last resort, when this process ends in a way nobody awaited.
    process.once("exit", this.killAll);
  }

  /** Starts a program. A signal from the terminal reaches this process alone, which then ends them in order. */
  start(name: string, command: string, args: readonly string[], options: ChildOptions): Child {
    mkdirSync(path.dirname(options.log), { recursive: true });
    const log = openSync(options.log, "a");
    const child = spawn(command, [...args], {
      stdio: [options.tied === true ? "pipe" : "ignore", log, log],
      detached: true,
      env: options.env ?? process.env,
    });
    closeSync(log);
    const ended = new Promise<number>((resolve) => {
      child.once("error", () => resolve(127));
      child.once("exit", (code, signal) => resolve(code ?? (signal === "SIGKILL" ? 137 : 143)));
    });
    const withDescendants = options.withDescendants === true;
    const entry: Child = { name, process: child, log: options.log, withDescendants, ended };
    this.all.push(entry);
    return entry;
  }

  /** Starts one of our own programs with this Node. */
  startNode(name: string, file: string, args: readonly string[], options: ChildOptions): Child {
    return this.start(name, process.execPath, ["--enable-source-maps", file, ...args], options);
  }

  /** Waits until `test` gives a value. @throws CellError when the program ends first, or at the deadline */
  async until<T>(
    child: Child,
    test: () => Promise<T | undefined>,
    limitS: number,
    signal: AbortSignal,
  ): Promise<T> {
    const began = systemClock.now();
    let exit: number | undefined;
    void child.ended.then((code) => {
      exit = code;
    });
    for (;;) {
      signal.throwIfAborted();
      const value = await test();
      if (value !== undefined) return value;
      const elapsed = systemClock.now() - began;
      if (exit !== undefined || elapsed > limitS) {
        const what =
          exit === undefined ? `not ready after ${elapsed.toFixed(0)} s` : `ended with exit code ${exit}`;
        throw new CellError("LINK_CONNECT", `${child.name}: ${what}\n${tail(child.log)}`, {
          remedy: `its log says why: ${child.log}`,
        });
      }
      await systemClock.sleep(0.1, signal);
    }
  }

  /** SIGTERM, then SIGKILL after a grace. Resolves with the exit code. */
  async end(child: Child): Promise<number> {
    child.process.kill("SIGTERM");
    const killer = setTimeout(() => killHard(child), graceS * 1e3);
    try {
      return await child.ended;
    } finally {
      clearTimeout(killer);
    }
  }

  /** Ends all, the last one started first. Idempotent. */
  async endAll(): Promise<void> {
    for (const child of [...this.all].reverse()) {
      if (child.process.exitCode === null && child.process.signalCode === null) await this.end(child);
    }
    process.removeListener("exit", this.killAll);
  }
}
