/**
 * What it costs to follow a UR5e at 500 Hz, beside ur_rtde: both clients hang on one emulated controller with the same
 * recipe, and their CPU time (user and system, of the whole process) is read at the ends of the same windows. Prints
 * packages per CPU second and their ratio; writes JSON to the file named.
 *   npm run bench -- rtde
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface, type Interface } from "node:readline";
import { systemClock } from "../../src/base/clock.js";
import { projectRoot } from "../../src/base/paths.js";
import { optionalFields, requiredFields } from "../../src/cell/ur/ur-sample.js";

/** An address of its own: ur_rtde knows no other port than 30004. */
const host = "127.31.5.1";
const hertz = 500;
const recipe = [...requiredFields, ...optionalFields].join(",");
const rounds = 6;
const windowS = 5;
/** Until the engine has compiled what runs often. */
const warmUpS = 10;

interface Reading {
  readonly cpuS: number;
  readonly timestampS: number;
  readonly packages?: number;
}

/** A program of its own that answers a line with a line. */
class Reader {
  private constructor(
    private readonly child: ChildProcess,
    private readonly lines: Interface,
  ) {}

  static async start(program: string, ...args: string[]): Promise<Reader> {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout });
    const failed = once(child, "exit").then(() => {
      throw new Error(`${path.basename(args[0] ?? program)} ended before it was ready`);
    });
    const ready = new Promise((resolve) => lines.on("line", (line) => line === "ready" && resolve(line)));
    await Promise.race([ready, failed]);
    failed.catch(() => undefined);
    return new Reader(child, lines);
  }

  async read(): Promise<Reading> {
    const answer = once(this.lines, "line") as Promise<[string]>;
    this.child.stdin?.write("\n");
    const [line] = await answer;
    return JSON.parse(line) as Reading;
  }

  async end(): Promise<void> {
    const gone = once(this.child, "exit");
    this.child.stdin?.end();
    await gone;
  }
}

const python =
  process.env["SURGICLAW_INTEROP_PYTHON"] ?? path.join(projectRoot, ".venv", "interop", "bin", "python");
await access(python).catch(() => {
  throw new Error(
    `${python} is missing: npm run bench -- rtde makes it, as does npm run test:interop -- --set-up`,
  );
});
const own = (name: string): string => path.join(import.meta.dirname, "rtde", name);
const emulator = await Reader.start(process.execPath, own("emulator.js"), host);
const ours = await Reader.start(process.execPath, own("our-reader.js"), host, String(hertz), recipe);
const theirs = await Reader.start(
  python,
  path.join(projectRoot, "test", "bench", "rtde", "their_reader.py"),
  host,
  String(hertz),
  recipe,
);
await systemClock.sleep(warmUpS);

const results: { packages: number; oursUs: number; theirsUs: number }[] = [];
for (let round = 0; round < rounds; round++) {
  const before = await Promise.all([ours.read(), theirs.read()]);
  await systemClock.sleep(windowS);
  const after = await Promise.all([ours.read(), theirs.read()]);
  const packages = (after[0].packages ?? 0) - (before[0].packages ?? 0);
  const theirTimeS = after[1].timestampS - before[1].timestampS;
  const apartS = Math.abs(after[0].timestampS - after[1].timestampS);
  if (!(theirTimeS > 0.8 * windowS && apartS < 0.5)) throw new Error("ur_rtde did not follow the stream");
  results.push({
    packages,
    oursUs: ((after[0].cpuS - before[0].cpuS) / packages) * 1e6,
    theirsUs: ((after[1].cpuS - before[1].cpuS) / packages) * 1e6,
  });
}
await Promise.all([ours.end(), theirs.end(), emulator.end()]);

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const oursUs = median(results.map((one) => one.oursUs));
const theirsUs = median(results.map((one) => one.theirsUs));
const ratio = median(results.map((one) => one.theirsUs / one.oursUs));
const line = (name: string, us: number): string =>
  `  ${name.padEnd(12)}${us.toFixed(1).padStart(16)}${Math.round(1e6 / us)
    .toString()
    .padStart(22)}`;
const heard = median(results.map(({ packages }) => packages / windowS));
console.log(
  `${recipe.split(",").length} fields, ${heard.toFixed(0)} packages/s, ${rounds} windows of ${windowS} s`,
);
console.log("                CPU µs/package   packages/CPU second");
console.log(line("surgiclaw", oursUs));
console.log(line("ur_rtde", theirsUs));
console.log(`  ratio ${ratio.toFixed(2)}, at least 1 wanted: ${ratio >= 1 ? "met" : "MISSED"}`);
const [, , file] = process.argv;
if (file !== undefined) await writeFile(file, `${JSON.stringify({ recipe, windowS, ratio, results })}\n`);
