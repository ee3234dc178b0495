/** Recorded trials to pools: the text formats, the order of primitives, steps from frames, and a whole way to a bank. */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { compileBank } from "../../../src/lab/phase/compile-bank.js";
import { publishedConstants } from "../../../src/lab/phase/compiler.js";
import { importTrials } from "../../../src/lab/phase/import/import-trials.js";
import { actionBetween, layouts, parseTable } from "../../../src/lab/phase/import/kinematics-table.js";
import { parseIntervals } from "../../../src/lab/phase/import/label-intervals.js";
import { gestureArrivals, pegTransferArrivals } from "../../../src/lab/phase/import/phase-arrivals.js";
import { observePool } from "../../../src/lab/phase/observer/observe-pool.js";
import { OracleObserver } from "../../../src/lab/phase/observer/oracle.js";
import { loadReference } from "../../../src/lab/phase/phase-reference.js";
import { RecordStore } from "../../../src/lab/phase/record-store.js";
import { readEpisode } from "../../../src/lab/phase/support-pool.js";
import { taskVocabulary } from "../../../src/lab/phase/task-vocabulary.js";

/** A whole transfer: taken by the left arm, handed to the right one, put down. */
const transfer = `0 99 Touch(L, Ball/Block/Sleeve)
100 149 Grasp(L, Ball/Block/Sleeve)
150 199 Untouch(Ball/Block/Sleeve, Pole)
200 289 Touch(R, Ball/Block/Sleeve)
290 319 Grasp(R, Ball/Block/Sleeve)
320 339 Release(L, Ball/Block/Sleeve)
340 349 Untouch(L, Ball/Block/Sleeve)
350 449 Touch(Ball/Block/Sleeve, Pole)
450 479 Release(R, Ball/Block/Sleeve)
480 499 Untouch(R, Ball/Block/Sleeve)
`;
const whole = { approach: 99, "contact/grasp": 149, lift: 199, transfer: 339, "stable success": 479 };
const arrivals = (text: string, gestures = "") =>
  pegTransferArrivals(parseIntervals("p", text), gestures === "" ? [] : parseIntervals("g", gestures));

t.test("lines of labels", async (t) => {
  t.same(parseIntervals("f", "0 969 Touch(L, Ball/Block/Sleeve)\r\n970\t1000 Grasp(R, Block)\n\n"), [
    { start: 0, end: 969, name: "Touch", arguments: ["L", "Ball/Block/Sleeve"] },
    { start: 970, end: 1000, name: "Grasp", arguments: ["R", "Block"] },
  ]);
  t.same(parseIntervals("f", "0 927 S1 True\n928 1000 S7 False"), [
    { start: 0, end: 927, name: "S1", arguments: [], succeeded: true },
    { start: 928, end: 1000, name: "S7", arguments: [], succeeded: false },
  ]);
  t.same(parseIntervals("f", "80 288 G1 \n"), [{ start: 80, end: 288, name: "G1", arguments: [] }]);
  for (const text of [
    "0 x Touch(L, Block)",
    "9 3 G1",
    "0 3 Touch(L, Block",
    "",
    "5 9 G1\n2 4 G2",
    "0 3 G1 maybe",
  ]) {
    t.throws(() => parseIntervals("f.txt", text), { code: "PHASE_FILE_INVALID", message: /f.txt/ }, text);
  }
});

t.test("tables of both layouts", async (t) => {
  const row = Array.from({ length: 16 }, (_, index) => index / 10);
  const next = row.map((value) => value + 1);
  const header = Array.from({ length: 16 }, (_, index) => `c${index}`).join("\t");
  const text = `${header}\n${row.join("\t")}\n${next.join("\t")}\n`;
  t.same(parseTable("f.csv", text, layouts.dvrk), [row, next]);
  const action = actionBetween(row, next, layouts.dvrk);
  t.equal(action.length, 8);
  t.ok(action.slice(0, 3).every((value) => Math.abs(value - 1) < 1e-12));
  t.equal(action[3], 1.7, "gripper of the first arm: column 8");
  t.equal(action[7], 2.5, "of the second: column 16");
  const wide = Array.from({ length: 76 }, (_, index) => index.toFixed(6)).join("    ");
  t.equal(parseTable("g.txt", `  ${wide}\n  ${wide}\n`, layouts.jigsaws)[1]?.[75], 75);
  for (const bad of [
    text.replace("0.3", "nan"),
    text.replace("\t0.3", ""),
    header,
    "",
    text.replaceAll("\t", ","),
  ]) {
    t.throws(() => parseTable("f.csv", bad, layouts.dvrk), { code: "PHASE_FILE_INVALID", message: /f.csv/ });
  }
});

t.test("phases of a Peg Transfer, whole and broken off", async (t) => {
  t.same(arrivals(transfer), whole);
  const until = (lines: number): string => transfer.split("\n").slice(0, lines).join("\n");
  t.same(arrivals(until(1)), { approach: 99 });
  t.same(arrivals(until(2)), { approach: 99, "contact/grasp": 149 });
  t.same(
    arrivals(until(5)),
    { approach: 99, "contact/grasp": 149, lift: 199 },
    "both hold it: no transfer yet",
  );
  t.same(Object.keys(arrivals(until(8))).length, 4);
  const dropped = `${until(3)}\n200 220 Release(L, Ball/Block/Sleeve)`;
  t.same(Object.keys(arrivals(dropped)), ["approach", "contact/grasp", "lift"], "dropped after the lift");
  t.same(arrivals("0 9 Touch(L, Pole)\n10 19 Grasp(L, Ball)"), {}, "another object");
  t.same(
    arrivals(transfer, "0 400 S1 True\n401 499 S7 False"),
    { approach: 99, "contact/grasp": 149, lift: 199, transfer: 339 },
    "what ends inside a failed gesture was not done",
  );
});

