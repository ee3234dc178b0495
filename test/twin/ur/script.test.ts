import t from "tap";
import type { RobotMessage } from "../../../src/cell/ur/codec/robot-message.js";
import { ControllerModel } from "../../../src/twin/ur/controller-model.js";
import { ur5Cb3Firmware } from "../../../src/twin/ur/firmware.js";
import { outputValue } from "../../../src/twin/ur/rtde-outputs.js";
import { ScriptText } from "../../../src/twin/ur/script-text.js";

const startQ = [0, -1.6, 1.9, -1.9, -1.57, 0];

/** A running controller without sockets, and what it says. */
function controller(): { model: ControllerModel; said: string[]; seconds: (s: number) => void } {
  const said: string[] = [];
  const model = new ControllerModel(
    ur5Cb3Firmware,
    { bootS: 0, powerOnS: 0, brakeReleaseS: 0, unlockWaitS: 5 },
    startQ,
    {
      say(message: RobotMessage) {
        if (message.kind === "text") said.push(message.text);
        if (message.kind === "exception") said.push(`${message.line}:${message.column} ${message.text}`);
        if (message.kind === "error") said.push(`C${message.code}`);
        if (message.kind === "key") said.push(`${message.title.replace("PROGRAM_XXX_", "")} ${message.text}`);
      },
      openSocket: () => ({
        state: "closed",
        available: 0,
        peek: () => Buffer.alloc(0),
        take: () => Buffer.alloc(0),
        write: () => false,
        close: () => undefined,
      }),
    },
  );
  const seconds = (s: number): void => {
    for (let i = 0; i < Math.round(s / 0.008); i++) model.step();
  };
  seconds(0.02);
  model.releaseBrakes();
  seconds(0.1);
  return { model, said, seconds };
}

/** What a program writes with textmsg, or dies of. */
function outcome(body: string, durationS = 0.5): string[] {
  const { model, said, seconds } = controller();
  const lines = body.trim().split("\n");
  model.runScript(`def test():\n${lines.map((line) => `  ${line}`).join("\n")}\nend`);
  seconds(durationS);
  return said.filter((text) => !/^(STARTED|STOPPED) /.test(text));
}

t.test("expressions", (t) => {
  const show = (expression: string): string => outcome(`textmsg(${expression})`)[0] ?? "";
  t.equal(show("1 + 2 * 3 - 4 / 2"), "5");
  t.equal(show("7 % 4"), "3");
  t.equal(show("-(2 - 5) * 2"), "6");
  t.equal(show("not 1 == 2 and 3 > 2"), "True");
  t.equal(show("True xor True"), "False");
  t.equal(show("False or 2 <= 2"), "True");
  t.equal(show("1e-3 + 0x10"), "16.001");
  t.equal(show("sqrt(16) + norm([3, 4])"), "9");
  t.equal(show("[1, 2.5, [3]][1]"), "2.5");
  t.equal(show("p[1, 2, 3, 0, 0, 0]"), "p[1, 2, 3, 0, 0, 0]");
  t.equal(show("pose_trans(p[1,0,0,0,0,d2r(90)], p[1,0,0,0,0,0])"), "p[1, 1, 0, 0, 0, 1.5708]");
  t.equal(show("pose_inv(p[1,0,0,0,0,d2r(180)])[0]"), "1");
  t.equal(show('str_cat("a", str_cat("b", 3))'), "ab3");
  t.equal(show('str_sub("abcdef", 2, 3)'), "cde");
  t.equal(show("struct(a=1, b=[2, 3]).b"), "[2, 3]");
  t.equal(show("[1, 2] == [1, 2]"), "True");
  t.end();
});

t.test("statements, scopes and value semantics", (t) => {
  t.same(
    outcome(`
i = 0
sum = 0
while True:
  i = i + 1
  if i == 3:
    continue
  elif i > 5:
    break
  else:
    sum = sum + i
  end
end
textmsg("sum=", sum)`),
    ["sum=12"],
    "1 + 2 + 4 + 5",
  );
  t.same(
    outcome(`
global g = 1
def twice(x, by=2):
  g = g + 1
  local g2 = x * by
  return g2
end
textmsg(twice(4))
textmsg(twice(by=3, x=5))
textmsg(g)`),
    ["8", "15", "3"],
  );
  t.same(outcome("a = [1, 2]\nb = a\nb[0] = 9\ntextmsg(a)\ntextmsg(b)"), ["[1, 2]", "[9, 2]"]);
  t.same(outcome("s = struct(x=1, v=[1, 2])\ns.x = 5\ns.v[1] = 7\ntextmsg(s)"), ["struct(x=5, v=[1, 7])"]);
  t.same(outcome("def f(n):\n  if n < 2:\n    return 1\n  end\n  return n * f(n - 1)\nend\ntextmsg(f(6))"), [
    "720",
  ]);
  t.same(outcome("p = p[1,2,3,4,5,6]\ntextmsg(p[2])"), ["3"], "a variable called p");
  t.same(outcome("a = 1 b = 2\ntextmsg(a + b)"), ["3"], "two statements on a line");
  t.end();
});

