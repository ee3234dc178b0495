/** How long the emulated controller takes for what people ask of it. */

export interface ControllerTiming {
  /** From the start of the controller to POWER_OFF. */
  readonly bootS: number;
  /** From `power on` to IDLE. */
  readonly powerOnS: number;
  /** From `brake release` to RUNNING. */
  readonly brakeReleaseS: number;
  /** How long a protective stop cannot be unlocked. */
  readonly unlockWaitS: number;
}

export const quickTiming: ControllerTiming = {
  bootS: 0.1,
  powerOnS: 0.3,
  brakeReleaseS: 0.4,
  unlockWaitS: 5,
};
