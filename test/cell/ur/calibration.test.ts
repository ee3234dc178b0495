/** An arm whose own parameters differ from the model's: the driver learns them and lands where the controller says. */
import t from "tap";
import { monotonicNow } from "../../../src/base/clock.js";
import { distance, type Transform } from "../../../src/base/transform.js";
import { calibrated, forward, inverseAll, joints, poseError, ur5 } from "../../../src/cell/ur/kinematics.js";
import { corrected, flangePose, ur5Table, type DhTable } from "../../../src/twin/ur/arm-geometry.js";
import { rig, soon, startQ } from "./rig.js";

/** Corrections as a factory writes them: tenths of millimetres and milliradians. */
const correction: DhTable = {
  theta: [2e-4, -6e-4, 4e-4, 3e-4, -1e-4, 0],
  a: [1e-4, 6e-4, -4e-4, 5e-5, -3e-5, 0],
  d: [3e-4, 0, 0, -2e-4, 1e-4, 2e-4],
  alpha: [5e-4, -3e-4, 2e-4, -4e-4, 3e-4, 0],
};
const own = corrected(ur5Table, correction);

t.test("with an arm's own parameters the inverse ends on the pose, to a nanometre", (t) => {
  const dh = calibrated(ur5, own);
  const nominal = forward(ur5, joints(startQ));
  const target = flangePose(own, startQ);
  const away = distance(nominal.translation, target.translation);
  t.ok(away > 2e-4 && away < 5e-3, `the calibration matters: ${(away * 1e3).toFixed(2)} mm`);
  t.ok(distance(forward(dh, joints(startQ)).translation, target.translation) < 1e-12);
  const solutions = inverseAll(dh, target, joints(startQ));
  t.equal(solutions.length, 8);
  for (const q of solutions) {
    const error = poseError(flangePose(own, q), target);
    t.ok(Math.hypot(...error) < 2e-9, "by the other kinematics");
  }
  t.ok(solutions.some((q) => Math.max(...q.map((value, i) => Math.abs(value - (startQ[i] ?? NaN)))) < 1e-8));
  t.end();
});

t.test("axes that are nearly parallel, written with offsets of metres", (t) => {
  // Sliding the origin of frame 2 along its axis and back in frame 3 leaves the arm the same when the axes are parallel.
  const far = { ...own, d: own.d.map((value, i) => value + (i === 1 ? 250 : i === 2 ? -250 : 0)) };
  const straight = { ...far, alpha: own.alpha.map((value, i) => (i === 1 || i === 2 ? 0 : value)) };
  const near = { ...straight, d: own.d };
  const target = flangePose(near, startQ);
  const solutions = inverseAll(calibrated(ur5, straight), target, joints(startQ));
  t.ok(solutions.some((q) => Math.max(...q.map((value, i) => Math.abs(value - (startQ[i] ?? NaN)))) < 1e-7));
  t.end();
});

t.test("the driver takes the calibration from the primary interface", async (t) => {
  const { controller, robot, ...rest } = await rig({ controller: { calibration: correction } });
  t.teardown(() => rest.close());
  await robot.connect(soon());
  await robot.activate(soon());
  const from = flangePose(own, startQ);
  const told = robot.state().baseFromFlange;
  t.ok(told && distance(told.translation, from.translation) < 1e-9, "it tells the calibrated pose");
  const to: Transform = {
    ...from,
    translation: [from.translation[0], from.translation[1] + 0.02, from.translation[2]],
  };
  const report = await robot.moveLinear(to, { speedMS: 0.1, accelerationMS2: 0.5 }, soon());
  t.ok(report.positionErrorM < 1e-6);
  const reached = flangePose(own, controller.jointPositions(monotonicNow()));
  t.ok(distance(reached.translation, to.translation) < 1e-6, "the controller is where the driver says");
});

t.test("kinematics of another model are refused", async (t) => {
  const longer: DhTable = {
    theta: [0, 0, 0, 0, 0, 0],
    a: [0, -0.18, -0.18, 0, 0, 0],
    d: [0, 0, 0, 0, 0, 0],
    alpha: [0, 0, 0, 0, 0, 0],
  };
  const { robot, ...rest } = await rig({ controller: { calibration: longer } });
  t.teardown(() => rest.close());
  await t.rejects(robot.connect(soon()), { code: "DEVICE_WRONG_MODEL", detail: /mm/ });
});
