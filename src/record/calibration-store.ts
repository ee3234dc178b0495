/**
 * Calibration files on disk. What is read is refused unless it belongs to this cell and its devices, has not expired and is
 * as it was written; what is written never overwrites: the file before goes into `history/` beside it.
 */
import { createHash } from "node:crypto";
import { copyFile, constants, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import { calibrationSchema, type Calibration, type MeasuredCalibration } from "../base/calibration-file.js";
import { CellError } from "../base/errors.js";
import { loadYaml } from "../base/yaml-file.js";
import { canonicalJson } from "./canonical-json.js";
import { replaceFile, syncFolder } from "./durable-file.js";

/** SHA-256 over the canonical JSON (RFC 8785) of everything but the hash itself. */
export function calibrationHash(content: Omit<MeasuredCalibration, "hash">): string {
  const { hash: _, ...rest } = { hash: undefined, ...content };
  return `sha256:${createHash("sha256").update(canonicalJson(rest)).digest("hex")}`;
}

/** @throws CellError CALIBRATION_INVALID naming file, line and key, CALIBRATION_EDITED when the hash does not fit */
export async function readCalibration(file: string): Promise<Calibration> {
  const { value } = await loadYaml(file, calibrationSchema, {
    unreadable: "CALIBRATION_INVALID",
    invalid: "CALIBRATION_INVALID",
  });
  if (value.method === "measured") {
    const { hash, ...content } = value;
    const found = calibrationHash(content);
    if (found !== hash)
      throw new CellError(
        "CALIBRATION_EDITED",
        `${file}: expected the content whose hash is ${hash}, found one whose hash is ${found}`,
      );
  }
  return value;
}

/**
 * The calibration that a daemon works with.
 * @param nowMs wall time, ms since 1970: expiry is a date
 * @throws CellError CALIBRATION_INVALID, CALIBRATION_EDITED, CALIBRATION_FOREIGN when it belongs to another cell,
 * CALIBRATION_EXPIRED naming the items
 */
export async function loadCalibration(file: string, cell: string, nowMs: number): Promise<Calibration> {
  const value = await readCalibration(file);
  if (value.cell !== cell)
    throw new CellError(
      "CALIBRATION_FOREIGN",
      `${file}: expected a calibration of cell ${cell}, found one of ${value.cell}`,
    );
  if (value.method === "measured") {
    const expired = Object.entries(value.items).filter(([, item]) => Date.parse(item.expiresAt) <= nowMs);
    if (expired.length > 0)
      throw new CellError(
        "CALIBRATION_EXPIRED",
        `${file}: expected items that are valid at ${new Date(nowMs).toISOString()}, found ` +
          expired.map(([name, item]) => `${name} (until ${item.expiresAt})`).join(", "),
      );
  }
  return value;
}

/**
 * Compares the devices that answer with those the calibration was measured with. A device that does not answer (a camera
 * may be offline) is no contradiction.
 * @throws CellError CALIBRATION_FOREIGN naming device and both serial numbers
 */
export function checkDevices(calibration: Calibration, serials: ReadonlyMap<string, string>): void {
  if (calibration.method !== "measured") return;
  for (const [device, { serial }] of Object.entries(calibration.devices)) {
    const found = serials.get(device);
    if (found !== undefined && found !== serial)
      throw new CellError(
        "CALIBRATION_FOREIGN",
        `${device}: the calibration was measured with serial number ${serial}, number ${found} answers`,
      );
  }
}

/**
 * Writes a calibration with its hash. A file that was there before is first kept in `history/` beside it, named after
 * its own date.
 * @returns what was written, and where the file before lies now
 */
export async function saveCalibration(
  file: string,
  content: Omit<MeasuredCalibration, "hash">,
): Promise<{ readonly written: MeasuredCalibration; readonly kept: string | undefined }> {
  const written: MeasuredCalibration = { ...content, hash: calibrationHash(content) };
  calibrationSchema.parse(written);
  const kept = await keepBefore(file);
  const head =
    "# Measured by `surgiclaw calibrate`. Not to be edited: the daemon compares content and hash. SI units.\n";
  await mkdir(path.dirname(file), { recursive: true });
  await replaceFile(file, head + stringify(written, { lineWidth: 118, aliasDuplicateObjects: false }));
  return { written, kept };
}

async function keepBefore(file: string): Promise<string | undefined> {
  const before = await readFile(file, "utf8").catch(() => undefined);
  if (before === undefined) return undefined;
  const folder = path.join(path.dirname(file), "history");
  await mkdir(folder, { recursive: true });
  const { name, ext } = path.parse(file);
  // Its own date, whether or not it is whole; the digest tells apart what was written within one second.
  const date = /^createdAt: "?([0-9TZ:.-]+)/m.exec(before)?.[1] ?? "undated";
  const digest = createHash("sha256").update(before).digest("hex").slice(0, 8);
  const kept = path.join(folder, `${name}-${date.replaceAll(/[:.]/g, "")}-${digest}${ext}`);
  try {
    await copyFile(file, kept, constants.COPYFILE_EXCL);
  } catch (error) {
    // Its name holds its digest: the same content is kept already.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  await syncFolder(folder);
  return kept;
}
