/** Faults of the line between driver and stage controller. */
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import t from "tap";
import { loadAxes } from "../../../src/cell/kohzu/axis-config.js";
import { KohzuController } from "../../../src/cell/kohzu/kohzu-controller.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { KohzuEmulator } from "../../../src/twin/kohzu/kohzu-emulator.js";
import { serveKohzuOnPty } from "../../../src/twin/kohzu/kohzu-server.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { activeRig, pause, rig } from "../../cell/kohzu/rig.js";
import { waitFor } from "../wait.js";

t.test("stage-link-cut: a pulled network cable is a timeout, then a latched fault", async (t) => {
  const { driver, emulator, faults, end } = await activeRig();
  t.teardown(async () => {
    faults.set("stage-link-cut", "off");
    await end();
  });
  const ended = t.rejects(driver.moveAbsolute(1, 9000), { code: "LINK_TIMEOUT" });
  await waitFor(() => emulator.isMoving(1));
  faults.set("stage-link-cut", "on");
  await ended;
  t.equal(driver.status.current, "fault");
  faults.set("stage-link-cut", "off");
  await waitFor(() => !emulator.isMoving(1));
  await driver.reset();
  await driver.activate();
  await driver.moveAbsolute(1, 0);
});

t.test("stage-line-split: replies in single bytes are replies", async (t) => {
  const { driver, faults, end } = await activeRig();
  t.teardown(end);
  faults.set("stage-line-split", 0.001);
  await driver.moveAbsolute(1, 200);
  t.equal(driver.counters.late, 0);
});

t.test(
  "stage-line-late: a timeout, a new synchronisation, and the late reply is nobody's answer",
  async (t) => {
    const { driver, faults, end } = await activeRig();
    t.teardown(end);
    await driver.moveAbsolute(1, 1234);
    faults.set("stage-line-late", 1.3);
    await t.rejects(driver.readAxis(1), { code: "LINK_TIMEOUT" });
    faults.set("stage-line-late", 0);
    await pause(0.6);
    t.equal((await driver.readAxis(1)).pulses, 1234);
    t.match(driver.counters, { late: 1, timeouts: 1, resynchronised: 1 });
  },
);

t.test("a reply that is lost, cut, or short of its end: a timeout, never a wrong position", async (t) => {
  const { driver, faults, end } = await activeRig();
  t.teardown(end);
  await driver.moveAbsolute(1, 1234);
  for (const fault of ["stage-line-reply-lost", "stage-line-reply-cut"]) {
    faults.set(fault);
    await t.rejects(driver.readAxis(1), { code: "LINK_TIMEOUT" }, fault);
    t.equal((await driver.readAxis(1)).pulses, 1234);
  }
  t.equal(driver.status.current, "active");
});

t.test("a reply that comes twice is answered once", async (t) => {
  const { driver, faults, end } = await activeRig();
  t.teardown(end);
  faults.set("stage-line-reply-repeated");
  await driver.readAxis(1);
  t.equal((await driver.readAxis(2)).pulses, 0);
  t.equal(driver.counters.late, 1);
});

t.test(
  "a damaged or shortened reply, and noise, close the link; a reset reads everything anew",
  async (t) => {
    for (const fault of ["stage-line-byte-damaged", "stage-line-garbage", "stage-line-byte-lost"]) {
      const { driver, emulator, faults, end } = await activeRig();
      await driver.moveAbsolute(1, 1000);
      faults.set(fault);
      await t.rejects(driver.readAxis(1), { code: /LINK_PROTOCOL|LINK_TIMEOUT/ }, fault);
      t.notOk(emulator.isMoving(1));
      if (driver.status.current === "fault") {
        t.equal(driver.lastReading(1), undefined);
        await driver.reset();
        await driver.activate();
      }
      t.equal((await driver.readAxis(1)).pulses, 1000);
      await end();
    }
  },
);

t.test(
  "stage-line-silent: what was asked may have been done; it is stopped as far as the link goes",
  async (t) => {
    const { driver, emulator, faults, end } = await activeRig();
    t.teardown(end);
    faults.set("stage-line-silent", "on");
    await t.rejects(driver.moveAbsolute(1, 9000), { code: "LINK_TIMEOUT" });
    t.notOk(emulator.isMoving(1), "the stop was heard although nobody answered");
    faults.set("stage-line-silent", "off");
    if (driver.status.current === "fault") await driver.reset();
    await driver.activate();
    await driver.moveAbsolute(1, 0);
  },
);

t.test(
  "stage-line-wrong-speed and stage-line-echo on a serial line: no connection, nothing moved",
  async (t) => {
    for (const [fault, code] of [
      ["stage-line-wrong-speed", /LINK_CLOSED|LINK_TIMEOUT|LINK_PROTOCOL/],
      ["stage-line-echo", /LINK_PROTOCOL|LINK_CLOSED/],
    ] as const) {
      const { driver, faults, end } = await rig({ transport: "serial" });
      faults.set(fault, "on");
      await t.rejects(driver.connect(), { code }, fault);
      t.equal(driver.status.current, "unconfigured");
      faults.set(fault, "off");
      await driver.connect();
      await end();
    }
  },
);

t.test("a serial adapter that is unplugged and returns under another name", async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "stage-port-"));
  t.teardown(() => rm(folder, { recursive: true }));
  const emulator = new KohzuEmulator({ seed: 7, speedFactor: 4, axes: [{ model: xa04aR102, homed: true }] });
  t.teardown(() => emulator.dispose());
  // The name by id stays, the device behind it changes; a client that opened the old one must not go on with it.
  const byId = path.join(folder, "by-id");
  const first = await serveKohzuOnPty(emulator, { path: byId });
  const driver = new KohzuController({
    name: "stages",
    address: { transport: "serial", path: byId, baudRate: 115_200 },
    profile: await loadProfile("kohzu-aries", "stage-controller"),
    axes: await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }]),
  });
  t.teardown(() => driver.close());
  await driver.connect();
  await driver.activate();
  const ended = t.rejects(driver.moveAbsolute(1, 3000), { code: "LINK_CLOSED" });
  await waitFor(() => emulator.isMoving(1));
  await first.close();
  await ended;
  await t.rejects(driver.reset(), { code: "LINK_CONNECT" }, "while it is away");
  const second = await serveKohzuOnPty(emulator, { path: byId });
  t.teardown(() => second.close());
  await waitFor(() => !emulator.isMoving(1));
  await driver.reset();
  await driver.activate();
  t.equal(driver.lastReading(1)?.pulses, 3000, "read anew");
  await driver.moveAbsolute(1, 0);
});
