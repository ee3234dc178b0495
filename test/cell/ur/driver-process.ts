/** The driver in a process of its own, moving the arm until its parent ends, stops or blocks it. */
import { readUrProfile } from "../../../src/cell/ur/profile.js";
import { UrRobot } from "../../../src/cell/ur/ur-robot.js";
import { driverGoal, profileFile, soon } from "./rig.js";

interface Ports {
  readonly rtde: number;
  readonly dashboard: number;
  readonly primary: number;
}

const ports = JSON.parse(process.env["UR_DRIVER_PORTS"] ?? "{}") as Ports;
const robot = new UrRobot({ host: "127.0.0.1", ports, profile: readUrProfile(profileFile()) });
process.on("message", (message) => {
  if (message === "block") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
});
await robot.connect(soon());
await robot.activate(soon());
process.send?.("moving");
const failure = await robot.moveJoints(driverGoal, { speedRadS: 0.5, accelerationRadS2: 1.5 }, soon()).then(
  () => "arrived",
  (error: unknown) => String(error),
);
process.send?.({ failure, lifecycle: robot.state().lifecycle });
