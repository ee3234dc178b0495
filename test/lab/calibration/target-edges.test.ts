import t from "tap";
import { Random } from "../../../src/base/random.js";
import {
  edgeBetween,
  refineCrossings,
  type Picture,
  type Point,
} from "../../../src/lab/calibration/target-edges.js";
import { cellMedians, inOrder } from "../../../src/lab/calibration/target-pattern.js";

/** The normal distribution, by the series of its own definition (Abramowitz and Stegun 26.2.10) and its tail. */
function phi(x: number): number {
  if (x > 6) return 1;
  if (x < -6) return 0;
  let [sum, term] = [x, x];
  for (let n = 1; n < 120; n++) {
    term *= (-x * x) / (2 * n);
    sum += term / (2 * n + 1);
  }
  return 0.5 + sum / Math.sqrt(2 * Math.PI);
}

const columns = 4;
const rows = 3;
const pitch = 52;
const size = 320;
const origin: Point = [60.37, 85.71];

/**
 * A chessboard with lines along the pixels, u to the right and v upwards, blurred by `sigma(x, y)`: the product of two square waves
 * under a Gaussian is the product of the blurred ones.
 */
function chessboard(sigma: (x: number) => number, seed: number): { picture: Picture; truth: Point[] } {
  const random = new Random(seed, "chessboard");
  const wave = (at: number, s: number): number => {
    // Lines at 0, 1, ... in pitches; negative before the first.
    let value = -1;
    for (let k = -2; k < 8; k++) value += (k % 2 === 0 ? 2 : -2) * phi(((at - k) * pitch) / s);
    return value;
  };
  const pixels = new Uint8Array(size * size);
  const truth: Point[] = [];
  for (let j = 0; j < rows; j++)
    for (let i = 0; i < columns; i++) truth.push([origin[0] + i * pitch, origin[1] + (rows - 1 - j) * pitch]);
  const across = Array.from({ length: size }, (_, x) => wave((x - origin[0]) / pitch, sigma(x)));
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const down = wave((y - origin[1]) / pitch, sigma(x));
      pixels[y * size + x] = Math.round(90 + 60 * (across[x] ?? 0) * down + random.normal(0, 1.5));
    }
  return { picture: { width: size, height: size, pixels }, truth };
}

t.test("crossings are found to a few hundredths of a pixel, with their blur", (t) => {
  for (const [n, sigma] of [0.9, 2, 4.5].entries()) {
    const { picture, truth } = chessboard(() => sigma, n + 1);
    const found = refineCrossings(
      picture,
      truth.map(([x, y]): Point => [x + 0.8, y - 0.6]),
      columns,
    );
    found.forEach((one, k) => {
      const [x, y] = truth[k] ?? [NaN, NaN];
      const off = one === undefined ? NaN : Math.hypot(one.at[0] - x, one.at[1] - y);
      t.ok(off < 0.06, `sigma ${sigma}, crossing ${k}: off by ${off.toFixed(3)} px`);
      // Half a pixel of sampling blurs a little, too.
      t.ok(Math.abs((one?.sigmaPx ?? NaN) / sigma - 1) < 0.15, `its blur is ${one?.sigmaPx ?? NaN}`);
    });
  }
  t.end();
});

t.test("a blur that changes across the pattern does not carry the lines away", (t) => {
  // As on a plate at 45° to the axis: 1.2 px of blur per 50 µm of depth, 1.2 µm per pixel.
  const { picture, truth } = chessboard((x) => Math.hypot(0.8, 0.028 * (x - 60)), 9);
  const found = refineCrossings(picture, truth, columns);
  const off = found.map((one, k) => (one === undefined ? NaN : one.at[0] - (truth[k]?.[0] ?? NaN)));
  t.ok(
    off.every((value) => Math.abs(value) < 0.1),
    `off by ${off.map((v) => v.toFixed(3)).join(" ")} px`,
  );
  t.end();
});

t.test("what is no edge is none", (t) => {
  const flat: Picture = { width: size, height: size, pixels: new Uint8Array(size * size).fill(120) };
  t.equal(edgeBetween(flat, [100, 100], [150, 100], 50), undefined);
  const { picture } = chessboard(() => 1, 3);
  t.equal(edgeBetween(picture, [2, 2], [2, 50], 50), undefined, "beyond the border of the picture");
  t.end();
});

t.test("crossings are put in the order of the target's file, wherever the search began", (t) => {
  const { picture, truth } = chessboard(() => 1.5, 4);
  // Beside crossing (0, 0), at negative u and v, this pattern has a square that is dark or bright: asked of the picture.
  const [x, y] = truth[0] ?? [NaN, NaN];
  const dark = (picture.pixels[Math.round(y + pitch / 2) * size + Math.round(x - pitch / 2)] ?? NaN) < 90;
  const right = dark ? truth : [...truth].reverse();
  const at = (list: readonly Point[], i: number, j: number): Point => list[j * columns + i] ?? [NaN, NaN];
  const mirrored = truth.map((_, n) => at(truth, n % columns, rows - 1 - Math.floor(n / columns)));
  for (const [name, begun] of [
    ["as it is", truth],
    ["upside down", [...truth].reverse()],
    ["mirrored", mirrored],
    ["mirrored and upside down", [...mirrored].reverse()],
  ] as const)
    t.same(inOrder(picture, begun, columns), right, name);
  t.end();
});

t.test("a median of a part of the picture does not see a speck", (t) => {
  const pixels = new Uint8Array(256 * 256).fill(100);
  for (let y = 0; y < 6; y++) for (let x = 0; x < 6; x++) pixels[y * 256 + x] = 10;
  const cells = cellMedians({ width: 256, height: 256, pixels });
  t.equal(cells.length, 256);
  t.ok(
    cells.every((value) => Math.abs(value - 100) <= 0.5),
    "100 everywhere",
  );
  t.end();
});
