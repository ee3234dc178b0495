/** pyserial with hand-written bytes: what leaves the emulated drive is compared byte by byte with the public manual's forms. */
import { needleOnPty } from "../needle-emulator.js";
import { interopFile, peerTest, python, pythonVersion, runChecks } from "../peer.js";

peerTest(
  {
    peer: "pyserial (PyPI)",
    version: () => pythonVersion("pyserial"),
    against: "emulated needle drive, Zaber ASCII",
    exercised:
      "hand-written bytes: any line end, single bytes, checksums right and wrong, message ids, two commands in one write, every byte of the replies",
  },
  async (t, check) => {
    const { port } = await needleOnPty(t, { homed: true });
    await runChecks(t, check, [python(), interopFile("pyserial", "needle_bytes.py"), port], 60);
  },
);
