import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { monotonicNow } from "../../../src/base/clock.js";
import { asCellError } from "../../../src/base/errors.js";
import { distance, type Transform } from "../../../src/base/transform.js";
import { flangePose, ur5Table } from "../../../src/twin/ur/arm-geometry.js";
import { rig, soon, startQ } from "./rig.js";

const slow = { speedRadS: 0.5, accelerationRadS2: 1.5 };
const offset = (values: readonly number[], by: readonly number[]): number[] =>
  values.map((value, i) => value + (by[i] ?? 0));

t.test("powers up, moves its joints and the flange, and stands where it was sent", async (t) => {
  const { controller, robot, ...rest } = await rig();
  t.teardown(() => rest.close());
  await robot.connect(soon());
  t.equal(robot.state().lifecycle, "inactive");
  await robot.activate(soon());
  t.match(robot.state(), { lifecycle: "active", robotMode: "RUNNING", safetyMode: "NORMAL", moving: false });
  const arrivals = controller.arrivals;

  const goal = offset(startQ, [0.1, -0.1, 0.15, -0.1, 0.05, 0.2]);
  const report = await robot.moveJoints(goal, slow, soon());
  t.ok(report.jointErrorRad < 1e-4, `joint error ${report.jointErrorRad}`);
  controller.jointPositions(monotonicNow()).forEach((value, i) => {
    t.ok(Math.abs(value - (goal[i] ?? NaN)) < 1e-7, `joint ${i} as commanded on the wire`);
  });
  t.equal(controller.arrivals, arrivals + 1);
  // 0.2 rad at 0.5 rad/s and 1.5 rad/s²: 0.2/0.5 + 0.5/1.5 s.
  t.ok(report.durationS > 0.7 && report.durationS < 3, `took ${report.durationS} s`);

  const from = flangePose(ur5Table, goal);
  const to: Transform = {
    ...from,
    translation: [from.translation[0], from.translation[1] + 0.03, from.translation[2] - 0.02],
  };
  const line = await robot.moveLinear(to, { speedMS: 0.05, accelerationMS2: 0.3 }, soon());
  const reached = flangePose(ur5Table, controller.jointPositions(monotonicNow()));
  t.ok(distance(reached.translation, to.translation) < 1e-6, "the emulator's own kinematics agree");
  t.ok(line.positionErrorM < 1e-6 && line.rotationErrorRad < 1e-6);

  const back = await robot.moveThrough(
    [offset(startQ, [0, 0, 0.1]), startQ],
    { ...slow, blendM: 0.01 },
    soon(),
  );
  t.ok(back.jointErrorRad < 1e-4);
});

t.test("an aborted motion stops on the robot, and the next one works", async (t) => {
  const { controller, robot, ...rest } = await rig();
  t.teardown(() => rest.close());
  await robot.connect(soon());
  await robot.activate(soon());
  const abort = new AbortController();
  const goal = offset(startQ, [1, 0, 0, 0, 0, 0]);
  const motion = robot.moveJoints(goal, slow, abort.signal);
  await delay(600);
  t.ok(robot.state().moving);
  abort.abort();
  await t.rejects(motion, { code: "LINK_ABORTED" });
  t.notOk(robot.state().moving);
  const q0 = controller.jointPositions(monotonicNow())[0] ?? NaN;
  t.ok(q0 > 0.12 && q0 < 0.9, `stopped at ${q0}`);
  t.equal(robot.state().lifecycle, "active");
  await robot.moveJoints(startQ, slow, soon());
});

t.test("stop returns at once, ends the control program and is idempotent", async (t) => {
  const { controller, robot, ...rest } = await rig();
  t.teardown(() => rest.close());
  robot.stop();
  await robot.connect(soon());
  await robot.activate(soon());
  const motion = robot.moveJoints(offset(startQ, [1, 0, 0, 0, 0, 0]), slow, soon());
  const ended = t.rejects(motion, { code: "SAFETY_STOPPED" });
  await delay(500);
  robot.stop();
  robot.stop();
  await ended;
  t.equal(robot.state().lifecycle, "inactive");
  await waitFor(() => controller.fastestJoint === 0 && !controller.programRunning);
  await t.rejects(robot.moveJoints(startQ, slow, soon()), { code: "COMMAND_INVALID" });
  await robot.activate(soon());
  await robot.moveJoints(startQ, slow, soon());
});

t.test("what lies outside the envelope is refused before the wire", async (t) => {
  const { controller, robot, ...rest } = await rig();
  t.teardown(() => rest.close());
  await robot.connect(soon());
  await robot.activate(soon());
  const arrivals = controller.arrivals;
  const refused = (promise: Promise<unknown>): Promise<unknown> =>
    t.rejects(promise, { code: "SAFETY_ENVELOPE" });
  await refused(robot.moveJoints(offset(startQ, [2, 0, 0, 0, 0, 0]), slow, soon()));
  await refused(robot.moveJoints(offset(startQ, [NaN, 0, 0, 0, 0, 0]), slow, soon()));
  await refused(robot.moveJoints([0, 0, 0], slow, soon()));
  await refused(robot.moveJoints(startQ, { speedRadS: 9, accelerationRadS2: 1 }, soon()));
  await refused(robot.moveJoints(offset(startQ, [0, 0, 0, 0, 1.5, 0]), slow, soon()));
  const pose = flangePose(ur5Table, startQ);
  await refused(
    robot.moveLinear(
      { ...pose, translation: [-0.9, 0, 0.2] },
      { speedMS: 0.1, accelerationMS2: 0.5 },
      soon(),
    ),
  );
  await refused(robot.moveLinear(pose, { speedMS: 2, accelerationMS2: 0.5 }, soon()));
  t.equal(controller.arrivals, arrivals);
});

