/** Files that are either whole or absent after a power cut. */
import { open, rename } from "node:fs/promises";
import path from "node:path";

/** Writes and syncs the data; the name itself is durable only after `syncFolder`. */
export async function writeDurably(file: string, data: Uint8Array | string): Promise<void> {
  const handle = await open(file, "w");
  try {
    await handle.writeFile(data);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes names created in `folder` durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Replaces `file` in one step: temporary file, sync, rename, sync of the folder. */
export async function replaceFile(file: string, data: Uint8Array | string): Promise<void> {
  await writeDurably(`${file}.part`, data);
  await rename(`${file}.part`, file);
  await syncFolder(path.dirname(file));
}
