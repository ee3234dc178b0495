/** The needle's calibration on a synthetic head whose geometry is known, and what is refused. */
import t from "tap";
import { CellError } from "../../../src/base/errors.js";
import { Random } from "../../../src/base/random.js";
import {
  angleBetween,
  multiply,
  rotate,
  rotationFromVector,
  transpose,
  type Vec3,
} from "../../../src/base/transform.js";
import type { ViewModel } from "../../../src/agent/perception/view-model.js";
import {
  beginNeedle,
  planNeedle,
  runNeedle,
  type NeedleState,
} from "../../../src/lab/calibration/needle-run.js";
import { solveNeedle } from "../../../src/lab/calibration/needle-solution.js";
import { headTruth, SyntheticHead } from "./synthetic-head.js";

const seed = 41;
const { signal } = new AbortController();
const hooks = { onLook: () => undefined, keep: async () => Promise.resolve() };

/** The true views in the head's axes. */
function views(rig: SyntheticHead): readonly [ViewModel, ViewModel] {
  const headFromMicroscopes = multiply(
    transpose(multiply(rig.flange().rotation, rotationFromVector(headTruth.head[0]))),
    rotationFromVector(headTruth.microscopes[0]),
  );
  const rows = headTruth.map.map((row) => rotate(headFromMicroscopes, row));
  const view = (i: 0 | 1): ViewModel => ({
    rows: [rows[2 * i] ?? [NaN, NaN, NaN], rows[2 * i + 1] ?? [NaN, NaN, NaN]],
    offset: [0, 0],
    forward: [NaN, NaN, NaN],
  });
  return [view(0), view(1)];
}

const dates = { measuredAt: "2026-12-01T08:00:00Z", expiresAt: "2026-12-31T08:00:00Z" };

t.test(`axis and way of the drive are found (seed ${seed})`, async (t) => {
  const rig = new SyntheticHead(headTruth, new Random(seed, "whole"));
  const begun = await beginNeedle(rig, "lab-a", signal);
  rig.mark();
  const state = await runNeedle(rig, begun, hooks, signal);
  t.equal(rig.needle(), 0, "withdrawn again");
  t.ok(rig.lowestM > -2.501e-4, "the tip was never lower than before it was raised for the drive");
  const { items, axis, stroke } = solveNeedle(state.looks, { viewsInHead: views(rig), ...dates });
  t.ok(angleBetween(axis, headTruth.needle) < 1e-4);
  stroke.forEach((value, k) => {
    const off = value - (headTruth.stroke[k] ?? NaN);
    const sigma = Math.sqrt(items["needle.stroke"]?.covariance[k]?.[k] ?? NaN);
    t.ok(Math.abs(off) < 4 * sigma && Math.abs(off) < 3e-3, `${off} off, standard deviation ${sigma}`);
  });
  const between = Math.acos(
    headTruth.needle.reduce((sum, a, k) => sum + a * (headTruth.stroke[k] ?? NaN), 0) /
      Math.hypot(...headTruth.stroke),
  );
  t.ok(Math.abs((items["needle.misalignment"]?.values[0] ?? NaN) - between) < 2e-3);
  t.equal(items["needle.stroke"]?.residuals.heldOut, 8, "the looks on the way back");
  t.ok((items["needle.stroke"]?.residuals.rms ?? NaN) < 1e-6);
});

t.test("a drive that does not move the tip as it says is refused", async (t) => {
  const stuck: Vec3 = [0, 0, 0.5];
  const rig = new SyntheticHead({ ...headTruth, stroke: stuck }, new Random(seed, "stuck"));
  const state = await runNeedle(rig, await beginNeedle(rig, "lab-a", signal), hooks, signal);
  t.throws(() => solveNeedle(state.looks, { viewsInHead: views(rig), ...dates }), {
    code: "CALIBRATION_REFUSED",
    detail: /the tip went 0\.\d+ m per metre of the drive; 1 ± 0\.08 is needed/,
  });
});

t.test("broken off, the needle is withdrawn and the run goes on where it was", async (t) => {
  const rig = new SyntheticHead(headTruth, new Random(seed, "interrupted"));
  const begun = await beginNeedle(rig, "lab-a", signal);
  let kept: NeedleState = begun;
  const look = rig.look.bind(rig);
  let left = 6;
  rig.look = async () => {
    if (left-- === 0) throw new CellError("VISION_UNKNOWN", "view 1 does not show the needle");
    return look();
  };
  const keep = async (state: NeedleState): Promise<void> => {
    kept = state;
    return Promise.resolve();
  };
  await t.rejects(runNeedle(rig, begun, { ...hooks, keep }, signal), { code: "VISION_UNKNOWN" });
  t.equal(rig.needle(), 0);
  t.equal(kept.looks.length, 6);
  rig.look = look;
  const visited: string[] = [];
  await runNeedle(rig, kept, { ...hooks, onLook: (_, __, { id }) => void visited.push(id) }, signal);
  t.equal(visited.length, planNeedle().length - 6);
  await t.rejects(runNeedle(rig, kept, hooks, signal), {
    code: "CALIBRATION_REFUSED",
    detail: /the stages stand 2\d\d\.\d µm from where/,
  });
});
