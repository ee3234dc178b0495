/** The complete truth table of the gate: every combination of three-valued inputs, against a file written by hand. */
import { readFileSync } from "node:fs";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../../src/base/paths.js";
import { judge } from "../../../src/agent/safety/gate.js";
import { skillNames } from "../../../src/agent/safety/skill-names.js";
import type { Tri } from "../../../src/agent/safety/conditions.js";
import { goodFrames, goodObservation, goodState, goodVisual, limits } from "../fixtures.js";

interface Column {
  readonly violation_unless: readonly string[];
  readonly refused_unless: readonly string[];
}

const spec = JSON.parse(
  readFileSync(path.join(projectRoot, "test/agent/safety/prerequisites.spec.json"), "utf8"),
) as Record<string, Column>;

const values: readonly Tri[] = [true, false, "unknown"];
const nowS = 1000;

/** One row: the inputs, and which statements of the table are known to hold, said independently of the code. */
interface Row {
  readonly stopped: Tri;
  readonly selfCheck: Tri;
  readonly camera: Tri;
  readonly singular: Tri;
  readonly sharp: Tri;
  readonly exposure: Tri;
  readonly visible: Tri;
  readonly registered: Tri;
  readonly aligned: Tri;
  readonly electrode: Tri;
  readonly out: Tri;
  readonly target: Tri;
}

const holds: Readonly<Record<string, (row: Row) => boolean>> = {
  "no stop latched": (row) => row.stopped === false,
  "self-check passed": (row) => row.selfCheck === true,
  "cameras online": (row) => row.camera === true,
  "not near a singularity": (row) => row.singular === false,
  "image usable": (row) => row.sharp === true && row.exposure === true && row.visible === true,
  registered: (row) => row.registered === true,
  aligned: (row) => row.aligned === true,
  "electrode available": (row) => row.electrode === true,
  "needle out of tissue": (row) => row.out === true,
  "target left": (row) => row.target === true,
  "image not known sharp": (row) => row.sharp !== true,
  "exposure not known in band": (row) => row.exposure !== true,
  "camera offline or near singularity": (row) => row.camera === false || row.singular === true,
};

function* rows(): Generator<Row> {
  const keys = [
    "stopped",
    "selfCheck",
    "camera",
    "singular",
    "sharp",
    "exposure",
    "visible",
    "registered",
    "aligned",
    "electrode",
    "out",
    "target",
  ] as const;
  for (let code = 0; code < 3 ** keys.length; code++) {
    let rest = code;
    const row: Record<string, Tri> = {};
    for (const key of keys) {
      row[key] = values[rest % 3] ?? "unknown";
      rest = Math.floor(rest / 3);
    }
    yield row as unknown as Row;
  }
}

t.test("every combination of conditions, all seven skills", async (t) => {
  t.same(
    Object.keys(spec).slice(1).sort(),
    [...skillNames].sort(),
    "the specification names the seven skills",
  );
  const columns = skillNames.map((skill) => ({ skill, column: spec[skill] as Column }));
  const template = goodObservation(nowS);
  const frames = goodFrames(nowS);
  let rowCount = 0;
  let allowedCount = 0;
  const wrong: string[] = [];
  for (const row of rows()) {
    rowCount++;
    const state = goodState(nowS, {
      emergencyStop: row.stopped,
      selfCheckOk: row.selfCheck,
      camerasOnline: { MIC1: true, MIC2: row.camera },
      nearSingularity: row.singular,
      registered: row.registered,
      aligned: row.aligned,
      electrodeAvailable: row.electrode,
      needleOutOfTissue: row.out,
      targetsLeft: row.target === "unknown" ? "unknown" : row.target ? 1 : 0,
    });
    const visual = goodVisual({
      sharp: row.sharp,
      exposureInBand: row.exposure,
      needleVisible: row.visible,
      // As perception would combine them, were it to claim the most.
      usable: true,
    });
    const observation = { ...template, frames, state, visual };
    for (const { skill, column } of columns) {
      const violations = column.violation_unless.filter((name) => holds[name]?.(row) !== true).length;
      const refusals = column.refused_unless.filter((name) => holds[name]?.(row) !== true).length;
      const verdict = judge(nowS, { skill }, observation, state, limits);
      const expected = violations + refusals === 0;
      if (expected) allowedCount++;
      if (verdict.allowed !== expected || verdict.violations.length !== violations) {
        wrong.push(`${skill} ${JSON.stringify(row)}: ${JSON.stringify(verdict)}`);
      }
      if (verdict.reasons.length !== violations + refusals) wrong.push(`${skill} reasons`);
    }
  }
  t.equal(rowCount, 531441);
  t.same(wrong.slice(0, 5), []);
  t.comment(`${allowedCount} of ${rowCount * 7} allowed`);
});

t.test("each single stop signal latches, each frame epoch counts", async (t) => {
  const observation = goodObservation(nowS);
  const allowed = (changes: object): boolean =>
    judge(nowS, { skill: "INSERT" }, observation, goodState(nowS, changes), limits).allowed;
  t.equal(allowed({}), true);
  for (const key of ["emergencyStop", "protectiveStop", "stopLatched"]) {
    t.equal(allowed({ [key]: true }), false, key);
    t.equal(allowed({ [key]: "unknown" }), false, `${key} unknown`);
    t.equal(allowed({ [key]: undefined }), false, `${key} missing`);
  }
  t.equal(allowed({ alignedEpoch: 3 }), false, "aligned in an earlier epoch");
  t.equal(allowed({ targetsLeft: Number.NaN }), false);
  t.equal(allowed({ camerasOnline: {} }), false);
  t.equal(allowed({ registered: "true" }), false, "a string is not true");
});
