/** Plan, refusals, grey levels and flat field of a camera's calibration, against formulas written down here. */
import t from "tap";
import { Random } from "../../../src/base/random.js";
import {
  planTarget,
  type TargetObservation,
  type ViewSeen,
} from "../../../src/lab/calibration/camera-plan.js";
import { exposureShares, plainPart, requirePlaces } from "../../../src/lab/calibration/camera-run.js";
import { solveCamera } from "../../../src/lab/calibration/camera-solution.js";
import type { Stand, TargetRig } from "../../../src/lab/calibration/target-bench.js";
import type { FoundTarget } from "../../../src/lab/calibration/target-pattern.js";

const size = [2048, 2048] as const;
const target = { id: "t", columns: 10, rows: 7, pitchM: 1e-4, pitchSigmaM: 5e-9 };
const mpp = [1.19e-6, 1.16e-6] as const;
/** Pixels per pitch of a target at 45°, turned in the picture. */
const map = (view: 0 | 1): readonly [number, number, number, number] => {
  const s = target.pitchM / mpp[view];
  const [c, d] = [Math.cos(0.7 + view), Math.sin(0.7 + view)];
  return [s * c, (-s * d) / Math.SQRT2, s * d, (s * c) / Math.SQRT2];
};

function crossings(view: 0 | 1, at: readonly [number, number], random: Random): [number, number, number][] {
  const [a, b, c, d] = map(view);
  return Array.from({ length: 70 }, (_, n) => {
    const [u, v] = [(n % 10) - 4.5, Math.floor(n / 10) - 3];
    return [
      at[0] + a * u + b * v + random.normal(0, 0.02),
      at[1] + c * u + d * v + random.normal(0, 0.02),
      2,
    ];
  });
}

const black = 6;
const vignetting = [0.16, 0.25] as const;

/** Grey medians of the picture's parts: light falls off as 1 - v r², one part lies under glare, one under dust. */
function cells(view: 0 | 1, bright: number, random: Random): number[] {
  return Array.from({ length: 256 }, (_, n) => {
    const x = (((n % 16) + 0.5) * 128 - 1024) / 1448.15;
    const y = ((Math.floor(n / 16) + 0.5) * 128 - 1024) / 1448.15;
    const spoiled = n === 200 ? 1.4 : n === 40 ? 0.8 : 1;
    return black + bright * spoiled * (1 - vignetting[view] * (x * x + y * y)) + random.normal(0, 0.05);
  });
}

/** A sensor whose response is bent: (1 + c) / (1 + c g / 249), the second of them. */
const bend = [0, 0.15] as const;

function observed(): Parameters<typeof solveCamera>[0] {
  const random = new Random(11, "camera");
  const places: [number, number][] = [
    [1000, 1000],
    [1300, 1200],
    [700, 1200],
    [1300, 800],
    [700, 800],
    [1000, 1300],
    [1000, 700],
    [1100, 900],
    [900, 1100],
    [1200, 1000],
  ];
  const seen = (view: 0 | 1, at: readonly [number, number]): ViewSeen => ({
    crossings: crossings(view, at, random),
    cells: cells(view, random.uniform(140, 170), random),
  });
  const observations = places.map((at, k): TargetObservation => ({
    id: `p${k}`,
    kind: k < 7 ? "fit" : "held-out",
    place: k,
    offsets: { x: 0, y: 0, z: 0, focus1: 0, focus2: 0 },
    views: [seen(0, at), seen(1, at)],
  }));
  const greys = ([0, 1] as const).map((view) => {
    // The light drifts by 3 % on the way.
    const grey = (share: number, drift: number): number => {
      const linear = 160 * share * drift;
      return black + (linear * (1 + bend[view])) / (1 + (bend[view] * linear) / 249);
    };
    return exposureShares.map((share, k) => ({
      exposureUs: 10_000 * share,
      grey: grey(share, 1 + 0.004 * k),
      before: grey(1, 1 + 0.004 * (k - 0.5)),
      after: grey(1, 1 + 0.004 * (k + 0.5)),
    }));
  });
  return {
    observations,
    greys: [greys[0] ?? [], greys[1] ?? []],
    referenceUs: [10_000, 10_000],
  };
}

