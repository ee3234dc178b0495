/** The reliability report against figures counted by hand, and its page. */
import t from "tap";
import { publishedConstants } from "../../../src/lab/phase/compiler.js";
import { loadReference } from "../../../src/lab/phase/phase-reference.js";
import { figures } from "../../../src/lab/phase/report/figures.js";
import { reliabilityPage } from "../../../src/lab/phase/report/reliability-page.js";
import { wilson } from "../../../src/lab/evaluation/statistics.js";
import { assessReliability, milestoneCoverage } from "../../../src/lab/phase/report/reliability.js";
import { ticks } from "../../../src/lab/phase/report/svg.js";
import { line, makePool } from "./fixtures.js";

t.test("Wilson's interval gives the published hardware figures", async (t) => {
  for (const [count, low, high] of [
    [18, 69.9, 97.2],
    [11, 34.2, 74.2],
    [6, 14.5, 51.9],
  ] as const) {
    const [l, u] = wilson(count, 20).interval ?? [0, 0];
    t.ok(Math.abs(100 * l - low) < 0.05 && Math.abs(100 * u - high) < 0.05, `${count}/20: ${l} to ${u}`);
  }
  t.same(wilson(0, 0), { count: 0, of: 0, share: null, interval: null });
  t.same(wilson(0, 5).interval?.[0], 0);
});

t.test("five episodes by hand", async (t) => {
  const made = await makePool();
  const reference = await loadReference(made.referenceFile, made.vocabulary);
  const lines = [
    // Exact; middle 35, truly 36.
    line(made, "whole", { phase: "stable success", arrival: [32, 38], confidence: 0.9 }),
    // One label too far (two ranks: lift 3, success 5); middle 24, truly 20; outside its bracket.
    line(made, "drop", { phase: "stable success", arrival: [22, 26], confidence: 0.8 }),
    // Two labels short of what is true? No: grasp was reached, approach is named, one label, one rank; truly 15 and 8.
    line(made, "slip", { phase: "approach", arrival: [6, 8], confidence: 0.6 }),
    line(made, "near", "I see an approach.", { model: "<b>m</b>" }),
    line(made, "idle", { phase: "contact/grasp", arrival: [1, 2], confidence: 0.95 }),
  ];
  const report = await assessReliability(made.pool, made.vocabulary, lines, reference, publishedConstants);
  t.match(report, {
    asked: { count: 5, of: 5 },
    valid: { count: 4, of: 5, share: 0.8 },
    gated: { count: 3, of: 5 },
    exact: { count: 1, of: 4 },
    withinOneLabel: { count: 3, of: 4 },
    withinOneRank: { count: 2, of: 4 },
    arrivalCompared: 3,
    arrivalOfNamedCompared: 2,
    insideBracket: { count: 1, of: 3 },
    refused: { confidence: 1 },
    invalid: { "not one JSON value": 1 },
  });
  // |35 - 36|, |24 - 20|, |7 - 15|; and against the phase named: |35 - 36|, |7 - 8|.
  t.equal(report.arrivalMae, 13 / 3);
  t.equal(report.arrivalOfNamedMae, 1);
  t.same(report.confusion, [
    [0, 0, 1, 0, 0],
    [0, 0, 0, 0, 0],
    [0, 1, 0, 0, 0],
    [0, 0, 0, 0, 1],
    [0, 0, 0, 0, 1],
  ]);
  const named = Object.fromEntries(
    figures(report).map(({ name, value, published }) => [name, { value, published }]),
  );
  t.match(named["exact phase, of the valid"], { value: "25.0 % (1/4)", published: "33.3 % to 58.3 %" });
  t.match(named["arrival error, furthest phase"], {
    value: "4.3 steps (3 episodes)",
    published: "8.4 to 24.8 steps",
  });

  const page = reliabilityPage(report);
  t.notMatch(page, /<b>m|https?:\/\/(?!www.w3.org)/, "text is escaped and nothing is fetched");
  t.match(page, /&lt;b&gt;m/);
  t.equal(page.match(/<svg /g)?.length, 4);
  t.notMatch(page, /NaN|undefined|Infinity/);
  for (const tag of ["svg", "table", "text", "g", "rect", "circle", "line", "figure"]) {
    const open = page.match(new RegExp(`<${tag}[ >]`, "g"))?.length ?? 0;
    const close = page.match(new RegExp(`</${tag}>`, "g"))?.length ?? 0;
    t.equal(open, close, `<${tag}> closed`);
  }
  const nothing = await assessReliability(
    made.pool,
    made.vocabulary,
    lines.slice(3, 4),
    reference,
    publishedConstants,
  );
  t.match(nothing, { exact: { share: null }, arrivalMae: null });
  t.notMatch(reliabilityPage(nothing), /NaN|undefined|Infinity/, "a page without one valid record");
  await t.rejects(assessReliability(made.pool, made.vocabulary, lines, new Map(), publishedConstants), {
    message: /does not hold episode whole/,
  });
});

t.test("milestones truly reached", async (t) => {
  const made = await makePool();
  const reference = await loadReference(made.referenceFile, made.vocabulary);
  const ids = made.pool.manifest.episodes.map(({ id }) => id);
  t.same(
    milestoneCoverage(reference, made.vocabulary, ids).map(({ rank, share }) => [rank, share.count]),
    [
      [1, 4],
      [2, 3],
      [3, 2],
      [5, 1],
    ],
    "no rank 4 in this task",
  );
});

t.test("ticks are round", async (t) => {
  t.same(ticks(75), [0, 20, 40, 60]);
  t.same(ticks(1), [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]);
  t.same(ticks(220), [0, 50, 100, 150, 200]);
});
