/**
 * urx, a client library of Sintef: parsers of the secondary and realtime streams, programs of single lines. It knows the
 * robot mode data of 3.0 and 3.2 to 3.4 only, and takes a newer robot for one that does not run.
 */
import { interopFile, peerTest, python, pythonVersion, runChecks } from "../peer.js";
import { bringUp, startQ, urOnOwnAddress } from "../ur-emulator.js";

peerTest(
  {
    peer: "urx (PyPI)",
    version: () => pythonVersion("urx"),
    against: "emulated UR5 CB3 3.4",
    exercised:
      "secondary stream 30002, realtime stream 30003, movej, movel, movep, blended programs, stopj, set_tcp, set_payload",
  },
  async (t, check) => {
    const controller = await urOnOwnAddress(t, "ur5-cb3-3.4");
    await bringUp(controller);
    const { host } = controller.options;
    const script = interopFile("urx", "robot_checks.py");
    await runChecks(t, check, [python(), script, host, JSON.stringify(startQ)], 120);
  },
);
