/** The emulated UR controller for a peer that knows only the robot's address: standard ports on a loopback address of its own. */
import path from "node:path";
import type { Test } from "tap";
import { monotonicNow, systemClock } from "../../src/base/clock.js";
import { asCellError } from "../../src/base/errors.js";
import { projectRoot } from "../../src/base/paths.js";
import { robotMode } from "../../src/cell/ur/codec/enums.js";
import { DashboardClient } from "../../src/cell/ur/dashboard-client.js";
import { readFirmware } from "../../src/twin/ur/firmware.js";
import { standardPorts, UrController, type UrControllerOptions } from "../../src/twin/ur/ur-controller.js";

/** Away from singularities, links apart. */
export const startQ = [0.1, -1.6, 1.9, -1.9, -1.5, 0.2];

/** @param profile a file of firmware-profiles/ without its extension. */
export async function urOnOwnAddress(
  t: Test,
  profile: string,
  options: Partial<UrControllerOptions> = {},
): Promise<UrController> {
  const firmware = readFirmware(path.join(projectRoot, "firmware-profiles", `${profile}.yaml`));
  for (let last = 1; ; last++) {
    const controller = new UrController({
      host: `127.31.4.${last}`,
      ports: { ...standardPorts, primaryReadOnly: 30011, secondaryReadOnly: 30012, realtimeReadOnly: 30013 },
      firmware,
      initialQ: startQ,
      timing: { bootS: 0, powerOnS: 0.3, brakeReleaseS: 0.3, unlockWaitS: 5 },
      ...options,
    });
    try {
      await controller.start();
      t.teardown(() => controller.stop());
      return controller;
    } catch (error) {
      if (asCellError(error).code !== "LINK_BUSY" || last > 40) throw error;
    }
  }
}

async function reach(controller: UrController, mode: number): Promise<void> {
  const untilS = monotonicNow() + 20;
  while (controller.robotMode !== mode) {
    if (monotonicNow() > untilS) throw new Error(`the emulated robot does not reach mode ${mode}`);
    await systemClock.sleep(0.02);
  }
}

/** Power on and brakes released, through the dashboard, as a person does it on the panel. */
export async function bringUp(controller: UrController): Promise<void> {
  const { host } = controller.options;
  const port = controller.ports.dashboard;
  await reach(controller, robotMode.POWER_OFF);
  const dashboard = new DashboardClient({ host, port, bannerLimitS: 10, replyLimitS: 5 });
  await dashboard.send("brake release");
  dashboard.close();
  await reach(controller, robotMode.RUNNING);
}
