/** Pool and replies to a bank: what goes in, what stays out and why, the file, and every way it can be wrong. */
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { decodeBank, encodeBank, readBank, writeBank } from "../../../src/lab/phase/bank-file.js";
import { compileBank } from "../../../src/lab/phase/compile-bank.js";
import { constantsSchema, publishedConstants } from "../../../src/lab/phase/compiler.js";
import { openPool, readEpisode, writePool } from "../../../src/lab/phase/support-pool.js";
import { taskVocabulary } from "../../../src/lab/phase/task-vocabulary.js";
import { episode, line, makePool, steps, truth } from "./fixtures.js";

const lift = { phase: "lift", arrival: [18, 21], confidence: 0.9 };

t.test("accepted and refused records, columns row by row", async (t) => {
  const made = await makePool();
  const lines = [
    line(made, "drop", lift),
    line(made, "whole", { phase: "stable success", arrival: [36, 36], confidence: 0.95 }),
    line(made, "slip", { phase: "contact/grasp", arrival: [15, 17], confidence: 0.6 }),
    line(made, "idle", { phase: "clear failure", arrival: null, confidence: 0.9 }),
    line(made, "near", lift, { finishReason: "length" }),
  ];
  const { header, columns } = await compileBank(made.pool, made.vocabulary, lines, publishedConstants);
  t.same(
    header.accepted.map(({ episode }) => episode),
    ["whole", "drop"],
    "in the order of the pool",
  );
  t.match(header.accepted[1], {
    firstRow: 40,
    steps: 40,
    rank: 3,
    middle: 19.5,
    window: [10, 29],
    credit: 0.55,
  });
  t.match(header.accepted[0], { firstRow: 0, rank: 5, middle: 36, window: [26, 39], credit: 0.9 });
  t.same(Object.fromEntries(header.refused.map(({ episode, reasons }) => [episode, reasons])), {
    slip: ["confidence"],
    idle: ["rank", "arrival"],
    near: ["invalid: finish reason length"],
  });
  t.equal(header.transitions, 80);
  const at = (name: string, row: number, column = 0): number | undefined => {
    const width = header.columns.find((entry) => entry.name === name)?.width ?? 0;
    return columns.get(name)?.[row * width + column];
  };
  const drop = await readEpisode(made.pool, made.vocabulary, "drop");
  for (const step of [0, 7, 39]) {
    t.equal(at("observation", 40 + step, 2), drop.observations?.[step]?.[2]);
    t.equal(at("nextObservation", 40 + step, 2), drop.observations?.[step + 1]?.[2]);
    t.equal(at("action", 40 + step, 0), drop.actions?.[step]?.[0]);
  }
  // 0.9 over 14 steps on top of the environment's 1; 0.55 over 20.
  t.ok(Math.abs((at("reward", 39) ?? 0) - (1 + 0.9 / 14)) < 1e-15);
  t.equal(at("environmentReward", 39), 1);
  t.equal(at("reward", 40 + 10), 0.55 / 20);
  t.equal(at("reward", 40 + 9), 0);
  t.same([at("terminal", 39), at("terminal", 79)], [1, 0], "a time limit ends nothing");
  t.ok(
    Math.abs((columns.get("probability") ?? new Float64Array()).reduce((sum, p) => sum + p, 0) - 1) < 1e-12,
  );

  await t.test("the file comes back as written, and the same inputs give the same bytes", async (t) => {
    const file = path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-bank-")), "a.bank");
    const written = await writeBank(file, header, columns);
    const read = await readBank(file);
    t.equal(read.sha256, written.sha256);
    t.same(read.header, header);
    t.same([...read.columns], [...columns]);
    const again = await compileBank(
      await openPool(made.pool.folder),
      made.vocabulary,
      lines,
      publishedConstants,
    );
    t.same(Buffer.from(encodeBank(again.header, again.columns)), await readFile(file));
    const other = constantsSchema.parse({ creditHalfWidth: 5 });
    const changed = await compileBank(made.pool, made.vocabulary, lines, other);
    t.notSame(Buffer.from(encodeBank(changed.header, changed.columns)), await readFile(file));
  });

  await t.test("a damaged file, another version, a cut one", async (t) => {
    const bytes = Buffer.from(encodeBank(header, columns));
    const flipped = Buffer.from(bytes);
    flipped[flipped.length - 3] = (flipped.at(-3) ?? 0) ^ 1;
    const version = Buffer.from(bytes.toString("latin1").replace("phase-bank/1", "phase-bank/2"), "latin1");
    const credit = Buffer.from(bytes.toString("latin1").replace('"credit":0.55', '"credit":0.56'), "latin1");
    const cases: [Buffer, RegExp][] = [
      [flipped, /does not fit its hash/],
      [credit, /does not fit its hash/],
      [version, /format/],
      [bytes.subarray(0, -8), /bytes of columns/],
      [Buffer.from("hello"), /not JSON/],
      [Buffer.alloc(0), /not JSON/],
    ];
    for (const [data, message] of cases) {
      t.throws(() => decodeBank("a.bank", data), { code: "PHASE_FILE_INVALID", message });
    }
  });
});

