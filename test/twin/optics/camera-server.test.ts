import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { programPath } from "../../../src/base/paths.js";
import { cellAddon } from "../../../src/cell/native.js";
import { twinAddon } from "../../../src/twin/native.js";
import { packScene } from "../../../src/twin/scene-layout.js";
import { cameraState, flatScene, needleState } from "./scene.js";

// Not those of the twin, which may be running.
const addresses: readonly [string, string] = ["127.0.0.62", "127.0.0.63"];

/** Registers of the fake camera, from its GenICam file: exposure (µs), raw gain, width. */
const register = { exposure: 0x120, gain: 0x110, width: 0x100 };

/** One GVCP READREG, made by hand (GigE Vision): the value, or undefined when nobody answers. */
async function readRegister(address: string, number: number, waitMs: number): Promise<number | undefined> {
  const socket = createSocket("udp4");
  try {
    const request = Buffer.alloc(12);
    request.set([0x42, 0x01, 0x00, 0x80, 0x00, 0x04, 0x12, 0x34]);
    request.writeUInt32BE(number, 8);
    const answer = once(socket, "message", { signal: AbortSignal.timeout(waitMs) }) as Promise<[Buffer]>;
    // Refusals of the port come as errors; they mean the same as silence.
    socket.on("error", () => undefined);
    socket.send(request, 3956, address);
    const [reply] = await answer;
    return reply.readUInt16BE(2) === 0x0081 && reply.readUInt16BE(6) === 0x1234
      ? reply.readUInt32BE(8)
      : undefined;
  } catch {
    return undefined;
  } finally {
    socket.close();
  }
}

interface Server {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves once this object has come as a line. */
  said(expected: object): Promise<void>;
}

/** A folder for scene and state, gone after the test. */
function folderFor(t: { teardown(work: () => void): void }): { scene: string; state: string } {
  const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-cameras-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return { scene: path.join(folder, "scene.json"), state: path.join(folder, "state.bin") };
}

function startServer(
  t: { teardown(work: () => void): void },
  files: { scene: string; state: string },
): Server {
  const child = spawn(programPath("camera-server"), ["--scene", files.scene, "--state", files.state]);
  t.teardown(() => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    async said(expected) {
      const late = setTimeout(() => {
        child.kill("SIGKILL");
      }, 60_000);
      for (;;) {
        const line = await lines.next();
        if (line.done === true) throw new Error(`the server never said ${JSON.stringify(expected)}`);
        if (line.value === JSON.stringify(expected)) break;
      }
      clearTimeout(late);
    },
  };
}

const exited = async (child: ChildProcessWithoutNullStreams): Promise<unknown> =>
  child.exitCode ?? (await once(child, "exit", { signal: AbortSignal.timeout(10_000) }))[0];

t.test("cameras come with the scene's registers, go offline and come back as after power-up", async (t) => {
  const files = folderFor(t);
  writeFileSync(files.scene, flatScene(addresses, 12_345));
  const writer = new (twinAddon().SceneWriter)(files.state);
  t.teardown(() => writer.close());
  const offline = cameraState({ online: false });
  const online = cameraState({});
  writer.write(packScene(needleState({ cameras: [online, offline] })));
  const server = startServer(t, files);
  await server.said({ ready: true });
  t.equal(await readRegister(addresses[0], register.exposure, 5000), 12_345);
  t.equal(await readRegister(addresses[0], register.gain, 5000), 2);
  t.equal(await readRegister(addresses[0], register.width, 5000), 2048);
  t.equal(await readRegister(addresses[1], register.exposure, 500), undefined, "switched off from the start");

  writer.write(packScene(needleState({ cameras: [offline, online] })));
  await server.said({ camera: "T1", online: false });
  await server.said({ camera: "T2", online: true });
  t.equal(await readRegister(addresses[0], register.exposure, 500), undefined);
  t.equal(await readRegister(addresses[1], register.exposure, 5000), 12_345);

  writer.write(packScene(needleState({ cameras: [online, online] })));
  await server.said({ camera: "T1", online: true });
  t.equal(await readRegister(addresses[0], register.exposure, 5000), 12_345);

  server.child.stdin.end();
  t.equal(await exited(server.child), 0, "ends when its parent lets go");
});

