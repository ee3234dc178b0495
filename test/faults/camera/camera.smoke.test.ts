/** A few faults of a microscope's camera with their right outcome; the rest is in the file beside this one. */
import t from "tap";
import { monotonicNow } from "../../../src/base/clock.js";
import { waitFor } from "../wait.js";
import { delivering, silenceLimitS, soon } from "./rig.js";

t.test("camera-freeze: frames come and are not trusted; a new picture ends it", async (t) => {
  const { faults, microscope } = await delivering(t);
  faults.set("camera-freeze", 1);
  const sinceS = monotonicNow();
  await waitFor(() => !microscope.online());
  t.ok(monotonicNow() - sinceS > 0.5 * silenceLimitS, "one equal picture is not yet a frozen camera");
  const received = microscope.counters?.received ?? 0;
  await t.rejects(microscope.nextFrame(monotonicNow(), 5), { code: "CAMERA_FROZEN" });
  t.ok((microscope.counters?.received ?? 0) > received, "frames with new times come all the same");
  t.equal(microscope.counters?.leasesHeld, 0);
  t.ok((microscope.counters?.repeated ?? 0) >= 5);
  faults.set("camera-unfreeze", 1);
  await waitFor(() => microscope.online());
  (await microscope.nextFrame(monotonicNow(), 5)).release();
});

t.test("camera-control-lost: a latched fault; only opening anew mends it", async (t) => {
  const { faults, microscope } = await delivering(t);
  await microscope.setExposureUs(7_000);
  faults.set("camera-control-lost", 1);
  await waitFor(() => microscope.native?.lost === true);
  t.notOk(microscope.online());
  await t.rejects(microscope.nextFrame(monotonicNow(), 5), { code: "CAMERA_OFFLINE" });
  t.equal(microscope.status.current, "fault");
  await t.rejects(microscope.setExposureUs(5_000), { code: "CAMERA_OFFLINE" });
  await microscope.reopen(soon());
  t.equal(microscope.status.current, "active");
  t.equal(await microscope.exposureUs(), 7_000, "with its settings");
  (await microscope.nextFrame(monotonicNow(), 5)).release();
});