t.test("phases from gestures by a map", async (t) => {
  const vocabulary = await taskVocabulary("NeedleThread");
  const gestures = parseIntervals("g", "0 50 G1\n51 90 G2\n91 120 G9\n121 140 G2\n141 200 G3");
  const labels = { G1: "approach", G2: "grasp", G3: "at eyelet" };
  t.same(gestureArrivals(gestures, { at: "start", gestures: labels }, vocabulary), {
    approach: 0,
    grasp: 51,
    "at eyelet": 141,
  });
  t.same(gestureArrivals(gestures, { at: "end", gestures: { G3: "at eyelet" } }, vocabulary), {
    "at eyelet": 200,
  });
  for (const label of ["transfer", "clear failure"]) {
    const map = { at: "end", gestures: { G1: label } } as const;
    t.throws(() => gestureArrivals(gestures, map, vocabulary), { code: "PHASE_FILE_INVALID" });
  }
});

async function trials(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-import-"));
  const write = async (kind: string, name: string, text: string): Promise<void> => {
    await mkdir(path.join(folder, kind), { recursive: true });
    await writeFile(path.join(folder, kind, name), text);
  };
  const rows = (count: number): string =>
    Array.from({ length: count + 1 }, (_, frame) =>
      Array.from({ length: 16 }, (_, column) =>
        frame === 0 ? `c${column}` : (frame - 1) / 1000 + column,
      ).join("\t"),
    ).join("\n");
  await write("kinematics", "Peg_Transfer_S01_T01.csv", rows(501));
  await write("primitives", "Peg_Transfer_S01_T01.txt", transfer);
  await write("kinematics", "Peg_Transfer_S01_T02.csv", rows(501));
  await write("primitives", "Peg_Transfer_S01_T02.txt", transfer);
  await write("gestures", "Peg_Transfer_S01_T02.txt", "0 400 S1 True\n401 499 S7 False\n");
  await write("kinematics", "Peg_Transfer_S01_T03.csv", rows(501));
  await write("primitives", "Peg_Transfer_S01_T03.txt", transfer);
  await write("gestures", "Peg_Transfer_S01_T03.txt", "0 300 S1 True\n301 400 S7 True\n");
  await write("kinematics", "Peg_Transfer_S01_T04.csv", rows(501));
  return folder;
}

t.test("trials to a pool, a reference and, by the oracle, a bank", async (t) => {
  const from = await trials();
  const vocabulary = await taskVocabulary("PegTransfer");
  const target = path.join(from, "pool");
  const { pool, referenceFile, imported, refused } = await importTrials(target, vocabulary, {
    layout: "dvrk",
    kinematics: path.join(from, "kinematics"),
    primitives: path.join(from, "primitives"),
    gestures: path.join(from, "gestures"),
    stride: 5,
  });
  t.same(imported, ["Peg_Transfer_S01_T01", "Peg_Transfer_S01_T02"]);
  t.match(refused, [
    { trial: "Peg_Transfer_S01_T03", reason: /end apart.*primitives at frame 499, gestures at frame 400/ },
    { trial: "Peg_Transfer_S01_T04", reason: /no labels/ },
  ]);
  const first = await readEpisode(pool, vocabulary, "Peg_Transfer_S01_T01");
  t.equal(first.rewards.length, 100, "501 rows, every fifth kept: 101 states");
  t.ok(Math.abs((first.observations?.[3]?.[0] ?? 0) - 0.015) < 1e-12);
  // Step t ends at row 5 (t + 1): row 99 is passed at row 100, the end of step 19; 479 at 480, the end of step 95.
  const reference = await loadReference(referenceFile, vocabulary);
  t.same(reference.get("Peg_Transfer_S01_T01")?.arrivals, {
    approach: 19,
    "contact/grasp": 29,
    lift: 39,
    transfer: 67,
    "stable success": 95,
  });
  t.equal(first.rewards.indexOf(1), 95);
  t.match(reference.get("Peg_Transfer_S01_T02"), { phase: "transfer", arrival: 67 });
  const store = await RecordStore.open(path.join(from, "records.jsonl"));
  const never = new AbortController().signal;
  const observer = new OracleObserver(reference);
  await observePool(pool, vocabulary, observer, store, { form: "steps", patience: 1 }, never);
  const { header } = await compileBank(pool, vocabulary, store.lines, publishedConstants);
  t.match(header.accepted, [
    { rank: 5, middle: 95, window: [85, 99], credit: 0.9 },
    { rank: 4, middle: 67, window: [57, 77], credit: 0.55 },
  ]);
  t.same(
    header.columns.slice(0, 3).map(({ name, width }) => [name, width]),
    [
      ["observation", 16],
      ["action", 8],
      ["nextObservation", 16],
    ],
  );
  await t.rejects(
    importTrials(target, vocabulary, { layout: "dvrk", kinematics: path.join(from, "gestures"), stride: 5 }),
    { code: "PHASE_FILE_INVALID", message: /no trial could be imported/ },
  );
});
