/**
 * Registration: the rigid fit against cases made by hand, the whole run on a synthetic head whose geometry is known, what is
 * refused. Scatter of the held-out errors against Fitzpatrick and West (skill-agent.md 13.2).
 */
import t from "tap";
import { CellError } from "../../../src/base/errors.js";
import { Random } from "../../../src/base/random.js";
import {
  multiply,
  rotate,
  rotationFromVector,
  transpose,
  vectorFromRotation,
  type Vec3,
} from "../../../src/base/transform.js";
import {
  awayM,
  beginRegistration,
  runRegistration,
  type RegistrationState,
} from "../../../src/lab/calibration/registration-run.js";
import { fitRigid, solveRegistration } from "../../../src/lab/calibration/registration-solution.js";
import { headTruth, SyntheticHead, type HeadTruth } from "./synthetic-head.js";

const seed = 31;
const { signal } = new AbortController();
const hooks = { onArrival: () => undefined, keep: async () => Promise.resolve() };

/** The rows of the views in the arm's base, as a calibration has them. */
const mapInBase = headTruth.map.map((row) => rotate(rotationFromVector(headTruth.microscopes[0]), row));
const context = {
  map: mapInBase,
  size: [2048, 2048],
  measuredAt: "2026-12-01T08:00:00Z",
  expiresAt: "2026-12-31T08:00:00Z",
} as const;

async function measured(
  truth: HeadTruth,
  stream: string,
): Promise<{ rig: SyntheticHead; state: RegistrationState }> {
  const rig = new SyntheticHead(truth, new Random(seed, stream));
  rig.reportedHead = truth.head;
  const state = await runRegistration(rig, await beginRegistration(rig, "lab-a", signal), hooks, signal);
  return { rig, state };
}

t.test("a quarter turn about z and (1, 2, 3), by hand", async (t) => {
  const source: readonly Vec3[] = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
    [1, 1, 0],
  ];
  const target: readonly Vec3[] = [
    [1, 3, 3],
    [0, 2, 3],
    [1, 2, 4],
    [0, 3, 3],
  ];
  const { rotation, translation } = fitRigid(source, target);
  [0, 0, Math.PI / 2].forEach((expected, k) =>
    t.ok(Math.abs((vectorFromRotation(rotation)[k] ?? NaN) - expected) < 1e-12),
  );
  [1, 2, 3].forEach((expected, k) => t.ok(Math.abs((translation[k] ?? NaN) - expected) < 1e-12));
  t.throws(() => fitRigid(source.slice(0, 2), target.slice(0, 2)), { code: "CALIBRATION_REFUSED" });
  const line: readonly Vec3[] = [
    [0, 0, 0],
    [1e-3, 0, 0],
    [2e-3, 1e-5, 0],
    [3e-3, 0, 0],
  ];
  t.throws(() => fitRigid(line, line), {
    code: "CALIBRATION_REFUSED",
    detail: /4 fiducials extend 1\.118 mm along their line and 0\.00\d mm across it.*10 % across/,
    remedy: /on a line/,
  });
});

t.test("six fiducials with error: the error at a target is what theory says", async (t) => {
  // The published case: FLE 0.3 (root mean square over three axes), TRE 0.1706.
  const random = new Random(seed, "theory");
  const fiducials: readonly Vec3[] = [
    [10, 0, 0],
    [-10, 0, 0],
    [0, 10, 0],
    [0, -10, 3],
    [5, 5, -4],
    [-6, 3, 2],
  ];
  const target: Vec3 = [4, -3, 6];
  const draws = 3000;
  let squares = 0;
  for (let n = 0; n < draws; n++) {
    const seen = fiducials.map(([x, y, z]): Vec3 => {
      const noise = (): number => random.normal(0, 0.3 / Math.sqrt(3));
      return [x + noise(), y + noise(), z + noise()];
    });
    const { rotation, translation } = fitRigid(seen, fiducials);
    const [x, y, z] = rotate(rotation, target);
    squares += (x + translation[0] - 4) ** 2 + (y + translation[1] + 3) ** 2 + (z + translation[2] - 6) ** 2;
  }
  const tre = Math.sqrt(squares / draws);
  t.ok(Math.abs(tre - 0.1706) < 0.006, `TRE ${tre}, theory 0.1706`);
});

