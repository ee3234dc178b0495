import t from "tap";
import { lostInvariant } from "../../../src/agent/safety/guard.js";
import { skillNames } from "../../../src/agent/safety/skill-names.js";
import { cameras, goodState } from "../fixtures.js";

const nowS = 50;
const limits = { cameras, stateAgeS: 0.5 };
const lost = (skill: (typeof skillNames)[number], changes: object): string | undefined =>
  lostInvariant(skill, nowS, goodState(nowS, changes), limits)?.condition;

t.test("nothing is lost while all is well", async (t) => {
  for (const skill of skillNames) t.equal(lost(skill, {}), undefined, skill);
});

t.test("unknown is as good as lost; a stop is never itself stopped", async (t) => {
  for (const value of [true, "unknown"]) {
    for (const skill of skillNames.filter((name) => name !== "SAFE_STOP")) {
      t.equal(lost(skill, { protectiveStop: value }), "noStopLatched", skill);
    }
    t.equal(lost("SAFE_STOP", { protectiveStop: value, selfCheckOk: false }), undefined);
  }
  t.equal(lost("INSERT", { readAtS: nowS - 0.51 }), "stateFresh");
  t.equal(lost("INSERT", { readAtS: Number.NaN }), "stateFresh");
});

t.test("each skill may do what it is for", async (t) => {
  t.equal(lost("INSERT", { needleOutOfTissue: false }), undefined, "the stroke enters tissue");
  t.equal(lost("ALIGN_NEEDLE", { needleOutOfTissue: "unknown" }), "needleOutOfTissue");
  t.equal(lost("RECOVER", { camerasOnline: { MIC1: false, MIC2: true }, nearSingularity: true }), undefined);
  t.equal(lost("ALIGN_NEEDLE", { camerasOnline: { MIC1: false, MIC2: true } }), "camerasOnline");
  t.equal(lost("INSERT", { nearSingularity: true }), "notNearSingularity");
  t.equal(lost("SPATIAL_REGISTRATION", { registered: false }), undefined);
  t.equal(lost("ALIGN_NEEDLE", { registered: false }), "registered");
  t.equal(lost("ADJUST_FOCUS", { needleOutOfTissue: false }), "needleOutOfTissue");
});
