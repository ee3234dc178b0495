import path from "node:path";
import t from "tap";
import { readCellFile } from "../../src/base/cell-file.js";
import { projectRoot } from "../../src/base/paths.js";
import {
  angleBetween,
  cross,
  distance,
  dot,
  norm,
  rotate,
  subtract,
  type Vec3,
} from "../../src/base/transform.js";
import { scenarioSchema } from "../../src/twin/scenario.js";
import {
  drawTrueCell,
  loopInCartridge,
  project,
  tissueToWorld,
  trueArm,
  trueCartridgePose,
  trueTipPose,
  type TrueCell,
  type TrueMicroscope,
} from "../../src/twin/true-cell.js";
import { heightAbove } from "../../src/twin/tissue.js";
import { flangePose, ur5Table } from "../../src/twin/ur/arm-geometry.js";

const scenario = scenarioSchema.parse({ name: "test", description: "" });
const file = await readCellFile(path.join(projectRoot, "calibration", "reference-cell.yaml"));
const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
const cells = seeds.map((seed) => drawTrueCell(file, scenario, seed));
const none = new Map<number, number>();
const start = (cell: TrueCell): ReturnType<typeof trueTipPose> =>
  trueTipPose(cell, trueArm(cell, file.knownPoseRad, [0, 0, 0]), none, 0);
const degrees = 180 / Math.PI;

t.test("a seed is a cell: the same again, another for another", async (t) => {
  t.same(drawTrueCell(file, scenario, 3).microscopes, cells[2]?.microscopes);
  t.notSame(cells[0]?.microscopes, cells[1]?.microscopes);
  t.notSame(cells[0]?.edges, cells[1]?.edges);
});

t.test("every imperfection lies within the range of the design", async (t) => {
  for (const [i, cell] of cells.entries()) {
    const seed = `seed ${seeds[i]}`;
    const nominal = flangePose(ur5Table, file.knownPoseRad).translation;
    const residual = distance(trueArm(cell, file.knownPoseRad, [0, 0, 0]).translation, nominal);
    t.ok(residual > 0.199e-3 && residual < 0.501e-3, `${seed}: arm off by ${residual * 1e3} mm`);
    const head = cell.edges.get("head");
    const drawn = cell.tree.fixedEdge("head");
    const handEye = distance(head?.translation ?? [0, 0, 0], drawn.translation);
    t.ok(handEye >= 1e-3 && handEye <= 3e-3, `${seed}: hand–eye off by ${handEye * 1e3} mm`);
    for (const [k, camera] of cell.microscopes.entries()) {
      const ratio = camera.metresPerPixel / (file.microscopes[k]?.metresPerPixel ?? NaN);
      t.ok(Math.abs(ratio - 1) <= 0.02, `${seed}: magnification ${ratio}`);
      const off = angleBetween(camera.cameraFromWorld[2], camera.focusDirection);
      t.ok(off >= 0.002 - 1e-9 && off <= 0.006 + 1e-9, `${seed}: focus stage ${off} rad off the axis`);
      const tipDepth = dot(camera.cameraFromWorld[2], subtract(start(cell).translation, camera.focusPoint));
      const blurred = Math.abs((cell.startFocusM[k] ?? NaN) - tipDepth);
      t.ok(blurred >= 1e-4 && blurred <= 5e-4, `${seed}: the tip is ${blurred * 1e3} mm out of focus`);
    }
    t.ok(Math.abs(Math.log2(cell.startExposureFactor)) <= 4);
  }
});

t.test("at the start the needle hangs 3–10° askew, close above the tissue, inside both views", async (t) => {
  for (const [i, cell] of cells.entries()) {
    const tip = start(cell);
    const axis = rotate(tip.rotation, [0, 0, 1]);
    const askew = angleBetween(axis, [
      -cell.tissue.normal[0],
      -cell.tissue.normal[1],
      -cell.tissue.normal[2],
    ]);
    t.ok(askew * degrees > 2.99 && askew * degrees < 10.01, `seed ${seeds[i]}: ${askew * degrees}°`);
    const height = heightAbove(cell.tissue, [0, 0, 0], tip.translation);
    t.ok(height > 0.1e-3 && height < 0.7e-3, `seed ${seeds[i]}: ${height * 1e3} mm above`);
    for (const camera of cell.microscopes) {
      const [x, y] = project(camera, tip.translation, 0);
      t.ok(x > 100 && x < 1948 && y > 100 && y < 1948, `seed ${seeds[i]}: tip at ${x}, ${y}`);
    }
  }
});

