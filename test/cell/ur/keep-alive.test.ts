/** Whatever happens to the driver's process, the robot stops by itself within the read timeout and its braking time. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t from "tap";
import { monotonicNow } from "../../../src/base/clock.js";
import { freePorts, UrController } from "../../../src/twin/ur/ur-controller.js";
import { driverGoal, startQ } from "./rig.js";

const start = async (): Promise<{ controller: UrController; child: ChildProcess }> => {
  const controller = new UrController({
    ports: freePorts,
    initialQ: startQ,
    timing: { bootS: 0, powerOnS: 0.05, brakeReleaseS: 0.05, unlockWaitS: 5 },
  });
  await controller.start();
  const child = fork(fileURLToPath(new URL("./driver-process.js", import.meta.url)), {
    env: { ...process.env, UR_DRIVER_PORTS: JSON.stringify(controller.ports) },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await once(child, "message");
  const untilS = monotonicNow() + 10;
  while (controller.fastestJoint < 0.45 && monotonicNow() < untilS) await delay(5);
  return { controller, child };
};
/** Seconds until the arm stands and no program runs. */
const standstill = async (controller: UrController): Promise<number> => {
  const fromS = monotonicNow();
  while (controller.fastestJoint > 0 || controller.programRunning) {
    if (monotonicNow() - fromS > 5) throw new Error("the arm still moves");
    await delay(2);
  }
  return monotonicNow() - fromS;
};

t.test("kill -9: the arm stands within the timeout and its braking time", async (t) => {
  const { controller, child } = await start();
  t.teardown(() => controller.stop());
  child.kill("SIGKILL");
  const tookS = await standstill(controller);
  // The closed socket is seen at once; 0.5 rad/s at 5 rad/s² takes 0.1 s.
  t.comment(`standstill ${(tookS * 1e3).toFixed(0)} ms after SIGKILL`);
  t.ok(tookS < 1);
  t.ok(
    (controller.jointPositions(monotonicNow())[0] ?? 9) < (driverGoal[0] ?? 0) - 0.3,
    "far from its target",
  );
});

t.test("a stopped process keeps its socket open: silence alone stops the arm", async (t) => {
  const { controller, child } = await start();
  t.teardown(() => controller.stop());
  child.kill("SIGSTOP");
  const tookS = await standstill(controller);
  child.kill("SIGKILL");
  // 150 ms of silence, then 0.1 s of braking.
  t.comment(`standstill ${(tookS * 1e3).toFixed(0)} ms after SIGSTOP`);
  t.ok(tookS < 1);
});

t.test("a blocked event loop stops the arm, and the driver knows it afterwards", async (t) => {
  const { controller, child } = await start();
  t.teardown(() => controller.stop());
  t.teardown(() => child.kill("SIGKILL"));
  child.send("block");
  const tookS = await standstill(controller);
  t.comment(`standstill ${(tookS * 1e3).toFixed(0)} ms after the event loop blocked`);
  t.ok(tookS < 1);
  const rested = controller.jointPositions(monotonicNow());
  const [last] = (await once(child, "message")) as unknown[];
  t.match(last, { lifecycle: "fault" }, JSON.stringify(last));
  t.same(controller.jointPositions(monotonicNow()), rested, "nothing resumed");
});
