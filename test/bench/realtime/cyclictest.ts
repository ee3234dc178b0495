/**
 * cyclictest, which everybody who judges a machine's real time uses, as the anchor of a run: the lateness of a thread that
 * sleeps to absolute times, here with the priority and period of ours.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Wake-ups by whole microseconds of lateness. */
export type Histogram = ReadonlyMap<number, number>;

export interface Anchor {
  readonly histogram: Histogram;
  readonly realtime: boolean;
}

/** What is later lies in the last bucket, µs. */
const longestUs = 100_000;

/**
 * @param priority SCHED_FIFO; where it is not permitted, cyclictest runs as any other program, and says so here
 * @throws Error when cyclictest is not installed
 */
export async function cyclictest(priority: number, periodUs: number, durationS: number): Promise<Anchor> {
  const common = ["-q", "-t1", `-i${periodUs}`, `-D${durationS}`, `-h${longestUs}`];
  try {
    const { stdout } = await run("cyclictest", ["-m", `-p${priority}`, ...common], { maxBuffer: 1e8 });
    return { histogram: parse(stdout), realtime: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      throw new Error("cyclictest is missing: Debian package rt-tests, installed by npm run setup", {
        cause: error,
      });
    const { stdout } = await run("cyclictest", ["--policy=other", ...common], { maxBuffer: 1e8 });
    return { histogram: parse(stdout), realtime: false };
  }
}

function parse(text: string): Histogram {
  const histogram = new Map<number, number>();
  for (const line of text.split("\n")) {
    const bucket = /^(\d{6,}) (\d+)/.exec(line);
    if (bucket && Number(bucket[2]) > 0) histogram.set(Number(bucket[1]), Number(bucket[2]));
  }
  const overflows = /^# Histogram Overflows: 0*(\d+)/m.exec(text)?.[1];
  if (overflows !== undefined && Number(overflows) > 0) histogram.set(longestUs, Number(overflows));
  if (histogram.size === 0)
    throw new Error(`cyclictest said nothing that was understood: ${text.slice(0, 300)}`);
  return histogram;
}

/** Of several rounds as one. */
export function merge(histograms: readonly Histogram[]): Histogram {
  const sum = new Map<number, number>();
  for (const histogram of histograms)
    for (const [us, count] of histogram) sum.set(us, (sum.get(us) ?? 0) + count);
  return sum;
}

/** µs; the upper edge of the bucket. */
export function quantileUs(histogram: Histogram, share: number): number {
  const buckets = [...histogram].sort(([a], [b]) => a - b);
  const wanted = share * buckets.reduce((sum, [, count]) => sum + count, 0);
  let sum = 0;
  for (const [us, count] of buckets) if ((sum += count) >= wanted) return us + 1;
  return NaN;
}
