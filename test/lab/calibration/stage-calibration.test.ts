/** Stage calibration on synthetic stages and views of known geometry: what it finds, when it refuses, how it goes on. */
import t from "tap";
import type { CalibrationItem } from "../../../src/base/calibration-file.js";
import { CellError } from "../../../src/base/errors.js";
import { Random } from "../../../src/base/random.js";
import { beginStages, runStages, stepsOf, type StageState } from "../../../src/lab/calibration/stage-run.js";
import { solveStages } from "../../../src/lab/calibration/stage-solution.js";
import { SyntheticRig, truth } from "./synthetic-rig.js";

const seed = 11;
const { signal } = new AbortController();
const hooks = { onStep: () => undefined, keep: async () => Promise.resolve() };
/** A quarter turn about z: robot coordinates (x, y, z) = (-Y, X, Z) of the head. */
const context = {
  baseFromHead: [
    [0, -1, 0],
    [1, 0, 0],
    [0, 0, 1],
  ],
  viewNames: ["left", "right"],
  measuredAt: "2026-12-01T08:00:00Z",
  expiresAt: "2026-12-31T08:00:00Z",
} as const;

const makeRig = (stream: string, known = truth): SyntheticRig =>
  new SyntheticRig(known, new Random(seed, stream));
const solved = (state: StageState): Record<string, CalibrationItem> =>
  solveStages(state.observations, { ...context, follow: state.follow });

async function measured(rig: SyntheticRig): Promise<StageState> {
  return runStages(rig, await beginStages(rig, "lab-a", [0, 0, 0, 0, 0, 0], signal), hooks, signal);
}

async function refusal(work: Promise<unknown>): Promise<CellError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof CellError) return error;
  throw new Error(`not refused: ${String(error)}`);
}

const item = (items: Readonly<Record<string, CalibrationItem>>, name: string): CalibrationItem => {
  const found = items[name];
  if (found === undefined) throw new Error(`there is no item ${name}`);
  return found;
};

t.test(`known geometry is found within what its covariance says (seed ${seed})`, async (t) => {
  const rig = makeRig("whole");
  const before = rig.position();
  const state = await measured(rig);
  const items = solved(state);
  t.ok(rig.deepestZ <= before.z, "the tip never goes deeper than it was");
  t.strictSame(rig.position(), state.origin, "back at the origin");

  for (const [n, axis] of (["x", "y", "z"] as const).entries()) {
    const { values, covariance } = item(items, `stage.${axis}.direction`);
    const expected = [0, 1].flatMap((i) =>
      [0, 1].map((k) => {
        const row = truth.views[i as 0 | 1][k as 0 | 1];
        const d = truth.axes[n as 0 | 1 | 2];
        const moved = (row[0] * d[0] + row[1] * d[1] + row[2] * d[2]) / truth.metresPerPixel[i as 0 | 1];
        // The focus follows, and its axis moves the picture.
        return moved + truth.drift[i as 0 | 1][k as 0 | 1] * rig.focusFollows(axis)[i as 0 | 1];
      }),
    );
    values.forEach((value, j) => {
      const off = Math.abs(value - (expected[j] ?? NaN));
      t.ok(off < 800, `${axis}: ${off.toFixed(0)} px/m off, of 850,000`);
      t.ok(off < 4 * Math.sqrt(covariance[j]?.[j] ?? NaN), "within four of its own standard deviations");
    });
    const lost = item(items, `stage.${axis}.lostMotion`);
    const off = Math.abs((lost.values[0] ?? NaN) - truth.lostMotionM);
    t.ok(off < 0.12e-6, `${axis}: lost motion ${off} m off`);
    t.ok(off < 4 * Math.sqrt(lost.covariance[0]?.[0] ?? NaN), "within four of its own standard deviations");
    const lead = item(items, `stage.${axis}.leadError`);
    t.ok(
      lead.values.every((value) => Math.abs(value) < 0.4e-6),
      "stages without lead error show none beyond noise",
    );
    t.equal(lead.at?.values.length, lead.values.length);
  }

  const square = item(items, "stage.squareness");
  [0.004, -0.003, 0.002].forEach((expected, k) => {
    const off = Math.abs((square.values[k] ?? NaN) - expected);
    t.ok(
      off < 3 * Math.sqrt(square.covariance[k]?.[k] ?? NaN),
      "within three of its own standard deviations",
    );
  });

  // By the quarter turn: a robot displacement along x is one along -Y of the head.
  const map = item(items, "left.map");
  const towards = truth.views[0][0][1] * truth.axes[1][1] + truth.views[0][0][0] * truth.axes[1][0];
  const added = truth.drift[0][0] * rig.focusFollows("y")[0];
  const off = (map.values[0] ?? NaN) + towards / truth.metresPerPixel[0] + added;
  t.ok(Math.abs(off) < 800, "in robot coordinates");
  t.ok(map.residuals.rms < 0.4, `held out ${map.residuals.rms} px`);
  const drift = item(items, "stage.focus1.drift");
  t.ok(Math.abs((drift.values[0] ?? NaN) - 3000) < 2500, "across the needle, defocus does nothing");
});

