/** The emulated needle drive on a pseudo-terminal, for a peer that opens a serial port. */
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { Test } from "tap";
import {
  NeedleDriveEmulator,
  serveNeedleOnPty,
  type NeedleDriveOptions,
} from "../../src/twin/needle/needle-drive.js";

export async function needleOnPty(
  t: Test,
  options: Partial<NeedleDriveOptions> = {},
): Promise<{ readonly emulator: NeedleDriveEmulator; readonly port: string }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "needle-peer-"));
  const port = path.join(folder, "port");
  const emulator = new NeedleDriveEmulator({ seed: 7, ...options });
  const pty = await serveNeedleOnPty(emulator, { path: port });
  t.teardown(async () => {
    await pty.close();
    emulator.dispose();
    await rm(folder, { recursive: true });
  });
  return { emulator, port };
}
