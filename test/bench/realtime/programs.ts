/** Programs of the real-time benches that run beside or inside a measurement. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const loadProgram = fileURLToPath(new URL("./load.js", import.meta.url));

/** While `work` runs, a process of its own makes garbage in JavaScript. */
export async function besideGarbage<T>(work: () => Promise<T>): Promise<T> {
  const load = spawn(process.execPath, [loadProgram], { stdio: "ignore" });
  try {
    return await work();
  } finally {
    const gone = once(load, "exit");
    load.kill("SIGKILL");
    await gone;
  }
}

/** The JSON that a program prints. */
export async function jsonOf<T>(program: string, ...args: readonly string[]): Promise<T> {
  const { stdout } = await run(program, args, { maxBuffer: 1e8 });
  return JSON.parse(stdout) as T;
}

/** Interleaves two or more sides: A B, B A, A B, … */
export async function interleave(
  rounds: number,
  sides: readonly (() => Promise<void>)[],
  say: (round: number) => void = () => undefined,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    say(round);
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) await side();
  }
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

/** What is said instead of a verdict where the machine gave no real-time priority. */
export const notJudged =
  "not judged: no real-time priority here (run as root, or with RLIMIT_RTPRIO, as the shipped unit does)";
