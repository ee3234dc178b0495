/**
 * What a needle drive itself can report, in both protocols: where it is seen, what stops, which error, that nothing goes on
 * by itself, and how a person brings the drive back.
 */
import t from "tap";
import { FaultSwitches, type FaultValue } from "../../../src/twin/fault-switches.js";
import { needleFaults } from "../../../src/twin/needle/needle-faults.js";
import { dialects, near, pause, quick, rig, slow, stroke } from "../../cell/needle/rig.js";
import { waitFor } from "../wait.js";

interface Case {
  readonly fault: string;
  readonly on?: FaultValue;
  /** Takes the cause away; left out for what has no cause that stays. */
  readonly off?: FaultValue;
  /** The flag that the error names. */
  readonly flag: string;
  /** The reference is lost with it. */
  readonly losesReference?: true;
}

const whileMoving: readonly Case[] = [
  { fault: "needle-obstacle", on: 3, off: "off", flag: "FS" },
  { fault: "needle-limit-trip", on: 3, off: "off", flag: "WL" },
  { fault: "needle-off-path", on: 3, off: "off", flag: "FP" },
  { fault: "needle-driver-fault", flag: "FD" },
  { fault: "needle-driver-off", flag: "FO" },
  { fault: "needle-encoder-fault", on: "on", off: "off", flag: "FQ", losesReference: true },
  { fault: "needle-twist", on: "on", off: "off", flag: "FT" },
  { fault: "needle-stream-bounds", on: "on", off: "off", flag: "FB" },
  { fault: "needle-calibration", on: "on", off: "off", flag: "WP" },
  { fault: "needle-voltage", on: "on", off: "off", flag: "WV" },
  { fault: "needle-overheated", on: "on", off: "off", flag: "WT" },
  { fault: "needle-manual", on: "on", off: "off", flag: "NC" },
  { fault: "needle-joystick", on: "on", off: "off", flag: "NJ" },
];

