/** A few faults of the arm's controller with their right outcome; the rest is in the files beside this one. */
import t from "tap";
import { soon, startQ } from "../../cell/ur/rig.js";
import { waitFor } from "../wait.js";
import { activeArm, connectedArm, recovers, slow, stopsMotion } from "./active-arm.js";

t.test("arm-local: the control program is refused with C210, and nothing moves", async (t) => {
  const { controller, robot, faults } = await connectedArm(t);
  faults.set("arm-local", "on");
  await t.rejects(robot.activate(soon()), { code: "DEVICE_REFUSED", detail: /C210/ });
  t.equal(controller.arrivals, 0);
  faults.set("arm-local", "off");
  await robot.activate(soon());
  await robot.moveJoints(startQ, slow, soon());
});

t.test(
  "arm-rtde-silent: samples grow old, the motion ends in a fault and does not go on by itself",
  async (t) => {
    const arm = await activeArm(t);
    const { robot, faults } = arm;
    await stopsMotion(t, arm, () => faults.set("arm-rtde-silent", "on"), { code: "LINK_TIMEOUT" });
    faults.set("arm-rtde-silent", "off");
    await waitFor(() => robot.state().connected);
    t.equal(robot.state().lifecycle, "fault", "the fault stays latched");
    await recovers(t, arm);
  },
);

t.test("link-drop, arm-emergency-stop and arm-second-program, one after the other on one arm", async (t) => {
  const arm = await activeArm(t);
  const { controller, robot, faults } = arm;
  await stopsMotion(t, arm, () => controller.dropConnections(), { code: /^LINK_CLOSED|SAFETY_HEARTBEAT$/ });
  await recovers(t, arm);
  await stopsMotion(t, arm, () => faults.set("arm-second-program"), { code: "SAFETY_HEARTBEAT" });
  await recovers(t, arm);
  await stopsMotion(t, arm, () => faults.set("arm-emergency-stop"), { code: "DEVICE_EMERGENCY_STOP" });
  await waitFor(() => robot.state().robotMode === "POWER_OFF");
  faults.set("arm-emergency-release");
  await waitFor(() => !robot.state().emergencyStopped);
  await recovers(t, arm);
});
