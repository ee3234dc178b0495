/** The origins of all axes, in an order that is safe for the tissue. */
import { CellError } from "../../base/errors.js";
import type { ConfiguredCell } from "./configured-cell.js";

/** Axes that have no origin yet: Z, which leads away from the tissue, first, then focus, X, Y and the tilts. */
export function axesToHome({ file, devices }: ConfiguredCell): number[] {
  const { x, y, z, tiltX, tiltY, focus1, focus2 } = file.stageAxes;
  return [z, focus1, focus2, x, y, tiltX, tiltY].filter((axis) => !devices.stages.homed(axis));
}

/**
 * Homes the axes one after the other, then the needle drive, which finds its own withdrawn.
 * @throws CellError GUARDIAN_LOST, or what a device says
 */
export async function homeAxes(
  { devices }: ConfiguredCell,
  axes: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  for (const axis of axes) {
    devices.guardian.assertAlive();
    await devices.stages.home(axis, signal);
  }
  if (!devices.needle.homed) await devices.needle.home(signal);
}

/** @throws CellError SAFETY_ENVELOPE while the needle may be in tissue */
export function assertOutOfTissue(needleInTissue: boolean | undefined): void {
  if (needleInTissue !== true) return;
  throw new CellError("SAFETY_ENVELOPE", "the needle may be in tissue: withdraw it before anything is homed");
}
