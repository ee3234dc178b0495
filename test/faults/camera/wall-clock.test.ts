/** A step of the daemon's wall clock: nothing that is decided depends on it. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../../src/base/paths.js";
import { waitFor } from "../wait.js";
import { cameraRig } from "./rig.js";

interface Line {
  readonly afterS: number;
  readonly ageS: number;
  readonly wallS: number;
  readonly online: boolean;
}

t.test("an hour forth and back: frames stay exposed after the question, and fresh", async (t) => {
  await cameraRig(t);
  const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-clock-"));
  const shift = path.join(folder, "shift");
  const step = (seconds: number): void => writeFileSync(shift, String(seconds));
  step(0);
  const program = path.join(projectRoot, "dist", "test", "faults", "camera", "frame-times.js");
  const child = spawn(process.execPath, [program, "127.0.0.64", "T1"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      LD_PRELOAD: path.join(projectRoot, "build", "lib", "libwall-clock-shift.so"),
      WALL_CLOCK_SHIFT: shift,
    },
  });
  t.teardown(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line) as Line));
  for (const seconds of [0, 3600, -3600, 0]) {
    step(seconds);
    const shifted = (): number =>
      lines.filter(({ wallS }) => Math.abs(wallS - Date.now() / 1e3 - seconds) < 60).length;
    const before = shifted();
    await waitFor(() => shifted() >= before + 10, 30);
  }
  t.ok(lines.length >= 40);
  t.ok(
    lines.some(({ wallS }) => wallS > Date.now() / 1e3 + 3000),
    "the program's clock was ahead",
  );
  t.ok(
    lines.every(({ afterS, ageS }) => afterS > 0 && ageS >= 0),
    "every frame was exposed after it was asked for, and none in the future",
  );
  t.ok(
    lines.every(({ online }) => online),
    "the camera never counted as offline",
  );
});
