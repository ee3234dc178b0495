import t from "tap";
import { spread, wilson } from "../../../src/lab/evaluation/statistics.js";

t.test("Wilson's interval has the values of skill-agent.md 9.5", async (t) => {
  const fixtures = [
    [44, 50, 76.2, 94.4],
    [38, 50, 62.6, 85.7],
    [33, 50, 52.2, 77.6],
    [299, 300, 98.1, 99.9],
    [294, 300, 95.7, 99.1],
    [0, 20, 0, 16.1],
    [20, 20, 83.9, 100],
    [36, 40, 76.9, 96.0],
    [40, 40, 91.2, 100],
  ] as const;
  for (const [count, of, low, high] of fixtures) {
    const [l = NaN, h = NaN] = wilson(count, of).interval ?? [];
    t.ok(Math.abs(l * 100 - low) < 0.05 && Math.abs(h * 100 - high) < 0.05, `${count} of ${of}: ${l}, ${h}`);
  }
});

t.test("mean, sample SD and worst of a set worked by hand", async (t) => {
  // 2, 4, 9: mean 5, squares 9 + 1 + 16 = 26, over 2.
  t.same(spread([2, 4, 9]), { mean: 5, sd: Math.sqrt(13), max: 9 });
  t.same(spread([3]), { mean: 3, sd: 0, max: 3 });
  t.equal(spread([]), undefined);
});
