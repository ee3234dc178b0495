import t from "tap";
import { MotionLog } from "../../src/twin/motion-log.js";

t.test("a motion lasts from its first step to its last, once the axis has stood long enough", async (t) => {
  const log = new MotionLog(0.05);
  const positions = [5, 5, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8];
  positions.forEach((position, i) => log.observe("stage", 3, position, i * 0.01, 0.5));
  t.same(log.motions, [{ device: "stage", axis: 3, startS: 0.03, endS: 0.05, from: 5, to: 8 }]);
});

t.test("what still moves is listed without an end", async (t) => {
  const log = new MotionLog();
  log.observe("needle", 1, 0, 1, 0.1);
  log.observe("needle", 1, 1, 1.01, 0.1);
  t.same(log.motions, []);
  t.same(log.all(), [{ device: "needle", axis: 1, startS: 1.01, endS: undefined, from: 0, to: 1 }]);
});

t.test("a short halt does not split a motion, a long one does", async (t) => {
  const log = new MotionLog(0.05);
  const walk = (pauseSteps: number): void => {
    const steps = [
      0,
      1,
      ...Array.from({ length: pauseSteps }, () => 1),
      2,
      ...Array.from({ length: 9 }, () => 2),
    ];
    steps.forEach((position, i) => log.observe("arm", pauseSteps, position, i * 0.01, 0.5));
  };
  walk(3);
  t.equal(log.motions.length, 1);
  walk(9);
  t.same(
    log.motions.filter(({ axis }) => axis === 9).map(({ from, to }) => [from, to]),
    [
      [0, 1],
      [1, 2],
    ],
  );
});

t.test("trembling below the tolerance is standing, creeping above it in sum is not", async (t) => {
  const log = new MotionLog(0.05);
  for (let i = 0; i < 50; i++) log.observe("arm", 0, (i % 2) * 0.4, i * 0.01, 0.5);
  t.same(log.all(), []);
  for (let i = 0; i < 50; i++) log.observe("arm", 1, i * 0.2, i * 0.01, 0.5);
  t.equal(log.all().length, 1, "each step is small, the way is not");
});
