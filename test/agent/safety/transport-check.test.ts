/** Failure modes that show only beside the text: 1, 9, 10, 25, 26, 35 of skill-agent.md section 6. */
import t from "tap";
import { checkTransport, type ReplyMetadata } from "../../../src/agent/safety/transport-check.js";

const observation = { id: "obs-7", hash: "ab".repeat(32), takenAtS: 100 };
const good: ReplyMetadata = {
  finishReason: "stop",
  observationId: "obs-7",
  observationHash: "ab".repeat(32),
  receivedAtS: 105,
};
const codes = (changes: object, nowS = 110): string[] =>
  checkTransport(nowS, { ...good, ...changes }, observation, { observationAgeS: 30 }).map(({ code }) => code);

t.test("a whole reply to this observation passes", async (t) => {
  t.same(codes({}), []);
  t.same(codes({ completionTokens: 511, tokenLimit: 512, toolCalls: [], reasoning: " " }), []);
  t.same(codes({}, 130), [], "at the age limit");
});

t.test("what the text cannot show", async (t) => {
  t.same(codes({ reasoning: "so I think" }), ["channel"], "1: think text in another channel");
  t.same(codes({ toolCalls: [{}] }), ["channel"], "9, 10: a native tool call");
  for (const reason of ["length", "tool_calls", "content_filter", "", "STOP", undefined]) {
    t.same(codes({ finishReason: reason }), ["finish"], `25: ${reason ?? "no"} finish reason`);
  }
  t.same(
    codes({ completionTokens: 512, tokenLimit: 512 }),
    ["truncated"],
    "26: at the limit, said to be a stop",
  );
  t.same(codes({ completionTokens: Number.NaN, tokenLimit: 512 }), ["truncated"]);
  t.same(codes({ observationId: "obs-6" }), ["stale"], "35: another observation");
  t.same(codes({ observationHash: "cd".repeat(32) }), ["stale"], "35: other content");
  t.same(codes({}, 130.5), ["stale"], "35: too old");
  t.same(codes({ receivedAtS: 99 }), ["stale"], "received before it was asked");
  t.same(codes({ receivedAtS: 111 }), ["stale"], "received in the future");
  t.same(codes({}, Number.NaN), ["stale", "stale"]);
});