for (const dialect of dialects) {
  t.test(
    `${dialect}: what the drive reports while it moves ends the motion in a latched fault`,
    async (t) => {
      const { driver, emulator, port, end } = await rig(dialect);
      t.teardown(end);
      const faults = new FaultSwitches(needleFaults(emulator, port));
      for (const { fault, on, off, flag, losesReference } of whileMoving) {
        await driver.moveTo(1e-3, quick);
        const failed = driver
          .moveTo(5e-3, { speedMS: 0.02, accelerationMS2: 5 })
          .catch((error: unknown) => error);
        await waitFor(() => emulator.positionM() > 1.5e-3);
        faults.set(fault, on);
        t.match(await failed, { code: "DEVICE_FAULT", message: new RegExp(`needle: ${flag} `) }, fault);
        t.equal(driver.status.current, "fault", `${fault}: latched`);
        await waitFor(() => !emulator.isMoving());
        const at = emulator.positionM();
        t.ok(at < 4.9e-3, `${fault}: stopped on the way`);
        await t.rejects(
          driver.moveTo(0, quick),
          { code: "DEVICE_FAULT" },
          `${fault}: no motion while it is latched`,
        );
        if (off !== undefined) {
          if (fault.endsWith("obstacle") || fault.endsWith("trip") || fault.endsWith("path"))
            faults.set(fault, off);
          else {
            await t.rejects(
              driver.reset(),
              { code: "DEVICE_FAULT" },
              `${fault}: a reset cannot clear what is still so`,
            );
            faults.set(fault, off);
          }
        }
        await pause(0.03);
        t.equal(emulator.positionM(), at, `${fault}: nothing moves by itself when the cause is gone`);
        t.equal(driver.status.current, "fault");
        await driver.reset();
        t.equal(driver.status.current, "inactive", `${fault}: a reset does not activate`);
        await t.rejects(driver.moveTo(0, quick), { code: "COMMAND_INVALID" });
        await driver.activate();
        if (losesReference) {
          await t.rejects(driver.moveTo(1e-3, quick), { code: "DEVICE_NOT_HOMED" });
          await driver.home();
        }
      }
      await driver.moveTo(1e-3, quick);
      t.ok(near(emulator.positionM(), 1e-3, 0.3e-6));
    },
  );

  t.test(
    `${dialect}: what it reports while it stands forbids the next motion before anything moves`,
    async (t) => {
      const { driver, emulator, port, end } = await rig(dialect);
      t.teardown(end);
      const faults = new FaultSwitches(needleFaults(emulator, port));
      await driver.moveTo(1e-3, quick);
      for (const { fault, on, off, flag, losesReference } of [
        ...whileMoving.filter(({ on }) => on === "on"),
        { fault: "needle-displaced", on: 40, flag: "WM" } satisfies Case as Case,
      ]) {
        const before = emulator.positionM();
        faults.set(fault, on);
        const at = emulator.positionM();
        t.ok(fault === "needle-displaced" ? near(at, before + 40e-6, 0.3e-6) : at === before);
        await t.rejects(
          driver.stroke(stroke),
          { code: "DEVICE_FAULT", message: new RegExp(`${flag} `) },
          fault,
        );
        t.notOk(emulator.isMoving());
        t.equal(emulator.positionM(), at, `${fault}: nothing has moved`);
        t.equal(driver.status.current, "fault");
        if (off !== undefined) faults.set(fault, off);
        await driver.reset();
        await driver.activate();
        if (losesReference) await driver.home();
      }
      t.ok(near(driver.position(), emulator.positionM(), 0.3e-6), "after a push it is measured anew");
    },
  );

  t.test(`${dialect}: notes forbid nothing`, async (t) => {
    const { driver, emulator, port, end } = await rig(dialect);
    t.teardown(end);
    const faults = new FaultSwitches(needleFaults(emulator, port));
    for (const fault of ["needle-setting-pending", "needle-stream-gap"]) {
      faults.set(fault, "on");
      await driver.moveTo(2e-3, quick);
      await driver.stroke(stroke);
      faults.set(fault, "off");
    }
    t.equal(driver.status.current, "active");
  });

  t.test(`${dialect}: a motion that somebody else stops is no motion that has arrived`, async (t) => {
    const { driver, emulator, port, end } = await rig(dialect);
    t.teardown(end);
    const faults = new FaultSwitches(needleFaults(emulator, port));
    const failed = t.rejects(driver.moveTo(4e-3, slow), {
      code: "DEVICE_NOT_SETTLED",
      message: /commanded 40000 \(NI \(movement interrupted/,
    });
    await waitFor(() => emulator.positionM() > 0.1e-3);
    faults.set("needle-interrupted");
    await failed;
    t.notOk(emulator.isMoving());
    await driver.moveTo(1e-3, quick);
  });

  t.test(`${dialect}: without a reference nothing goes to a place`, async (t) => {
    const { driver, emulator, port, end } = await rig(dialect);
    t.teardown(end);
    const faults = new FaultSwitches(needleFaults(emulator, port));
    await driver.moveTo(2e-3, quick);
    faults.set("needle-reference-told", 500);
    await t.rejects(driver.moveTo(1e-3, quick), { code: "DEVICE_NOT_HOMED" }, "a told reference is none");
    t.notOk(emulator.isMoving());
    await driver.home();
    await driver.moveTo(1e-3, quick);
    t.ok(near(emulator.positionM(), 1e-3, 0.3e-6));

    faults.set("needle-power-cycle");
    await t.rejects(driver.moveTo(2e-3, quick), { code: "DEVICE_NOT_HOMED" });
    faults.set("needle-home-sensor", "on");
    await t.rejects(driver.home(), { code: "DEVICE_FAULT", message: /FE / });
    t.equal(driver.homed, false);
    faults.set("needle-home-sensor", "off");
    await driver.reset();
    await driver.activate();
    await driver.home();
    await driver.moveTo(1e-3, quick);
  });

  t.test(
    `${dialect}: a power cycle within a stroke stops it; the depth limit does not outlive it`,
    async (t) => {
      const { driver, emulator, port, end } = await rig(dialect);
      t.teardown(end);
      const faults = new FaultSwitches(needleFaults(emulator, port));
      await driver.moveTo(1e-3, quick);
      const failed = driver.stroke({ ...stroke, speedMS: 5e-3 }).catch((error: unknown) => error);
      await waitFor(() => emulator.positionM() > 1.5e-3);
      faults.set("needle-power-cycle");
      t.match(await failed, { code: /DEVICE_|LINK_/ });
      const at = emulator.positionM();
      await pause(0.05);
      t.equal(emulator.positionM(), at);
      if (driver.status.current === "fault") {
        await driver.reset();
        await driver.activate();
      }
      await driver.home();
      await driver.moveTo(6e-3, quick);
      t.ok(near(emulator.positionM(), 6e-3, 0.3e-6));
    },
  );
}
