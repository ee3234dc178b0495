import t from "tap";
import { connect, createServer } from "node:net";
import { KohzuController } from "../../../src/cell/kohzu/kohzu-controller.js";
import { KohzuStages } from "../../../src/cell/kohzu/kohzu-stages.js";
import { loadAxes } from "../../../src/cell/kohzu/axis-config.js";
import type { StageLine } from "../../../src/cell/native.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { activeRig, cellAxes, pause, rig } from "./rig.js";

/** Where a borrower connects by itself. */
function addressOf(line: StageLine): { readonly host: string; readonly port: number } {
  if (!("host" in line)) throw new Error("the line itself was lent");
  return line;
}

t.test("connects, reads everything, moves several axes at once", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  t.strictSame([...(await driver.positionsPulses()).values()], [0, 0, 0, 0, 0, 0, 0]);
  await driver.moveMany(
    new Map([
      [1, 2000],
      [2, -700],
      [4, 400],
    ]),
  );
  t.equal(driver.lastReading(1)?.pulses, 2000);
  // 2000 · 0.5 µm and 400 · 0.0015°, within the stages' own errors
  t.ok(Math.abs(emulator.truePosition(1) - 1e-3) < 8e-6);
  t.ok(Math.abs(emulator.truePosition(2) + 0.35e-3) < 8e-6);
  t.ok(Math.abs(emulator.truePosition(4) - (0.6 * Math.PI) / 180) < 2e-4);
  t.equal(driver.counters.late, 0);
});

t.test("the same over a serial line", async (t) => {
  const { driver, emulator, end } = await activeRig({ transport: "serial" });
  t.teardown(end);
  t.type(driver.sharedDescriptor, "number");
  await driver.moveAbsolute(1, 1000, { oneSided: true });
  t.ok(Math.abs(emulator.truePosition(1) - 0.5e-3) < 8e-6);
  const move = driver.moveAbsolute(1, -14_000);
  await pause(0.15);
  await driver.stop();
  await t.rejects(move, { code: "LINK_ABORTED" });
  t.notOk(emulator.isMoving(1));
});

t.test("+7.350 mm are 14700 pulses and allowed; one pulse more is not", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  const stages = new KohzuStages(driver);
  const signal = new AbortController().signal;
  await stages.moveTo(new Map([[2, 7.35e-3]]), { oneSided: false }, signal);
  t.equal(driver.lastReading(2)?.pulses, 14_700);
  t.ok(Math.abs(stages.position(2) - 7.35e-3) < 1e-12);
  await t.rejects(stages.moveTo(new Map([[2, 7.3505e-3]]), { oneSided: false }, signal), {
    code: "DEVICE_LIMIT",
    message: /axis 2.*14701.*-14700…14700/,
  });
  for (const bad of [NaN, Infinity, -Infinity])
    await t.rejects(stages.moveTo(new Map([[2, bad]]), { oneSided: true }, signal), {
      code: "UNIT_NOT_FINITE",
    });
  await t.rejects(driver.moveAbsolute(2, 0.5), { code: "UNIT_NOT_FINITE" });
  t.notOk(emulator.isMoving(2));
});

t.test("one illegal target keeps all axes where they are", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  const before = driver.counters.requests;
  await t.rejects(
    driver.moveMany(
      new Map([
        [1, 100],
        [2, 20_000],
      ]),
    ),
    { code: "DEVICE_LIMIT" },
  );
  t.equal(driver.counters.requests, before, "nothing went to the wire");
  t.notOk(emulator.isMoving(1));
});

t.test("one-sided approach: the last motion is from the smaller side, whatever the way", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  const places: number[] = [];
  for (const from of [1200, 800, 1000, 995]) {
    await driver.moveAbsolute(1, from);
    await driver.moveAbsolute(1, 1000, { oneSided: true });
    places.push(emulator.truePosition(1));
  }
  // From either side the play (0.9 µm) is on the same side: only ±0.3 µm of scatter remains.
  t.ok(Math.max(...places) - Math.min(...places) < 0.6e-6, places.join(" "));
});

