/**
 * One bad reply at every place of a whole session: connect, home, move. Whichever exchange it hits, in whichever way, the
 * driver ends with what it was asked for or with an error of the catalogue, the axes stand, and a reset leads back.
 */
import t from "tap";
import { loadAxes } from "../../../src/cell/kohzu/axis-config.js";
import { CellError } from "../../../src/base/errors.js";
import { KohzuController } from "../../../src/cell/kohzu/kohzu-controller.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { KohzuEmulator } from "../../../src/twin/kohzu/kohzu-emulator.js";
import { KohzuTcpServer } from "../../../src/twin/kohzu/kohzu-server.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import type { ReplyFault } from "../../../src/twin/wire-faults.js";

const faults: readonly ReplyFault[] = [
  { kind: "lost" },
  { kind: "repeated" },
  { kind: "cut", count: 6 },
  { kind: "byte-damaged", index: 0 },
  { kind: "byte-damaged", index: -3 },
  { kind: "byte-lost", index: -1 },
  { kind: "garbage-before", bytes: Buffer.from("C\tRDP2\t99999\r\n") },
];

/**
 * 8 replies to connect, 3 to activate, then those of homing and of one move: more than these, but looks at a moving axis are
 * alike. Every second session begins with the origin known, so that the faults meet the move, too.
 */
const exchanges = 32;

const target = 400;

/** A flipped bit may make a setting unacceptable: the lines carry no checksum. */
const known = /^(done|CONFIG_INVALID|LINK_TIMEOUT|LINK_PROTOCOL|LINK_CLOSED|LINK_ABORTED|DEVICE_[A-Z_]+)$/;

async function session(driver: KohzuController): Promise<void> {
  await driver.connect();
  await driver.activate();
  if (driver.lastReading(1)?.homed !== true) await driver.home(1);
  await driver.moveAbsolute(1, target);
}

for (const fault of faults)
  t.test(`${fault.kind} at each exchange`, async (t) => {
    const slow = await loadProfile("kohzu-aries", "stage-controller");
    // Deadlines as short as a loaded machine allows: most of the faults end in one.
    const profile = {
      ...slow,
      replyTimeout: { ...slow.replyTimeout, value: 0.25 },
      quietTime: { ...slow.quietTime, value: 0.01 },
    };
    const axes = await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }]);
    const one = async (nth: number): Promise<void> => {
      const emulator = new KohzuEmulator({
        seed: 7,
        speedFactor: 10,
        axes: [
          {
            model: xa04aR102,
            initialPulses: nth % 2 === 0 ? 56_000 : 300,
            initialSteps: 300,
            homed: nth % 2 === 1,
          },
        ],
      });
      const server = new KohzuTcpServer(emulator);
      const port = await server.listen("127.0.0.1", 0);
      const address = { transport: "tcp", host: "127.0.0.1", port } as const;
      const driver = new KohzuController({ name: "stages", address, profile, axes });
      emulator.faults.plan(fault, nth);
      let outcome = "done";
      try {
        await session(driver);
      } catch (error) {
        outcome = error instanceof CellError ? error.code : `not of the catalogue: ${String(error)}`;
      }
      const what = `${fault.kind} of reply ${nth}: ${outcome}`;
      t.match(outcome, known, what);
      if (outcome === "done") t.equal(driver.lastReading(1)?.pulses, target, what);
      // A lost reply to the stop itself leaves the axis to the end of its move, or to the guardian.
      for (let i = 0; i < 200 && emulator.isMoving(1); i++)
        await new Promise((resolve) => setTimeout(resolve, 10));
      t.notOk(emulator.isMoving(1), what);
      emulator.faults.clear();
      if (driver.status.current === "fault") await driver.reset();
      await session(driver);
      t.equal(driver.lastReading(1)?.pulses, target, `${what}: and after a reset it works`);
      t.ok(
        Math.abs(emulator.truePosition(1) - target * 0.5e-6) < 8e-6,
        "the table is where the counter says",
      );
      await driver.close();
      await server.close();
      emulator.dispose();
    };
    // Several cells at a time: they wait most of the time.
    const places = Array.from({ length: exchanges }, (_, i) => i + 1);
    for (let i = 0; i < places.length; i += 6) await Promise.all(places.slice(i, i + 6).map(one));
  });
