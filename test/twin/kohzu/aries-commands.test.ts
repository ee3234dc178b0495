import t from "tap";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { bench, rawClient } from "./bench.js";

t.test("identity, axes, positions, status as a real unit answers", async (t) => {
  const { client } = bench({
    axes: [{ model: xa04aR102, initialPulses: 56_000, initialSteps: -3000 }, null],
  });
  t.strictSame(client.ask("IDN"), ["C IDN ARIES 1 4 4"]);
  t.strictSame(client.ask("RAX"), [`C RAX 2 2 11000000${" 00000000".repeat(7)}`]);
  t.strictSame(client.ask("RDP1"), ["C RDP1 56000"]);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 0 0 0"]);
  t.strictSame(client.ask("ROG1"), ["C ROG1 0"]);
  t.strictSame(client.ask("RSY1/2"), ["C RSY1 2 4"]);
  t.strictSame(client.ask("RSY1/16"), ["C RSY1 16 50000"]);
  t.strictSame(client.ask("STR2"), ["C STR2 0 0 0 3 0 0"], "an axis without a stage shows both limits");
  t.strictSame(client.ask("APS2/4/100/1"), ["E APS2 307"]);
});

t.test("STX belongs on a serial line and nowhere else", async (t) => {
  const { controller, client } = bench();
  const serial = rawClient(controller, "serial");
  t.strictSame(serial.ask("RDP1"), ["C RDP1 0"]);
  serial.send("RDP1\r\n");
  t.strictSame(serial.take(), ["E RDP 1"]);
  client.send("\x02RDP1\r\n");
  t.strictSame(client.take(), ["E RDP 4"]);
  // What a guardian does after half a request was left on the line.
  serial.send("\x02APS1/4/10");
  serial.send("\r\n\x02STP0/1\r\n");
  t.strictSame(serial.take(), ["E APS1 100", "C STP0"]);
});

t.test("requests come in fragments and several at once", async (t) => {
  const { client } = bench();
  for (const byte of "RDP1\r\n") client.send(byte);
  t.strictSame(client.take(), ["C RDP1 0"]);
  client.send("RDP1\r\nROG2\r\nIDN\r");
  t.strictSame(client.take(), ["C RDP1 0", "C ROG2 1"]);
  client.send("\n");
  t.strictSame(client.take(), ["C IDN ARIES 1 4 4"]);
});

t.test("errors name what is wrong", async (t) => {
  const { client } = bench();
  for (const [command, reply] of [
    ["rdp1", "E 1 3"],
    ["FOO1", "E FOO 4"],
    ["APS1/4/100", "E APS1 100"],
    ["APS0/4/100/1", "E APS0 101"],
    ["APS33/4/100/1", "E APS33 101"],
    ["APS9/4/100/1", "E APS9 120"],
    ["APS1/10/100/1", "E APS1 102"],
    ["APS1/4/134217728/1", "E APS1 103"],
    ["APS1/4//1", "E APS1 103"],
    ["APS1/4/100/2", "E APS1 104"],
    ["RPS1/4/200000000/1", "E RPS1 310"],
    ["RSY1/5", "E RSY1 121"],
    ["WSY1/2/16", "E WSY1 103"],
    ["MPS1/100/2/100/1", "E MPS 500"],
    ["WTB1/0/600/1000/20/20/2", "E WTB1 605"],
    ["WTB1/0/100/60000/20/20/2", "E WTB1 607"],
  ] as const)
    t.strictSame(client.ask(command), [reply], command);
});

t.test("WTB keeps the nearest possible table and tells of its ramps", async (t) => {
  const { client } = bench();
  t.strictSame(client.ask("WTB1/0/100/1000/20/20/2"), ["C WTB1 0 100 1000 20 20 2 110 110"]);
  t.strictSame(client.ask("WTB1/1/100/12347/20/90/2"), ["C WTB1 1 100 12345 20 39 2 1245 2427"]);
  t.strictSame(client.ask("RTB1/1"), ["C RTB1 1 100 12345 20 39 2 1245 2427"]);
});

t.test("a moving axis takes no new target, position or setting", async (t) => {
  const { clock, client } = bench();
  t.strictSame(client.ask("APS1/4/5000/1"), ["C APS1"]);
  clock.advance(0.5);
  t.strictSame(client.ask("STR1"), ["C STR1 1 0 0 0 0 0"]);
  t.strictSame(client.ask("APS1/4/0/1"), ["E APS1 309"]);
  t.strictSame(client.ask("WRP1/0"), ["E WRP1 311"]);
  t.strictSame(client.ask("WRE1/0"), ["E WRE1 312"]);
  t.strictSame(client.ask("WSY1/3/100"), ["E WSY1 313"]);
  // 880 steps of ramp, then 0.18 s at 5000 pps
  t.strictSame(client.ask("RDP1"), ["C RDP1 1780"]);
  clock.advance(10);
  t.strictSame(client.ask("RDP1"), ["C RDP1 5000"]);
  t.strictSame(client.ask("APS1/4/0/1"), ["C APS1"]);
});

