/**
 * A small daemon for the guardian's tests: holds a guardian over a stage on TCP and a needle on a serial port, and does
 * what its standard input says, one word a line.
 */
import { createInterface } from "node:readline";
import { Guardian, type GuardedLink } from "../../../src/cell/guardian/guardian.js";
import { SerialLink } from "../../../src/cell/links/serial-link.js";
import { monotonicNow } from "../../../src/base/clock.js";

interface HolderOptions {
  readonly stagePort: number;
  readonly needlePath: string;
  readonly logPath: string;
  readonly silenceS: number;
  readonly eventLoopLimitS: number;
}

const options = JSON.parse(process.argv[2] ?? "{}") as HolderOptions;
const say = (event: string, more: object = {}): void => {
  process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
};

const needle = new SerialLink({ path: options.needlePath, baudRate: 115200 });
await needle.open();
const descriptor = needle.descriptor;
if (descriptor === undefined) throw new Error("the needle's port has no descriptor");
const guardian = new Guardian({
  logPath: options.logPath,
  silenceS: options.silenceS,
  periodS: 0.005,
  eventLoopLimitS: options.eventLoopLimitS,
});
guardian.onChange = (status) => say(status.alive ? "alive" : "not alive", { reason: status.reason });
const links: GuardedLink[] = [
  { kind: "aries-tcp", host: "127.0.0.1", port: options.stagePort },
  { kind: "needle-serial", descriptor, device: 1, axis: 1 },
];
await guardian.start(links);
guardian.assertAlive();
say("ready", { pid: guardian.status().pid });

function block(durationS: number): void {
  const untilS = monotonicNow() + durationS;
  while (monotonicNow() < untilS);
}

for await (const line of createInterface({ input: process.stdin })) {
  const [command, value] = line.split(" ");
  switch (command) {
    case "half":
      needle.write(Buffer.from("/1 1 move abs 50"));
      break;
    case "tissue":
      guardian.setNeedle(true, Number(value));
      break;
    case "block":
      say("blocking", { atS: monotonicNow() });
      block(Number(value));
      break;
    case "rearm":
      await guardian.rearm();
      break;
    case "assert":
      try {
        guardian.assertAlive();
        say("asserted", { code: "" });
      } catch (error) {
        say("asserted", { code: (error as { code?: string }).code });
      }
      continue;
    case "stop":
      await guardian.stop();
      await needle.close();
      say("stopped");
      process.exit(0);
      break;
    default:
      throw new Error(`unknown command ${line}`);
  }
  say("done", { command });
}
