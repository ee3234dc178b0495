/** The Zaber ASCII side of the emulated drive, byte by byte as the public manual writes it; the clock is ours. */
import t from "tap";
import fc from "fast-check";
import { Slide } from "../../../src/twin/needle/slide.js";
import { ZaberDevice } from "../../../src/twin/needle/zaber-device.js";
import { ZaberLine } from "../../../src/twin/needle/zaber-line.js";
import { WireFaults } from "../../../src/twin/wire-faults.js";

const slide = (homed = true): Slide =>
  new Slide({
    strokeMicrosteps: 60_000,
    topSpeed: 5e6,
    topAcceleration: 3e8,
    homingSpeed: 50_000,
    initial: 12_000,
    homed,
  });

interface Bench {
  readonly slides: readonly Slide[];
  readonly line: ZaberLine;
  readonly receive: (bytes: Uint8Array) => void;
  readonly advance: (seconds: number) => void;
  /** Everything that comes back, line by line. */
  readonly say: (text: string) => string[];
}

function bench(axes: readonly number[] = [1], homed = true): Bench {
  let [now, heard] = [1000, ""];
  const devices = axes.map(
    (count, i) =>
      new ZaberDevice({
        deviceId: 50951,
        address: i + 1,
        serialNumber: 60001 + i,
        slides: Array.from({ length: count }, () => slide(homed)),
      }),
  );
  const line = new ZaberLine(
    devices,
    new WireFaults(),
    () => now,
    (bytes) => (heard += bytes.toString("latin1")),
  );
  return {
    slides: devices.flatMap((device) => device.slides),
    line,
    receive: (bytes) => {
      line.receive(bytes);
    },
    advance: (seconds) => (now += seconds),
    say(text) {
      heard = "";
      line.receive(Buffer.from(text, "latin1"));
      return heard.split("\r\n").slice(0, -1);
    },
  };
}

t.test("addresses: all devices, one device, one axis", async (t) => {
  const { say, advance } = bench([1, 2]);
  t.strictSame(say("/\n"), ["@01 0 OK IDLE -- 0", "@02 0 OK IDLE -- 0"]);
  t.strictSame(say("/2\n"), ["@02 0 OK IDLE -- 0"]);
  t.strictSame(say("/0 0 get system.serial\n"), ["@01 0 OK IDLE -- 60001", "@02 0 OK IDLE -- 60002"]);
  t.strictSame(say("/2 0 get system.axiscount\n"), ["@02 0 OK IDLE -- 2"]);
  t.strictSame(say("/2 get pos\n"), ["@02 0 OK IDLE -- 12000 12000"], "one value per axis");
  t.strictSame(say("/2 2 move abs 13000\n"), ["@02 2 OK BUSY -- 0"]);
  t.strictSame(say("/2 1\n"), ["@02 1 OK IDLE -- 0"], "the other axis stands");
  t.strictSame(say("/2 0\n"), ["@02 0 OK BUSY -- 0"], "the device is busy while one axis is");
  advance(1);
  t.strictSame(say("/2 get pos\n"), ["@02 0 OK IDLE -- 12000 13000"]);
  t.strictSame(say("/2 3 home\n"), ["@02 3 RJ IDLE -- BADAXIS"]);
  t.strictSame(say("/9 home\n"), [], "nobody has that address");
});

t.test("message ids come back; -- asks for silence; anything else is refused", async (t) => {
  const { say, advance, slides } = bench();
  t.strictSame(say("/1 1 07 get pos\n"), ["@01 1 07 OK IDLE -- 12000"]);
  t.strictSame(say("/1 1 7 get pos\n"), ["@01 1 07 OK IDLE -- 12000"]);
  t.strictSame(say("/1 1 -- move abs 12500\n"), []);
  advance(1);
  t.equal(slides[0]?.reading(1001), 12_500);
  t.strictSame(say("/1 1 100 get pos\n"), ["@01 1 RJ IDLE -- BADMESSAGEID"]);
});

