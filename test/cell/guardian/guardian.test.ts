import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t from "tap";
import { monotonicNow } from "../../../src/base/clock.js";
import { Guardian } from "../../../src/cell/guardian/guardian.js";
import { beatFlags, encodeBeat } from "../../../src/cell/guardian/beat.js";
import { Lines, parseReport } from "../../../src/cell/guardian/report.js";
import { PtyPort } from "../../../src/twin/pty-port.js";

/** Far above what an idle machine needs (about 60 ms), for machines under load. */
const generousS = 0.5;
const patienceS = 15;

/** Records what comes, with the time of each piece. */
class Recorder {
  text = "";
  firstS = NaN;
  take(bytes: Uint8Array): void {
    if (this.text === "") this.firstS = monotonicNow();
    this.text += Buffer.from(bytes).toString("latin1");
  }
}

async function until(done: () => boolean, what: string): Promise<void> {
  const startS = monotonicNow();
  while (!done()) {
    if (monotonicNow() - startS > patienceS) throw new Error(`waited in vain: ${what}`);
    await delay(2);
  }
}

class Bench {
  readonly folder = mkdtempSync(path.join(tmpdir(), "guardian-"));
  readonly logPath = path.join(this.folder, "guardian.jsonl");
  readonly stage = new Recorder();
  readonly needle = new Recorder();
  readonly events: Record<string, unknown>[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly pty = new PtyPort({ path: path.join(this.folder, "needle") });
  private server: Server | undefined;
  private holder: ChildProcess | undefined;

  async start(settings: { silenceS?: number; eventLoopLimitS?: number } = {}): Promise<void> {
    this.pty.onData = (bytes) => this.needle.take(bytes);
    await this.pty.open();
    this.server = createServer((socket) => {
      this.sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("data", (bytes) => {
        this.stage.take(bytes);
        socket.write("C\tSTP0\r\n");
      });
    });
    await new Promise<void>((resolve) => this.server?.listen(0, "127.0.0.1", resolve));
    const program = fileURLToPath(new URL("./holder.js", import.meta.url));
    const options = {
      stagePort: (this.server.address() as AddressInfo).port,
      needlePath: path.join(this.folder, "needle"),
      logPath: this.logPath,
      // Long enough that a machine under load does not make the daemon look dead where a test is not about that.
      silenceS: settings.silenceS ?? 0.4,
      eventLoopLimitS: settings.eventLoopLimitS ?? 2,
    };
    const holder = spawn(process.execPath, [program, JSON.stringify(options)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.holder = holder;
    createInterface({ input: holder.stdout }).on("line", (line) => {
      this.events.push(JSON.parse(line) as Record<string, unknown>);
    });
    await this.heard("ready");
  }

  tell(line: string): void {
    this.holder?.stdin?.write(`${line}\n`);
  }
  async heard(event: string, count = 1): Promise<void> {
    await until(() => this.events.filter((entry) => entry["event"] === event).length >= count, event);
  }
  signal(signal: NodeJS.Signals): number {
    const atS = monotonicNow();
    this.holder?.kill(signal);
    return atS;
  }
  log(): Record<string, unknown>[] {
    const lines = readFileSync(this.logPath, "utf8").trim().split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, unknown>);
  }
  get guardianPid(): number {
    return Number(this.events.find((entry) => entry["event"] === "ready")?.["pid"]);
  }
  guardianRuns(): boolean {
    try {
      process.kill(this.guardianPid, 0);
      // Once the holder is dead its child belongs to init, which may be slow to bury it.
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${this.guardianPid}/status`, "utf8"));
    } catch {
      return false;
    }
  }
  async close(): Promise<void> {
    this.holder?.kill("SIGKILL");
    await until(() => !this.guardianRuns(), "the end of the guardian");
    for (const socket of this.sockets) socket.destroy();
    this.server?.close();
    await this.pty.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

t.test("beat: layout of the native header", async (t) => {
  const before = BigInt(Math.floor(monotonicNow() * 1e9));
  const bytes = encodeBeat(beatFlags.goodbye, { inTissue: true, retractToMicrosteps: -2 });
  t.equal(bytes.length, 24);
  // "SLCW" read as a little-endian number, sequence 0, flags 1 | 4, two's complement of 2.
  t.equal(bytes.subarray(0, 4).toString("latin1"), "WLCS");
  t.equal(bytes.readUInt32LE(4), 0);
  t.ok(bytes.readBigUInt64LE(8) >= before);
  t.equal(bytes.readUInt32LE(16), 5);
  t.equal(bytes.subarray(20).toString("hex"), "feffffff");
});

t.test("report: only whole and known lines count", async (t) => {
  const lines = new Lines();
  t.same(lines.push('{"a":1}\n{"b'), ['{"a":1}']);
  t.same(lines.push('":2}\n'), ['{"b":2}']);
  t.equal(parseReport("{}"), undefined);
  t.equal(parseReport("not json"), undefined);
});

t.test("without the program nothing may move", async (t) => {
  const guardian = new Guardian({
    logPath: "/dev/null",
    silenceS: 0.05,
    periodS: 0.005,
    eventLoopLimitS: 1,
    program: "/nowhere/guardian",
    startTimeoutS: 2,
  });
  t.throws(() => guardian.assertAlive(), { code: "SAFETY_NO_GUARDIAN" });
  await t.rejects(guardian.start([]), { code: "SAFETY_NO_GUARDIAN" });
  t.equal(guardian.alive, false);
  await guardian.stop();
});

t.test("the guardian process", async (t) => {
  t.test("daemon killed within a command: stop on both links, the fragment ended first", async (t) => {
    const bench = new Bench();
    t.teardown(() => bench.close());
    await bench.start();
    t.equal(bench.stage.text, "", "nothing is written while all is well");
    bench.tell("half");
    await bench.heard("done");
    await until(() => bench.needle.text !== "", "the half command");
    t.equal(bench.needle.text, "/1 1 move abs 50");
    const killedS = bench.signal("SIGKILL");
    await until(() => bench.stage.text !== "" && bench.needle.text.endsWith("\n"), "the stop");
    t.comment(`stage stopped ${((bench.stage.firstS - killedS) * 1e3).toFixed(1)} ms after SIGKILL`);
    t.ok(bench.stage.firstS - killedS < generousS);
    t.equal(bench.stage.text, "STP0/1\r\n");
    await until(() => bench.needle.text.includes("estop\n"), "the needle's stop");
    t.equal(bench.needle.text, "/1 1 move abs 50\r\n/01 estop\n");
    await until(() => !bench.guardianRuns(), "the end of the guardian");
    const triggered = bench.log().find((entry) => entry["event"] === "triggered");
    t.match(triggered, { reason: "end_of_stream", needleInTissue: false });
    t.ok(Math.abs(Number(triggered?.["monotonicS"]) - killedS) < generousS, "on our clock");
  });

  t.test("needle in tissue: withdrawn along its own axis after the stop", async (t) => {
    const bench = new Bench();
    t.teardown(() => bench.close());
    await bench.start();
    bench.tell("tissue 1234");
    await bench.heard("done");
    await delay(100);
    bench.signal("SIGKILL");
    await until(() => bench.needle.text.includes("move abs"), "the withdrawal");
    t.match(bench.needle.text, /^\r\n\/01 estop\n\r\n\/01 1 move abs 1234\n/);
  });

  t.test("daemon frozen: acts on silence, stays triggered until it is rearmed", async (t) => {
    const bench = new Bench();
    t.teardown(() => bench.close());
    await bench.start({ silenceS: 0.1 });
    const frozenS = bench.signal("SIGSTOP");
    await until(() => bench.stage.text !== "", "the stop");
    t.comment(`stage stopped ${((bench.stage.firstS - frozenS) * 1e3).toFixed(1)} ms after SIGSTOP`);
    t.ok(bench.stage.firstS - frozenS < generousS);
    bench.signal("SIGCONT");
    await bench.heard("not alive");
    bench.tell("assert");
    await bench.heard("asserted");
    t.match(bench.events.at(-1), { code: "SAFETY_HEARTBEAT" });
    await delay(200);
    t.equal(bench.stage.text, "STP0/1\r\n", "acts once");
    bench.tell("rearm");
    await bench.heard("alive", 2);
    bench.tell("assert");
    await bench.heard("asserted", 2);
    t.match(bench.events.at(-1), { code: "" });
    bench.signal("SIGKILL");
    await until(() => bench.stage.text.length > 8, "the second stop");
    const reasons = (): unknown[] =>
      bench
        .log()
        .filter((entry) => entry["event"] === "triggered")
        .map((entry) => entry["reason"]);
    // It stops first and writes its log afterwards.
    await until(() => reasons().length > 1, "the second entry");
    t.same(reasons(), ["silence", "end_of_stream"]);
  });

  t.test("event loop blocked: the heart falls silent, the guardian acts", async (t) => {
    const bench = new Bench();
    t.teardown(() => bench.close());
    await bench.start({ silenceS: 0.1, eventLoopLimitS: 0.3 });
    const blockedS = monotonicNow();
    bench.tell("block 1");
    await until(() => bench.stage.text !== "", "the stop");
    const tookS = bench.stage.firstS - blockedS;
    t.comment(
      `stage stopped ${(tookS * 1e3).toFixed(1)} ms after the loop was blocked (limits 300 + 100 ms)`,
    );
    t.ok(tookS > 0.3 && tookS < 0.4 + generousS);
    await bench.heard("not alive");
  });

  t.test("orderly end: nothing is written to any device", async (t) => {
    const bench = new Bench();
    t.teardown(() => bench.close());
    await bench.start();
    bench.tell("stop");
    await bench.heard("stopped");
    await until(() => !bench.guardianRuns(), "the end of the guardian");
    await delay(100);
    t.equal(bench.stage.text, "");
    t.equal(bench.needle.text, "");
    t.same(
      bench.log().map((entry) => entry["event"]),
      ["goodbye"],
    );
  });

  t.test("orderly end with the needle in tissue: stopped and withdrawn all the same", async (t) => {
    const bench = new Bench();
    t.teardown(() => bench.close());
    await bench.start();
    bench.tell("tissue 1234");
    await bench.heard("done");
    bench.tell("stop");
    await until(() => bench.needle.text.includes("move abs"), "the withdrawal");
    t.match(bench.needle.text, /^\r\n\/01 estop\n\r\n\/01 1 move abs 1234\n/);
    t.equal(bench.stage.text, "STP0/1\r\n");
    await bench.heard("stopped");
  });

  t.test("guardian killed: the daemon knows at once", async (t) => {
    const bench = new Bench();
    t.teardown(() => bench.close());
    await bench.start();
    process.kill(bench.guardianPid, "SIGKILL");
    await bench.heard("not alive");
    bench.tell("assert");
    await bench.heard("asserted");
    t.match(bench.events.at(-1), { code: "SAFETY_NO_GUARDIAN" });
  });

  t.test("a stage that does not answer is named", async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), "guardian-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const guardian = new Guardian({
      logPath: path.join(folder, "log.jsonl"),
      silenceS: 0.05,
      periodS: 0.005,
      eventLoopLimitS: 5,
      startTimeoutS: 0.5,
    });
    await t.rejects(guardian.start([{ kind: "aries-tcp", host: "127.0.0.1", port }]), {
      code: "SAFETY_NO_GUARDIAN",
      detail: `the guardian does not reach aries 127.0.0.1:${port}`,
    });
  });
});
