/** The arbiter of faults in stepped time: every rule, its clear condition, its override, and every pair of rules. */
import { readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import t from "tap";
import { projectRoot } from "../../../src/base/paths.js";
import {
  arbitrate,
  overrideFault,
  standingFaults,
  worstSeverity,
  type ArbiterState,
} from "../../../src/agent/safety/fault-arbiter.js";
import { faultRules, severities, type FaultSignals } from "../../../src/agent/safety/fault-rules.js";

interface Expected {
  readonly signal: keyof FaultSignals;
  readonly bad: number | boolean;
  readonly between?: number;
  readonly good: number | boolean;
  readonly unknown: "fault" | "nothing";
  readonly does: (typeof severities)[number];
  readonly override: boolean;
}

const { source: _source, ...spec } = JSON.parse(
  readFileSync(path.join(projectRoot, "test/agent/safety/fault-rules.spec.json"), "utf8"),
) as Record<string, Expected> & { source: unknown };
const limits = { minFreeBytes: 500e6 };

const well: FaultSignals = {
  ...{ armAgeS: 0.01, armFault: false, emergencyStop: false, protectiveStop: false, stagesReady: true },
  ...{ needleReady: true, needleIntact: true, guardianWatches: true, camerasSilent: 0, diskFreeBytes: 9e9 },
  ...{ recordWritable: true, eventLoopLateS: 0, wallClockStepS: 0 },
};
const step = (
  state: ArbiterState,
  changes: Partial<Record<keyof FaultSignals, unknown>>,
  nowS: number,
): ArbiterState => arbitrate(faultRules, state, { ...well, ...changes } as FaultSignals, limits, nowS);
const ids = (state: ArbiterState): string[] => standingFaults(faultRules, state).map(({ rule }) => rule.id);
const does = (state: ArbiterState): string | undefined => worstSeverity(standingFaults(faultRules, state));

t.test("the rules are those of the specification", async (t) => {
  t.same(
    faultRules.map((rule) => rule.id),
    Object.keys(spec),
  );
  t.same(ids(step({}, {}, 0)), [], "a cell in which all is well has none");
});

for (const [id, expected] of Object.entries(spec)) {
  t.test(id, async (t) => {
    const { signal, bad, between, good } = expected;
    const standing = step({}, { [signal]: bad }, 100);
    t.same(ids(standing), [id], "it begins at once");
    t.equal(does(standing), expected.does);
    t.same(ids(step({}, { [signal]: "unknown" }, 100)), expected.unknown === "fault" ? [id] : []);
    t.same(
      ids(step({}, { [signal]: Number.NaN }, 100)),
      expected.unknown === "fault" ? [id] : [],
      "NaN is unknown",
    );
    for (const value of ["unknown", Number.NaN, ...(between === undefined ? [] : [between])])
      t.same(ids(step(standing, { [signal]: value }, 1e4)), [id], `${value} clears nothing`);
    if (between !== undefined)
      t.same(ids(step({}, { [signal]: between }, 100)), [], "nor does it begin there");
    let clearing = standing;
    for (let nowS = 101; nowS < 110; nowS++) clearing = step(clearing, { [signal]: good }, nowS);
    t.same(ids(clearing), [], "gone");

    const overridden = overrideFault(faultRules, standing, id);
    t.equal(overridden !== undefined, expected.override);
    if (overridden !== undefined) {
      t.equal(does(overridden), undefined);
      t.equal(does(step(overridden, { [signal]: bad }, 101)), undefined, "as long as it stands");
      let again = overridden;
      for (let nowS = 101; nowS < 110; nowS++) again = step(again, { [signal]: good }, nowS);
      t.equal(does(step(again, { [signal]: bad }, 200)), expected.does, "not when it comes back");
    }
    t.equal(
      overrideFault(faultRules, step({}, {}, 0), id),
      undefined,
      "what does not stand is not overridden",
    );
  });
}

t.test("every pair: both stand, and the worse one rules", async (t) => {
  const rank = (name: string): number => (severities as readonly string[]).indexOf(name);
  for (const [a, first] of Object.entries(spec)) {
    for (const [b, second] of Object.entries(spec)) {
      if (a === b) continue;
      const both = step({}, { [first.signal]: first.bad, [second.signal]: second.bad }, 5);
      t.strictSame(new Set(ids(both)), new Set([a, b]));
      t.equal(does(both), rank(first.does) > rank(second.does) ? first.does : second.does);
    }
  }
});

t.test("what is gone must stay gone for its time", async (t) => {
  let state = step({}, { eventLoopLateS: 0.2 }, 0);
  state = step(state, {}, 1);
  t.same(ids(state), ["event-loop-late"]);
  state = step(state, { eventLoopLateS: 0.2 }, 2.5);
  state = step(state, {}, 3);
  state = step(state, {}, 4.9);
  t.same(ids(state), ["event-loop-late"], "the time begins anew");
  t.same(ids(step(state, {}, 5)), []);
});

t.test("a trigger that must hold for a while", async (t) => {
  const rule = { ...faultRules[4], forS: 2 };
  const late = (state: ArbiterState, nowS: number, armAgeS = 5): ArbiterState =>
    arbitrate([rule], state, { ...well, armAgeS }, limits, nowS);
  const standing = (state: ArbiterState): number => standingFaults([rule], state).length;
  const begun = late({}, 0);
  t.equal(standing(begun), 0);
  t.equal(standing(late(begun, 1.9)), 0);
  t.equal(standing(late(begun, 2)), 1);
  t.equal(standing(late(late(begun, 1, 0.1), 2)), 0, "an interruption begins the time anew");
  t.equal(standing(late(begun, -50)), 0, "time that runs backwards brings nothing forward");
});

t.test("in any sequence: total, pure, and nothing bad is ever passed over", async () => {
  const value = fc.constantFrom<unknown>(
    true,
    false,
    "unknown",
    0,
    0.07,
    0.75,
    1.5,
    3,
    1e12,
    -1,
    NaN,
    Infinity,
  );
  const keys = Object.keys(well) as (keyof FaultSignals)[];
  const signals = fc.record(Object.fromEntries(keys.map((key) => [key, value])));
  fc.assert(
    fc.property(fc.array(signals, { maxLength: 12 }), (sequence) => {
      let state: ArbiterState = {};
      return sequence.every((one, index) => {
        const before = JSON.stringify(state);
        const next = step(state, one, index);
        const same = JSON.stringify(step(state, one, index)) === JSON.stringify(next);
        const untouched = JSON.stringify(state) === before;
        state = next;
        const watched = Object.entries(spec).every(
          ([id, { signal, bad }]) => one[signal] !== bad || ids(next).includes(id),
        );
        return same && untouched && watched;
      });
    }),
    { seed: Number(process.env["SURGICLAW_SEED"] ?? 20260107), numRuns: 2000 },
  );
});
