/**
 * How long a stop takes, per link, to the last byte of its command at the device's end, and from there to standstill.
 * From the socket: a client's request to the real daemon. From the native side: the guardian, when the daemon ends or falls
 * silent, and the servo's own line, beside cyclictest in the same run, in turns, while JavaScript makes garbage; and when the
 * event loop blocks. Prints tables and writes JSON to the file named.
 *   npm run bench -- stop
 */
import { writeFile } from "node:fs/promises";
import { programPath } from "../../src/base/paths.js";
import { cyclictest, merge, quantileUs, type Histogram } from "./realtime/cyclictest.js";
import { besideGarbage, interleave, jsonOf, notJudged, quantile } from "./realtime/programs.js";
import { stopsOfABlockedLoop } from "./stop/blocked.js";
import { stopsFromTheSocket } from "./stop/socket.js";
import { standstills } from "./stop/standstill.js";

const socketLimitMs = 10;
/** Times cyclictest's p99.9, and a constant, µs (a line's own wire time comes on top: none on these links). */
const native = { factor: 1.5, moreUs: 200 } as const;
/** SCHED_FIFO priority of the guardian (native/guardian/src/guardian.cc). */
const priority = 80;
const rounds = 4;
const perRound = 300;
/** cyclictest wakes about as seldom as the stops come: whoever wakes often meets a pause of the machine only once. */
const anchorPeriodUs = 10_000;
const program = process.env["SURGICLAW_STOP_BENCH"] ?? programPath("stop-bench");

const columns = (values: readonly number[], shares: readonly number[], digits: number): string =>
  shares.map((share) => quantile(values, share).toFixed(digits).padStart(9)).join("");

async function fromTheSocket(count: number): Promise<object> {
  const seconds = Object.entries(await stopsFromTheSocket(count));
  const table = seconds.map(([link, list]) => ({ link, ms: list.map((value) => value * 1e3) }));
  console.log(`request on the command socket to the last byte at the device, ms, ${count} stops`);
  console.log(`  ${"".padEnd(34)}      p50      p99      max`);
  for (const { link, ms } of table) console.log(`  ${link.padEnd(34)}${columns(ms, [0.5, 0.99, 1], 2)}`);
  const worst = Math.max(...table.map(({ ms }) => quantile(ms, 0.99)));
  const verdict = worst <= socketLimitMs ? "met" : "MISSED";
  console.log(`  the slowest link's p99 is ${worst.toFixed(2)} ms, limit ${socketLimitMs} ms: ${verdict}`);
  return { limitMs: socketLimitMs, table };
}

interface NativeStops {
  readonly realtime: boolean;
  readonly us: Readonly<Record<string, readonly number[]>>;
}

async function fromTheNativeSide(): Promise<object> {
  const modes = {
    "daemon ended": ["end", programPath("guardian"), String(perRound)],
    "daemon silent": ["silence", programPath("guardian"), String(perRound)],
    "servo stops": ["fire", String(perRound)],
  } as const;
  const times = new Map<string, number[]>();
  const anchors: Histogram[] = [];
  let realtime = true;
  await interleave(rounds, [
    async () => {
      const anchor = await besideGarbage(() => cyclictest(priority, anchorPeriodUs, 5));
      anchors.push(anchor.histogram);
      realtime &&= anchor.realtime;
    },
    async () => {
      for (const [mode, args] of Object.entries(modes)) {
        const stops = await besideGarbage(() => jsonOf<NativeStops>(program, ...args));
        realtime &&= stops.realtime;
        for (const [link, list] of Object.entries(stops.us)) {
          const name = `${mode}: ${link}`;
          times.set(name, [...(times.get(name) ?? []), ...list]);
        }
      }
    },
  ]);
  const anchor = merge(anchors);
  const limitUs = native.factor * quantileUs(anchor, 0.999) + native.moreUs;
  console.log(`from the native side to the last byte at the device, µs, ${rounds * perRound} stops each`);
  console.log(`  ${"".padEnd(34)}      p50      p99    p99.9      max`);
  for (const [name, list] of times)
    console.log(`  ${name.padEnd(34)}${columns(list, [0.5, 0.99, 0.999, 1], 0)}`);
  const anchored = [0.5, 0.99, 0.999, 1]
    .map((share) => String(quantileUs(anchor, share)).padStart(9))
    .join("");
  console.log(`  ${"cyclictest, lateness".padEnd(34)}${anchored}`);
  const worst = Math.max(...[...times.values()].map((list) => quantile(list, 0.999)));
  const verdict = !realtime ? notJudged : worst <= limitUs ? "met" : "MISSED";
  console.log(
    `  the slowest p99.9 is ${worst.toFixed(0)} µs; ${native.factor} times cyclictest's and ${native.moreUs} µs more are ` +
      `${limitUs.toFixed(0)} µs: ${verdict}`,
  );
  return { limitUs, realtime, cyclictest: [...anchor], table: Object.fromEntries(times) };
}

/** guardian.eventLoopMs: the least, for machines with real-time priority that do nothing else, and the default. */
const eventLoopMs = [20, 250] as const;
const blockedLimitMs = 80;

async function withABlockedLoop(count: number): Promise<object> {
  console.log(`event loop blocked to the last byte at the stages, ms, ${count} blocks each`);
  console.log(`  ${"".padEnd(34)}      p50      max`);
  const table: object[] = [];
  for (const limitMs of eventLoopMs) {
    const ms = (await stopsOfABlockedLoop(limitMs / 1e3, count)).map((value) => value * 1e3);
    console.log(`  ${`guardian.eventLoopMs ${limitMs}`.padEnd(34)}${columns(ms, [0.5, 1], 1)}`);
    if (limitMs === eventLoopMs[0]) {
      const met = Math.max(...ms) <= blockedLimitMs ? "met" : "MISSED";
      console.log(`    at most ${blockedLimitMs} ms wanted: ${met}`);
    }
    table.push({ eventLoopMs: limitMs, ms });
  }
  return { limitMs: blockedLimitMs, table };
}

async function toStandstill(count: number): Promise<object> {
  const table = Object.entries(await standstills(count)).map(([device, list]) => ({
    ...{ device, ms: list.map((value) => value * 1e3) },
  }));
  console.log(
    `stop of a moving device to standstill, as the emulated device stands, ms, ${count} stops each`,
  );
  console.log(`  ${"".padEnd(34)}      p50      max`);
  for (const { device, ms } of table) console.log(`  ${device.padEnd(34)}${columns(ms, [0.5, 1], 1)}`);
  return { table };
}

const results = {
  socket: await fromTheSocket(100),
  native: await fromTheNativeSide(),
  blocked: await withABlockedLoop(20),
  standstill: await toStandstill(10),
};
const [, , file] = process.argv;
if (file !== undefined) await writeFile(file, `${JSON.stringify(results)}\n`);
