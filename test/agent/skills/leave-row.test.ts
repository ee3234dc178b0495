import t from "tap";
import { leaveRow } from "../../../src/agent/skills/pickup.js";
import type { StageTargets } from "../../../src/agent/skills/workbench.js";

/** A needle whose Y stage stands at `y` (m); the row of rings hangs on ribbons that run to +y. */
function needleAt(y: number, min = -7e-3) {
  const moves: StageTargets[] = [];
  return {
    moves,
    stagesFor: () => ({ x: 0, y, z: 0 }),
    moveStages: async (targets: StageTargets) => {
      moves.push(targets);
      return Promise.resolve();
    },
    devices: { stages: { limits: () => ({ min, max: 7e-3 }) } },
    file: { stageAxes: { y: 2 } },
  };
}
const { signal } = new AbortController();

t.test("within the row it goes out against the ribbons, and nowhere else", async (t) => {
  const bench = needleAt(3e-3);
  await leaveRow(bench, signal);
  t.equal(bench.moves.length, 1);
  t.same(Object.keys(bench.moves[0] ?? {}), ["y"]);
  const y = bench.moves[0]?.y ?? NaN;
  t.ok(y < 3e-3 - 4e-4 && y > 3e-3 - 6e-4, `to ${y}: further than a ring is long, no further than needed`);
});

t.test("beyond the row it comes back to the free side; outside it stays", async (t) => {
  const beyond = needleAt(3.2e-3);
  await leaveRow(beyond, signal, 3e-3);
  t.equal(beyond.moves.length, 1);
  t.ok((beyond.moves[0]?.y ?? NaN) < 3e-3 - 4e-4);
  const outside = needleAt(0);
  await leaveRow(outside, signal, 3e-3);
  t.same(outside.moves, []);
});

t.test("it goes no further than the stage does", async (t) => {
  const bench = needleAt(-6.9e-3, -7e-3);
  await leaveRow(bench, signal);
  t.equal(bench.moves[0]?.y, -7e-3);
});
