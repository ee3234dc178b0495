import t from "tap";
import { TruthHistory } from "../../src/twin/truth-history.js";

type Sample = Parameters<TruthHistory["push"]>[0];

/** Every field is linear in time, with a factor of its own. */
const sample = (timeS: number): Sample => ({
  timeS,
  tip: [timeS, 2 * timeS, 3 * timeS],
  axis: [4 * timeS, 5 * timeS, 6 * timeS],
  shift: [7 * timeS, 8 * timeS, 9 * timeS],
  focusM: [10 * timeS, 11 * timeS],
  wanderM: [
    [12 * timeS, 13 * timeS],
    [14 * timeS, 15 * timeS],
  ],
  light: 16 * timeS,
});
const flat = (s: Sample | undefined): number[] =>
  s === undefined
    ? []
    : [s.timeS, ...s.tip, ...s.axis, ...s.shift, ...s.focusM, ...s.wanderM.flat(), s.light];

t.test("any kept moment is interpolated, field by field", async (t) => {
  const history = new TruthHistory(10);
  [1, 2, 4].forEach((timeS) => history.push(sample(timeS)));
  for (const timeS of [1, 1.25, 2, 3, 4])
    flat(history.at(timeS)).forEach((value, i) =>
      t.ok(Math.abs(value - Math.max(1, i) * timeS) < 1e-9, `field ${i} at ${timeS} s`),
    );
});

t.test("outside what is kept nothing is made up", async (t) => {
  const history = new TruthHistory(10);
  t.equal(history.at(1), undefined, "empty");
  [1, 2].forEach((timeS) => history.push(sample(timeS)));
  t.equal(history.at(0.99), undefined);
  t.equal(history.at(2.2), undefined);
  t.same(history.at(2.05), sample(2), "the newest stands for the moment until the next");
});

t.test("the ring forgets the oldest and still finds the rest", async (t) => {
  const history = new TruthHistory(4);
  for (let timeS = 1; timeS <= 10; timeS++) history.push(sample(timeS));
  t.equal(history.at(6.9), undefined);
  for (const timeS of [7, 7.5, 8.5, 9.5, 10])
    t.ok(Math.abs((history.at(timeS)?.tip[1] ?? NaN) - 2 * timeS) < 1e-9);
});
