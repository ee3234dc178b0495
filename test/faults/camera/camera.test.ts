/** The faults of a microscope's camera, switched on in the camera server of the twin. */
import t from "tap";
import { monotonicNow } from "../../../src/base/clock.js";
import { cellAddon, type ImageMetrics } from "../../../src/cell/native.js";
import type { Microscope } from "../../../src/cell/microscope/microscope.js";
import { waitFor } from "../wait.js";
import { cameraRig, delivering, soon } from "./rig.js";

const newFrame = async (microscope: Microscope, limitS = 5): Promise<number> => {
  const frame = await microscope.nextFrame(monotonicNow(), limitS);
  const { sequence } = frame;
  frame.release();
  return sequence;
};

t.test(
  "camera-offline: silent, then lost; opening fails until it is back, then settings are applied anew",
  async (t) => {
    const { faults, microscope } = await delivering(t);
    await microscope.setExposureUs(8_000);
    const last = await newFrame(microscope);
    faults.set("camera-offline", 1);
    await waitFor(() => !microscope.online());
    await t.rejects(microscope.nextFrame(monotonicNow(), 0.2), { code: "CAMERA_OFFLINE" });
    await t.rejects(microscope.reopen(AbortSignal.timeout(3_000)), {
      code: /LINK_ABORTED|DEVICE_MISSING|CAMERA_OFFLINE/,
    });
    t.equal(microscope.status.current, "fault");
    t.notOk(microscope.online());
    faults.set("camera-online", 1);
    await microscope.reopen(soon());
    t.equal(await microscope.exposureUs(), 8_000, "a camera after power-up knows nothing of it");
    t.ok((await newFrame(microscope)) > last, "the count goes on");
  },
);

t.test(
  "camera-lost-packets: damaged frames are counted and never delivered; without any whole one it is offline",
  async (t) => {
    const { faults, microscope } = await delivering(t);
    // 262 packets a frame: about one of two is hit.
    faults.set("camera-lost-packets", "1:3");
    await waitFor(() => (microscope.counters?.incomplete ?? 0) >= 3, 30);
    t.equal(microscope.native?.lost, false);
    faults.set("camera-lost-packets", "1:1000");
    await waitFor(() => !microscope.online());
    await t.rejects(microscope.nextFrame(monotonicNow(), 0.2), { code: "CAMERA_OFFLINE" });
    faults.set("camera-lost-packets", "1:0");
    await waitFor(() => microscope.online());
    await newFrame(microscope);
  },
);

t.test("camera-stall: offline by its silence while its control answers", async (t) => {
  const { faults, microscope } = await delivering(t);
  faults.set("camera-stall", 1);
  await waitFor(() => !microscope.online());
  t.equal(microscope.native?.lost, false);
  t.equal(await microscope.setExposureUs(9_000), 9_000);
  await t.rejects(microscope.nextFrame(monotonicNow(), 0.2), { code: "CAMERA_OFFLINE" });
  faults.set("camera-unstall", 1);
  await waitFor(() => microscope.online());
  faults.set("camera-stall", 1);
  await waitFor(() => !microscope.online());
  await microscope.reopen(soon());
  t.ok(microscope.online(), "a new start mends it, too");
});

t.test("camera-model, camera-serial: another camera is refused when it is opened", async (t) => {
  const { faults, microscope } = await delivering(t);
  for (const [fault, wrong, right] of [
    ["camera-model", "1:Another", "1:Fake"],
    ["camera-serial", "1:T2", "1:T1"],
  ] as const) {
    faults.set(fault, wrong);
    await microscope.native?.close();
    await t.rejects(microscope.reopen(soon()), { code: "DEVICE_WRONG_MODEL" });
    t.equal(microscope.status.current, "fault");
    t.notOk(microscope.online());
    faults.set(fault, right);
    await microscope.reopen(soon());
    t.ok(microscope.online());
  }
});

