/** Modbus requests and answers against the bytes that the application protocol's own examples give. */
import fc from "fast-check";
import t from "tap";
import { encodeMbap, MbapFramer, type MbapFrame } from "../../../src/twin/modbus/mbap-framer.js";
import { answer, type RegisterBank } from "../../../src/twin/modbus/pdu.js";

/** Registers 100–109 and bits 16–31, all writable but register 109. */
function bank(): RegisterBank & { registers: Map<number, number>; bits: Map<number, boolean> } {
  const registers = new Map(Array.from({ length: 10 }, (_, i) => [100 + i, 0x0200 + i]));
  const bits = new Map(Array.from({ length: 16 }, (_, i) => [16 + i, i % 3 === 0]));
  return {
    registers,
    bits,
    readRegister: (address) => registers.get(address),
    writeRegister: (address, value) => {
      if (!registers.has(address) || address === 109) return false;
      registers.set(address, value);
      return true;
    },
    readBit: (address) => bits.get(address),
    writeBit: (address, on) => {
      if (!bits.has(address)) return false;
      bits.set(address, on);
      return true;
    },
  };
}

const ask = (request: string, of = bank()): string =>
  answer(Buffer.from(request.replace(/ /g, ""), "hex"), of).toString("hex");

t.test("every function of the controller, as bytes", (t) => {
  t.equal(ask("03 0064 0002"), "0304" + "02000201");
  t.equal(ask("04 0069 0001"), "0402" + "0205");
  // Bits 16, 19, 22, 25, 28, 31: the first is the lowest of the first byte.
  t.equal(ask("01 0010 0010"), "0102" + "4992");
  t.equal(ask("02 0011 0003"), "0201" + "04");
  const written = bank();
  t.equal(ask("05 0011 ff00", written), "050011ff00");
  t.equal(written.bits.get(17), true);
  t.equal(ask("06 0064 1234", written), "0600641234");
  t.equal(written.registers.get(100), 0x1234);
  t.equal(ask("0f 0010 000a 02 cd01", written), "0f0010000a");
  t.same(
    Array.from({ length: 10 }, (_, i) => written.bits.get(16 + i)),
    [true, false, true, true, false, false, true, true, true, false],
    "0xcd 0x01, lowest bit first",
  );
  t.equal(ask("10 0065 0002 04 000a 0102", written), "1000650002");
  t.same([written.registers.get(101), written.registers.get(102)], [10, 258]);
  t.end();
});

t.test("exceptions: 1 function, 2 address, 3 value", (t) => {
  t.equal(ask("11"), "9101");
  t.equal(ask("2b 0e 01 00"), "ab01");
  t.equal(ask("03 006d 0002"), "8302", "one register too far");
  t.equal(ask("06 006d 0001"), "8602", "read-only");
  t.equal(ask("05 0011 1234"), "8503", "neither on nor off");
  t.equal(ask("03 0064 0000"), "8303");
  t.equal(ask("03 0064 007e"), "8303", "126 registers");
  t.equal(ask("03 0064"), "8303", "cut off");
  t.equal(ask("10 0064 0002 03 000000"), "9003", "byte count and quantity differ");
  const of = bank();
  t.equal(ask("10 006c 0003 06 000100020003", of), "9002");
  t.equal(of.registers.get(108), 0x0208, "nothing is written when one address is wrong");
  t.end();
});

t.test(
  "no request leaves the server without an answer, or with a longer one than the protocol allows",
  (t) => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 253 }), (bytes) => {
        const reply = answer(Buffer.from(bytes), bank());
        return (
          reply.length >= 2 && reply.length <= 253 && ((reply[0] ?? 0) & 0x7f) === ((bytes[0] ?? 0) & 0x7f)
        );
      }),
    );
    t.end();
  },
);

const frames = fc.array(
  fc.record({
    transaction: fc.nat(0xffff),
    unit: fc.nat(0xff),
    pdu: fc.uint8Array({ minLength: 1, maxLength: 253 }).map((bytes) => Buffer.from(bytes)),
  }),
  { maxLength: 6 },
);
const plain = (list: readonly MbapFrame[]): string[] =>
  list.map(({ transaction, unit, pdu }) => `${transaction}/${unit}/${pdu.toString("hex")}`);

t.test("Modbus TCP frames come out whole whatever the segments", (t) => {
  fc.assert(
    fc.property(frames, fc.array(fc.nat(1800), { maxLength: 12 }), (list, cuts) => {
      const stream = Buffer.concat(list.map(encodeMbap));
      const at = [0, ...cuts.filter((cut) => cut <= stream.length).sort((a, b) => a - b), stream.length];
      const framer = new MbapFramer();
      const found = at.slice(1).flatMap((end, i) => framer.push(stream.subarray(at[i], end)));
      t.same(plain(found), plain(list));
    }),
  );
  fc.assert(
    fc.property(frames, (list) => {
      const framer = new MbapFramer();
      const found = [...Buffer.concat(list.map(encodeMbap))].flatMap((byte) => framer.push(Buffer.of(byte)));
      t.same(plain(found), plain(list), "one byte at a time");
    }),
    { numRuns: 30 },
  );
  t.end();
});

t.test("a wrong protocol number or length closes the connection", (t) => {
  for (const header of ["0001 0001 0006 01", "0001 0000 0001 01", "0001 0000 00ff 01", "474554202f20"]) {
    t.throws(() => new MbapFramer().push(Buffer.from(header.replace(/ /g, ""), "hex")), {
      code: "LINK_PROTOCOL",
    });
  }
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 6, maxLength: 64 }), (bytes) => {
      const buffer = Buffer.from(bytes);
      fc.pre(buffer.readUInt16BE(2) !== 0);
      t.throws(() => new MbapFramer().push(buffer), { code: "LINK_PROTOCOL" });
    }),
    { numRuns: 50 },
  );
  t.end();
});
