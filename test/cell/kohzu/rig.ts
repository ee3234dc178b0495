/** A driver and an emulator joined by a real TCP connection or a real pseudo-terminal. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { loadAxes, type KohzuAxis } from "../../../src/cell/kohzu/axis-config.js";
import type { KohzuAddress } from "../../../src/cell/kohzu/kohzu-address.js";
import { KohzuController } from "../../../src/cell/kohzu/kohzu-controller.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { FaultSwitches } from "../../../src/twin/fault-switches.js";
import { KohzuEmulator, type KohzuOptions } from "../../../src/twin/kohzu/kohzu-emulator.js";
import { kohzuFaults } from "../../../src/twin/kohzu/kohzu-faults.js";
import { KohzuTcpServer, serveKohzuOnPty } from "../../../src/twin/kohzu/kohzu-server.js";
import { referenceCellStages } from "../../../src/twin/kohzu/stage-models.js";

const linear = (axis: number): { axis: number; profile: string } => ({ axis, profile: "kohzu-xa04a-r102" });
const swivel = "kohzu-sa07a-rm02";

/** The axes of the reference cell. */
export async function cellAxes(): Promise<KohzuAxis[]> {
  return loadAxes([
    linear(1),
    linear(2),
    linear(3),
    { axis: 4, profile: swivel, part: "upper" },
    { axis: 5, profile: swivel, part: "lower" },
    linear(6),
    linear(7),
  ]);
}

export interface Rig {
  readonly emulator: KohzuEmulator;
  readonly driver: KohzuController;
  readonly address: KohzuAddress;
  /** Cuts all connections. */
  pull(): Promise<void>;
  /** The faults of the controller and its links. */
  readonly faults: FaultSwitches;
  /** The controller is gone until it is plugged in again, at the same address. */
  unplug(): Promise<void>;
  plugIn(): Promise<void>;
  end(): Promise<void>;
}

/** The role of the controller on its network that goes with a transport. */
const roles = { tcp: "host", serial: "host", telnet: "telnet", dialled: "client" } as const;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return address !== null && typeof address === "object" ? address.port : 0;
}

export async function rig(
  options: {
    readonly transport?: KohzuAddress["transport"];
    readonly profile?: string;
    readonly emulator?: Partial<KohzuOptions>;
    readonly axes?: readonly KohzuAxis[];
  } = {},
): Promise<Rig> {
  const emulator = new KohzuEmulator({
    seed: 7,
    speedFactor: 4,
    ...(options.transport === undefined ? {} : { role: roles[options.transport] }),
    axes: [...referenceCellStages.map((model) => ({ model, homed: true })), null],
    ...options.emulator,
  });
  const profile = await loadProfile(options.profile ?? "kohzu-aries", "stage-controller");
  const axes = options.axes ?? (await cellAxes());
  const name = "stages";
  if (options.transport === "serial") {
    const folder = await mkdtemp(path.join(os.tmpdir(), "aries-"));
    const link = path.join(folder, "port");
    const port = await serveKohzuOnPty(emulator, { path: link });
    const address = { transport: "serial", path: link, baudRate: profile.baudRate.value } as const;
    const driver = new KohzuController({ name, address, profile, axes });
    const drop = (): void => void port.close();
    return {
      emulator,
      driver,
      address,
      faults: new FaultSwitches(kohzuFaults(emulator, { drop, cut: (on) => on && drop() })),
      pull: () => port.close(),
      unplug: () => port.close(),
      plugIn: () => port.open(),
      async end() {
        await driver.close();
        await port.close();
        emulator.dispose();
        await rm(folder, { recursive: true });
      },
    };
  }
  const server = new KohzuTcpServer(emulator);
  const host = "127.0.0.1";
  const { transport = "tcp" } = options;
  let address: Exclude<KohzuAddress, { transport: "serial" }>;
  if (transport === "dialled") {
    address = { transport, host, port: await freePort(), waitS: 3 };
    server.dial(host, address.port);
  } else {
    const port = await server.listen(host, 0);
    address =
      transport === "telnet"
        ? { transport, host, port, password: "KOSMOS" }
        : { transport: "tcp", host, port };
  }
  const { port } = address;
  const driver = new KohzuController({ name, address, profile, axes });
  const connections = { drop: () => server.dropConnections(), cut: (on: boolean) => server.cut(on) };
  return {
    emulator,
    driver,
    address,
    faults: new FaultSwitches(kohzuFaults(emulator, connections)),
    async pull() {
      server.dropConnections();
    },
    unplug: () => server.close(),
    async plugIn() {
      if (transport === "dialled") server.dial(host, port);
      else await server.listen(host, port);
    },
    async end() {
      await driver.close();
      await server.close();
      emulator.dispose();
    },
  };
}

/** Connected and active. */
export async function activeRig(options: Parameters<typeof rig>[0] = {}): Promise<Rig> {
  const made = await rig(options);
  await made.driver.connect();
  await made.driver.activate();
  return made;
}

export const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1e3));
