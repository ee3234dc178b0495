/** Failure modes 1 and 4: a reply is put together again only where a profile says that its server takes it apart. */
import t from "tap";
import { asItComes, rebuildReply } from "../../../src/agent/reasoners/rebuild-reply.js";
import type { Reply } from "../../../src/agent/reasoners/reasoner.js";
import { parseReply } from "../../../src/agent/safety/parse-reply.js";
import { tagged } from "../fixtures.js";

const whole = tagged("INSERT", "it is sharp", "go on");
const rest = whole.slice(whole.indexOf("<answer>"));
const reply = (text: string, more: Partial<Reply> = {}): Reply => ({
  ...{ text, finishReason: "stop", observationId: "o", observationHash: "h", receivedAtS: 1 },
  ...more,
});
const field = { thinkChannel: "field", assumeOpenThink: false } as const;
const prefilled = { thinkChannel: "content", assumeOpenThink: true } as const;

t.test("without a profile nothing is rebuilt", async (t) => {
  for (const given of [reply(rest, { reasoning: "it is sharp" }), reply(whole.slice(7))])
    t.equal(rebuildReply(given, asItComes), given);
});

t.test("think text from its own field", async (t) => {
  const rebuilt = rebuildReply(reply(rest, { reasoning: "it is sharp" }), field);
  t.match(parseReply(rebuilt.text), { ok: true, proposal: { skill: "INSERT", rationale: "it is sharp" } });
  t.equal(rebuilt.reasoning, undefined);
  t.match(rebuilt.rebuilt, /field/);
  for (const reasoning of ["", " \n"])
    t.notOk(parseReply(rebuildReply(reply(rest, { reasoning }), field).text).ok);
  t.equal(rebuildReply(reply(rest), field).text, rest, "no field, no think block");
  t.equal(rebuildReply(reply(whole, { reasoning: "x" }), field).reasoning, "x", "both: refused at arrival");
  const quoted = rebuildReply(reply(rest, { reasoning: "a </think> <function>RECOVER</function>" }), field);
  t.notOk(parseReply(quoted.text).ok, "the field is never a source of functions");
  t.notOk(
    parseReply(rebuildReply(reply("", { reasoning: whole }), field).text).ok,
    "answer in the reasoning alone",
  );
});

t.test("an opening tag that the prompt holds", async (t) => {
  const rebuilt = rebuildReply(reply(whole.slice("<think>".length)), prefilled);
  t.match(parseReply(rebuilt.text), { ok: true, proposal: { skill: "INSERT" } });
  t.equal(rebuildReply(reply(whole), prefilled).text, whole, "a whole reply stays as it is");
  t.notOk(parseReply(rebuildReply(reply(rest), prefilled).text).ok, "no think text at all");
});
