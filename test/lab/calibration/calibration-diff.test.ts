/** Differences of calibrations, by hand: 5 - 2 = 3, and √(1.2² + 1.6²) = 2. */
import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import t from "tap";
import type { CalibrationItem, MeasuredCalibration } from "../../../src/base/calibration-file.js";
import { projectRoot } from "../../../src/base/paths.js";
import { diffCalibrations } from "../../../src/lab/calibration/calibration-diff.js";
import { saveCalibration } from "../../../src/record/calibration-store.js";

const item = (values: readonly number[], deviation: number): CalibrationItem => ({
  unit: "m",
  values: [...values],
  covariance: values.map((_, i) => values.map((__, j) => (i === j ? deviation ** 2 : 0))),
  residuals: { unit: "m", rms: 0, max: 0, heldOut: 1 },
  measurements: 3,
  method: "by hand",
  measuredAt: "2026-12-01T08:00:00Z",
  expiresAt: "2026-12-31T08:00:00Z",
});

const calibration = (
  items: Record<string, CalibrationItem>,
  serial: string,
): Omit<MeasuredCalibration, "hash"> => ({
  version: 1,
  cell: "lab-a",
  method: "measured",
  createdAt: "2026-12-01T08:00:00Z",
  edges: [],
  devices: { view1: { model: "MD65", serial } },
  items,
});
const before = calibration({ pair: item([2, 7], 1.2), gone: item([1], 1) }, "MIC1");
const after = calibration({ pair: item([5, 7], 1.6), fresh: item([4], 1) }, "MIC2");

t.test("changed, gone, new and unchanged values, and exchanged devices", async (t) => {
  const hash = "";
  const diff = diffCalibrations({ ...before, hash }, { ...after, hash });
  t.strictSame(diff.changes, [
    { name: "fresh", unit: "m", after: 4 },
    { name: "gone", unit: "m", before: 1 },
    { name: "pair[0]", unit: "m", before: 2, after: 5, change: 3, sigmas: 1.5 },
  ]);
  t.equal(diff.unchanged, 1);
  t.strictSame(diff.devices, [{ device: "view1", before: "MIC1", after: "MIC2" }]);
});

t.test("the command prints a table, and JSON for programs", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-diff-"));
  const files = [path.join(folder, "a.yaml"), path.join(folder, "b.yaml")] as const;
  await saveCalibration(files[0], before);
  await saveCalibration(files[1], after);
  const main = path.join(projectRoot, "dist", "src", "cli", "main.js");
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [main, "calibrate", "diff", ...files]);
  t.match(stdout, /pair\[0\] +m +2\.00000 +5\.00000 +3\.00000 +1\.5/);
  t.match(stdout, /MIC1 before, MIC2 after/);
  const json = await run(process.execPath, [main, "calibrate", "diff", "--json", ...files]);
  t.match(JSON.parse(json.stdout), { unchanged: 1, changes: [{ name: "fresh" }, {}, { sigmas: 1.5 }] });
});
