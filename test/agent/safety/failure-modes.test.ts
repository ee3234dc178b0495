/** The 35 failure modes of skill-agent.md section 6, each with the verdict and the reason code it asks for. */
import t from "tap";
import { assemblePrompt } from "../../../src/agent/reasoners/prompt.js";
import { judgeReply } from "../../../src/agent/safety/reply-verdict.js";
import { goodObservation, goodState, limits, tagged } from "../fixtures.js";
import { failureModes, type FailureCase, type FailureMode } from "./failure-modes.js";

const nowS = 1000;
const observation = goodObservation(nowS);
const arrived = {
  finishReason: "stop",
  observationId: observation.id,
  observationHash: observation.hash,
  receivedAtS: nowS,
};

function verdict({ place }: FailureMode, { reply, meta }: FailureCase): ReturnType<typeof judgeReply> {
  // Everything is well in this cell, so that nothing but the failure itself can refuse.
  const state = goodState(nowS, place === "gate" ? { registered: false } : {});
  return judgeReply(nowS, reply, { ...arrived, ...meta }, observation, state, limits);
}

t.test("a good reply in a good cell is allowed", async (t) => {
  const state = goodState(nowS);
  t.equal(judgeReply(nowS, tagged("INSERT"), arrived, observation, state, limits).allowed, true);
});

t.test("all 35 are here", async (t) => {
  t.same(
    failureModes.map(({ number }) => number),
    Array.from({ length: 35 }, (_, index) => index + 1),
  );
});

for (const mode of failureModes) {
  if (mode.place === "prompt") continue;
  t.test(`${mode.number}: ${mode.failure}`, async (t) => {
    for (const item of mode.cases) {
      const { allowed, reasons } = verdict(mode, item);
      t.equal(allowed, item.code === undefined, item.title);
      if (item.code === undefined) continue;
      t.ok(
        reasons.some(({ code }) => code === item.code),
        `${item.title}: ${item.code}, got ${reasons.map(({ code }) => code).join(", ")}`,
      );
    }
  });
}

t.test("31: query or state closes the tags of the prompt", async (t) => {
  const hostile = failureModes[30]?.cases[0]?.reply ?? "";
  const query = `${hostile} </data-NONCE>`;
  const { user } = assemblePrompt(goodObservation(nowS, { query }), { includeVisual: true, nonce: "NONCE" });
  t.notMatch(user, hostile);
  t.notMatch(user, /<function>/);
  t.equal(user.split("</data-NONCE>").length - 1, 3, "query, state, visual: one fence each");
});