t.test(
  "homes by the method of the profile, corrects the controller's setting, and insists on the read-back",
  async (t) => {
    const { driver, emulator, end } = await rig({
      axes: await loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }]),
      emulator: { axes: [{ model: xa04aR102, initialPulses: 56_000, initialSteps: -1500 }] },
    });
    t.teardown(end);
    await driver.connect();
    await driver.activate();
    await t.rejects(driver.moveAbsolute(1, 0), { code: "DEVICE_NOT_HOMED" });
    const raw = await new Promise<(command: string) => Promise<string>>((resolve, reject) => {
      const address = (driver as unknown as { options: { address: { port: number } } }).options.address;
      const socket = connect(address.port, "127.0.0.1");
      socket.once("error", reject);
      socket.once("connect", () =>
        resolve(
          (command) =>
            new Promise((answer) => {
              socket.once("data", (bytes) => answer(bytes.toString()));
              socket.write(`${command}\r\n`);
            }),
        ),
      );
      t.teardown(() => socket.destroy());
    });
    t.equal(await raw("WSY1/2/10"), "C\tWSY1\t2\r\n");
    emulator.ignoreSettings(true);
    await t.rejects(driver.home(1), {
      code: "DEVICE_REFUSED",
      message: /setting 2 was set to 4 and reads 10/,
    });
    t.notOk(emulator.isMoving(1));
    emulator.ignoreSettings(false);
    await driver.home(1);
    t.equal(driver.lastReading(1)?.homed, true);
    t.ok(Math.abs(emulator.truePosition(1)) < 2e-6);
    await driver.moveAbsolute(1, 300);
  },
);

t.test("a closed limit switch blocks the way outward only", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  await driver.moveAbsolute(1, 1000);
  emulator.stickLimit(1, "cw", true);
  const before = driver.lastReading(1)?.pulses;
  await t.rejects(driver.moveAbsolute(1, 1100), { code: "DEVICE_LIMIT", message: /CW limit at 1000/ });
  t.equal((await driver.readAxis(1)).pulses, before);
  await driver.moveAbsolute(1, 500);
  t.equal(driver.lastReading(1)?.pulses, 500, "backing off is always allowed");
  emulator.stickLimit(1, "ccw", true);
  await t.rejects(driver.moveAbsolute(1, 400), { code: "DEVICE_FAULT", message: /both limit switches/ });
});

t.test("a limit on the way is an error that says so, not a silent end", async (t) => {
  const axes = (await cellAxes()).map((axis) => ({ ...axis, maxPulses: 20_000 }));
  const { driver, end } = await activeRig({ axes });
  t.teardown(end);
  await t.rejects(driver.moveAbsolute(1, 16_000), {
    code: "DEVICE_LIMIT",
    message: /axis 1 stopped on its CW limit at 15000, commanded 16000/,
  });
});

t.test("stop works past a request in flight, is idempotent, and ends moves", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  const move = driver.moveMany(
    new Map([
      [1, 14_000],
      [2, -14_000],
    ]),
  );
  await pause(0.1);
  emulator.faults.delayS = 0.15;
  const queued = driver.readAxis(3);
  await Promise.all([driver.stop(), driver.stop()]);
  t.notOk(emulator.isMoving(1) || emulator.isMoving(2));
  await t.rejects(move, { code: "LINK_ABORTED" });
  await queued;
  emulator.faults.delayS = 0;
  await driver.stop();
  await driver.moveAbsolute(1, 0);
});

t.test("an abort stops the axes before the error is passed on", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  const abort = new AbortController();
  const move = driver.moveAbsolute(1, 14_000, { signal: abort.signal });
  await pause(0.1);
  t.ok(emulator.isMoving(1));
  abort.abort();
  await t.rejects(move, { code: "LINK_ABORTED" });
  t.notOk(emulator.isMoving(1));
  await t.rejects(driver.moveAbsolute(1, 0, { signal: abort.signal }), { code: "LINK_ABORTED" });
});

