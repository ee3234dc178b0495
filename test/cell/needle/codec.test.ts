import t from "tap";
import fc from "fast-check";
import {
  checksum,
  decodeReply,
  decodeRequest,
  encodeReply,
  encodeRequest,
  LineAssembler,
  type NeedleReply,
} from "../../../src/cell/needle/codec.js";

t.test("requests as the manual writes them", async (t) => {
  const request = { device: 1, axis: 1, id: 5, command: "move abs 10000" };
  t.equal(encodeRequest(request, false), "/01 1 05 move abs 10000\r\n");
  t.strictSame(decodeRequest("/01 1 05 move abs 10000"), request);
  t.strictSame(decodeRequest("/1 1 move abs 10000"), { ...request, id: undefined });
  t.strictSame(decodeRequest("/1 home"), { device: 1, axis: 0, id: undefined, command: "home" });
  t.strictSame(decodeRequest("/home"), { device: 0, axis: 0, id: undefined, command: "home" });
  t.strictSame(decodeRequest("/"), { device: 0, axis: 0, id: undefined, command: "" });
  t.equal(decodeRequest("home"), undefined, "no slash, no command");
});

t.test("the checksum makes the bytes sum up to zero", async (t) => {
  // By hand: "01 0 00" is 0x30+0x31+0x20+0x30+0x20+0x30+0x30 = 0x131, and 0x100 − 0x31 = 0xCF.
  t.equal(checksum("01 0 00"), 0xcf);
  t.equal(encodeRequest({ device: 1, axis: 0, id: 0, command: "" }, true), "/01 0 00:CF\r\n");
  t.strictSame(decodeRequest("/01 0 00:CF"), { device: 1, axis: 0, id: 0, command: "" });
  t.equal(decodeRequest("/01 0 00:CE"), undefined, "a damaged request is ignored");
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), (text) => {
      let sum = checksum(text);
      for (const byte of Buffer.from(text, "latin1")) sum += byte;
      return sum % 256 === 0;
    }),
  );
});

t.test("replies, info lines, alerts", async (t) => {
  const reply: NeedleReply = {
    type: "reply",
    device: 1,
    axis: 1,
    id: 7,
    accepted: true,
    busy: true,
    flag: "WR",
    data: "-42",
  };
  t.equal(encodeReply(reply, false), "@01 1 07 OK BUSY WR -42\r\n");
  t.strictSame(decodeReply("@01 1 07 OK BUSY WR -42"), reply);
  t.strictSame(decodeReply("@01 1 07 RJ IDLE -- BADDATA"), {
    ...reply,
    accepted: false,
    busy: false,
    flag: "--",
    data: "BADDATA",
  });
  t.match(decodeReply("!01 1 IDLE FS"), { type: "alert", busy: false, flag: "FS" });
  t.match(decodeReply("#01 1 07 a line of text"), { type: "info", data: "a line of text" });
  const sealed = encodeReply(reply, true).trim();
  t.strictSame(decodeReply(sealed), reply);
  t.equal(decodeReply(sealed.replace("-42", "-43")), undefined, "damaged on its way");
  for (const line of ["", "@", "@01 1 OK IDLE", "@01 1 07 OK SLOW -- 0", "hello", "\xff\xfe"])
    t.throws(() => decodeReply(line), { code: "LINK_PROTOCOL" }, JSON.stringify(line));
});

t.test("no bytes whatever upset the decoders", async () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
      decodeRequest(text);
      try {
        decodeReply(text);
      } catch (error) {
        return error instanceof Error && "code" in error && error.code === "LINK_PROTOCOL";
      }
      return true;
    }),
    { numRuns: 1000 },
  );
});

t.test("lines come out whole wherever the bytes are split, with any line end", async (t) => {
  const lines = new LineAssembler();
  const found: string[] = [];
  for (const byte of Buffer.from("@01 1 OK IDLE -- 0\r\n!01 1 IDLE --\n\r\n#01 1 x\r"))
    found.push(...lines.push(Buffer.from([byte])));
  t.strictSame(found, ["@01 1 OK IDLE -- 0", "!01 1 IDLE --", "#01 1 x"]);
  t.throws(() => lines.push(Buffer.alloc(600, 65)), { code: "LINK_PROTOCOL" });
});
