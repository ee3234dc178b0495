import t from "tap";
import { NeedleDriveEmulator, type NeedleDriveOptions } from "../../../src/twin/needle/needle-drive.js";

function bench(options: Partial<NeedleDriveOptions> = {}): {
  readonly drive: NeedleDriveEmulator;
  readonly advance: (seconds: number) => void;
  readonly ask: (command: string, axis?: number) => string;
} {
  let [now, text] = [1000, ""];
  const drive = new NeedleDriveEmulator({ seed: 7, homed: true, clock: () => now, ...options });
  const receive = drive.attach((bytes) => (text += bytes.toString("latin1")));
  return {
    drive,
    advance: (seconds) => (now += seconds),
    ask(command, axis = 1) {
      text = "";
      receive(Buffer.from(`/1 ${axis} ${command}\n`, "latin1"));
      return text.trimEnd();
    },
  };
}

const near = (a: number, b: number, tolerance: number): boolean => Math.abs(a - b) <= tolerance;

t.test("identity and settings", async (t) => {
  const { ask } = bench();
  t.equal(ask("get device.id", 0), "@01 0 OK IDLE -- 50951");
  t.equal(ask("get version", 0), "@01 0 OK IDLE -- 7.35");
  t.equal(ask("get limit.max"), "@01 1 OK IDLE -- 60000");
  t.equal(ask("get device.id"), "@01 1 RJ IDLE -- DEVICEONLY");
  t.equal(ask("set limit.max 60001"), "@01 1 RJ IDLE -- BADDATA");
  t.equal(ask("get nothing"), "@01 1 RJ IDLE -- BADCOMMAND");
  t.equal(ask("frob"), "@01 1 RJ IDLE -- BADCOMMAND");
  t.equal(ask("home", 2), "@01 2 RJ IDLE -- BADAXIS");
  t.equal(ask("", 0), "@01 0 OK IDLE -- 0");
});

t.test("at power-up there is no reference; absolute moves wait for homing", async (t) => {
  const { ask, advance, drive } = bench({ homed: false, initialM: 1.2e-3 });
  t.equal(ask("get pos"), "@01 1 OK IDLE WR 0");
  t.equal(ask("move abs 100"), "@01 1 RJ IDLE WR BADDATA");
  t.equal(ask("home"), "@01 1 OK BUSY WR 0");
  advance(1);
  t.equal(ask("get pos"), "@01 1 OK IDLE -- 0");
  t.ok(near(drive.positionM(), 0, 1e-9));
});

t.test("a move takes the time that speed and acceleration say", async (t) => {
  const { ask, advance, drive } = bench();
  // 10 mm/s = 100000 microsteps/s = 163840 in data; 1 m/s² = 1e7 microsteps/s² = 1638 in data.
  t.equal(ask("move abs 30000 163840 1638"), "@01 1 OK BUSY -- 0");
  // Ramps of 10 ms and 50 µm; 2.9 mm of cruise in 0.29 s: 0.31 s in all.
  advance(0.16);
  t.ok(near(drive.positionM(), 50e-6 + 0.15 * 10e-3, 1.5e-6));
  advance(0.149);
  t.match(ask(""), /BUSY/);
  advance(0.002);
  t.equal(ask("get pos"), "@01 1 OK IDLE -- 30000");
  t.ok(near(drive.positionM(), 3e-3, 0.3e-6));
});

t.test("limits are the drive's own", async (t) => {
  const { ask, advance } = bench();
  ask("set limit.max 20000");
  t.equal(ask("move abs 20001"), "@01 1 RJ IDLE -- BADDATA");
  t.equal(ask("move max"), "@01 1 OK BUSY -- 0");
  advance(5);
  t.equal(ask("get pos"), "@01 1 OK IDLE -- 20000");
  t.equal(ask("move rel 1"), "@01 1 RJ IDLE -- BADDATA");
});

t.test("stop and estop interrupt; a retract may follow an estop at once", async (t) => {
  const { ask, advance, drive } = bench();
  ask("move abs 50000 163840 1638");
  advance(0.2);
  // From 10 mm/s with 30 m/s²: 0.33 ms and 1.7 µm.
  t.equal(ask("estop"), "@01 1 OK BUSY NI 0");
  const at = drive.positionM();
  advance(0.001);
  t.match(ask("get pos"), /^@01 1 OK IDLE NI 195\d\d$/);
  t.ok(near(drive.positionM(), at + 1.7e-6, 0.4e-6));
  t.equal(ask("move abs 0"), "@01 1 OK BUSY -- 0");
  advance(5);
  ask("move vel 163840");
  advance(0.1);
  ask("stop");
  advance(1);
  t.match(ask("get pos"), /IDLE NI/);
  t.equal(ask("warnings"), "@01 1 OK IDLE NI 01 NI");
  t.equal(ask("warnings clear"), "@01 1 OK IDLE -- 01 NI");
});

