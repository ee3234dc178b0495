import t from "tap";
import type { SpeedTable } from "../../../src/cell/kohzu/codec/speed-table.js";
import { decelerate, planMove } from "../../../src/twin/kohzu/motion-profile.js";
import { acceptTable, factoryTable, rampSteps } from "../../../src/twin/kohzu/speed-table.js";

const near = (a: number, b: number, tolerance = 1e-9): boolean => Math.abs(a - b) <= tolerance;

t.test("table 4 as delivered: 500 to 5000 pps in 0.32 s", async (t) => {
  const table = factoryTable(4);
  t.strictSame(table, {
    startPps: 500,
    topPps: 5000,
    accelerationS: 0.32,
    decelerationS: 0.32,
    pattern: "trapezoid",
  });
  // Mean speed of a ramp is 2750 pps: 880 steps each; the other 8240 of 10000 take 1.648 s at 5000 pps.
  const move = planMove(10_000, table);
  t.ok(near(move.durationS, 0.64 + 1.648));
  t.ok(near(move.at(0.32), 880));
  t.ok(near(move.at(0.16), 500 * 0.16 + 0.5 * (4500 / 0.32) * 0.16 ** 2));
  t.equal(move.at(move.durationS), move.distance);
  t.ok(near(move.distance, 10_000, 1e-6));
});

t.test("a short move turns around below the top speed", async (t) => {
  const table = factoryTable(4);
  const move = planMove(400, table);
  const slope = 4500 / 0.32;
  // Symmetric ramps: 200 steps each, v² = v0² + 2 a d.
  const peak = Math.sqrt(500 ** 2 + 2 * slope * 200);
  t.ok(near(move.durationS, (2 * (peak - 500)) / slope));
  t.ok(near(move.at(move.durationS / 2), 200, 1e-6));
  t.ok(near(move.speedAt(move.durationS / 2), peak, 1e-3));
});

t.test("an S-curve takes as long as the trapezoid, and its speed has no corner", async (t) => {
  const table: SpeedTable = { ...factoryTable(4), pattern: "s-curve" };
  const move = planMove(10_000, table);
  t.ok(near(move.durationS, planMove(10_000, factoryTable(4)).durationS));
  const acceleration = (time: number): number => (move.speedAt(time + 1e-6) - move.speedAt(time)) / 1e-6;
  t.ok(Math.abs(acceleration(1e-6)) < 10, "starts without a jerk");
  t.ok(near(move.speedAt(0.16), 2750, 1e-6));
});

t.test("speed is the derivative of position everywhere", async (t) => {
  for (const pattern of ["trapezoid", "s-curve", "rectangular"] as const)
    for (const distance of [1, 37, 900, 12_345]) {
      const move = planMove(distance, { ...factoryTable(2), pattern });
      for (let i = 1; i < 50; i++) {
        const time = (move.durationS * i) / 50;
        const slope = (move.at(time + 1e-7) - move.at(time - 1e-7)) / 2e-7;
        t.ok(near(slope, move.speedAt(time), 0.01 * slope + 1), `${pattern} ${distance} at ${time}`);
      }
      t.ok(near(move.distance, distance, 1e-6));
      t.ok(near(move.at(move.timeOf(distance / 3)), distance / 3, 1e-4));
    }
});

t.test("a stop on the way takes the ramp of the table and ends on a whole step", async (t) => {
  const table = factoryTable(4);
  const move = planMove(100_000, table);
  const stopped = decelerate(move, 1, table);
  // At 1 s: 880 + 0.68 · 5000 = 4280 steps; the ramp adds 880.
  t.ok(near(stopped.distance, 5160, 1e-6));
  t.ok(near(stopped.durationS, 1.32, 1e-9));
  t.ok(Number.isInteger(Math.round(decelerate(move, 0.777, table).distance * 1e6) / 1e6));
});

t.test("the controller's rules for speed tables", async (t) => {
  const wanted = { start: 100, top: 1000, acceleration: 20, deceleration: 20, pattern: "trapezoid" } as const;
  t.strictSame(acceptTable(wanted, 50_000), {
    startPps: 100,
    topPps: 1000,
    accelerationS: 0.2,
    decelerationS: 0.2,
    pattern: "trapezoid",
  });
  t.equal(acceptTable({ ...wanted, start: 501 }, 50_000), 605, "start above half of the top");
  t.equal(acceptTable({ ...wanted, top: 50_001 }, 50_000), 607, "top above setting 16");
  t.equal(acceptTable({ ...wanted, acceleration: 0 }, 50_000), 602);
  t.equal(acceptTable({ ...wanted, deceleration: 1001 }, 50_000), 603);
  const long = acceptTable({ ...wanted, deceleration: 90 }, 50_000);
  t.ok(typeof long === "object" && long.decelerationS < 2 * long.accelerationS);
  const fast = acceptTable({ ...wanted, top: 30_003 }, 50_000);
  t.ok(typeof fast === "object" && fast.topPps === 30_000, "steps of 10 pps up there");
  // (100 + 1000) / 2 · 0.2 s
  t.strictSame(
    rampSteps({ ...factoryTable(0), startPps: 100, topPps: 1000, accelerationS: 0.2, decelerationS: 0.3 }),
    [110, 165],
  );
});
