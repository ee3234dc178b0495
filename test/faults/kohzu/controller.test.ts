/** Faults of the stage controller itself, of its motor drivers and its sensors. */
import t from "tap";
import { loadAxes } from "../../../src/cell/kohzu/axis-config.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { activeRig, pause, rig } from "../../cell/kohzu/rig.js";
import { waitFor } from "../wait.js";

t.test(
  "stage-power-cycle in the middle of a move: nothing moves, positions are read anew, not homed",
  async (t) => {
    const { driver, emulator, faults, end } = await activeRig();
    t.teardown(end);
    const ended = t.rejects(driver.moveAbsolute(1, 14_000), { code: "LINK_CLOSED" });
    await waitFor(() => emulator.isMoving(1));
    faults.set("stage-power-cycle");
    await ended;
    t.notOk(emulator.isMoving(1));
    await driver.reset();
    await driver.activate();
    t.equal(driver.lastReading(1)?.homed, false);
    await t.rejects(driver.moveAbsolute(1, 0), { code: "DEVICE_NOT_HOMED" });
  },
);

t.test("stage-lynx-lost: the axes of the LYNX units stop; released by RAX in a reset", async (t) => {
  const { driver, emulator, faults, end } = await activeRig();
  t.teardown(end);
  const ended = t.rejects(driver.moveAbsolute(3, 14_000), { code: "DEVICE_FAULT", detail: /link to a LYNX/ });
  await waitFor(() => emulator.isMoving(3));
  faults.set("stage-lynx-lost");
  t.notOk(emulator.isMoving(3));
  await ended;
  t.equal(driver.status.current, "fault");
  await driver.reset();
  await driver.activate();
  await driver.moveAbsolute(3, 0);
});

t.test("a LYNX that leaves is a fault; one that joins is none", async (t) => {
  const { driver, faults, end } = await activeRig();
  t.teardown(end);
  faults.set("stage-device-joined");
  await driver.moveAbsolute(1, 100);
  t.equal(driver.status.current, "active");
  faults.set("stage-device-left");
  await waitFor(() => driver.status.current === "fault");
  t.match(driver.status.fault?.detail, /51 \(the device map changed\)/);
});

t.test(
  "stage-alarm: the axis stops short, which is an error; refused until the alarm is reset",
  async (t) => {
    const { driver, emulator, faults, end } = await activeRig();
    t.teardown(end);
    const ended = t.rejects(driver.moveAbsolute(1, 14_000), {
      code: "DEVICE_NOT_SETTLED",
      detail: /stopped short/,
    });
    await waitFor(() => emulator.isMoving(1));
    faults.set("stage-alarm", 1);
    await ended;
    await t.rejects(driver.moveAbsolute(1, 0), { code: "DEVICE_REFUSED", detail: /315 \(driver alarm\)/ });
    await driver.moveAbsolute(2, 50);
  },
);

t.test("stage-servo-not-ready: refused by name, and ready again", async (t) => {
  const { driver, faults, end } = await activeRig();
  t.teardown(end);
  faults.set("stage-servo-not-ready", 1);
  await t.rejects(driver.moveAbsolute(1, 100), { code: "DEVICE_REFUSED", detail: /321/ });
  faults.set("stage-servo-ready", 1);
  await driver.moveAbsolute(1, 100);
});

t.test(
  "stage-excitation-off: refused at rest (308); on the way the steps are lost and a new home mends it",
  async (t) => {
    const { driver, emulator, faults, end } = await activeRig();
    t.teardown(end);
    faults.set("stage-excitation-off", 1);
    await t.rejects(driver.moveAbsolute(1, 100), { code: "DEVICE_REFUSED", detail: /308/ });
    faults.set("stage-excitation-on", 1);
    const move = driver.moveAbsolute(1, 6000);
    await waitFor(() => emulator.isMoving(1));
    await pause(0.1);
    faults.set("stage-excitation-off", 1);
    await move;
    t.ok(emulator.truePosition(1) < 2.9e-3, "the counter says 3 mm, the table stayed behind");
    faults.set("stage-excitation-on", 1);
    await driver.home(1);
    await driver.moveAbsolute(1, 1000);
    t.ok(Math.abs(emulator.truePosition(1) - 0.5e-3) < 8e-6);
  },
);

