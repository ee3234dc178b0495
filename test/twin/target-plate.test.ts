import path from "node:path";
import t from "tap";
import { readCellFile } from "../../src/base/cell-file.js";
import { projectRoot } from "../../src/base/paths.js";
import { readTargetFile } from "../../src/base/target-file.js";
import { identity3, rotate, rotationAbout, type Vec3 } from "../../src/base/transform.js";
import { readScenario } from "../../src/twin/scenario.js";
import { carriedPlate, drawPlate, mountedPlate, scenePlate } from "../../src/twin/target-plate.js";
import { drawTrueCell, project } from "../../src/twin/true-cell.js";

const file = await readCellFile(path.join(projectRoot, "calibration", "reference-cell.yaml"));
const target = await readTargetFile(path.join(projectRoot, "calibration", "target-chessboard.yaml"));
const scenario = await readScenario("default");
const degrees = 180 / Math.PI;
const dot = (a: Vec3, b: Vec3): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

t.test("an operator mounts the target in the middle of both pictures, at 45° to both views", (t) => {
  const pitches = new Set<number>();
  for (let seed = 1; seed <= 10; seed++) {
    const cell = drawTrueCell(file, scenario, seed);
    const plate = scenePlate(drawPlate(target, seed), mountedPlate(cell, "on"));
    pitches.add(plate.pitchM);
    t.ok(Math.abs(plate.pitchM - target.pitchM) < 4 * target.pitchSigmaM, "as certified");
    for (const camera of cell.microscopes) {
      const [x, y] = project(camera, plate.origin, 0);
      t.ok(Math.hypot(x - 1024, y - 1024) < 400, `seed ${seed}: centre at ${x}, ${y}`);
      const [u, v] = [plate.uAxis, plate.vAxis];
      const normal: Vec3 = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
      const tilt = Math.acos(-dot(normal, camera.cameraFromWorld[2])) * degrees;
      t.ok(Math.abs(tilt - 45) < 4, `seed ${seed}: tilted by ${tilt}°`);
    }
  }
  t.equal(pitches.size, 10, "no two plates are alike");
  t.end();
});

t.test("a target that faces one view shows the other its edge", (t) => {
  const cell = drawTrueCell(file, scenario, 7);
  const [first, second] = cell.microscopes;
  const { rotation } = mountedPlate(cell, "view1");
  const normal = rotate(rotation, [0, 0, 1]);
  t.ok(dot(normal, first.cameraFromWorld[2]) < -0.99);
  t.ok(Math.abs(dot(normal, second.cameraFromWorld[2])) < 0.1);
  t.end();
});

t.test("the target goes where its holder goes", (t) => {
  const mounted = { rotation: identity3, translation: [1, 0, 0] as Vec3 };
  const then = { rotation: identity3, translation: [0, 0, 0] as Vec3 };
  const now = { rotation: rotationAbout([0, 0, 1], Math.PI / 2), translation: [0, 0, 5] as Vec3 };
  const { translation } = carriedPlate(mounted, then, now);
  [0, 1, 5].forEach((value, k) => t.ok(Math.abs((translation[k] ?? NaN) - value) < 1e-12));
  t.end();
});
