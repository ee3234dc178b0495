/** The Modbus RTU side of the emulated drive: frames of the standard's own examples, and the register map. */
import t from "tap";
import fc from "fast-check";
import { crc16, sealFrame } from "../../../src/cell/needle/modbus-codec.js";
import { ModbusDevice } from "../../../src/twin/needle/modbus-device.js";
import { ModbusLine } from "../../../src/twin/needle/modbus-line.js";
import { Slide } from "../../../src/twin/needle/slide.js";
import { WireFaults } from "../../../src/twin/wire-faults.js";

interface Bench {
  readonly slide: Slide;
  readonly line: ModbusLine;
  readonly advance: (seconds: number) => void;
  /** Sends address, function and data in hexadecimal, CRC added; gives back the reply without its CRC. */
  readonly ask: (hex: string) => string;
  readonly heard: () => string;
}

function bench(homed = true): Bench {
  let [now, heard] = [1000, Buffer.alloc(0)];
  const slide = new Slide({
    strokeMicrosteps: 60_000,
    topSpeed: 5e6,
    topAcceleration: 3e8,
    homingSpeed: 50_000,
    initial: 12_000,
    homed,
  });
  const line = new ModbusLine(
    new ModbusDevice({ deviceId: 50951, microstepM: 1e-7, slide }),
    new WireFaults(),
    () => now,
    (bytes) => (heard = Buffer.concat([heard, bytes])),
  );
  return {
    slide,
    line,
    advance: (seconds) => (now += seconds),
    heard: () => heard.toString("hex"),
    ask(hex) {
      heard = Buffer.alloc(0);
      line.receive(sealFrame(Buffer.from(hex.replaceAll(" ", ""), "hex")));
      if (heard.length > 0) t.equal(crc16(heard), 0, "over a frame with its CRC the CRC is 0");
      return heard.subarray(0, -2).toString("hex").replace(/../g, "$& ").trim();
    },
  };
}

t.test("the CRC of the standard's example", async (t) => {
  // Modbus over Serial Line V1.02, appendix B: 02 07 gives 41 12 on the wire.
  t.equal(sealFrame(Buffer.from([0x02, 0x07])).toString("hex"), "02074112");
  // And of the frame that every Modbus primer begins with.
  t.equal(sealFrame(Buffer.from([1, 3, 0, 0, 0, 10])).toString("hex"), "01030000000ac5cd");
});

t.test("identity and status", async (t) => {
  const { ask } = bench();
  // "ND", map 1, device 50951 = 0x0000C707, firmware 7.35, serial 60001 = 0xEA61, 100000 pm = 0x000186A0
  t.equal(ask("01 04 00 00 00 09"), "01 04 12 4e 44 00 01 00 00 c7 07 07 23 00 00 ea 61 00 01 86 a0");
  // Stands (bit 0 clear), referenced and on (6), no warning "--", position 12000 = 0x2EE0, commanded the same.
  t.equal(ask("01 04 00 20 00 0a"), "01 04 14 00 06 2d 2d 00 00 2e e0 00 00 2e e0 00 00 00 00 00 00 00 00");
});

t.test("a move: registers first, then the command", async (t) => {
  const { ask, advance, slide } = bench();
  // target 30000 = 0x7530, speed 100000 = 0x186A0, acceleration 1e7 = 0x989680
  t.equal(
    ask("01 10 00 01 00 06 0c 00 00 75 30 00 01 86 a0 00 98 96 80"),
    "01 10 00 01 00 06",
    "address and count come back",
  );
  t.notOk(slide.busy);
  t.equal(ask("01 06 00 00 00 04"), "01 06 00 00 00 04");
  t.ok(slide.busy);
  // 18000 microsteps at 1e5/s with 1e7/s²: 0.18 s of cruise and 10 ms in all for the ramps.
  advance(0.189);
  t.equal(ask("01 04 00 20 00 01"), "01 04 02 00 07", "moving");
  advance(0.002);
  t.equal(ask("01 04 00 20 00 04"), "01 04 08 00 06 2d 2d 00 00 75 30");
});

