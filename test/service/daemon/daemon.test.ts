import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import t, { type Test } from "tap";
import type { Clock } from "../../../src/base/clock.js";
import { systemClock } from "../../../src/base/clock.js";
import { loadConfig } from "../../../src/base/config.js";
import { CellError } from "../../../src/base/errors.js";
import { CommandClient } from "../../../src/service/command/client.js";
import { Daemon } from "../../../src/service/daemon/daemon.js";
import { daemonExit } from "../../../src/service/daemon/exit-codes.js";
import { FakeCell } from "./fake-cell.js";

const configText = (folder: string, more = ""): string => `
cell: { id: fake, file: cell.yaml }
calibration: { file: cal.yaml }
devices:
  arm: { profile: a }
  stages: { profile: s }
  needle: { profile: n, path: needle }
  microscopes: [{ name: l, profile: m, address: "1" }, { name: r, profile: m, address: "2" }]
command: { endpoint: "ipc://${folder}/c.sock", events: "ipc://${folder}/e.sock" }
${more}
`;

/** Pauses between attempts pass at once; deadlines of teardown stay real. */
const hasty: Clock = {
  now: () => systemClock.now(),
  sleep: (durationS, signal) =>
    systemClock.sleep(durationS >= 1 && durationS !== 2 ? durationS / 50 : durationS, signal),
};

interface Bench {
  readonly daemon: Daemon;
  readonly cell: FakeCell;
  readonly told: string[];
  readonly file: string;
  readonly endpoint: string;
}

async function bench(t: Test, options: { once?: boolean; env?: NodeJS.ProcessEnv } = {}): Promise<Bench> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclawd-"));
  const file = path.join(folder, "d.yaml");
  await writeFile(file, configText(folder));
  const cell = new FakeCell();
  const told: string[] = [];
  const daemon = new Daemon({
    loaded: await loadConfig(file),
    createCell: () => cell,
    clock: hasty,
    log: pino({ level: "silent" }),
    notify: (message) => {
      told.push(message);
      return true;
    },
    env: options.env ?? {},
    version: "0.0.0",
    once: options.once ?? false,
  });
  t.teardown(() => daemon.shutdown("test over"));
  return { daemon, cell, told, file, endpoint: `ipc://${folder}/c.sock` };
}

/** Waits, with a limit far above what is needed, for something to become true. */
async function until(what: string, test: () => boolean): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    if (test()) return;
    await systemClock.sleep(0.01);
  }
  throw new Error(`never came true: ${what}`);
}

const isReady = (told: readonly string[]) => (): boolean =>
  told.some((message) => message.startsWith("READY=1"));

t.test("READY only after the self-check passed; SIGTERM stops first, then tears down", async (t) => {
  const { daemon, cell, told } = await bench(t);
  const running = daemon.run();
  await until("ready", isReady(told));
  t.same(cell.calls, ["configure", "selfCheck", "activate"]);
  daemon.shutdown("received SIGTERM");
  t.equal(await running, daemonExit.stopped);
  t.same(cell.calls.slice(3), ["stop the daemon ends by daemon", "finalize"]);
  t.match(told.at(-1), /^STOPPING=1/);
});

t.test("a missing device: readable, says what is missing, tries again, then becomes ready", async (t) => {
  const { daemon, cell, told, endpoint } = await bench(t);
  cell.configureErrors = Array.from(
    { length: 30 },
    () => new CellError("DEVICE_MISSING", "stages: nothing answers at 127.0.0.1:12321"),
  );
  const running = daemon.run();
  await until("two attempts", () => cell.calls.length > 1);
  t.notOk(isReady(told)());
  t.ok(told.some((message) => /STATUS=not active: .*127\.0\.0\.1:12321/.test(message)));
  const client = new CommandClient(endpoint, "ann");
  client.open();
  const status = await client.call("status", {});
  t.equal(status.ready, false);
  t.match(status.reason, /stages: nothing answers/);
  await t.rejects(client.control("start", { procedure: "/p", query: "q" }), {
    code: "COMMAND_INVALID",
    detail: /not active: .*stages/,
  });
  await client.call("stop", {});
  t.ok(
    cell.calls.some((call) => call.startsWith("stop")),
    "a stop is taken in every state",
  );
  cell.configureErrors = [];
  await until("ready", isReady(told));
  t.equal((await client.call("status", {})).ready, true);
  client.close();
  daemon.shutdown("done");
  t.equal(await running, 0);
});

