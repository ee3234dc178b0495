/** Jobs as processes of this machine, as many at a time as it has cores. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { CellError } from "../../base/errors.js";
import type { Job, JobFailure, JobProgress, JobRunner } from "./job-runner.js";

/** What is kept of a job's error output, characters. */
const keptErrors = 2000;
/** A job that does not end by itself after it was asked to is killed, ms. */
const patienceMs = 20_000;

export class LocalJobs implements JobRunner {
  constructor(private readonly atOnce = availableParallelism()) {}

  async run(
    jobs: readonly Job[],
    {
      signal,
      onProgress,
    }: { readonly signal: AbortSignal; readonly onProgress: (progress: JobProgress) => void },
  ): Promise<JobFailure[]> {
    const waiting = [...jobs];
    const failures: JobFailure[] = [];
    const lane = async (): Promise<void> => {
      for (let job = waiting.shift(); job !== undefined && !signal.aborted; job = waiting.shift()) {
        const reason = await runOne(job, signal, onProgress);
        if (reason !== undefined) failures.push({ job: job.name, reason });
      }
    };
    await Promise.all(Array.from({ length: Math.max(1, Math.min(this.atOnce, jobs.length)) }, lane));
    if (signal.aborted) throw new CellError("LINK_ABORTED", "the jobs were interrupted");
    return failures;
  }
}

/** Undefined when it ended well. */
async function runOne(
  job: Job,
  signal: AbortSignal,
  onProgress: (progress: JobProgress) => void,
): Promise<string | undefined> {
  const child = spawn(process.execPath, [job.module, ...job.args], {
    stdio: ["ignore", "pipe", "pipe"],
    // One job, one core: libraries must not open threads of their own.
    env: { ...process.env, OMP_NUM_THREADS: "1" },
  });
  let errors = "";
  let killer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    child.kill("SIGTERM");
    killer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  };
  signal.addEventListener("abort", stop, { once: true });
  child.stderr.on("data", (text: Buffer) => (errors = (errors + text.toString()).slice(-keptErrors)));
  createInterface({ input: child.stdout }).on("line", (line) => {
    try {
      onProgress({ job: job.name, report: JSON.parse(line) as unknown });
    } catch {
      errors = `${errors}\n${line}`.slice(-keptErrors);
    }
  });
  try {
    const [code, ended] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    if (code === 0) return undefined;
    return errors.trim() || (ended === null ? `ended with ${code}` : `ended by ${ended}`);
  } finally {
    clearTimeout(killer);
    signal.removeEventListener("abort", stop);
  }
}
