import t from "tap";
import {
  anchored,
  directionFromImages,
  drawnAxes,
  drawnView,
  fitView,
  metresPerPixel,
  projectPoint,
  projectVector,
  triangulate,
  triangulateVector,
  type Pixel,
  type ViewModel,
} from "../../../src/agent/perception/view-model.js";
import { identity3, type Vec3 } from "../../../src/base/transform.js";

const near = (a: readonly number[], b: readonly number[], tolerance: number): boolean =>
  a.length === b.length && a.every((value, i) => Math.abs(value - (b[i] ?? NaN)) < tolerance);

const drawing = (azimuthDegrees: number): Parameters<typeof drawnAxes>[0] => ({
  name: "view",
  azimuthRad: (azimuthDegrees * Math.PI) / 180,
  elevationRad: (35 * Math.PI) / 180,
  centreM: [0, 0, 0.0003],
  metresPerPixel: 2.4e-3 / 2048,
  widthPx: 2048,
  heightPx: 2048,
  depthOfFieldM: 5e-5,
  focusAxis: 6,
});

/** A level view of one pixel a micrometre, image down along −z. */
const along = (right: Vec3, forward: Vec3): ViewModel => ({
  rows: [right.map((value) => value * 1e6) as unknown as Vec3, [0, 0, -1e6]],
  offset: [1000, 1000],
  forward,
});
const front = along([0, 1, 0], [-1, 0, 0]);
const side = along([-1, 0, 0], [0, -1, 0]);

t.test("the microscopes as drawn: inclined by 35°, image x level, axes nearly at right angles", async (t) => {
  const [right, down, forward] = drawnAxes(drawing(30));
  // From azimuth 0 the camera would look along −x cos e − z sin e; turned by 30° about z.
  t.ok(near(forward, [-0.8192 * 0.866, -0.8192 * 0.5, -0.5736], 1e-4));
  t.equal(right[2], 0);
  t.ok(down[2] < 0, "image down is down in the world");
  t.ok(near([down[2]], [-0.8192], 1e-4), "a vertical needle is foreshortened to cos 35°");
  const other = drawnAxes(drawing(150))[2];
  const cosine = forward.reduce((sum, value, i) => sum + value * (other[i] ?? 0), 0);
  t.ok(Math.abs((Math.acos(cosine) * 180) / Math.PI - 90.4) < 0.05, "90.4°");
});

t.test("a millimetre across the image is 853.3 px of a 2.4 mm field on 2048 px", async (t) => {
  const view = drawnView(drawing(30), identity3);
  t.ok(Math.abs(metresPerPixel(view) - 1.171875e-6) < 1e-15);
  // Image right at azimuth 30° is (−sin 30°, cos 30°, 0) turned to the viewer's right.
  const step: Vec3 = [-0.5e-3, Math.cos(Math.PI / 6) * 1e-3, 0];
  t.ok(near(projectVector(view, step), [853.333, 0], 1e-2));
  t.ok(near(projectVector(view, [0, 0, 1e-3]), [0, -853.333 * Math.cos((35 * Math.PI) / 180)], 1e-2));
});

t.test("an anchored view shows its point at its pixel and moves nothing else", async (t) => {
  const view = anchored(front, [1e-3, 2e-3, 3e-3], [10, 20]);
  t.ok(near(projectPoint(view, [1e-3, 2e-3, 3e-3]), [10, 20], 1e-9));
  t.ok(near(projectPoint(view, [5e-3, 2.001e-3, 3e-3]), [11, 20], 1e-6), "depth does not count");
});

t.test("two views find a point, and say when they disagree", async (t) => {
  const point: Vec3 = [3e-5, -4e-5, 5e-5];
  // By hand: front sees (y, −z), side (−x, −z), each in µm from 1000.
  const seen: [Pixel, Pixel] = [
    [960, 950],
    [970, 950],
  ];
  const exact = triangulate([front, side], seen);
  t.ok(near(exact.point, point, 1e-12));
  t.ok(exact.residualPx < 1e-6);
  // Heights that differ by 2 px: the mean is taken, each is off by 1, two of four residuals are 0.
  const torn = triangulate(
    [front, side],
    [
      [960, 949],
      [970, 951],
    ],
  );
  t.ok(near(torn.point, point, 1e-12));
  t.ok(Math.abs(torn.residualPx - Math.sqrt(0.5)) < 1e-6);
  const vector = triangulateVector(
    [front, side],
    [
      [7, -2],
      [5, -2],
    ],
  );
  t.ok(near(vector, [-5e-6, 7e-6, 2e-6], 1e-12));
  t.throws(() => triangulate([front, front], [seen[0], seen[0]]), { code: "CALIBRATION_ILL_POSED" });
});

t.test("a line's direction follows from its two images, sign and all", async (t) => {
  // A needle that points down and leans: (0.1, 0.2, −1).
  const images: [Pixel, Pixel] = [
    [0.2, 1],
    [-0.1, 1],
  ];
  const length = Math.hypot(0.1, 0.2, 1);
  t.ok(near(directionFromImages([front, side], images), [0.1 / length, 0.2 / length, -1 / length], 1e-12));
  const up: [Pixel, Pixel] = [
    [-0.2, -1],
    [0.1, -1],
  ];
  t.ok(near(directionFromImages([front, side], up), [-0.1 / length, -0.2 / length, 1 / length], 1e-12));
  t.throws(
    () =>
      directionFromImages(
        [front, side],
        [
          [1, 0],
          [1, 0],
        ],
      ),
    { code: "CALIBRATION_ILL_POSED" },
    "a level line seen level in both views may lie anywhere in their common plane",
  );
});

t.test("a view is fitted through arrivals that are each off by their own image shift", async (t) => {
  const rows: [Vec3, Vec3] = [
    [8.5e5, 1e4, -2e4],
    [3e4, -4e5, 7e5],
  ];
  const pixel = ([x, y, z]: Vec3, [du, dv]: Pixel): Pixel => [
    rows[0][0] * x + rows[0][1] * y + rows[0][2] * z + du,
    rows[1][0] * x + rows[1][1] * y + rows[1][2] * z + dv,
  ];
  const corner: Vec3[] = [
    [0.4, 0.2, 0.1],
    [0.4005, 0.2, 0.1],
    [0.4, 0.2005, 0.1],
    [0.4, 0.2, 0.1005],
    [0.4004, 0.2003, 0.1002],
  ];
  const shifts: Pixel[] = [
    [-339_000, 5_000],
    [-339_080, 5_060],
  ];
  const groups = shifts.map((shift) => ({ points: corner, pixels: corner.map((p) => pixel(p, shift)) }));
  const { view, rmsPx } = fitView(front, groups);
  t.ok(near(view.rows[0], rows[0], 1e-2) && near(view.rows[1], rows[1], 1e-2), "px per metre");
  t.ok(rmsPx < 1e-6);
  const probe: Vec3 = [0.4003, 0.2001, 0.1003];
  t.ok(
    near(projectPoint(view, probe), pixel(probe, shifts[1] ?? [0, 0]), 1e-4),
    "the last arrival's shift holds",
  );
  const flat = corner.slice(0, 3);
  t.throws(() => fitView(front, [{ points: flat, pixels: flat.map((p) => pixel(p, [0, 0])) }]), {
    code: "CALIBRATION_ILL_POSED",
  });
});