t.test("the needle's stroke runs along its slide, the head's stages along the head", async (t) => {
  const [cell] = cells;
  if (cell === undefined) return;
  const arm = trueArm(cell, file.knownPoseRad, [0, 0, 0]);
  const at = trueTipPose(cell, arm, none, 0);
  const out = trueTipPose(cell, arm, none, 1e-3);
  t.ok(Math.abs(distance(out.translation, at.translation) - 1e-3) < 1e-12);
  const run = angleBetween(subtract(out.translation, at.translation), rotate(at.rotation, [0, 0, 1]));
  t.ok(run < 0.008 + 1e-9, "the slide is a little askew to the needle");
  const moved = trueTipPose(cell, arm, new Map([[1, 2e-4]]), 0);
  t.ok(Math.abs(distance(moved.translation, at.translation) - 2e-4) < 1e-12);
  t.same(moved.rotation, at.rotation);
  const tilted = trueCartridgePose(cell, arm, new Map([[4, 0.1]]));
  const level = trueCartridgePose(cell, arm, none);
  t.ok(distance(tilted.translation, level.translation) < 1e-9, "the tilts turn about the loops");
  t.ok(
    Math.abs(angleBetween(rotate(tilted.rotation, [0, 0, 1]), rotate(level.rotation, [0, 0, 1])) - 0.1) <
      1e-9,
  );
  const offset: Vec3 = [1e-4, 0, -1e-4];
  t.ok(
    Math.abs(
      distance(
        trueTipPose(cell, trueArm(cell, file.knownPoseRad, offset), none, 0).translation,
        at.translation,
      ) -
        Math.SQRT2 * 1e-4,
    ) < 1e-12,
    "an arrival is off as a whole",
  );
  const pitch = subtract(loopInCartridge(file, 2), loopInCartridge(file, 1));
  t.ok(Math.abs(norm(pitch) - 0.5e-3) < 1e-12, "loops at half a millimetre");
});

t.test("projection of a camera that looks straight down, by hand", async (t) => {
  const camera: TrueMicroscope = {
    name: "down",
    cameraFromWorld: [
      [1, 0, 0],
      [0, -1, 0],
      [0, 0, -1],
    ],
    focusPoint: [1e-3, 0, 0],
    focusDirection: [0.01, 0, -1],
    metresPerPixel: 1e-6,
    centrePx: [1024, 1024],
    focusAxis: 6,
  };
  const seen = (point: Vec3, focusM = 0, wander?: [number, number]): number[] =>
    project(camera, point, focusM, wander).map((value) => Math.round(value * 1e6) / 1e6);
  t.same(seen([1e-3, 0, 5e-3]), [1024, 1024], "height does not show");
  t.same(seen([1.1e-3, 2e-4, 0]), [1124, 824], "image down is −y here");
  t.same(seen([1e-3, 0, 0], 1e-3), [1014, 1024], "a focus stage askew shifts the image by 1 %");
  t.same(seen([1e-3, 0, 0], 0, [3e-6, -2e-6]), [1027, 1022], "centre wander");
});

t.test("tissue axes are right-handed and lie in the surface", async (t) => {
  for (const { tissue } of cells) {
    t.ok(
      Math.abs(dot(tissue.uAxis, tissue.normal)) < 1e-12 &&
        Math.abs(dot(tissue.vAxis, tissue.normal)) < 1e-12,
    );
    t.ok(distance(cross(tissue.uAxis, tissue.vAxis), tissue.normal) < 1e-12);
    t.ok(angleBetween(tissue.normal, [0, 0, 1]) <= 0.0175 + 1e-9, "tilted by at most a degree");
    t.ok(Math.abs(distance(tissueToWorld(tissue, 3e-4, -4e-4), tissue.origin) - 5e-4) < 1e-12);
    t.ok(Math.abs(heightAbove(tissue, [0, 0, 0], tissueToWorld(tissue, 1e-3, 1e-3))) < 1e-12);
  }
});
