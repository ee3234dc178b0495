/** What each method takes from a bank, held against cases worked out by hand; and support that must be refused. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { writeBank } from "../../../src/lab/phase/bank-file.js";
import { compileBank } from "../../../src/lab/phase/compile-bank.js";
import { constantsSchema, publishedConstants } from "../../../src/lab/phase/compiler.js";
import { writePool } from "../../../src/lab/phase/support-pool.js";
import { taskVocabulary } from "../../../src/lab/phase/task-vocabulary.js";
import { methodNamed, methodNames, methods, type MethodName } from "../../../src/lab/learning/methods.js";
import { loadSupport } from "../../../src/lab/learning/support-columns.js";
import { episode, line, makePool, steps, type MadePool } from "../phase/fixtures.js";

const sizes = { observationSize: 3, actionSize: 2 };
const close = (value: number | undefined, wanted: number): boolean =>
  Math.abs((value ?? NaN) - wanted) < 1e-6;

/** Two episodes of 40 steps: `whole` reaches success at step 36 (credit 0.9), `drop` lifts at 18 to 21 (credit 0.55). */
async function bankOf(made: MadePool, observer = "test", constants = publishedConstants): Promise<string> {
  const lines = [
    line(made, "whole", { phase: "stable success", arrival: [36, 36], confidence: 0.95 }, { observer }),
    line(made, "drop", { phase: "lift", arrival: [18, 21], confidence: 0.9 }, { observer }),
  ];
  const { header, columns } = await compileBank(made.pool, made.vocabulary, lines, constants);
  const file = path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-support-")), "a.bank");
  await writeBank(file, header, columns);
  return file;
}

t.test("every method's rewards, weights and probabilities", async (t) => {
  const made = await makePool();
  const bank = await bankOf(made);
  const load = async (name: MethodName) =>
    (await loadSupport(bank, methods[name], made.vocabulary, sizes))!.columns;

  const full = await load("phase-arrival");
  // Window of whole: 26 to 39, 14 steps; of drop: 9.5 to 29.5, 20 steps.
  t.ok(
    close(full.rewards[30], 0.9 / 14) && close(full.rewards[25], 0) && close(full.rewards[39], 1 + 0.9 / 14),
  );
  t.ok(close(full.rewards[40 + 10], 0.55 / 20) && close(full.rewards[40 + 9], 0));
  t.ok(close(full.weights[36], 1) && close(full.weights[28], Math.exp(-0.5)));
  const ratio = (full.probabilities[36] ?? 0) / (full.probabilities[0] ?? 1);
  t.ok(close(ratio, (1 + (4 * 0.9) / 14 + 1) / (1 + Math.exp(-(36 ** 2) / 128))));
  t.same([full.terminals[39], full.terminals[79]], [1, 0]);
  t.same(
    [...full.observations.slice(3, 6)],
    [Math.fround(0.1), 5, -1],
    "step 1 of whole, a name of five letters",
  );
  t.same([...full.nextObservations.slice(0, 3)], [Math.fround(0.1), 5, -1]);
  t.same([...full.actions.slice(2, 4)], [Math.fround(Math.sin(1)), 1]);

  const plain = await load("sac-bc");
  t.ok(close(plain.rewards[30], 0) && plain.rewards[39] === 1);
  t.same(plain.weights, full.weights);
  t.equal(new Set(plain.probabilities).size, 1);

  const direct = await load("direct-phase");
  t.ok(close(direct.rewards[39], 1.9) && close(direct.rewards[79], 0.55));
  t.ok(
    close(
      direct.rewards.reduce((sum, reward) => sum + reward, 0),
      1 + 0.9 + 0.55,
    ),
  );
  t.equal(new Set([...direct.weights, ...direct.probabilities]).size, 1);

  const spread = await load("uniform-credit");
  t.ok(close(spread.rewards[0], 0.9 / 40) && close(spread.rewards[79], 0.55 / 40));
  t.equal(new Set(spread.weights).size, 1);
  const odds = (spread.probabilities[0] ?? 0) / (spread.probabilities[40] ?? 1);
  t.ok(close(odds, (2 + (4 * 0.9) / 40) / (2 + (4 * 0.55) / 40)));

  const rewardOnly = await load("reward-only");
  t.same(rewardOnly.rewards, full.rewards);

  const pool = (await loadSupport(made.pool.folder, methods["uniform-bc"], made.vocabulary, sizes))!;
  t.equal(pool.columns.rewards.length, 5 * steps, "all episodes, ungated");
  t.equal(new Set([...pool.columns.weights, ...pool.columns.probabilities]).size, 1);
});

t.test("support that does not belong is refused by name", async (t) => {
  const made = await makePool();
  const bank = await bankOf(made);
  const load = (file: string | undefined, name: MethodName, task = made.vocabulary, wanted = sizes) =>
    loadSupport(file, methods[name], task, wanted);
  const needle = await taskVocabulary("NeedlePick");
  await t.rejects(load(bank, "phase-arrival", needle), { code: "PHASE_FILE_FOREIGN", message: /BlockPick/ });
  await t.rejects(load(made.pool.folder, "uniform-bc", needle), { code: "PHASE_FILE_FOREIGN" });
  const reworded = { ...made.vocabulary, description: "Another text." };
  await t.rejects(load(bank, "phase-arrival", reworded), {
    code: "PHASE_FILE_FOREIGN",
    message: /another version of the vocabulary/,
  });
  const wider = { observationSize: 4, actionSize: 2 };
  await t.rejects(load(bank, "sac-bc", made.vocabulary, wider), {
    code: "PHASE_FILE_FOREIGN",
    message: /observation has 3 values, the task has 4/,
  });
  await t.rejects(load(made.pool.folder, "uniform-bc", made.vocabulary, wider), { message: /episode whole/ });
  await t.rejects(load(bank, "oracle"), { message: /judged by test, this method needs an oracle/ });
  await t.rejects(load(bank, "uniform-bc"), { message: /is not the folder of a support pool/ });
  await t.rejects(load(made.pool.folder, "sac-bc"), { message: /is not a bank file/ });
  await t.rejects(load(undefined, "sac-bc"), { message: /needs a bank file/ });
  await t.rejects(load(bank, "sparse"), { message: /takes no support/ });
  await t.rejects(load(`${bank}.none`, "sac-bc"), { code: "CONFIG_UNREADABLE" });
  const episodeWide = await bankOf(made, "test", constantsSchema.parse({ spread: "episode" }));
  await t.rejects(load(episodeWide, "phase-arrival"), { message: /compiled without arrivals/ });
  t.equal((await load(await bankOf(made, "oracle"), "oracle"))?.observer, "oracle");

  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-stateless-"));
  const { observations, actions, ...video } = episode("e1", {});
  t.ok(observations && actions);
  await writePool(folder, { task: "BlockPick", source: "recorded" }, [video]);
  await t.rejects(load(folder, "uniform-bc"), { message: /episode e1 was recorded without states/ });
});

t.test("an unknown method is refused with the known ones", async (t) => {
  t.throws(() => methodNamed("magic"), { code: "COMMAND_INVALID", message: /no method magic/ });
  t.throws(() => methodNamed("toString"), { code: "COMMAND_INVALID" });
  for (const name of methodNames) t.equal(methodNamed(name).name, name);
});
