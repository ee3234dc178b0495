/** The framers of the needle's driver: every cut, single bytes, garbage, oversize; nothing grows, nothing hangs. */
import t from "tap";
import fc from "fast-check";
import { asCellError } from "../../../src/base/errors.js";
import { decodeReply, encodeReply, LineAssembler } from "../../../src/cell/needle/codec.js";
import { intact, sealFrame } from "../../../src/cell/needle/modbus-codec.js";
import { ModbusCoder, ModbusException } from "../../../src/cell/needle/modbus-coder.js";
import { FrameAssembler } from "../../../src/cell/needle/modbus-link.js";

const reply = { device: 1, axis: 1, id: 7, accepted: true, busy: false, flag: "--" } as const;
const lines = [
  encodeReply({ ...reply, type: "reply", data: "12000" }, true),
  encodeReply({ ...reply, type: "alert", data: "" }, false),
  encodeReply({ ...reply, type: "info", data: "some text" }, true),
];
const frames = [
  sealFrame(Buffer.from([1, 4, 4, 0, 6, 0x2d, 0x2d])),
  sealFrame(Buffer.from([1, 0x86, 4])),
  sealFrame(Buffer.from([1, 16, 0, 1, 0, 6])),
  sealFrame(Buffer.from([1, 6, 0, 0, 0, 4])),
];

/** Pushes pieces; a piece that breaks the protocol clears the framer. */
function pushed(framer: { push(bytes: Uint8Array): string[] }, pieces: readonly Uint8Array[]): string[] {
  return pieces.flatMap((piece) => {
    try {
      return framer.push(piece);
    } catch (error) {
      if (asCellError(error).code !== "LINK_PROTOCOL") throw error;
      return [];
    }
  });
}

const framers = [
  {
    name: "Zaber ASCII",
    make: () => new LineAssembler(),
    bytes: Buffer.from(lines.join("")),
    expected: lines.map((line) => line.trimEnd()),
    end: Buffer.from("\r\n"),
  },
  {
    name: "Modbus RTU",
    make: () => new FrameAssembler(1),
    bytes: Buffer.concat(frames),
    expected: frames.map((frame) => frame.toString("latin1")),
    end: Buffer.alloc(0),
  },
];

for (const { name, make, bytes, expected } of framers) {
  t.test(`${name}: any cut and single bytes`, async (t) => {
    for (let a = 0; a <= bytes.length; a++)
      for (let b = a; b <= bytes.length; b += 3) {
        const found = pushed(make(), [bytes.subarray(0, a), bytes.subarray(a, b), bytes.subarray(b)]);
        if (JSON.stringify(found) !== JSON.stringify(expected)) t.strictSame(found, expected, `${a}, ${b}`);
      }
    t.strictSame(
      pushed(
        make(),
        [...bytes].map((byte) => Uint8Array.of(byte)),
      ),
      expected,
    );
  });

  t.test(`${name}: garbage raises nothing but protocol errors, and a reset makes a clean start`, async () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 700 }), { maxLength: 6 }), (pieces) => {
        const framer = make();
        pushed(framer, pieces);
        framer.reset();
        return JSON.stringify(pushed(framer, [bytes])) === JSON.stringify(expected);
      }),
      { numRuns: 500 },
    );
  });
}

t.test(
  "oversize: a line without an end is refused, a frame is never longer than its length byte says",
  async (t) => {
    const zaber = new LineAssembler();
    t.throws(() => zaber.push(Buffer.alloc(10_000, 0x41)), { code: "LINK_PROTOCOL" });
    const modbus = new FrameAssembler(1);
    t.strictSame(modbus.push(Buffer.from([1, 4, 255])), []);
    const [frame] = modbus.push(Buffer.alloc(257));
    t.equal(frame?.length, 260);
    t.throws(() => modbus.push(Buffer.from([2, 4, 0])), { code: "LINK_PROTOCOL", message: /02 04 00/ });
  },
);

t.test("a single wrong bit never passes for a reply", async (t) => {
  for (const frame of frames)
    for (let bit = 0; bit < 8 * frame.length; bit++) {
      const bad = Buffer.from(frame);
      bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      t.equal(intact(bad), false);
    }
  const [line = ""] = lines;
  for (let bit = 0; bit < 8 * (line.length - 2); bit++) {
    const bad = Buffer.from(line.trimEnd(), "latin1");
    bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    let data: string | undefined;
    try {
      data = decodeReply(bad.toString("latin1"))?.data;
    } catch (error) {
      t.match(error, { code: "LINK_PROTOCOL" });
    }
    // The seal itself may be what was hit: then what it sealed is whole, or no checksum is seen at all.
    t.ok(data === undefined || data.startsWith("12000"), `bit ${bit}: ${data ?? ""}`);
  }
});

t.test("requests and replies as the standard's examples spell them", async (t) => {
  // Modbus Application Protocol V1.1b3, 6.3, 6.6 and 6.12, with unit 17; the CRCs were computed with pymodbus.
  const coder = new ModbusCoder(0x11);
  t.equal(coder.readHolding(0x6b, 3).bytes.toString("hex"), "1103006b00037687");
  t.equal(coder.writeOne(1, 3).bytes.toString("hex"), "1106000100039a9b");
  t.equal(coder.writeMany(1, [0x0a, 0x0102]).bytes.toString("hex"), "11100001000204000a0102c6f0");
  const read = coder.readHolding(0x6b, 3);
  t.strictSame(read.decode(sealFrame(Buffer.from([0x11, 3, 6, 2, 0x2b, 0, 0, 0, 0x64]))), [555, 0, 100]);
  t.throws(() => read.decode(sealFrame(Buffer.from([0x11, 0x83, 2]))), new ModbusException(2));
  t.throws(() => read.decode(sealFrame(Buffer.from([0x11, 3, 2, 0, 1]))), "a reply to another question");
  t.throws(() => read.decode(Buffer.from([0x11, 3, 6, 2, 0x2b, 0, 0, 0, 0x64, 0, 0])), "a wrong CRC");
});