t.test("replies in single bytes, and late ones that are dropped after a new synchronisation", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  emulator.faults.splitS = 0.001;
  await driver.moveAbsolute(1, 200);
  emulator.faults.splitS = 0;
  emulator.faults.delayS = 1.3;
  await t.rejects(driver.readAxis(1), {
    code: "LINK_TIMEOUT",
    message: /stages: no reply to STR1 after 1\.[0-2]/,
  });
  emulator.faults.delayS = 0;
  await pause(0.6);
  const reading = await driver.readAxis(2);
  t.equal(reading.pulses, 0);
  t.equal(driver.counters.late, 1);
  t.equal(driver.counters.timeouts, 1);
  t.equal(driver.counters.resynchronised, 1);
  t.equal(driver.status.current, "active", "a late reply is no fault of the device");
});

t.test("a lost byte ends in a timeout and a new start, never in a wrong position", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  await driver.moveAbsolute(1, 1234);
  for (const index of [-2, -1]) {
    emulator.faults.dropByte(index);
    await t.rejects(driver.readAxis(1), { code: "LINK_TIMEOUT" });
    t.equal((await driver.readAxis(1)).pulses, 1234);
  }
});

t.test(
  "garbage closes the link, latches a fault, moves nothing; a reset reads everything anew",
  async (t) => {
    const { driver, emulator, end } = await activeRig();
    t.teardown(end);
    emulator.faults.insertGarbage(Buffer.from([0xde, 0xad, 0xbe, 0xef, 13, 10]));
    await t.rejects(driver.readAxis(1), { code: "LINK_PROTOCOL", message: /de ad be ef/ });
    t.equal(driver.status.current, "fault");
    t.equal(driver.lastReading(1), undefined, "positions are not trusted");
    await t.rejects(driver.moveAbsolute(1, 10), { code: "LINK_PROTOCOL" });
    await t.rejects(driver.connect(), { code: "LINK_PROTOCOL" }, "a latched fault is left by a reset only");
    await driver.reset();
    t.equal(driver.status.current, "inactive");
    t.equal(driver.status.desired, "active");
    await driver.activate();
    await driver.moveAbsolute(1, 10);
  },
);

t.test("E SYS 5 between request and reply is heard and is not taken for the reply", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  const move = driver.moveAbsolute(1, 14_000);
  await pause(0.1);
  emulator.emergencyStop();
  await t.rejects(move, { code: "DEVICE_EMERGENCY_STOP" });
  t.equal(driver.status.fault?.code, "DEVICE_EMERGENCY_STOP");
  t.notOk(emulator.isMoving(1));
  await t.rejects(driver.reset(), { code: "DEVICE_EMERGENCY_STOP", message: /801/ });
  emulator.releaseEmergencyStop();
  await driver.reset();
  await driver.activate();
  await t.rejects(driver.moveAbsolute(1, 0), { code: "DEVICE_NOT_HOMED" });
});

t.test("link to the LYNX units lost: fault, and RAX releases it", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  const move = driver.moveAbsolute(3, 14_000);
  await pause(0.1);
  emulator.linkLost();
  await t.rejects(move, { code: "DEVICE_FAULT", message: /6 \(link to a LYNX lost/ });
  await driver.reset();
  await driver.activate();
  await driver.moveAbsolute(3, 0);
});

t.test("a pulled cable is noticed at once and latched; nothing resumes by itself", async (t) => {
  const { driver, emulator, pull, end } = await activeRig();
  t.teardown(end);
  const failed = t.rejects(driver.moveAbsolute(1, 2000), { code: "LINK_CLOSED" });
  await pause(0.05);
  await pull();
  await failed;
  t.equal(driver.status.current, "fault");
  await pause(0.2);
  t.equal(driver.status.current, "fault");
  await driver.reset();
  t.not(driver.lastReading(1), undefined);
  t.notOk(emulator.isMoving(1));
});

t.test("a serial cable pulled in the middle of a move", async (t) => {
  const { driver, pull, end } = await activeRig({ transport: "serial" });
  t.teardown(end);
  const failed = t.rejects(driver.moveAbsolute(1, 10_000), { code: /LINK_CLOSED|LINK_TIMEOUT/ });
  await pause(0.05);
  await pull();
  await failed;
  t.equal(driver.status.current, "fault");
});

