/**
 * How late the fixed-rate thread of the product wakes, beside cyclictest with the same priority and period, in turns, while
 * JavaScript makes garbage: in the same process for ours, in a process of its own beside cyclictest. Prints microseconds and
 * the ratio of p99.9; writes JSON to the file named.
 *   npm run bench -- lateness
 */
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { HeartStatus } from "../../src/cell/native.js";
import { cyclictest, merge, quantileUs, type Histogram } from "./realtime/cyclictest.js";
import { besideGarbage, interleave, jsonOf, notJudged } from "./realtime/programs.js";

/** SCHED_FIFO priority of the thread (native/realtime/include/surgiclaw/realtime/heart.h). */
const priority = 60;
const rounds = 6;
const limit = 1.5;

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

interface Row {
  readonly name: string;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly maxUs: number;
}

async function compare(periodUs: number, durationS: number): Promise<object> {
  const ours: HeartStatus[] = [];
  const anchors: Histogram[] = [];
  let realtime = true;
  await interleave(rounds, [
    async () => {
      const args = [fileURLToPath(new URL("./realtime/heart-process.js", import.meta.url))];
      const status = await jsonOf<HeartStatus>(
        process.execPath,
        ...[...args, String(periodUs / 1e6), String(durationS)],
      );
      ours.push(status);
      realtime &&= status.realtime;
    },
    async () => {
      const anchor = await besideGarbage(() => cyclictest(priority, periodUs, durationS));
      anchors.push(anchor.histogram);
      realtime &&= anchor.realtime;
    },
  ]);
  const us = (of: (status: HeartStatus) => number): number => median(ours.map(of)) * 1e6;
  const theirs = (share: number): number => median(anchors.map((histogram) => quantileUs(histogram, share)));
  const rows: Row[] = [
    {
      ...{ name: "surgiclaw", p50Us: us((s) => s.lateP50S), p99Us: us((s) => s.lateP99S) },
      ...{ p999Us: us((s) => s.lateP999S), maxUs: Math.max(...ours.map((s) => s.lateMaxS)) * 1e6 },
    },
    {
      ...{ name: "cyclictest", p50Us: theirs(0.5), p99Us: theirs(0.99), p999Us: theirs(0.999) },
      maxUs: quantileUs(merge(anchors), 1),
    },
  ];
  const [mine, anchor] = rows;
  const ratio = (mine?.p999Us ?? NaN) / (anchor?.p999Us ?? NaN);
  const missed = ours.reduce((sum, status) => sum + status.missed, 0);
  const ticks = ours.reduce((sum, status) => sum + status.ticks, 0);
  console.log(`every ${periodUs} µs, medians of ${rounds} rounds of ${durationS} s`);
  console.log(`  lateness, µs        p50      p99    p99.9      max`);
  for (const { name, p50Us, p99Us, p999Us, maxUs } of rows)
    console.log(
      `  ${name.padEnd(14)}${[p50Us, p99Us, p999Us, maxUs].map((value) => value.toFixed(0).padStart(8)).join(" ")}`,
    );
  console.log(`  periods skipped: ${missed} of ${ticks}`);
  const verdict = !realtime ? notJudged : ratio <= limit ? "met" : "MISSED";
  console.log(`  p99.9 is ${ratio.toFixed(2)} times cyclictest's, at most ${limit} wanted: ${verdict}`);
  return { periodUs, durationS, rounds, realtime, ratio, missed, ticks, rows };
}

const results = [await compare(1000, 5)];
const [, , file] = process.argv;
if (file !== undefined) await writeFile(file, `${JSON.stringify({ priority, limit, results })}\n`);
