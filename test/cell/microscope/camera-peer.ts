/** A GigE Vision camera of a third party as a program of its own: Aravis' fake camera. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { programPath } from "../../../src/base/paths.js";

/** The packaged program, or the same camera as built with the native tests; undefined when there is neither. */
export function cameraProgram(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return [
    ...folders.map((folder) => path.join(folder, "arv-fake-gv-camera-0.8")),
    programPath("fake-gv-camera"),
  ].find((file) => existsSync(file));
}

export class CameraPeer {
  private constructor(private readonly child: ChildProcess) {}

  /**
   * Starts the camera. Its port (3956) is fixed, so another camera on the address makes it end at once: tried again for
   * a while. Undefined when the address stays taken.
   */
  static async start(
    program: string,
    address: string,
    serial: string,
    more: readonly string[] = [],
  ): Promise<CameraPeer | undefined> {
    for (let attempt = 0; attempt < 40; attempt++) {
      const child = spawn(program, ["-i", address, "-s", serial, ...more], { stdio: "ignore" });
      const ended = new Promise<boolean>((resolve) => child.once("exit", () => resolve(true)));
      if (!(await Promise.race([ended, delay(400, false)]))) return new CameraPeer(child);
    }
    return undefined;
  }

  /** As a cable pulled: no goodbye. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => this.child.once("exit", () => resolve()));
    this.child.kill("SIGKILL");
    await ended;
  }
}
