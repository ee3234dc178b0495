/** Enumerations of the UR controller, as RTDE and the primary interface send them. */

export const robotMode = {
  NO_CONTROLLER: -1,
  DISCONNECTED: 0,
  CONFIRM_SAFETY: 1,
  BOOTING: 2,
  POWER_OFF: 3,
  POWER_ON: 4,
  IDLE: 5,
  BACKDRIVE: 6,
  RUNNING: 7,
  UPDATING_FIRMWARE: 8,
} as const;
export type RobotModeName = keyof typeof robotMode;

export const safetyMode = {
  NORMAL: 1,
  REDUCED: 2,
  PROTECTIVE_STOP: 3,
  RECOVERY: 4,
  SAFEGUARD_STOP: 5,
  SYSTEM_EMERGENCY_STOP: 6,
  ROBOT_EMERGENCY_STOP: 7,
  VIOLATION: 8,
  FAULT: 9,
  VALIDATE_JOINT_ID: 10,
  UNDEFINED_SAFETY_MODE: 11,
} as const;
export type SafetyModeName = keyof typeof safetyMode;

export const runtimeState = {
  STOPPING: 0,
  STOPPED: 1,
  PLAYING: 2,
  PAUSING: 3,
  PAUSED: 4,
  RESUMING: 5,
} as const;
export type RuntimeStateName = keyof typeof runtimeState;

export const jointMode = { POWER_OFF: 239, BOOTING: 247, RUNNING: 253, IDLE: 255 } as const;

/** Bits of `safety_status_bits`. */
export const safetyBit = {
  NORMAL: 1 << 0,
  REDUCED: 1 << 1,
  PROTECTIVE_STOPPED: 1 << 2,
  RECOVERY: 1 << 3,
  SAFEGUARD_STOPPED: 1 << 4,
  SYSTEM_EMERGENCY_STOPPED: 1 << 5,
  ROBOT_EMERGENCY_STOPPED: 1 << 6,
  EMERGENCY_STOPPED: 1 << 7,
  VIOLATION: 1 << 8,
  FAULT: 1 << 9,
  STOPPED_DUE_TO_SAFETY: 1 << 10,
} as const;

/** Bits of `robot_status_bits`. */
export const robotStatusBit = {
  POWER_ON: 1 << 0,
  PROGRAM_RUNNING: 1 << 1,
  TEACH_BUTTON: 1 << 2,
  POWER_BUTTON: 1 << 3,
} as const;

function nameOf<Name extends string>(table: Readonly<Record<Name, number>>, value: number): Name | undefined {
  return (Object.keys(table) as Name[]).find((name) => table[name] === value);
}

/** The name of a mode, or undefined for a value of a newer firmware. */
export const robotModeName = (value: number): RobotModeName | undefined => nameOf(robotMode, value);
export const safetyModeName = (value: number): SafetyModeName | undefined => nameOf(safetyMode, value);
export const runtimeStateName = (value: number): RuntimeStateName | undefined => nameOf(runtimeState, value);
