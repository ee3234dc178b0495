/** A few faults of the arm's controller with their right outcome; the rest is in the files beside this one. */
import t from "tap";
import { FaultSwitches } from "../../../src/twin/fault-switches.js";
import { urFaults } from "../../../src/twin/ur/ur-faults.js";
import { rig, soon, startQ } from "../../cell/ur/rig.js";
import { waitFor } from "../wait.js";

const slow = { speedRadS: 0.5, accelerationRadS2: 1.5 };
const away = startQ.map((value, i) => value + (i === 0 ? 1 : 0));

t.test("arm-local: the control program is refused with C210, and nothing moves", async (t) => {
  const { controller, robot, close } = await rig();
  t.teardown(() => close());
  const faults = new FaultSwitches(urFaults(controller));
  await robot.connect(soon());
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
    const { controller, robot, close } = await rig();
    t.teardown(() => close());
    const faults = new FaultSwitches(urFaults(controller));
    await robot.connect(soon());
    await robot.activate(soon());
    const motion = robot.moveJoints(away, slow, soon());
    const ended = t.rejects(motion, { code: "LINK_TIMEOUT" });
    await waitFor(() => robot.state().moving);
    faults.set("arm-rtde-silent", "on");
    await ended;
    t.equal(robot.state().lifecycle, "fault");
    faults.set("arm-rtde-silent", "off");
    await waitFor(() => robot.state().connected && controller.fastestJoint === 0);
    t.equal(robot.state().lifecycle, "fault", "the fault stays latched");
    await robot.reset(soon());
    await robot.activate(soon());
    await robot.moveJoints(startQ, slow, soon());
  },
);
