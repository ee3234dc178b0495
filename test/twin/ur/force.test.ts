/** Force mode and freedrive of programs, against the law they follow, solved by hand. */
import t from "tap";
import { transpose } from "../../../src/base/transform.js";
import type { RobotMessage } from "../../../src/cell/ur/codec/robot-message.js";
import { forward, joints, ur5 } from "../../../src/cell/ur/kinematics.js";
import { virtualMassKg } from "../../../src/twin/ur/arm-compliance.js";
import { ControllerModel } from "../../../src/twin/ur/controller-model.js";
import { ur5Cb3Firmware } from "../../../src/twin/ur/firmware.js";
import { outputValue } from "../../../src/twin/ur/rtde-outputs.js";

const stepS = 0.008;
const startQ = [0, -1.6, 1.9, -1.9, -1.57, 0];

function running(firmware = ur5Cb3Firmware): {
  model: ControllerModel;
  said: string[];
  steps: (count: number) => void;
  tip: () => readonly number[];
} {
  const said: string[] = [];
  const timing = { bootS: 0, powerOnS: 0, brakeReleaseS: 0, unlockWaitS: 5 };
  const model = new ControllerModel(firmware, timing, startQ, {
    say(message: RobotMessage) {
      if (message.kind === "exception" || message.kind === "text") said.push(message.text);
    },
    openSocket: () => {
      throw new Error("no socket is opened here");
    },
  });
  const steps = (count: number): void => {
    for (let i = 0; i < count; i++) model.step();
  };
  steps(3);
  model.releaseBrakes();
  steps(10);
  return { model, said, steps, tip: () => model.arm.tool.translation };
}

const force = (wrench: string, extra = ""): string =>
  `def press():\n${extra}  force_mode(p[0,0,0,0,0,0], [0,0,1,0,0,0], ${wrench}, 2, [0.1,0.1,0.2,0.3,0.3,0.3])\n` +
  "  sleep(10)\nend";

t.test("the axis that gives way is pushed as a damped mass; the others stand", (t) => {
  const { model, steps, tip } = running();
  const before = tip();
  const damping = 0.1;
  model.runScript(force("[0,0,10,0,0,0]", `  force_mode_set_damping(${damping})\n`));
  steps(1);
  const n = 200;
  steps(n);
  // v(k+1) = (v(k) + F/m dt)(1 - d): a geometric series, and its sum for the way.
  const r = 1 - damping;
  const end = ((10 / virtualMassKg) * stepS * r) / damping;
  let way = 0;
  for (let k = 1; k <= n; k++) way += end * (1 - r ** k) * stepS;
  const moved = (tip()[2] ?? 0) - (before[2] ?? 0);
  t.ok(Math.abs(moved - way) < 2e-4, `${moved} m against ${way} m`);
  t.ok(Math.abs((model.arm.toolTwist[2] ?? 0) - end) < 1e-4, "the speed at which damping and push are even");
  t.ok(Math.hypot((tip()[0] ?? 0) - (before[0] ?? 0), (tip()[1] ?? 0) - (before[1] ?? 0)) < 1e-4);
  t.equal(model.arm.isMoving, true);
  model.stopProgram();
  steps(60);
  t.equal(model.arm.isMoving, false, "the mode ends with its program, and the arm brakes");
  t.end();
});

t.test(
  "it stands where something presses back as hard, gives way where it presses harder, and keeps its limit",
  (t) => {
    const { model, steps, tip } = running();
    model.sensor.acting = [0, 0, 10, 0, 0, 0];
    model.runScript(force("[0,0,-10,0,0,0]"));
    const before = tip()[2] ?? 0;
    steps(200);
    t.equal(tip()[2], before, "even");
    model.sensor.acting = [0, 0, 12, 0, 0, 0];
    steps(25);
    t.ok((tip()[2] ?? 0) > before, "pushed up");
    model.sensor.acting = [0, 0, -200, 0, 0, 0];
    steps(20);
    t.ok(Math.abs((model.arm.toolTwist[2] ?? 0) + 0.2) < 1e-3, "no faster than its limit");
    t.end();
  },
);

t.test(
  "types of force mode: 1 points y at the frame's origin, 3 points x along the motion, wrong ones die",
  (t) => {
    const side = running();
    const [sx = 0, sy = 0, sz = 0] = side.tip();
    side.model.runScript(
      `def draw():\n  force_mode(p[${sx + 0.3},${sy},${sz},0,0,0], [0,1,0,0,0,0], [0,20,0,0,0,0], 1, [0.1,0.1,0.1,0.3,0.3,0.3])\n  sleep(5)\nend`,
    );
    side.steps(60);
    // The frame as it is would have drawn along the base's y.
    t.ok(
      (side.tip()[0] ?? 0) > sx + 0.01 && Math.abs((side.tip()[1] ?? 0) - sy) < 1e-4,
      "drawn to the origin",
    );
    // Along +y: x of the frame is the base's y, and with z up its y the base's -x.
    const along = running();
    const [ax = 0, ay = 0] = along.tip();
    along.model.runScript(
      "def slide():\n  force_mode(p[0,0,0,0,0,0], [0,1,0,0,0,0], [0,20,0,0,0,0], 3, [0.05,0.05,0.05,0.3,0.3,0.3])\n" +
        "  q = get_actual_tcp_pose()\n  movel(p[q[0],q[1]+0.2,q[2],q[3],q[4],q[5]], a=2, v=0.2)\nend",
    );
    along.steps(60);
    t.ok((along.tip()[1] ?? 0) > ay + 0.03, "the program's motion goes on");
    t.ok((along.tip()[0] ?? 0) < ax - 0.005, `pushed aside, by ${(along.tip()[0] ?? 0) - ax} m`);
    side.model.runScript(force("[0,0,1,0,0,0]").replace(", 2, [", ", 4, ["));
    side.steps(2);
    t.match(side.said.at(-1), /type must be 1, 2 or 3/);
    t.end();
  },
);

