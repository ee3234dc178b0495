/** What a serial line does to the needle drive's replies: no reply goes to the wrong request, motion stops, nothing resumes. */
import { existsSync } from "node:fs";
import { readlink } from "node:fs/promises";
import t, { type Test } from "tap";
import { NeedleDrive } from "../../../src/cell/needle/needle-drive.js";
import { FaultSwitches } from "../../../src/twin/fault-switches.js";
import { needleFaults } from "../../../src/twin/needle/needle-faults.js";
import { PtyPort } from "../../../src/twin/pty-port.js";
import {
  dialects,
  near,
  pause,
  quick,
  rig,
  slow,
  stroke,
  type Dialect,
  type Rig,
} from "../../cell/needle/rig.js";
import { waitFor } from "../wait.js";

interface Bench extends Rig {
  readonly faults: FaultSwitches;
}

async function bench(dialect: Dialect, activate = true): Promise<Bench> {
  // Deadlines short enough for many of them, long enough for a machine under load.
  const one = await rig(dialect, { replyTimeoutS: 0.4, activate });
  return { ...one, faults: new FaultSwitches(needleFaults(one.emulator, one.port)) };
}

/** Stands where it stands, and goes on standing. */
async function stands(t: Test, { emulator }: Rig, what: string): Promise<void> {
  await waitFor(() => !emulator.isMoving());
  const at = emulator.positionM();
  await pause(0.1);
  t.equal(emulator.positionM(), at, `${what}: nothing moves by itself`);
}