t.test("every reason to refuse", async (t) => {
  const { say } = bench();
  for (const [command, reason] of [
    ["/1 2 home", "BADAXIS"],
    ["/1 1 fly", "BADCOMMAND"],
    ["/1 1 move up 5", "BADCOMMAND"],
    ["/1 0 set version 8", "BADCOMMAND"],
    ["/1 1 move abs x", "BADDATA"],
    ["/1 1 move abs 60001", "BADDATA"],
    ["/1 1 move abs 5 0", "BADDATA"],
    ["/1 1 move abs 1 2 3 4", "BADDATA"],
    ["/1 1 get device.id", "DEVICEONLY"],
    ["/1 1 stream 1 info", "DEVICEONLY"],
    ["/1 1 set driver.current.max 50", "NOACCESS"],
  ] as const)
    t.match(say(`${command}\n`)[0], new RegExp(`^@01 \\d RJ IDLE -- ${reason}$`), command);
  t.match(say("/1 0 set system.access 2\n")[0], /OK/);
  t.match(say("/1 1 set driver.current.max 50\n")[0], /OK/);
  say("/1 1 move abs 30000 1638\n");
  t.match(say("/1 1 set pos 5\n")[0], /RJ BUSY -- STATUSBUSY/);
  t.match(say("/1 0 stream 1 setup live 1\n")[0], /RJ BUSY -- STATUSBUSY/);
});

t.test("a parked drive keeps its reference over a power cycle and refuses to move", async (t) => {
  const { say } = bench();
  t.match(say("/1 1 tools parking park\n")[0], /OK/);
  t.match(say("/1 1 move abs 0\n")[0], /RJ IDLE -- PARKED/);
  t.strictSame(say("/1 0 system reset\n"), ["@01 0 OK IDLE -- 0"]);
  t.strictSame(say("/1 1 get parking.state\n"), ["@01 1 OK IDLE -- 1"]);
  t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK IDLE -- 12000"]);
  t.match(say("/1 1 tools parking unpark\n")[0], /OK/);
  t.match(say("/1 1 move abs 0\n")[0], /OK BUSY/);
  const lost = bench();
  lost.say("/1 0 system reset\n");
  t.strictSame(lost.say("/1 1 get pos\n"), ["@01 1 OK IDLE WR 0"], "unparked, the reference is gone");
});

t.test("a position that was told is no reference that was found", async (t) => {
  const { say, advance } = bench([1], false);
  t.match(say("/1 1 set pos 500\n")[0], /OK IDLE WH/);
  t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK IDLE WH 500"]);
  say("/1 1 home\n");
  advance(2);
  t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK IDLE -- 0"]);
});

t.test(
  "move sin: amplitude is half the way, one period takes its time, stop ends with the period",
  async (t) => {
    const { say, advance } = bench();
    t.match(say("/1 1 move sin 1000 200\n")[0], /OK BUSY/);
    // 12000 + 1000 (1 − cos 2π t/T): 12000 + 2000 at half a period, 12000 + 1000 at a quarter.
    advance(0.1);
    t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK BUSY -- 14000"]);
    advance(0.15);
    t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK BUSY -- 13000"]);
    say("/1 1 move sin stop\n");
    advance(0.149);
    t.match(say("/1 1\n")[0], /BUSY/);
    advance(0.002);
    t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK IDLE -- 12000"]);
    t.match(say("/1 1 move sin -7000 200\n")[0], /RJ IDLE -- BADDATA/, "beyond the limit");
    t.match(say("/1 1 move sin 1000 200 2\n")[0], /OK BUSY/);
    advance(0.401);
    t.match(say("/1 1 get pos\n")[0], /IDLE -- 12000/);
  },
);

t.test("information comes after the reply; renumbering gives addresses", async (t) => {
  const { say } = bench([1, 1]);
  const [reply, ...info] = say("/1 0 05 help\n");
  t.equal(reply, "@01 0 05 OK IDLE -- 0");
  t.ok(info.length > 2 && info.every((line) => line.startsWith("#01 0 05 ")));
  t.strictSame(say("/2 0 renumber 7\n"), ["@07 0 OK IDLE -- 0"]);
  t.strictSame(say("/2\n"), []);
  t.strictSame(say("/7 get comm.address\n"), ["@07 0 OK IDLE -- 7"]);
  t.strictSame(say("/renumber\n"), ["@01 0 OK IDLE -- 0", "@02 0 OK IDLE -- 0"]);
  t.match(say("/1 0 renumber 100\n")[0], /RJ IDLE -- BADDATA/);
});

