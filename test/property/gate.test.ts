/** Metamorphic properties of the gate: tightening a limit or losing knowledge never widens what is allowed. */
import fc from "fast-check";
import t from "tap";
import { judge } from "../../src/agent/safety/gate.js";
import { skillNames } from "../../src/agent/safety/skill-names.js";
import type { Tri } from "../../src/agent/safety/conditions.js";
import type { CellState, Observation } from "../../src/agent/safety/types.js";
import { goodFrames, goodObservation, goodState, goodVisual, limits } from "../agent/fixtures.js";

const seed = Number(process.env["SURGICLAW_SEED"] ?? 20260107);
t.comment(`seed ${seed}`);
/** 1 in `npm test`; `npm run test:property` sets more. */
const share = Math.min(Number(process.env["SURGICLAW_PROPERTY_SHARE"] ?? 1), 10);

const likely = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Tri>(true) },
  { weight: 1, arbitrary: fc.constant<Tri>(false) },
  { weight: 1, arbitrary: fc.constant<Tri>("unknown") },
);
const unlikely = likely.map((value): Tri => (value === "unknown" ? value : !value));
const time = fc.double({ min: 0, max: 40 });

const situation = fc.record({
  skill: fc.constantFrom(...skillNames),
  age: fc.oneof(fc.double({ min: 0, max: 40, noNaN: true }), fc.constant(Number.NaN), fc.constant(-1)),
  stop: unlikely,
  selfCheck: likely,
  camera: likely,
  singular: unlikely,
  registered: likely,
  aligned: likely,
  electrode: likely,
  out: likely,
  targets: fc.oneof(fc.constant<number | "unknown">("unknown"), fc.integer({ min: 0, max: 3 })),
  sharp: likely,
  exposure: likely,
  visible: likely,
  epoch: fc.integer({ min: 3, max: 5 }),
});
type Situation = typeof situation extends fc.Arbitrary<infer S> ? S : never;

const nowS = 1000;
function build(s: Situation): { observation: Observation; state: CellState } {
  const takenAtS = nowS - s.age;
  const state = goodState(nowS, {
    protectiveStop: s.stop,
    selfCheckOk: s.selfCheck,
    camerasOnline: { MIC1: s.camera, MIC2: true },
    nearSingularity: s.singular,
    registered: s.registered,
    aligned: s.aligned,
    alignedEpoch: s.epoch,
    electrodeAvailable: s.electrode,
    needleOutOfTissue: s.out,
    targetsLeft: s.targets,
  });
  const visual = goodVisual({ sharp: s.sharp, exposureInBand: s.exposure, needleVisible: s.visible });
  return {
    observation: { ...goodObservation(nowS), takenAtS, frames: goodFrames(takenAtS), visual },
    state,
  };
}
const allowed = (s: Situation, with_ = limits): boolean => {
  const { observation, state } = build(s);
  return judge(nowS, { skill: s.skill }, observation, state, with_).allowed;
};

t.test("tightening any limit only shrinks what is allowed", async () => {
  fc.assert(
    fc.property(situation, time, time, time, (s, observationAgeS, frameAgeS, stateAgeS) => {
      const tighter = {
        ...limits,
        observationAgeS: Math.min(limits.observationAgeS, observationAgeS),
        frameAgeS: Math.min(limits.frameAgeS, frameAgeS),
        stateAgeS: Math.min(limits.stateAgeS, stateAgeS),
      };
      return !allowed(s, tighter) || allowed(s, limits);
    }),
    { seed, numRuns: 10000 * share },
  );
});

t.test(
  "an input that becomes unknown never permits what was refused, but for the image adjustments",
  async () => {
    const keys = [
      "stop",
      "selfCheck",
      "camera",
      "singular",
      "registered",
      "aligned",
      "electrode",
      "out",
    ] as const;
    fc.assert(
      fc.property(situation, fc.constantFrom(...keys), (s, key) => {
        return !allowed({ ...s, [key]: "unknown" }) || allowed(s);
      }),
      { seed, numRuns: 10000 * share },
    );
  },
);

t.test("unknown image conditions permit no skill that needs a usable image", async () => {
  fc.assert(
    fc.property(situation, fc.constantFrom("sharp", "exposure", "visible"), (s, key) => {
      const spoilt = { ...s, [key]: "unknown" as const };
      return !["SPATIAL_REGISTRATION", "ALIGN_NEEDLE", "INSERT"].includes(s.skill) || !allowed(spoilt);
    }),
    { seed, numRuns: 5000 * share },
  );
});

t.test("same input, same verdict; reasons exactly when refused", async () => {
  fc.assert(
    fc.property(situation, (s) => {
      const { observation, state } = build(s);
      const one = judge(nowS, { skill: s.skill }, observation, state, limits);
      const two = judge(nowS, { skill: s.skill }, observation, state, limits);
      return (
        JSON.stringify(one) === JSON.stringify(two) &&
        one.allowed === (one.reasons.length === 0) &&
        (one.violations.length === 0 || !one.allowed)
      );
    }),
    { seed, numRuns: 3000 * share },
  );
});
