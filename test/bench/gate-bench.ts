/**
 * How long the gate takes, beside a plain check of bounds on six joints as a geometry checker would make at least: interleaved
 * rounds of single calls, in microseconds. Prints a table and writes JSON to the file named.
 *   npm run bench -- gate
 */
import { writeFile } from "node:fs/promises";
import { judge } from "../../src/agent/safety/gate.js";
import { judgeReply } from "../../src/agent/safety/reply-verdict.js";
import { skillNames } from "../../src/agent/safety/skill-names.js";
import { goodObservation, goodState, limits, tagged } from "../agent/fixtures.js";

const rounds = 6;
const calls = 20_000;
const nowS = 1000;
const observation = goodObservation(nowS);
const state = goodState(nowS);
const arrived = {
  ...{ finishReason: "stop", observationId: observation.id, observationHash: observation.hash },
  receivedAtS: nowS,
};
const replies = skillNames.map((name) => tagged(name));

let inside = 0;
const sides: Readonly<Record<string, (k: number) => unknown>> = {
  "bounds of six joints": () => {
    const q = state.jointPositionsRad;
    if (q !== "unknown" && q.every((value) => value > -6.28 && value < 6.28)) inside++;
  },
  "the gate's verdict": (k) =>
    judge(nowS, { skill: skillNames[k % 7] ?? "INSERT" }, observation, state, limits),
  "arrival, form and gate": (k) =>
    judgeReply(nowS, replies[k % 7] ?? "", arrived, observation, state, limits),
};

const times = new Map<string, number[]>(Object.keys(sides).map((name) => [name, []]));
for (let round = -1; round < rounds; round++) {
  const order = Object.entries(sides);
  for (const [name, call] of round % 2 === 0 ? order : order.reverse()) {
    for (let k = 0; k < calls; k++) {
      const begin = process.hrtime.bigint();
      call(k);
      // The first round warms up.
      if (round >= 0) times.get(name)?.push(Number(process.hrtime.bigint() - begin) / 1e3);
    }
  }
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
const results = [...times].map(([name, list]) => {
  const sorted = list.sort((a, b) => a - b);
  return {
    name,
    p50Us: quantile(sorted, 0.5),
    p99Us: quantile(sorted, 0.99),
    p999Us: quantile(sorted, 0.999),
  };
});
console.log(`one call, µs${" ".repeat(14)}p50      p99    p99.9`);
for (const { name, p50Us, p99Us, p999Us } of results)
  console.log(
    `  ${name.padEnd(24)}${[p50Us, p99Us, p999Us].map((value) => value.toFixed(2).padStart(8)).join(" ")}`,
  );
const verdict = results[1]?.p99Us ?? NaN;
console.log(`  the gate's p99 is ${verdict.toFixed(2)} µs, limit 50 µs: ${verdict <= 50 ? "met" : "MISSED"}`);
const [, , file] = process.argv;
if (file !== undefined)
  await writeFile(file, `${JSON.stringify({ calls: rounds * calls, inside, results })}\n`);
