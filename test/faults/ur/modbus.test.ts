/** The second opinion on the robot's state: what happens when it differs, and when it is not to be had. */
import t from "tap";
import { FaultSwitches } from "../../../src/twin/fault-switches.js";
import { urFaults } from "../../../src/twin/ur/ur-faults.js";
import { readUrProfile } from "../../../src/cell/ur/profile.js";
import { UrRobot } from "../../../src/cell/ur/ur-robot.js";
import { profileFile, rig, soon, startQ } from "../../cell/ur/rig.js";
import { waitFor } from "../wait.js";

const slow = { speedRadS: 0.5, accelerationRadS2: 1.5 };

t.test("arm-modbus-wrong: a clear fault that stays until both interfaces agree again", async (t) => {
  const { controller, robot, close } = await rig();
  t.teardown(() => close());
  const faults = new FaultSwitches(urFaults(controller));
  await robot.connect(soon());
  await robot.activate(soon());
  await waitFor(() => robot.state().crossCheck === "agrees");
  faults.set("arm-modbus-wrong", 0.05);
  await waitFor(() => robot.state().lifecycle === "fault");
  const { fault } = robot.state();
  t.equal(fault?.code, "DEVICE_STATE_CONFLICT");
  t.match(fault?.detail, /joint 0: Modbus says 0\.15\d rad, RTDE 0\.1/);
  await t.rejects(robot.moveJoints(startQ, slow, soon()), { code: "COMMAND_INVALID" });
  await t.rejects(robot.reset(soon()), { code: "DEVICE_STATE_CONFLICT" });
  faults.set("arm-modbus-wrong", 0);
  await waitFor(() => robot.state().crossCheck === "agrees");
  t.equal(robot.state().lifecycle, "fault", "nothing resumes by itself");
  await robot.reset(soon());
  await robot.activate(soon());
  await robot.moveJoints(startQ, slow, soon());
});

t.test("arm-modbus-silent: the arm works on, the state says that it is unchecked", async (t) => {
  const { controller, robot, close } = await rig();
  t.teardown(() => close());
  const faults = new FaultSwitches(urFaults(controller));
  await robot.connect(soon());
  await robot.activate(soon());
  faults.set("arm-modbus-silent", "on");
  await waitFor(() => robot.state().crossCheck === "unavailable");
  t.equal(robot.state().lifecycle, "active");
  await robot.moveJoints(startQ, slow, soon());
  faults.set("arm-modbus-silent", "off");
  await waitFor(() => robot.state().crossCheck === "agrees");
});

t.test("a configured Modbus server that is not there refuses the connection", async (t) => {
  const { controller, ...rest } = await rig();
  t.teardown(() => rest.close());
  const { rtde, dashboard, primary } = controller.ports;
  const robot = new UrRobot({
    host: "127.0.0.1",
    ports: { rtde, dashboard, primary, modbus: 1 },
    profile: readUrProfile(profileFile()),
  });
  t.teardown(() => robot.close());
  await t.rejects(robot.connect(soon()), { code: "LINK_CONNECT", detail: /Modbus/ });
  t.equal(robot.state().lifecycle, "unconfigured");
});
