/** Runs `surgiclaw demo`, which is what `npm start` runs, as a process, and reads the summary it wrote. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { projectRoot } from "../../src/base/paths.js";
import type { Tap } from "./cell-harness.js";

/** The fields that every summary must have, and the published limits; a value must lie below its limit. */
export const limits = {
  treM: 0.5e-3,
  alignAngleRad: (2 * Math.PI) / 180,
  alignErrorM: 5e-6,
  landingErrorM: 30e-6,
  insertAngleRad: (5 * Math.PI) / 180,
} as const;

export interface TargetSummary {
  /** null where it was not reached. */
  readonly treM: number | null;
  readonly alignAngleRad: number | null;
  readonly alignErrorM: readonly [number, number] | null;
  readonly landingErrorM: number | null;
  readonly insertAngleRad: number | null;
  readonly released: boolean;
  readonly vesselHit: boolean;
}

export interface DemoSummary {
  readonly seed: number;
  readonly completed: boolean;
  readonly state: string;
  readonly reason: string;
  readonly targets: readonly TargetSummary[];
  readonly cycles: number;
  readonly refusals: Readonly<Record<string, number>>;
  readonly dispatchedViolations: number;
  readonly unexplainedMotions: number;
  readonly takeovers: number;
  readonly wallS: number;
  readonly recording: string;
}

export interface DemoRun {
  readonly code: number | null;
  readonly output: string;
  readonly summary: DemoSummary;
}

/** Resolves when the demonstration has ended; a test that ends before it ends it. What a passed test recorded goes. */
export async function runDemo(test: Tap, ...args: readonly string[]): Promise<DemoRun> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-e2e-"));
  const file = path.join(folder, "summary.json");
  const program = path.join(projectRoot, "dist", "src", "cli", "main.js");
  const child = spawn(
    process.execPath,
    [program, "demo", ...args, "--summary", file, "--operator-timeout", "10"],
    {
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  test.teardown(async () => {
    child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
    const recording = /^recording {2}(.+)$/m.exec(output)?.[1];
    if (test.passing() && recording !== undefined)
      await rm(path.dirname(recording), { recursive: true, force: true });
  });
  const code = await ended;
  const text = await readFile(file, "utf8").catch(() => {
    throw new Error(`no summary; exit code ${code}\n${output.slice(-3000)}`);
  });
  return { code, output, summary: JSON.parse(text) as DemoSummary };
}

/** Everything that the issue asks of a completed procedure. */
export function judgeSummary(
  test: Tap,
  { code, output, summary }: DemoRun,
  seed: number,
  targets: number,
): void {
  test.equal(code, 0, "completed");
  if (code !== 0) test.comment(output.slice(-3000));
  test.match(
    summary,
    {
      seed,
      completed: true,
      cycles: Number,
      refusals: {},
      dispatchedViolations: 0,
      unexplainedMotions: 0,
      takeovers: 0,
      wallS: Number,
      recording: String,
    },
    "the summary has its fields; nothing was dispatched or moved that should not",
  );
  test.equal(summary.targets.length, targets, `${targets} targets`);
  for (const [index, target] of summary.targets.entries()) {
    const below = (what: string, value: number | null, limit: number): void => {
      test.ok(
        value !== null && value >= 0 && value < limit,
        `target ${index + 1}: ${what} ${value} below ${limit}`,
      );
    };
    below("treM", target.treM, limits.treM);
    below("alignAngleRad", target.alignAngleRad, limits.alignAngleRad);
    below("alignErrorM, view 1", target.alignErrorM?.[0] ?? NaN, limits.alignErrorM);
    below("alignErrorM, view 2", target.alignErrorM?.[1] ?? NaN, limits.alignErrorM);
    below("landingErrorM", target.landingErrorM, limits.landingErrorM);
    below("insertAngleRad", target.insertAngleRad, limits.insertAngleRad);
    test.equal(target.released, true, `target ${index + 1}: released`);
    test.equal(target.vesselHit, false, `target ${index + 1}: no vessel hit`);
  }
}
