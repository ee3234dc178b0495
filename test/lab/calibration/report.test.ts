/** The report of a calibration: numbers placed by hand, what is escaped, what is said of expiry and repeatability. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import t from "tap";
import type { CalibrationItem, MeasuredCalibration } from "../../../src/base/calibration-file.js";
import { projectRoot } from "../../../src/base/paths.js";
import { reportPage } from "../../../src/lab/calibration/report-page.js";
import { deviations, niceBelow, plotsOf, vectorField } from "../../../src/lab/calibration/report-plots.js";
import { saveCalibration } from "../../../src/record/calibration-store.js";

const item = (
  values: readonly number[],
  sigma: number,
  more: Partial<CalibrationItem> = {},
): CalibrationItem => ({
  unit: "m",
  values: [...values],
  covariance: values.map((_, i) => values.map((__, j) => (i === j ? sigma ** 2 : 0))),
  residuals: { unit: "m", rms: 2e-7, max: 3e-7, heldOut: 4 },
  measurements: 8,
  method: "by <hand>",
  measuredAt: "2026-12-01T08:00:00Z",
  expiresAt: "2026-12-31T08:00:00Z",
  ...more,
});
const repeated = item([2.5e-7, 3e-7, 1e-7], 1e-8, {
  at: { unit: "m", values: [-2e-4, 0, 2e-4] },
  residuals: {
    unit: "m",
    rms: 1e-7,
    max: 3e-7,
    heldOut: 2,
    points: [
      { at: [-2e-4], off: [2.5e-7] },
      { at: [2e-4], off: [-1e-7] },
    ],
    pointUnit: "m",
  },
});
const content: Omit<MeasuredCalibration, "hash"> = {
  version: 1,
  cell: 'lab-"a"',
  method: "measured",
  createdAt: "2026-12-01T08:00:00Z",
  edges: [{ frame: "head", translationM: [0.001, 0, 0.2], rotationVectorRad: [0, 0.01, 0] }],
  devices: { view1: { model: "MD65", serial: "MIC1" } },
  items: { "stage.x.repeatability": repeated, "stage.x.lostMotion": item([9e-7], 5e-8) },
};
const page = (now: string): string => reportPage({ ...content, hash: "sha256:0" }, Date.parse(now));

t.test("steps of axes", async (t) => {
  t.strictSame(
    [0.7, 1, 1.9, 2, 4.9, 7, 30].map(niceBelow).map((v) => Number(v.toPrecision(3))),
    [0.5, 1, 1, 2, 2, 5, 20],
  );
});

t.test("an arrow begins at its place and points where it was off", async (t) => {
  // Two points of a picture; the second is off by 10 px to the right and 10 px down.
  const svg = vectorField(
    "field",
    [
      { at: [0, 0], off: [0, 0] },
      { at: [1000, 1000], off: [10, 10] },
    ],
    { at: "px", off: "px" },
    [0, 1],
    ["right", "down"],
  );
  const line = /<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)" stroke="#1f5fa8"/.exec(svg);
  const [x1, y1, x2, y2] = (line ?? []).slice(1).map(Number);
  // The frame is 340 × 246, the points lie 0.4 / 1.8 of it inside: 64 + 340 · 1.4 / 1.8, 30 + 246 · 1.4 / 1.8.
  t.ok(Math.abs((x1 ?? NaN) - 328.4) < 0.1 && Math.abs((y1 ?? NaN) - 221.3) < 0.1, `${x1}, ${y1}`);
  t.ok(
    Math.abs(Math.hypot((x2 ?? NaN) - (x1 ?? NaN), (y2 ?? NaN) - (y1 ?? NaN)) - 68) < 0.2,
    "a fifth of 340",
  );
  t.ok((x2 ?? NaN) > (x1 ?? NaN) && (y2 ?? NaN) > (y1 ?? NaN), "right and down");
  t.match(svg, />10 px</);
  t.notMatch(svg, /NaN/);
});

t.test("deviations stand over their places, residuals of a map about its line", async (t) => {
  const svg = deviations(
    "d",
    [{ at: [0], off: [1e-6] }],
    { at: "m", off: "m" },
    { bands: [{ at: 0, half: 1e-6 }] },
  );
  t.match(svg, /position \/ mm/);
  t.match(svg, /deviation \/ µm/);
  const map = item([0, 2e-6], 1e-8, {
    at: { unit: "m", values: [0, 1e-3] },
    residuals: { unit: "m", rms: 0, max: 0, heldOut: 1, points: [{ at: [5e-4], off: [0] }], pointUnit: "m" },
  });
  const [plot = ""] = plotsOf("stage.x.leadError", map);
  const dot = /<circle cx="([\d.]+)" cy="([\d.]+)" r="2.6"/.exec(plot);
  const ends = /polyline points="([\d.]+),([\d.]+) ([\d.]+),([\d.]+)"/.exec(plot);
  t.ok(
    Math.abs(Number(dot?.[2]) - (Number(ends?.[2]) + Number(ends?.[4])) / 2) < 0.11,
    "half way up the line",
  );
  t.strictSame(plotsOf("none", item([1], 1)), []);
});

t.test("the page: escaped, with repeatability, lost motion and expiry", async (t) => {
  const now = page("2026-12-02T08:00:00Z");
  t.match(now, /lab-&quot;a&quot;/);
  t.match(now, /by &lt;hand&gt;/);
  t.notMatch(now, /<script|<hand>|NaN/);
  t.match(now, /<b>x<\/b><\/td><td>± 0\.30 µm<\/td><td>0\.25, 0\.30, 0\.10 µm<\/td><td>0\.90 ± 0\.05 µm/);
  t.match(now, /9e-7 ± 5e-8/);
  t.match(now, /4 left out of 12/);
  t.match(now, /class="ok">2026-12-31, 29 days left/);
  t.match(page("2026-12-28T08:00:00Z"), /class="soon">2026-12-31, 3 days left/);
  t.match(page("2027-01-01T08:00:00Z"), /class="bad">2026-12-31, expired/);
  t.match(now, /1\.000, 0\.000, 200\.000 mm/);
});

t.test("the command writes it beside the file", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-report-"));
  const file = path.join(folder, "cell.yaml");
  await saveCalibration(file, content);
  const main = path.join(projectRoot, "dist", "src", "cli", "main.js");
  const { stdout } = await promisify(execFile)(process.execPath, [main, "calibrate", "report", file]);
  t.match(stdout, /cell\.html written: 2 items/);
  t.match(await readFile(path.join(folder, "cell.html"), "utf8"), /<svg[^>]*>.*stage\.x\.repeatability/s);
});
