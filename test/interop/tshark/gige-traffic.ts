/**
 * Traffic for the dissectors: the grabber takes frames of the camera of the native tests, of which some packets are lost
 * and asked for again. Prints what the grabber counted. Runs alone in a network namespace: `node gige-traffic.js`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { programPath } from "../../../src/base/paths.js";
import { cellAddon } from "../../../src/cell/native.js";

const address = "127.0.0.1";
const peer = spawn(programPath("gige-peer"), [address, "PEER9"], { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: peer.stdout });
await once(lines, "line", { signal: AbortSignal.timeout(10_000) });
peer.stdin.write("loss 10\n");
await once(lines, "line", { signal: AbortSignal.timeout(10_000) });
const camera = new (cellAddon().Camera)({
  name: "view1",
  address,
  width: 256,
  height: 192,
  offsetX: 32,
  offsetY: 16,
  pixelFormat: "Mono12Packed",
  frameRate: 25,
  packetSize: 1500,
  ringSize: 30,
  mode: "bounded",
});
await camera.open();
await camera.setFeature("ExposureTime", 2500);
await camera.start();
let sequence = 0;
for (let i = 0; i < 20; i++) {
  const frame = await camera.next(0, 10);
  ({ sequence } = frame);
  frame.release();
  camera.latest(sequence)?.release();
}
const counters = camera.counters();
await camera.close();
process.stdout.write(`${JSON.stringify({ ...counters, sequence })}\n`);
peer.stdin.end();