for (const dialect of dialects) {
  t.test(
    `${dialect}: a reply that is lost, broken or damaged stops the motion; the line is in step again`,
    async (t) => {
      const one = await bench(dialect);
      t.teardown(() => one.end());
      const { driver, emulator, faults } = one;
      for (const fault of [
        "needle-reply-lost",
        "needle-reply-cut",
        "needle-byte-lost",
        "needle-byte-damaged",
      ]) {
        await driver.moveTo(0, quick);
        const before = driver.counters;
        const failed = driver.moveTo(5e-3, slow).catch((error: unknown) => error);
        await waitFor(() => emulator.isMoving());
        faults.set(fault);
        // A lost byte may make a line of another protocol of a line of this one.
        t.match(
          await failed,
          { code: /LINK_TIMEOUT|LINK_PROTOCOL/, message: /needle: no reply to .* after 0\.\d+ s|not a/ },
          fault,
        );
        await stands(t, one, fault);
        t.ok(emulator.positionM() < 4.9e-3, `${fault}: stopped on the way`);
        if (driver.status.current === "fault") {
          await driver.reset();
          await driver.activate();
        } else t.ok(driver.counters.timeouts > before.timeouts);
        const reading = await driver.read();
        t.ok(
          near(reading.microsteps * 1e-7, emulator.positionM(), 0.3e-6),
          `${fault}: reads the truth again`,
        );
      }
    },
  );

  t.test(`${dialect}: a reply that comes twice is counted and dropped`, async (t) => {
    const one = await bench(dialect);
    t.teardown(() => one.end());
    const { driver, emulator, faults } = one;
    for (let i = 0; i < 5; i++) faults.set("needle-reply-repeated", 1 + 2 * i);
    await driver.moveTo(2e-3, quick);
    t.ok(near(emulator.positionM(), 2e-3, 0.3e-6));
    t.ok(driver.counters.late >= 1);
    t.equal(driver.status.current, "active");
  });

  t.test(
    `${dialect}: late replies: the deadline names device, command and time; they are counted, not believed`,
    async (t) => {
      const one = await bench(dialect);
      t.teardown(() => one.end());
      const { driver, emulator, faults } = one;
      await driver.moveTo(1e-3, quick);
      faults.set("needle-late", 600);
      await t.rejects(driver.read(), {
        code: "LINK_TIMEOUT",
        message: /needle: no reply to ("get pos"|read status) after 0\.[4-9]\d* s/,
      });
      faults.set("needle-late", 0);
      emulator.slide.tell(0, 77);
      await pause(0.7);
      t.equal((await driver.read()).microsteps, 77, "the answer is to this question");
      t.ok(driver.counters.late >= 1);
    },
  );

  t.test(`${dialect}: replies in single bytes`, async (t) => {
    const one = await bench(dialect);
    t.teardown(() => one.end());
    one.faults.set("needle-split", 1);
    await one.driver.moveTo(1e-3, quick);
    await one.driver.stroke(stroke);
    t.ok(near(one.emulator.positionM(), 1e-3, 0.3e-6));
  });

  t.test(
    `${dialect}: bytes outside the protocol: the drive is stopped, the link closed, the bytes kept`,
    async (t) => {
      const one = await bench(dialect);
      t.teardown(() => one.end());
      const { driver, emulator, faults } = one;
      const failed = driver.moveTo(6e-3, slow).catch((error: unknown) => error);
      await waitFor(() => emulator.positionM() > 0.1e-3);
      faults.set("needle-garbage");
      t.match(await failed, { code: "LINK_PROTOCOL", message: /ff fe 00/ });
      t.match(driver.status, { current: "fault", fault: { code: "LINK_PROTOCOL" } });
      t.equal(driver.serialDescriptor, undefined, "the port is closed");
      await stands(t, one, "garbage");
      t.ok(emulator.positionM() < 5.9e-3, "stopped on the way");
      await driver.reset();
      t.ok(near(driver.position(), emulator.positionM(), 0.3e-6), "the position is read anew");
      await driver.activate();
      await driver.moveTo(0, quick);
    },
  );

  t.test(`${dialect}: a drive that acts but does not answer is stopped all the same`, async (t) => {
    const one = await bench(dialect);
    t.teardown(() => one.end());
    const { driver, emulator, faults } = one;
    const unconfirmed: string[] = [];
    driver.onStopFailed = ({ code }) => unconfirmed.push(code);
    const failed = driver.moveTo(6e-3, slow).catch((error: unknown) => error);
    await waitFor(() => emulator.positionM() > 0.1e-3);
    faults.set("needle-silent", "on");
    t.match(await failed, { code: "LINK_TIMEOUT" });
    await stands(t, one, "silent");
    t.ok(emulator.positionM() < 5.9e-3, "it heard the stop");
    t.ok(unconfirmed.length > 0, "that nobody confirmed it is told");
    t.throws(() => driver.position(), { code: /DEVICE_FAULT|LINK_/ }, "where it stands is not known");
    faults.set("needle-silent", "off");
    if (driver.status.current === "fault") await driver.reset();
    await driver.activate();
    await driver.moveTo(1e-3, quick);
  });

  t.test(`${dialect}: a cancelled wait for a drive that answers nothing ends in time`, async (t) => {
    const one = await bench(dialect);
    t.teardown(() => one.end());
    const abort = new AbortController();
    const failed = one.driver
      .stroke({ ...stroke, speedMS: 1e-3 }, abort.signal)
      .catch((error: unknown) => error);
    await waitFor(() => one.emulator.isMoving());
    one.faults.set("needle-silent", "on");
    const startS = performance.now() / 1e3;
    abort.abort();
    t.match(await failed, { code: /LINK_ABORTED|LINK_TIMEOUT|LINK_CLOSED/ });
    t.ok(performance.now() / 1e3 - startS < 10, "bounded by the deadlines of a few requests");
    await stands(t, one, "cancelled");
    one.faults.set("needle-silent", "off");
  });

  t.test(`${dialect}: a line at the wrong speed, or one that echoes, is no drive`, async (t) => {
    for (const fault of ["needle-wrong-speed", "needle-echo"]) {
      const one = await bench(dialect, false);
      one.faults.set(fault, "on");
      await t.rejects(one.driver.connect(), { code: /LINK_CLOSED|LINK_PROTOCOL|LINK_TIMEOUT/ }, fault);
      t.not(one.driver.status.current, "inactive");
      t.notOk(one.emulator.isMoving());
      one.faults.set(fault, "off");
      if (one.driver.status.current === "fault") await one.driver.reset();
      else await one.driver.connect();
      await one.driver.activate();
      await one.driver.moveTo(1e-3, quick);
      await one.end();
    }
  });

  t.test(`${dialect}: the cable is pulled within a stroke and plugged in as another terminal`, async (t) => {
    const one = await bench(dialect);
    t.teardown(() => one.end());
    const { driver, emulator, faults, link } = one;
    await driver.moveTo(1e-3, quick);
    const terminal = await readlink(link);
    const failed = driver.stroke({ ...stroke, speedMS: 5e-3 }).catch((error: unknown) => error);
    await waitFor(() => emulator.positionM() > 1.5e-3);
    let deepest = 0;
    const watch = setInterval(() => (deepest = Math.max(deepest, emulator.positionM())), 2);
    faults.set("needle-unplug", "on");
    t.match(await failed, { code: /LINK_CLOSED|LINK_TIMEOUT/ });
    t.equal(driver.status.current, "fault");
    await t.rejects(driver.reset(), { code: "LINK_CONNECT" }, "there is no port");
    // Nobody reaches it now: the drive itself ends the stroke where it was sent, above tissue.
    await waitFor(() => !emulator.isMoving());
    clearInterval(watch);
    t.ok(deepest <= stroke.depthPositionM + 0.3e-6, "never below its depth");
    t.ok(near(emulator.positionM(), stroke.retractToM, 0.3e-6), "withdrawn");
    // The old number is taken by somebody else, as adapters do it.
    const other = new PtyPort({ path: `${link}-other` });
    await other.open();
    faults.set("needle-unplug", "off");
    await waitFor(() => existsSync(link));
    t.ok(terminal.length > 0);
    t.equal(driver.status.current, "fault", "a cable that is back resets nothing");
    await stands(t, one, "plugged in");
    await driver.reset();
    t.equal(driver.status.current, "inactive");
    await driver.activate();
    await driver.moveTo(6e-3, quick);
    t.ok(near(emulator.positionM(), 6e-3, 0.3e-6), "the depth limit of the stroke is gone");
    await other.close();
  });

  t.test(`${dialect}: a second owner is refused by the port, and does no harm to the first`, async (t) => {
    const one = await bench(dialect);
    t.teardown(() => one.end());
    const second = new NeedleDrive({ name: "second", path: one.link, profile: one.profile });
    const moving = one.driver.moveTo(2e-3, quick);
    await t.rejects(second.connect(), { code: "LINK_BUSY" });
    await moving;
    t.ok(near(one.emulator.positionM(), 2e-3, 0.3e-6));
    await second.close();
  });
}
