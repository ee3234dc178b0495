/** What the twin's own renderer shows of a target, found and fitted, against the truth that it was drawn from. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import t from "tap";
import { readCellFile } from "../../../src/base/cell-file.js";
import { projectRoot } from "../../../src/base/paths.js";
import { readTargetFile } from "../../../src/base/target-file.js";
import { add, scale, type Vec3 } from "../../../src/base/transform.js";
import { solverLibrary, withoutSolvers } from "../../../src/lab/calibration/target-finder.js";
import { findTarget, type OpenCv } from "../../../src/lab/calibration/target-pattern.js";
import { fitTelecentric, scaleOf, type Sighting } from "../../../src/lab/calibration/telecentric-fit.js";
import { twinAddon } from "../../../src/twin/native.js";
import { readScenario } from "../../../src/twin/scenario.js";
import { sceneJson } from "../../../src/twin/scene-files.js";
import { packScene, type SceneCamera } from "../../../src/twin/scene-layout.js";
import { drawPlate, mountedPlate, scenePlate } from "../../../src/twin/target-plate.js";
import { drawPhantom } from "../../../src/twin/tissue.js";
import { drawTrueCell, project } from "../../../src/twin/true-cell.js";

const file = await readCellFile(path.join(projectRoot, "calibration", "reference-cell.yaml"));
const target = await readTargetFile(path.join(projectRoot, "calibration", "target-chessboard.yaml"));
const skip = existsSync(path.join(projectRoot, "build", "opencv4nodejs", ".absent"))
  ? (withoutSolvers() ?? false)
  : false;

for (const name of ["default", "optics2"])
  t.test(`${name}: crossings and scale are those of the true cell`, { skip }, async (t) => {
    const cv = createRequire(import.meta.url)(solverLibrary()) as OpenCv;
    const scenario = await readScenario(name);
    const seed = 7;
    const cell = drawTrueCell(file, scenario, seed);
    const plate = drawPlate(target, seed);
    const mounted = mountedPlate(cell, "on");
    const scene = JSON.stringify(sceneJson(cell, scenario, drawPhantom(scenario, seed), []));
    const camera: SceneCamera = { focusM: 0, wanderM: [0, 0], online: true, frozen: false };
    const [view] = cell.microscopes;
    const [right, down] = view.cameraFromWorld;
    const seen: Sighting[] = [];
    const offs: number[] = [];
    for (const [picture, [x, y]] of (
      [
        [0, 0],
        [3e-4, 2e-4],
        [-3e-4, -2e-4],
      ] as const
    ).entries()) {
      const shift: Vec3 = add(scale(right, x), scale(down, y));
      const shown = scenePlate(plate, { ...mounted, translation: add(mounted.translation, shift) });
      const state = packScene({
        monotonicNs: 0,
        light: 1,
        tissueShiftM: [0, 0, 0],
        cameras: [camera, camera],
        segments: [],
        plate: shown,
      });
      const pixels = await twinAddon().renderFrame(scene, 0, state, 8000, 0, picture + 1);
      const found = findTarget(cv, { width: 2048, height: 2048, pixels }, target.columns, target.rows);
      t.ok(found.found, `picture ${picture}: found`);
      found.crossings.forEach((one, n) => {
        if (one === undefined || one.sigmaPx > 5) return;
        const u = (n % target.columns) - (target.columns - 1) / 2;
        const v = Math.floor(n / target.columns) - (target.rows - 1) / 2;
        const point = add(
          shown.origin,
          add(scale(shown.uAxis, u * plate.pitchM), scale(shown.vAxis, v * plate.pitchM)),
        );
        const [px, py] = project(view, point, 0);
        offs.push(Math.hypot(one.at[0] - px, one.at[1] - py));
        seen.push({ picture, u, v, x: one.at[0], y: one.at[1] });
      });
    }
    offs.sort((a, b) => a - b);
    const median = offs[offs.length >> 1] ?? NaN;
    // In their order, too: a crossing taken for its neighbour would be off by 60 px.
    t.ok(
      offs.length > 100 && median < 0.06,
      `${offs.length} crossings, off by ${median.toFixed(3)} px in the middle`,
    );
    const fit = fitTelecentric(seen, [2048, 2048]);
    const { metresPerPixel, variance } = scaleOf(fit, target);
    const sigmas = Math.abs(metresPerPixel - view.metresPerPixel) / Math.sqrt(variance);
    t.ok(sigmas < 4, `${metresPerPixel} of ${view.metresPerPixel} m/px, ${sigmas.toFixed(1)} σ`);
    t.ok(Math.abs(fit.distortion) < 5e-4, `distortion ${fit.distortion} of 0`);
  });