t.test("a stroke sent ahead runs by itself, to the microsecond", async (t) => {
  const { ask, advance, drive } = bench();
  for (const command of [
    "setup live 1",
    "fifo cork",
    "set maxspeed 819200",
    "set tanaccel 16384",
    "line abs 45000",
    "wait 50",
    "set maxspeed 4915200",
    "set tanaccel 49152",
    "line abs 10000",
  ])
    t.match(ask(`stream 1 ${command}`, 0), /^@01 0 OK IDLE/, command);
  t.equal(drive.isMoving(), false, "the cork holds it");
  t.match(ask("stream 1 fifo uncork", 0), /OK BUSY/);
  // Down: 50 mm/s, 10 m/s²: ramps 5 ms and 125 µm; 4.25 mm of cruise in 85 ms. Up: 300 mm/s, 30 m/s²: ramps 10 ms and
  // 1.5 mm; 0.5 mm of cruise in 1.667 ms.
  const [down, up] = [0.095, 0.02 + 0.5 / 300];
  advance(down / 2);
  t.ok(near(drive.positionM(), 2.25e-3, 1e-6));
  advance(down / 2 + 0.025);
  t.ok(near(drive.positionM(), 4.5e-3, 0.3e-6), "dwells at the depth");
  advance(0.0249);
  t.ok(near(drive.positionM(), 4.5e-3, 0.3e-6));
  advance(0.0001 + up / 2);
  t.ok(near(drive.positionM(), 2.75e-3, 2e-6));
  advance(up / 2 + 1e-6);
  t.equal(ask("get pos"), "@01 1 OK IDLE -- 10000");
});

t.test("a stream accepts nothing beyond the limits, and no more than it holds", async (t) => {
  const { ask } = bench();
  ask("set limit.max 20000");
  ask("stream 1 setup live 1", 0);
  ask("stream 1 fifo cork", 0);
  t.equal(ask("stream 1 line abs 20001", 0), "@01 0 RJ IDLE FB BADDATA");
  for (let i = 0; i < 32; i++) t.match(ask("stream 1 wait 1", 0), /OK/);
  t.match(ask("stream 1 wait 1", 0), /RJ IDLE FB AGAIN/);
});

t.test(
  "an obstacle stalls the slide; a failed driver stays off until enabled; power loss forgets the reference",
  async (t) => {
    const { ask, advance, drive } = bench();
    drive.block(2e-3);
    ask("move abs 40000 163840 1638");
    advance(0.1);
    t.match(ask(""), /BUSY --/);
    advance(1);
    t.equal(ask("get pos"), "@01 1 OK IDLE FS 20000");
    drive.block(undefined);
    ask("move abs 0");
    advance(2);
    t.equal(ask("get pos"), "@01 1 OK IDLE -- 0");

    ask("move abs 40000 163840 1638");
    advance(0.1);
    drive.failDriver();
    advance(0.01);
    t.match(ask("get pos"), /IDLE FD/);
    t.match(ask("move abs 0"), /RJ IDLE FD DRIVERDISABLED/);
    t.match(ask("driver enable"), /OK IDLE/);
    t.match(ask("move abs 0"), /OK BUSY/);
    advance(2);
    drive.powerCycle();
    t.match(ask("get pos"), /IDLE WR/);
  },
);

t.test("checksums and alerts when switched on", async (t) => {
  const { ask } = bench({ clock: () => performance.now() / 1e3 });
  t.equal(ask("set comm.checksum 1", 0), "@01 0 OK IDLE -- 0:8D");
  t.match(ask("get pos"), /:[0-9A-F]{2}$/);
  ask("set comm.checksum 0", 0);
  let heard = "";
  const drive = new NeedleDriveEmulator({ seed: 7, homed: true });
  const receive = drive.attach((bytes) => (heard += bytes.toString("latin1")));
  receive(Buffer.from("/1 0 set comm.alert 1\n/1 1 move abs 100\n"));
  for (let i = 0; i < 300 && !heard.includes("!"); i++) await new Promise((done) => setTimeout(done, 10));
  t.match(heard, /!01 1 IDLE --/);
  drive.dispose();
});
