import t from "tap";
import { dot, norm, type Vec3 } from "../../src/base/transform.js";
import { scenarioSchema } from "../../src/twin/scenario.js";
import {
  drawPhantom,
  heightAbove,
  materialPoint,
  pierce,
  tissueShift,
  vesselClearance,
  type TissueMotion,
} from "../../src/twin/tissue.js";

const motion: TissueMotion = {
  breathingHz: 1.25,
  breathingM: 4e-5,
  breathingDirection: [0, 0, 1],
  breathingPhase: 0,
  pulseHz: 6,
  pulseM: 0,
  pulseDirection: [1, 0, 0],
  pulsePhase: 0,
};
/** A surface tilted by 0.3 rad about y, its origin 1 mm up. */
const c = Math.cos(0.3);
const s = Math.sin(0.3);
const tissue = {
  origin: [0, 0, 1e-3] as Vec3,
  normal: [s, 0, c] as Vec3,
  uAxis: [c, 0, -s] as Vec3,
  vAxis: [0, 1, 0] as Vec3,
};
const close = (a: number, b: number, tolerance: number): boolean => Math.abs(a - b) < tolerance;

t.test("breathing rests at end-expiration, rises by its amplitude, and repeats", async (t) => {
  t.same(tissueShift(motion, 0), [0, 0, 0]);
  t.ok(close(tissueShift(motion, 0.4)[2], 4e-5, 1e-12), "half a breath of 0.8 s");
  t.ok(close(tissueShift(motion, 0.2)[2], 1e-5, 1e-12), "a quarter breath: ½² of it");
  t.ok(close(tissueShift(motion, 100.4)[2], 4e-5, 1e-10));
  const low = Array.from({ length: 800 }, (_, i) => tissueShift(motion, i * 1e-3)[2]);
  t.ok(low.filter((z) => z < 0.05 * 4e-5).length > 240, "within 5 % of rest for over 30 % of the breath");
});

t.test("the pulse has its peak-to-peak value and no mean", async (t) => {
  const beating = { ...motion, breathingM: 0, pulseM: 8e-6 };
  const seen = Array.from({ length: 1200 }, (_, i) => tissueShift(beating, i / 7200)[0]);
  t.ok(close(Math.max(...seen) - Math.min(...seen), 8e-6, 8e-8));
  t.ok(close(seen.reduce((sum, x) => sum + x, 0) / seen.length, 0, 1e-9));
});

t.test("height, material point and piercing on a tilted, displaced surface", async (t) => {
  const shift: Vec3 = [0, 0, 5e-5];
  // 1 mm straight above the displaced origin is cos 0.3 mm off the surface.
  t.ok(close(heightAbove(tissue, shift, [0, 0, 2.05e-3]), c * 1e-3, 1e-12));
  t.ok(heightAbove(tissue, shift, [0, 0, 1.04e-3]) < 0);
  // u = 2 mm, v = −1 mm along the surface.
  const [u, v] = materialPoint(tissue, shift, [2e-3 * c, -1e-3, 1.05e-3 - 2e-3 * s]);
  t.ok(close(u, 2e-3, 1e-12) && close(v, -1e-3, 1e-12));
  const hit = pierce(tissue, shift, [1e-3, 0, 5e-3], [0, 0, -1]);
  t.ok(hit !== undefined && close(hit[2], 1.05e-3 - 1e-3 * Math.tan(0.3), 1e-12));
  t.equal(pierce(tissue, shift, [0, 0, 5e-3], [c, 0, -s]), undefined, "along the surface");
});

t.test("clearance to a vessel is measured from its wall, past its ends too", async (t) => {
  const vessel = { radiusM: 5e-5, darkness: 0.5 };
  const points = [
    [0, 0],
    [1e-3, 0],
    [1e-3, 1e-3],
  ] as const;
  const phantom = { vessels: [{ ...vessel, points }], marks: [], fluid: [] };
  t.ok(close(vesselClearance(phantom, 5e-4, 2e-4), 1.5e-4, 1e-12), "beside the first piece");
  t.ok(close(vesselClearance(phantom, 1.3e-3, -4e-4), 4.5e-4, 1e-12), "3-4-5 off the corner");
  t.ok(close(vesselClearance(phantom, -3e-4, 4e-4), 4.5e-4, 1e-12), "before its beginning");
  t.ok(vesselClearance(phantom, 1e-3, 5e-4) < 0, "inside");
  t.equal(vesselClearance({ vessels: [], marks: [], fluid: [] }, 0, 0), Infinity);
});

t.test("the seed draws the phantom: the same again, another for another seed", async (t) => {
  const scenario = scenarioSchema.parse({ name: "test", description: "" });
  const phantom = drawPhantom(scenario, 5);
  t.same(drawPhantom(scenario, 5), phantom);
  t.notSame(drawPhantom(scenario, 6).vessels, phantom.vessels);
  t.equal(phantom.vessels.length, scenario.vessels);
  for (const { points } of phantom.vessels)
    t.ok(
      points.slice(1).every(([u, v], i) => {
        const [a, b] = points[i] ?? [NaN, NaN];
        return close(Math.hypot(u - a, v - b), 1e-4, 1e-9);
      }),
      "a vessel has no gaps",
    );
  t.ok(close(norm(tissue.normal), 1, 1e-12) && close(dot(tissue.normal, tissue.uAxis), 0, 1e-12));
});
