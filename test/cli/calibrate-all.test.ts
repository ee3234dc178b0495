/** The sequence of measuring verbs from the command line: order, what a dry run leaves alone, what is refused before a cell is linked. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";

const main = path.join(projectRoot, "dist", "src", "cli", "main.js");
const config = path.join(projectRoot, "surgiclawd.example.yaml");
const run = async (...args: string[]): Promise<{ stdout: string }> =>
  promisify(execFile)(process.execPath, [main, "calibrate", ...args, "--config", config]);

t.test("a dry run names every verb and its steps in order, and writes nothing", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-all-"));
  const output = path.join(folder, "cell.yaml");
  const { stdout } = await run("all", "--dry-run", "--output", output);
  t.strictSame(
    [...stdout.matchAll(/^calibrate (\w+)$/gm)].map(([, verb]) => verb),
    ["stage", "handeye", "needle", "registration"],
  );
  t.match(stdout, /11 of 11 steps to go; nothing has moved/);
  t.strictSame(await readdir(folder), []);
});

/** What a command that fails says. */
async function refusal(...args: string[]): Promise<string> {
  const error: unknown = await run(...args).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return (error as { readonly stderr?: string } | undefined)?.stderr ?? "";
}

t.test("turns that cannot determine a hand-eye are refused before anything is linked", async (t) => {
  t.match(
    await refusal("handeye", "--twist-deg", "0"),
    /CALIBRATION_REFUSED: 8 orientations turn by .* 0\.000 rad/,
  );
  t.match(await refusal("handeye", "--tilt-deg", "40"), /tilt: 0 to 11\.5 degrees, not 40/);
});
