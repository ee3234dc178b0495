/**
 * The guardian holds a duplicate of the needle's serial line. A line that is opened anew needs a guardian that is given
 * the new descriptor; until it is, nothing moves.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import t from "tap";
import { monotonicNow } from "../../../src/base/clock.js";
import { Guardian, type GuardedLink } from "../../../src/cell/guardian/guardian.js";
import type { NeedleDrive } from "../../../src/cell/needle/needle-drive.js";
import { dialects, rig, slow, type Dialect } from "../../cell/needle/rig.js";
import { waitFor } from "../wait.js";

function linksTo(driver: NeedleDrive, dialect: Dialect): readonly GuardedLink[] {
  const descriptor = driver.serialDescriptor ?? -1;
  return [{ kind: dialect === "zaber-ascii" ? "needle-serial" : "needle-modbus", descriptor }];
}

for (const dialect of dialects)
  t.test(`${dialect}: after a reply out of the protocol the guardian is given the new line`, async (t) => {
    const { driver, emulator, end } = await rig(dialect);
    const folder = await mkdtemp(path.join(os.tmpdir(), "guardian-"));
    const logPath = path.join(folder, "guardian.log");
    const guardian = new Guardian({
      logPath,
      // Long enough for a machine under load; the stall below is longer still.
      silenceS: 0.4,
      periodS: 0.01,
      eventLoopLimitS: 0.6,
      startTimeoutS: 15,
    });
    t.teardown(async () => {
      await guardian.stop();
      await end();
      await rm(folder, { recursive: true });
    });
    const heard: boolean[] = [];
    await guardian.start(linksTo(driver, dialect));
    guardian.onChange = ({ alive }) => heard.push(alive);

    emulator.faults.insertGarbage(Buffer.from([0xff, 0xfe, 13, 10]));
    await t.rejects(driver.read(), { code: "LINK_PROTOCOL", message: /ff fe/ });
    t.equal(driver.status.current, "fault");
    await t.rejects(driver.reset(), { code: "LINK_BUSY" }, "the guardian's duplicate keeps the port locked");

    await guardian.renew(async () => {
      t.throws(() => guardian.assertAlive(), { code: "SAFETY_NO_GUARDIAN", message: /opened anew/ });
      await driver.reset();
      return linksTo(driver, dialect);
    });
    t.doesNotThrow(() => guardian.assertAlive());
    t.strictSame(heard, [], "a guardian that comes back is no loss of the cell");

    // It reaches the drive over the new line: the event loop stands, the heart falls silent, the drive is stopped.
    await driver.activate();
    const move = driver.moveTo(6e-3, slow).catch((error: unknown) => error);
    await waitFor(() => emulator.isMoving());
    const untilS = monotonicNow() + 1.5;
    while (monotonicNow() < untilS);
    await waitFor(() => !emulator.isMoving());
    t.ok(emulator.slide.flags.has("NI"), "interrupted by the guardian");
    t.ok(emulator.positionM() < 5.9e-3);
    t.match(await readFile(logPath, "utf8"), /"reason":"silence".*\n(.*\n)*/);
    t.match(await move, { code: /DEVICE_NOT_SETTLED|LINK_/ });
    t.throws(() => guardian.assertAlive(), { code: "SAFETY_HEARTBEAT" });
  });

t.test("a line that does not come back: no guardian, no motion, and the reason is told", async (t) => {
  const { driver, port, end } = await rig("zaber-ascii");
  const folder = await mkdtemp(path.join(os.tmpdir(), "guardian-"));
  const guardian = new Guardian({
    logPath: path.join(folder, "guardian.log"),
    silenceS: 2,
    periodS: 0.01,
    eventLoopLimitS: 2,
    startTimeoutS: 15,
  });
  t.teardown(async () => {
    await guardian.stop();
    await end();
    await rm(folder, { recursive: true });
  });
  await guardian.start(linksTo(driver, "zaber-ascii"));
  let told = "";
  guardian.onChange = ({ reason }) => (told = reason);
  await port.close();
  // The port reports its hang-up mostly by itself, and the next reading, which the daemon takes all the time, at the latest.
  await t.rejects(driver.read());
  await waitFor(() => driver.status.current === "fault");
  // It sees the hang-up by itself.
  await waitFor(() => !guardian.alive);
  t.throws(() => guardian.assertAlive(), { code: "SAFETY_NO_GUARDIAN" });
  await t.rejects(
    guardian.renew(async () => {
      await driver.reset();
      return linksTo(driver, "zaber-ascii");
    }),
    { code: "LINK_CONNECT" },
  );
  t.throws(() => guardian.assertAlive(), { code: "SAFETY_NO_GUARDIAN", message: /waits for it/ });
  t.not(told, "");
  await port.open();
  await guardian.renew(async () => {
    await driver.reset();
    return linksTo(driver, "zaber-ascii");
  });
  t.equal(guardian.alive, true);
});
