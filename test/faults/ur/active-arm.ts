/** An active arm on an emulated controller, with the switches of its faults. */
import { type Test } from "tap";
import { FaultSwitches } from "../../../src/twin/fault-switches.js";
import { urFaults } from "../../../src/twin/ur/ur-faults.js";
import { rig, soon, startQ, type Rig } from "../../cell/ur/rig.js";
import { waitFor } from "../wait.js";

export const slow = { speedRadS: 0.5, accelerationRadS2: 1.5 };
/** A motion that takes more than two seconds. */
export const away = startQ.map((value, i) => value + (i === 0 ? 1 : 0));

export interface FaultRig extends Rig {
  readonly faults: FaultSwitches;
}

export async function connectedArm(t: Test, options: Parameters<typeof rig>[0] = {}): Promise<FaultRig> {
  const arm = await rig(options);
  t.teardown(() => arm.close());
  await arm.robot.connect(soon());
  return { ...arm, faults: new FaultSwitches(urFaults(arm.controller)) };
}

export async function activeArm(t: Test, options: Parameters<typeof rig>[0] = {}): Promise<FaultRig> {
  const arm = await connectedArm(t, options);
  await arm.robot.activate(soon());
  return arm;
}

/**
 * A fault in the middle of a motion: the motion ends with this error, the arm comes to rest short of its goal, stays there
 * and needs `reset` and `activate` to move again.
 */
export async function stopsMotion(
  t: Test,
  arm: FaultRig,
  fault: () => void,
  error: { readonly code: string | RegExp; readonly detail?: RegExp },
): Promise<void> {
  const { controller, robot } = arm;
  const motion = robot.moveJoints(away, slow, soon(30));
  const ended = t.rejects(motion, error);
  await waitFor(() => robot.state().moving);
  fault();
  await ended;
  await waitFor(() => controller.fastestJoint === 0);
  const rest = controller.jointPositions(Infinity)[0] ?? NaN;
  t.ok(rest < (away[0] ?? NaN) - 0.01, `at rest at ${rest.toFixed(3)} rad, short of the goal`);
  t.equal(robot.state().lifecycle, "fault", "the fault is latched");
  await t.rejects(robot.moveJoints(startQ, slow, soon()), { code: "COMMAND_INVALID" });
}

/** Once the cause is gone: nothing has moved by itself, and reset, activate and a motion work. */
export async function recovers(t: Test, arm: FaultRig): Promise<void> {
  const { controller, robot } = arm;
  const rest = controller.jointPositions(Infinity);
  await waitFor(() => robot.state().connected);
  await robot.reset(soon());
  await robot.activate(soon());
  t.same(controller.jointPositions(Infinity), rest, "nothing resumed by itself");
  const report = await robot.moveJoints(startQ, slow, soon());
  t.ok(report.jointErrorRad < 1e-4, "a new motion works");
}
