import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { robotMode } from "../../../src/cell/ur/codec/enums.js";
import { ur5Cb3Firmware } from "../../../src/twin/ur/firmware.js";
import { freePorts, UrController, type UrControllerOptions } from "../../../src/twin/ur/ur-controller.js";

/** Bytes of a raw client: what the reference says goes over the wire, without the project's own codec. */
class Raw {
  private pending: Buffer = Buffer.alloc(0);
  private constructor(readonly socket: Socket) {
    socket.on("data", (chunk) => {
      this.pending = Buffer.concat([this.pending, chunk]);
    });
    socket.on("error", () => undefined);
  }
  static async open(port: number): Promise<Raw> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Raw(socket);
  }
  async take(count: number): Promise<Buffer> {
    for (let i = 0; this.pending.length < count; i++) {
      if (i > 1000) throw new Error(`${this.pending.length} of ${count} bytes came`);
      await delay(5);
    }
    const taken = this.pending.subarray(0, count);
    this.pending = this.pending.subarray(count);
    return taken;
  }
  async line(): Promise<string> {
    let text = "";
    while (!text.endsWith("\n")) text += (await this.take(1)).toString("latin1");
    return text.trimEnd();
  }
  async frame(): Promise<{ type: string; body: Buffer }> {
    const size = (await this.take(2)).readUInt16BE(0);
    const rest = await this.take(size - 2);
    return { type: rest.subarray(0, 1).toString("latin1"), body: rest.subarray(1) };
  }
  send(type: string, body: Buffer | string = ""): void {
    const bytes = typeof body === "string" ? Buffer.from(body, "latin1") : body;
    const head = Buffer.alloc(3);
    head.writeUInt16BE(bytes.length + 3, 0);
    head.write(type, 2, "latin1");
    this.socket.write(Buffer.concat([head, bytes]));
  }
  /** The reply of a type, past data and messages. */
  async reply(type: string): Promise<Buffer> {
    for (;;) {
      const frame = await this.frame();
      if (frame.type === type) return frame.body;
    }
  }
  async ask(type: string, body: Buffer | string = ""): Promise<Buffer> {
    this.send(type, body);
    return this.reply(type);
  }
}

async function started(options: Partial<UrControllerOptions> = {}): Promise<UrController> {
  const controller = new UrController({
    ports: freePorts,
    timing: { bootS: 0, powerOnS: 0.05, brakeReleaseS: 0.05, unlockWaitS: 5 },
    dashboardLagS: 0.1,
    ...options,
  });
  await controller.start();
  return controller;
}

const version2 = Buffer.from([0, 2]);
const hertz = (value: number, names: string): Buffer => {
  const head = Buffer.alloc(8);
  head.writeDoubleBE(value, 0);
  return Buffer.concat([head, Buffer.from(names, "latin1")]);
};

t.test("RTDE version 2: handshake, types, decimation in exact control steps", async (t) => {
  const controller = await started();
  t.teardown(() => controller.stop());
  const raw = await Raw.open(controller.ports.rtde);
  t.same(await raw.ask("V", version2), Buffer.from([1]));
  const version = await raw.ask("v");
  t.same(
    [0, 4, 8, 12].map((at) => version.readUInt32BE(at)),
    [3, 15, 8, 106339],
  );
  const types = await raw.ask("O", hertz(25, "timestamp,actual_q,robot_mode,"));
  t.equal(types[0], 1);
  t.equal(types.subarray(1).toString(), "DOUBLE,VECTOR6D,INT32", "a trailing comma adds no type");
  t.same(await raw.ask("S"), Buffer.from([1]));
  const stamps: number[] = [];
  while (stamps.length < 6) {
    const body = await raw.reply("U");
    t.equal(body.length, 1 + 8 + 48 + 4);
    stamps.push(body.readDoubleBE(1));
  }
  for (let i = 1; i < stamps.length; i++) {
    const steps = ((stamps[i] ?? NaN) - (stamps[i - 1] ?? NaN)) / 0.04;
    t.ok(Math.abs(steps - Math.round(steps)) < 1e-6 && steps > 0.5, "whole periods of five control steps");
  }
  t.same(await raw.ask("P"), Buffer.from([1]));
  raw.socket.destroy();
});

