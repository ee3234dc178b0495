import t from "tap";
import {
  angleBetween,
  apply,
  compose,
  invert,
  multiply,
  rotate,
  rotationAbout,
  rotationBetween,
  rotationFromVector,
  vectorFromRotation,
  type Vec3,
} from "../../src/base/transform.js";

const close = (a: Vec3, b: Vec3, tolerance = 1e-12): boolean =>
  a.every((value, i) => Math.abs(value - (b[i] ?? NaN)) < tolerance);

t.test("a quarter turn about z takes x to y", async (t) => {
  t.ok(close(rotate(rotationAbout([0, 0, 1], Math.PI / 2), [1, 0, 0]), [0, 1, 0]));
});

t.test("rotation vectors survive the way to a matrix and back, near 0 and near π too", async (t) => {
  for (const v of [
    [1e-9, 0, 0],
    [0.3, -0.2, 0.9],
    [0, Math.PI - 1e-7, 0],
    [2.2, 2.2, 0],
  ] as Vec3[])
    t.ok(close(vectorFromRotation(rotationFromVector(v)), v, 1e-8), `${v}`);
});

t.test("inverse and composition undo each other", async (t) => {
  const a = { rotation: rotationFromVector([0.1, 0.7, -0.4]), translation: [1, 2, 3] as Vec3 };
  const p: Vec3 = [-4, 0.5, 9];
  t.ok(close(apply(compose(invert(a), a), p), p));
});

t.test("the smallest rotation between directions, opposite ones included", async (t) => {
  for (const [from, to] of [
    [
      [1, 0, 0],
      [0, 1, 0],
    ],
    [
      [0, 0, 1],
      [0, 0, -1],
    ],
    [
      [1, 2, 3],
      [-3, 0.1, 2],
    ],
  ] as [Vec3, Vec3][])
    t.ok(angleBetween(rotate(rotationBetween(from, to), from), to) < 1e-9);
  t.ok(close(multiply(rotationAbout([0, 0, 1], 1), rotationAbout([0, 0, 1], -1))[0], [1, 0, 0]));
});
