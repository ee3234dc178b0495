import t from "tap";
import { defaultPerceptionLimits as limits } from "../../../src/agent/perception/limits.js";
import { perceive } from "../../../src/agent/perception/perceive.js";
import {
  combineViews,
  viewConditions,
  type NeedleMeasurement,
} from "../../../src/agent/perception/visual-conditions.js";
import { makeObservation, observationHash } from "../../../src/agent/perception/observation.js";
import { goodFrames, goodState, goodVisual } from "../fixtures.js";

const needle: NeedleMeasurement = {
  found: true,
  reason: "",
  tipX: 1000,
  tipY: 1010,
  directionX: 0,
  directionY: 1,
  edgeSigmaPx: 1.2,
  tipSigmaPx: 0.2,
  confidence: 0.9,
};
const exposure = { mean: 120, p01: 10, p99: 220, clippedLow: 0, clippedHigh: 0.001 };
const view = (changes: object = {}, light: object = {}) =>
  viewConditions(
    { camera: "A", exposure: { ...exposure, ...light }, needle: { ...needle, ...changes } },
    limits,
  );

t.test("one view", async (t) => {
  t.match(view(), { sharp: true, exposureInBand: true, needleVisible: true, edgeSigmaPx: 1.2 });
  t.match(view({ edgeSigmaPx: 2.51 }), { sharp: false, needleVisible: true });
  t.match(view({ edgeSigmaPx: 0 }), { sharp: "unknown" });
  t.match(view({ confidence: 0.49 }), { needleVisible: false });
  t.match(view({ tipSigmaPx: Number.NaN }), { sharp: "unknown", needleVisible: "unknown" });
  t.match(view({ found: false, reason: "no dark bar" }), {
    sharp: "unknown",
    needleVisible: false,
    note: "no dark bar",
  });
  t.match(view({ found: false }, { mean: 250 }), { exposureInBand: false, needleVisible: "unknown" });
  t.match(view({}, { clippedHigh: 0.02 }), { exposureInBand: false });
  t.match(view({}, { mean: 59.9 }), { exposureInBand: false });
  t.match(view({}, { p99: Number.NaN }), { exposureInBand: "unknown" });
  t.match(viewConditions({ camera: "A" }, limits), {
    sharp: "unknown",
    exposureInBand: "unknown",
    needleVisible: "unknown",
  });
});

t.test("all views: true only when true in each; a missing one makes it unknown", async (t) => {
  const a = view();
  const b = { ...view(), camera: "B" };
  t.match(combineViews(["A", "B"], [a, b]), { sharp: true, usable: true });
  t.match(combineViews(["A", "B"], [a]), { sharp: "unknown", exposureInBand: "unknown", usable: "unknown" });
  t.match(combineViews(["A", "B"], [a, { ...b, sharp: false }]), { sharp: false, usable: false });
  t.match(combineViews([], []), { usable: "unknown" });
  const pose = { needleAngleRad: 0.02, tipErrorM: [1e-6, 2e-6] };
  t.match(combineViews(["A", "B"], [a, b], pose), pose);
  t.notOk("needleAngleRad" in combineViews(["A"], [a], { ...pose, needleAngleRad: Number.NaN }));
});

t.test("a measurement that fails makes its conditions unknown, never true", async (t) => {
  const frame = (camera: string) => ({ camera }) as never;
  const native = {
    measureImage: async () => ({ ...exposure, p50: 110, brenner: 1, tenengrad: 1 }),
    findNeedle: async (lease: { camera: string }) => {
      if (lease.camera === "B") throw new Error("out of memory");
      return { ...needle, widthPx: 34, angleSigmaRad: 1e-4 };
    },
  };
  const { visual, needles } = await perceive([frame("A"), frame("B")], native, {
    cameras: ["A", "B"],
    limits,
    pose: () => {
      throw new Error("not with one needle");
    },
  });
  t.match(visual, { exposureInBand: true, sharp: "unknown", needleVisible: "unknown", usable: "unknown" });
  t.match(visual.views[1]?.note, /out of memory/);
  t.same([...needles.keys()], ["A"]);
});

t.test("an observation is as old as its oldest part, and its hash covers everything", async (t) => {
  const parts = { query: "q", frames: goodFrames(10), state: goodState(9.5), visual: goodVisual() };
  const observation = makeObservation(parts, "obs-9");
  t.equal(observation.takenAtS, 9.5);
  t.match(observation.hash, /^[0-9a-f]{64}$/);
  for (const changed of [
    { ...observation, query: "p" },
    { ...observation, id: "obs-8" },
    { ...observation, state: goodState(9.5, { registered: "unknown" }) },
    { ...observation, frames: goodFrames(10.000001) },
    { ...observation, visual: goodVisual({ sharp: "unknown" }) },
  ]) {
    t.not(observationHash(changed), observation.hash);
  }
  t.not(makeObservation(parts).id, makeObservation(parts).id);
});
