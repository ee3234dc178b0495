/** Cells, intervals and means of the report, from runs written by hand. */
import sharp from "sharp";
import t from "tap";
import { curveOf, curvesPicture } from "../../../src/lab/learning/curves-picture.js";
import { meanInterval } from "../../../src/lab/learning/mean-interval.js";
import type { MethodName } from "../../../src/lab/learning/methods.js";
import { reportOf } from "../../../src/lab/learning/policy-report.js";
import { policyTasks } from "../../../src/lab/learning/published-results.js";
import { runFormat, type PolicyRun } from "../../../src/lab/learning/run-file.js";
import { runSettings } from "../../../src/lab/learning/run-settings.js";

function made(task: string, method: MethodName, seed: number, successes: readonly number[]): PolicyRun {
  const settings = runSettings(task, method, seed, { updates: 100, pointEvery: 50 });
  return {
    format: runFormat,
    settings,
    support:
      method === "sparse"
        ? null
        : { path: "a", sha256: "b", source: "shaped", observer: "test", episodes: 3, transitions: 9 },
    instructionSet: "generic",
    finished: successes.length === 3,
    wallS: 1,
    curve: successes.map((count, index) => ({
      ...{
        updates: 50 * index,
        transitions: 100 * index,
        successes: count,
        episodes: 20,
        meanReturn: count / 20,
      },
    })),
  };
}

// t(0.975, 2) = 4.303: 1, 2, 3 have mean 2, spread 1, half width 4.303 / sqrt 3 = 2.484. R: t.test(c(1, 2, 3)).
t.test("mean with Student's interval", async (t) => {
  const interval = meanInterval([1, 2, 3]);
  t.equal(interval?.mean, 2);
  t.ok(Math.abs((interval?.half ?? 0) - 2.4843) < 1e-3);
  t.same(meanInterval([5]), { mean: 5, half: null, count: 1 });
  t.equal(meanInterval([]), undefined);
});

t.test("cells join seeds only, count finished runs, and stand beside the published value", async (t) => {
  const { cells, unfinished, fiveTasks } = reportOf([
    made("NeedlePick", "phase-arrival", 1, [0, 10, 16]),
    made("NeedlePick", "phase-arrival", 2, [0, 12, 20]),
    made("NeedlePick", "phase-arrival", 3, [0, 12]),
    made("NeedlePick", "sparse", 1, [0, 0, 1]),
  ]);
  t.equal(unfinished, 1);
  t.same(
    cells.map(({ method, success, published }) => [method, success.mean, success.count, published]),
    [
      ["phase-arrival", 90, 2, 86.8],
      ["sparse", 5, 1, 5],
    ],
  );
  t.same(fiveTasks, []);
  t.same(
    curveOf(cells[0]!).map(({ updates, mean }) => [updates, mean]),
    [
      [0, 0],
      [50, 55],
      [100, 90],
    ],
  );
});

t.test("the mean of the five tasks needs all five", async (t) => {
  const runs = policyTasks.map((task, index) => made(task, "oracle", 1, [0, 0, 4 * index]));
  t.match(reportOf(runs).fiveTasks, [{ method: "oracle", mean: 40, seeds: 1, published: 88.6 }]);
  t.same(reportOf(runs.slice(1)).fiveTasks, []);
});

t.test("curves become a picture in which something is drawn", async (t) => {
  const { cells } = reportOf([
    made("NeedlePick", "phase-arrival", 1, [0, 10, 16]),
    made("NeedlePick", "phase-arrival", 2, [0, 12, 20]),
  ]);
  const { data, info } = await sharp(curvesPicture("NeedlePick", cells))
    .raw()
    .toBuffer({ resolveWithObject: true });
  t.same([info.width, info.height], [960, 560]);
  const green = (x: number, y: number) => {
    const at = (y * info.width + x) * info.channels;
    return data[at + 1]! > 150 && data[at]! < 120;
  };
  // 55 % in the middle, 90 % at the end: on these columns the curve and its interval are green there and nowhere near 0.
  t.ok(green(380, Math.round(30 + 460 * 0.45)) && !green(300, 480));
});