t.test(
  "RTDE: unknown fields, inputs in use by another client, overlapping recipes with ids 1, 2, 3",
  async (t) => {
    const controller = await started();
    t.teardown(() => controller.stop());
    const [one, two] = [await Raw.open(controller.ports.rtde), await Raw.open(controller.ports.rtde)];
    await one.ask("V", version2);
    await two.ask("V", version2);
    t.equal(
      (await one.ask("O", hertz(125, "timestamp,nonsense,ft_raw_wrench"))).toString("latin1"),
      "\0DOUBLE,NOT_FOUND,NOT_FOUND",
    );
    t.same(await one.ask("S"), Buffer.from([0]), "an invalid recipe cannot start");
    // An empty list is not answered: the reply that comes is the next one's.
    one.send("I", Buffer.alloc(0));
    t.equal(
      (await one.ask("I", "input_int_register_0,input_double_register_1,")).toString("latin1"),
      "\x01INT32,DOUBLE",
    );
    t.equal((await one.ask("I", "input_int_register_0")).toString("latin1"), "\x02INT32");
    t.equal(
      (await one.ask("I", "speed_slider_mask,speed_slider_fraction")).toString("latin1"),
      "\x03UINT32,DOUBLE",
    );
    t.equal(
      (await two.ask("I", "input_int_register_0,input_int_register_1")).toString("latin1"),
      "\0IN_USE,INT32",
    );
    // A slider set by the third recipe shows in the other client's outputs.
    const data = Buffer.alloc(13);
    data.writeUInt8(3, 0);
    data.writeUInt32BE(1, 1);
    data.writeDoubleBE(0.25, 5);
    one.send("U", data);
    await two.ask("O", hertz(125, "target_speed_fraction"));
    await two.ask("S");
    await delay(50);
    for (let i = 0; i < 20; i++) await two.reply("U");
    t.equal((await two.reply("U")).readDoubleBE(1), 0.25);
    one.socket.destroy();
    await delay(50);
    t.equal((await two.ask("I", "input_int_register_0")).toString("latin1"), "\x02INT32", "free again");
    two.socket.destroy();
  },
);

t.test("RTDE version 1: every connection begins in it; one byte per segment is enough", async (t) => {
  const controller = await started({
    firmware: { ...ur5Cb3Firmware, rtdeVersions: [1] },
  });
  t.teardown(() => controller.stop());
  const raw = await Raw.open(controller.ports.rtde);
  raw.socket.setNoDelay(true);
  t.same(await raw.ask("V", version2), Buffer.from([0]));
  for (const byte of Buffer.concat([Buffer.from([0, 22, 79]), Buffer.from("timestamp,actual_qd")])) {
    raw.socket.write(Buffer.of(byte));
    await delay(1);
  }
  t.equal((await raw.reply("O")).toString(), "DOUBLE,VECTOR6D", "types without a recipe id");
  await raw.ask("S");
  t.equal((await raw.reply("U")).length, 56, "data without a recipe id");
  raw.socket.destroy();
});

t.test("RTDE closes a connection that talks nonsense", async (t) => {
  const controller = await started();
  t.teardown(() => controller.stop());
  const bad = await Raw.open(controller.ports.rtde);
  const closed = once(bad.socket, "close");
  bad.socket.write("GET / HTTP/1.1\r\n\r\n");
  await closed;
  t.pass("closed");
});

