/** Programs of Aravis, from the Debian package that scripts/interop.sh unpacks, and the cameras they talk to. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { Test } from "tap";
import { CellError } from "../../../src/base/errors.js";
import { projectRoot } from "../../../src/base/paths.js";
import { GigePeer } from "../../cell/microscope/gige-peer.js";

const folder = (): string =>
  process.env["SURGICLAW_INTEROP_DEBIAN"] ?? path.join(projectRoot, ".venv", "interop-debian");

export const aravisProgram = (name: string): string => path.join(folder(), "usr", "bin", name);

export const aravisToolsVersion = (): string =>
  readFileSync(path.join(folder(), "aravis-tools.version"), "utf8").trim();

/** What a program printed, whatever its exit. */
export function output(program: string, args: readonly string[], limitS = 40): string {
  const { stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8", timeout: limitS * 1e3 });
  if (error) throw new CellError("DEVICE_MISSING", `${program}: ${error.message}`, { cause: error });
  return `${stdout}${stderr}`;
}

export interface CameraTestResult {
  /** Its counters by name: `n_completed_buffers`, `n_failures`, ... */
  readonly counts: ReadonlyMap<string, number>;
  /** All that it printed. */
  readonly text: string;
  /** Datagrams that this machine's kernel threw away meanwhile, since nobody read them in time. */
  readonly kernelDrops: number;
}

/** Datagrams dropped for a full socket buffer so far: RcvbufErrors of /proc/net/snmp, of all sockets here. */
function kernelDrops(): number {
  const [names = [], values = []] = [...readFileSync("/proc/net/snmp", "utf8").matchAll(/^Udp: (.*)$/gm)].map(
    ([, line = ""]) => line.split(" "),
  );
  return Number(values[names.indexOf("RcvbufErrors")]);
}

/** arv-camera-test-0.8 on a camera for some seconds. */
export function cameraTest(
  address: string,
  durationS: number,
  args: readonly string[] = [],
): CameraTestResult {
  const droppedBefore = kernelDrops();
  // Root would get a packet socket, which hears nothing on loopback.
  const usual = ["-n", address, "--no-packet-socket", "-a", "--duration", String(durationS)];
  const text = output(aravisProgram("arv-camera-test-0.8"), [...usual, ...args], durationS + 30);
  const counts = [...text.matchAll(/^(n_\w+)\s*= (\d+)/gm)].map(
    ([, name = "", value]) => [name, Number(value)] as const,
  );
  return { counts: new Map(counts), text, kernelDrops: kernelDrops() - droppedBefore };
}

/**
 * The first of up to five runs in which the kernel dropped nothing, or the last. What a starved machine throws away says
 * nothing of the camera, and a client that is not resent to must count it as a failed frame.
 */
export function cameraTestWithoutDrops(
  address: string,
  durationS: number,
  args: readonly string[] = [],
): CameraTestResult {
  for (let left = 4; ; left--) {
    const result = cameraTest(address, durationS, args);
    if (result.kernelDrops === 0 || left === 0) return result;
  }
}

/** The camera of the native tests, ended with the test. */
export async function gigePeer(
  t: Test,
  address: string,
  serial: string,
  ...size: number[]
): Promise<GigePeer> {
  const peer = await GigePeer.start(address, serial, ...size);
  t.teardown(() => peer.kill());
  return peer;
}
