import t from "tap";
import { distance } from "../../../src/base/transform.js";
import { Arm } from "../../../src/twin/ur/arm.js";
import { ur5Limits } from "../../../src/twin/ur/arm-limits.js";
import { toPose, ur5Table } from "../../../src/twin/ur/arm-geometry.js";
import { braking, jointStop, trapezoid } from "../../../src/twin/ur/motion.js";

const start = [0, -1.6, 1.9, -1.9, -1.57, 0];
const stepS = 0.008;

/** An arm and a way to let control steps pass. */
function bench(): { arm: Arm; steps: (count: number) => void; seconds: () => number } {
  const arm = new Arm(ur5Table, ur5Limits, start, stepS);
  let n = 0;
  return {
    arm,
    seconds: () => n * stepS,
    steps(count) {
      for (let i = 0; i < count; i++) {
        const violation = arm.advance(++n * stepS);
        if (violation) throw new Error(violation.text);
      }
    },
  };
}

t.test("a trapezoid takes length/speed + speed/acceleration, a triangle 2·√(length/acceleration)", (t) => {
  const long = trapezoid(2, 0.5, 1);
  t.equal(long.durationS, 4.5);
  t.same(long.at(0.5), [0.125, 0.5]);
  t.same(long.at(4.5), [2, 0]);
  t.ok(Math.abs(trapezoid(0.01, 1, 1).durationS - 0.2) < 1e-12);
  t.ok(Math.abs(trapezoid(1, 1, 10, 3).durationS - 3) < 1e-9, "a given time rules");
  t.same(braking(1, 0.5, 1).at(1), [1.125, 0]);
  t.end();
});

t.test("stopping brakes all joints together on a straight line in joint space", (t) => {
  const stop = jointStop({ q: [0, 0, 0, 0, 0, 0], qd: [1, 0.5, 0, 0, 0, -0.25] }, 2);
  t.equal(stop.durationS, 0.5);
  t.same(stop.at(1).q, [0.25, 0.125, 0, 0, 0, -0.0625]);
  t.end();
});

t.test("movej is synchronous and arrives to the last bit when it should", (t) => {
  const { arm, steps, seconds } = bench();
  const goal = start.map((value, i) => value + (i === 0 ? 0.5 : 0.1));
  arm.moveJoints(goal, { speed: 0.5, acceleration: 1 });
  while (arm.isMoving) {
    steps(1);
    const share = ((arm.q[1] ?? 0) - (start[1] ?? 0)) / 0.1;
    t.ok(Math.abs((arm.q[0] ?? 0) / 0.5 - share) < 1e-12);
  }
  t.ok(Math.abs(seconds() - 1.5) <= stepS + 1e-9);
  t.same(arm.q, goal);
  t.equal(arm.arrivals, 1);
  t.end();
});

t.test("movel keeps the tool on the line and its orientation, and brakes along it", (t) => {
  const { arm, steps } = bench();
  const from = arm.tool;
  const target = toPose({
    ...from,
    translation: [from.translation[0] + 0.1, from.translation[1], from.translation[2]],
  });
  arm.moveTool(target, { speed: 0.1, acceleration: 0.5 });
  steps(60);
  arm.stopTool(0.5);
  while (arm.isMoving) {
    steps(1);
    const [, y, z] = arm.tool.translation;
    t.ok(Math.hypot(y - from.translation[1], z - from.translation[2]) < 1e-6);
  }
  const gone = distance(arm.tool.translation, from.translation);
  // 0.48 s: 0.2 s of ramp, 0.28 s at 0.1 m/s, then 0.1²/(2·0.5) m of braking.
  t.ok(Math.abs(gone - (0.01 + 0.028 + 0.01)) < 1e-4, `${gone} m`);
  t.end();
});

t.test("a blend joins two moves without a halt and without a jump", (t) => {
  const { arm, steps } = bench();
  const first = start.map((value, i) => value + (i === 0 ? 0.3 : 0));
  const second = first.map((value, i) => value + (i === 1 ? 0.3 : 0));
  arm.moveJoints(first, { speed: 0.5, acceleration: 2, blendM: 0.02 });
  while (!arm.mayProceed) steps(1);
  t.ok(arm.isMoving);
  arm.moveJoints(second, { speed: 0.5, acceleration: 2 });
  let least = Infinity;
  let before = arm.q;
  while (arm.isMoving) {
    steps(1);
    const change = Math.max(...arm.q.map((value, i) => Math.abs(value - (before[i] ?? 0))));
    t.ok(change <= 0.5 * stepS * 1.5);
    before = arm.q;
    if (arm.isMoving && (arm.q[1] ?? 0) < -1.4) least = Math.min(least, Math.max(...arm.qd.map(Math.abs)));
  }
  t.ok(least > 0.05, "never at rest in between");
  t.ok(arm.q.every((value, i) => Math.abs(value - (second[i] ?? 0)) < 1e-12));
  t.equal(arm.arrivals, 1);
  t.end();
});

t.test("servoj tracks, refuses a jump with C204 and stops by itself when nothing follows", (t) => {
  const { arm, steps } = bench();
  for (let k = 1; k <= 100; k++) {
    t.notOk(
      arm.servo(
        start.map((value, i) => value + (i === 5 ? k * 0.002 : 0)),
        0.1,
        300,
        stepS,
      ),
    );
    steps(1);
  }
  const lag = 0.2 - (arm.q[5] ?? 0);
  // A first-order lag of 0.1 s behind a ramp of 0.25 rad/s.
  t.ok(Math.abs(lag - 0.025) < 0.003, `lag ${lag}`);
  t.match(
    arm.servo(
      start.map((value, i) => value + (i === 5 ? 0.5 : 0)),
      0.1,
      300,
      stepS,
    ),
    { code: 204 },
  );
  steps(60);
  t.notOk(arm.isMoving);
  t.end();
});

t.test("speedj and speedl reach their speed and stop when nothing follows", (t) => {
  const { arm, steps } = bench();
  arm.speedJoints([0.2, 0, 0, 0, 0, 0], 1, 0.4);
  steps(40);
  t.ok(Math.abs((arm.qd[0] ?? 0) - 0.2) < 1e-12);
  steps(60);
  t.notOk(arm.isMoving);
  const z = arm.tool.translation[2];
  for (let k = 0; k < 100; k++) {
    arm.speedTool([0, 0, -0.02, 0, 0, 0], 0.5, stepS);
    steps(1);
  }
  t.ok(Math.abs((arm.toolTwist[2] ?? 0) + 0.02) < 1e-4);
  t.ok(Math.abs(z - arm.tool.translation[2] - (0.8 - 0.02) * 0.02) < 3e-4);
  steps(60);
  t.notOk(arm.isMoving);
  t.end();
});

t.test("the speed slider stretches a motion", (t) => {
  const { arm, steps, seconds } = bench();
  arm.speedFraction = 0.5;
  arm.moveJoints(
    start.map((value, i) => value + (i === 0 ? 0.5 : 0)),
    { speed: 0.5, acceleration: 1 },
  );
  while (arm.isMoving) steps(1);
  t.ok(Math.abs(seconds() - 3) < 2 * stepS + 1e-9);
  t.end();
});
