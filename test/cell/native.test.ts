import { createHash } from "node:crypto";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { addonPath } from "../../src/base/paths.js";
import { cellAddon, type CameraOptions } from "../../src/cell/native.js";

const width = 64;
const height = 48;

/** A folder with one PGM per grey value, written by hand. */
function imageFolder(t: { teardown(work: () => void): void }, values: readonly number[]): string {
  const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-native-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [i, value] of values.entries())
    writeFileSync(
      path.join(folder, `${String(i).padStart(3, "0")}.pgm`),
      Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), Buffer.alloc(width * height, value)]),
    );
  return folder;
}

const options = (folder: string): CameraOptions => ({
  name: "folder",
  folder,
  width,
  height,
  frameRate: 50,
  packetSize: 9000,
  ringSize: 8,
  mode: "newest",
});

t.test("frames of an image folder", async (t) => {
  const { Camera, geometry } = cellAddon();
  const camera = new Camera(options(imageFolder(t, [10, 20, 30])));
  await t.rejects(camera.next(0, 1), { code: "CAMERA_OFFLINE" });
  await t.rejects(camera.start(), { code: "COMMAND_INVALID" });
  t.equal(camera.silenceS(), Infinity);
  await camera.open();
  await camera.start();
  const first = await camera.next(0, 10);
  t.equal(first.pixels[0], first.pixels[width * height - 1]);
  t.ok([10, 20, 30].includes(first.pixels[0] ?? 0));
  const second = await camera.next(first.hostTimestampS, 10);
  t.ok(second.sequence > first.sequence, "the frame that one already has is not a newer one");
  const metrics = await geometry.measureImage(second);
  t.ok(Math.abs(metrics.mean - (second.pixels[0] ?? 0)) < 1e-9, "the mean of a uniform frame is its value");
  t.equal(
    await geometry.hashFrame(second),
    createHash("sha256")
      .update(Buffer.alloc(width * height, second.pixels[0]))
      .digest("hex"),
  );
  first.release();
  second.release();
  second.release();
  await t.rejects(camera.next(1e8, 0.05), { code: "LINK_TIMEOUT" });
  const waiting = camera.next(1e8, 100);
  const closing = camera.close();
  await t.rejects(waiting, { code: "CAMERA_OFFLINE" });
  await closing;
  t.equal(camera.latest(), null);
  await camera.open();
  await camera.start();
  const later = await camera.next(0, 10);
  t.ok(later.sequence > second.sequence, "numbers go on after reopening");
  later.release();
  await camera.close();
});

t.test("wrong arguments are TypeErrors that name them", async (t) => {
  const { Camera, Heart, geometry, fdatasync, notifySystemd } = cellAddon();
  const good = options(imageFolder(t, [0]));
  for (const [bad, message] of [
    [undefined, /options must be an object/],
    [{ ...good, name: 3 }, /options\.name must be a string/],
    [{ ...good, width: 1.5 }, /options\.width must be a whole number/],
    [{ ...good, frameRate: NaN }, /options\.frameRate must be finite/],
    [{ ...good, ringSize: 2 }, /options\.ringSize = 2 lies outside 5…1024/],
    [{ ...good, mode: "all" }, /options\.mode/],
    [{ ...good, address: "127.0.0.1" }, /an address, a device or a folder/],
  ] as const)
    t.throws(() => new Camera(bad as unknown as CameraOptions), { message });
  t.throws(() => new Camera({ ...good, name: "" }), { code: "COMMAND_INVALID" });
  const loose = geometry as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of Object.keys(geometry)) t.throws(() => loose[name]?.({}), TypeError, name);
  const heart = new Heart();
  t.throws(() => heart.start({ fd: -1, periodS: 0.005, limitS: 0.05 }), RangeError);
  t.throws(() => heart.start({ fd: 9999, periodS: 0.005, limitS: 0.05 }), { code: "SAFETY_HEARTBEAT" });
  t.throws(() => heart.setNeedle(true, 2 ** 31), RangeError);
  t.throws(() => fdatasync("1" as unknown as number), TypeError);
  t.throws(() => notifySystemd(1 as unknown as string), TypeError);
});

t.test("fdatasync settles off the event loop and reports errors", async (t) => {
  const { fdatasync } = cellAddon();
  const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-sync-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const fd = openSync(path.join(folder, "log"), "w");
  writeSync(fd, "entry\n");
  await fdatasync(fd);
  closeSync(fd);
  await t.rejects(fdatasync(fd), /fdatasync/);
});

