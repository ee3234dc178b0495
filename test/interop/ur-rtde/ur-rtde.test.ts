/** ur-rtde, a client library of the University of Southern Denmark, with the control script that it uploads. */
import { interopFile, peerTest, python, pythonVersion, runChecks } from "../peer.js";
import { startQ, urOnOwnAddress } from "../ur-emulator.js";

for (const [profile, name] of [
  ["ur5-cb3-3.15", "UR5 CB3 3.15"],
  ["ur5e-5.11", "UR5e 5.11"],
] as const) {
  peerTest(
    {
      peer: "ur-rtde (PyPI)",
      version: () => pythonVersion("ur-rtde"),
      against: `emulated ${name}`,
      exercised:
        "dashboard client with programs of the disk, receive and IO interfaces, upload of its control script, moveJ, moveL, servoJ, speedJ, speedL, servoC, force mode, freedrive, teach mode, stop, kinematics, registers, watchdog, protective stop, reconnect",
    },
    async (t, check) => {
      const controller = await urOnOwnAddress(t, profile);
      const { host, firmware } = controller.options;
      const { major, minor, bugfix } = firmware.software;
      const script = interopFile("ur-rtde", "robot_checks.py");
      const args = [host, JSON.stringify(startQ), `${major}.${minor}.${bugfix}`, String(firmware.stepS)];
      await runChecks(t, check, [python(), script, ...args], 200);
    },
  );
}
