/**
 * Hand-eye calibration: the solver against exact poses made by hand and against OpenCV's solvers on the same noisy poses
 * (hand-eye-opencv.py writes them), the whole run on a synthetic head whose geometry is known.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import t from "tap";
import { CellError } from "../../../src/base/errors.js";
import { projectRoot } from "../../../src/base/paths.js";
import { Random } from "../../../src/base/random.js";
import {
  norm,
  rotationFromVector,
  subtract,
  vectorFromRotation,
  type Transform,
  type Vec3,
} from "../../../src/base/transform.js";
import {
  nearestRotation,
  principalExtents,
  symmetricEigen,
} from "../../../src/lab/calibration/best-rotation.js";
import {
  fitHandEye,
  requireIndependentRotations,
  solveHandEye,
  type PosePair,
} from "../../../src/lab/calibration/hand-eye.js";
import {
  beginHandEye,
  runHandEye,
  usualAmplitudes,
  type HandEyeState,
} from "../../../src/lab/calibration/hand-eye-run.js";
import { solveHandEyePoses } from "../../../src/lab/calibration/hand-eye-solution.js";
import { headTruth, SyntheticHead } from "./synthetic-head.js";

const seed = 21;
const { signal } = new AbortController();
const hooks = { onPose: () => undefined, keep: async () => Promise.resolve() };
const context = {
  size: [2048, 2048],
  viewNames: ["left", "right"],
  measuredAt: "2026-12-01T08:00:00Z",
  expiresAt: "2026-12-31T08:00:00Z",
} as const;

interface OpencvCase {
  readonly x: number[];
  readonly w: number[];
  readonly poses: readonly { readonly a: number[]; readonly b: number[] }[];
  readonly flangeFromHead: Readonly<Record<string, number[]>>;
  readonly both: Readonly<Record<string, { readonly x: number[]; readonly w: number[] }>>;
}

const file = path.join(projectRoot, "test", "lab", "calibration", "hand-eye-opencv.json");
const opencv = JSON.parse(await readFile(file, "utf8")) as OpencvCase;

const vec = (v: readonly number[], from = 0): Vec3 => [
  v[from] ?? NaN,
  v[from + 1] ?? NaN,
  v[from + 2] ?? NaN,
];
const transform = (six: readonly number[]): Transform => ({
  rotation: rotationFromVector(vec(six)),
  translation: vec(six, 3),
});
const pairs: PosePair[] = opencv.poses.map(({ a, b }) => ({
  baseFromFlange: transform(a),
  microscopesFromHead: transform(b),
  seen: [0, 0, 0],
}));
/** Largest difference of rotation vectors (rad) and translations (m). */
const apart = (one: Transform, six: readonly number[]): readonly [number, number] => [
  norm(subtract(vectorFromRotation(one.rotation), vec(six))),
  norm(subtract(one.translation, vec(six, 3))),
];
const about = (x: number, y: number, z: number): ReturnType<typeof rotationFromVector> =>
  rotationFromVector([x, y, z]);

async function refusal(work: Promise<unknown>): Promise<CellError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof CellError) return error;
  throw new Error(`not refused: ${String(error)}`);
}

t.test("small eigenvalue problems whose answer is known", async (t) => {
  // The matrix of path graph P3's Laplacian: 3, 1, 0.
  const { values, vectors } = symmetricEigen([
    [1, -1, 0],
    [-1, 2, -1],
    [0, -1, 1],
  ]);
  [3, 1, 0].forEach((expected, i) => t.ok(Math.abs((values[i] ?? NaN) - expected) < 1e-12));
  t.ok(Math.abs(Math.abs(vectors[2]?.[0] ?? NaN) - 1 / Math.sqrt(3)) < 1e-12);
  // A quarter turn about z, stretched and disturbed symmetrically, is still nearest to itself.
  const quarter = nearestRotation([
    [0, -2, 0],
    [3, 0, 0],
    [0, 0, 0.5],
  ]);
  [0, -1, 0, 1, 0, 0, 0, 0, 1].forEach((expected, i) =>
    t.ok(Math.abs((quarter.flat()[i] ?? NaN) - expected) < 1e-12),
  );
  t.strictSame(
    principalExtents([
      [3, 0, 0],
      [-3, 0, 0],
      [0, 2, 0],
      [0, -2, 0],
    ]).map((v) => v.toFixed(9)),
    [Math.sqrt(4.5), Math.SQRT2, 0].map((v) => v.toFixed(9)),
  );
});

