import t from "tap";
import fc from "fast-check";
import { describeCode } from "../../../src/cell/kohzu/codec/codes.js";
import {
  decodeReply,
  decodeRequest,
  encodeReply,
  encodeRequest,
  LineAssembler,
} from "../../../src/cell/kohzu/codec/framing.js";
import { replyAxis } from "../../../src/cell/kohzu/codec/reply-names.js";
import { decodeSpeedTable } from "../../../src/cell/kohzu/codec/speed-table.js";
import { decodeStatus, encodeStatus } from "../../../src/cell/kohzu/codec/status.js";

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
  t.equal(describeCode(5), "5 (emergency stop input)");
  t.equal(describeCode(5, "sc"), "5 (unknown command)");
  t.equal(describeCode(1, "sc", "W"), "1 (the target is the present position)");
});

t.test("STR in the layouts of the families", async (t) => {
  // SC: a 40-line fake satisfied the EPICS driver with this layout.
  const sc = decodeStatus(decodeReply("C\tSTR2\t1\t1\t0\t1\t0\t1\t0\t0"), "sc");
  t.match(sc, {
    driving: "running",
    nearOrigin: false,
    origin: true,
    limitCw: false,
    limitCcw: true,
    fault: 0,
  });
  t.strictSame(encodeStatus(sc, "sc"), ["1", "1", "0", "1", "0", "1", "0", "0"]);
  t.throws(() => decodeStatus(decodeReply("C\tSTR2\t2\t1\t0\t1\t0\t1\t0\t0"), "sc"), {
    code: "LINK_PROTOCOL",
  });
  // A public program for a CRUX takes its characters 7, 11, 13, 15 for moving, origin, CCW and CW limit.
  const line = "C\tSTR1\t1\t0\t1\t0\t1";
  t.strictSame([line[7], line[11], line[13], line[15]], ["1", "1", "0", "1"]);
  t.match(decodeStatus(decodeReply(line), "crux-separate"), {
    driving: "running",
    limitCcw: false,
    limitCw: true,
  });
});

t.test("which axis a reply names", async (t) => {
  t.equal(replyAxis("aries", "RDP", [3]), 3);
  t.equal(replyAxis("aries", "MPS", [1, 100, 2, 100, 1]), undefined);
  t.equal(replyAxis("aries", "IDN", []), undefined);
  t.equal(replyAxis("sc", "IDN", []), 0);
  t.equal(replyAxis("sc", "STR", [1, 2]), 2);
  t.equal(replyAxis("sc", "RDP", [2, 0]), 2);
  t.equal(replyAxis("aries", "APS", ["x"]), undefined);
});
