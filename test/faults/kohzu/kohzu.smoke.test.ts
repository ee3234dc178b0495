/** A few faults of the stage controller with their right outcome; the rest is in the files beside this one. */
import t from "tap";
import { activeRig } from "../../cell/kohzu/rig.js";
import { waitFor } from "../wait.js";

t.test(
  "stage-emergency-stop: all axes stand at once; reset needs the cause removed, and a new home",
  async (t) => {
    const { driver, emulator, faults, end } = await activeRig();
    t.teardown(end);
    const ended = t.rejects(driver.moveAbsolute(1, 14_000), { code: "DEVICE_EMERGENCY_STOP" });
    await waitFor(() => emulator.isMoving(1));
    faults.set("stage-emergency-stop");
    t.notOk(emulator.isMoving(1), "before the driver has even heard of it");
    await ended;
    t.equal(driver.status.fault?.code, "DEVICE_EMERGENCY_STOP");
    await t.rejects(driver.reset(), { code: "DEVICE_EMERGENCY_STOP", detail: /801/ });
    faults.set("stage-emergency-release");
    await driver.reset();
    t.equal(driver.status.current, "inactive", "nothing is active by itself");
    await driver.activate();
    await t.rejects(driver.moveAbsolute(1, 0), { code: "DEVICE_NOT_HOMED" });
    t.notOk(emulator.isMoving(1));
    await driver.home(1);
    await driver.moveAbsolute(1, 100);
  },
);

t.test("stage-link-drop: the fault is latched, the axis ends its move, and nothing resumes", async (t) => {
  const { driver, emulator, faults, end } = await activeRig();
  t.teardown(end);
  const ended = t.rejects(driver.moveAbsolute(1, 6000), { code: "LINK_CLOSED" });
  await waitFor(() => emulator.isMoving(1));
  faults.set("stage-link-drop");
  await ended;
  t.equal(driver.status.current, "fault");
  t.equal(driver.lastReading(1), undefined);
  // An ARIES has no watchdog: what stops it here is the guardian, or the end of the move.
  await waitFor(() => !emulator.isMoving(1));
  await driver.reset();
  await driver.activate();
  t.equal((await driver.readAxis(1)).pulses, 6000, "read anew");
  t.notOk(emulator.isMoving(1));
});
