/** Asking about a pool: once an episode, kept at once, gone on with after a break; and the oracles. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { CellError } from "../../../src/base/errors.js";
import { compileBank } from "../../../src/lab/phase/compile-bank.js";
import { publishedConstants } from "../../../src/lab/phase/compiler.js";
import { observePool } from "../../../src/lab/phase/observer/observe-pool.js";
import type { Observer } from "../../../src/lab/phase/observer/observer.js";
import { OracleObserver, perfect } from "../../../src/lab/phase/observer/oracle.js";
import { loadReference, truePhase } from "../../../src/lab/phase/phase-reference.js";
import { RecordStore } from "../../../src/lab/phase/record-store.js";
import { taskVocabulary } from "../../../src/lab/phase/task-vocabulary.js";
import { makePool, truth } from "./fixtures.js";

const never = new AbortController().signal;
const options = { form: "steps", patience: 2 } as const;
const records = async (): Promise<string> =>
  path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-observe-")), "records.jsonl");

t.test("the oracle's records compile to what the reference says", async (t) => {
  const made = await makePool();
  const reference = await loadReference(made.referenceFile, made.vocabulary);
  const store = await RecordStore.open(await records());
  const result = await observePool(
    made.pool,
    made.vocabulary,
    new OracleObserver(reference),
    store,
    options,
    never,
  );
  t.same(result, { asked: 5, already: 0, unanswered: [] });
  const { header } = await compileBank(made.pool, made.vocabulary, store.lines, publishedConstants);
  t.same(
    header.accepted.map(({ episode, rank, arrival }) => [episode, rank, ...arrival]),
    [
      ["whole", 5, 36, 36],
      ["drop", 3, 20, 20],
      ["slip", 2, 15, 15],
      ["near", 1, 30, 30],
    ],
  );
  t.same(
    header.refused.map(({ episode, reasons }) => [episode, reasons]),
    [["idle", ["rank", "arrival"]]],
  );
});

t.test("each episode is asked once, through breaks and silent servers", async (t) => {
  const made = await makePool();
  const file = await records();
  const asked: string[] = [];
  let silent = new Set(["drop"]);
  const observer: Observer = {
    name: "scripted",
    needsPictures: false,
    observe: ({ episode }) => {
      asked.push(episode);
      if (silent.has(episode)) return Promise.reject(new CellError("OBSERVER_FAILED", "silence"));
      return Promise.resolve({ text: "nonsense", finishReason: "stop" });
    },
  };
  const run = async (signal = never) =>
    observePool(made.pool, made.vocabulary, observer, await RecordStore.open(file), options, signal);
  t.same(await run(), { asked: 4, already: 0, unanswered: ["drop"] });
  silent = new Set();
  t.same(await run(), { asked: 1, already: 4, unanswered: [] });
  t.same(await run(), { asked: 0, already: 5, unanswered: [] }, "nonsense is a reply: it is not asked again");
  t.same([...asked].sort(), ["drop", "drop", "idle", "near", "slip", "whole"]);

  const fresh = await records();
  silent = new Set(Object.keys(truth));
  asked.length = 0;
  await t.rejects(
    observePool(made.pool, made.vocabulary, observer, await RecordStore.open(fresh), options, never),
    { code: "OBSERVER_FAILED" },
  );
  t.equal(asked.length, 2, "gives up after as many as its patience");
  await t.rejects(
    observePool(
      made.pool,
      made.vocabulary,
      observer,
      await RecordStore.open(fresh),
      options,
      AbortSignal.abort(),
    ),
    { code: "LINK_ABORTED" },
  );
});

t.test("one file, one observer, one pool", async (t) => {
  const made = await makePool();
  const reference = await loadReference(made.referenceFile, made.vocabulary);
  const store = await RecordStore.open(await records());
  await observePool(made.pool, made.vocabulary, new OracleObserver(reference), store, options, never);
  const worse = new OracleObserver(reference, { ...perfect, confuse: 1 });
  await t.rejects(observePool(made.pool, made.vocabulary, worse, store, options, never), {
    code: "PHASE_FILE_FOREIGN",
    message: /degraded/,
  });
  const other = await makePool();
  const { episodes } = other.pool.manifest;
  const changed = { ...other.pool, sha256: "f".repeat(64) };
  t.equal(episodes.length, 5);
  await t.rejects(
    observePool(changed, other.vocabulary, new OracleObserver(reference), store, options, never),
    { code: "PHASE_FILE_FOREIGN", message: /another pool/ },
  );
  const empty = await RecordStore.open(await records());
  await t.rejects(
    observePool(made.pool, made.vocabulary, new OracleObserver(new Map()), empty, options, never),
    { code: "PHASE_FILE_INVALID", message: /does not hold episode whole/ },
  );
});

t.test("degraded oracles have the faults they were given, and the same ones again", async (t) => {
  const vocabulary = await taskVocabulary("BlockPick");
  const ids = Array.from({ length: 2000 }, (_, index) => `e${index}`);
  const reference = new Map(ids.map((id) => [id, { phase: "lift", arrival: 40, arrivals: { lift: 40 } }]));
  const ask = async (faults: object) => {
    const oracle = new OracleObserver(reference, { ...perfect, seed: 5, ...faults });
    return Promise.all(
      ids.map(
        async (episode) => (await oracle.observe({ episode, steps: 75, vocabulary, form: "steps" })).text,
      ),
    );
  };
  const parsed = (texts: string[]) =>
    texts.map((text) => JSON.parse(text) as { phase: string; arrival: [number, number] | null });
  const share = (list: boolean[]): number => list.filter(Boolean).length / list.length;
  // Four standard deviations of a share around p in 2000 draws.
  const near = (value: number, p: number): boolean =>
    Math.abs(value - p) < 4 * Math.sqrt((p * (1 - p)) / 2000);

  const confused = parsed(await ask({ confuse: 0.3 }));
  t.ok(near(share(confused.map(({ phase }) => phase !== "lift")), 0.3));
  t.ok(near(share(confused.map(({ phase }) => phase === "contact/grasp")), 0.15), "to either side alike");
  t.ok(near(share(confused.map(({ phase }) => phase === "stable success")), 0.15));
  const forgetful = parsed(await ask({ forgetArrival: 0.4 }));
  t.ok(near(share(forgetful.map(({ arrival }) => arrival === null)), 0.4));
  const noisy = parsed(await ask({ arrivalSigma: 6, bracketHalfWidth: 2 }));
  const middles = noisy.map(({ arrival }) => ((arrival?.[0] ?? 0) + (arrival?.[1] ?? 0)) / 2 - 40);
  const sd = Math.sqrt(middles.reduce((sum, off) => sum + off * off, 0) / middles.length);
  t.ok(Math.abs(sd - 6) < 0.4, `spread ${sd.toFixed(2)}`);
  t.ok(
    noisy.every(
      ({ arrival }) => (arrival?.[1] ?? 0) - (arrival?.[0] ?? 0) === 4 || (arrival?.[1] ?? 0) === 74,
    ),
  );
  t.ok(near(share((await ask({ garble: 0.1 })).map((text) => !text.startsWith("{"))), 0.1));
  t.same(await ask({ confuse: 0.3, arrivalSigma: 6 }), await ask({ confuse: 0.3, arrivalSigma: 6 }));
  t.notSame(await ask({ confuse: 0.3 }), await ask({ confuse: 0.3, seed: 6 }));
});

t.test("a reference is checked as it is read", async (t) => {
  const vocabulary = await taskVocabulary("BlockPick");
  t.same(truePhase(vocabulary, "e", {}), { phase: "clear failure", arrival: null, arrivals: {} });
  t.match(truePhase(vocabulary, "e", { lift: 9, approach: 3 }), { phase: "lift", arrival: 9 });
  for (const arrivals of [{ lift: 3, approach: 9 }, { transfer: 3 }, { "clear failure": 0 }]) {
    t.throws(() => truePhase(vocabulary, "e7", arrivals), {
      code: "PHASE_FILE_INVALID",
      message: /episode e7/,
    });
  }
  const made = await makePool();
  await t.rejects(loadReference(made.referenceFile, await taskVocabulary("NeedlePick")), {
    code: "PHASE_FILE_FOREIGN",
  });
});
