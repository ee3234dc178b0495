/**
 * Two interfaces of one controller must tell one state. RTDE is what the driver acts on; the Modbus server is read beside
 * it and compared: power, safety and mode always, joint angles while the arm stands. A difference that lasts is a fault:
 * one of them is wrong, and nobody knows which.
 */
import { wrap } from "./kinematics.js";
import type { ModbusState } from "./modbus-client.js";
import type { UrSample } from "./ur-sample.js";
import { robotMode } from "./codec/enums.js";

export interface CrossCheckLimits {
  /** Registers are whole milliradians; beside that the angles may differ by this much, rad. */
  readonly angleRad: number;
  /**
   * Reads in a row that must disagree. Modbus follows a change of state within a few tenths of a second, as the dashboard
   * does, so one read may be older than the sample.
   */
  readonly readsInARow: number;
}

export const defaultCrossCheck: CrossCheckLimits = { angleRad: 3e-3, readsInARow: 4 };

/** A joint that moved and turned less than this between two samples stood, whatever its encoder's noise. */
const stillRad = 5e-4;
const stillRadS = 2e-3;

export class CrossCheck {
  private disagreements = 0;

  constructor(private readonly limits: CrossCheckLimits = defaultCrossCheck) {}

  /**
   * @param before the newest sample when Modbus was asked, `after` when it had answered.
   * @returns what differs, once it has differed often enough in a row.
   */
  compare(before: UrSample, modbus: ModbusState, after: UrSample): string | undefined {
    const difference = this.difference(before, modbus, after);
    this.disagreements = difference === undefined ? 0 : this.disagreements + 1;
    return this.disagreements >= this.limits.readsInARow ? difference : undefined;
  }

  reset(): void {
    this.disagreements = 0;
  }

  private difference(before: UrSample, modbus: ModbusState, after: UrSample): string | undefined {
    const flags = [
      ["emergency stop", modbus.emergencyStopped, before.emergencyStopped, after.emergencyStopped],
      ["protective stop", modbus.protectiveStopped, before.protectiveStopped, after.protectiveStopped],
      ["power", modbus.powerOn, powered(before), powered(after)],
      ["robot mode", modbus.robotMode, before.robotMode, after.robotMode],
    ] as const;
    for (const [what, told, first, last] of flags) {
      // What changed between the two samples may be told either way.
      if (told !== first && told !== last) return `${what}: Modbus says ${told}, RTDE ${last}`;
    }
    for (const [i, last] of after.q.entries()) {
      const first = before.q[i] ?? NaN;
      const stood =
        Math.abs(last - first) < stillRad &&
        Math.abs(before.qd[i] ?? NaN) < stillRadS &&
        Math.abs(after.qd[i] ?? NaN) < stillRadS;
      const told = modbus.q[i] ?? NaN;
      // Turns are counted apart and may be read one off beside a whole turn; the angle within a turn decides.
      const away = Math.abs(wrap(told - last));
      if (stood && !(away <= this.limits.angleRad)) {
        return `joint ${i}: Modbus says ${told.toFixed(3)} rad, RTDE ${last.toFixed(5)} rad`;
      }
    }
    return undefined;
  }
}

const powered = (sample: UrSample): boolean =>
  sample.robotMode >= robotMode.POWER_ON && sample.robotMode <= robotMode.RUNNING;
