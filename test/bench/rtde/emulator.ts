/** The emulated UR5e of the RTDE bench: a moving arm, 500 packages a second. Says "ready" once it moves; ends with its input. */
import path from "node:path";
import { systemClock } from "../../../src/base/clock.js";
import { projectRoot } from "../../../src/base/paths.js";
import { robotMode } from "../../../src/cell/ur/codec/enums.js";
import { DashboardClient } from "../../../src/cell/ur/dashboard-client.js";
import { readFirmware } from "../../../src/twin/ur/firmware.js";
import { UrController } from "../../../src/twin/ur/ur-controller.js";

const [, , host = "127.0.0.1"] = process.argv;
const controller = new UrController({
  host,
  firmware: readFirmware(path.join(projectRoot, "firmware-profiles", "ur5e-5.11.yaml")),
});
await controller.start();
const reach = async (mode: number): Promise<void> => {
  while (controller.robotMode !== mode) await systemClock.sleep(0.02);
};
await reach(robotMode.POWER_OFF);
const port = controller.ports.dashboard;
const dashboard = new DashboardClient({ host, port, bannerLimitS: 10, replyLimitS: 5 });
await dashboard.send("brake release");
dashboard.close();
await reach(robotMode.RUNNING);
controller.runScript(`def busy():
  q = get_actual_joint_positions()
  p = [q[0] + 0.5, q[1], q[2] - 0.2, q[3], q[4], q[5] + 0.3]
  while True:
    movej(p, a=1, v=0.3)
    movej(q, a=1, v=0.3)
  end
end
`);
console.log("ready");
process.stdin.on("end", () => void controller.stop()).resume();
