/** The only line to a controller: shared with who borrows the axes, on a serial line, behind a login, and dialled. */
import { readSync, writeSync } from "node:fs";
import t from "tap";
import { loadAxes } from "../../../src/cell/kohzu/axis-config.js";
import { KohzuStages } from "../../../src/cell/kohzu/kohzu-stages.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { activeRig, pause } from "./rig.js";

t.test(
  "a lent serial line: the borrower alone hears it, stop still works, and it comes back in step",
  async (t) => {
    const { driver, emulator, end } = await activeRig({ transport: "serial" });
    t.teardown(end);
    const stages = new KohzuStages(driver);
    await stages.lend(async (line) => {
      if ("host" in line) throw new Error("an address of a serial line");
      t.match(line, { stx: true, statusFields: 6 });
      t.equal(line.descriptor, driver.sharedDescriptor);
      let heard = "";
      /** Reads what is there, as another thread would; an empty line throws EAGAIN. */
      const hears = async (lines: number): Promise<void> => {
        while (heard.split("\r\n").length <= lines) {
          await pause(0.005);
          const buffer = Buffer.alloc(256);
          try {
            heard += buffer.toString("latin1", 0, readSync(line.descriptor, buffer));
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
          }
        }
      };
      for (let k = 1; k <= 20; k++) {
        writeSync(line.descriptor, "\x02RDP1\r\n");
        await hears(k);
      }
      t.equal(heard, "C\tRDP1\t0\r\n".repeat(20), "every reply reached the borrower");
      heard = "";
      writeSync(line.descriptor, "\x02APS1/4/14000/1\r\n");
      await hears(1);
      t.ok(emulator.isMoving(1));
      stages.stop();
      // One stop for all axes, and its reply is the borrower's, too.
      await hears(2);
      t.match(heard, /C\tSTP0\r\n$/);
      t.notOk(emulator.isMoving(1));
    });
    t.notOk(stages.moving);
    t.equal(driver.counters.timeouts, 0);
    await driver.moveAbsolute(1, 100);
    t.equal(driver.lastReading(1)?.pulses, 100);
  },
);

t.test("the axes of an SC controller are not lent: the servo does not speak its dialect", async (t) => {
  const axes = await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }]);
  const made = await activeRig({
    transport: "serial",
    profile: "kohzu-sc-410",
    axes,
    emulator: { dialect: "sc", axes: [{ model: xa04aR102, homed: true }] },
  });
  t.teardown(made.end);
  await t.rejects(
    new KohzuStages(made.driver).lend(async () => undefined),
    { code: "COMMAND_INVALID", message: /SC series/ },
  );
  t.notOk(made.driver.lent);
});

for (const transport of ["telnet", "dialled"] as const)
  t.test(`${transport}: the only connection carries moves, stops and a loan`, async (t) => {
    const { driver, emulator, end } = await activeRig({ transport });
    t.teardown(end);
    t.type(driver.sharedDescriptor, "number");
    const move = driver.moveAbsolute(1, 14_000);
    await pause(0.15);
    await driver.stop();
    await t.rejects(move, { code: "LINK_ABORTED" });
    t.notOk(emulator.isMoving(1));
    await new KohzuStages(driver).lend(async (line) => {
      t.match(line, { descriptor: driver.sharedDescriptor, stx: false });
      if (!("descriptor" in line)) return;
      writeSync(line.descriptor, "RDP1\r\n");
      await pause(0.1);
      const buffer = Buffer.alloc(64);
      t.match(buffer.toString("latin1", 0, readSync(line.descriptor, buffer)), /^C\tRDP1\t\d+\r\n$/);
    });
    await driver.moveAbsolute(1, 0);
  });
