/** The files that systemd and udev read, judged by systemd's own programs. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";

const skip = existsSync("/usr/bin/systemd-analyze") ? false : "systemd-analyze is not here";

interface Outcome {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

const run = async (command: string, args: readonly string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    execFile(command, [...args], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });

/** The unit with programs that are there: the real ones are installed later. */
async function unit(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-unit-"));
  const text = await readFile(path.join(projectRoot, "systemd", "surgiclawd.service"), "utf8");
  const file = path.join(folder, "surgiclawd.service");
  await writeFile(file, text.replace("/usr/bin/node", process.execPath));
  return file;
}

t.test("systemd accepts every key of the unit", { skip }, async (t) => {
  const { code, stderr } = await run("systemd-analyze", ["verify", await unit()]);
  // It exits 0 on unknown keys: only an empty standard error means that all is known.
  t.equal(stderr, "");
  t.equal(code, 0);
});

t.test("the unit is exposed as little as stated", { skip }, async (t) => {
  const { code, stdout } = await run("systemd-analyze", [
    "security",
    "--offline=true",
    "--threshold=30",
    await unit(),
  ]);
  t.equal(code, 0, stdout.split("\n").slice(-3).join("\n"));
});

t.test("the unit keeps the guardian alive and does not restart on files a person must correct", async (t) => {
  const text = await readFile(path.join(projectRoot, "systemd", "surgiclawd.service"), "utf8");
  const value = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1];
  t.equal(value("Type"), "notify");
  t.equal(value("KillMode"), "process");
  t.equal(value("RestartPreventExitStatus"), "64 78");
  t.ok(value("WatchdogSec"));
});
