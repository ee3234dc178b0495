/** A few faults of the needle drive with their right outcome; the rest is in the files beside this one. */
import t from "tap";
import { FaultSwitches } from "../../../src/twin/fault-switches.js";
import { needleFaults } from "../../../src/twin/needle/needle-faults.js";
import { dialects, quick, rig, slow } from "../../cell/needle/rig.js";
import { waitFor } from "../wait.js";

for (const dialect of dialects)
  t.test(
    `${dialect}: an obstacle, and bytes outside the protocol, stop the needle until a reset`,
    async (t) => {
      const { driver, emulator, port, end } = await rig(dialect);
      t.teardown(end);
      const faults = new FaultSwitches(needleFaults(emulator, port));
      faults.set("needle-obstacle", 2);
      await t.rejects(driver.moveTo(4e-3, quick), { code: "DEVICE_FAULT", message: /FS/ });
      t.ok(Math.abs(emulator.positionM() - 2e-3) < 0.3e-6);
      faults.set("needle-obstacle", "off");
      await driver.reset();
      await driver.activate();
      await driver.moveTo(1e-3, quick);
      const failed = driver.moveTo(6e-3, slow).catch((error: unknown) => error);
      await waitFor(() => emulator.positionM() > 1.1e-3);
      faults.set("needle-garbage");
      t.match(await failed, { code: "LINK_PROTOCOL", message: /ff fe/ });
      await waitFor(() => !emulator.isMoving());
      t.ok(emulator.positionM() < 5.9e-3);
      t.equal(driver.status.current, "fault");
    },
  );
