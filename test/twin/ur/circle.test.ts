/** Circular moves against the geometry of circles, by formulas written down here. */
import t from "tap";
import {
  distance,
  norm,
  rotationFromRpy,
  subtract,
  vectorFromRotation,
  type Vec3,
} from "../../../src/base/transform.js";
import { Arm } from "../../../src/twin/ur/arm.js";
import { toPose, ur5Table } from "../../../src/twin/ur/arm-geometry.js";
import { ur5Limits } from "../../../src/twin/ur/arm-limits.js";
import { arcThrough } from "../../../src/twin/ur/circle.js";

const start = [0, -1.6, 1.9, -1.9, -1.57, 0];
const stepS = 0.008;

t.test("an arc through three points of a known circle", (t) => {
  const on = (angle: number): Vec3 => [1 + 2 * Math.cos(angle), 3 + 2 * Math.sin(angle), -1];
  for (const [via, to, angle] of [
    [0.5, 1, 1],
    [2, 4.5, 4.5],
    [-1, -2, 2],
    [3, 6.2, 6.2],
  ] as const) {
    const arc = arcThrough(on(0), on(via), on(to));
    t.ok(Math.abs(arc.radius - 2) < 1e-12 && distance(arc.centre, [1, 3, -1]) < 1e-12);
    t.ok(Math.abs(arc.angle - angle) < 1e-12, `${arc.angle} rad`);
    const turn = Math.sign(to);
    for (const share of [0, 0.25, 0.7, 1])
      t.ok(distance(arc.at(share), on(turn * share * angle)) < 1e-12, "equal shares are equal angles");
  }
  const line = [
    [0, 0, 0],
    [1, 1, 1],
    [2, 2, 2],
  ] as const;
  t.throws(() => arcThrough(...line), /do not make a circle/);
  t.throws(() => arcThrough(line[0], line[0], line[1]), /do not make a circle/);
  t.end();
});

/** Half a circle of 4 cm radius in the x-y plane, from where the tool is. */
function halfCircle(followsArc: boolean): {
  arm: Arm;
  run: (look: (tip: Vec3) => void) => number;
  centre: Vec3;
} {
  const arm = new Arm(ur5Table, ur5Limits, start, stepS);
  const [x, y, z] = arm.tool.translation;
  const centre: Vec3 = [x, y + 0.04, z];
  const turned = toPose({ ...arm.tool, translation: [x, y + 0.08, z] });
  arm.moveArc([x + 0.04, y + 0.04, z, 0, 0, 0], turned, { speed: 0.05, acceleration: 0.5 }, followsArc);
  return {
    arm,
    centre,
    run(look) {
      let n = 0;
      while (arm.isMoving) {
        const violation = arm.advance(++n * stepS);
        if (violation) throw new Error(violation.text);
        look(arm.tool.translation);
      }
      return n * stepS;
    },
  };
}

t.test("movec keeps the tool on the circle, through via, with the speed along the arc", (t) => {
  const { arm, run, centre } = halfCircle(false);
  const before = arm.tool;
  let nearestVia = Infinity;
  let fastest = 0;
  const seconds = run((tip) => {
    const spoke = subtract(tip, centre);
    if (Math.abs(norm(spoke) - 0.04) > 2e-6 || Math.abs(spoke[2]) > 2e-6)
      t.fail(`${norm(spoke)} m off the centre`);
    nearestVia = Math.min(nearestVia, distance(tip, [centre[0] + 0.04, centre[1], centre[2]]));
    fastest = Math.max(fastest, Math.hypot(...arm.toolTwist.slice(0, 3)));
  });
  t.ok(nearestVia < 0.05 * stepS);
  t.ok(Math.abs(fastest - 0.05) < 1e-4, `${fastest} m/s`);
  // Length over speed and speed over acceleration: the trapezoid of a straight way as long as the arc.
  t.ok(Math.abs(seconds - ((Math.PI * 0.04) / 0.05 + 0.05 / 0.5)) < 2 * stepS, `${seconds} s`);
  const turn = arm.tool.rotation.flat().map((value, i) => value - (before.rotation.flat()[i] ?? 0));
  t.ok(Math.hypot(...turn) < 1e-5, "the target's orientation, which is the one it had");
  t.ok(distance(arm.tool.translation, [centre[0], centre[1] + 0.04, centre[2]]) < 1e-6);
  t.end();
});

t.test("movec in mode 1 turns the tool with the arc", (t) => {
  const { arm, run } = halfCircle(true);
  const before = arm.tool.rotation;
  run(() => undefined);
  // Counterclockwise from below through the right to above, seen from +z: half a turn about +z.
  const half = rotationFromRpy(0, 0, Math.PI);
  const wanted = half.map((row) =>
    [0, 1, 2].map((k) => row.reduce((sum, value, i) => sum + value * (before[i]?.[k] ?? 0), 0)),
  );
  const off = wanted.flat().map((value, i) => value - (arm.tool.rotation.flat()[i] ?? 0));
  t.ok(Math.hypot(...off) < 1e-5, `turned: ${vectorFromRotation(arm.tool.rotation).join(", ")}`);
  t.end();
});
