/** The system settings of one axis (manual pages 113–122), with range and factory value. */

interface Setting {
  readonly low: number;
  readonly high: number;
  readonly factory: number;
}

const setting = (low: number, high: number, factory: number): Setting => ({ low, high, factory });
const position = setting(-134_217_728, 134_217_727, 0);
const flag = setting(0, 1, 0);

export const Sys = {
  originOffset: 1,
  originMethod: 2,
  originScanSpeed: 3,
  softLimit: 13,
  softLimitPlus: 14,
  softLimitMinus: 15,
  topSpeedLimit: 16,
  excitation: 61,
  limitStop: 99,
} as const;

const settings: ReadonlyMap<number, Setting> = new Map([
  [1, position],
  [2, setting(1, 15, 4)],
  [3, setting(1, 50_000, 500)],
  [6, flag],
  [7, flag],
  [8, flag],
  [9, setting(0, 1, 1)],
  [10, flag],
  // Backlash correction by the controller is not offered: the driver is the one owner of backlash.
  [11, setting(0, 0, 0)],
  [12, setting(0, 0, 0)],
  [13, flag],
  [14, position],
  [15, position],
  [16, setting(1, 500_000, 50_000)],
  [21, flag],
  [22, flag],
  [23, flag],
  [31, setting(0, 4, 4)],
  [33, setting(1, 1_000_000, 1)],
  [34, setting(1, 1_000_000, 1)],
  // No encoder is fitted, so there is nothing to correct by.
  [41, setting(0, 0, 0)],
  [42, setting(1, 65_535, 1)],
  [43, setting(1, 65_535, 100)],
  [44, setting(0, 65_535, 100)],
  [61, setting(0, 1, 1)],
  [62, flag],
  [63, flag],
  [65, flag],
  [99, setting(0, 1, 1)],
]);

/** Origin methods this emulator can run: NORG edge with CCW limit, and "here is zero". */
const originMethods = new Set([4, 10]);

export class SystemSettings {
  private readonly values = new Map<number, number>();

  /** The value, or undefined when there is no such setting (error 121). */
  get(number: number): number | undefined {
    const known = settings.get(number);
    return known === undefined ? undefined : (this.values.get(number) ?? known.factory);
  }

  /** A setting that is known to exist. */
  value(number: (typeof Sys)[keyof typeof Sys]): number {
    return this.get(number) ?? 0;
  }

  /** Whether `value` lies in the range of the setting. */
  accepts(number: number, value: number): boolean {
    const known = settings.get(number);
    if (known === undefined || value < known.low || value > known.high) return false;
    return number !== Sys.originMethod || originMethods.has(value);
  }

  set(number: number, value: number): void {
    this.values.set(number, value);
  }
}
