/** CRUX and the SC series, command by command, against the lines that public drivers send and expect. */
import t from "tap";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { bench, rawClient } from "./bench.js";

const axes = [
  { model: xa04aR102, homed: true },
  { model: xa04aR102, homed: true },
];

t.test("CRUX: identity, STX always, moves, MPI without slots, 24-bit coordinates", async (t) => {
  const { clock, controller } = bench({ dialect: "crux", axes, firmware: [1, 2, 0] });
  const client = rawClient(controller, "serial");
  // A public client takes the third field of IDN for CRUX-D.
  t.strictSame(client.ask("IDN"), ["C IDN CRUX-D 1200"]);
  client.send("IDN\r\n");
  t.strictSame(client.take(), ["E IDN 1"]);
  t.strictSame(client.ask("RSY1/1"), ["C RSY1 1 0"]);
  t.strictSame(client.ask("APS1/9/1000/1"), ["C APS1"]);
  clock.advance(5);
  t.strictSame(client.ask("RDP1"), ["C RDP1 1000"]);
  t.strictSame(client.ask("MPI1/0/4"), ["C MPI 1"]);
  t.strictSame(client.ask("MPI2/0/4"), ["C MPI 2"]);
  t.strictSame(client.ask("MPS1/200/2/300/1"), ["C MPS"]);
  clock.advance(5);
  t.strictSame(client.ask("RDP2"), ["C RDP2 300"]);
  t.strictSame(client.ask("WRP1/8388608"), ["E WRP1 102"]);
  t.strictSame(client.ask("RAX"), ["E RAX 4"]);
  t.strictSame(client.ask("STP0/0"), ["C STP0"]);
});

t.test("CRUX with one field each for its limits", async (t) => {
  const { clock, controller } = bench({ dialect: "crux", axes, cruxStatus: "crux-separate" });
  const client = rawClient(controller, "serial");
  client.ask("FRP1/4/0");
  clock.advance(30);
  t.strictSame(client.ask("STR1"), ["C STR1 0 0 0 0 1"]);
});

t.test("SC: what the EPICS driver exchanges", async (t) => {
  const { clock, controller } = bench({ dialect: "sc", axes, firmware: [100, 0, 0] });
  const client = rawClient(controller, "serial");
  t.strictSame(client.ask("IDN"), ["C IDN0 400 100"]);
  t.strictSame(client.ask("STR1/2"), ["C STR2 1 0 1 0 0 0 0 0"], "the flag covers the origin edge");
  t.strictSame(client.ask("RDP2/0"), ["C RDP2 0"]);
  t.strictSame(client.ask("RSY2/21"), ["C RSY2 21 0"], "excited");
  t.strictSame(client.ask("ASI2/200/2000/20/20/0/0/0/0/0/0/0/0/0"), ["C ASI2"]);
  t.strictSame(client.ask("APS2/2/0/0/2000/0/0/1"), ["C APS2"]);
  clock.advance(0.1);
  t.strictSame(client.ask("STR1/2"), ["C STR2 1 1 1 0 0 0 0 0"]);
  clock.advance(5);
  t.strictSame(client.ask("RDP2/0"), ["C RDP2 2000"]);
  t.strictSame(client.ask("FRP2/2/0/0/1/1"), ["C FRP2"]);
  clock.advance(0.5);
  t.strictSame(client.ask("STP2/1"), ["C STP2"]);
  t.strictSame(client.ask("ORG1/2/0/0/3/1"), ["C ORG1"]);
  // Speeds and ramps at the places where the MX driver reads them: tokens 2, 3, 15, 16, the first being the letter.
  const tokens = client.ask("RMS2")[0]?.split(" ") ?? [];
  t.strictSame([tokens[2], tokens[3], tokens[15], tokens[16]], ["200", "2000", "20", "20"]);
  t.strictSame(client.ask("COF2/1"), ["C COF2"]);
  t.strictSame(client.ask("RSY2/21"), ["C RSY2 21 1"]);
});

t.test("SC: errors and warnings by the numbers that public drivers know", async (t) => {
  const { controller } = bench({ dialect: "sc", axes });
  const client = rawClient(controller, "serial");
  client.send("IDN\r\n");
  t.strictSame(client.take(), ["E IDN 1"]);
  t.strictSame(client.ask("idn"), ["E ??? 4"]);
  t.strictSame(client.ask("FOO1"), ["E FOO1 5"]);
  t.strictSame(client.ask("RDP1"), ["E RDP1 100"]);
  t.strictSame(client.ask("STR2/1"), ["E STR1 101"]);
  t.strictSame(
    client.ask("ASI1/200/5000000/20/20/0/0/0/0/0/0/0/0/0"),
    ["E ASI1 103"],
    "4,095,500 pps at most",
  );
  t.strictSame(client.ask("APS1/2/0/0/0/0/0/1"), ["W APS1 1"], "the target is the present position");
});

t.test("SC: STP answers only when the axis has stopped", async (t) => {
  const { controller } = bench({ dialect: "sc", axes, clock: () => performance.now() / 1e3 });
  const client = rawClient(controller, "serial");
  client.ask("ASI1/500/5000/20/60/0/0/0/0/0/0/0/0/0");
  client.ask("FRP1/2/0/0/1/1");
  await new Promise((resolve) => setTimeout(resolve, 300));
  const startS = performance.now();
  t.strictSame(client.ask("STP1/0"), []);
  let reply: string[] = [];
  for (let i = 0; i < 300 && reply.length === 0; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    reply = client.take();
  }
  t.strictSame(reply, ["C STP1"]);
  t.ok(performance.now() - startS > 500, "0.6 s of deceleration from the top speed");
  t.match(client.ask("STR1/1"), [/^C STR1 1 0 /]);
  controller.dispose();
});
