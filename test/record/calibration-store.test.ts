/** Calibration files: what is refused and why, and that nothing measured is ever overwritten. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import type { MeasuredCalibration } from "../../src/base/calibration-file.js";
import { CellError } from "../../src/base/errors.js";
import { projectRoot } from "../../src/base/paths.js";
import {
  calibrationHash,
  checkDevices,
  loadCalibration,
  readCalibration,
  saveCalibration,
} from "../../src/record/calibration-store.js";

const content: Omit<MeasuredCalibration, "hash"> = {
  version: 1,
  cell: "lab-a",
  method: "measured",
  createdAt: "2026-12-01T08:00:00Z",
  edges: [],
  devices: { view1: { model: "MD65", serial: "MIC1" } },
  items: {
    "stage.x.lostMotion": {
      unit: "m",
      values: [0.5],
      covariance: [[0.25]],
      residuals: { unit: "m", rms: 0.125, max: 0.5, heldOut: 4 },
      measurements: 12,
      method: "from both sides",
      measuredAt: "2026-12-01T08:00:00Z",
      expiresAt: "2026-12-31T08:00:00Z",
    },
  },
};
/** The canonical form of the above (RFC 8785), written by hand. */
const canonical =
  '{"cell":"lab-a","createdAt":"2026-12-01T08:00:00Z","devices":{"view1":{"model":"MD65","serial":"MIC1"}},"edges":[],' +
  '"items":{"stage.x.lostMotion":{"covariance":[[0.25]],"expiresAt":"2026-12-31T08:00:00Z","measuredAt":"2026-12-01T08:00:00Z",' +
  '"measurements":12,"method":"from both sides","residuals":{"heldOut":4,"max":0.5,"rms":0.125,"unit":"m"},"unit":"m",' +
  '"values":[0.5]}},"method":"measured","version":1}';

const valid = Date.parse("2026-12-10T00:00:00Z");
const folder = async (): Promise<string> => mkdtemp(path.join(tmpdir(), "surgiclaw-calibration-"));

async function refusal(work: () => Promise<unknown>): Promise<CellError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof CellError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

t.test("the hash is SHA-256 over the canonical form", async (t) => {
  t.equal(calibrationHash(content), `sha256:${createHash("sha256").update(canonical).digest("hex")}`);
});

t.test("what was saved is read again; the file before is kept, both times", async (t) => {
  const file = path.join(await folder(), "cell.yaml");
  t.equal((await saveCalibration(file, content)).kept, undefined, "there was none");
  const first = await readFile(file, "utf8");
  t.match(await loadCalibration(file, "lab-a", valid), content);
  const later = { ...content, createdAt: "2026-12-02T08:00:00Z" };
  const { kept } = await saveCalibration(file, later);
  t.equal(await readFile(kept ?? "", "utf8"), first, "word for word");
  t.match(path.basename(kept ?? ""), /^cell-2026-12-01T080000Z-[0-9a-f]{8}\.yaml$/);
  await saveCalibration(file, { ...content, createdAt: "2026-12-03T08:00:00Z" });
  t.equal((await readdir(path.join(path.dirname(file), "history"))).length, 2);
});

t.test("edited, expired, foreign: each refused with what was expected", async (t) => {
  const file = path.join(await folder(), "cell.yaml");
  const { written } = await saveCalibration(file, content);
  const good = await readFile(file, "utf8");

  const foreign = await refusal(() => loadCalibration(file, "lab-b", valid));
  t.equal(foreign.code, "CALIBRATION_FOREIGN");
  t.match(foreign.detail, /expected a calibration of cell lab-b, found one of lab-a/);

  const expired = await refusal(() => loadCalibration(file, "lab-a", Date.parse("2026-12-31T08:00:00Z")));
  t.equal(expired.code, "CALIBRATION_EXPIRED");
  t.match(expired.detail, /stage\.x\.lostMotion \(until 2026-12-31T08:00:00Z\)/);
  t.match(expired.remedy, /surgiclaw calibrate/);

  t.throws(() => checkDevices(written, new Map([["view1", "MIC9"]])), {
    code: "CALIBRATION_FOREIGN",
    detail: /MIC1.*MIC9/,
  });
  t.doesNotThrow(() => checkDevices(written, new Map([["view1", "MIC1"]])));
  t.doesNotThrow(() => checkDevices(written, new Map()), "a camera that is offline contradicts nothing");

  for (const [find, put] of [
    ["- 0.5\n", "- 0.6\n"],
    ["2026-12-31T08:00:00Z", "2027-12-31T08:00:00Z"],
    ["serial: MIC1", "serial: MIC2"],
  ] as const) {
    const text = good.replace(find, put);
    t.not(text, good, `the file holds ${find}`);
    await writeFile(file, text);
    t.equal((await refusal(() => readCalibration(file))).code, "CALIBRATION_EDITED", put);
  }

  await writeFile(file, good.replace("measurements: 12", "measurements: 0"));
  const invalid = await refusal(() => readCalibration(file));
  t.equal(invalid.code, "CALIBRATION_INVALID");
  t.match(invalid.detail, /items\.stage\.x\.lostMotion\.measurements/);
});

t.test("a covariance that is none is refused when it is written", async (t) => {
  const file = path.join(await folder(), "cell.yaml");
  const item = content.items["stage.x.lostMotion"];
  if (item === undefined) throw new Error("the item is missing");
  const pair = { ...item, values: [1, 2] };
  for (const covariance of [
    [[1]],
    [
      [1, 0.5],
      [0.4, 1],
    ],
    [
      [1, 0],
      [0, -1],
    ],
    [
      [1, 2],
      [2, 1],
    ],
  ])
    await t.rejects(saveCalibration(file, { ...content, items: { pair: { ...pair, covariance } } }));
  const good = [
    [1, 0.5],
    [0.5, 1],
  ];
  await t.resolves(saveCalibration(file, { ...content, items: { pair: { ...pair, covariance: good } } }));
});

t.test("the drawing that ships is valid on any day and with any device", async (t) => {
  const file = path.join(projectRoot, "calibration", "reference-drawing.yaml");
  const drawing = await loadCalibration(file, "reference-cell", Date.parse("2099-01-01T00:00:00Z"));
  t.equal(drawing.method, "drawing");
  t.doesNotThrow(() => checkDevices(drawing, new Map([["view1", "any"]])));
});
