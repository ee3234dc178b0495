/** Other programs at the same controller: they stop our axes, drive them, take all connections, or hold the port. */
import t from "tap";
import { KohzuController } from "../../../src/cell/kohzu/kohzu-controller.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { activeRig, cellAxes, rig } from "../../cell/kohzu/rig.js";
import { waitFor } from "../wait.js";

t.test("stage-foreign-stop: the move ends short, which is an error with the place", async (t) => {
  const { driver, emulator, faults, end } = await activeRig();
  t.teardown(end);
  const ended = t.rejects(driver.moveAbsolute(1, 14_000), {
    code: "DEVICE_NOT_SETTLED",
    detail: /stopped short at/,
  });
  await waitFor(() => emulator.isMoving(1));
  faults.set("stage-foreign-stop");
  await ended;
  t.notOk(emulator.isMoving(1));
  t.equal(driver.status.current, "active");
});

t.test("stage-foreign-move: an axis that moves already takes no target of ours", async (t) => {
  const { driver, emulator, faults, end } = await activeRig();
  t.teardown(end);
  faults.set("stage-foreign-move", "1:9000");
  t.ok(emulator.isMoving(1));
  await t.rejects(driver.moveAbsolute(1, 100), { code: "COMMAND_INVALID", detail: /already moving/ });
  await waitFor(() => !emulator.isMoving(1));
  await driver.moveAbsolute(1, 100);
});

t.test("stage-clients-full: no answer, said so, nothing moved; room again lets it connect", async (t) => {
  const { driver, faults, end } = await rig();
  t.teardown(end);
  faults.set("stage-clients-full", "on");
  await t.rejects(driver.connect(), { code: "LINK_TIMEOUT", detail: /no reply to IDN/ });
  t.equal(driver.status.current, "unconfigured");
  faults.set("stage-clients-full", "off");
  await driver.connect();
});

t.test("two daemons at one serial port: the second is refused by the port, the first goes on", async (t) => {
  const { driver, address, end } = await activeRig({ transport: "serial" });
  t.teardown(end);
  const second = new KohzuController({
    name: "second",
    address,
    profile: await loadProfile("kohzu-aries", "stage-controller"),
    axes: await cellAxes(),
  });
  await t.rejects(second.connect(), { code: "LINK_BUSY" });
  await second.close();
  await driver.moveAbsolute(1, 10);
});
