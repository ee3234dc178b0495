import { createHash } from "node:crypto";
import t from "tap";
import { monotonicNow } from "../../../src/base/clock.js";
import { CellError } from "../../../src/base/errors.js";
import type { MicroscopeOptions } from "../../../src/cell/microscope/camera-options.js";
import { Microscope } from "../../../src/cell/microscope/microscope.js";
import { cellAddon, type FrameLease } from "../../../src/cell/native.js";
import { loadProfile, type MicroscopeProfile } from "../../../src/cell/profile.js";
import { CameraPeer, cameraProgram } from "./camera-peer.js";

const address = "127.0.0.1";
const program = cameraProgram();
const skip =
  program === undefined ? "neither arv-fake-gv-camera-0.8 nor build/bin/fake-gv-camera is here" : false;

async function started(
  t: { teardown(work: () => Promise<void>): void },
  change: Partial<MicroscopeProfile["camera"]> = {},
  options: Partial<MicroscopeOptions> = {},
): Promise<[CameraPeer, Microscope]> {
  const peer = await CameraPeer.start(program ?? "", address, "SIM01");
  if (peer === undefined) throw new Error(`port 3956 of ${address} stays taken by another camera`);
  const profile = await loadProfile("microscope-md65", "microscope");
  const microscope = new Microscope({
    name: "view1",
    profile: { ...profile, camera: { ...profile.camera, ...change } },
    address,
    serial: "SIM01",
    frameRate: 10,
    ringSize: 8,
    packetSize: 16000,
    ...options,
  });
  t.teardown(async () => {
    await microscope.close();
    await peer.kill();
  });
  return [peer, microscope];
}

const code = (wanted: string): { code: string } => ({ code: wanted });

t.test("frames of a third-party camera at full size", { skip }, async (t) => {
  const [, microscope] = await started(t);
  const states: string[] = [];
  microscope.onState = (status) => states.push(status.current);
  t.notOk(microscope.online());
  await t.rejects(microscope.nextFrame(0, 1), code("COMMAND_INVALID"));
  t.same(await microscope.connect(), { vendor: "Aravis", model: "Fake", serial: "SIM01" });
  await microscope.activate();
  t.same(states, ["inactive", "active"]);
  t.ok(microscope.online());

  const askedS = monotonicNow();
  let lastS = askedS;
  let lastSequence = 0;
  for (let i = 0; i < 5; i++) {
    const frame = await microscope.nextFrame(lastS, 10);
    t.ok(
      frame.hostTimestampS > lastS && frame.hostTimestampS <= monotonicNow(),
      "exposed after it was asked for",
    );
    t.ok(frame.sequence > lastSequence);
    t.same(
      [frame.camera, frame.width, frame.height, frame.pixels.length],
      ["view1", 2048, 2048, 2048 * 2048],
    );
    lastS = frame.hostTimestampS;
    lastSequence = frame.sequence;
    frame.release();
  }

  const { geometry } = cellAddon();
  const frame = await microscope.nextFrame(lastS, 10);
  const expected = createHash("sha256").update(frame.pixels).digest("hex");
  const hashing = geometry.hashFrame(frame);
  const view = frame.pixels;
  frame.release();
  t.equal(view.length, 0, "a view does not outlive its lease");
  t.throws(() => frame.pixels, code("INTERNAL"));
  t.equal(
    await hashing,
    expected,
    "native work keeps the frame it was given; the hash is that of Node's crypto",
  );
  t.throws(() => geometry.hashFrame(frame), code("INTERNAL"));
  t.throws(() => geometry.hashFrame({} as FrameLease), TypeError);
  const another = await microscope.nextFrame(lastS, 10);
  const jpeg = await geometry.encodeJpeg(another, 90, 4);
  t.same([...jpeg.subarray(0, 3)], [0xff, 0xd8, 0xff], "starts as JPEG does");
  t.same(jpegSize(jpeg), [512, 512]);
  another.release();
  // A native job lets go of its frame just after its promise was settled.
  for (let i = 0; i < 100 && microscope.counters?.leasesHeld !== 0; i++)
    await new Promise((go) => setTimeout(go, 20));
  t.equal(microscope.counters?.leasesHeld, 0);
});

t.test("bounds are checked before anything is written", { skip }, async (t) => {
  const [, microscope] = await started(t);
  await microscope.connect();
  await microscope.activate();
  t.same(await microscope.gainBounds(), { min: 0, max: 10 });
  const before = await microscope.exposureUs();
  await t.rejects(microscope.setExposureUs(5), code("DEVICE_LIMIT"));
  await t.rejects(microscope.setExposureUs(NaN), code("UNIT_NOT_FINITE"));
  await t.rejects(microscope.setGain(11), code("DEVICE_LIMIT"));
  t.equal(await microscope.exposureUs(), before);
  t.equal(await microscope.setExposureUs(12_345), 12_345);
  t.equal(await microscope.setGain(3.4), 3, "the nearest that the camera can hold");
  const camera = microscope.native;
  if (camera === undefined) throw new Error("no camera");
  await t.rejects(
    camera.setFeature("ExposureTimeAbs", 5),
    code("CAMERA_FEATURE"),
    "the native side checks too",
  );
  await t.rejects(
    camera.setFeature("Width", 4096),
    code("COMMAND_INVALID"),
    "nor may the size change under a stream",
  );
  await t.rejects(camera.getFeature("NoSuchFeature"), code("CAMERA_FEATURE"));
  t.throws(() => camera.getFeature(3 as unknown as string), TypeError);
});

