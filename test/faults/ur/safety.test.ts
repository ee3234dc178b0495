/** Faults of the safety system and of programs that others send: what stops, what recovers, and what must not. */
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { DashboardClient } from "../../../src/cell/ur/dashboard-client.js";
import { soon, startQ } from "../../cell/ur/rig.js";
import { waitFor } from "../wait.js";
import { activeArm, connectedArm, recovers, slow, stopsMotion, type FaultRig } from "./active-arm.js";

const panel = ({ controller }: FaultRig, bannerLimitS = 10): DashboardClient =>
  new DashboardClient({
    host: "127.0.0.1",
    port: controller.ports.dashboard,
    bannerLimitS,
    replyLimitS: 5,
  });

t.test(
  "arm-protective-stops: the 50th of a joint is C163, which only a restart of safety ends",
  async (t) => {
    const arm = await activeArm(t);
    const { robot, faults } = arm;
    const said: string[] = [];
    robot.on("message", (message) => {
      if (message.kind === "error") said.push(`C${message.code}A${message.argument}`);
    });
    faults.set("arm-protective-stops", 49);
    await stopsMotion(t, arm, () => faults.set("arm-protective-stop"), { code: "DEVICE_EMERGENCY_STOP" });
    await waitFor(() => robot.state().safetyMode === "FAULT" && robot.state().robotMode === "POWER_OFF");
    await waitFor(() => said.includes("C163A0"));
    await t.rejects(robot.reset(soon()), { code: "DEVICE_EMERGENCY_STOP", detail: /FAULT/ });
    await t.rejects(robot.recoverProtectiveStop(soon()), { code: "COMMAND_INVALID" });
    const dashboard = panel(arm);
    t.teardown(() => dashboard.close());
    t.equal(await dashboard.send("restart safety", soon()), "Restarting safety");
    await waitFor(() => robot.state().connected && robot.state().safetyMode === "NORMAL");
    await recovers(t, arm);
    faults.set("arm-protective-stops", 48);
    faults.set("arm-protective-stop");
    await waitFor(() => robot.state().protectiveStopped);
    t.equal(robot.state().safetyMode, "PROTECTIVE_STOP", "the 49th is an ordinary one");
  },
);

t.test(
  "arm-safeguard-stop: the robot would go on by itself when the door closes; the driver sees to it that it does not",
  async (t) => {
    const arm = await activeArm(t);
    const { controller, robot, faults } = arm;
    await stopsMotion(t, arm, () => faults.set("arm-safeguard-stop", "on"), {
      code: "DEVICE_EMERGENCY_STOP",
      detail: /SAFEGUARD_STOP/,
    });
    await waitFor(() => !controller.programRunning);
    await t.rejects(robot.reset(soon()), { code: "DEVICE_EMERGENCY_STOP" });
    const rest = controller.jointPositions(Infinity);
    faults.set("arm-safeguard-stop", "off");
    await waitFor(() => robot.state().safetyMode === "NORMAL");
    await delay(300);
    t.same(controller.jointPositions(Infinity), rest, "nothing has moved");
    await recovers(t, arm);
  },
);

t.test("arm-slider-stops: the speed comes back from 0, and with it a protective stop", async (t) => {
  const arm = await activeArm(t);
  const { controller, robot, faults } = arm;
  faults.set("arm-slider-stops", "on");
  await stopsMotion(
    t,
    arm,
    () => {
      faults.set("arm-speed-slider", 0);
      faults.set("arm-speed-slider", 0.5);
    },
    { code: "DEVICE_EMERGENCY_STOP", detail: /PROTECTIVE_STOP|C153/ },
  );
  await robot.recoverProtectiveStop(soon());
  faults.set("arm-slider-stops", "off");
  faults.set("arm-speed-slider", 0);
  faults.set("arm-speed-slider", 1);
  t.ok(controller.programRunning, "without it the program goes on");
  await robot.moveJoints(startQ, slow, soon());
});

t.test("arm-restart-safety in mid-motion: connections drop, power goes, all comes back anew", async (t) => {
  const arm = await activeArm(t);
  await stopsMotion(t, arm, () => arm.faults.set("arm-restart-safety"), {
    code: /^LINK_CLOSED|SAFETY_HEARTBEAT|DEVICE_FAULT$/,
  });
  await waitFor(() => arm.robot.state().robotMode === "POWER_OFF");
  await recovers(t, arm);
});

t.test("arm-watchdog: nobody feeds it: C207, a protective stop, five seconds", async (t) => {
  const arm = await activeArm(t);
  const { robot, faults } = arm;
  const said: number[] = [];
  robot.on("message", (message) => {
    if (message.kind === "error") said.push(message.code);
  });
  // The other client's program ends ours first; the watchdog bites 0.4 s later.
  await stopsMotion(t, arm, () => faults.set("arm-watchdog"), {
    code: /^SAFETY_HEARTBEAT|DEVICE_EMERGENCY_STOP$/,
  });
  // A driver that has lost its program ends the other one, too: the watchdog is begun again, with nobody in its way.
  faults.set("arm-watchdog");
  await waitFor(() => robot.state().protectiveStopped);
  await waitFor(() => said.includes(207));
  await robot.recoverProtectiveStop(soon());
  await robot.moveJoints(startQ, slow, soon());
});

t.test("arm-scripts-ignored: a control program that is swallowed is noticed by its silence", async (t) => {
  const { controller, robot, faults } = await connectedArm(t);
  faults.set("arm-scripts-ignored", "on");
  await t.rejects(robot.activate(soon()), { code: "LINK_TIMEOUT", detail: /program/ });
  t.equal(controller.arrivals, 0, "nothing has moved");
  faults.set("arm-scripts-ignored", "off");
  await robot.activate(soon());
  await robot.moveJoints(startQ, slow, soon());
});

t.test("arm-pushed: an arm that holds its position does not give way", async (t) => {
  const { controller, robot, faults } = await activeArm(t);
  const before = controller.jointPositions(Infinity);
  faults.set("arm-pushed", "0,0,40,0,0,0");
  await robot.moveJoints(startQ, slow, soon());
  t.same(controller.jointPositions(Infinity), before);
  t.throws(() => faults.set("arm-pushed", "1,2"), { code: "COMMAND_INVALID" });
  faults.set("arm-pushed");
});

t.test(
  "arm-dashboard-refuses: any other sentence is a refusal, and its words are in the error",
  async (t) => {
    const { controller, robot, faults } = await connectedArm(t);
    faults.set("arm-dashboard-refuses", "Command is not allowed in this mode");
    await t.rejects(robot.activate(soon()), { code: "DEVICE_REFUSED", detail: /not allowed in this mode/ });
    t.equal(controller.arrivals, 0);
    faults.set("arm-dashboard-refuses");
    await robot.activate(soon());
  },
);

t.test("arm-dashboard-drop: the next command finds a connection of its own", async (t) => {
  const { robot, faults } = await connectedArm(t);
  faults.set("arm-dashboard-drop");
  await robot.activate(soon());
  t.equal(robot.state().lifecycle, "active");
});
