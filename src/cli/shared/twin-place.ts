/** Where a twin lives: its loopback addresses and socket folder, and the configuration of a daemon that drives it. */
import { createSocket } from "node:dgram";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { stringify } from "yaml";
import { CellError } from "../../base/errors.js";
import { projectRoot } from "../../base/paths.js";

export interface TwinPlace {
  /** Arm and stage controller. */
  readonly host: string;
  readonly cameras: readonly [string, string];
  /** Sockets and the needle's terminal; short, for the limit on socket paths. */
  readonly folder: string;
}

const tcpPorts = [29999, 30001, 30002, 30003, 30004, 5020, 12321] as const;
/** GigE Vision control. */
const cameraPort = 3956;

async function tcpFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

async function udpFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    socket.once("error", () => resolve(false));
    socket.bind({ address: host, port, exclusive: true }, () => socket.close(() => resolve(true)));
  });
}

async function isFree(host: string, cameras: readonly string[]): Promise<boolean> {
  for (const port of tcpPorts) if (!(await tcpFree(host, port))) return false;
  for (const camera of cameras) if (!(await udpFree(camera, cameraPort))) return false;
  return true;
}

/**
 * A place of its own: the default addresses when they are free, else others of the loopback network (all of 127/8 is
 * this machine), so that several twins run beside each other.
 */
export async function choosePlace(): Promise<TwinPlace> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-"));
  const nets = [
    "127.0.0",
    ...Array.from({ length: 20 }, (_, index) => `127.${100 + ((process.pid + index) % 100)}.7`),
  ];
  for (const net of nets) {
    const cameras = [`${net}.2`, `${net}.3`] as const;
    if (await isFree(`${net}.1`, cameras)) return { host: `${net}.1`, cameras, folder };
  }
  throw new CellError("LINK_BUSY", "no free loopback addresses for a twin", {
    remedy: "end the other twins",
  });
}

/** Addresses of the twin's own sockets in its folder. */
export const twinSockets = (folder: string): { control: string; truth: string; needle: string } => ({
  control: `ipc://${folder}/control.sock`,
  truth: `ipc://${folder}/truth.sock`,
  needle: path.join(folder, "needle"),
});

export interface DaemonFileOptions {
  readonly place: TwinPlace;
  /** Recordings go there. */
  readonly runFolder: string;
  readonly reasoner: "rules" | "zmq";
  readonly operatorTimeoutS: number;
  /** A calibration that was measured on this very twin; the drawing unless given. */
  readonly calibration?: string;
}

/** The configuration of a daemon for this twin: the shipped cell, drawing and profiles. It holds neither seed nor truth. */
export function daemonConfig(options: DaemonFileOptions): string {
  const { place, runFolder, reasoner, operatorTimeoutS, calibration } = options;
  const shipped = (folder: string, name: string): string => path.join(projectRoot, folder, name);
  const view = (index: 0 | 1): Record<string, unknown> => ({
    name: `view${index + 1}`,
    profile: "microscope-md65",
    address: place.cameras[index],
    serial: `MIC${index + 1}`,
  });
  return stringify({
    version: 1,
    cell: { id: "reference-cell", file: shipped("calibration", "reference-cell.yaml") },
    calibration: { file: calibration ?? shipped("calibration", "reference-drawing.yaml") },
    devices: {
      arm: { profile: "ur5-cb3-3.15", host: place.host, callbackHost: place.host, modbusPort: 5020 },
      stages: { profile: "kohzu-aries", transport: "tcp", host: place.host, port: 12321 },
      needle: { profile: "needle-zaber-ascii", path: twinSockets(place.folder).needle },
      microscopes: [view(0), view(1)],
    },
    reasoner: { kind: reasoner, endpoint: `ipc://${place.folder}/reasoner.sock` },
    // The loop's own limit lies above the one of the program that watches, which explains the end.
    loop: { operatorTimeoutS: operatorTimeoutS > 0 ? operatorTimeoutS + 5 : 0 },
    record: { folder: runFolder },
    command: {
      endpoint: `ipc://${place.folder}/command.sock`,
      events: `ipc://${place.folder}/events.sock`,
    },
    log: { file: path.join(runFolder, "surgiclawd.log") },
  });
}