t.test("camera-clock: a frame is never taken for younger than it is", async (t) => {
  const { faults, microscope } = await delivering(t);
  for (const stepS of [3600, -3600, 1.5, 0]) {
    faults.set("camera-clock", `1:${stepS}`);
    for (let i = 0; i < 3; i++) {
      const askedS = monotonicNow();
      const frame = await microscope.nextFrame(askedS, 10);
      t.ok(
        frame.hostTimestampS > askedS && frame.hostTimestampS <= monotonicNow(),
        `clock ahead by ${stepS} s`,
      );
      frame.release();
    }
    t.ok(microscope.online());
  }
});

t.test("camera-slow: frames and settings come late, and still come", async (t) => {
  const { faults, microscope } = await delivering(t);
  faults.set("camera-slow", "1:300");
  await newFrame(microscope);
  t.equal(await microscope.setExposureUs(6_000), 6_000);
  await newFrame(microscope);
  t.ok(microscope.online());
  faults.set("camera-slow", "1:0");
});

const measured = async (microscope: Microscope): Promise<ImageMetrics> => {
  const frame = await microscope.nextFrame(monotonicNow() + 0.3, 5);
  try {
    return await cellAddon().geometry.measureImage(frame);
  } finally {
    frame.release();
  }
};

t.test("camera-exposure: another exposure is read back, and seen", async (t) => {
  const { faults, microscope } = await delivering(t);
  faults.set("camera-exposure", "1:-1");
  const dark = await measured(microscope);
  t.equal(await microscope.exposureUs(), 5_000);
  faults.set("camera-exposure", "1:1");
  const bright = await measured(microscope);
  t.equal(await microscope.exposureUs(), 20_000);
  t.ok(bright.mean > 1.5 * dark.mean, `${bright.mean} after ${dark.mean}`);
});

t.test(
  "focus-knocked: the picture blurs, and is sharp again once the microscope stands where it stood",
  async (t) => {
    const { faults, microscope } = await delivering(t);
    const before = await measured(microscope);
    faults.set("focus-knocked", "1:400");
    const knocked = await measured(microscope);
    faults.set("focus-knocked", "1:-400");
    const after = await measured(microscope);
    t.ok(knocked.tenengrad < 0.8 * before.tenengrad, `${knocked.tenengrad} after ${before.tenengrad}`);
    t.ok(
      Math.abs(after.tenengrad / before.tenengrad - 1) < 0.1,
      `${after.tenengrad} after ${before.tenengrad}`,
    );
  },
);

t.test("two programs at one camera: the second is refused, the first goes on", async (t) => {
  const { microscope, another } = await delivering(t);
  const second = await another();
  await t.rejects(second.connect(soon()), { code: "DEVICE_REFUSED", detail: /another program controls/ });
  await newFrame(microscope);
  t.ok(microscope.online());
  await microscope.close();
  await second.connect(soon());
  await second.activate(soon());
  await newFrame(second);
});

t.test("either camera may come first, and later than the program that wants it", async (t) => {
  const { faults, microscope } = await cameraRig(t);
  faults.set("camera-offline", 1);
  const opening = microscope.connect(soon());
  faults.set("camera-online", 1);
  // The attempts inside one opening may end before the camera is up: whoever starts the cell tries again.
  await opening.catch(() => microscope.connect(soon()));
  await microscope.activate(soon());
  await newFrame(microscope);
});

t.test("what is no camera or no value is refused by name", (t) => {
  void cameraRig(t).then(({ faults }) => {
    for (const [fault, value] of [
      ["camera-freeze", 3],
      ["camera-lost-packets", "1"],
      ["camera-lost-packets", "1:2000"],
      ["camera-model", "1:a\nb"],
      ["camera-clock", "1:soon"],
    ] as const)
      t.throws(() => faults.set(fault, value), { code: "COMMAND_INVALID" }, `${fault} ${value}`);
    t.end();
  });
});
