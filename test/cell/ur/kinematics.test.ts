import t from "tap";
import { Random } from "../../../src/base/random.js";
import {
  forward,
  inverse,
  inverseAll,
  jacobian,
  joints,
  poseError,
  ur5,
} from "../../../src/cell/ur/kinematics.js";
import { singularityLevel, singularityMeasures } from "../../../src/cell/ur/singularity.js";
import { singularValues } from "../../../src/cell/ur/linear.js";

const halfTurn = Math.PI / 2;

t.test("forward kinematics gives the published check values", (t) => {
  const straight = forward(ur5, [0, 0, 0, 0, 0, 0]).translation;
  [-0.81725, -0.19145, -0.00549].forEach((value, i) => t.ok(Math.abs((straight[i] ?? NaN) - value) < 5e-6));
  const upright = forward(ur5, [0, -halfTurn, 0, -halfTurn, 0, 0]).translation;
  [0, -0.19145, 1.00106].forEach((value, i) => t.ok(Math.abs((upright[i] ?? NaN) - value) < 5e-6));
  t.end();
});

function determinant(a: readonly (readonly number[])[]): number {
  if (a.length === 1) return a[0]?.[0] ?? 0;
  return (a[0] ?? []).reduce(
    (sum, value, j) =>
      sum + (j % 2 ? -1 : 1) * value * determinant(a.slice(1).map((row) => row.filter((_, k) => k !== j))),
    0,
  );
}

t.test("the determinant of the Jacobian is the factored form", (t) => {
  const random = new Random(11);
  for (let n = 0; n < 50; n++) {
    const q = joints(Array.from({ length: 6 }, () => random.uniform(-Math.PI, Math.PI)));
    const direct = Math.abs(determinant(jacobian(ur5, q)));
    const { manipulability } = singularityMeasures(ur5, q);
    t.ok(Math.abs(direct - manipulability) < 1e-12, `posture ${n}: ${direct} and ${manipulability}`);
    // The product of the singular values is |det| too.
    const product = singularValues(jacobian(ur5, q)).reduce((x, y) => x * y, 1);
    t.ok(Math.abs(product - direct) < 1e-10);
  }
  t.end();
});

t.test("the Jacobian is the derivative of the pose", (t) => {
  const q = joints([0.3, -1.2, 1.5, -1.8, -1.4, 0.6]);
  const columns = jacobian(ur5, q);
  for (let i = 0; i < 6; i++) {
    const step = 1e-6;
    const moved = (sign: number): ReturnType<typeof forward> =>
      forward(ur5, joints(q.map((value, k) => (k === i ? value + sign * step : value))));
    poseError(moved(-1), moved(1)).forEach((value, row) => {
      t.ok(Math.abs(value / (2 * step) - (columns[row]?.[i] ?? NaN)) < 1e-8);
    });
  }
  t.end();
});

t.test("inverse kinematics finds the posture it came from, among up to eight that all meet the pose", (t) => {
  const random = new Random(12);
  let count = 0;
  for (let n = 0; n < 300; n++) {
    const q = joints(Array.from({ length: 6 }, () => random.uniform(-3.1, 3.1)));
    if (Math.min(...[singularityMeasures(ur5, q)].flatMap((m) => [m.wrist, m.elbow, m.shoulder])) < 1e-4)
      continue;
    const pose = forward(ur5, q);
    const all = inverseAll(ur5, pose);
    count += all.length;
    for (const solution of all) {
      t.ok(Math.max(...poseError(forward(ur5, solution), pose).map(Math.abs)) < 1e-9);
    }
    const found = inverse(ur5, pose, q);
    t.ok(Math.max(...found.map((value, i) => Math.abs(value - (q[i] ?? 0)))) < 1e-7, `posture ${n}`);
  }
  t.ok(count / 300 > 6 && count / 300 <= 8, `${count / 300} solutions on average`);
  t.end();
});

t.test("out of reach and out of limits are refused; turns follow the present angles", (t) => {
  const pose = forward(ur5, [0.2, -1.3, 1.4, -1.7, -1.5, 0.4]);
  const far = { ...pose, translation: [1.5, 0, 0.2] as const };
  t.throws(() => inverse(ur5, far, [0, 0, 0, 0, 0, 0]), { code: "DEVICE_LIMIT" });
  const turned = inverse(ur5, pose, [0.2, -1.3, 1.4, -1.7, -1.5, 0.4 + 2 * Math.PI]);
  t.ok(Math.abs(turned[5] - (0.4 + 2 * Math.PI)) < 1e-9);
  t.throws(() => joints([1, 2, 3, 4, 5, NaN]), { code: "UNIT_NOT_FINITE" });
  t.end();
});

t.test("a wrist at its singularity keeps q6 where it was", (t) => {
  const q = joints([0.1, -1.2, 1.1, -0.7, 0, 0.9]);
  const found = inverse(ur5, forward(ur5, q), q);
  t.ok(Math.max(...poseError(forward(ur5, found), forward(ur5, q)).map(Math.abs)) < 1e-9);
  t.ok(Math.abs(found[5] - 0.9) < 1e-3);
  t.end();
});

t.test("the singularity level rises at once and falls with hysteresis", (t) => {
  const at = (sine: number): ReturnType<typeof singularityMeasures> =>
    singularityMeasures(ur5, [0, -1.2, 1.4, -1.7, Math.asin(sine), 0]);
  t.equal(singularityLevel(at(0.2), "clear"), "clear");
  t.equal(singularityLevel(at(0.11), "clear"), "warn");
  t.equal(singularityLevel(at(0.13), "warn"), "warn");
  t.equal(singularityLevel(at(0.15), "warn"), "clear");
  t.equal(singularityLevel(at(0.04), "warn"), "stop");
  t.equal(singularityLevel(at(0.055), "stop"), "stop");
  t.equal(singularityLevel(at(0.07), "stop"), "warn");
  t.end();
});
