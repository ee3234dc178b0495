/**
 * The last step before each wire, with the links' own classes and a line at whose other end the test counts bytes: numbers that
 * are none, values in another unit and values that wrap around are refused, whatever upstream let them come so far, and nothing
 * is written. The native part alone: test/native/envelope.
 */
import { connect } from "node:net";
import t, { type Test } from "tap";
import { ArmEnvelope, StageEnvelope } from "../../src/cell/envelope.js";
import { KohzuLink } from "../../src/cell/kohzu/kohzu-link.js";
import type { ByteLink } from "../../src/cell/links/byte-link.js";
import { needleEnvelope, NeedleLimits } from "../../src/cell/needle/needle-limits.js";
import { NeedleLink } from "../../src/cell/needle/needle-link.js";
import { loadProfile } from "../../src/cell/profile.js";
import { reverseCommand } from "../../src/cell/ur/codec/reverse.js";
import { defaultEnvelope } from "../../src/cell/ur/envelope.js";
import { ReverseLink } from "../../src/cell/ur/reverse-link.js";
import { cellAxes } from "./kohzu/rig.js";

const refusal = { name: "CellError", code: /^(UNIT_NOT_FINITE|DEVICE_LIMIT|SAFETY_ENVELOPE)$/ };
const noNumbers = [NaN, Infinity, -Infinity];
/** A value in another unit, and what a counter of 32 bits would make the same of. */
const slips = (value: number): number[] => [value * 1e3, value * 1e6, value + 2 ** 32, value - 2 ** 32];
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Keeps what is written. */
class OpenLine implements ByteLink {
  readonly description = "open line";
  readonly descriptor = undefined;
  readonly isOpen = true;
  written = "";
  onData: (bytes: Uint8Array) => void = () => undefined;
  onClosed: () => void = () => undefined;
  holdReading(): void {}
  async open(): Promise<void> {}
  async close(): Promise<void> {}
  write(bytes: Uint8Array): void {
    this.written += Buffer.from(bytes).toString("latin1");
  }
}

for (const family of ["aries", "sc"] as const)
  t.test(`stages, ${family}: the line itself is judged`, async (t) => {
    const line = new OpenLine();
    const envelope = new StageEnvelope("stages", family, await cellAxes());
    const common = {
      device: "stages",
      family,
      stx: false,
      staleAtOpen: false,
      replyTimeoutS: 0.2,
      quietS: 0.001,
      envelope,
    };
    const link = new KohzuLink(line, common);
    const drive = (pulses: number): readonly number[] =>
      family === "sc" ? [1, 2, 0, 0, pulses, 0, 0, 1] : [1, 0, pulses, 1];
    for (const pulses of [...noNumbers, ...slips(2000), 0.5, 14_701, 2 ** 31, 2 ** 53])
      await t.rejects(link.request("APS", drive(pulses)), refusal, `${pulses} pulses`);
    await t.rejects(link.request("RPS", [1, 0, 5, 1]), refusal, "a command that is not sent here");
    t.equal(line.written, "", "nothing was written");
    const moving = t.rejects(link.request("APS", drive(-2000)), { code: "LINK_CLOSED" });
    await turn();
    t.equal(line.written, `APS${drive(-2000).join("/")}\r\n`, "what is sound goes out");
    await Promise.all([moving, link.close()]);
  });

t.test("needle, Zaber ASCII: the line itself is judged", async (t) => {
  const line = new OpenLine();
  const profile = await loadProfile("needle-zaber-ascii", "needle-drive");
  const link = new NeedleLink(line, {
    ...{ device: "needle", address: 1, checksums: true, replyTimeoutS: 0.2, quietS: 0.001 },
    envelope: needleEnvelope("needle", profile),
  });
  const travel = Math.round(profile.stroke.value / profile.microstep.value);
  for (const value of [...noNumbers, ...slips(travel), 0.5, travel + 1, -1])
    for (const command of [
      `move abs ${value} 100 100`,
      `stream 1 line abs ${value}`,
      `set limit.max ${value}`,
    ])
      await t.rejects(link.requestNow(1, command), refusal, command);
  for (const value of [...noNumbers, 0, -1, 2 ** 31, 2 ** 32 + 100])
    for (const command of [
      `move abs 5 ${value} 100`,
      `move abs 5 100 ${value}`,
      `stream 1 set maxspeed ${value}`,
    ])
      await t.rejects(link.requestNow(1, command), refusal, command);
  await t.rejects(link.requestNow(1, "move rel 5 100 100"), refusal, "a command that is not sent here");
  t.equal(line.written, "", "nothing was written");
  const stopping = t.rejects(link.requestNow(1, "estop"), { code: "LINK_TIMEOUT" });
  t.match(line.written, /^\/01 1 \d\d estop:/, "a stop goes out");
  await stopping;
});