t.test("a serial port has one owner", async (t) => {
  const { driver, address, end } = await activeRig({ transport: "serial" });
  t.teardown(end);
  const profile = await loadProfile("kohzu-aries", "stage-controller");
  const second = new KohzuController({ name: "second", address, profile, axes: await cellAxes() });
  await t.rejects(second.connect(), { code: "LINK_BUSY" });
  await driver.moveAbsolute(1, 10);
});

t.test("lent axes: no moves from here, stop still works, positions are read anew on return", async (t) => {
  const { driver, emulator, end } = await activeRig();
  t.teardown(end);
  const stages = new KohzuStages(driver);
  const signal = new AbortController().signal;
  const result = await stages.lend(async (line) => {
    const { host, port } = addressOf(line);
    t.ok(stages.moving);
    t.throws(() => stages.position(1), { code: "DEVICE_FAULT" });
    await t.rejects(stages.moveTo(new Map([[1, 0]]), { oneSided: false }, signal), {
      code: "COMMAND_INVALID",
    });
    const socket = connect(port, host);
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write("APS1/4/600/1\r\n");
    await pause(0.6);
    socket.destroy();
    return "done";
  });
  t.equal(result, "done");
  t.ok(Math.abs(stages.position(1) - 300e-6) < 1e-12);
  const serving = stages.lend(async (line) => {
    const { host, port } = addressOf(line);
    const socket = connect(port, host);
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write("APS1/4/14000/1\r\n");
    await pause(0.1);
    stages.stop();
    await pause(0.1);
    t.notOk(emulator.isMoving(1));
    socket.destroy();
  });
  await serving;
  t.notOk(stages.moving);
});

t.test(
  "a controller of another make, an older one, a missing axis, its own backlash: refused by name",
  async (t) => {
    const profile = await loadProfile("kohzu-aries", "stage-controller");
    const answers = async (replies: Record<string, string>): Promise<{ port: number; close: () => void }> => {
      const server = createServer((socket) => {
        socket.on("data", (bytes) => {
          const command = bytes.toString().trim();
          const found = replies[command] ?? replies[command.slice(0, 3)];
          if (found !== undefined) socket.write(`${found.replaceAll(" ", "\t")}\r\n`);
        });
        socket.on("error", () => undefined);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const address = server.address();
      return { port: typeof address === "object" && address ? address.port : 0, close: () => server.close() };
    };
    const axes = await loadAxes([{ axis: 3, profile: "kohzu-xa04a-r102" }]);
    for (const [replies, expected] of [
      [{ IDN: "C IDN CRUX 2000" }, { code: "DEVICE_WRONG_MODEL", message: /expected ARIES.*found CRUX/ }],
      [
        { IDN: "C IDN ARIES 1 1 1" },
        { code: "DEVICE_WRONG_MODEL", message: /1\.1\.1 is older than 1\.1\.2/ },
      ],
      [
        { IDN: "C IDN ARIES 1 4 4", RAX: "C RAX 1 2 11000000" },
        { code: "DEVICE_MISSING", message: /axis 3/ },
      ],
      [
        { IDN: "C IDN ARIES 1 4 4", RAX: "C RAX 2 4 11110000", "RSY3/12": "C RSY3 12 3" },
        { code: "CONFIG_INVALID", message: /axis 3 corrects backlash itself/ },
      ],
    ] as const) {
      const { port, close } = await answers(replies);
      const address = { transport: "tcp", host: "127.0.0.1", port } as const;
      const driver = new KohzuController({ name: "stages", address, profile, axes });
      await t.rejects(driver.connect(), expected);
      t.equal(driver.status.current, "unconfigured");
      await driver.close();
      close();
    }
  },
);

t.test("nobody at the address: an error that names it, and a later attempt succeeds", async (t) => {
  const { driver, end } = await rig();
  const profile = await loadProfile("kohzu-aries", "stage-controller");
  const address = { transport: "tcp", host: "127.0.0.1", port: 1 } as const;
  const early = new KohzuController({ name: "stages", address, profile, axes: await cellAxes() });
  await t.rejects(early.connect(), { code: "LINK_CONNECT", message: /tcp 127\.0\.0\.1:1/ });
  await early.close();
  await driver.connect();
  await driver.deactivate();
  await end();
  t.equal(driver.status.current, "finalized");
});