t.test("the dashboard's sentences, its lag, and the 5 s rule", async (t) => {
  const controller = await started();
  t.teardown(() => controller.stop());
  const raw = await Raw.open(controller.ports.dashboard);
  const ask = async (command: string): Promise<string> => {
    raw.socket.write(`${command}\n`);
    return raw.line();
  };
  t.equal(await raw.line(), "Connected: Universal Robots Dashboard Server");
  t.equal(await ask("PolyscopeVersion"), "URSoftware 3.15.8.106339 (Jun 20 2022)");
  t.equal(await ask("get robot model"), "UR5");
  t.equal(await ask("ROBOTMODE"), "Robotmode: POWER_OFF");
  t.equal(await ask("power on"), "Powering on");
  t.equal(await ask("brake release"), "Brake releasing");
  await delay(700);
  t.equal(await ask("robotmode"), "Robotmode: RUNNING");
  t.equal(await ask("programState"), "STOPPED");
  t.equal(await ask("fly"), "could not understand: 'fly'");
  controller.protectiveStop();
  t.equal(await ask("safetymode"), "Safetymode: NORMAL", "text lags behind");
  await delay(300);
  t.equal(await ask("safetymode"), "Safetymode: PROTECTIVE_STOP");
  t.match(await ask("unlock protective stop"), /^Cannot unlock protective stop until 5s after occurrence/);
  const closed = once(raw.socket, "close");
  t.equal(await ask("quit"), "Disconnected");
  await closed;
});

t.test(
  "primary stream: version first, then states; realtime packets have the firmware's size and offsets",
  async (t) => {
    const controller = await started();
    t.teardown(() => controller.stop());
    controller.pushTool([1, 2, 3, 4, 5, 6]);
    await delay(50);
    const primary = await Raw.open(controller.ports.primary);
    const size = (await primary.take(4)).readInt32BE(0);
    const version = await primary.take(size - 4);
    t.equal(version[0], 20, "a robot message");
    t.equal(version[10], 3, "of kind version");
    t.equal(version.subarray(12, 12 + (version[11] ?? 0)).toString(), "URControl");
    t.same([...version.subarray(21, 23)], [3, 15]);
    const stateSize = (await primary.take(4)).readInt32BE(0);
    const state = await primary.take(stateSize - 4);
    t.equal(state[0], 16, "a robot state");
    const subPackages: Record<number, number> = {};
    for (let at = 1; at < state.length; at += state.readUInt32BE(at)) {
      subPackages[state[at + 4] ?? -1] = state.readUInt32BE(at);
      if (state[at + 4] !== 7) continue;
      for (let i = 0; i < 6; i++) t.equal(state.readDoubleBE(at + 5 + 8 * i), i + 1, "wrench on the tool");
    }
    t.match(subPackages, { 0: 47, 1: 251, 2: 37, 4: 101, 5: 225, 6: 445, 7: 61 }, "sizes of the reference");

    const realtime = await Raw.open(controller.ports.realtime);
    const packet = await realtime.take(1220);
    t.equal(packet.readUInt32BE(0), 1220);
    [0, -1.6, 1.9, -1.9, -1.57, 0].forEach((value, i) => {
      t.equal(packet.readDoubleBE(252 + 8 * i), value);
      t.equal(packet.readDoubleBE(540 + 8 * i), i + 1, "wrench on the tool");
    });
    t.equal((await realtime.take(4)).readUInt32BE(0), 1220);
    primary.socket.destroy();
    realtime.socket.destroy();
  },
);

t.test("a script over the secondary port, and the local mode that refuses it", async (t) => {
  const controller = await started();
  t.teardown(() => controller.stop());
  const raw = await Raw.open(controller.ports.secondary);
  while (controller.robotMode !== robotMode.POWER_OFF) await delay(5);
  raw.socket.write("power on\nset robotmode run\n");
  await delay(400);
  raw.socket.write("movej([0.05,-1.6,1.9,-1.9,-1.57,0],a=2,v=1)\n");
  await delay(700);
  t.ok(Math.abs((controller.jointPositions(1e9)[0] ?? 0) - 0.05) < 1e-9);
  controller.localMode(true);
  raw.socket.write("movej([0,-1.6,1.9,-1.9,-1.57,0],a=2,v=1)\n");
  await delay(500);
  t.ok(Math.abs((controller.jointPositions(1e9)[0] ?? 0) - 0.05) < 1e-9);
  raw.socket.destroy();
});