t.test(`the whole run: both frames, and the arm away before every arrival (seed ${seed})`, async (t) => {
  const { rig, state } = await measured(headTruth, "whole");
  t.equal(rig.awayM.length, 5);
  t.ok(rig.awayM.every((m) => m >= 0.02) && awayM >= 0.02, "by 20 mm at least");
  const items = solveRegistration(state.arrivals, context);
  // The map is in the base: the rotation from image to robot is none, the one into the head is flange and head turned back.
  const turn = items["registration.base.rotation"]?.values ?? [];
  turn.forEach((value, k) => t.ok(Math.abs(value) < 2e-3, `turn ${k}: ${value} rad`));
  // headFromBase is the transpose of flange times head.
  const expectedTurn = transpose(
    multiply(rig.flange().rotation, rotationFromVector(headTruth.head[0])),
  ).flat();
  const [x = NaN, y = NaN, z = NaN] = items["registration.stages.rotation"]?.values ?? [];
  const found = rotationFromVector([x, y, z]).flat();
  expectedTurn.forEach((value, k) => t.ok(Math.abs((found[k] ?? NaN) - value) < 2e-3, `entry ${k}`));
  const base = items["registration.base.tre"];
  const stages = items["registration.stages.tre"];
  t.equal(base?.residuals.heldOut, 15);
  t.equal(stages?.residuals.heldOut, 12, "one look of each arrival says where the head is");
  // Three arrivals fitted, three held out, each off by a normal of 33 µm per axis: the mean length is 1.6 · 33 µm · √(1 + 1/3).
  const expected = Math.sqrt(8 / Math.PI) * headTruth.arrivalM * Math.sqrt(4 / 3);
  const tre = base?.values[0] ?? NaN;
  t.ok(tre > 0.3 * expected && tre < 2 * expected, `${tre} m, about ${expected} m expected`);
  t.ok((stages?.values[0] ?? NaN) < 1e-6, `in the frame of the stages ${stages?.values[0]} m`);
});

t.test("the error at held-out targets is measured there, not at the fit", async (t) => {
  const { state } = await measured({ ...headTruth, arrivalM: 0 }, "moved");
  // Somebody pushed the microscopes by 100 px between the fitted and the held-out arrivals: no fit can know.
  const pushed = state.arrivals.map((arrival) =>
    arrival.kind === "fitted"
      ? arrival
      : {
          ...arrival,
          points: arrival.points.map((point) => ({
            ...point,
            tips: point.tips.map(([u, v]) => [u + 100, v]) as unknown as typeof point.tips,
          })),
        },
  );
  const before = solveRegistration(state.arrivals, context);
  const items = solveRegistration(pushed, context);
  t.strictSame(
    items["registration.base.translation"]?.values,
    before["registration.base.translation"]?.values,
  );
  t.ok((before["registration.base.tre"]?.values[0] ?? NaN) < 1e-6);
  t.ok((items["registration.base.tre"]?.values[0] ?? NaN) > 1e-4, "100 px are some 0.12 mm");
  const lost = pushed.map((arrival) => ({
    ...arrival,
    points: arrival.points.map((point) =>
      arrival.kind === "fitted"
        ? point
        : { ...point, tip: [point.tip[0] + 1e-3, point.tip[1], point.tip[2]] as [number, number, number] },
    ),
  }));
  t.throws(() => solveRegistration(lost, context), {
    code: "CALIBRATION_REFUSED",
    detail: /0\.\d+ mm|1\.\d+ mm/,
  });
  t.throws(() => solveRegistration(state.arrivals.slice(0, 3), context), {
    code: "CALIBRATION_REFUSED",
    detail: /no target was left out/,
  });
  const onLine = state.arrivals.map((arrival) => ({ ...arrival, points: arrival.points.slice(0, 2) }));
  t.throws(() => solveRegistration(onLine, context), {
    code: "CALIBRATION_REFUSED",
    detail: /fiducials extend/,
  });
});

t.test("a run that was interrupted goes on, but not with an arm that stands elsewhere", async (t) => {
  const rig = new SyntheticHead(headTruth, new Random(seed, "interrupted"));
  rig.reportedHead = headTruth.head;
  const begun = await beginRegistration(rig, "lab-a", signal);
  let kept = begun;
  const ending = new AbortController();
  const interrupted = runRegistration(
    rig,
    begun,
    {
      onArrival: (done) => {
        if (done === 2) ending.abort(new CellError("LINK_ABORTED", "interrupted"));
      },
      keep: async (state) => {
        kept = state;
        return Promise.resolve();
      },
    },
    ending.signal,
  );
  await t.rejects(interrupted, { code: "LINK_ABORTED" });
  t.equal(kept.arrivals.length, 2);
  const state = await runRegistration(rig, kept, hooks, signal);
  t.strictSame(
    state.arrivals.map(({ id }) => id),
    ["fitted-0", "fitted-1", "fitted-2", "held-out-0", "held-out-1", "held-out-2"],
  );
  await rig.turn([0.02, 0, 0]);
  await t.rejects(runRegistration(rig, kept, hooks, signal), {
    code: "CALIBRATION_REFUSED",
    detail: /0\.0200 rad from where the interrupted run had it/,
  });
});
