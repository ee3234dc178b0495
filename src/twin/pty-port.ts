/**
 * The device's end of an emulated serial cable: a pseudo-terminal that clients open under a path. Node cannot open one,
 * so the native program `pty-bridge` holds it and this end talks to its standard input and output.
 */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { CellError } from "../base/errors.js";
import { withDeadline } from "../base/clock.js";
import { programPath } from "../base/paths.js";

export interface PtyOptions {
  /** Where clients find the port: a symbolic link, made here and removed at the end. */
  readonly path: string;
  /** The bridge program; the one built beside the addons unless given. */
  readonly program?: string;
}

export class PtyPort {
  onData: (bytes: Uint8Array) => void = () => undefined;
  private child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;

  constructor(private readonly options: PtyOptions) {}

  /** @throws CellError LINK_CONNECT when the terminal cannot be made */
  async open(): Promise<void> {
    const program = this.options.program ?? programPath("pty-bridge");
    const child = spawn(program, [this.options.path], { stdio: ["pipe", "pipe", "pipe"] });
    const ready = new Promise<void>((resolve, reject) => {
      let said = "";
      child.stderr.on("data", (text: Buffer) => {
        said += text.toString("utf8");
        if (said.startsWith("ready ")) resolve();
      });
      child.once("error", reject);
      child.once("exit", (code) => {
        reject(new Error(said.trim() || `exit code ${code}`));
      });
    });
    try {
      await withDeadline(ready, 10, `pty-bridge ${this.options.path}`);
    } catch (error) {
      child.kill();
      const reason = error instanceof Error ? error.message : String(error);
      throw new CellError("LINK_CONNECT", `pseudo-terminal ${this.options.path}: ${reason}`, {
        cause: error,
      });
    }
    child.stdin.on("error", () => undefined);
    child.stdout.on("data", (bytes: Buffer) => {
      this.onData(bytes);
    });
    this.child = child;
  }

  write(bytes: Uint8Array): void {
    this.child?.stdin.write(bytes);
  }

  /** Pulls the cable: clients see a hang-up and the path is gone. Idempotent. */
  async close(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise<void>((resolve) => {
      child.once("exit", () => {
        resolve();
      });
    });
    child.stdin.end();
    await ended;
  }
}
