/**
 * zaber-motion, the vendor's own library. All of it works without a network but what it looks up in the vendor's device
 * database: names, unit conversion by model, identification.
 */
import { needleOnPty } from "../needle-emulator.js";
import { interopFile, peerTest, python, pythonVersion, runChecks } from "../peer.js";

peerTest(
  {
    peer: "zaber-motion (PyPI)",
    version: () => pythonVersion("zaber-motion"),
    against: "emulated needle drive, Zaber ASCII",
    exercised:
      "detection, home, move abs/rel/vel/min/max/sin, stop, settings, warnings, parking, driver on and off, a stroke as a corked stream, multi-line replies, alerts, rejections, checksums; identification needs the vendor's online database and is refused cleanly without",
  },
  async (t, check) => {
    const { emulator, port } = await needleOnPty(t, { initialM: 1e-3 });
    const script = interopFile("zaber-motion", "needle_checks.py");
    await runChecks(t, check, [python(), script, port], 120);
    check(Math.abs(emulator.positionM() - 1e-3) < 0.3e-6, "the slide truly stands where the stroke ended");
  },
);