t.test("STP decelerates or stops at once; a second one while stopping is 323", async (t) => {
  const { clock, client } = bench();
  client.ask("FRP1/4/0");
  clock.advance(1);
  t.strictSame(client.ask("STP1/0"), ["C STP1"]);
  t.strictSame(client.ask("STP1/0"), ["E STP1 323"]);
  clock.advance(1);
  t.strictSame(client.ask("RDP1"), ["C RDP1 5160"], "4280 at 1 s and 880 of ramp");
  client.ask("FRP1/4/1");
  client.ask("FRP2/4/1");
  clock.advance(1);
  t.strictSame(client.ask("STP0/1"), ["C STP0"]);
  t.strictSame(client.ask("RDP1"), ["C RDP1 880"]);
  t.strictSame(client.ask("RDP2"), ["C RDP2 -4280"]);
  t.strictSame(client.ask("STP0/1"), ["C STP0"], "at rest it does no harm");
});

t.test("limits: the drive ends on the switch, goes no further, and may always come back", async (t) => {
  const { clock, client } = bench();
  client.ask("APS1/4/20000/1");
  clock.advance(30);
  t.strictSame(client.ask("RDP1"), ["C RDP1 15000"]);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 2 0 0"]);
  t.strictSame(client.ask("APS1/4/20000/1"), ["C APS1"], "a Quick reply tells nothing");
  clock.advance(30);
  t.strictSame(client.ask("RDP1"), ["C RDP1 15000"]);
  client.ask("APS1/4/14950/1");
  clock.advance(5);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 2 0 0"], "50 steps are inside the hysteresis of 100");
  client.ask("APS1/4/14800/1");
  clock.advance(5);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 0 0 0"]);
});

t.test("soft limits: a Quick drive beyond one is a warning and ends there", async (t) => {
  const { clock, client } = bench();
  for (const setting of ["WSY1/14/1000", "WSY1/15/-1000", "WSY1/13/1"]) client.ask(setting);
  t.strictSame(client.ask("APS1/4/2000/1"), ["W APS1 350"]);
  clock.advance(5);
  t.strictSame(client.ask("RDP1"), ["C RDP1 1000"]);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 0 1 0"]);
  client.ask("WSY1/15/2000");
  t.strictSame(client.ask("APS1/4/0/1"), ["E APS1 316"]);
});

t.test("homing by method 4 ends on the same edge from either side and from the limit", async (t) => {
  for (const start of [-9000, -15_000, 300, 12_000, 15_000]) {
    const { clock, controller, client } = bench({
      axes: [{ model: xa04aR102, initialPulses: 56_000, initialSteps: start }],
    });
    t.strictSame(client.ask("ORG1/4/1"), ["C ORG1"]);
    clock.advance(0.01);
    t.strictSame(client.ask("ROG1"), ["C ROG1 0"]);
    clock.advance(120);
    t.strictSame(client.ask("RDP1"), ["C RDP1 0"]);
    t.strictSame(client.ask("ROG1"), ["C ROG1 1"]);
    // The sensor repeats to 0.2 µm (1 sigma), the counter to a pulse, the play is taken up from the CCW side.
    t.ok(Math.abs(controller.truePosition(1)) < 2e-6, `from ${start}: ${controller.truePosition(1)}`);
  }
});

t.test("a search that is stopped leaves the axis without an origin", async (t) => {
  const { clock, client } = bench({ axes: [{ model: xa04aR102, initialPulses: 0, initialSteps: -9000 }] });
  client.ask("ORG1/4/1");
  clock.advance(3);
  client.ask("STP1/1");
  clock.advance(60);
  t.strictSame(client.ask("ROG1"), ["C ROG1 0"]);
});

t.test("method 10 makes the present place zero; setting 1 moves the origin", async (t) => {
  const { clock, client } = bench({ axes: [{ model: xa04aR102, initialPulses: 1234, initialSteps: -3000 }] });
  client.ask("WSY1/2/10");
  client.ask("ORG1/4/1");
  t.strictSame(client.ask("RDP1"), ["C RDP1 0"]);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 0 0 0"]);
  client.ask("WSY1/2/4");
  client.ask("WSY1/1/2000");
  client.ask("ORG1/4/1");
  clock.advance(120);
  t.strictSame(client.ask("RDP1"), ["C RDP1 0"]);
  client.ask("APS1/4/-2000/1");
  clock.advance(20);
  t.strictSame(
    client.ask("STR1"),
    ["C STR1 0 0 1 0 0 0"],
    "the sensor's edge lies 2000 pulses below the new zero",
  );
});

