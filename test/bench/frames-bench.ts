/**
 * Frames per second and CPU time per frame at 2048 × 2048 of the product's grabber, beside arv-camera-test-0.8 on the same
 * camera server, in turns. The server sends as fast as it is asked to: first at the microscopes' rate, then faster than
 * this machine can take. Both use sockets, not packet rings. Prints a table; writes JSON to the file named.
 *   npm run bench -- frames
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, writeFile } from "node:fs/promises";
import path from "node:path";
import { programPath, projectRoot } from "../../src/base/paths.js";

/** An address of its own. */
const address = "127.31.6.1";
const packetBytes = 9000;
const rounds = 4;
const windowS = 5;
const ratesHz = [25, 200];
const leastShare = 0.95;

interface Reading {
  readonly perSecond: number;
  readonly cpuMs: number;
  readonly incomplete: number;
}

const debian = process.env["SURGICLAW_INTEROP_DEBIAN"] ?? path.join(projectRoot, ".venv", "interop-debian");
const cameraTest = path.join(debian, "usr", "bin", "arv-camera-test-0.8");
await access(cameraTest).catch(() => {
  throw new Error(
    `${cameraTest} is missing: npm run bench -- frames unpacks it, as does npm run test:interop -- --set-up`,
  );
});

async function output(program: string, args: readonly string[]): Promise<{ out: string; err: string }> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.on("data", (text: Buffer) => (out += text.toString()));
  child.stderr.on("data", (text: Buffer) => (err += text.toString()));
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${err}`);
  return { out, err };
}

async function ours(rateHz: number): Promise<Reading> {
  const reader = path.join(import.meta.dirname, "frames", "our-reader.js");
  const args = [reader, address, String(rateHz), String(packetBytes), String(windowS)];
  const { out } = await output(process.execPath, args);
  const read = JSON.parse(out) as Record<"windowS" | "cpuS" | "received" | "incomplete", number>;
  return {
    perSecond: read.received / read.windowS,
    cpuMs: (read.cpuS / read.received) * 1e3,
    incomplete: read.incomplete,
  };
}

/** CPU time of the whole run: its start is a hundredth of it. */
async function theirs(rateHz: number): Promise<Reading> {
  // Root would get a packet socket, which hears nothing on loopback.
  const usual = ["-n", address, "--no-packet-socket", "-a", "--duration", String(windowS)];
  const command = [cameraTest, ...usual, "-f", String(rateHz), "-i", String(packetBytes)];
  const timed = 'TIMEFORMAT="cpu %U %S"; time "$@"';
  const { out, err } = await output("bash", ["-c", timed, "bash", ...command]);
  const [, user, system] = /cpu ([\d.]+) ([\d.]+)/.exec(err) ?? [];
  const count = (name: string): number => Number(new RegExp(`${name}\\s*= (\\d+)`).exec(out)?.[1]);
  const frames = count("n_completed_buffers");
  return {
    perSecond: frames / windowS,
    cpuMs: ((Number(user) + Number(system)) / frames) * 1e3,
    incomplete: count("n_failures"),
  };
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

const camera = spawn(programPath("gige-peer"), [address, "BENCH1", "2048", "2048"], {
  stdio: ["pipe", "pipe", "inherit"],
});
await once(camera.stdout, "data");
const results = [];
try {
  for (const rateHz of ratesHz) {
    const pairs: { ours: Reading; theirs: Reading }[] = [];
    for (let round = 0; round < rounds; round++) {
      if (round % 2 === 0) pairs.push({ ours: await ours(rateHz), theirs: await theirs(rateHz) });
      else {
        const their = await theirs(rateHz);
        pairs.push({ ours: await ours(rateHz), theirs: their });
      }
    }
    const share = median(pairs.map((pair) => pair.ours.perSecond / pair.theirs.perSecond));
    const cpuRatio = median(pairs.map((pair) => pair.ours.cpuMs / pair.theirs.cpuMs));
    console.log(
      `${rateHz} frames/s of 2048 × 2048 asked for      frames/s   CPU ms/frame   incomplete in ${rounds} windows`,
    );
    for (const [name, list] of [
      ["surgiclaw", pairs.map((pair) => pair.ours)],
      ["arv-camera-test", pairs.map((pair) => pair.theirs)],
    ] as const)
      console.log(
        [
          `  ${name.padEnd(36)}`,
          median(list.map((one) => one.perSecond))
            .toFixed(1)
            .padStart(12),
          median(list.map((one) => one.cpuMs))
            .toFixed(2)
            .padStart(15),
          list
            .reduce((sum, one) => sum + one.incomplete, 0)
            .toString()
            .padStart(13),
        ].join(""),
      );
    console.log(
      `  rate ${share.toFixed(2)} of its, at least ${leastShare} wanted: ${share >= leastShare ? "met" : "MISSED"}; CPU per frame ${cpuRatio.toFixed(2)} of its`,
    );
    results.push({ rateHz, share, cpuRatio, pairs });
  }
} finally {
  camera.stdin.end();
}
const [, , file] = process.argv;
if (file !== undefined) await writeFile(file, `${JSON.stringify({ packetBytes, windowS, results })}\n`);
