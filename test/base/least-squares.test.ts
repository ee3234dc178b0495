import t from "tap";
import { leastSquares } from "../../src/base/least-squares.js";

t.test("a square system is solved: Cramer's rule by hand", async (t) => {
  // 2x + y = 5, x − 3y = −8: determinant −7, x = (−15 + 8) / −7 = 1, y = (−16 − 5) / −7 = 3.
  const { x, rms } = leastSquares(
    [
      [2, 1],
      [1, -3],
    ],
    [5, -8],
  );
  t.ok(Math.abs((x[0] ?? NaN) - 1) < 1e-12 && Math.abs((x[1] ?? NaN) - 3) < 1e-12);
  t.ok(rms < 1e-12);
});

t.test("the line through (0,6) (1,0) (2,0) is 5 − 3t, residuals 1, −2, 1", async (t) => {
  // Strang, Introduction to Linear Algebra, section 4.3.
  const { x, rms } = leastSquares(
    [
      [1, 0],
      [1, 1],
      [1, 2],
    ],
    [6, 0, 0],
  );
  t.ok(Math.abs((x[0] ?? NaN) - 5) < 1e-12 && Math.abs((x[1] ?? NaN) + 3) < 1e-12);
  t.ok(Math.abs(rms - Math.sqrt(2)) < 1e-12, "root of (1 + 4 + 1) / 3");
});

t.test("a leading zero does not divide by zero", async (t) => {
  const { x } = leastSquares(
    [
      [0, 1],
      [4, 0],
    ],
    [7, 8],
  );
  t.same(
    x.map((value) => Math.round(value * 1e9) / 1e9),
    [2, 7],
  );
});

t.test("what is not determined is refused, not answered", async (t) => {
  const illPosed = { code: "CALIBRATION_ILL_POSED" };
  t.throws(() => leastSquares([[1, 2]], [3]), illPosed, "fewer equations than unknowns");
  t.throws(() => leastSquares([], []), illPosed);
  const dependent = [
    [1, 2],
    [2, 4],
    [3, 6],
  ];
  t.throws(() => leastSquares(dependent, [1, 2, 3]), illPosed, "the second unknown follows the first");
  t.throws(() => leastSquares([[0], [0]], [1, 1]), illPosed);
  const nearly = [
    [1, 0],
    [0, 1e-4],
  ];
  t.throws(() => leastSquares(nearly, [1, 1], 1e-3), illPosed, "the limit is the caller's");
  t.ok(Math.abs(leastSquares(nearly, [1, 1], 1e-5).condition - 1e-4) < 1e-12);
  t.throws(() => leastSquares([[NaN], [1]], [1, 1]), illPosed);
});
