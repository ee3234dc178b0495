/** The fit of a telecentric view, against OpenCV's projectPoints of a camera so far away that it has no perspective. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../../src/base/paths.js";
import { Random } from "../../../src/base/random.js";
import { rotationAbout, vectorFromRotation } from "../../../src/base/transform.js";
import { solverLibrary, withoutSolvers } from "../../../src/lab/calibration/target-finder.js";
import {
  fitTelecentric,
  heldOutMisfits,
  pixelsPerPitch,
  scaleOf,
  type Sighting,
} from "../../../src/lab/calibration/telecentric-fit.js";

interface Cv {
  readonly Mat: new (rows: number[][], type: number) => object;
  readonly Vec3: new (x: number, y: number, z: number) => object;
  readonly Point3: new (x: number, y: number, z: number) => object;
  readonly CV_64F: number;
  projectPoints(
    points: object[],
    rotation: object,
    translation: object,
    camera: object,
    distortion: number[],
  ): { readonly imagePoints: readonly { readonly x: number; readonly y: number }[] };
}

const size = [2048, 2048] as const;
const corner = Math.hypot(1024, 1024);
const target = { columns: 10, rows: 7, pitchM: 1e-4, pitchSigmaM: 5e-9 };
// Set-up has said why it could not be built; otherwise it must be there.
const skip = existsSync(path.join(projectRoot, "build", "opencv4nodejs", ".absent"))
  ? (withoutSolvers() ?? false)
  : false;

/** What the camera sees of the target, tilted by 45° and turned, at these places in its plane (m). */
function seenBy(
  cv: Cv,
  metresPerPixel: number,
  distortion: number,
  places: readonly (readonly [number, number])[],
  random: Random,
): Sighting[] {
  const focal = 1e8;
  const distance = focal * metresPerPixel;
  const camera = new cv.Mat(
    [
      [focal, 0, 1024],
      [0, focal, 1024],
      [0, 0, 1],
    ],
    cv.CV_64F,
  );
  // OpenCV's radius is in focal lengths.
  const k1 = distortion * (focal / corner) ** 2;
  const tilt = vectorFromRotation(rotationAbout([Math.cos(0.7), Math.sin(0.7), 0], Math.PI / 4));
  const points: { u: number; v: number }[] = [];
  for (let j = 0; j < target.rows; j++)
    for (let i = 0; i < target.columns; i++)
      points.push({ u: i - (target.columns - 1) / 2, v: j - (target.rows - 1) / 2 });
  return places.flatMap(([x, y], picture) => {
    const { imagePoints } = cv.projectPoints(
      points.map(({ u, v }) => new cv.Point3(u * target.pitchM, v * target.pitchM, 0)),
      new cv.Vec3(...tilt),
      new cv.Vec3(x, y, distance),
      camera,
      [k1, 0, 0, 0, 0],
    );
    return imagePoints.map((p, n) => ({
      picture,
      u: points[n]?.u ?? NaN,
      v: points[n]?.v ?? NaN,
      x: p.x + random.normal(0, 0.03),
      y: p.y + random.normal(0, 0.03),
    }));
  });
}

const spread = [
  [0, 0],
  [5e-4, 4e-4],
  [-5e-4, 4e-4],
  [5e-4, -4e-4],
  [-5e-4, -4e-4],
  [0, 5e-4],
  [6e-4, 0],
] as const;

t.test("scale and distortion of OpenCV's camera are found within their covariance", { skip }, (t) => {
  const cv = createRequire(import.meta.url)(solverLibrary()) as Cv;
  for (const [n, distortion] of [0, 3e-3, -2e-3].entries()) {
    const truth = 1.18e-6;
    const seen = seenBy(cv, truth, distortion, spread, new Random(n, "telecentric"));
    const fit = fitTelecentric(seen, size);
    const { metresPerPixel, variance } = scaleOf(fit, target);
    // OpenCV gives single precision: a few ten-thousandths of a pixel.
    t.ok(
      Math.abs(metresPerPixel - truth) < 4 * Math.sqrt(variance),
      `${metresPerPixel} of ${truth}, σ ${Math.sqrt(variance)}`,
    );
    const sigma = Math.sqrt(fit.covariance[4]?.[4] ?? NaN);
    t.ok(
      Math.abs(fit.distortion - distortion) < 4 * sigma + 2e-5,
      `${fit.distortion} of ${distortion}, σ ${sigma}`,
    );
    t.ok(sigma < 2e-4, "and it is known to two parts in ten thousand");
    t.ok(Math.abs(fit.sigmaPx / 0.03 - 1) < 0.15, `noise of ${fit.sigmaPx} px`);
    const held = heldOutMisfits(
      fit,
      seenBy(cv, truth, distortion, [[2e-4, 3e-4]], new Random(n, "held out")),
      size,
    );
    const rms = Math.hypot(...held) / Math.sqrt(held.length);
    t.ok(rms > 0.02 && rms < 0.045, `held out: ${rms} px`);
  }
  t.end();
});

t.test("without distortion in the fit, what is held out says so", { skip }, (t) => {
  const cv = createRequire(import.meta.url)(solverLibrary()) as Cv;
  const seen = seenBy(cv, 1.18e-6, 3e-3, spread, new Random(5, "telecentric"));
  const fit = { ...fitTelecentric(seen, size), distortion: 0 };
  const held = heldOutMisfits(
    fit,
    seenBy(cv, 1.18e-6, 3e-3, [[6e-4, 5e-4]], new Random(5, "held out")),
    size,
  );
  t.ok(Math.hypot(...held) / Math.sqrt(held.length) > 0.2);
  t.end();
});

t.test("the larger singular value of a map is its unshortened direction", (t) => {
  // A plane tilted by 60° about an axis at 30°, seen at 85 px per pitch: R(30°) diag(85, 42.5) R(-30°), by hand.
  const [c, s] = [Math.cos(Math.PI / 6), Math.sin(Math.PI / 6)];
  const map = [85 * c * c + 42.5 * s * s, 42.5 * c * s, 42.5 * c * s, 85 * s * s + 42.5 * c * c] as const;
  t.ok(Math.abs(pixelsPerPitch(map) - 85) < 1e-9);
  t.end();
});

t.test("a target that is not flat, or another one, is refused", (t) => {
  const random = new Random(1, "crumpled");
  const seen = spread.flatMap((_, picture) =>
    Array.from({ length: 70 }, (__, n): Sighting => {
      const [u, v] = [(n % 10) - 4.5, Math.floor(n / 10) - 3];
      // A third of the crossings lie elsewhere.
      const off = n % 3 === 0 ? random.uniform(5, 20) : 0;
      return {
        picture,
        u,
        v,
        x: 1000 + 85 * u + off + random.normal(0, 0.02),
        y: 1000 + 60 * v + random.normal(0, 0.02),
      };
    }),
  );
  t.throws(() => fitTelecentric(seen, size), {
    code: "CALIBRATION_REFUSED",
    message: /do not fit a flat target/,
  });
  t.end();
});
