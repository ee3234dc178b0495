/**
 * The origin methods on a stage with every sensor: NORG from 0 to 400 µm, an origin mark from 100 to 150 µm, limits at
 * ±7.5 mm that let go 50 µm further inside, an encoder with one mark each turn of the 0.5 mm screw. One pulse is 0.5 µm.
 */
import t from "tap";
import { xa04aR102, type StageModel } from "../../../src/twin/kohzu/stage-models.js";
import { bench } from "./bench.js";

const everything: StageModel = {
  ...xa04aR102,
  originNoise: 0,
  originMark: [100e-6, 150e-6],
  encoder: { count: 0.5e-6 },
};

/** Where a search from `start` ends, true steps from the edge of NORG, and what ROG says then. */
function search(
  method: number,
  start: number,
  model: StageModel = everything,
): { readonly place: number; readonly homed: boolean; readonly counter: number } {
  const { clock, controller, client } = bench({
    axes: [{ model, initialPulses: 56_000, initialSteps: start }],
  });
  t.strictSame(client.ask(`WSY1/2/${method}`), ["C WSY1 2"]);
  t.strictSame(client.ask("ORG1/4/1"), ["C ORG1"]);
  clock.advance(200);
  const [position = ""] = client.ask("RDP1");
  const [origin = ""] = client.ask("ROG1");
  return {
    place: Math.round(controller.truePosition(1) / model.step / 20) * 20,
    homed: origin.endsWith(" 1"),
    counter: Number(position.split(" ")[2]),
  };
}

t.test("each method ends on its own edge, from wherever it begins", async (t) => {
  // 14899: the last step at which a switch at 15000 has let go again, 100 steps of hysteresis further in.
  for (const [method, place] of [
    [2, 0],
    [3, 200],
    [4, 0],
    [5, 300],
    [6, 200],
    [7, 14_900],
    [8, -14_900],
    [9, 200],
  ] as const)
    for (const start of [-9000, -15_000, 100, 12_000, 15_000]) {
      const found = search(method, start);
      t.match(found, { place, homed: true, counter: 0 }, `method ${method} from ${start}`);
    }
});

t.test("encoder methods go on to the next mark of the screw: every 1000 steps", async (t) => {
  for (const [method, place] of [
    [11, 1000],
    [12, 1000],
    [13, 14_000],
    [14, -14_000],
  ] as const)
    t.match(search(method, 4000), { place, homed: true, counter: 0 }, `method ${method}`);
  t.match(search(15, 4100), { place: 5000, homed: true, counter: 0 });
});

t.test("method 10 calls here zero without moving", async (t) => {
  t.match(search(10, 4000), { place: 4000, homed: true, counter: 0 });
});

t.test("a method whose sensor is missing runs to the CW limit and finds nothing", async (t) => {
  // What a real unit did on a stage without NORG: CCW limit, reversal, and on past every place where it could be.
  const bare: StageModel = { ...xa04aR102, nearOriginWidth: undefined };
  for (const method of [2, 3, 4, 9])
    t.match(search(method, 0, bare), { place: 15_000, homed: false }, `${method}`);
  t.match(search(5, 0, bare), { place: -15_000, homed: false }, "ORG near the CW limit");
  t.match(search(15, 0, bare), { place: 15_000, homed: false });
  // Limits are always fitted, so the methods that use them alone still work.
  t.match(search(8, 0, bare), { place: -14_900, homed: true, counter: 0 });
});

t.test("the offset is driven after the search, and that point is zero", async (t) => {
  const { clock, controller, client } = bench({ axes: [{ model: everything, initialSteps: 500 }] });
  client.ask("WSY1/1/-2000");
  client.ask("ORG1/4/1");
  clock.advance(100);
  t.strictSame(client.ask("RDP1"), ["C RDP1 0"]);
  t.ok(Math.abs(controller.truePosition(1) + 1e-3) < 8e-6);
});

t.test("a stop on the way leaves the axis without an origin", async (t) => {
  const { clock, client } = bench({ axes: [{ model: everything, initialSteps: 9000, homed: true }] });
  client.ask("ORG1/4/1");
  clock.advance(0.5);
  client.ask("STP1/1");
  clock.advance(100);
  t.strictSame(client.ask("ROG1"), ["C ROG1 0"]);
});