t.test("emergency stop: all clients hear of it, REM needs the cause gone, the origin is lost", async (t) => {
  const { clock, controller, client } = bench();
  const other = rawClient(controller);
  client.ask("APS1/4/5000/1");
  clock.advance(0.5);
  controller.emergencyStop();
  t.strictSame(client.take(), ["E SYS 5"]);
  t.strictSame(other.take(), ["E SYS 5"]);
  t.strictSame(client.ask("RDP1"), ["C RDP1 1780"]);
  t.strictSame(client.ask("STR1"), ["C STR1 0 1 0 0 0 0"]);
  t.strictSame(client.ask("APS1/4/0/1"), ["E APS1 800"]);
  t.strictSame(client.ask("REM"), ["E REM 801"]);
  controller.releaseEmergencyStop();
  t.strictSame(client.ask("APS1/4/0/1"), ["E APS1 800"]);
  t.strictSame(client.ask("REM"), ["C REM"]);
  t.strictSame(client.ask("ROG1"), ["C ROG1 0"]);
  t.strictSame(client.ask("APS1/4/0/1"), ["C APS1"]);
});

t.test("a lost link stops the axes of the LYNX units and locks until RAX", async (t) => {
  const { clock, controller, client } = bench();
  client.ask("APS1/4/5000/1");
  client.ask("APS3/4/5000/1");
  clock.advance(0.5);
  controller.linkLost();
  t.strictSame(client.take(), ["E SYS 6"]);
  t.strictSame(client.ask("STR1"), ["C STR1 1 0 0 0 0 0"]);
  t.strictSame(client.ask("STR3"), ["C STR3 0 0 0 0 0 0"]);
  t.strictSame(client.ask("APS3/4/0/1"), ["E APS3 802"]);
  client.ask("RAX");
  t.strictSame(client.ask("APS3/4/0/1"), ["C APS3"]);
});

t.test("an unexcited motor is refused; switched off on the way it loses its steps", async (t) => {
  const { clock, controller, client } = bench();
  client.ask("APS1/4/5000/1");
  clock.advance(0.5);
  controller.excite(1, false);
  clock.advance(5);
  t.strictSame(client.ask("RDP1"), ["C RDP1 5000"]);
  t.ok(Math.abs(controller.truePosition(1) - 1780 * 0.5e-6) < 8e-6);
  t.strictSame(client.ask("APS1/4/0/1"), ["E APS1 308"]);
  controller.excite(1, true);
  client.ask("APS1/4/0/1");
  clock.advance(5);
  t.ok(Math.abs(controller.truePosition(1) + 3220 * 0.5e-6) < 8e-6);
});

t.test("several axes start together (MPI, MPS)", async (t) => {
  const { clock, client } = bench();
  t.strictSame(client.ask("MPI1/1/0/4"), ["C MPI 1"]);
  t.strictSame(client.ask("MPI2/2/1/4"), ["C MPI 2"]);
  t.strictSame(client.ask("MPS1/1000/3/100/1"), ["E MPS 503"]);
  t.strictSame(client.ask("MPS1/1000/2/-500/1"), ["C MPS"]);
  clock.advance(5);
  t.strictSame(client.ask("RDP1"), ["C RDP1 1000"]);
  t.strictSame(client.ask("RDP2"), ["C RDP2 -500"]);
});

t.test("the 33rd client is left without an answer", async (t) => {
  const { controller, client } = bench();
  const clients = Array.from({ length: 32 }, () => rawClient(controller));
  t.strictSame(clients[30]?.ask("RDP1"), ["C RDP1 0"]);
  t.strictSame(clients[31]?.ask("RDP1"), []);
  t.strictSame(client.ask("RDP1"), ["C RDP1 0"]);
});

t.test("completed replies: one command at a time, and none when another client stops the axis", async (t) => {
  const { controller, client } = bench({ clock: () => performance.now() / 1e3, speedFactor: 10 });
  const other = rawClient(controller);
  t.strictSame(client.ask("APS1/4/1000/0"), []);
  t.strictSame(client.ask("RDP1"), ["E RDP1 803"]);
  const line = await waitFor(client);
  t.strictSame(line, ["C APS1"]);
  t.strictSame(client.ask("RDP1"), ["C RDP1 1000"]);

  client.ask("APS1/4/20000/0");
  t.strictSame(other.ask("STP1/1"), ["C STP1"]);
  await new Promise((resolve) => setTimeout(resolve, 800));
  t.strictSame(client.take(), [], "the reply never comes");
  t.match(client.ask("RDP1"), [/^C RDP1 \d+$/], "and the link is usable again");

  client.ask("APS1/4/20000/0");
  t.strictSame(await waitFor(client), ["E APS1 304"]);
  controller.dispose();
});

async function waitFor(client: { take(): string[] }): Promise<string[]> {
  for (let i = 0; i < 500; i++) {
    const lines = client.take();
    if (lines.length > 0) return lines;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return [];
}
