/** The servo through its binding. The loop itself is proven in test/native/servo. */
import { openSync, closeSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { KohzuStages } from "../../../src/cell/kohzu/kohzu-stages.js";
import {
  cellAddon,
  type NeedleEstimate,
  type ServoOptions,
  type StageLine,
} from "../../../src/cell/native.js";
import { activeRig } from "../kohzu/rig.js";

const needle: NeedleEstimate = {
  found: true,
  reason: "",
  tipX: 1000,
  tipY: 1000,
  directionX: 0,
  directionY: 1,
  widthPx: 34,
  edgeSigmaPx: 1,
  tipSigmaPx: 0.1,
  angleSigmaRad: 1e-4,
  confidence: 1,
};

/** A controller whose axes stand still at 0; remembers what it was told. */
async function standingStage(): Promise<{ port: number; commands: string[]; close: () => void }> {
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      for (const command of bytes.toString("latin1").split("\r\n").filter(Boolean)) {
        commands.push(command);
        const tag = command.split("/")[0] ?? "";
        if (tag.startsWith("STR")) socket.write(`C\t${tag}\t0\t0\t0\t0\t0\t1\r\n`);
        else if (tag.startsWith("RDP")) socket.write(`C\t${tag}\t0\r\n`);
        else socket.write(`C\t${tag}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port, commands, close };
}

function optionsFor(to: number | StageLine): ServoOptions {
  const line = typeof to === "number" ? { host: "127.0.0.1", port: to } : to;
  const { Camera } = cellAddon();
  const view = (name: string): ServoOptions["views"][0] => ({
    camera: new Camera({
      name,
      folder: tmpdir(),
      width: 64,
      height: 64,
      frameRate: 20,
      packetSize: 1500,
      ringSize: 8,
      mode: "newest",
    }),
    prior: needle,
    goalX: 1024,
    goalY: 1024,
  });
  return {
    ...line,
    speedTable: 3,
    views: [view("one"), view("two")],
    axes: [{ axis: 1, pxPerPulse: [0.4, 0, 0, 0.4], minPulses: -1000, maxPulses: 1000, approach: 1 }],
    tolerancePx: 2,
    consecutive: 3,
    maxIterations: 20,
    shrinkFactor: 0.7,
    shrinkSteps: 4,
    maxStepPulses: 200,
    approachPulses: 8,
    timeoutS: 20,
  };
}

t.test("servo binding", async (t) => {
  t.test("wrong options are named before anything opens", async (t) => {
    const servo = new (cellAddon().Servo)();
    const good = optionsFor(1);
    t.throws(() => servo.run(optionsFor(0)), /options\.port/);
    t.throws(() => servo.run({ ...good, shrinkFactor: 1 }), /shrinkFactor/);
    t.throws(() => servo.run({ ...good, tolerancePx: NaN }), /tolerancePx/);
    t.throws(() => servo.run({ ...good, axes: [] }), /axes/);
    t.throws(
      () => servo.run({ ...good, axes: [{ ...good.axes[0]!, pxPerPulse: [1, 2, 3] as never }] }),
      /axes\[0\]\.pxPerPulse/,
    );
    t.throws(() => servo.run({ ...good, views: [good.views[0], { ...good.views[1], camera: {} as never }] }));
    servo.stop(); // at rest it does nothing
  });

  t.test("without a heartbeat nothing is commanded; with one a stop ends the run", async (t) => {
    const stage = await standingStage();
    t.teardown(stage.close);
    const servo = new (cellAddon().Servo)();
    const refused = await servo.run(optionsFor(stage.port));
    t.match(refused, { status: "stopped", detail: /no heartbeat/, iterations: 0 });
    t.notOk(stage.commands.some((command) => command.startsWith("APS")));

    const sink = openSync("/dev/null", "w");
    const heart = new (cellAddon().Heart)();
    heart.start({ fd: sink, periodS: 0.005, limitS: 60 });
    t.teardown(() => {
      heart.stop();
      closeSync(sink);
    });
    await delay(50);
    const run = servo.run(optionsFor(stage.port));
    t.throws(() => servo.run(optionsFor(stage.port)), { code: "COMMAND_INVALID" });
    await delay(100);
    servo.stop();
    const stopped = await run;
    t.match(stopped, { status: "stopped", detail: /requested/ });
    t.same(stopped.positionsPulses, [0]);
    t.ok(stage.commands.includes("STP0/0"));

    // The same with the emulated controller's serial line, which is lent.
    const { driver, emulator, end } = await activeRig({ transport: "serial" });
    t.teardown(end);
    await driver.moveAbsolute(1, 321);
    const stages = new KohzuStages(driver);
    const lent = await stages.lend(async (line) => {
      const report = servo.run(optionsFor(line));
      await delay(100);
      servo.stop();
      return report;
    });
    t.match(lent, { status: "stopped", detail: /requested/ });
    t.same(lent.positionsPulses, [321]);
    t.notOk(emulator.isMoving(1));
    await driver.moveAbsolute(1, 0);
  });
});
