/** The one contract of the driver, kept by every family of controllers, over the link that each of them has. */
import t from "tap";
import { loadAxes } from "../../../src/cell/kohzu/axis-config.js";
import { KohzuController } from "../../../src/cell/kohzu/kohzu-controller.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { pause, rig, type Rig } from "./rig.js";

const families = [
  { name: "ARIES over TCP", profile: "kohzu-aries", transport: "tcp", dialect: "aries" },
  { name: "ARIES over a serial line", profile: "kohzu-aries", transport: "serial", dialect: "aries" },
  { name: "CRUX", profile: "kohzu-crux", transport: "serial", dialect: "crux" },
  { name: "SC series", profile: "kohzu-sc-410", transport: "serial", dialect: "sc" },
] as const;

for (const { name, profile, transport, dialect } of families)
  t.test(name, async (t) => {
    const made = async (): Promise<Rig> => {
      const axes = await loadAxes([
        { axis: 1, profile: "kohzu-xa04a-r102" },
        { axis: 2, profile: "kohzu-xa04a-r102" },
      ]);
      return rig({
        profile,
        transport,
        axes,
        emulator: {
          dialect,
          speedFactor: 10,
          axes: [
            { model: xa04aR102, initialPulses: 56_000, initialSteps: -700 },
            { model: xa04aR102, initialPulses: -179, initialSteps: 400 },
          ],
        },
      });
    };
    const { driver, emulator, pull, end } = await made();
    t.teardown(end);
    await driver.connect();
    t.equal((await driver.readAxis(1)).pulses, 56_000);
    await t.rejects(driver.moveAbsolute(1, 0), { code: "COMMAND_INVALID" }, "inactive");
    await driver.activate();
    await t.rejects(driver.moveAbsolute(1, 0), { code: "DEVICE_NOT_HOMED" });

    await driver.home(1);
    await driver.home(2);
    t.ok(Math.abs(emulator.truePosition(1)) < 2e-6, "zero is the edge of the near-origin flag");
    t.match(driver.lastReading(1), { pulses: 0, homed: true });

    await driver.moveMany(
      new Map([
        [1, 1500],
        [2, -900],
      ]),
      { oneSided: true },
    );
    t.equal(driver.lastReading(1)?.pulses, 1500);
    t.ok(Math.abs(emulator.truePosition(2) + 450e-6) < 8e-6);
    await driver.moveAbsolute(1, 1500);
    t.equal(driver.lastReading(1)?.pulses, 1500, "already there");

    const move = driver.moveAbsolute(1, 14_000);
    while (!emulator.isMoving(1)) await pause(0.005);
    await driver.stop();
    await t.rejects(move, { code: "LINK_ABORTED" });
    t.notOk(emulator.isMoving(1));
    await driver.stop();

    emulator.stickLimit(1, "cw", true);
    await t.rejects(driver.moveAbsolute(1, 14_600), { code: "DEVICE_LIMIT" });
    await driver.moveAbsolute(1, 0);
    emulator.stickLimit(1, "cw", undefined);

    // A dead sensor: the search ends on a limit, and the axis is not homed.
    emulator.deadNearOrigin(2, true);
    await t.rejects(driver.home(2), { code: "DEVICE_NOT_HOMED" });
    await t.rejects(driver.moveAbsolute(2, 0), { code: "DEVICE_NOT_HOMED" });

    const failed = t.rejects(driver.moveAbsolute(1, 14_000), { code: /LINK_CLOSED|LINK_TIMEOUT/ });
    while (!emulator.isMoving(1)) await pause(0.005);
    await pull();
    await failed;
    t.equal(driver.status.current, "fault");
    t.equal(driver.lastReading(1), undefined, "positions are not trusted");
  });

t.test("an interface that the family has not, and limits beyond its coordinates, are refused", async (t) => {
  const crux = await loadProfile("kohzu-crux", "stage-controller");
  const axes = await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }]);
  const serial = { transport: "serial", path: "/dev/null", baudRate: 9600 } as const;
  t.throws(
    () =>
      new KohzuController({
        name: "stages",
        profile: crux,
        axes,
        address: { transport: "tcp", host: "127.0.0.1", port: 1 },
      }),
    { code: "CONFIG_INVALID", message: /kohzu-crux has no tcp interface/ },
  );
  const wide = axes.map((axis) => ({ ...axis, maxPulses: 9_000_000 }));
  t.throws(() => new KohzuController({ name: "stages", profile: crux, axes: wide, address: serial }), {
    code: "CONFIG_INVALID",
    message: /coordinates/,
  });
});

t.test("a speed table beyond what the stage can do is refused before anything moves", async (t) => {
  const axes = (await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }])).map((axis) => ({
    ...axis,
    moveTable: 9,
  }));
  // Table 9 is 10000 pps as delivered, 5 mm/s; the stage can do 2.5.
  for (const [profile, dialect, transport] of [
    ["kohzu-aries", "aries", "tcp"],
    ["kohzu-sc-410", "sc", "serial"],
  ] as const) {
    const { driver, end } = await rig({ axes, profile, transport, emulator: { dialect } });
    await t.rejects(driver.connect(), { code: "CONFIG_INVALID", message: /10000 pps, above the 5000 pps/ });
    await end();
  }
});
