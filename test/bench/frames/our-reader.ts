/**
 * our-reader ADDRESS RATE PACKET SECONDS: the product's grabber on one camera of 2048 × 2048 pixels. Every frame is taken and
 * looked at where it lies. Prints frames received, incomplete and taken, and CPU time of the whole process, in s, of the window.
 */
import { monotonicNow } from "../../../src/base/clock.js";
import { cellAddon } from "../../../src/cell/native.js";

const [, , address = "127.0.0.1", rate = "25", packet = "9000", seconds = "5"] = process.argv;
const frameRate = Number(rate);
const camera = new (cellAddon().Camera)({
  ...{ name: "view1", address, width: 2048, height: 2048, pixelFormat: "Mono8", mode: "newest" },
  ...{ frameRate, packetSize: Number(packet), ringSize: frameRate + 4 },
});
await camera.open();
await camera.start();
let lastS = monotonicNow();
const one = async (): Promise<void> => {
  const frame = await camera.next(lastS, 5);
  lastS = frame.hostTimestampS;
  if (frame.pixels.length !== 2048 * 2048) throw new Error("half a frame");
  frame.release();
};
for (let k = 0; k < 3; k++) await one();
const before = camera.counters();
const [beginS, cpu] = [monotonicNow(), process.cpuUsage()];
let taken = 0;
for (; monotonicNow() - beginS < Number(seconds); taken++) await one();
const windowS = monotonicNow() - beginS;
const { user, system } = process.cpuUsage(cpu);
const after = camera.counters();
console.log(
  JSON.stringify({
    ...{ windowS, taken, cpuS: (user + system) / 1e6 },
    received: after.received - before.received,
    incomplete: after.incomplete - before.incomplete,
  }),
);
await camera.close();
