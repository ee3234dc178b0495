/** pyserial on the serial line of each family, with the bytes that public programs send to real units. */
import { interopFile, peerTest, python, pythonVersion, runChecks } from "../peer.js";
import { stagesOnPty } from "../stage-emulator.js";

const families = [
  { dialect: "aries", name: "emulated ARIES on a serial line", options: {} },
  { dialect: "crux", name: "emulated CRUX-D on a serial line", options: { firmware: [1, 0, 0] } },
  { dialect: "sc", name: "emulated SC-400 on a serial line", options: { firmware: [100, 0, 0] } },
] as const;

for (const { dialect, name, options } of families)
  peerTest(
    {
      peer: "pyserial (PyPI)",
      version: () => pythonVersion("pyserial"),
      against: name,
      exercised:
        "identity, status, position, moves, stop, homing, refusals; request and reply compared byte by byte",
    },
    async (t, check) => {
      const { received, path } = await stagesOnPty(t, { dialect, ...options });
      const script = interopFile("pyserial-stages", "line_checks.py");
      await runChecks(t, check, [python(), script, path, dialect], 120);
      const requests = received().split("\r\n").slice(0, -1);
      check(requests.filter((request) => !request.startsWith("\x02")).length === 1, "STX but once");
    },
  );
