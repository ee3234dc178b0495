/** pymodbus as a Modbus RTU master of the emulated needle drive. */
import { needleOnPty } from "../needle-emulator.js";
import { interopFile, peerTest, python, pythonVersion, runChecks } from "../peer.js";

peerTest(
  {
    peer: "pymodbus (PyPI), RTU",
    version: () => pythonVersion("pymodbus"),
    against: "emulated needle drive, Modbus RTU",
    exercised:
      "functions 3, 4, 6, 8, 16 and 43, exceptions 1 to 4, identity, homing, a move, a stroke, refusals with their reason, broadcast",
  },
  async (t, check) => {
    const { emulator, port } = await needleOnPty(t, { dialect: "modbus-rtu", initialM: 1e-3 });
    await runChecks(t, check, [python(), interopFile("pymodbus", "needle_checks.py"), port], 60);
    check(Math.abs(emulator.positionM() - 1e-3) < 0.3e-6, "the slide truly stands where the stroke ended");
  },
);