t.test("threads, critical sections, join and kill", (t) => {
  t.same(
    outcome(`
global n = 0
thread counter():
  while n < 5:
    n = n + 1
    sync()
  end
end
h = run counter()
join h
textmsg(n)`),
    ["5"],
  );
  t.same(
    outcome(`
global n = 0
thread counter():
  while True:
    n = n + 1
    sync()
  end
end
h = run counter()
sleep(0.08)
kill h
seen = n
sleep(0.08)
textmsg(n == seen and n > 8)`),
    ["True"],
  );
  t.same(
    outcome(`
global log = 0
thread other():
  while True:
    log = log + 1
    sync()
  end
end
h = run other()
sleep(0.04)
enter_critical
before = log
sleep(0.08)
textmsg(log == before)
exit_critical`),
    ["True"],
  );
  t.end();
});

t.test("positions history, waypoint, port registers and tool voltage", (t) => {
  t.same(
    outcome(
      `
movej([0.05, -1.6, 1.9, -1.9, -1.57, 0], a=2, v=1)
before = get_actual_joint_positions_history(20)
now = get_actual_joint_positions()
textmsg(now[0] - before[0] > 0.01)
textmsg(point_dist(get_target_waypoint(), get_actual_tcp_pose()) < 0.000001)
write_port_register(130, 40000)
textmsg(read_port_register(130))
set_tool_voltage(24)
textmsg("done")`,
      1,
    ),
    ["True", "True", "40000", "done"],
  );
  t.match(outcome("write_port_register(1, 5)")[0], /no general purpose register 1/);
  t.match(outcome("set_tool_voltage(5)")[0], /0, 12 or 24 V/);
  t.match(outcome("q = get_actual_joint_positions_history(1000)")[0], /are not kept/);
  t.end();
});

t.test("errors are told on the stream, never silent", (t) => {
  const dies = (body: string): string => outcome(body).at(-1) ?? "nothing";
  t.match(dies("fly_to_moon()"), /^2:\d+ compile_error_name_not_found:fly_to_moon:$/);
  t.match(dies("a = b + 1"), /compile_error_name_not_found:b:/);
  t.match(dies("if True\n  a = 1\nend"), /syntax_error_on_line:2:/);
  t.match(dies("movej([0,0,0,0,0,0], speed=1)"), /compile_error_argument: movej\(speed\)/);
  t.match(dies("a = 1 + True"), /type_error: int \+ bool/);
  t.match(dies("if 1:\n  a = 1\nend"), /type_error: condition is a int/);
  t.match(dies("a = [1, 2]\nb = a[2]"), /index_error/);
  t.match(dies("a = 1 / 0"), /division by zero/);
  t.match(dies("while True:\n  a = 1\nend"), /infinite loop/);
  t.match(dies("tool_contact([0,0,0,0,0,0])"), /not available on this controller/);
  t.match(dies("movej([9,0,0,0,0,0])"), /outside its limits/);
  t.match(dies("movel(p[2,0,0,0,0,0])"), /no solution/);
  t.end();
});

t.test("motion, kinematics and registers", (t) => {
  const { model, seconds } = controller();
  model.runScript(
    "def m():\n  q = get_actual_joint_positions()\n  q[0] = q[0] + 0.1\n  movej(q, a=2, v=1)\n" +
      "  write_output_float_register(3, norm(get_forward_kin()))\n" +
      "  x = get_inverse_kin(get_actual_tcp_pose())\n  write_output_float_register(4, x[0])\n" +
      "  write_output_boolean_register(65, is_steady())\nend",
  );
  seconds(1);
  t.ok(Math.abs((model.arm.q[0] ?? 0) - 0.1) < 1e-12);
  t.ok(model.registers.number("output_double_register_3") > 0.4);
  t.ok(Math.abs(model.registers.number("output_double_register_4") - 0.1) < 1e-6);
  t.equal(model.registers.bit("output", 65), true);
  t.equal(model.programRunning, false);
  t.end();
});