t.test("records of another task, vocabulary or pool are refused by episode", async (t) => {
  const made = await makePool();
  const compile = (more: object) =>
    compileBank(made.pool, made.vocabulary, [line(made, "drop", lift, more)], publishedConstants);
  const zero = "0".repeat(64);
  await t.rejects(compile({ task: "NeedlePick" }), { code: "PHASE_FILE_FOREIGN", message: /episode drop/ });
  await t.rejects(compile({ poolSha256: zero }), {
    code: "PHASE_FILE_FOREIGN",
    message: /drop is of another pool/,
  });
  await t.rejects(compile({ vocabularySha256: zero }), { code: "PHASE_FILE_FOREIGN", message: /vocabulary/ });
  await t.rejects(compile({ reply: "{}" }), { code: "PHASE_FILE_INVALID", message: /no record passed/ });
  const needle = await taskVocabulary("NeedlePick");
  await t.rejects(readEpisode(made.pool, needle, "drop"), { code: "PHASE_FILE_FOREIGN" });
});

t.test("episodes that are not what they say are refused by name", async (t) => {
  const made = await makePool();
  const file = path.join(made.pool.folder, "episodes", "drop.json");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace('"rewards":[0,', '"rewards":[1,'));
  await t.rejects(readEpisode(made.pool, made.vocabulary, "drop"), { message: /episode drop was changed/ });
  await t.rejects(readEpisode(made.pool, made.vocabulary, "nobody"), { code: "COMMAND_INVALID" });

  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-pool-"));
  const write = (more: object, source: "shaped" | "recorded" = "shaped") =>
    writePool(folder, { task: "BlockPick", source }, [episode("e1", {}, more)]);
  const nan = [...Array.from({ length: steps }, () => [0]), [Number.NaN]];
  for (const more of [
    { observations: nan },
    { actions: [[1]] },
    { observations: undefined },
    { terminal: [true, ...new Array<boolean>(steps - 1).fill(false)] },
    { stepTimesS: Array.from({ length: steps }, () => 1) },
    { frames: [{ step: steps, file: "a.png" }] },
    {
      frames: [
        { step: 3, file: "a.png" },
        { step: 3, file: "b.png" },
      ],
    },
    { id: "../e1" },
  ]) {
    await t.rejects(write(more), JSON.stringify(more).slice(0, 60));
  }
  const long = {
    ...episode("e1", {}),
    rewards: new Array<number>(76).fill(0),
    terminal: new Array<boolean>(76).fill(false),
  };
  const { observations: _o, actions: _a, stepTimesS: _s, ...video } = long;
  await writePool(folder, { task: "BlockPick", source: "shaped" }, [video]);
  await t.rejects(readEpisode(await openPool(folder), made.vocabulary, "e1"), { message: /ends after 75/ });
  await writePool(folder, { task: "BlockPick", source: "recorded" }, [video]);
  t.equal((await readEpisode(await openPool(folder), made.vocabulary, "e1")).rewards.length, 76);
});

t.test("a pool without states gives a bank of rewards and weights; mixed shapes are refused", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-pool-"));
  const { observations: _o, actions: _a, ...video } = episode("v1", truth["drop"] ?? {});
  const vocabulary = await taskVocabulary("BlockPick");
  const video2 = { ...video, id: "v2" };
  const whole = episode("v3", truth["drop"] ?? {});
  const pool = await writePool(folder, { task: "BlockPick", source: "recorded" }, [video, video2, whole]);
  const made = { pool, vocabulary, referenceFile: "" };
  const compile = (ids: string[]) =>
    compileBank(
      pool,
      vocabulary,
      ids.map((id) => line(made, id, lift)),
      publishedConstants,
    );
  const { header } = await compile(["v1", "v2"]);
  t.same(
    header.columns.map(({ name }) => name),
    ["environmentReward", "reward", "terminal", "weight", "probability"],
  );
  t.same(header.refused, [{ episode: "v3", reasons: ["no reply"] }]);
  await t.rejects(compile(["v1", "v3"]), { code: "PHASE_FILE_INVALID", message: /episode v3/ });
});