t.test("scale, distortion, black level, response and flat field come out as they were put in", (t) => {
  const items = solveCamera(observed(), {
    target,
    size,
    viewNames: ["a", "b"],
    measuredAt: "2026-01-01T00:00:00.000Z",
    expiresAt: "2026-02-01T00:00:00.000Z",
  });
  (["a", "b"] as const).forEach((name, view) => {
    const near = (item: string, k: number, truth: number, within: number): void => {
      const value = items[`${name}.${item}`]?.values[k] ?? NaN;
      t.ok(Math.abs(value - truth) < within, `${name}.${item}[${k}]: ${value} of ${truth}`);
    };
    near("scale", 0, mpp[view as 0 | 1], 4 * Math.sqrt(items[`${name}.scale`]?.covariance[0]?.[0] ?? NaN));
    near("distortion", 0, 0, 2e-4);
    // Of a bent response the parabola leaves a part.
    near("blackLevel", 0, black, view === 0 ? 0.05 : 0.6);
    near("flatField", 2, -vignetting[view as 0 | 1], 0.004);
    near("flatField", 4, -vignetting[view as 0 | 1], 0.004);
    near("flatField", 0, 0, 0.002);
  });
  t.ok(
    items["a.response"]?.values.every((value) => Math.abs(value - 1) < 2e-3),
    "linear",
  );
  const bent = items["b.response"]?.values ?? [];
  // Against the reference, 160: (1 + c 160 / 249) / (1 + c g / 249).
  const first = (1 + (0.15 * 160) / 249) / (1 + (0.15 * 20) / 249);
  t.ok(Math.abs((bent[0] ?? NaN) - first) < 0.03, `${bent[0]} of ${first}`);
  for (const [name, { residuals, measurements }] of Object.entries(items))
    t.ok(residuals.heldOut >= 3 && measurements > 0, `${name}: ${residuals.heldOut} held out`);
  t.end();
});

function rig(changes: { readonly stand?: Partial<Stand> } = {}): TargetRig {
  const stand: Stand = { x: 0, y: 0, z: 0, focus1: 0, focus2: 0, ...changes.stand };
  const motion = { x: [0.7, 0], y: [0, 0.7], z: [0.3, 0.6] } as const;
  const unused = (): Promise<never> => Promise.reject(new Error("a plan moves nothing"));
  return {
    size,
    stand: () => stand,
    limits: () => ({ min: -2e-3, max: 2e-3 }),
    motion: (axis, view) => [motion[axis][0] / mpp[view], motion[axis][1] / mpp[view]],
    follow: () => 0.5,
    move: unused,
    look: unused,
    grey: unused,
    sharpness: unused,
    exposureUs: unused,
    setExposureUs: unused,
  };
}

const found = (at: readonly [number, number]): FoundTarget => ({
  found: true,
  cells: [],
  crossings: crossings(0, at, new Random(1, "found")).map(([x, y, sigmaPx]) => ({ at: [x, y], sigmaPx })),
});

t.test("places keep the pattern in both pictures, and Z goes up alone", (t) => {
  const at = [1100, 950] as const;
  const steps = planTarget(rig(), [found(at), found(at)]);
  t.ok(steps.filter(({ kind }) => kind === "held-out").length >= 3);
  const seen = found(at).crossings.flatMap((one) => (one === undefined ? [] : [one.at]));
  for (const { id, offsets } of steps) {
    t.ok(offsets.z <= 0, `${id}: not deeper`);
    for (const view of [0, 1] as const)
      for (const k of [0, 1] as const) {
        const r = rig();
        const shift = (["x", "y", "z"] as const).reduce(
          (sum, axis) => sum + offsets[axis] * r.motion(axis, view)[k],
          0,
        );
        const values = seen.map((point) => point[k] + shift);
        t.ok(Math.min(...values) > 100 && Math.max(...values) < 1948, `${id}: inside picture ${view + 1}`);
      }
  }
  t.end();
});

t.test("what leaves no room is refused, saying what and why", (t) => {
  const middle = found([1024, 1024]);
  t.throws(() => planTarget(rig({ stand: { x: 1.99e-3, z: -1.99e-3 } }), [middle, middle]), {
    code: "CALIBRATION_REFUSED",
    message: /stage z: .* the stage stands near its limit/,
  });
  const aside = found([560, 1700]);
  t.throws(() => planTarget(rig(), [aside, aside]), {
    code: "CALIBRATION_REFUSED",
    message: /the pattern would leave a picture/,
  });
  t.throws(() => planTarget(rig({ stand: { focus1: 1.95e-3 } }), [middle, middle]), {
    code: "CALIBRATION_REFUSED",
    message: /focus1 stands near its limit/,
  });
  t.end();
});

t.test("a view that has seen the target at too few places is refused by its number", (t) => {
  const { observations } = observed();
  t.doesNotThrow(() => requirePlaces(observations));
  const blind = observations.map((one, k): TargetObservation =>
    k < 3 ? { ...one, views: [one.views[0], { crossings: [], cells: [] }] } : one,
  );
  t.throws(() => requirePlaces(blind), {
    code: "CALIBRATION_REFUSED",
    message: /view 2 has seen the target whole at 4 and 3 places; 6 to be fitted and 3/,
  });
  t.end();
});

t.test("the part looked at for greys lies beside the pattern", (t) => {
  const view = {
    crossings: crossings(0, [1024, 1024], new Random(1, "plain")),
    cells: new Array<number>(256).fill(1),
  };
  const { x, y, width, height } = plainPart(view, size);
  for (const [px, py] of view.crossings)
    t.ok(px < x - 100 || px > x + width + 100 || py < y - 100 || py > y + height + 100);
  t.end();
});
