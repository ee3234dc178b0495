/** Faults of RTDE and of the connection under it. */
import t from "tap";
import { setTimeout as delay } from "node:timers/promises";
import { RtdeClient, rtdeDefaults } from "../../../src/cell/ur/rtde-client.js";
import { soon } from "../../cell/ur/rig.js";
import { waitFor } from "../wait.js";
import { activeArm, connectedArm, recovers, stopsMotion } from "./active-arm.js";

t.test("link-drop: the arm brakes, the link comes back with a whole handshake", async (t) => {
  const arm = await activeArm(t);
  await stopsMotion(t, arm, () => arm.controller.dropConnections(), {
    code: /^LINK_CLOSED|SAFETY_HEARTBEAT$/,
  });
  await recovers(t, arm);
});

t.test("arm-rtde-cut: half a package and a reset", async (t) => {
  const arm = await activeArm(t);
  await stopsMotion(t, arm, () => arm.faults.set("arm-rtde-cut"), { code: "LINK_CLOSED" });
  await recovers(t, arm);
});

t.test("arm-rtde-time-reset: timestamps that go backwards are a restart", async (t) => {
  const arm = await activeArm(t);
  await stopsMotion(t, arm, () => arm.faults.set("arm-rtde-time-reset"), {
    code: "LINK_CLOSED",
    detail: /restarted/,
  });
  await recovers(t, arm);
});

t.test(
  "arm-rtde-skip: a jump in time shorter than the limits goes unpunished, a long one does not",
  async (t) => {
    const arm = await activeArm(t);
    const { robot, faults } = arm;
    faults.set("arm-rtde-skip", 10);
    await delay(200);
    t.equal(robot.state().lifecycle, "active");
    await stopsMotion(t, arm, () => faults.set("arm-rtde-skip", 400), { code: "LINK_TIMEOUT" });
    await waitFor(() => robot.state().connected);
    await recovers(t, arm);
  },
);

t.test("arm-rtde-version-1: the driver falls back to version 1", async (t) => {
  const arm = await connectedArm(t);
  arm.faults.set("arm-rtde-version-1", "on");
  arm.controller.dropConnections();
  await waitFor(() => !arm.robot.state().connected);
  await waitFor(() => arm.robot.state().connected);
  await arm.robot.activate(soon());
  t.equal(arm.robot.state().lifecycle, "active");
});

const bare = (port: number, required: readonly string[], optional: readonly string[] = []): RtdeClient =>
  new RtdeClient({ ...rtdeDefaults, host: "127.0.0.1", port, required, optional });

t.test("arm-rtde-not-found: an optional field is left out, a required one is named", async (t) => {
  const { controller, faults } = await connectedArm(t);
  faults.set("arm-rtde-not-found", "safety_status_bits,actual_qd");
  const without = bare(controller.ports.rtde, ["timestamp"], ["safety_status_bits", "actual_q"]);
  t.teardown(() => without.close());
  const sample = await without.connect(10, soon());
  t.same(without.missing, ["safety_status_bits"]);
  t.ok(sample.values.has("actual_q"));
  const refused = bare(controller.ports.rtde, ["timestamp", "actual_qd"]);
  t.teardown(() => refused.close());
  await t.rejects(refused.connect(2, soon()), { code: "DEVICE_REFUSED", detail: /actual_qd/ });
});

t.test(
  "arm-rtde-in-use: the claim is refused by name, other inputs work, and it is free again afterwards",
  async (t) => {
    const { controller, faults } = await connectedArm(t);
    faults.set("arm-rtde-in-use", "input_int_register_24,speed_slider_mask");
    const client = bare(controller.ports.rtde, ["timestamp", "input_int_register_25"]);
    t.teardown(() => client.close());
    await client.connect(10, soon());
    await t.rejects(client.claimInputs(["input_int_register_24"]), {
      code: "LINK_BUSY",
      detail: /input_int_register_24/,
    });
    const send = await client.claimInputs(["input_int_register_25"]);
    t.ok(send([7]));
    await client.until((s) => (s?.values.get("input_int_register_25") === 7 ? s : undefined), 5, "echo");
    faults.set("arm-rtde-in-use");
    t.ok((await client.claimInputs(["input_int_register_24"]))([1]));
  },
);