t.test("freedrive: a hand leads the arm along the free axes, and it stops when let go", (t) => {
  const { model, steps, tip } = running();
  model.runScript("def lead():\n  freedrive_mode([1,0,0,0,0,0])\n  sleep(20)\nend");
  steps(10);
  const [x = 0, y = 0] = tip();
  t.equal(model.arm.isMoving, false, "nobody touches it");
  model.sensor.acting = [-15, -15, 0, 0, 0, 0];
  steps(100);
  t.ok((tip()[0] ?? 0) < x - 0.02, "led along x");
  t.ok(Math.abs((tip()[1] ?? 0) - y) < 1e-4, "held in y");
  model.sensor.acting = [0, 0, 0, 0, 0, 0];
  steps(400);
  const rest = tip();
  steps(50);
  t.ok(Math.abs((tip()[0] ?? 0) - (rest[0] ?? 0)) < 1e-5, "stands");
  model.runScript("def hand():\n  teach_mode()\n  sleep(0.2)\n  end_teach_mode()\n  sleep(20)\nend");
  steps(60);
  model.sensor.acting = [0, 0, 20, 0, 0, 0];
  const z = tip()[2];
  steps(100);
  t.equal(tip()[2], z, "after the end of teach mode nothing gives way");
  t.end();
});

t.test("a move of the program goes on from where the arm was pushed to", (t) => {
  const { model, said, steps } = running();
  model.runScript(
    "def pushed():\n  freedrive_mode()\n  sleep(0.5)\n  end_freedrive_mode()\n  sleep(0.3)\n" +
      "  movej([0,-1.6,1.9,-1.9,-1.57,0], a=2, v=1)\n  sleep(9)\nend",
  );
  model.sensor.acting = [0, 20, 0, 0, 0, 0];
  let jump = 0;
  let before = model.arm.q;
  for (let i = 0; i < 300; i++) {
    steps(1);
    jump = Math.max(jump, ...model.arm.q.map((value, k) => Math.abs(value - (before[k] ?? 0))));
    before = model.arm.q;
  }
  t.same(said, []);
  t.ok(jump > 1e-4 && jump < 1 * stepS * 1.2, `largest step ${jump} rad: no leap`);
  t.ok(model.arm.q.every((value, k) => Math.abs(value - (startQ[k] ?? 0)) < 1e-9));
  t.end();
});

t.test("what programs and RTDE tell of the force; tare; the wrench that clients write; contact", (t) => {
  const { model, said, steps } = running({
    ...ur5Cb3Firmware,
    software: { major: 5, minor: 11, bugfix: 0, build: 1 },
  });
  model.sensor.acting = [3, 0, 4, 0, 0, 0.5];
  model.runScript(
    "def feel():\n  sleep(0.02)\n  textmsg(force())\n  textmsg(get_tcp_force())\n  zero_ftsensor()\n" +
      "  sleep(0.1)\n  textmsg(force())\n  sleep(0.5)\n  textmsg(tool_contact([0,0,-1,0,0,0]))\n" +
      "  textmsg(tool_contact([0,0,1,0,0,0]))\n  ft_rtde_input_enable(True)\n  sleep(0.02)\n  textmsg(force())\nend",
  );
  steps(6);
  t.same(outputValue(model, "actual_TCP_force", "VECTOR6D"), [0, 0, 0, 0, 0, 0], "tared by now");
  t.same(said, ["5", "[3, 0, 4, 0, 0, 0.5]"]);
  steps(14);
  model.sensor.acting = [3, 0, 16, 0, 0, 0.5];
  model.applyInputs(new Map([["external_force_torque", [0, 0, 30, 0, 0, 0]]]));
  steps(80);
  t.equal(said[2], "0");
  const contact = Number(said[3]);
  t.ok(contact > 40 && contact <= 64, `contact for ${contact} steps: 12 N against a motion downwards`);
  t.equal(said[4], "0", "no contact against a motion upwards");
  // The driver's kinematics tell where the flange points.
  const [, , z] = transpose(forward(ur5, joints(startQ)).rotation);
  const wanted = Math.hypot(30 * z[0] - 3, 30 * z[1], 30 * z[2] - 4);
  t.equal(said[5], String(Number(wanted.toPrecision(6))), "30 N along the flange, less the tare");
  t.end();
});
