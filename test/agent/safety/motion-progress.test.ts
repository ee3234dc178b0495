/** A needle that does not get on, in stepped time. */
import t from "tap";
import { MotionProgress } from "../../../src/agent/safety/motion-progress.js";

const bounds = { leastM: 20e-6, withinS: 0.5, restS: 0.2, arrivalM: 10e-6 };

/** Looks every 20 ms at what a course says; resolves with the first complaint and when it came. */
function follow(
  goalsM: readonly number[],
  course: (timeS: number) => number,
  untilS: number,
): { why: string | undefined; atS: number } {
  const progress = new MotionProgress(goalsM, bounds, 0);
  for (let k = 1; k * 0.02 <= untilS; k++) {
    const why = progress.look(k * 0.02, course(k * 0.02));
    if (why !== undefined) return { why, atS: k * 0.02 };
  }
  return { why: undefined, atS: untilS };
}

/** Down 3 mm at 10 mm/s, a rest of 0.2 s, and back. */
const stroke = (timeS: number): number =>
  timeS < 0.3 ? 0.01 * timeS : timeS < 0.5 ? 0.003 : Math.max(0, 0.003 - 0.01 * (timeS - 0.5));

t.test("a stroke as planned", async (t) => {
  t.equal(follow([0.003, 0], stroke, 5).why, undefined, "also long after its end");
});

t.test("stuck on the way down", async (t) => {
  const { why, atS } = follow([0.003, 0], (s) => Math.min(stroke(s), 0.001), 5);
  t.match(why, /on its way it made no progress for 0\.5.* 2000 µm before/);
  t.ok(atS > 0.55 && atS < 0.7, `${atS}`);
});

t.test("stuck while withdrawing", async (t) => {
  const { why, atS } = follow([0.003, 0], (s) => (s < 0.5 ? stroke(s) : Math.max(stroke(s), 0.002)), 5);
  t.match(why, /withdrawing it made no progress/);
  t.ok(atS > 0.9 && atS < 1.3, `${atS}`);
});

t.test("never begins, never withdraws, goes the wrong way", async (t) => {
  t.match(follow([0.003, 0], () => 0, 5).why, /no progress/);
  const dwelling = follow([0.003, 0], (s) => Math.min(0.01 * s, 0.003), 5);
  t.match(dwelling.why, /withdrawing it made no progress/, "the planned rest is allowed, no more");
  t.ok(dwelling.atS > 0.3 + 0.2 + 0.5 - 0.05, `${dwelling.atS}`);
  t.match(follow([0.003], (s) => -0.01 * s, 5).why, /moves away from its goal/);
});

t.test("a turning point between two looks is none of its faults", async (t) => {
  t.equal(follow([0.003, 0], (s) => (s < 0.1 ? 0.02 * s : 0), 5).why, undefined);
});

t.test("creeping counts as standing; noise does not count as turning back", async (t) => {
  t.match(follow([0.003], (s) => 20e-6 * s, 5).why, /no progress/, "20 µm in a second");
  t.equal(
    follow([0.003], (s) => Math.min(0.01 * s + (s % 0.04 < 0.02 ? 5e-6 : -5e-6), 0.003), 1).why,
    undefined,
  );
});

t.test("positions and times that are no numbers are no progress", async (t) => {
  t.match(follow([0.003], () => NaN, 5).why, /no progress/);
  t.match(
    new MotionProgress([1], bounds, 0).look(NaN, 0.5) ?? new MotionProgress([1], bounds, NaN).look(1, NaN),
    /no progress/,
  );
});
