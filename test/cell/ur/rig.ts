/** An emulated controller on free ports and a driver for it. */
import path from "node:path";
import { projectRoot } from "../../../src/base/paths.js";
import { readUrProfile } from "../../../src/cell/ur/profile.js";
import { UrRobot } from "../../../src/cell/ur/ur-robot.js";
import type { UrRobotOptions } from "../../../src/cell/ur/ur-types.js";
import { readFirmware } from "../../../src/twin/ur/firmware.js";
import { freePorts, UrController, type UrControllerOptions } from "../../../src/twin/ur/ur-controller.js";

export const startQ = [0.1, -1.6, 1.9, -1.9, -1.5, 0.2];
/** Where the driver of `driver-process.ts` moves to: three seconds away. */
export const driverGoal = startQ.map((value, i) => value + (i === 0 ? 1.5 : 0));
export const profileFile = (name = "ur5-cb3-3.15"): string =>
  path.join(projectRoot, "firmware-profiles", `${name}.yaml`);

export const soon = (limitS = 20): AbortSignal => AbortSignal.timeout(limitS * 1e3);

export interface Rig {
  readonly controller: UrController;
  readonly robot: UrRobot;
  close(): Promise<void>;
}

export async function rig(
  options: {
    profile?: string;
    controller?: Partial<UrControllerOptions>;
    robot?: Partial<UrRobotOptions>;
    /** Puts something between the two: from the controller's ports to those that the driver is told. */
    between?: (ports: UrRobotOptions["ports"]) => Promise<UrRobotOptions["ports"]>;
  } = {},
): Promise<Rig> {
  const file = profileFile(options.profile);
  const controller = new UrController({
    ports: freePorts,
    firmware: readFirmware(file),
    initialQ: startQ,
    timing: { bootS: 0.05, powerOnS: 0.1, brakeReleaseS: 0.1, unlockWaitS: 5 },
    ...options.controller,
  });
  await controller.start();
  const { rtde, dashboard, primary, modbus } = controller.ports;
  const own = { rtde, dashboard, primary, modbus };
  const robot = new UrRobot({
    host: "127.0.0.1",
    ports: options.between ? await options.between(own) : own,
    profile: readUrProfile(file),
    // Driver and controller share one event loop here, which a loaded machine lets wait for long; the product's own
    // limits are proven by keep-alive.test.ts, on a process of its own.
    readTimeoutS: 0.6,
    maxSampleAgeS: 1,
    ...options.robot,
  });
  return {
    controller,
    robot,
    async close() {
      await robot.close();
      await controller.stop();
    },
  };
}