t.test("beats reach the guardian's end of the pipe while the event loop is touched", async (t) => {
  const { Heart } = cellAddon();
  // `cat` stands in for the guardian; what it hands back is read byte by byte.
  const guardian = spawn("cat", { stdio: ["pipe", "pipe", "ignore"] });
  const chunks: Buffer[] = [];
  guardian.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const heart = new Heart();
  t.same(heart.status().beats, 0);
  heart.setNeedle(true, -4321);
  heart.start({ fd: descriptorOf(guardian), periodS: 0.002, limitS: 1 });
  t.throws(() => heart.start({ fd: 1, periodS: 0.002, limitS: 1 }), { code: "COMMAND_INVALID" });
  for (let i = 0; i < 1000 && Buffer.concat(chunks).length < 24 * 5; i++) {
    heart.touch();
    await delay(2);
  }
  t.ok(heart.status().guardianAlive);
  t.ok(heart.status().beats >= 5);
  heart.stop();
  t.notOk(heart.status().guardianAlive);
  const bytes = Buffer.concat(chunks);
  for (let i = 0; i < 5; i++) {
    const at = 24 * i;
    t.equal(bytes.readUInt32LE(at), 0x53434c57);
    t.equal(bytes.readUInt32LE(at + 4), i + 1);
    t.equal(bytes.readUInt32LE(at + 16), 1, "needle in tissue");
    t.equal(bytes.readInt32LE(at + 20), -4321);
  }
  guardian.kill();
});

const python = spawnSync("python3", ["-c", ""]).status === 0;
t.test(
  "one datagram to systemd, by path and by abstract name",
  { skip: !python && "no python3 to receive it" },
  async (t) => {
    const { notifySystemd } = cellAddon();
    delete process.env["NOTIFY_SOCKET"];
    t.equal(notifySystemd("READY=1"), false);
    const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-notify-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    for (const name of [path.join(folder, "notify"), `@surgiclaw-notify-${process.pid}`]) {
      const receiver = spawn(
        "python3",
        [
          "-c",
          "import socket,sys; s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); n=sys.argv[1];" +
            "s.bind('\\0'+n[1:] if n[0]=='@' else n); s.settimeout(60); print('up',flush=True); print(s.recv(999).decode())",
          name,
        ],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      let output = "";
      receiver.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
      while (!output.startsWith("up") && receiver.exitCode === null) await delay(5);
      process.env["NOTIFY_SOCKET"] = name;
      t.equal(notifySystemd("READY=1\nSTATUS=at work"), true);
      await new Promise((resolve) => receiver.once("close", resolve));
      t.equal(output, "up\nREADY=1\nSTATUS=at work\n");
    }
    process.env["NOTIFY_SOCKET"] = path.join(folder, "nobody");
    t.throws(() => notifySystemd("READY=1"), { code: "LINK_CONNECT" });
    delete process.env["NOTIFY_SOCKET"];
  },
);

t.test("the process ends cleanly however it ends, with all threads at work", async (t) => {
  const busy = `
    import { createRequire } from "node:module";
    import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
    const { addon, options, ending } = isMainThread ? JSON.parse(process.argv[1]) : workerData;
    const { Camera, Heart, geometry } = createRequire(addon)(addon);
    const camera = new Camera(options);
    await camera.open();
    await camera.start();
    const frame = await camera.next(0, 20);
    globalThis.kept = [camera, frame, frame.pixels];
    geometry.encodeJpeg(frame, 90, 1);
    geometry.hashFrame(frame);
    camera.next(1e8, 100).catch(() => undefined);
    new Heart().start({ fd: 2, periodS: 1, limitS: 2 });
    if (ending === "exit") process.exit(3);
    if (ending === "throw") throw new Error("on purpose");
    if (ending === "drop") {
      globalThis.kept = undefined;
      gc();
      setTimeout(() => { gc(); setTimeout(() => process.exit(3), 50); }, 50);
    }
    if (ending === "worker") { parentPort.postMessage("up"); setInterval(() => {}, 1000); }
    if (ending === "workers") {
      // A module given as text cannot start itself again: the workers run it from a data address.
      const source = new URL("data:text/javascript," + encodeURIComponent(process.env.BUSY));
      const workers = [0, 1].map(() => new Worker(source, { workerData: { addon, options, ending: "worker" } }));
      await Promise.all(workers.map((worker) => new Promise((up) => worker.once("message", up))));
      await Promise.all(workers.map((worker) => worker.terminate()));
      await camera.close();
      process.exit(3);
    }`;
  const folder = imageFolder(t, [1, 2, 3, 4]);
  for (const [ending, status] of [
    ["exit", 3],
    ["throw", 1],
    ["drop", 3],
    ["workers", 3],
  ] as const) {
    const argument = JSON.stringify({ addon: addonPath("cell"), options: options(folder), ending });
    const child = spawn(process.execPath, ["--expose-gc", "--input-type=module", "-e", busy, argument], {
      env: { ...process.env, BUSY: busy },
      stdio: ["ignore", "inherit", "ignore"],
    });
    const [exitCode, signal] = await new Promise<[number | null, string | null]>((resolve) =>
      child.once("close", (...end) => resolve(end)),
    );
    t.same([exitCode, signal], [status, null], ending);
  }
});

/** The descriptor behind a child's standard input. */
function descriptorOf(child: ChildProcess): number {
  const handle = (child.stdin as unknown as { _handle: { fd: number } })._handle;
  return handle.fd;
}
