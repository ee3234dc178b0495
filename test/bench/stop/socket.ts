/**
 * From the socket: a client asks the real daemon for a stop, again and again, and the taps before its devices say when the
 * last byte of each link's stop command arrived. Before every stop a person's reset has made the cell ready, so that every
 * way to the arm is open, too. The cameras are offline.
 */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import { monotonicNow, systemClock } from "../../../src/base/clock.js";
import { Children, programFile } from "../../../src/cli/shared/children.js";
import { untilReady } from "../../../src/cli/shared/daemon-program.js";
import { daemonConfig } from "../../../src/cli/shared/twin-place.js";
import { CommandClient } from "../../../src/service/command/client.js";

interface Addresses {
  readonly host: string;
  readonly stages: number;
  readonly needle: string;
  readonly arm: {
    readonly rtde: number;
    readonly dashboard: number;
    readonly modbus: number;
    readonly primary: number;
  };
}

/** How long every link may take before a stop counts as lost, s. */
const patienceS = 5;

export const stopLinks = ["arm, control link", "arm, program", "stages", "needle"] as const;
export type StopLink = (typeof stopLinks)[number];

/** The devices' process, and what its taps heard. */
class Devices {
  private readonly child;
  private readonly lines;
  private heard: { readonly link: StopLink; readonly atS: number }[] = [];

  constructor(folder: string) {
    const program = fileURLToPath(new URL("./devices.js", import.meta.url));
    this.child = spawn(process.execPath, [program, folder], { stdio: ["pipe", "pipe", "inherit"] });
    this.lines = createInterface({ input: this.child.stdout });
  }

  async addresses(): Promise<Addresses> {
    const first = new Promise<string>((resolve) => this.lines.once("line", resolve));
    const addresses = JSON.parse(await first) as Addresses;
    this.lines.on("line", (line) => this.heard.push(JSON.parse(line) as Devices["heard"][number]));
    return addresses;
  }

  /** The first stop on each link since `sinceS`, s after it. @throws Error when one does not come */
  async stopsSince(sinceS: number): Promise<Readonly<Record<StopLink, number>>> {
    for (;;) {
      const first = stopLinks.map((link) =>
        this.heard.find((stop) => stop.link === link && stop.atS >= sinceS),
      );
      if (first.every((stop) => stop !== undefined)) {
        this.heard = [];
        return Object.fromEntries(first.map(({ link, atS }) => [link, atS - sinceS])) as Record<
          StopLink,
          number
        >;
      }
      if (monotonicNow() - sinceS > patienceS) {
        const missing = stopLinks.filter((_, i) => first[i] === undefined);
        throw new Error(`no stop on ${missing.join(", ")} within ${patienceS} s`);
      }
      await systemClock.sleep(0.001);
    }
  }

  end(): void {
    this.child.stdin.end();
  }
}

/** The daemon's configuration for these devices. */
function configuration({ host, stages, needle, arm }: Addresses, folder: string): string {
  const place = { host, cameras: ["127.0.0.2", "127.0.0.3"] as const, folder };
  const config = parse(
    daemonConfig({ place, runFolder: path.join(folder, "runs"), reasoner: "rules", operatorTimeoutS: 0 }),
  ) as { devices: Record<string, object> };
  const { rtde, dashboard, modbus, primary } = arm;
  const ports = { rtdePort: rtde, dashboardPort: dashboard, modbusPort: modbus, primaryPort: primary };
  config.devices["arm"] = { ...config.devices["arm"], ...ports };
  config.devices["stages"] = { ...config.devices["stages"], port: stages };
  config.devices["needle"] = { ...config.devices["needle"], path: needle };
  return stringify(config);
}

/** Seconds from the request to each link's last byte, one a stop. */
export async function stopsFromTheSocket(
  count: number,
): Promise<Readonly<Record<StopLink, readonly number[]>>> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-stop-"));
  await mkdir(path.join(folder, "runs"));
  const devices = new Devices(folder);
  const children = new Children();
  const file = path.join(folder, "surgiclawd.yaml");
  const client = new CommandClient(`ipc://${folder}/command.sock`, "bench");
  const times: Record<StopLink, number[]> = {
    ...{ "arm, control link": [], "arm, program": [], stages: [], needle: [] },
  };
  try {
    await writeFile(file, configuration(await devices.addresses(), folder));
    const daemon = children.start(
      "surgiclawd",
      process.execPath,
      [programFile("service", "daemon", "main.js"), "--config", file, "--tied"],
      { log: path.join(folder, "surgiclawd-output.log"), tied: true },
    );
    await untilReady(children, daemon, client, 90, AbortSignal.timeout(120_000));
    // The first warms up.
    for (let k = -1; k < count; k++) {
      const beganS = monotonicNow();
      const answered = client.call("stop", { reason: "bench" }, { timeoutS: 10 });
      const stops = await devices.stopsSince(beganS);
      await answered;
      if (k >= 0) for (const link of stopLinks) times[link].push(stops[link]);
      await client.control("reset", {}, { timeoutS: 40 });
    }
    return times;
  } finally {
    client.close();
    await children.endAll();
    devices.end();
    await rm(folder, { recursive: true, force: true });
  }
}
