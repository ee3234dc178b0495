/** Backlash and encoder correction, oscillation, drives of several axes, servo, trigger: what the axis does with them. */
import t from "tap";
import { xa04aR102, type StageModel } from "../../../src/twin/kohzu/stage-models.js";
import { bench, rawClient } from "./bench.js";

/** No error but 2 µm of play: the table lags by 1 µm behind the screw, on the side it comes from. */
const loose: StageModel = {
  ...xa04aR102,
  originNoise: 0,
  repeatability: 0,
  lostMotion: 2e-6,
  slowError: { amplitude: [0, 0], period: [1, 1] },
  screwError: { amplitude: [0, 0], period: 0.5e-3 },
};

function places(settings: readonly string[], targets: readonly number[]): number[] {
  const { clock, controller, client } = bench({ axes: [{ model: loose, homed: true }] });
  for (const setting of settings) t.strictSame(client.ask(`WSY1/${setting}`).length, 1);
  return targets.map((target) => {
    t.strictSame(client.ask(`APS1/4/${target}/1`), ["C APS1"]);
    clock.advance(20);
    t.strictSame(client.ask("RDP1"), [`C RDP1 ${target}`], "the counter shows no correction");
    return Math.round((controller.truePosition(1) - target * 0.5e-6) * 1e8) / 100;
  });
}

t.test("without correction the side of arrival shows", async (t) => {
  t.strictSame(places([], [1000, 500, 1000, 200]), [-1, 1, -1, 1]);
});

t.test("types 1 and 2: extra pulses at the turn, four of them being the play", async (t) => {
  t.strictSame(places(["11/4", "12/1"], [1000, 500, 1000, 200]), [-1, -1, -1, -1]);
  t.strictSame(places(["11/4", "12/2"], [1000, 500, 1000, 200]), [-1, -1, -1, -1]);
});

t.test("types 3 and 4: past the target and back, so that all arrivals are from one side", async (t) => {
  t.strictSame(places(["11/20", "12/3"], [1000, 500, 1000, 200]), [-1, -1, -1, -1]);
  t.strictSame(places(["11/20", "12/4"], [1000, 500, 1000, 200]), [1, 1, 1, 1]);
});

t.test("encoder correction ends within its range; without an encoder it gives up with 401", async (t) => {
  const model: StageModel = { ...loose, encoder: { count: 0.1e-6 } };
  const { clock, controller, client } = bench({ axes: [{ model, homed: true }] });
  // Five counts of 0.1 µm are one pulse of 0.5 µm.
  for (const setting of ["33/1", "34/5", "41/1", "42/1", "44/50"]) client.ask(`WSY1/${setting}`);
  client.ask("APS1/4/1000/1");
  clock.advance(1);
  t.match(client.ask("STR1"), [/^C STR1 [02] /]);
  clock.advance(20);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 0 0 1"], "at rest, and in range");
  t.ok(Math.abs(controller.truePosition(1) - 500e-6) <= 0.51e-6, String(controller.truePosition(1)));
  client.ask("RPS1/4/-600/1");
  clock.advance(20);
  t.ok(Math.abs(controller.truePosition(1) - 200e-6) > 0.9e-6, "a relative drive is not corrected");

  const blind = bench({
    axes: [{ model: loose, homed: true }],
    speedFactor: 50,
    clock: () => performance.now() / 1e3,
  });
  for (const setting of ["41/1", "42/1", "43/2", "44/0"]) blind.client.ask(`WSY1/${setting}`);
  blind.client.ask("APS1/4/500/0");
  let reply: string[] = [];
  for (let i = 0; i < 200 && reply.length === 0; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    reply = blind.client.take();
  }
  t.strictSame(reply, ["E APS1 401"]);
  blind.controller.dispose();
});

t.test("OSC goes there and back, resting at each end", async (t) => {
  const { clock, client } = bench();
  t.strictSame(client.ask("OSC1/4/1000/500/2/1"), ["C OSC1"]);
  // 1000 pulses with table 4: peak of v² = 500² + 2·14062.5·500, ramps of (peak − 500)/14062.5 each.
  const peak = Math.sqrt(500 ** 2 + 2 * (4500 / 0.32) * 500);
  const wayS = (2 * (peak - 500)) / (4500 / 0.32);
  clock.advance(wayS + 0.25);
  t.strictSame(client.ask("RDP1"), ["C RDP1 1000"]);
  t.match(client.ask("STR1"), [/^C STR1 1 /], "a rest on the way is still driving");
  clock.advance(0.25 + wayS + 0.01);
  t.strictSame(client.ask("RDP1"), ["C RDP1 0"]);
  clock.advance(10);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 1 0 0 0"]);
  t.strictSame(client.ask("OSC1/4/1000/65535/2/1"), ["E OSC1 104"]);
});

t.test("SPS keeps the axes on a straight line and ends them together", async (t) => {
  const { clock, client } = bench();
  t.strictSame(client.ask("SPS1/4000/2/-1000/3/2000/4/1"), ["C SPS"]);
  const at = (): number[] =>
    ["1", "2", "3"].map((axis) => Number(client.ask(`RDP${axis}`)[0]?.split(" ")[2]));
  for (let i = 0; i < 8; i++) {
    clock.advance(0.13);
    const [x = 0, y = 0, z = 0] = at();
    t.ok(Math.abs(y + x / 4) <= 1 && Math.abs(z - x / 2) <= 1, `${x} ${y} ${z}`);
  }
  clock.advance(5);
  t.strictSame(at(), [4000, -1000, 2000]);
  for (const [command, reply] of [
    ["SPS1/4000/2/0/4/1", "E SPS 320"],
    ["SPS1/0/1/0/4/1", "E SPS 511"],
    ["SPS1/4100/2/9000/3/0/4/1", "E SPS 606"],
    ["SPS1/0/2/0/10/1", "E SPS 105"],
    ["SPS1/0/2/0/4/2", "E SPS 106"],
    ["SPS1/0/2/0/4", "E SPS 100"],
  ] as const)
    t.strictSame(client.ask(command), [reply], command);
});

