/** Framers of the UR links under every split point, single bytes, garbage and oversize. Streams are built by hand here. */
import fc from "fast-check";
import t from "tap";
import { asCellError } from "../../../src/base/errors.js";
import { LineFramer } from "../../../src/cell/ur/codec/dashboard.js";
import { decodeRobotState, PrimaryFramer } from "../../../src/cell/ur/codec/primary.js";
import { decodeRobotMessage } from "../../../src/cell/ur/codec/robot-message.js";
import { RealtimeFramer } from "../../../src/cell/ur/codec/realtime.js";
import { decodeMessage, RtdeFramer } from "../../../src/cell/ur/codec/rtde.js";

const bytes = (maxLength: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));

interface Framing {
  readonly name: string;
  /** One packet around a payload, as the reference describes it. */
  readonly packet: (payload: Buffer, kind: number) => Buffer;
  readonly kinds: readonly number[];
  readonly payload: fc.Arbitrary<Buffer>;
  /** A fresh framer; what it gives as text that can be compared. */
  readonly framer: () => (chunk: Buffer) => string[];
  readonly expected: (payload: Buffer, kind: number) => string;
  /** Beginnings of which none is a packet. */
  readonly wrong: readonly string[];
}

const head = (length: number, fill: (buffer: Buffer) => void): Buffer => {
  const buffer = Buffer.alloc(length);
  fill(buffer);
  return buffer;
};

const framings: readonly Framing[] = [
  {
    name: "RTDE",
    packet: (payload, kind) => {
      const start = head(3, (b) => {
        b.writeUInt16BE(payload.length + 3, 0);
        b.writeUInt8(kind, 2);
      });
      return Buffer.concat([start, payload]);
    },
    kinds: [86, 118, 77, 85, 79, 73, 83, 80],
    payload: bytes(300),
    framer: () => {
      const framer = new RtdeFramer();
      return (chunk) => framer.push(chunk).map(({ type, payload }) => `${type}:${payload.toString("hex")}`);
    },
    expected: (payload, kind) => `${kind}:${payload.toString("hex")}`,
    wrong: ["000056", "000255", "000300", "0003ff", "474554202f", "ffff00"],
  },
  {
    name: "primary",
    packet: (payload, kind) => {
      const start = head(5, (b) => {
        b.writeInt32BE(payload.length + 5, 0);
        b.writeUInt8(kind, 4);
      });
      return Buffer.concat([start, payload]);
    },
    // 255 is the −1 of a disconnect; 99 belongs to a newer firmware.
    kinds: [16, 20, 5, 22, 23, 24, 25, 255, 99],
    payload: bytes(300),
    framer: () => {
      const framer = new PrimaryFramer();
      return (chunk) => framer.push(chunk).map(({ type, body }) => `${type}:${body.toString("hex")}`);
    },
    expected: (payload, kind) => `${kind}:${payload.toString("hex")}`,
    wrong: ["0000000410", "ffffffff10", "0000000014", "7fffffff10", "4745542020"],
  },
  {
    name: "realtime",
    packet: (payload) => Buffer.concat([head(4, (b) => b.writeUInt32BE(payload.length + 4, 0)), payload]),
    kinds: [0],
    payload: fc.integer({ min: 752, max: 1300 }).map((length) => Buffer.alloc(length, length & 0xff)),
    framer: () => {
      const framer = new RealtimeFramer();
      return (chunk) => framer.push(chunk).map((packet) => packet.subarray(4).toString("hex"));
    },
    expected: (payload) => payload.toString("hex"),
    wrong: ["00000000", "00000004", "ffffffff", "47455420"],
  },
  {
    name: "dashboard",
    packet: (payload) => Buffer.concat([payload, Buffer.from("\n")]),
    kinds: [0],
    payload: bytes(200).map((b) => Buffer.from(b.map((byte) => (byte === 10 || byte === 13 ? 46 : byte)))),
    framer: () => {
      const framer = new LineFramer(1024);
      return (chunk) => framer.push(chunk).map((line) => Buffer.from(line, "latin1").toString("hex"));
    },
    expected: (payload) => payload.toString("hex"),
    wrong: [Buffer.alloc(1025, 65).toString("hex")],
  },
];