t.test("a new program ends the running one; a secondary runs beside it and may not move", (t) => {
  const { model, said, seconds } = controller();
  model.runScript("def one():\n  while True:\n    sync()\n  end\nend");
  seconds(0.1);
  model.runScript("sec side():\n  set_standard_digital_out(2, True)\nend");
  model.runScript("sec mover():\n  movej([0,0,0,0,0,0])\nend");
  seconds(0.1);
  t.equal(model.registers.digitalOutputs, 4);
  t.equal(model.programName, "one");
  t.match(said.at(-1), /secondary program may not move/);
  model.runScript("def two():\n  sleep(0.05)\nend");
  seconds(0.2);
  t.same(
    said.filter((text) => /^ST/.test(text)),
    ["STARTED one", "STOPPED one", "STARTED two", "STOPPED two"],
  );
  t.end();
});

t.test("a program killed in a motion leaves an arm that brakes", (t) => {
  const { model, seconds } = controller();
  model.runScript("movej([1,-1.6,1.9,-1.9,-1.57,0], a=2, v=1)");
  seconds(0.6);
  t.ok((model.arm.qd[0] ?? 0) > 0.5);
  model.stopProgram();
  seconds(0.4);
  t.equal(model.arm.isMoving, false);
  t.ok((model.arm.q[0] ?? 9) < 0.9);
  t.end();
});

t.test("protective stop by a program, by a jump and by a watchdog; unlocked only after 5 s", (t) => {
  const { model, said, seconds } = controller();
  model.runScript('def bad():\n  protective_stop()\n  textmsg("still here")\nend');
  seconds(0.1);
  t.equal(model.protectiveStopped, true);
  t.notOk(said.includes("still here"));
  seconds(4);
  t.equal(model.unlockProtectiveStop(), false);
  seconds(1);
  t.equal(model.unlockProtectiveStop(), true);

  model.runScript("def jump():\n  while True:\n    servoj([1,-1.6,1.9,-1.9,-1.57,0])\n  end\nend");
  seconds(0.1);
  t.ok(said.includes("C204"));
  seconds(5.1);
  model.unlockProtectiveStop();

  model.runScript(
    'def dog():\n  rtde_set_watchdog("input_int_register_24", 10, "stop")\n  while True:\n    sync()\n  end\nend',
  );
  for (let i = 0; i < 10; i++) {
    model.applyInputs(new Map([["input_int_register_24", 1]]));
    seconds(0.1);
  }
  t.equal(model.protectiveStopped, false, "fed, it does not bite");
  seconds(0.05);
  t.equal(model.protectiveStopped, false);
  seconds(0.1);
  t.equal(model.protectiveStopped, true, "after two missed periods");
  t.ok(said.includes("C207"));
  t.end();
});

t.test("domains of analog signals, by programs and by RTDE, show in RTDE's bits", (t) => {
  const { model, said, seconds } = controller();
  const bits = (): unknown => outputValue(model, "analog_io_types", "UINT32");
  t.equal(bits(), 0b1111, "voltages");
  model.runScript(
    "sec io():\n  set_standard_analog_input_domain(1, 0)\n  set_analog_outputdomain(0, 0)\nend",
  );
  seconds(0.1);
  t.equal(bits(), 0b1001);
  model.applyInputs(
    new Map([
      ["standard_analog_output_mask", 3],
      ["standard_analog_output_type", 1],
    ]),
  );
  t.equal(bits(), 0b0101);
  model.runScript("sec io():\n  set_analog_outputdomain(2, 0)\nend");
  seconds(0.1);
  t.match(said.at(-1), /no register 2/);
  t.end();
});

t.test("a safeguard stop holds a program on its path, which goes on by itself afterwards", (t) => {
  const { model, said, seconds } = controller();
  model.runScript("def swing():\n  movej([0.5,-1.6,1.9,-1.9,-1.57,0], a=1, v=0.3)\nend");
  seconds(1);
  model.safeguardStop(true);
  t.equal(model.safetyStatusBits, (1 << 4) | (1 << 10));
  seconds(1);
  const [held = 9] = model.arm.q;
  t.ok(held > 0.1 && held < 0.4 && model.arm.qd.every((speed) => speed === 0));
  model.runScript("def other():\n  sleep(1)\nend");
  t.equal(model.programName, "swing", "nothing is started meanwhile");
  model.safeguardStop(false);
  seconds(3);
  t.equal(model.arm.q[0], 0.5);
  t.ok(said.includes("STOPPED swing"));
  t.end();
});

t.test("programs are cut out of the text whatever the segments", (t) => {
  const text = "set_digital_out(1, True)\ndef a():\n  sleep(1)\nend\nsec b():\n  c = 1\nend\n";
  for (let size = 1; size < text.length; size++) {
    const cutter = new ScriptText();
    const programs: string[] = [];
    for (let at = 0; at < text.length; at += size) programs.push(...cutter.push(text.slice(at, at + size)));
    t.same(programs, ["set_digital_out(1, True)", "def a():\n  sleep(1)\nend", "sec b():\n  c = 1\nend"]);
  }
  t.end();
});
