import t from "tap";
import { Random } from "../../../src/base/random.js";
import { forward, joints, poseError, ur5 } from "../../../src/cell/ur/kinematics.js";
import {
  findPosture,
  flangePose,
  fromPose,
  toPose,
  twistColumns,
  ur5Table,
} from "../../../src/twin/ur/arm-geometry.js";

t.test("the emulator's forward kinematics gives the published check values", (t) => {
  const quarter = Math.PI / 2;
  const cases = [
    { q: [0, 0, 0, 0, 0, 0], at: [-0.81725, -0.19145, -0.00549] },
    { q: [0, -quarter, 0, -quarter, 0, 0], at: [0, -0.19145, 1.00106] },
  ];
  for (const { q, at } of cases) {
    flangePose(ur5Table, q).translation.forEach((value, i) => t.ok(Math.abs(value - (at[i] ?? NaN)) < 5e-6));
  }
  t.end();
});

t.test("the two kinematics, written apart, agree; and a pose leads back to a posture that has it", (t) => {
  const random = new Random(21);
  for (let n = 0; n < 100; n++) {
    const q = joints(Array.from({ length: 6 }, () => random.uniform(-3, 3)));
    const pose = flangePose(ur5Table, q);
    t.ok(Math.max(...poseError(forward(ur5, q), pose).map(Math.abs)) < 1e-12);
    const again = fromPose(toPose(pose));
    t.ok(Math.max(...poseError(again, pose).map(Math.abs)) < 1e-9);
    if (Math.min(Math.abs(Math.sin(q[2])), Math.abs(Math.sin(q[4]))) < 0.2) continue;
    const found = findPosture(
      ur5Table,
      pose,
      q.map((value) => value + random.uniform(-0.1, 0.1)),
    );
    t.ok(
      found && Math.max(...poseError(flangePose(ur5Table, found), pose).map(Math.abs)) < 1e-6,
      `posture ${n}`,
    );
  }
  t.end();
});

t.test("twist columns are the derivative of the pose", (t) => {
  const q = [0.2, -1.1, 1.3, -1.2, -1.4, 0.5];
  const h = 1e-6;
  twistColumns(ur5Table, q).forEach((column, i) => {
    const moved = (sign: number): ReturnType<typeof flangePose> =>
      flangePose(
        ur5Table,
        q.map((value, k) => (k === i ? value + sign * h : value)),
      );
    poseError(moved(-1), moved(1)).forEach((value, row) => {
      t.ok(Math.abs(value / (2 * h) - (column[row] ?? NaN)) < 1e-8);
    });
  });
  t.end();
});
