/** The program that draws the microscopes and serves them as cameras: started, given faults, ended. */
import { spawn, type ChildProcess } from "node:child_process";
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { withDeadline } from "../base/clock.js";
import { CellError } from "../base/errors.js";
import { programPath } from "../base/paths.js";

/** It draws and blurs two canvases before it serves. */
const readyLimitS = 30;
const endLimitS = 3;

export interface CameraServerFiles {
  readonly scene: string;
  readonly state: string;
  readonly cameraLog: string;
}

export class CameraServer {
  private child: ChildProcess | undefined;

  /** Resolves when the cameras serve. @throws CellError CAMERA_OFFLINE, LINK_TIMEOUT */
  async start({ scene, state, cameraLog }: CameraServerFiles): Promise<void> {
    const log = createWriteStream(cameraLog);
    const child = spawn(programPath("camera-server"), ["--scene", scene, "--state", state], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.child = child;
    child.stderr.pipe(log);
    // Its end is noticed by its exit, not by the pipe.
    child.stdin.on("error", () => undefined);
    const lines = createInterface({ input: child.stdout });
    await withDeadline(
      new Promise<void>((resolve, reject) => {
        lines.on("line", (line) => {
          log.write(`${line}\n`);
          if (line.includes('"ready":true')) resolve();
        });
        child.once("error", reject);
        child.once("exit", (code) => {
          reject(new CellError("CAMERA_OFFLINE", `the camera server ended with ${code}; see ${cameraLog}`));
        });
      }),
      readyLimitS,
      "camera server",
    );
  }

  /** Gives a camera (1, 2) one of the faults of native/optics/server/camera_service.h; within a few milliseconds. */
  fault(camera: number, what: string, value: string | number): void {
    this.child?.stdin?.write(`${camera} ${what} ${value}\n`);
  }

  async stop(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child?.exitCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.stdin?.end();
    child.kill("SIGTERM");
    await withDeadline(ended, endLimitS, "end of the camera server").catch(() => child.kill("SIGKILL"));
  }
}
