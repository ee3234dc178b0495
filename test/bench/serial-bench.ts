/**
 * How long a serial round trip takes through the product's link to a stage controller, beside a plain C loop of write and read:
 * both ask the same far end of a pseudo-terminal for a position, in turns. Once with a line that takes no time, where only
 * the two programs differ, and once with one as slow as a wire of 115200 baud. Prints microseconds and the ratio of
 * the medians; writes JSON to the file named.
 *   npm run bench -- serial
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { monotonicNow } from "../../src/base/clock.js";
import { projectRoot } from "../../src/base/paths.js";
import { StageEnvelope } from "../../src/cell/envelope.js";
import { KohzuLink } from "../../src/cell/kohzu/kohzu-link.js";
import { SerialLink } from "../../src/cell/links/serial-link.js";
import { cellAxes } from "../cell/kohzu/rig.js";

const program = process.env["SURGICLAW_SERIAL_BENCH"] ?? path.join(projectRoot, "build/bin/serial-bench");
const rounds = 8;
const limit = 1.3;

/** A program that prints a line when it is ready, or for every line it is given. */
class Peer {
  private readonly child: ChildProcess;
  private readonly lines: AsyncIterator<string>;

  constructor(...args: string[]) {
    this.child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    if (!this.child.stdout) throw new Error(`${program} has no output`);
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  async line(request?: string): Promise<string> {
    if (request !== undefined) this.child.stdin?.write(`${request}\n`);
    const { value, done } = await this.lines.next();
    if (done === true) throw new Error(`${program} has ended`);
    return value;
  }

  async end(): Promise<void> {
    const gone = once(this.child, "exit");
    this.child.stdin?.end();
    await gone;
  }
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? NaN;

interface Result {
  readonly line: string;
  readonly oursUs: readonly number[];
  readonly plainUs: readonly number[];
  readonly ratio: number;
}

async function compare(line: string, nsPerByte: number, exchanges: number): Promise<Result> {
  const [device, far] = [new Peer("device", String(nsPerByte)), new Peer("device", String(nsPerByte))];
  const plain = new Peer("client", await far.line());
  const link = new KohzuLink(new SerialLink({ path: await device.line(), baudRate: 115_200 }), {
    ...{ device: "stages", replyTimeoutS: 2, quietS: 0.05, family: "aries", stx: true, staleAtOpen: true },
    envelope: new StageEnvelope("stages", "aries", await cellAxes()),
  });
  await link.open();
  const times: Record<"ours" | "plain", number[]> = { ours: [], plain: [] };
  const sides: (readonly ["ours" | "plain", () => Promise<number[]>])[] = [
    [
      "ours",
      async () => {
        const list: number[] = [];
        for (let k = 0; k < exchanges; k++) {
          const beginS = monotonicNow();
          await link.request("RDP", [1]);
          list.push((monotonicNow() - beginS) * 1e6);
        }
        return list;
      },
    ],
    ["plain", async () => (await plain.line(String(exchanges))).trim().split(" ").map(Number)],
  ];
  // The first round warms up.
  for (let round = -1; round < rounds; round++)
    for (const [name, run] of round % 2 === 0 ? sides : [...sides].reverse()) {
      const list = await run();
      if (round >= 0) times[name].push(...list);
    }
  await link.close();
  await Promise.all([device.end(), far.end(), plain.end()]);
  const ratio = quantile(times.ours, 0.5) / quantile(times.plain, 0.5);
  return { line, oursUs: times.ours, plainUs: times.plain, ratio };
}

const results = [
  await compare("no wire", 0, 2000),
  await compare("wire of 115200 baud", Math.round(10e9 / 115_200), 100),
];
console.log("round trip, µs                     p50      p95      p99");
for (const { line, oursUs, plainUs, ratio } of results) {
  const row = (name: string, values: readonly number[]): string =>
    `  ${name.padEnd(28)}${[0.5, 0.95, 0.99].map((share) => quantile(values, share).toFixed(1).padStart(8)).join(" ")}`;
  console.log(`${line}\n${row("surgiclaw", oursUs)}\n${row("plain C loop", plainUs)}`);
  console.log(`  ratio ${ratio.toFixed(2)}, at most ${limit} wanted: ${ratio <= limit ? "met" : "MISSED"}`);
}
const [, , file] = process.argv;
if (file !== undefined)
  await writeFile(
    file,
    `${JSON.stringify({ limit, exchanges: results.map(({ oursUs }) => oursUs.length), results: results.map(({ line, ratio, oursUs, plainUs }) => ({ line, ratio, p50Us: [quantile(oursUs, 0.5), quantile(plainUs, 0.5)], p99Us: [quantile(oursUs, 0.99), quantile(plainUs, 0.99)] })) })}\n`,
  );
