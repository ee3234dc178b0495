import t from "tap";
import fc from "fast-check";
import {
  decodeReply,
  decodeRequest,
  decodeSpeedTable,
  decodeStatus,
  describeCode,
  encodeReply,
  encodeRequest,
  LineAssembler,
} from "../../../src/cell/kohzu/codec.js";

t.test("bytes as third-party clients send them", async (t) => {
  // Seen from aries-controller 0.7.0 (TCP) and from a driver on a serial line.
  t.equal(encodeRequest("APS", [1, 5, -22_500, 1], false).toString("latin1"), "APS1/5/-22500/1\r\n");
  t.equal(encodeRequest("ORG", [3, 7, 0], false).toString("latin1"), "ORG3/7/0\r\n");
  t.equal(encodeRequest("IDN", [], false).toString("latin1"), "IDN\r\n");
  t.equal(encodeRequest("STP", [0, 1], true).toString("latin1"), "\x02STP0/1\r\n");
});

t.test("lines of a real controller", async (t) => {
  t.strictSame(decodeReply("C\tIDN\tARIES\t1\t4\t4"), {
    kind: "C",
    command: "IDN",
    axis: undefined,
    data: ["ARIES", "1", "4", "4"],
  });
  t.strictSame(decodeReply("E\tSYS\t5"), { kind: "E", command: "SYS", axis: undefined, data: ["5"] });
  t.equal(decodeReply("C\tRDP1\t56000").data[0], "56000");
  const status = decodeStatus(decodeReply("C\tSTR2\t0\t0\t0\t3\t0\t0"));
  t.ok(status.limitCw && status.limitCcw && status.driving === "stopped");
  t.strictSame(decodeSpeedTable(decodeReply("C\tWTB1\t0\t100\t1000\t20\t20\t2\t180\t180")), {
    startPps: 100,
    topPps: 1000,
    accelerationS: 0.2,
    decelerationS: 0.2,
    pattern: "trapezoid",
  });
});

t.test("what is no reply is refused with its bytes", async (t) => {
  for (const line of ["", "hello", "C RDP1 5", "X\tRDP1\t5", "C\trdp1\t5", "C\tRDP100\t5", "\x02C\tRDP1\t5"])
    t.throws(() => decodeReply(line), { code: "LINK_PROTOCOL" }, JSON.stringify(line));
  t.throws(() => decodeReply("\xff\x00"), { message: /ff 00/ });
  for (const line of ["C\tSTR1", "C\tSTR1\t7\t0\t0\t0\t0\t0", "C\tSTR1\t0\t0\t0\t0\tx\t0"])
    t.throws(() => decodeStatus(decodeReply(line)), { code: "LINK_PROTOCOL" }, line);
});

t.test("lines come out whole wherever the bytes are split", async (t) => {
  const lines = ["C\tRDP1\t5", "W\tAPS1\t350", "E\tSYS\t6", "C\tIDN\tARIES\t1\t4\t4"];
  const bytes = Buffer.from(lines.map((line) => `${line}\r\n`).join(""), "latin1");
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length })), (cuts) => {
      const assembler = new LineAssembler();
      const edges = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
      const found = edges.slice(1).flatMap((end, i) => assembler.push(bytes.subarray(edges[i], end)));
      t.strictSame(found, lines);
      return assembler.empty;
    }),
    { numRuns: 100 },
  );
  t.throws(() => new LineAssembler(100).push(Buffer.alloc(101, 65)), { code: "LINK_PROTOCOL" });
});

t.test("no bytes whatever upset the two decoders", async () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), fc.boolean(), (text, stx) => {
      decodeRequest(text, stx);
      try {
        const reply = decodeReply(text);
        return encodeReply(reply).length > 0;
      } catch (error) {
        return error instanceof Error && "code" in error && error.code === "LINK_PROTOCOL";
      }
    }),
    { numRuns: 1000 },
  );
});

t.test("codes in words", async (t) => {
  t.equal(describeCode(304), "304 (CW limit reached while driving)");
  t.equal(describeCode(103), "103 (parameter 3 out of range)");
  t.equal(describeCode(9999), "9999");
});