t.test("with focus axes along the views the angles between the axes are found", async (t) => {
  const along = {
    ...truth,
    drift: [
      [0, 0],
      [0, 0],
    ],
  } as const;
  const square = item(solved(await measured(makeRig("along", along))), "stage.squareness");
  [0.004, -0.003, 0.002].forEach((expected, k) => {
    const off = Math.abs((square.values[k] ?? NaN) - expected);
    t.ok(off < 1.5e-3, `cosine ${k}: ${off} off`);
  });
});

t.test("held-out residuals show what the fit does not know", async (t) => {
  const rig = makeRig("bent");
  const state = await measured(rig);
  // Held-out poses alone displaced by 5 px: the fit must not follow, the residuals must tell.
  const bent = state.observations.map((one) =>
    one.kind === "held-out"
      ? { ...one, tips: one.tips.map(([u, v]) => [u + 5, v]) as unknown as typeof one.tips }
      : one,
  );
  const items = solved({ ...state, observations: bent });
  t.ok(Math.abs(item(items, "left.map").residuals.rms - 5 / Math.SQRT2) < 0.4);
  t.strictSame(item(items, "left.map").values, item(solved(state), "left.map").values);
});

t.test("an interrupted run goes on where it was", async (t) => {
  const rig = makeRig("interrupted");
  const begun = await beginStages(rig, "lab-a", [0, 0, 0, 0, 0, 0], signal);
  let kept: StageState = begun;
  const ending = new AbortController();
  const interrupted = runStages(
    rig,
    begun,
    {
      onStep: (done) => {
        if (done === 20) ending.abort(new CellError("LINK_ABORTED", "interrupted"));
      },
      keep: async (state) => {
        kept = JSON.parse(JSON.stringify(state)) as StageState;
        return Promise.resolve();
      },
    },
    ending.signal,
  );
  t.equal((await refusal(interrupted)).code, "LINK_ABORTED");
  const done = new Set(kept.observations.map(({ id }) => id));
  t.ok(done.size >= 20);
  const visited: string[] = [];
  const state = await runStages(
    rig,
    kept,
    { ...hooks, onStep: (_, __, step) => void visited.push(step.id) },
    signal,
  );
  t.notOk(
    visited.some((id) => done.has(id)),
    "nothing is measured twice",
  );
  t.equal(visited.length + done.size, stepsOf(state).length);
  const lost = item(solved(state), "stage.x.lostMotion").values[0] ?? NaN;
  t.ok(Math.abs(lost - truth.lostMotionM) < 0.15e-6);
});

t.test("what cannot be measured is refused with what was measured and what to do", async (t) => {
  const shaking = makeRig("shaking");
  shaking.shakePx = 8;
  const moved = await refusal(measured(shaking));
  t.equal(moved.code, "CALIBRATION_REFUSED");
  t.match(moved.detail, /moved by 1\d\.\d px.*3 px are allowed/);
  t.equal(shaking.moves, 0, "nothing was moved");

  const atLimit = makeRig("limit");
  atLimit.limitsM = { ...atLimit.limitsM, x: { min: 0.9e-3, max: 1.2e-3 } };
  const limit = await refusal(measured(atLimit));
  t.match(limit.detail, /stage x: 0\.22 mm of travel are left, 0\.25 mm are needed/);
  t.match(limit.remedy, /middle of its travel/);

  const low = makeRig("low");
  low.limitsM = { ...low.limitsM, z: { min: 0, max: 1e-3 } };
  t.match((await refusal(measured(low))).detail, /stage z stands 0\.20 mm before its limit/);
  t.equal(low.moves, 0, "nothing was moved");

  const still = makeRig("stuck");
  const move = still.move.bind(still);
  still.move = async (targets, oneSided) => {
    const { y: _, ...others } = targets;
    await move(others, oneSided);
  };
  t.match((await refusal(measured(still))).detail, /stage y was moved by 100 µm, the tip by \d\.\d px/);
});

t.test("a run without approaches from both sides does not make up a lost motion", async (t) => {
  const state = await measured(makeRig("one-sided"));
  const from = state.observations.filter(({ kind }) => kind !== "above");
  t.throws(() => solved({ ...state, observations: from }), {
    code: "CALIBRATION_ILL_POSED",
    detail: /stage x: 0 approaches/,
  });
});