for (const framing of framings) {
  const { name, packet, kinds, payload, framer, expected, wrong } = framing;
  const packets = fc.array(fc.tuple(payload, fc.constantFrom(...kinds)), { maxLength: 6 });

  t.test(`${name}: whatever the segments, the same packets come out`, (t) => {
    fc.assert(
      fc.property(packets, fc.array(fc.nat(4000), { maxLength: 20 }), (list, cuts) => {
        const stream = Buffer.concat(list.map(([body, kind]) => packet(body, kind)));
        const at = [0, ...cuts.filter((cut) => cut < stream.length).sort((a, b) => a - b), stream.length];
        const push = framer();
        const found = at.slice(1).flatMap((end, i) => push(stream.subarray(at[i], end)));
        t.same(
          found,
          list.map(([body, kind]) => expected(body, kind)),
        );
      }),
      { numRuns: 60 },
    );
    t.end();
  });

  t.test(`${name}: cut at every byte, and one byte at a time`, (t) => {
    const list =
      fc.sample(
        packets.filter((some) => some.length >= 2),
        { numRuns: 1, seed: 7 },
      )[0] ?? [];
    const stream = Buffer.concat(list.map(([body, kind]) => packet(body, kind)));
    const wanted = list.map(([body, kind]) => expected(body, kind));
    for (let cut = 0; cut <= stream.length; cut++) {
      const push = framer();
      const found = [...push(stream.subarray(0, cut)), ...push(stream.subarray(cut))];
      if (found.join() !== wanted.join()) t.fail(`cut at ${cut}`);
    }
    const push = framer();
    t.same(
      [...stream].flatMap((byte) => push(Buffer.of(byte))),
      wanted,
    );
    t.end();
  });

  t.test(`${name}: what is no packet ends the connection, also behind a good one`, (t) => {
    for (const start of wrong) {
      const bad = Buffer.from(start, "hex");
      t.throws(() => framer()(bad), start.slice(0, 20));
      const push = framer();
      const [good] = fc.sample(payload, { numRuns: 1, seed: 3 });
      t.throws(() => push(Buffer.concat([packet(good ?? Buffer.alloc(0), kinds[0] ?? 0), bad])));
    }
    t.end();
  });

  t.test(
    `${name}: garbage gives packets or an error of the catalogue, never anything else, and no memory`,
    (t) => {
      fc.assert(
        fc.property(fc.array(bytes(400), { maxLength: 8 }), (chunks) => {
          const push = framer();
          try {
            for (const chunk of chunks) push(chunk);
          } catch (error) {
            return error instanceof RangeError || asCellError(error).code === "LINK_PROTOCOL";
          }
          return true;
        }),
        { numRuns: 200 },
      );
      t.end();
    },
  );
}

t.test("decoders of bodies: any bytes decode or are an error of the protocol", (t) => {
  for (const decode of [
    decodeRobotMessage,
    decodeRobotState,
    (body: Buffer) => decodeMessage(body, 1),
    (body: Buffer) => decodeMessage(body, 2),
  ]) {
    fc.assert(
      fc.property(bytes(300), (body) => {
        try {
          decode(body);
          return true;
        } catch (error) {
          return asCellError(error).code === "LINK_PROTOCOL";
        }
      }),
      { numRuns: 300 },
    );
  }
  t.end();
});

t.test("sub-packages of a newer firmware: unknown kinds are skipped, known ones may be longer", (t) => {
  const sub = (kind: number, body: Buffer): Buffer =>
    Buffer.concat([
      head(5, (b) => {
        b.writeUInt32BE(body.length + 5, 0);
        b.writeUInt8(kind, 4);
      }),
      body,
    ]);
  const pose = Buffer.alloc(96);
  [0.1, 0.2, 0.3, 1, 2, 3].forEach((value, i) => pose.writeDoubleBE(value, 8 * i));
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 255 }), bytes(100), bytes(100), (kind, unknown, tail) => {
      const state = decodeRobotState(
        Buffer.concat([sub(kind, unknown), sub(4, Buffer.concat([pose, tail]))]),
      );
      t.same(state.cartesian?.tcp, [0.1, 0.2, 0.3, 1, 2, 3]);
    }),
    { numRuns: 50 },
  );
  t.end();
});