t.test("needle, Modbus RTU: no words are made of what is refused", async (t) => {
  const profile = await loadProfile("needle-modbus-rtu", "needle-drive");
  const envelope = needleEnvelope("needle", profile);
  const target = 1;
  const travel = Math.round(profile.stroke.value / profile.microstep.value);
  const fast = profile.maxSpeed.value / profile.microstep.value;
  t.same(envelope.registers(target, [travel, 70_000.7, 2]).slice(2), [1, 70_000 - 65_536, 0, 2]);
  for (const value of [...noNumbers, ...slips(travel), 0.5, travel + 1, -1])
    t.throws(() => envelope.registers(target, [value, 100, 100]), refusal, `target ${value}`);
  for (const value of [...noNumbers, 0, -1, fast * 1.001, fast * 1e3, fast + 2 ** 32])
    t.throws(() => envelope.registers(target, [5, value, 100]), refusal, `speed ${value}`);
  for (const value of noNumbers)
    t.throws(() => envelope.registers(target, [5, 100, value]), refusal, `acceleration ${value}`);
});

t.test(
  "needle: in either language a plan that makes no sense is refused before anything is sent",
  async (t) => {
    for (const name of ["needle-zaber-ascii", "needle-modbus-rtu"]) {
      const profile = await loadProfile(name, "needle-drive");
      const limits = new NeedleLimits("needle", profile, needleEnvelope("needle", profile));
      const motion = { speedMS: 0.05, accelerationMS2: 4 };
      limits.motion(motion);
      for (const value of [...noNumbers, 1, 1e3, -1e-6, 1e-3 + 2 ** 32])
        t.throws(() => limits.target(value, "target"), refusal, `position ${value}`);
      for (const value of [...noNumbers, ...slips(0.05), 0, -0.05])
        t.throws(() => limits.motion({ ...motion, speedMS: value }), refusal, `speed ${value}`);
      const stroke = { ...motion, depthPositionM: 1e-3, retractToM: 0, dwellS: 0.1 };
      const back = { retractSpeedMS: 0.3, retractAccelerationMS2: 4 };
      limits.stroke({ ...stroke, ...back });
      for (const value of [...noNumbers, -0.1, 100])
        t.throws(() => limits.stroke({ ...stroke, ...back, dwellS: value }), refusal, `dwell ${value}`);
    }
  },
);

/** A control program at the other end of the reverse socket that keeps what it reads. */
async function program(t: Test, link: ReverseLink): Promise<() => Promise<Buffer>> {
  const session = 5;
  const port = await link.listen("127.0.0.1", 0, session);
  const socket = connect(port, "127.0.0.1");
  let heard = Buffer.alloc(0);
  socket.on("data", (bytes) => (heard = Buffer.concat([heard, bytes])));
  t.teardown(async () => {
    socket.destroy();
    await link.close();
  });
  const status = Buffer.alloc(20);
  status.writeInt32BE(session, 0);
  socket.write(status);
  await link.waitForScript(5, () => undefined);
  /** The next keep-alive has come, and with it everything before. */
  return async () => {
    const before = heard.length;
    while (heard.length < before + 48) await turn();
    return heard;
  };
}

t.test("arm: no bytes are made of what is refused, and none go out", async (t) => {
  const all = 2 * Math.PI;
  const rad = { lowerRad: Array<number>(6).fill(-all), upperRad: Array<number>(6).fill(all) };
  const envelope = new ArmEnvelope({ ...defaultEnvelope, ...rad });
  const link = new ReverseLink({ readTimeoutS: 0.25, keepAliveS: 0.01, envelope });
  const heard = await program(t, link);
  const start = { joints: [1, -1.5, 1.5, -1.6, -1.5, 0], pose: [0.3, 0.1, 0.2, 0, 3, 0] };
  const moves = {
    joints: { kind: reverseCommand.MOVE_JOINTS, values: start.joints, speed: 0.2, acceleration: 1, blend: 0 },
    linear: { kind: reverseCommand.MOVE_LINEAR, values: start.pose, speed: 0.1, acceleration: 1, blend: 0 },
  };
  for (const [name, move] of Object.entries(moves)) {
    const refused = (wrong: object, what: string): void => {
      const made = { ...move, ...wrong };
      // One wrong command keeps back the sound ones before it.
      t.throws(() => link.send(link.judge([move, made], start)), refusal, `${name}: ${what}`);
    };
    move.values.forEach((value, i) => {
      for (const wrong of [...noNumbers, value + 1e3, value + 2 ** 32 / 1e8, (value || 1) * 1e3])
        refused(
          { values: move.values.map((sound, k) => (k === i ? wrong : sound)) },
          `value ${i} is ${wrong}`,
        );
    });
    refused({ values: move.values.slice(1) }, "five values");
    for (const wrong of [...noNumbers, 0, -0.1, 100, 2 ** 32 / 1e6 + 0.1])
      refused({ speed: wrong }, `speed ${wrong}`);
    for (const wrong of [...noNumbers, 0, -1, 1e3]) refused({ acceleration: wrong }, `acceleration ${wrong}`);
    for (const wrong of [...noNumbers, -0.1, 10]) refused({ blend: wrong }, `blend ${wrong}`);
  }
  const kinds = (bytes: Buffer): Set<number> =>
    new Set(Array.from({ length: bytes.length / 48 }, (_, i) => bytes.readInt32BE(48 * i + 8)));
  t.same([...kinds(await heard())], [reverseCommand.KEEP_ALIVE], "nothing but keep-alives was written");
  link.send(link.judge([moves.joints], start));
  t.ok(kinds(await heard()).has(reverseCommand.MOVE_JOINTS), "what is sound goes out");
});