t.test("poses without noise give back what they were made with", async (t) => {
  // W = half a turn about x and (1, 2, 3); X = a quarter turn about z and (0.1, 0, 0.2): B = W⁻¹ A X by hand for A = turn.
  const turns: readonly Vec3[] = [
    [0, 0, 0],
    [0.2, 0, 0],
    [0, 0.2, 0],
    [0, 0, 0.2],
    [0.1, -0.1, 0.1],
  ];
  const exact = turns.map((turn): PosePair => {
    const a = rotationFromVector(turn);
    const xq: Vec3 = [0.1, 0, 0.2];
    const inBase = a.map((row) => row[0] * xq[0] + row[1] * xq[1] + row[2] * xq[2]);
    const [p = NaN, q = NaN, r = NaN] = inBase;
    const column = (j: 0 | 1 | 2): Vec3 => [a[0][j], a[1][j], a[2][j]];
    // A·Rz(90°) has the columns (a_y, −a_x, a_z); half a turn about x back changes the signs of y and z.
    const columns = [column(1), column(0).map((v) => -v) as unknown as Vec3, column(2)];
    const at = (i: 0 | 1 | 2, j: number): number => (i === 0 ? 1 : -1) * (columns[j]?.[i] ?? NaN);
    return {
      baseFromFlange: { rotation: a, translation: [0, 0, 0] },
      microscopesFromHead: {
        rotation: [
          [at(0, 0), at(0, 1), at(0, 2)],
          [at(1, 0), at(1, 1), at(1, 2)],
          [at(2, 0), at(2, 1), at(2, 2)],
        ],
        translation: [p - 1, -(q - 2), -(r - 3)],
      },
      seen: [0, 0, 0],
    };
  });
  for (const solved of [solveHandEye(exact), fitHandEye(exact)]) {
    const [turn, shift] = apart(solved.flangeFromHead, [0, 0, Math.PI / 2, 0.1, 0, 0.2]);
    t.ok(turn < 1e-9 && shift < 1e-9, `X off by ${turn} rad, ${shift} m`);
    t.ok(norm(subtract(solved.baseFromMicroscopes.translation, [1, 2, 3])) < 1e-9);
    t.ok(Math.abs(solved.baseFromMicroscopes.rotation[1][1] + 1) < 1e-9, "half a turn about x");
  }
});

t.test(
  "the closed form is OpenCV's Park and Martin; the refinement lies among its other methods",
  async (t) => {
    const closed = solveHandEye(pairs);
    const [turn, shift] = apart(closed.flangeFromHead, opencv.flangeFromHead["park"] ?? []);
    t.ok(turn < 1e-8 && shift < 1e-9, `off by ${turn} rad, ${shift} m`);
    const refined = fitHandEye(pairs);
    const sigma = (k: number): number => Math.sqrt(refined.covariance[k]?.[k] ?? NaN);
    for (const [name, { x, w }] of Object.entries(opencv.both)) {
      const [turnX, shiftX] = apart(refined.flangeFromHead, x);
      const [turnW, shiftW] = apart(refined.baseFromMicroscopes, w);
      t.ok(turnX < 1e-3 && turnW < 1e-3, `${name}: ${turnX}, ${turnW} rad`);
      t.ok(shiftX < 2e-4 && shiftW < 2e-4, `${name}: ${shiftX}, ${shiftW} m`);
    }
    // And nearer to what the poses were made with than its own standard deviations say, times three.
    [...opencv.x, ...opencv.w].forEach((expected, k) => {
      const found = [refined.flangeFromHead, refined.baseFromMicroscopes].flatMap((one) => [
        ...vectorFromRotation(one.rotation),
        ...one.translation,
      ])[k];
      t.ok(
        Math.abs((found ?? NaN) - expected) < 3 * sigma(k),
        `number ${k}: ${(found ?? NaN) - expected}, ${sigma(k)}`,
      );
    });
    t.ok(refined.sigma.rotationRad > 2e-4 && refined.sigma.rotationRad < 7e-4, "made with 0.4 mrad");
    t.ok(refined.sigma.positionM > 1.6e-5 && refined.sigma.positionM < 6e-5, "made with 33 µm");
  },
);

t.test("sets of poses that do not determine the result are refused", async (t) => {
  const flat = [about(0, 0, 0), about(0.2, 0, 0), about(0, 0.2, 0), about(-0.2, 0, 0), about(0, -0.2, 0)];
  t.throws(() => requireIndependentRotations(flat), {
    code: "CALIBRATION_REFUSED",
    detail: /5 orientations turn by 0\.126, 0\.126, 0\.000 rad.*0\.03 rad about each of three/,
    remedy: /third axis/,
  });
  const small = [about(0, 0, 0), about(0.2, 0, 0), about(0, 0.2, 0), about(0, 0, 0.02)];
  t.throws(() => requireIndependentRotations(small), { code: "CALIBRATION_REFUSED" });
  t.throws(() => requireIndependentRotations([about(0, 0, 0), about(0.2, 0, 0), about(0, 0.2, 0)]), {
    code: "CALIBRATION_REFUSED",
    detail: /3 orientations .*at least 4/,
  });
  t.doesNotThrow(() => requireIndependentRotations([...flat, about(0, 0, 0.2)]));
  t.throws(() => solveHandEye(pairs.slice(0, 3)), { code: "CALIBRATION_REFUSED" });
});

