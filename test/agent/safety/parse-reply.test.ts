/** Grammar, bytes and length; the failure modes of replies are in failure-modes.test.ts. */
import t from "tap";
import { parseReply, replyLimitBytes } from "../../../src/agent/safety/parse-reply.js";
import { skillNames } from "../../../src/agent/safety/skill-names.js";
import { tagged } from "../fixtures.js";

const code = (reply: string | Uint8Array): string => {
  const result = parseReply(reply);
  return result.ok ? `accepted ${result.proposal.skill}` : result.reason.code;
};
const good = tagged("INSERT");
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

t.test("each of the seven, as text and as bytes", async (t) => {
  for (const name of skillNames) {
    t.equal(code(tagged(name)), `accepted ${name}`);
    t.equal(code(bytes(tagged(name))), `accepted ${name}`);
  }
  const result = parseReply(
    " \r\n<think> a < b, 3 µm </think>\t<answer>ja</answer><function>\n INSERT\t</function>\n",
  );
  t.same(result, { ok: true, proposal: { skill: "INSERT", rationale: "a < b, 3 µm", answer: "ja" } });
});

t.test("grammar", async (t) => {
  t.equal(code(tagged("INSERT", " \n ")), "empty", "blank think");
  t.equal(code(tagged("INSERT", "a", "\u00a0")), "empty", "blank answer, to a reader");
  t.equal(code(tagged(" ")), "empty", "blank function");
  t.equal(code("<answer>b</answer><think>a</think><function>INSERT</function>"), "order");
  t.equal(code("<think>a<answer>b</think></answer><function>INSERT</function>"), "order", "interleaved");
  t.equal(code("</think>a<think><answer>b</answer><function>INSERT</function>"), "order");
});

t.test("bytes are taken as they are", async (t) => {
  const broken = bytes(good);
  broken[10] = 0xff;
  t.equal(code(broken), "char");
  const overlong = Buffer.concat([Buffer.from("<think>a"), Buffer.from([0xc0, 0xbc]), bytes(good.slice(8))]);
  t.equal(code(overlong), "char", "overlong encoding of <");
});

t.test("length is counted in bytes", async (t) => {
  const frame = tagged("INSERT", "");
  const room = replyLimitBytes - Buffer.byteLength(frame);
  t.equal(code(tagged("INSERT", "x".repeat(room))), "accepted INSERT", "exactly 16 KiB");
  t.equal(code(tagged("INSERT", "x".repeat(room + 1))), "length");
  t.equal(code(tagged("INSERT", "µ".repeat(room / 2 + 1))), "length");
});