t.test("a stroke is run by the drive from one command on", async (t) => {
  const { ask, advance, slide } = bench();
  ask("01 06 00 0d 00 32"); // dwell 50 ms
  // depth 45000 = 0xAFC8; retract to 10000 = 0x2710; down 500000/s, 1e8/s²; up 3e6/s, 3e8/s²
  ask("01 10 00 03 00 04 08 00 07 a1 20 05 f5 e1 00");
  ask("01 10 00 0b 00 02 04 00 00 af c8");
  ask("01 10 00 0e 00 06 0c 00 00 27 10 00 2d c6 c0 11 e1 a3 00");
  t.equal(ask("01 06 00 00 00 05"), "01 06 00 00 00 05");
  // Down 33000: ramps 5 ms and 1250 each, 30500 of cruise in 61 ms.
  const down = 0.01 + 30_500 / 500_000;
  advance(down + 0.025);
  t.equal(slide.reading(1000 + down + 0.025), 45_000, "dwells at the depth");
  // Up 35000: ramps 10 ms and 15000 each, 5000 of cruise.
  advance(0.0251 + 0.02 + 5000 / 3e6);
  t.match(ask("01 04 00 20 00 04"), /^01 04 08 00 06 2d 2d 00 00 27 10$/);
  t.equal(ask("01 04 00 28 00 02"), "01 04 04 00 00 af c8", "the deepest place");
});

t.test("exceptions, and the reason that the drive keeps", async (t) => {
  const { ask, line, heard } = bench(false);
  t.equal(ask("01 04 00 40 00 01"), "01 84 02", "no such register");
  t.equal(ask("01 04 00 00 00 7e"), "01 84 03", "more than a frame holds");
  t.equal(ask("01 06 00 01 00 00"), "01 86 03", "half a pair");
  t.equal(ask("01 06 00 00 00 63"), "01 86 03", "no such command");
  t.equal(ask("01 10 00 03 00 02 04 00 ff ff ff"), "01 90 03", "faster than it can");
  t.equal(ask("01 06 00 00 00 04"), "01 86 04", "no reference, no move");
  t.equal(ask("01 04 00 27 00 01"), "01 04 02 00 02", "BADDATA");
  t.equal(ask("01 06 00 00 00 08"), "01 06 00 00 00 08");
  t.equal(ask("01 06 00 00 00 03"), "01 86 04");
  t.equal(ask("01 04 00 27 00 01"), "01 04 02 00 03", "DRIVERDISABLED");
  t.equal(ask("01 08 00 00 12 34"), "01 08 00 00 12 34", "returns query data");
  t.equal(ask("02 04 00 00 00 01"), "", "another device is meant");
  t.equal(ask("00 06 00 20 00 07"), "", "a broadcast is not answered");
  t.equal(ask("01 03 00 20 00 01"), "01 03 02 00 07", "but obeyed");
  line.receive(sealFrame(Buffer.from([1, 0x2b, 0x0e, 1, 0])));
  await new Promise((resolve) => setTimeout(resolve, 120));
  t.match(heard(), /01ab01....$/, "illegal function");
  line.dispose();
});

t.test("frames survive any cut, single bytes, damage and garbage before them", async (t) => {
  const read = sealFrame(Buffer.from([1, 4, 0, 0, 0, 1]));
  const write = sealFrame(Buffer.from([1, 16, 0, 11, 0, 2, 4, 0, 0, 0xaf, 0xc8]));
  const both = Buffer.concat([read, write]);
  const expected = [
    sealFrame(Buffer.from([1, 4, 2, 0x4e, 0x44])),
    sealFrame(Buffer.from([1, 16, 0, 11, 0, 2])),
  ];
  const heard = (pieces: readonly Uint8Array[]): string => {
    const one = bench();
    for (const piece of pieces) one.line.receive(piece);
    one.line.dispose();
    return one.heard();
  };
  const whole = Buffer.concat(expected).toString("hex");
  for (let cut = 0; cut <= both.length; cut++)
    t.equal(heard([both.subarray(0, cut), both.subarray(cut)]), whole);
  t.equal(heard([...both].map((byte) => Uint8Array.of(byte))), whole);
  for (let at = 0; at < read.length; at++) {
    const bad = Buffer.from(read);
    bad[at] = (bad[at] ?? 0) ^ 0x10;
    t.notMatch(heard([bad]), new RegExp(`^${expected[0]?.toString("hex") ?? ""}`), `bit of byte ${at}`);
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (garbage) => {
      const one = bench();
      one.line.receive(garbage);
      one.line.reset(); // what 50 ms of silence do
      one.line.receive(read);
      one.line.dispose();
      return one.heard().endsWith(expected[0]?.toString("hex") ?? "-");
    }),
  );
});