t.test("frames reach a GigE Vision client; exposure tells; a frozen camera repeats itself", async (t) => {
  const files = folderFor(t);
  writeFileSync(files.scene, flatScene(addresses));
  const writer = new (twinAddon().SceneWriter)(files.state);
  t.teardown(() => writer.close());
  writer.write(packScene(needleState()));
  const server = startServer(t, files);
  await server.said({ ready: true });
  const camera = new (cellAddon().Camera)({
    name: "T1",
    address: addresses[0],
    width: 2048,
    height: 2048,
    frameRate: 20,
    packetSize: 32_000,
    ringSize: 8,
    mode: "newest",
  });
  t.equal((await camera.open()).serial, "T1");
  await camera.start();
  t.teardown(() => camera.close());
  let last: number | undefined;
  /** The next frame that is complete, as a copy. */
  const frame = async (): Promise<Buffer> => {
    const until = Date.now() + 20_000;
    while (Date.now() < until) {
      const lease = camera.latest(last);
      if (lease === null) {
        await delay(20);
        continue;
      }
      last = lease.sequence;
      const pixels = Buffer.from(lease.pixels);
      lease.release();
      return pixels;
    }
    throw new Error("no frame came");
  };
  /** Waits for a frame that passes. */
  const frameWith = async (passes: (pixels: Buffer) => boolean): Promise<Buffer> => {
    for (let i = 0; i < 40; i++) {
      const pixels = await frame();
      if (passes(pixels)) return pixels;
    }
    throw new Error("no such frame came");
  };
  /** Mean grey of the right half of a row, tissue only. */
  const grey = (pixels: Buffer): number => {
    let sum = 0;
    for (let x = 1500; x < 2000; x++) sum += pixels[900 * 2048 + x] ?? NaN;
    return sum / 500;
  };
  // Gain 2 dB, from the scene: 6 + 104 * 10^(2/20) = 136.9; half the exposure: 71.5.
  t.ok(Math.abs(grey(await frame()) - 136.9) < 2);
  await camera.setFeature("ExposureTimeAbs", 5000);
  await frameWith((pixels) => Math.abs(grey(pixels) - 71.5) < 2);
  t.not(Buffer.compare(await frame(), await frame()), 0, "noise differs from frame to frame");

  const frozen = cameraState({ frozen: true });
  writer.write(packScene(needleState({ cameras: [frozen, frozen] })));
  let before = await frame();
  await frameWith((pixels) => {
    const same = Buffer.compare(pixels, before) === 0;
    before = pixels;
    return same;
  });
  writer.write(packScene(needleState({ light: 0.5, cameras: [frozen, frozen] })));
  await delay(200);
  t.equal(Buffer.compare(await frame(), before), 0, "what happens meanwhile is not seen");
  writer.write(packScene(needleState({ light: 0.5 })));
  await frameWith((pixels) => Math.abs(grey(pixels) - 38.7) < 2);
  server.child.kill("SIGTERM");
  t.equal(await exited(server.child), 0);
});

t.test("what it cannot serve it says", (t) => {
  const files = folderFor(t);
  const run = (...words: string[]): { status: number | null; stderr: string } =>
    spawnSync(programPath("camera-server"), words, { encoding: "utf8", input: "", timeout: 60_000 });
  t.match(run("--scene", files.scene, "--state", files.state), { status: 1, stderr: /cannot read/ });
  writeFileSync(files.scene, '{"seed": 1, "lamp": 2}');
  t.match(run("--scene", files.scene, "--state", files.state), { status: 1, stderr: /lamp: unknown key/ });
  writeFileSync(files.scene, flatScene(["192.168.0.1", "127.0.0.63"]));
  t.match(run("--scene", files.scene, "--state", files.state), {
    status: 1,
    stderr: /192.168.0.1.*loopback/,
  });
  t.match(run("--scene", files.scene), { status: 2, stderr: /usage/ });
  t.match(run("--scene", files.scene, "--state", files.state, "--speed", "3"), {
    status: 2,
    stderr: /--speed/,
  });
  t.end();
});
