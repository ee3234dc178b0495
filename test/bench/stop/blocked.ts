/**
 * How long the cell stays without a stop when the daemon's event loop blocks: from the moment when JavaScript stands to the
 * last byte of the guardian's stop at the stages' end. A holder in a process of its own plays the daemon, with the product's
 * own heart and guardian.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { monotonicNow } from "../../../src/base/clock.js";
import { PtyPort } from "../../../src/twin/pty-port.js";

const holderProgram = fileURLToPath(new URL("../../cell/guardian/holder.js", import.meta.url));

/** A stage controller that knows nothing but the stop, and when it was whole. */
class StopSink {
  readonly stopped: Promise<number>;
  private readonly sockets = new Set<Socket>();
  private readonly server;

  constructor() {
    let resolve: (atS: number) => void = () => undefined;
    this.stopped = new Promise((done) => (resolve = done));
    this.server = createServer((socket) => {
      this.sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("data", (bytes) => {
        const atS = monotonicNow();
        if (!bytes.toString("latin1").includes("STP0/1\r\n")) return;
        resolve(atS);
        socket.write("C\tSTP0\r\n");
      });
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return (this.server.address() as AddressInfo).port;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

async function oneBlock(folder: string, needlePath: string, eventLoopLimitS: number): Promise<number> {
  const sink = new StopSink();
  const options = {
    ...{ stagePort: await sink.listen(), needlePath, logPath: path.join(folder, "guardian.jsonl") },
    ...{ silenceS: 0.05, eventLoopLimitS },
  };
  const holder = spawn(process.execPath, [holderProgram, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    let blockedS = NaN;
    for await (const line of createInterface({ input: holder.stdout })) {
      const { event, atS } = JSON.parse(line) as { readonly event: string; readonly atS?: number };
      if (event === "ready") holder.stdin.write("block 1\n");
      if (event !== "blocking" || atS === undefined) continue;
      blockedS = atS;
      break;
    }
    return (await sink.stopped) - blockedS;
  } finally {
    const gone = once(holder, "exit");
    holder.kill("SIGKILL");
    await gone;
    sink.close();
  }
}

/** Seconds, one a block. */
export async function stopsOfABlockedLoop(eventLoopLimitS: number, count: number): Promise<number[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-blocked-"));
  const needlePath = path.join(folder, "needle");
  const pty = new PtyPort({ path: needlePath });
  await pty.open();
  try {
    const times: number[] = [];
    for (let k = 0; k < count; k++) times.push(await oneBlock(folder, needlePath, eventLoopLimitS));
    return times;
  } finally {
    await pty.close();
    await rm(folder, { recursive: true, force: true });
  }
}
