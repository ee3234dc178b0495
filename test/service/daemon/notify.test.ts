import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { pino } from "pino";
import t from "tap";
import { cellAddon } from "../../../src/cell/native.js";
import { SystemdNotifier, watchdogPeriodS } from "../../../src/service/daemon/notify.js";
import { ProgressRegistry } from "../../../src/service/daemon/progress.js";

t.test("the watchdog period is half of what systemd allows, for this process only", (t) => {
  t.equal(watchdogPeriodS({ WATCHDOG_USEC: "5000000" }, 1), 2.5);
  t.equal(watchdogPeriodS({ WATCHDOG_USEC: "5000000", WATCHDOG_PID: "7" }, 7), 2.5);
  t.equal(watchdogPeriodS({ WATCHDOG_USEC: "5000000", WATCHDOG_PID: "8" }, 7), undefined);
  t.equal(watchdogPeriodS({}, 1), undefined);
  t.equal(watchdogPeriodS({ WATCHDOG_USEC: "soon" }, 1), undefined);
  t.end();
});

t.test("progress: a loop that stands still is named, whatever the others do", (t) => {
  const registry = new ProgressRegistry();
  const vision = registry.register("vision");
  let beats = 5;
  const heart = registry.watch("heart", () => beats);
  t.same(registry.takeStalled(), [], "just registered");
  vision.advance();
  t.same(registry.takeStalled(), ["heart"]);
  beats += 1;
  t.same(registry.takeStalled(), ["vision"]);
  vision.rest();
  beats += 1;
  t.same(registry.takeStalled(), [], "rests on purpose");
  vision.advance();
  heart.unregister();
  t.same(registry.takeStalled(), []);
  t.same(registry.takeStalled(), ["vision"], "watched again since it advanced");
  t.throws(() => registry.register("vision"), { code: "INTERNAL" });
  vision.unregister();
  t.same(registry.names(), []);
  t.end();
});

/** Prints each datagram as one line, newlines as `|`; another program's view of what was sent. */
const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.settimeout(20)
s.bind(sys.argv[1])
print("bound", flush=True)
while True:
    text = s.recv(4096).decode()
    print(text.replace("\\n", "|"), flush=True)
    if text.startswith("STOPPING"): break
`;

t.test("datagrams arrive at NOTIFY_SOCKET as systemd expects them", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-notify-"));
  const socket = path.join(folder, "notify");
  const child = spawn("python3", ["-c", receiver, socket], { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => child.kill());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => (await lines.next()).value;
  t.equal(await next(), "bound");
  process.env["NOTIFY_SOCKET"] = socket;
  t.teardown(() => delete process.env["NOTIFY_SOCKET"]);

  const progress = new ProgressRegistry();
  const send = (message: string): boolean => cellAddon().notifySystemd(message);
  const notifier = new SystemdNotifier(send, progress, pino({ level: "silent" }));
  notifier.status("waiting for\n  the stages");
  t.equal(await next(), "STATUS=waiting for; the stages");
  notifier.ready("active");
  t.equal(await next(), "READY=1|STATUS=active");
  notifier.startWatchdog(0.02);
  t.equal(await next(), "WATCHDOG=1");
  notifier.stopWatchdog();
  notifier.stopping("received SIGTERM");
  let line = await next();
  while (line === "WATCHDOG=1") line = await next();
  t.equal(line, "STOPPING=1|STATUS=received SIGTERM");

  delete process.env["NOTIFY_SOCKET"];
  t.equal(cellAddon().notifySystemd("READY=1"), false, "without systemd it goes nowhere");
});