t.test(`the whole run finds head and microscopes (seed ${seed})`, async (t) => {
  const rig = new SyntheticHead(headTruth, new Random(seed, "whole"));
  const begun = await beginHandEye(rig, "lab-a", usualAmplitudes, signal);
  rig.mark();
  const state = await runHandEye(rig, begun, hooks, signal);
  t.ok(Math.max(...rig.turns) < 0.0601, "small turns only");
  t.ok(rig.lowestM > -2.5e-4, `the tip strayed ${rig.lowestM} m below where it was`);
  t.ok(
    norm(subtract(vectorFromRotation(rig.flange().rotation), begun.homeVectorRad)) < 2e-3,
    "back at the start",
  );

  const { items, edge, fit } = solveHandEyePoses(state.poses, context);
  const [headTurn, headShift] = [
    subtract(edge.rotationVectorRad, headTruth.head[0]),
    subtract(edge.translationM, headTruth.head[1]),
  ];
  t.ok(norm(headTurn) < 2.5e-3, `head turned by ${norm(headTurn)} rad`);
  t.ok(norm(headShift) < 3e-4, `head shifted by ${norm(headShift)} m`);
  const [microscopesTurn, places] = [
    subtract(vectorFromRotation(fit.baseFromMicroscopes.rotation), headTruth.microscopes[0]),
    subtract(fit.baseFromMicroscopes.translation, headTruth.microscopes[1]),
  ];
  t.ok(norm(microscopesTurn) < 2.5e-3, `microscopes turned by ${norm(microscopesTurn)} rad`);
  t.ok(norm(places) < 3e-4, `microscopes shifted by ${norm(places)} m`);
  const checks = [
    ["handeye.head.rotation", headTurn],
    ["handeye.head.translation", headShift],
    ["handeye.microscopes.rotation", microscopesTurn],
    ["handeye.microscopes.translation", places],
  ] as const;
  for (const [name, off] of checks) {
    const { covariance, residuals } = items[name] ?? { covariance: [], residuals: undefined };
    off.forEach((value, k) => {
      const sigma = Math.sqrt(covariance[k]?.[k] ?? NaN);
      t.ok(Math.abs(value) < 4 * sigma, `${name}[${k}]: ${value}, standard deviation ${sigma}`);
    });
    t.equal(residuals?.heldOut, 3, "three poses were left out");
  }
  // The maps in the base: rows of the microscopes' frame turned into it.
  const left = items["left.map"]?.values ?? [];
  const r = rotationFromVector(headTruth.microscopes[0]);
  const expected = headTruth.map[0][0];
  ([0, 1, 2] as const).forEach((i) => {
    const off = (left[i] ?? NaN) - r[i][0] * expected;
    t.ok(Math.abs(off) < 2.5e-3 * expected, `map off by ${off} px/m`);
  });
  t.ok((items["right.map"]?.residuals.rms ?? NaN) < 1, "the held-out poses are seen where they belong");
});

t.test("an interrupted run goes on where it was", async (t) => {
  const rig = new SyntheticHead(headTruth, new Random(seed, "interrupted"));
  const begun = await beginHandEye(rig, "lab-a", usualAmplitudes, signal);
  let kept: HandEyeState = begun;
  const ending = new AbortController();
  const interrupted = runHandEye(
    rig,
    begun,
    {
      onPose: (done) => {
        if (done === 5) ending.abort(new CellError("LINK_ABORTED", "interrupted"));
      },
      keep: async (state) => {
        kept = JSON.parse(JSON.stringify(state)) as HandEyeState;
        return Promise.resolve();
      },
    },
    ending.signal,
  );
  t.equal((await refusal(interrupted)).code, "LINK_ABORTED");
  const done = kept.poses.map(({ id }) => id);
  t.ok(done.length >= 5);
  const visited: string[] = [];
  await runHandEye(rig, kept, { ...hooks, onPose: (_, __, { id }) => void visited.push(id) }, signal);
  t.notOk(
    visited.some((id) => done.includes(id)),
    "no pose is measured twice",
  );
  t.equal(visited.length + done.length, 11);
});

t.test("what cannot be measured is refused before anything moves", async (t) => {
  const rig = new SyntheticHead(headTruth, new Random(seed, "flat"));
  const flat = await refusal(beginHandEye(rig, "lab-a", { tiltRad: 0.15, twistRad: 0 }, signal));
  t.equal(flat.code, "CALIBRATION_REFUSED");
  t.equal(rig.looks, 0);
  const shaking = new SyntheticHead(headTruth, new Random(seed, "shaking"));
  shaking.shakePx = 8;
  t.match(
    (await refusal(beginHandEye(shaking, "lab-a", usualAmplitudes, signal))).detail,
    /moved by 1\d\.\d px/,
  );
  t.equal(shaking.turns.length, 0);
});