t.test("a limit of one axis ends a drive of several: 306 for all", async (t) => {
  const { client, controller } = bench({ clock: () => performance.now() / 1e3, speedFactor: 10 });
  for (const [slot, axis] of [
    [1, 1],
    [2, 2],
  ] as const)
    client.ask(`MPI${slot}/${axis}/0/4`);
  t.strictSame(client.ask("MPS1/14000/2/14900/1"), ["C MPS"]);
  for (let i = 0; i < 100 && !client.ask("STR2")[0]?.startsWith("C STR2 0"); i++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  client.ask("MPS1/0/2/20000/0");
  let reply: string[] = [];
  for (let i = 0; i < 300 && reply.length === 0; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    reply = client.take();
  }
  t.strictSame(reply, ["E MPS 306"]);
  t.strictSame(client.ask("RDP2"), ["C RDP2 15000"]);
  const [first = ""] = client.ask("RDP1");
  t.ok(Number(first.split(" ")[2]) > 13_000, `the other axis stopped, too: ${first}`);
  controller.dispose();
});

t.test("MPS names the pair of equal axes, and the target out of range by its place", async (t) => {
  const { client } = bench();
  for (const [slot, axis] of [
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 2],
  ] as const)
    client.ask(`MPI${slot}/${axis}/1/4`);
  t.strictSame(client.ask("MPS1/1/2/1/3/1/4/1/1"), ["E MPS 515"], "second and fourth");
  client.ask("WRP3/134217727");
  t.strictSame(client.ask("MPS1/1/3/1/1"), ["E MPS 506"]);
});

t.test("alarm, servo, trigger, general I/O, network, reset", async (t) => {
  const { clock, controller, client } = bench();
  client.ask("APS1/4/5000/1");
  clock.advance(0.5);
  controller.raiseAlarm(1);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 0 0 0"]);
  t.strictSame(client.ask("RSV1"), ["C RSV1 1 0 1"]);
  t.strictSame(client.ask("APS1/4/0/1"), ["E APS1 315"]);
  t.strictSame(client.ask("RAL1"), ["C RAL1"]);
  t.strictSame(client.ask("APS1/4/0/1"), ["C APS1"]);
  clock.advance(10);
  controller.servo(1, false);
  t.strictSame(client.ask("APS1/4/10/1"), ["E APS1 321"]);
  controller.servo(1, true);
  t.strictSame(client.ask("APS1/4/10/1"), ["C APS1"]);
  t.strictSame(client.ask("TRS1/1"), ["E TRS1 701"]);
  t.strictSame(client.ask("RIP"), ["E RIP 901"]);
  t.strictSame(client.ask("RST"), ["E RST 313"]);
  clock.advance(10);
  t.strictSame(client.ask("TRS1/1"), ["C TRS1"]);
  t.strictSame(client.ask("TFR1"), ["C TFR1"]);
  t.strictSame(client.ask("WSY1/51/1"), ["E WSY1 700"]);
  controller.setInputs(5);
  t.strictSame(client.ask("RIN"), ["C RIN 5"]);
  t.strictSame(client.ask("WOT9"), ["C WOT"]);
  t.strictSame(client.ask("ROT"), ["C ROT 9"]);
  t.strictSame(client.ask("RIP"), ["C RIP 0 192.168.1.120 255.0.0.0 12321"]);
  t.strictSame(client.ask("WIP0/192.168.1.300/255.0.0.0/12321"), ["E WIP 102"]);
  t.strictSame(client.ask("WIP0/10.0.0.5/255.0.0.0/12321"), ["C WIP"]);
  client.ask("WTB1/4/100/1000/20/20/2");
  t.strictSame(client.ask("RST"), ["C RST"]);
  t.strictSame(client.ask("RSY1/62"), ["C RSY1 62 0"]);
  t.strictSame(client.ask("RTB1/4"), ["C RTB1 4 500 5000 32 32 2 880 880"], "as delivered");
  t.strictSame(client.ask("ROT"), ["C ROT 0"]);
});

t.test("a changed device map is told to all clients, as a warning", async (t) => {
  const { controller, client } = bench();
  const other = rawClient(controller);
  controller.deviceMapChanged(true);
  controller.deviceMapChanged(false);
  t.strictSame(client.take(), ["W SYS 52", "W SYS 51"]);
  t.strictSame(other.take(), ["W SYS 52", "W SYS 51"]);
});

t.test("firmware up to 1.1.1 tells the counts alone", async (t) => {
  const { client } = bench({ firmware: [1, 1, 1] });
  t.strictSame(client.ask("RAX"), ["C RAX 8 8"]);
});

t.test("off and on again: the counter stays, the origin and the multi-axis slots are gone", async (t) => {
  const { clock, controller, client } = bench();
  client.ask("MPI1/1/0/4");
  client.ask("APS1/4/5000/1");
  clock.advance(0.5);
  controller.powerCycle();
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 0 0 0"]);
  t.strictSame(client.ask("RDP1"), ["C RDP1 1780"]);
  t.strictSame(client.ask("ROG1"), ["C ROG1 0"]);
  t.strictSame(client.ask("MPS1/0/2/0/1"), ["E MPS 500"]);
});