t.test("too many held frames are an error, and the stream goes on", { skip }, async (t) => {
  const [, microscope] = await started(t);
  await microscope.connect();
  await microscope.activate();
  const held: FrameLease[] = [];
  let lastS = 0;
  // Half of a small ring is always the camera's.
  for (let i = 0; i < 4; i++) {
    const frame = await microscope.nextFrame(lastS, 10);
    lastS = frame.hostTimestampS;
    held.push(frame);
  }
  await t.rejects(microscope.nextFrame(lastS, 10), code("CAMERA_LEASES"));
  t.equal(microscope.counters?.leasesHeld, 4);
  for (const frame of held) frame.release();
  const frame = await microscope.nextFrame(lastS, 10);
  t.ok(frame.sequence > held.length);
  frame.release();
});

t.test("a camera of another model or serial number is refused", { skip }, async (t) => {
  const [, wrongModel] = await started(t, { identity: { vendor: "Aravis", model: "Real" } });
  await t.rejects(wrongModel.connect(), code("DEVICE_WRONG_MODEL"));
  t.equal(wrongModel.status.current, "unconfigured");
  const profile = await loadProfile("microscope-md65", "microscope");
  const wrongSerial = new Microscope({ name: "view2", profile, address, serial: "SIM99" });
  await t.rejects(wrongSerial.connect(), code("DEVICE_WRONG_MODEL"));
});

t.test(
  "a camera that dies is offline at once, lost later, and comes back with its settings",
  { skip },
  async (t) => {
    const [peer, microscope] = await started(t);
    await microscope.connect();
    await microscope.activate();
    await microscope.setExposureUs(7_000);
    const before = microscope.counters?.received ?? 0;
    await peer.kill();
    const diedS = monotonicNow();
    while (microscope.online() && monotonicNow() < diedS + 20) await new Promise((go) => setTimeout(go, 20));
    t.notOk(microscope.online(), "its own watchdog does not wait for the control channel");
    t.ok(monotonicNow() - diedS >= 0.8, "a silent second, less the age of the last frame");
    await t.rejects(microscope.nextFrame(monotonicNow(), 0.2), code("CAMERA_OFFLINE"));
    while (microscope.native?.lost === false && monotonicNow() < diedS + 40)
      await new Promise((go) => setTimeout(go, 50));
    t.equal(microscope.native?.lost, true);
    await t.rejects(microscope.nextFrame(monotonicNow(), 10), code("CAMERA_OFFLINE"));
    t.equal(microscope.status.current, "fault");
    await t.rejects(microscope.exposureUs(), code("CAMERA_OFFLINE"));

    const again = await CameraPeer.start(program ?? "", address, "SIM01");
    t.teardown(() => again?.kill());
    const aborted = new AbortController();
    await microscope.reopen(aborted.signal);
    t.equal(microscope.status.current, "active");
    t.ok(microscope.online());
    t.equal(await microscope.exposureUs(), 7_000, "a new camera knows nothing of the old one's settings");
    t.ok((microscope.counters?.received ?? 0) > before, "counters go on");
    await microscope.close();
    await microscope.close();
    t.equal(microscope.status.current, "finalized");
  },
);

t.test("a camera that waits for triggers", { skip }, async (t) => {
  const [, microscope] = await started(t, {}, { triggerSource: "Software" });
  await t.rejects(microscope.trigger(), code("COMMAND_INVALID"));
  await microscope.connect();
  await microscope.activate();
  t.ok(microscope.online());
  await t.rejects(microscope.nextFrame(monotonicNow(), 0.5), code("LINK_TIMEOUT"));
  for (let i = 0; i < 3; i++) {
    const askedS = monotonicNow();
    const [trigger, frame] = await Promise.all([microscope.trigger(), microscope.nextFrame(askedS, 10)]);
    t.equal(frame.trigger, trigger);
    frame.release();
  }
  t.equal(microscope.native?.silenceS(), 0, "nothing that was asked for is missing");
});

t.test("a V4L2 device is named by its path", async (t) => {
  const profile = await loadProfile("microscope-md65", "microscope");
  const usb = { ...profile, camera: { ...profile.camera, interface: "v4l2" as const } };
  const microscope = new Microscope({ name: "usb", profile: usb, address: "/dev/video-of-nobody" });
  await t.rejects(microscope.connect(), { code: "DEVICE_MISSING", detail: /video-of-nobody/ });
  await microscope.close();
});

t.test("opening nothing is reported, and can be cancelled", async (t) => {
  const profile = await loadProfile("microscope-md65", "microscope");
  const nobody = new Microscope({ name: "view3", profile, address: "Aravis-Fake-NOBODY" });
  const cancelled = new AbortController();
  const opening = nobody.connect(cancelled.signal);
  setTimeout(() => cancelled.abort(), 50);
  await t.rejects(opening, code("LINK_ABORTED"));
  await t.rejects(nobody.connect(), code("DEVICE_MISSING"));
  await nobody.close();
  t.throws(() => new Microscope({ name: "view4", profile }), CellError);
});

/** Height and width from the start-of-frame segment (ITU-T T.81, B.2.2). */
function jpegSize(jpeg: Buffer): number[] {
  for (let at = 2; at < jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) {
    const marker = jpeg[at + 1] ?? 0;
    if (marker === 0xc0 || marker === 0xc2) return [jpeg.readUInt16BE(at + 5), jpeg.readUInt16BE(at + 7)];
  }
  return [];
}
