/** The emulated stage controller for a peer, with every byte that the peer sends kept. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import type { Test } from "tap";
import { KohzuEmulator, type KohzuOptions } from "../../src/twin/kohzu/kohzu-emulator.js";
import { xa04aR102, type StageModel } from "../../src/twin/kohzu/stage-models.js";
import { PtyPort } from "../../src/twin/pty-port.js";

/** A stage with so long a travel that a peer's own coordinates fit. */
export const longStage: StageModel = { ...xa04aR102, limit: 0.06, hardStop: 0.061 };

export interface StagePeerRig {
  readonly emulator: KohzuEmulator;
  /** What the peer has sent so far. */
  received(): string;
}

const emulated = (t: Test, model: StageModel, options: Partial<KohzuOptions>): KohzuEmulator => {
  const emulator = new KohzuEmulator({
    seed: 7,
    speedFactor: 30,
    axes: Array.from({ length: 4 }, () => ({ model, homed: true })),
    ...options,
  });
  t.teardown(() => emulator.dispose());
  return emulator;
};

/** On a TCP port of the loopback address, without STX. */
export async function stagesOnTcp(
  t: Test,
  options: Partial<KohzuOptions> = {},
): Promise<StagePeerRig & { readonly port: number }> {
  const emulator = emulated(t, longStage, options);
  let heard = "";
  const server = createServer((socket) => {
    const client = emulator.attach("tcp", (bytes) => socket.write(bytes));
    socket.on("data", (bytes: Buffer) => {
      heard += bytes.toString("latin1");
      client.receive(bytes);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => client.close());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return { emulator, received: () => heard, port: (server.address() as AddressInfo).port };
}

/** On a pseudo-terminal, with STX. */
export async function stagesOnPty(
  t: Test,
  options: Partial<KohzuOptions> = {},
): Promise<StagePeerRig & { readonly path: string }> {
  const emulator = emulated(t, xa04aR102, options);
  const folder = await mkdtemp(path.join(os.tmpdir(), "stage-peer-"));
  const port = new PtyPort({ path: path.join(folder, "port") });
  let heard = "";
  const client = emulator.attach("serial", (bytes) => port.write(bytes));
  port.onData = (bytes) => {
    heard += Buffer.from(bytes).toString("latin1");
    client.receive(bytes);
  };
  await port.open();
  t.teardown(async () => {
    await port.close();
    await rm(folder, { recursive: true });
  });
  return { emulator, received: () => heard, path: path.join(folder, "port") };
}
