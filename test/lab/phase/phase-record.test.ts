/** Replies: what is a record and what is not, in both forms. */
import t from "tap";
import { stepAtTime } from "../../../src/lab/phase/episode.js";
import { parseRecord } from "../../../src/lab/phase/phase-record.js";
import { taskVocabulary } from "../../../src/lab/phase/task-vocabulary.js";

t.test("steps: exactly one object with exactly three keys", async (t) => {
  const block = await taskVocabulary("BlockPick");
  const good: [string, object][] = [
    [
      '{"phase":"lift","arrival":[12,24],"confidence":0.8}',
      { phase: "lift", arrival: [12, 24], confidence: 0.8 },
    ],
    [
      ' \n{"confidence":1,"phase":"approach","arrival":null}\n',
      { phase: "approach", arrival: null, confidence: 1 },
    ],
    ['{"phase":"clear failure","arrival":null,"confidence":0}', { phase: "clear failure", arrival: null }],
    ['{"phase":"contact/grasp","arrival":[500,500],"confidence":0.5}', { arrival: [500, 500] }],
  ];
  for (const [text, record] of good) t.match(parseRecord(text, block, "steps"), { ok: true, record }, text);
  const bad: [string, RegExp][] = [
    ['```json\n{"phase":"lift","arrival":[1,2],"confidence":0.8}\n```', /not one JSON/],
    ['{"phase":"lift","arrival":[1,2],"confidence":0.8} Hope this helps', /not one JSON/],
    ['{"phase":"lift","arrival":[1,2],"confidence":0.8,}', /not one JSON/],
    ['[{"phase":"lift","arrival":[1,2],"confidence":0.8}]', /./],
    ['{"phase":"Lift","arrival":[1,2],"confidence":0.8}', /unknown phase "Lift"/],
    ['{"phase":"transfer","arrival":[1,2],"confidence":0.8}', /unknown phase/],
    ['{"phase":"lift","arrival":[3,2],"confidence":0.8}', /before it begins/],
    ['{"phase":"lift","arrival":[1.5,2],"confidence":0.8}', /arrival/],
    ['{"phase":"lift","arrival":["1",2],"confidence":0.8}', /arrival/],
    ['{"phase":"lift","arrival":[2],"confidence":0.8}', /arrival/],
    ['{"phase":"lift","arrival":[1,2],"confidence":1.01}', /confidence/],
    ['{"phase":"lift","arrival":[1,2],"confidence":"0.8"}', /confidence/],
    ['{"phase":"lift","arrival":[1,2]}', /confidence/],
    ['{"phase":"lift","arrival":[1,2],"confidence":0.8,"why":"seen"}', /why/],
    ['{"phase":"clear failure","arrival":[0,1],"confidence":0.8}', /has no arrival/],
    ['{"phase":"lift","phase":"approach","arrival":[1,2],"confidence":0.8}', /twice/],
    ['{"phase":"lift","\\u0070hase":"approach","arrival":[1,2],"confidence":0.8}', /twice/],
    ["", /not one JSON/],
    ["null", /./],
    [`"${"x".repeat(9000)}"`, /longer/],
  ];
  for (const [text, reason] of bad)
    t.match(parseRecord(text, block, "steps"), { ok: false, reason }, text.slice(0, 70));
});

t.test("seconds: by the recorded ends of the steps, never by a nominal rate", async (t) => {
  // 22 frames/s nominally, with a gap of half a second after the third.
  const times = [0.05, 0.09, 0.14, 0.64, 0.68];
  t.equal(stepAtTime(times, 0), 0);
  t.equal(stepAtTime(times, 0.05), 0);
  t.equal(stepAtTime(times, 0.051), 1);
  t.equal(stepAtTime(times, 0.4), 3, "a nominal rate would say 8");
  t.equal(stepAtTime(times, 0.68), 4);
  t.equal(stepAtTime(times, 0.69), undefined);

  const block = await taskVocabulary("BlockPick");
  const reply = (arrivals: object, more: object = {}): string =>
    JSON.stringify({ arrivals, confidence: 0.9, ...more });
  const none = { approach: null, "contact/grasp": null, lift: null, "stable success": null };
  const parse = (text: string) => parseRecord(text, block, "seconds", times);
  t.match(parse(reply({ ...none, approach: 0.02, lift: 0.4 })), {
    ok: true,
    record: { phase: "lift", arrival: [3, 3], confidence: 0.9 },
  });
  t.match(parse(reply(none)), { ok: true, record: { phase: "clear failure", arrival: null } });
  const bad: [string, RegExp][] = [
    [reply({ ...none, approach: 0.3, lift: 0.2 }), /before an earlier phase/],
    [reply({ ...none, approach: 9 }), /after the recorded steps/],
    [reply({ ...none, approach: -1 }), /approach/],
    [reply({ approach: 0.1 }), /"contact\/grasp" is missing/],
    [reply({ ...none, "clear failure": 0 }), /unknown phase/],
    [reply({ ...none, transfer: 0.1 }), /unknown phase/],
    [reply(none, { note: 1 }), /note/],
    ['{"arrivals":{"lift":0.1,"lift":0.2},"confidence":1}', /twice/],
    ['{"phase":"lift","arrival":[1,2],"confidence":0.8}', /./],
  ];
  for (const [text, reason] of bad) t.match(parse(text), { ok: false, reason }, text);
});