t.test("settings: restore keeps the address, and what was never there stays so", async (t) => {
  const { say } = bench();
  say("/1 0 renumber 4\n");
  say("/4 1 set maxspeed 1000\n");
  t.strictSame(say("/4 1 get maxspeed\n"), ["@04 1 OK IDLE -- 1000"]);
  say("/4 0 system restore\n");
  // A fifth of 500 mm/s in data: 5e6 microsteps/s * 1.6384 / 5.
  t.strictSame(say("/4 1 get maxspeed\n"), ["@04 1 OK IDLE -- 1638400"]);
  t.strictSame(say("/4 0 get system.voltage\n"), ["@04 0 OK IDLE -- 48.0"]);
});

t.test(
  "the most severe flag shows; warnings list them all, and clearing spares what is still so",
  async (t) => {
    const { say, slides } = bench();
    const [needle] = slides;
    needle?.raise("WT", 1000);
    needle?.raise("FS", 1000);
    needle?.lift("FS");
    t.strictSame(say("/1 1\n"), ["@01 1 OK IDLE FS 0"]);
    t.strictSame(say("/1 1 warnings\n"), ["@01 1 OK IDLE FS 02 FS WT"]);
    t.strictSame(say("/1 1 warnings clear\n"), ["@01 1 OK IDLE WT 02 FS WT"]);
    needle?.lift("WT");
    t.strictSame(say("/1 1 warnings\n"), ["@01 1 OK IDLE -- 00"]);
  },
);

t.test("what hinders the slide: backing off is always allowed", async (t) => {
  const { say, slides, advance } = bench();
  slides[0]?.block(1000, 20_000);
  say("/1 1 move abs 30000\n");
  advance(2);
  t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK IDLE FS 20000"]);
  say("/1 1 move abs 30000\n");
  advance(2);
  t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK IDLE FS 20000"], "deeper it does not go");
  t.match(say("/1 1 move abs 15000\n")[0], /OK BUSY --/);
  advance(2);
  t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK IDLE -- 15000"]);
});

t.test("a stream that runs dry says so", async (t) => {
  const { say, advance } = bench();
  say("/1 0 stream 1 setup live 1\n");
  t.strictSame(say("/1 0 stream 1 info\n"), ["@01 0 OK IDLE -- live 1 - - - -"]);
  t.match(say("/1 0 stream 1 line abs 12100\n")[0], /OK BUSY/);
  advance(1);
  t.match(say("/1 0 stream 1 line rel -100\n")[0], /OK BUSY ND/);
  advance(1);
  t.strictSame(say("/1 1 get pos\n"), ["@01 1 OK IDLE ND 12000"]);
});

t.test("commands survive any cut of the bytes, single bytes, garbage before them and oversize", async (t) => {
  const conversation = Buffer.from(
    "/1 1 01 get pos\r\n/1 0 02 get system.serial\n\r/1 1 03 move abs 12000\n",
  );
  const expected = ["@01 1 01 OK IDLE -- 12000", "@01 0 02 OK IDLE -- 60001", "@01 1 03 OK IDLE -- 0"];
  const heard = (pieces: readonly Uint8Array[]): string[] => {
    let text = "";
    const line = new ZaberLine(
      [new ZaberDevice({ deviceId: 50951, slides: [slide()] })],
      new WireFaults(),
      () => 1000,
      (bytes) => (text += bytes.toString("latin1")),
    );
    for (const piece of pieces) line.receive(piece);
    return text.split("\r\n").slice(0, -1);
  };
  for (let cut = 0; cut <= conversation.length; cut++)
    t.strictSame(heard([conversation.subarray(0, cut), conversation.subarray(cut)]), expected);
  t.strictSame(heard([...conversation].map((byte) => Uint8Array.of(byte))), expected);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (garbage) => {
      // Whatever came before: after a line end the next command is understood.
      const replies = heard([garbage, Buffer.from("\n"), conversation]);
      return expected.every((line) => replies.includes(line));
    }),
  );
  t.strictSame(heard([Buffer.alloc(5000, 0x41), Buffer.from("\n"), conversation]), expected);
});