t.test("a failed self-check keeps the cell from being active and names the item", async (t) => {
  const { daemon, cell, told } = await bench(t);
  cell.checks = [[{ name: "guardian", passed: false, detail: "does not run" }]];
  const running = daemon.run();
  await until("ready", isReady(told));
  t.ok(told.some((message) => message.includes("self-check: guardian: does not run")));
  t.same(cell.calls.slice(0, 5), ["configure", "selfCheck", "finalize", "configure", "selfCheck"]);
  daemon.shutdown("done");
  await running;
});

t.test("what a person must correct ends the daemon with its exit code", async (t) => {
  const cases = [
    ["CALIBRATION_FOREIGN", daemonExit.config],
    ["PROFILE_INVALID", daemonExit.config],
    ["INTERNAL", daemonExit.software],
  ] as const;
  for (const [code, exit] of cases) {
    const { daemon, cell, told } = await bench(t);
    cell.configureErrors = [new CellError(code, "of another cell")];
    t.equal(await daemon.run(), exit, code);
    t.notOk(isReady(told)());
    t.notOk(cell.calls.includes("activate"));
    t.equal(cell.calls.at(-1), "finalize");
  }
  const { daemon, cell } = await bench(t, { once: true });
  cell.configureErrors = [new CellError("DEVICE_WRONG_MODEL", "stages: another model")];
  t.equal(await daemon.run(), daemonExit.unavailable);
});

t.test("a lost cell is stopped, finalized and configured anew; nothing resumes by itself", async (t) => {
  const { daemon, cell, told } = await bench(t);
  const running = daemon.run();
  await until("ready", isReady(told));
  cell.calls.length = 0;
  cell.loseCell("guardian ended");
  await until("active again", () => cell.calls.includes("activate"));
  t.same(cell.calls, ["stop guardian ended by daemon", "finalize", "configure", "selfCheck", "activate"]);
  daemon.shutdown("done");
  await running;
});

t.test("teardown ends although a part of it hangs", async (t) => {
  const { daemon, cell, told } = await bench(t);
  const running = daemon.run();
  await until("ready", isReady(told));
  cell.finalizeHangs = true;
  daemon.shutdown("done");
  t.equal(await running, 0);
});

t.test("SIGHUP takes live keys; a bad file leaves the old ones in force", async (t) => {
  const { daemon, cell, told, file } = await bench(t);
  const running = daemon.run();
  await until("ready", isReady(told));
  await writeFile(file, configText(path.dirname(file), "loop: { refusalBudget: 7 }"));
  await daemon.reload();
  t.ok(cell.calls.includes("reconfigure"));
  t.ok(told.some((message) => /^RELOADING=1\nMONOTONIC_USEC=\d+$/.test(message)));
  await writeFile(file, "nonsense: 1\n");
  cell.calls.length = 0;
  await daemon.reload();
  t.notOk(cell.calls.includes("reconfigure"));
  daemon.shutdown("done");
  await running;
});

t.test("the watchdog is fed while every loop advances, and not when one stands still", async (t) => {
  const env = { WATCHDOG_USEC: "100000" };
  const { daemon, told } = await bench(t, { env });
  const loop = daemon.progress.register("servo");
  const turning = setInterval(() => loop.advance(), 5);
  const running = daemon.run();
  const fed = (): number => told.filter((message) => message === "WATCHDOG=1").length;
  await until("fed three times", () => fed() >= 3);
  clearInterval(turning);
  await systemClock.sleep(0.2);
  const before = fed();
  await systemClock.sleep(0.4);
  t.equal(fed(), before, "eight periods without food");
  loop.rest();
  await until("fed again: the loop rests on purpose", () => fed() > before);
  daemon.shutdown("done");
  await running;
});
