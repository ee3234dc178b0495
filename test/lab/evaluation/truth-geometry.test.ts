import t from "tap";
import {
  directionFromLines,
  distanceInView,
  flatDistance,
  seenAt,
  tissuePoint,
  tissueUnderPixel,
} from "../../../src/lab/evaluation/truth-geometry.js";
import type { TruthMicroscope, TruthSample, TruthScene } from "../../../src/lab/evaluation/truth-client.js";
import type { Vec3 } from "../../../src/base/transform.js";

const e = (35 * Math.PI) / 180;
/** Looks along −x, inclined by 35°: image right is y, image down has a part of x and one of −z. 1 µm a pixel. */
const front: TruthMicroscope = {
  name: "front",
  cameraFromWorld: [
    [0, 1, 0],
    [Math.sin(e), 0, -Math.cos(e)],
    [-Math.cos(e), 0, -Math.sin(e)],
  ],
  focusPoint: [0, 0, 0],
  focusDirection: [-Math.cos(e), 0, -Math.sin(e)],
  metresPerPixel: 1e-6,
  centrePx: [1024, 1024],
};
/** The same turned by 90° about z: looks along −y. */
const side: TruthMicroscope = {
  ...front,
  name: "side",
  cameraFromWorld: [
    [-1, 0, 0],
    [0, Math.sin(e), -Math.cos(e)],
    [0, -Math.cos(e), -Math.sin(e)],
  ],
  focusDirection: [0, -Math.cos(e), -Math.sin(e)],
};
const scene: TruthScene = {
  seed: 1,
  scenario: "test",
  microscopes: [front, side],
  tissue: { origin: [0, 0, 0], normal: [0, 0, 1], uAxis: [1, 0, 0], vAxis: [0, 1, 0] },
};
const sample = (changes: Partial<TruthSample> = {}): TruthSample => ({
  timeS: 0,
  tip: [0, 0, 0],
  axis: [0, 0, -1],
  shift: [0, 0, 0],
  focusM: [0, 0],
  wanderM: [
    [0, 0],
    [0, 0],
  ],
  ...changes,
});
const near = (a: readonly number[], b: readonly number[], tolerance: number): boolean =>
  a.length === b.length && a.every((value, i) => Math.abs(value - (b[i] ?? NaN)) < tolerance);

t.test("where a point appears, by hand", async (t) => {
  t.ok(near(seenAt(front, 0, sample(), [0, 1e-4, 0]), [1124, 1024], 1e-6));
  t.ok(
    near(seenAt(front, 0, sample(), [0, 0, 1e-4]), [1024, 1024 - 100 * Math.cos(e)], 1e-6),
    "0.82 of a height",
  );
  t.ok(
    near(seenAt(front, 0, sample(), [1e-4, 0, 0]), [1024, 1024 + 100 * Math.sin(e)], 1e-6),
    "0.57 of the ground",
  );
  const wandered = sample({
    wanderM: [
      [0, 0],
      [4e-6, -3e-6],
    ],
    focusM: [0, 2e-4],
  });
  t.ok(
    near(seenAt(side, 1, wandered, [0, 0, 0]), [1028, 1021], 1e-6),
    "focusing along the axis shifts nothing",
  );
});

t.test("the tissue under a pixel is what shows at that pixel, whatever the tissue's shift", async (t) => {
  t.ok(near(tissueUnderPixel(scene, 0, sample(), [1024, 1024]), [0, 0], 1e-12));
  t.ok(near(tissueUnderPixel(scene, 0, sample(), [1124, 1024 + 50 * Math.sin(e)]), [5e-5, 1e-4], 1e-12));
  // Raised by 40 µm the surface seems to lie further back: by tan of the elevation's complement.
  const raised = sample({ shift: [0, 0, 4e-5] });
  t.ok(near(tissueUnderPixel(scene, 0, raised, [1024, 1024]), [4e-5 / Math.tan(e), 0], 1e-10));
  const shift: Vec3 = [1e-5, 2e-5, 3e-5];
  const moved = sample({ shift });
  for (const view of [0, 1] as const) {
    const camera = scene.microscopes[view];
    const pixel = seenAt(camera, view, moved, tissuePoint(scene, [3e-4, -2e-4], shift));
    t.ok(near(tissueUnderPixel(scene, view, moved, pixel), [3e-4, -2e-4], 1e-10));
  }
});

t.test("a direction from its lines in both views", async (t) => {
  const cosine = Math.cos(e);
  t.ok(
    near(
      directionFromLines(scene, [
        [0, 1],
        [0, 1],
      ]),
      [0, 0, -1],
      1e-12,
    ),
    "straight down",
  );
  // A needle (0.1, 0.2, −1): front sees (y, x sin e − z cos e), side (−x, y sin e − z cos e).
  const direction = directionFromLines(scene, [
    [0.2, 0.1 * Math.sin(e) + cosine],
    [-0.1, 0.2 * Math.sin(e) + cosine],
  ]);
  const length = Math.hypot(0.1, 0.2, 1);
  t.ok(near(direction, [0.1 / length, 0.2 / length, -1 / length], 1e-12));
});

t.test("distances as a view shows them", async (t) => {
  t.ok(Math.abs(distanceInView(scene, 0, [0, 0, 0], [3e-5, 0, 0]) - 3e-5 * Math.sin(e)) < 1e-15);
  t.ok(Math.abs(distanceInView(scene, 1, [0, 0, 0], [3e-5, 0, 0]) - 3e-5) < 1e-15);
  t.ok(Math.abs(flatDistance([1, 1], [4, 5]) - 5) < 1e-12);
});
