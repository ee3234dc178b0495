/** The maker's inspection procedures, run on the emulated mechanics through the command table. */
import t from "tap";
import { sa07aRm02Upper, xa04aR102, type StageModel } from "../../../src/twin/kohzu/stage-models.js";
import { bench } from "./bench.js";

interface Inspection {
  /** Half of the largest spread of 7 one-sided approaches at 3 points (JIS B 6191). */
  readonly repeatability: number;
  /** Largest mean difference between approaches from either side (JIS B 6333). */
  readonly lostMotion: number;
  /** Spread of the position error over the travel, one-sided (lead error). */
  readonly leadError: number;
}

function inspect(model: StageModel, seed: number): Inspection {
  const { clock, controller, client } = bench({ seed, axes: [{ model, homed: true }] });
  const travel = Math.floor((0.95 * model.limit) / model.step);
  const go = (pulses: number): number => {
    t.strictSame(client.ask(`APS1/4/${pulses}/1`), ["C APS1"]);
    clock.advance(100);
    return controller.truePosition(1);
  };
  const approach = (pulses: number, side: 1 | -1): number => {
    go(pulses - side * 100);
    return go(pulses);
  };
  const series = (pulses: number, side: 1 | -1): number[] =>
    Array.from({ length: 7 }, () => approach(pulses, side));
  const mean = (values: number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
  let [spread, lost] = [0, 0];
  for (const point of [-travel + 200, 0, travel - 200]) {
    const up = series(point, 1);
    spread = Math.max(spread, Math.max(...up) - Math.min(...up));
    lost = Math.max(lost, Math.abs(mean(series(point, -1)) - mean(up)));
  }
  const errors: number[] = [];
  for (let point = -travel + 200; point <= travel - 200; point += Math.round(travel / 300))
    errors.push(approach(point, 1) - point * model.step);
  return {
    repeatability: spread / 2,
    lostMotion: lost,
    leadError: Math.max(...errors) - Math.min(...errors),
  };
}

t.test(
  "linear stage: repeatability ±0.3 µm, lost motion 1 µm, lead error 6 µm per 15 mm at most",
  async (t) => {
    const results = [1, 2, 3, 4, 5].map((seed) => inspect(xa04aR102, seed));
    for (const { repeatability, lostMotion, leadError } of results) {
      t.ok(repeatability <= 0.3e-6, `repeatability ${repeatability}`);
      t.ok(repeatability > 0.1e-6, "and it is not ideal");
      // The mean of 7 arrivals scatters by 0.3 µm / √21 on each side.
      t.ok(lostMotion <= 1.2e-6 && lostMotion > 0.6e-6, `lost motion ${lostMotion}`);
      t.ok(leadError <= 6e-6 + 0.6e-6 && leadError > 2e-6, `lead error ${leadError}`);
    }
    t.not(results[0]?.leadError, results[1]?.leadError, "the seed moves the stage, not only its noise");
  },
);

t.test("goniometer: repeatability 0.001°, lost motion 0.003° at most", async (t) => {
  const degree = Math.PI / 180;
  const { repeatability, lostMotion } = inspect(sa07aRm02Upper, 3);
  t.ok(repeatability <= 0.001 * degree && repeatability > 0.0003 * degree);
  t.ok(lostMotion <= 0.0035 * degree && lostMotion > 0.002 * degree);
});

t.test(
  "a small reversal is lost whole, and the table stands still while the screw takes up the play",
  async (t) => {
    const { clock, controller, client } = bench();
    client.ask("APS1/4/1000/1");
    clock.advance(10);
    const before = controller.truePosition(1);
    // One pulse is 0.5 µm, the play 0.9 µm: only the scatter of the arrival (±0.3 µm) can show.
    client.ask("APS1/4/999/1");
    clock.advance(10);
    t.ok(Math.abs(controller.truePosition(1) - before) < 0.6e-6);
    t.strictSame(client.ask("RDP1"), ["C RDP1 999"], "the counter knows nothing of it");
  },
);

t.test("the table moves as a smooth function of time", async (t) => {
  const { clock, controller, client } = bench();
  client.ask("APS1/4/2000/1");
  let last = controller.truePosition(1);
  // 5000 pps · 0.5 µm = 2.5 mm/s at most
  for (let i = 0; i < 1000; i++) {
    clock.advance(0.001);
    const now = controller.truePosition(1);
    t.ok(now - last > -1e-8 && now - last < 2.6e-6);
    last = now;
  }
  t.ok(Math.abs(last - 1e-3) < 8e-6);
});

t.test("the same seed gives the same stage", async (t) => {
  t.strictSame(inspect(xa04aR102, 11), inspect(xa04aR102, 11));
});