t.test("a protective stop latches a fault and is recovered after its 5 s; no target survives", async (t) => {
  const { controller, robot, ...rest } = await rig();
  t.teardown(() => rest.close());
  await robot.connect(soon());
  await robot.activate(soon());
  await t.rejects(robot.recoverProtectiveStop(soon()), { code: "COMMAND_INVALID" });
  const motion = robot.moveJoints(offset(startQ, [1, 0, 0, 0, 0, 0]), slow, soon());
  const ended = t.rejects(motion, { code: "DEVICE_EMERGENCY_STOP" });
  await delay(500);
  controller.protectiveStop(153);
  const startS = monotonicNow();
  await ended;
  t.match(robot.state(), { lifecycle: "fault", protectiveStopped: true });
  await t.rejects(robot.reset(soon()), { code: "DEVICE_EMERGENCY_STOP" });
  await waitFor(() => controller.fastestJoint === 0);
  const rested = controller.jointPositions(monotonicNow());
  await robot.recoverProtectiveStop(soon());
  t.ok(monotonicNow() - startS >= 5);
  t.equal(robot.state().lifecycle, "active");
  t.same(controller.jointPositions(monotonicNow()), rested, "nothing resumed by itself");
  await robot.moveJoints(startQ, slow, soon());
});

t.test("an emergency stop ends everything; after its release the arm is powered up anew", async (t) => {
  const { controller, robot, ...rest } = await rig();
  t.teardown(() => rest.close());
  await robot.connect(soon());
  await robot.activate(soon());
  controller.emergencyStop(true);
  await waitFor(() => robot.state().lifecycle === "fault");
  t.ok(robot.state().emergencyStopped);
  await waitFor(() => robot.state().robotMode === "POWER_OFF");
  controller.emergencyStop(false);
  await waitFor(() => !robot.state().emergencyStopped);
  await robot.reset(soon());
  await robot.activate(soon());
  await robot.moveJoints(startQ, slow, soon());
});

t.test(
  "dropped connections and a restart of the controller: fault, reconnection, nothing trusted until activated",
  async (t) => {
    const { controller, robot, ...rest } = await rig();
    t.teardown(() => rest.close());
    await robot.connect(soon());
    await robot.activate(soon());
    const motion = robot.moveJoints(offset(startQ, [1, 0, 0, 0, 0, 0]), slow, soon());
    const ended = t.rejects(motion);
    await delay(400);
    controller.dropConnections();
    await ended;
    t.equal(robot.state().lifecycle, "fault");
    await waitFor(() => robot.state().connected && controller.fastestJoint === 0);
    await robot.reset(soon());
    await robot.activate(soon());
    controller.restart();
    await waitFor(() => robot.state().lifecycle === "fault");
    await waitFor(() => robot.state().connected && robot.state().robotMode === "POWER_OFF");
    await robot.reset(soon());
    await robot.activate(soon());
    await robot.moveJoints(startQ, slow, soon());
  },
);

t.test("firmware that speaks RTDE version 1 only", async (t) => {
  const { robot, ...rest } = await rig({ profile: "ur5-cb3-3.3" });
  t.teardown(() => rest.close());
  await robot.connect(soon());
  await robot.activate(soon());
  const report = await robot.moveJoints(offset(startQ, [0, 0, 0, 0, 0, 0.1]), slow, soon());
  t.ok(report.jointErrorRad < 1e-4);
});

t.test("another software than the profile's is refused", async (t) => {
  const { controller, robot, ...rest } = await rig();
  t.teardown(() => rest.close());
  const { readUrProfile } = await import("../../../src/cell/ur/profile.js");
  const { UrRobot } = await import("../../../src/cell/ur/ur-robot.js");
  const { profileFile } = await import("./rig.js");
  const { rtde, dashboard, primary } = controller.ports;
  const other = new UrRobot({
    host: "127.0.0.1",
    ports: { rtde, dashboard, primary },
    profile: readUrProfile(profileFile("ur5-cb3-3.3")),
  });
  await t.rejects(other.connect(soon()), { code: "DEVICE_WRONG_MODEL" });
  await other.close();
  t.equal(robot.state().lifecycle, "unconfigured");
});

t.test("in local mode the control program is refused with the controller's own words", async (t) => {
  const { controller, robot, ...rest } = await rig();
  t.teardown(() => rest.close());
  await robot.connect(soon());
  controller.localMode(true);
  const failure = await robot.activate(soon()).then(
    () => undefined,
    (error: unknown) => asCellError(error),
  );
  t.equal(failure?.code, "DEVICE_REFUSED");
  t.match(failure?.detail, /C210/);
});

async function waitFor(ready: () => boolean, limitS = 10): Promise<void> {
  const untilS = monotonicNow() + limitS;
  while (!ready()) {
    if (monotonicNow() > untilS) throw new Error("the awaited state did not come");
    await delay(10);
  }
}