t.test("stage-steps-lost: invisible to the counter, mended by homing", async (t) => {
  const { driver, emulator, faults, end } = await activeRig();
  t.teardown(end);
  faults.set("stage-steps-lost", "1:40");
  await driver.moveAbsolute(1, 1000);
  t.ok(Math.abs(emulator.truePosition(1) - 480e-6) < 8e-6);
  await driver.home(1);
  await driver.moveAbsolute(1, 1000);
  t.ok(Math.abs(emulator.truePosition(1) - 500e-6) < 8e-6);
});

t.test(
  "stage-limit-closed blocks the way outward only; on both sides it looks like no stage at all",
  async (t) => {
    const { driver, faults, end } = await activeRig();
    t.teardown(end);
    faults.set("stage-limit-closed", "1:cw");
    await t.rejects(driver.moveAbsolute(1, 100), { code: "DEVICE_LIMIT", detail: /CW limit at 0/ });
    await driver.moveAbsolute(1, -500);
    faults.set("stage-limit-closed", "1:ccw");
    await t.rejects(driver.moveAbsolute(1, -600), { code: "DEVICE_FAULT", detail: /both limit switches/ });
    faults.set("stage-limit-good", "1:cw");
    faults.set("stage-limit-good", "1:ccw");
    await driver.moveAbsolute(1, 0);
  },
);

t.test(
  "stage-limit-open: homing is not fooled; the driver's own limits keep moves away from the hard stop",
  async (t) => {
    const { driver, emulator, faults, end } = await activeRig();
    t.teardown(end);
    faults.set("stage-limit-open", "1:cw");
    await t.rejects(driver.moveAbsolute(1, 14_701), { code: "DEVICE_LIMIT" });
    await driver.moveAbsolute(1, 14_700);
    t.ok(emulator.truePosition(1) < 7.5e-3);
    await driver.home(1);
    t.ok(Math.abs(emulator.truePosition(1)) < 2e-6);
  },
);

t.test(
  "stage-origin-dead: the search ends on a limit, the axis is not homed and moves nowhere",
  async (t) => {
    const { driver, emulator, faults, end } = await activeRig({ emulator: { speedFactor: 10 } });
    t.teardown(end);
    faults.set("stage-origin-dead", 1);
    await t.rejects(driver.home(1), { code: "DEVICE_NOT_HOMED", detail: /without an origin/ });
    await t.rejects(driver.moveAbsolute(1, 0), { code: "DEVICE_NOT_HOMED" });
    t.notOk(emulator.isMoving(1));
    faults.set("stage-origin-good", 1);
    await driver.home(1);
  },
);

t.test(
  "stage-setting-ignored: the origin method reads back otherwise, and nothing is searched",
  async (t) => {
    const axes = (await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }])).map((axis) => ({
      ...axis,
      originMethod: 3,
    }));
    const { driver, emulator, faults, end } = await activeRig({ axes });
    t.teardown(end);
    faults.set("stage-setting-ignored", "on");
    await t.rejects(driver.home(1), { code: "DEVICE_REFUSED", detail: /setting 2 was set to 3 and reads 4/ });
    t.notOk(emulator.isMoving(1));
  },
);

t.test("stage-own-backlash: two owners of backlash are refused at connection", async (t) => {
  const { driver, faults, end } = await rig();
  t.teardown(end);
  faults.set("stage-own-backlash", "2:4");
  await t.rejects(driver.connect(), { code: "CONFIG_INVALID", detail: /axis 2 corrects backlash itself/ });
  faults.set("stage-own-backlash", "2:0");
  await driver.connect();
});

t.test(
  "stage-early-idle: one look that says stopped ends no move; enough of them are an error, never a success",
  async (t) => {
    const { driver, faults, end } = await activeRig();
    t.teardown(end);
    faults.set("stage-early-idle", 1);
    await driver.moveAbsolute(1, 2000);
    t.equal(driver.lastReading(1)?.pulses, 2000);
    faults.set("stage-early-idle", 5);
    await t.rejects(driver.moveAbsolute(1, 14_000), {
      code: "DEVICE_NOT_SETTLED",
      detail: /commanded 14000/,
    });
  },
);

t.test("power-up with the counter anywhere and no origin: readable, and not to be moved", async (t) => {
  const { driver, end } = await activeRig({
    axes: await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }]),
    emulator: { axes: [{ model: xa04aR102, initialPulses: 56_000, initialSteps: -1500 }] },
  });
  t.teardown(end);
  t.match(driver.lastReading(1), { pulses: 56_000, homed: false });
  await t.rejects(driver.moveAbsolute(1, 0), { code: "DEVICE_NOT_HOMED" });
});
