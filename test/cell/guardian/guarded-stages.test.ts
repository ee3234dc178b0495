/** The guardian stops stage controllers that share the daemon's only line with it: the SC series, CRUX, an ARIES that dials. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { Guardian, type GuardedLink } from "../../../src/cell/guardian/guardian.js";
import { loadAxes } from "../../../src/cell/kohzu/axis-config.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { waitFor } from "../../faults/wait.js";
import { activeRig, pause } from "../kohzu/rig.js";

for (const [name, profile, dialect, transport, kind] of [
  ["SC series", "kohzu-sc-410", "sc", "serial", "sc-serial"],
  ["CRUX", "kohzu-crux", "crux", "serial", "aries-serial"],
  ["ARIES that dials", "kohzu-aries", "aries", "dialled", "aries-connection"],
  ["ARIES behind a Telnet login", "kohzu-aries", "aries", "telnet", "aries-connection"],
] as const)
  t.test(`${name}: an event loop that hangs stops both axes`, async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), "guarded-"));
    const { driver, emulator, end } = await activeRig({
      profile,
      transport,
      axes: await loadAxes([1, 2].map((axis) => ({ axis, profile: "kohzu-xa04a-r102" }))),
      emulator: { dialect, axes: [1, 2].map(() => ({ model: xa04aR102, homed: true })) },
    });
    const guardian = new Guardian({
      logPath: path.join(folder, "log"),
      silenceS: 0.1,
      periodS: 0.005,
      eventLoopLimitS: 0.2,
    });
    t.teardown(async () => {
      await guardian.stop();
      await end();
      await rm(folder, { recursive: true });
    });
    // An SC does not tell that it is homed.
    if (dialect === "sc") for (const axis of [1, 2]) await driver.home(axis);
    const descriptor = driver.sharedDescriptor ?? -1;
    const link: GuardedLink =
      kind === "sc-serial" ? { kind, descriptor, axes: driver.axisNumbers } : { kind, descriptor };
    await guardian.start([link]);
    const move = driver.moveMany(
      new Map([
        [1, 14_000],
        [2, -14_000],
      ]),
    );
    const outcome = move.then(
      () => "arrived",
      (error: unknown) => error,
    );
    await waitFor(() => emulator.isMoving(1) && emulator.isMoving(2));
    await pause(0.05);
    // Longer than the heart's patience and the guardian's together; the controller reads what came meanwhile afterwards.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    await waitFor(() => !emulator.isMoving(1) && !emulator.isMoving(2));
    t.match(await outcome, { code: /^(DEVICE_NOT_SETTLED|DEVICE_REFUSED|LINK_TIMEOUT|LINK_PROTOCOL)$/ });
    await waitFor(() => guardian.status().report?.triggered === true);
    t.throws(() => guardian.assertAlive(), { code: "SAFETY_HEARTBEAT" });
  });
