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
  backlashPulses: 11,
  backlashType: 12,
  softLimit: 13,
  softLimitPlus: 14,
  softLimitMinus: 15,
  topSpeedLimit: 16,
  encoderMultiplier: 31,
  encoderNumerator: 33,
  encoderDenominator: 34,
  feedback: 41,
  feedbackRange: 42,
  feedbackRetries: 43,
  feedbackWaitMs: 44,
  triggerType: 51,
  excitation: 61,
  servo: 62,
  alarm: 63,
  limitStop: 99,
} as const;

/** Ranges that the manual's summary does not give are our assumption. */
const settings: ReadonlyMap<number, Setting> = new Map([
  [1, position],
  [2, setting(1, 15, 4)],
  [3, setting(1, 50_000, 500)],
  // Prescale, motor direction, limit swap, pulse mode and logic act outside the controller: kept and read back.
  [6, flag],
  [7, flag],
  [8, flag],
  [9, setting(0, 1, 1)],
  [10, flag],
  [11, setting(0, 65_535, 0)],
  [12, setting(0, 4, 0)],
  [13, flag],
  [14, position],
  [15, position],
  [16, setting(1, 5_000_000, 50_000)],
  [21, flag],
  [22, flag],
  [23, flag],
  [31, setting(0, 4, 4)],
  [33, setting(1, 1_000_000, 1)],
  [34, setting(1, 1_000_000, 1)],
  [41, setting(0, 2, 0)],
  [42, setting(1, 65_535, 1)],
  [43, setting(1, 65_535, 100)],
  [44, setting(0, 65_535, 100)],
  [51, setting(0, 3, 0)],
  [52, setting(0, 134_217_727, 0)],
  [53, setting(0, 134_217_727, 0)],
  [54, setting(0, 134_217_727, 0)],
  [55, setting(0, 65_535, 0)],
  [56, flag],
  [61, setting(0, 1, 1)],
  [62, flag],
  [63, flag],
  [65, flag],
  [99, setting(0, 1, 1)],
]);

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
    return known !== undefined && value >= known.low && value <= known.high;
  }

  set(number: number, value: number): void {
    this.values.set(number, value);
  }

  /** Back to the factory's values. */
  reset(): void {
    this.values.clear();
  }
}
