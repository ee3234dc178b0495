/** Faults of power, safety and control: what stops, which error it is, and that nothing resumes by itself. */
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { monotonicNow } from "../../../src/base/clock.js";
import { soon, startQ } from "../../cell/ur/rig.js";
import { waitFor } from "../wait.js";
import { activeArm, connectedArm, recovers, slow, stopsMotion } from "./active-arm.js";

for (const [fault, code] of [
  ["arm-protective-stop", 153],
  ["arm-protective-stop", 204],
] as const) {
  t.test(`${fault} C${code}: recovered after its five seconds, not before`, async (t) => {
    const arm = await activeArm(t);
    const { robot, faults } = arm;
    await stopsMotion(t, arm, () => faults.set(fault, code), {
      code: "DEVICE_EMERGENCY_STOP",
      detail: new RegExp(`PROTECTIVE_STOP|C${code}`),
    });
    const beganS = monotonicNow();
    await t.rejects(robot.reset(soon()), { code: "DEVICE_EMERGENCY_STOP" });
    await robot.recoverProtectiveStop(soon());
    t.ok(monotonicNow() - beganS > 3.5, "five seconds after the stop at the earliest");
    await robot.moveJoints(startQ, slow, soon());
  });
}

t.test("arm-emergency-stop: power goes; after its release the arm is powered anew", async (t) => {
  const arm = await activeArm(t);
  const { robot, faults } = arm;
  await stopsMotion(t, arm, () => faults.set("arm-emergency-stop"), { code: "DEVICE_EMERGENCY_STOP" });
  await waitFor(() => robot.state().robotMode === "POWER_OFF");
  await t.rejects(robot.reset(soon()), { code: "DEVICE_EMERGENCY_STOP" });
  faults.set("arm-emergency-release");
  await waitFor(() => !robot.state().emergencyStopped);
  await recovers(t, arm);
});

t.test("arm-power-cycle in mid-motion", async (t) => {
  const arm = await activeArm(t);
  await stopsMotion(t, arm, () => arm.faults.set("arm-power-cycle"), {
    code: /^LINK_CLOSED|SAFETY_HEARTBEAT|DEVICE_FAULT$/,
  });
  await recovers(t, arm);
});

t.test("arm-boot: a controller that boots for seconds is waited for", async (t) => {
  const arm = await connectedArm(t);
  const { robot, faults } = arm;
  faults.set("arm-boot", 2);
  await waitFor(() => robot.state().connected && robot.state().robotMode === "BOOTING");
  await robot.activate(soon());
  t.equal(robot.state().lifecycle, "active");
  await robot.moveJoints(startQ, slow, soon());
});

t.test("arm-second-program: another client's program ends ours, and the arm stops", async (t) => {
  const arm = await activeArm(t);
  await stopsMotion(t, arm, () => arm.faults.set("arm-second-program"), {
    code: "SAFETY_HEARTBEAT",
    detail: /control program ended/,
  });
  await recovers(t, arm);
});

t.test("arm-runtime-exception: the other program's own words are in the error", async (t) => {
  const arm = await activeArm(t);
  await stopsMotion(t, arm, () => arm.faults.set("arm-runtime-exception"), {
    code: "SAFETY_HEARTBEAT",
    detail: /line 2.*division by zero/,
  });
  await recovers(t, arm);
});

t.test("arm-servo-jump: another client's servo targets leap: C204 and a protective stop", async (t) => {
  const { controller, robot, faults } = await activeArm(t);
  robot.deactivate();
  // Its stop program is still on the way, and would end the other client's.
  await delay(300);
  const said: string[] = [];
  robot.on("message", (message) => {
    if (message.kind === "error") said.push(`C${message.code}`);
  });
  faults.set("arm-servo-jump");
  await waitFor(() => robot.state().protectiveStopped);
  await waitFor(() => said.includes("C204"));
  await waitFor(() => controller.fastestJoint === 0);
  await t.rejects(robot.activate(soon()), { code: "DEVICE_EMERGENCY_STOP" });
  await robot.recoverProtectiveStop(soon());
  await robot.moveJoints(startQ, slow, soon());
});

t.test(
  "arm-servo-starved: without targets the arm brakes by itself, without a protective stop",
  async (t) => {
    const { controller, robot, faults } = await activeArm(t);
    robot.deactivate();
    // Its stop program is still on the way, and would end the other client's.
    await delay(300);
    faults.set("arm-servo-starved");
    await waitFor(() => controller.fastestJoint > 0.1);
    await waitFor(() => controller.fastestJoint === 0);
    t.ok(controller.programRunning, "the program still sleeps");
    t.notOk(robot.state().protectiveStopped);
    await robot.activate(soon());
    await robot.moveJoints(startQ, slow, soon());
  },
);

t.test(
  "arm-speed-slider at 0: the motion stands still, ends at its deadline and stops; nothing leaps when it is raised",
  async (t) => {
    const arm = await activeArm(t);
    const { controller, robot, faults } = arm;
    const motion = robot.moveJoints(
      startQ.map((q, i) => q + (i === 0 ? 0.3 : 0)),
      slow,
      soon(60),
    );
    const ended = t.rejects(motion, { code: "LINK_TIMEOUT", detail: /motion/ });
    await waitFor(() => robot.state().moving);
    faults.set("arm-speed-slider", 0);
    await ended;
    const rest = controller.jointPositions(Infinity);
    faults.set("arm-speed-slider", 1);
    await waitFor(() => controller.fastestJoint === 0);
    t.ok(
      Math.abs((controller.jointPositions(Infinity)[0] ?? NaN) - (rest[0] ?? NaN)) < 0.12,
      "braked, not resumed",
    );
    await robot.moveJoints(startQ, slow, soon());
  },
);
