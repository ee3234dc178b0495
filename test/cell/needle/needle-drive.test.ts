/** Driver and emulator joined by a real pseudo-terminal, in both protocols. */
import t from "tap";
import { NeedleDrive } from "../../../src/cell/needle/needle-drive.js";
import { sealFrame } from "../../../src/cell/needle/modbus-codec.js";
import { dialects, near, needleProfile, pause, quick, rig, slow, stroke } from "./rig.js";

for (const dialect of dialects) {
  t.test(`${dialect}: identifies, homes, moves`, async (t) => {
    const { driver, emulator, end } = await rig(dialect, { homed: false, initialM: 1e-3 });
    t.teardown(end);
    t.type(driver.serialDescriptor, "number");
    t.equal(driver.homed, false);
    await t.rejects(driver.moveTo(1e-3, quick), { code: "DEVICE_NOT_HOMED" });
    await driver.home();
    await driver.moveTo(3e-3, quick);
    t.ok(near(driver.position(), 3e-3, 1e-9));
    t.ok(near(emulator.positionM(), 3e-3, 0.3e-6));
    t.equal(driver.microsteps(3e-3), 30_000);
  });

  t.test(
    `${dialect}: targets, speeds and accelerations outside the profile never reach the wire`,
    async (t) => {
      const { driver, end } = await rig(dialect);
      t.teardown(end);
      const before = driver.counters.requests;
      for (const [position, motion] of [
        [6.0001e-3, quick],
        [-1e-6, quick],
        [1e-3, { ...quick, speedMS: 0.6 }],
        [1e-3, { ...quick, speedMS: 0 }],
        [1e-3, { ...quick, accelerationMS2: 31 }],
      ] as const)
        await t.rejects(driver.moveTo(position, motion), { code: "DEVICE_LIMIT" });
      for (const [position, motion] of [
        [NaN, quick],
        [1e-3, { ...quick, speedMS: NaN }],
        [1e-3, { ...quick, accelerationMS2: Infinity }],
      ] as const)
        await t.rejects(driver.moveTo(position, motion), { code: "UNIT_NOT_FINITE" });
      t.equal(driver.counters.requests, before);
    },
  );

  t.test(`${dialect}: a stroke goes to its depth and back, and the drive's limit is as before`, async (t) => {
    const { driver, emulator, end } = await rig(dialect);
    t.teardown(end);
    await driver.moveTo(3e-3, quick);
    let deepest = 0;
    const watch = setInterval(() => (deepest = Math.max(deepest, emulator.positionM())), 1);
    const report = await driver.stroke(stroke);
    clearInterval(watch);
    t.ok(near(report.endM, 1e-3, 1e-9));
    t.ok(deepest <= 4.5e-3 + 0.3e-6, "never below the depth");
    // 35 ms down, 50 ms dwell, 21.7 ms up
    t.ok(report.durationS > 0.1);
    await driver.moveTo(6e-3, quick);
    t.ok(near(emulator.positionM(), 6e-3, 0.3e-6));
  });

  t.test(`${dialect}: the drive runs the stroke to its end while this program is silent`, async (t) => {
    const { driver, emulator, end } = await rig(dialect);
    t.teardown(end);
    const running = driver.stroke({ ...stroke, dwellS: 0.1 });
    while (!emulator.isMoving()) await pause(0.001);
    // The event loop stands still for longer than the whole stroke.
    const until = performance.now() + 300;
    while (performance.now() < until);
    t.ok(near(emulator.positionM(), 1e-3, 0.3e-6), "already back");
    await running;
  });

  t.test(`${dialect}: strokes that make no sense are refused before anything moves`, async (t) => {
    const { driver, emulator, end } = await rig(dialect);
    t.teardown(end);
    await driver.moveTo(2e-3, quick);
    for (const wrong of [
      { ...stroke, depthPositionM: 7e-3 },
      { ...stroke, retractToM: 5e-3 },
      { ...stroke, depthPositionM: 1.5e-3 },
      { ...stroke, dwellS: -1 },
    ])
      await t.rejects(driver.stroke(wrong), { code: "DEVICE_LIMIT" });
    t.ok(near(emulator.positionM(), 2e-3, 0.3e-6));
    await driver.moveTo(6e-3, quick);
  });

  t.test(`${dialect}: stop ends a move, an abort ends a stroke; both leave the drive usable`, async (t) => {
    const { driver, emulator, end } = await rig(dialect);
    t.teardown(end);
    const move = driver.moveTo(5e-3, slow);
    await pause(0.15);
    driver.stop();
    driver.stop();
    await t.rejects(move, { code: "LINK_ABORTED" });
    t.notOk(emulator.isMoving());
    const abort = new AbortController();
    const cut = driver.stroke({ ...stroke, speedMS: 2e-3, dwellS: 5 }, abort.signal);
    while (!emulator.isMoving()) await pause(0.001);
    abort.abort();
    await t.rejects(cut, { code: "LINK_ABORTED" });
    t.notOk(emulator.isMoving());
    const at = emulator.positionM();
    await pause(0.05);
    t.equal(emulator.positionM(), at, "nothing of what was sent ahead is left");
    await driver.moveTo(0, quick);
  });

  t.test(`${dialect}: a stall is a latched fault until a person resets it`, async (t) => {
    const { driver, emulator, end } = await rig(dialect);
    t.teardown(end);
    emulator.block(2e-3);
    await t.rejects(driver.moveTo(4e-3, quick), { code: "DEVICE_FAULT", message: /FS \(stalled/ });
    t.equal(driver.status.current, "fault");
    await t.rejects(driver.moveTo(0, quick), { code: "DEVICE_FAULT" });
    emulator.block(undefined);
    await driver.reset();
    await driver.activate();
    await driver.moveTo(0, quick);
  });

  t.test(`${dialect}: a power cycle in the middle of a move loses the reference`, async (t) => {
    const { driver, emulator, end } = await rig(dialect);
    t.teardown(end);
    const failed = t.rejects(driver.moveTo(5e-3, slow), { code: /DEVICE_/ });
    await pause(0.15);
    emulator.powerCycle();
    await failed;
    t.equal(driver.homed, false);
    await t.rejects(driver.moveTo(1e-3, quick), { code: /DEVICE_NOT_HOMED|DEVICE_FAULT/ });
  });

  t.test(`${dialect}: another device behind the port, a second owner, a pulled cable`, async (t) => {
    const foreign = await rig(dialect, { deviceId: 30_111, activate: false });
    await t.rejects(foreign.driver.connect(), { code: "DEVICE_WRONG_MODEL", message: /50951.*found 30111/ });
    t.equal(foreign.driver.status.current, "unconfigured");
    await foreign.end();

    const { driver, port, link, end } = await rig(dialect);
    t.teardown(end);
    const profile = await needleProfile(dialect);
    const second = new NeedleDrive({ name: "second", path: link, profile });
    await t.rejects(second.connect(), { code: "LINK_BUSY" });
    // Whether the port's end or the missing reply is noticed first is up to the kernel.
    const failed = t.rejects(driver.moveTo(5e-3, slow), { code: /LINK_CLOSED|LINK_TIMEOUT/ });
    await pause(0.1);
    await port.close();
    await failed;
    t.equal(driver.status.current, "fault");
    t.throws(() => driver.position(), { code: /LINK_/ });
    await t.rejects(driver.reset(), { code: "LINK_CONNECT" });
  });
  t.test(`${dialect}: replies split, delayed, damaged or buried in garbage`, async (t) => {
    const { driver, emulator, end } = await rig(dialect);
    t.teardown(end);
    emulator.faults.splitS = 0.0005;
    await driver.moveTo(1e-3, quick);
    emulator.faults.splitS = 0;
    emulator.faults.delayS = 1.3;
    await t.rejects(driver.read(), {
      code: "LINK_TIMEOUT",
      message: /needle: no reply to (read status|"get pos") after 1\.[0-2]/,
    });
    emulator.faults.delayS = 0;
    await pause(0.6);
    t.equal((await driver.read()).microsteps, 10_000);
    t.equal(driver.counters.late, 1);
    t.equal(driver.counters.resynchronised, 2, "once at the opening, once after the timeout");
    emulator.faults.plan({ kind: "byte-damaged", index: 8 });
    await t.rejects(driver.read(), { code: "LINK_TIMEOUT" });
    t.equal(driver.counters.damaged, 1, "the checksum shows it");
    t.equal((await driver.read()).microsteps, 10_000);
    emulator.faults.insertGarbage(Buffer.from([0xff, 0xfe, 0x00, 13, 10]));
    await t.rejects(driver.read(), { code: "LINK_PROTOCOL", message: /ff fe 00/ });
    t.equal(driver.status.current, "fault");
    await driver.reset();
    await driver.activate();
    await driver.moveTo(0, quick);
  });

  t.test(`${dialect}: what an earlier owner left on the line does no harm`, async (t) => {
    const { driver, emulator, port, end } = await rig(dialect, { activate: false });
    t.teardown(end);
    // Whole replies and half of one, of the protocol.
    port.write(
      dialect === "zaber-ascii"
        ? Buffer.from("@01 1 00 OK IDLE -- 999\r\n@01 1 01 OK IDL")
        : Buffer.concat([sealFrame(Buffer.from([1, 4, 2, 0, 9])), Buffer.from([1, 4, 30, 0x4e])]),
    );
    await pause(0.05);
    await driver.connect();
    t.equal((await driver.read()).microsteps, 0);
    t.notOk(emulator.isMoving());
  });
}
