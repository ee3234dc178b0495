/** What must hold before an axis may be driven: gates that ask what was just read of it. */
import { CellError } from "../../base/errors.js";
import type { KohzuAxis } from "./axis-config.js";
import type { AxisStatus } from "./codec/status.js";

interface Reading {
  readonly pulses: number;
  readonly status: AxisStatus;
  readonly homed: boolean;
}

/** @throws CellError DEVICE_EMERGENCY_STOP, DEVICE_FAULT, COMMAND_INVALID while it moves */
export function requireUnobstructed(device: string, axis: KohzuAxis, { status }: Reading): void {
  const where = `${device}: axis ${axis.number}`;
  if (status.emergencyStop)
    throw new CellError("DEVICE_EMERGENCY_STOP", `${where}: the emergency stop input is closed`);
  if (status.fault !== 0) throw new CellError("DEVICE_FAULT", `${where} reports error ${status.fault}`);
  if (status.limitCw && status.limitCcw)
    throw new CellError("DEVICE_FAULT", `${where}: both limit switches are closed: no stage connected?`);
  if (status.driving !== "stopped") throw new CellError("COMMAND_INVALID", `${where} is already moving`);
}

/**
 * A closed limit switch blocks the way outward; the way back is always free.
 * @throws CellError DEVICE_LIMIT, DEVICE_NOT_HOMED, and as `requireUnobstructed`
 */
export function requireFree(
  device: string,
  axis: KohzuAxis,
  reading: Reading,
  waypoints: readonly number[],
): void {
  requireUnobstructed(device, axis, reading);
  if (!reading.homed) throw new CellError("DEVICE_NOT_HOMED", `${device}: axis ${axis.number} is not homed`);
  const { pulses, status } = reading;
  const first = waypoints[0] ?? pulses;
  if ((status.limitCw && first > pulses) || (status.limitCcw && first < pulses))
    throw new CellError(
      "DEVICE_LIMIT",
      `${device}: axis ${axis.number} stands on its ${status.limitCw ? "CW" : "CCW"} limit at ${pulses}, ` +
        `and ${first} lies further out`,
    );
}
