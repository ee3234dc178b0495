/** The shipped tasks against the published list, and what makes a vocabulary invalid. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import {
  loadVocabularies,
  loadVocabulary,
  rankOf,
  taskVocabulary,
  vocabularyHash,
} from "../../../src/lab/phase/task-vocabulary.js";

t.test("the five policy tasks: horizons, support sizes and labels as published", async (t) => {
  const published: Record<string, [number, number, string]> = {
    BlockPick: [75, 180, "clear failure, approach, contact/grasp, lift, stable success"],
    NeedlePick: [75, 180, "clear failure, approach, contact/grasp, lift, stable success"],
    PegTransfer: [90, 360, "clear failure, approach, contact/grasp, lift, transfer, stable success"],
    ShuntInsert: [90, 180, "insert failure, approach, grasp, align, seat"],
    GauzePull: [220, 60, "clear failure, approach, attach, pull, target align, target reach"],
  };
  const all = await loadVocabularies();
  const policy = [...all.values()].filter(({ role }) => role === "policy");
  t.same(policy.map(({ task }) => task).sort(), Object.keys(published).sort());
  for (const { task, horizon, supportEpisodes, phases, origin } of policy) {
    t.same([horizon, supportEpisodes, phases.map(({ label }) => label).join(", ")], published[task], task);
    t.equal(origin, "published");
  }
  const total = policy.reduce((sum, { supportEpisodes = 0 }) => sum + supportEpisodes, 0);
  t.equal(total, 960, "episodes of one source");
  // Scoring every frame of the pools would need 88,800 images, as published.
  t.equal(
    policy.reduce((sum, { supportEpisodes = 0, horizon }) => sum + supportEpisodes * horizon, 0),
    88_800,
  );
});

t.test("twelve tasks of the benchmark, six of them our inference, and one of our own", async (t) => {
  const all = [...(await loadVocabularies()).values()];
  t.equal(all.filter(({ origin }) => origin !== "own").length, 12);
  t.equal(all.filter(({ origin }) => origin === "inferred").length, 6);
  t.same(
    all.filter(({ origin }) => origin === "named").map(({ task }) => task),
    ["NeedleReach"],
  );
  t.same(
    all.filter(({ origin }) => origin === "own").map(({ task }) => task),
    ["LoopPickup"],
  );
  for (const vocabulary of all) {
    const { task, phases } = vocabulary;
    t.equal(phases.at(-1)?.rank, 5, `${task} ends in success`);
    t.equal(new Set(phases.map(({ rule }) => rule)).size, phases.length, `${task}: a rule for each phase`);
  }
  t.equal(new Set(all.map(vocabularyHash)).size, all.length);
});

t.test("a rank comes by its label", async (t) => {
  const shunt = await taskVocabulary("ShuntInsert");
  t.same(
    shunt.phases.map(({ label }) => rankOf(shunt, label)),
    [0, 1, 2, 4, 5],
  );
  t.throws(() => rankOf(shunt, "lift"), { code: "PHASE_FILE_FOREIGN" });
  t.rejects(taskVocabulary("Suturing"), { code: "COMMAND_INVALID" });
});

const base = (phases: string, crops = "[]"): string =>
  `task: Some\norigin: own\nrole: breadth\ndescription: x\nhorizon: 10\nphases:\n${phases}\ncrops: ${crops}\n`;
const phase = (label: string, rank: number): string => `  - { label: ${label}, rank: ${rank}, rule: seen }`;

t.test("what is wrong is named with its line", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-tasks-"));
  const cases: [string, RegExp][] = [
    [base([phase("none", 1), phase("lift", 3)].join("\n")), /phases\[0\].rank.*first phase has rank 0/],
    [base([phase("none", 0), phase("lift", 3), phase("grasp", 2)].join("\n")), /:9: .*ranks never fall/],
    [base([phase("none", 0), phase("none", 3)].join("\n")), /stands twice/],
    [base([phase("none", 0), phase("lift", 6)].join("\n")), /rank/],
    [base(phase("none", 0)), /at least 2/],
    [base([phase("none", 0), phase("Lift!", 3)].join("\n")), /label/],
    [
      base(
        [phase("none", 0), phase("lift", 3)].join("\n"),
        "[{ name: a, x: 0.6, y: 0, width: 0.5, height: 1 }]",
      ),
      /beyond the view/,
    ],
    [
      base([phase("none", 0), phase("lift", 3)].join("\n")).replace("horizon", "horizont"),
      /did you mean "horizon"/,
    ],
  ];
  for (const [index, [text, message]] of cases.entries()) {
    const file = path.join(folder, `${index}.yaml`);
    await writeFile(file, text);
    await t.rejects(loadVocabulary(file), { code: "PHASE_FILE_INVALID", message });
  }
  const good = base([phase("none", 0), phase("lift", 3), phase("held", 3)].join("\n"));
  const twice = await mkdtemp(path.join(tmpdir(), "surgiclaw-tasks-"));
  await writeFile(path.join(twice, "a.yaml"), good);
  t.equal((await loadVocabularies(twice)).size, 1, "equal ranks in a row are allowed");
  await writeFile(path.join(twice, "b.yaml"), good);
  await t.rejects(loadVocabularies(twice), { message: /stands twice/ });
});
