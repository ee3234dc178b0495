/** The failure modes of skill-agent.md section 6, one by one, with the verdict it asks for. */
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

const rows: readonly (readonly [number, string, string, string])[] = [
  [2, "complete answer elsewhere, nothing in the content", "", "empty"],
  [3, "function drafted inside think", tagged("INSERT", "maybe <function>RECOVER</function>"), "count"],
  [4, "opening think tag missing", good.replace("<think>", ""), "count"],
  [5, "closing tag missing", good.replace("</function>", ""), "count"],
  [5, "closing tag cut", good.slice(0, -3), "count"],
  [6, "literal closing think tag in the reasoning", tagged("INSERT", "the </think> tag"), "count"],
  [7, "two think blocks", `<think>a</think>${good}`, "count"],
  [7, "two answer blocks", good.replace("<function>", "<answer>b</answer><function>"), "count"],
  [8, "same call twice", `${good}<function>INSERT</function>`, "count"],
  [9, "two different calls", `${good}\n<function>RECOVER</function>`, "count"],
  [10, "tags and a call in another dialect", tagged("INSERT", "x <tool_call> y"), "channel"],
  [11, "code fence around the reply", `\`\`\`\n${good}\n\`\`\``, "order"],
  [11, "code fence around the name", tagged("```INSERT```"), "unknown_function"],
  [12, "text after the last tag", `${good} Good luck!`, "trailing"],
  [13, "text before the first tag", `Sure: ${good}`, "order"],
  [13, "text between blocks", good.replace("<answer>", "so <answer>"), "order"],
  [14, "wrong case in the name", tagged("Insert"), "unknown_function"],
  [14, "wrong case in a tag", good.replace("<function>", "<Function>"), "count"],
  [15, "decorated name", tagged("INSERT_tool"), "unknown_function"],
  [15, "decorated name", tagged("InsertTool"), "unknown_function"],
  [15, "decorated name", tagged("default_api.INSERT"), "unknown_function"],
  [16, "invented name", tagged("MOVE_TO"), "unknown_function"],
  [17, "a value of the prompt as function", tagged("imageUsable"), "unknown_function"],
  [18, "inner newline in the name", tagged("ADJUST_\nFOCUS"), "unknown_function"],
  [18, "inner blank in the name", tagged("SAFE STOP"), "unknown_function"],
  [18, "no-break space around the name", tagged("\u00a0INSERT"), "unknown_function"],
  [19, "name absorbed part of a tag", tagged("INSERT</functio"), "unknown_function"],
  [20, "function=NAME", good.replace("<function>INSERT", "<function=INSERT>"), "count"],
  [20, "function=NAME beside the real one", tagged("INSERT", "<function=RECOVER>"), "count"],
  [20, "attributes", good.replace("<function>", '<function name="x">'), "count"],
  [20, "invoke dialect", tagged("INSERT", "<invoke name=x>"), "channel"],
  [21, "misspelt tag", good.replace("<think>", "<thnik>"), "count"],
  [21, "blank after the bracket", good.replace("<answer>", "< answer>"), "count"],
  [21, "blank after the bracket, beside the real one", tagged("INSERT", "< function >"), "count"],
  [21, "zero-width character in a tag", good.replace("<think>", "<thi\u200bnk>"), "char"],
  [22, "leaked special token", tagged("INSERT", "a <|channel|> b"), "special_token"],
  [22, "full-width bar", tagged("INSERT", "a \uff5c b"), "special_token"],
  [22, "control character", tagged("INSERT", "a \u0007 b"), "char"],
  [22, "NUL", tagged("INSERT", "a \0 b"), "char"],
  [22, "C1 control", tagged("INSERT", "a \u0085 b"), "char"],
  [23, "all tags stripped", "evidence\nGo on.\nINSERT", "count"],
  [27, "empty content", "", "empty"],
  [27, "blanks only", " \n\t\r\n", "empty"],
  [28, "tags as entities", good.replaceAll("<", "&lt;").replaceAll(">", "&gt;"), "count"],
  [28, "one more tag as entity", tagged("INSERT", "&lt;function&gt;"), "count"],
  [29, "homoglyph in a tag", good.replace("<think>", "<th\u0456nk>"), "count"],
  [29, "homoglyph tag beside the real one", tagged("INSERT", "<f\u057dnction>"), "count"],
  [29, "homoglyph in the name", tagged("\u0406NSERT"), "unknown_function"],
  [29, "full-width tag that NFKC would make real", tagged("INSERT", "\uff1cfunction\uff1e"), "count"],
  [29, "bidi override", tagged("INSERT", "a \u202e b"), "char"],
  [29, "tag-block character", tagged("INSERT", "a \u{e0041} b"), "char"],
  [29, "variation selector", tagged("INSERT", "a \ufe0f b"), "char"],
  [29, "byte-order mark", `\ufeff${good}`, "char"],
  [29, "lone surrogate", tagged("INSERT", "a \ud800 b"), "char"],
  [29, "replacement character", tagged("INSERT", "a \ufffd b"), "char"],
  [29, "line separator", tagged("INSERT", "a \u2028 b"), "char"],
  [32, "fabricated next turn", `${good}\nObservation: inserted.\n${good}`, "count"],
  [32, "fabricated tool result", `${good}\n{"result": "ok"}`, "trailing"],
  [33, "blanks up to the limit", tagged("INSERT") + " ".repeat(replyLimitBytes), "length"],
];

t.test("section 6", async (t) => {
  for (const [number, title, reply, expected] of rows) t.equal(code(reply), expected, `${number}: ${title}`);
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
