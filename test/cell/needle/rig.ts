/** Driver and emulated drive joined by a real pseudo-terminal, in either protocol. */
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { NeedleDrive } from "../../../src/cell/needle/needle-drive.js";
import { loadProfile, type NeedleDriveProfile } from "../../../src/cell/profile.js";
import type { PtyPort } from "../../../src/twin/pty-port.js";
import {
  NeedleDriveEmulator,
  serveNeedleOnPty,
  type NeedleDriveOptions,
} from "../../../src/twin/needle/needle-drive.js";

export type Dialect = NeedleDriveProfile["dialect"];
export const dialects: readonly Dialect[] = ["zaber-ascii", "modbus-rtu"];

export interface Rig {
  readonly emulator: NeedleDriveEmulator;
  readonly driver: NeedleDrive;
  readonly port: PtyPort;
  readonly link: string;
  readonly profile: NeedleDriveProfile;
  end(): Promise<void>;
}

export interface RigOptions extends Partial<NeedleDriveOptions> {
  /** Connected and active from the start, unless false. */
  readonly activate?: boolean;
  /** Deadline of a reply, s; that of the profile unless given. */
  readonly replyTimeoutS?: number;
}

export async function needleProfile(dialect: Dialect, replyTimeoutS?: number): Promise<NeedleDriveProfile> {
  const profile = await loadProfile(`needle-${dialect}`, "needle-drive");
  return replyTimeoutS === undefined
    ? profile
    : { ...profile, replyTimeout: { ...profile.replyTimeout, value: replyTimeoutS } };
}

export async function rig(dialect: Dialect, options: RigOptions = {}): Promise<Rig> {
  const { activate = true, replyTimeoutS, ...drive } = options;
  const folder = await mkdtemp(path.join(os.tmpdir(), "needle-"));
  const link = path.join(folder, "port");
  const emulator = new NeedleDriveEmulator({ seed: 7, homed: true, dialect, ...drive });
  const port = await serveNeedleOnPty(emulator, { path: link });
  const profile = await needleProfile(dialect, replyTimeoutS);
  const driver = new NeedleDrive({ name: "needle", path: link, profile });
  if (activate) {
    await driver.connect();
    await driver.activate();
  }
  return {
    emulator,
    driver,
    port,
    link,
    profile,
    async end() {
      await driver.close();
      await port.close();
      emulator.dispose();
      await rm(folder, { recursive: true });
    },
  };
}

export const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1e3));

export const near = (a: number, b: number, tolerance: number): boolean => Math.abs(a - b) <= tolerance;

export const slow = { speedMS: 2e-3, accelerationMS2: 1 };
export const quick = { speedMS: 0.1, accelerationMS2: 10 };

export const stroke = {
  depthPositionM: 4.5e-3,
  speedMS: 0.05,
  accelerationMS2: 10,
  dwellS: 0.05,
  retractToM: 1e-3,
  retractSpeedMS: 0.3,
  retractAccelerationMS2: 30,
};
