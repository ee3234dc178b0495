/**
 * Registers of the controller's Modbus server (TCP 502). All are 16-bit and unsigned on the wire; signed quantities are
 * two's complement. Sources: UR's article on the Modbus server and three public register lists that agree.
 */
export const modbusRegister = {
  /** 8 of the control box, then 2 of the tool. */
  DIGITAL_INPUTS: 0,
  DIGITAL_OUTPUTS: 1,
  SET_OUTPUTS: 2,
  CLEAR_OUTPUTS: 3,
  /** Value and domain (0 mA, 1 mV) alternate. */
  ANALOG_INPUTS: 4,
  ANALOG_OUTPUTS: 16,
  TOOL_VOLTAGE: 20,
  TOOL_INPUTS: 21,
  TOOL_OUTPUTS: 22,
  CONFIGURABLE_INPUTS: 30,
  CONFIGURABLE_OUTPUTS: 31,
  SET_CONFIGURABLE: 32,
  CLEAR_CONFIGURABLE: 33,
  GENERAL_FIRST: 128,
  GENERAL_LAST: 255,
  VERSION_HIGH: 256,
  VERSION_LOW: 257,
  ROBOT_MODE: 258,
  POWER_ON: 260,
  PROTECTIVE_STOPPED: 261,
  EMERGENCY_STOPPED: 262,
  TEACH_BUTTON: 263,
  POWER_BUTTON: 264,
  SAFETY_SIGNAL: 265,
  /** mrad, within one turn. */
  JOINT_ANGLES: 270,
  /** mrad/s */
  JOINT_SPEEDS: 280,
  /** mA */
  JOINT_CURRENTS: 290,
  /** °C */
  JOINT_TEMPERATURES: 300,
  JOINT_MODES: 310,
  /** Whole turns that belong to the angles. */
  JOINT_TURNS: 320,
  /** 0.1 mm and mrad, base frame. */
  TCP_POSE: 400,
  /** mm/s and mrad/s. */
  TCP_SPEED: 410,
  /** 0.1 mm (copies of the list say mm, too) and mrad. */
  TCP_OFFSET: 420,
  /** mA */
  ROBOT_CURRENT: 450,
  IO_CURRENT: 451,
  TOOL_STATE: 768,
  TOOL_TEMPERATURE: 769,
  TOOL_CURRENT: 770,
} as const;

/** Bits: what a controller with 8 + 2 inputs and outputs shows as coils. The places of inputs and outputs are assumed. */
export const modbusBit = { INPUTS: 0, OUTPUTS: 16, STATUS: modbusRegister.POWER_ON, COUNT: 16 } as const;

/** A whole number as a register; beyond 16 bits it wraps, as the controller's does. */
export const toRegister = (value: number): number => Math.round(value) & 0xffff;

/** A register read as two's complement: above 32767 it is less 65536. */
export const signedRegister = (register: number): number =>
  register > 0x7fff ? register - 0x10000 : register;

/** An angle (rad) as mrad within one turn and the number of whole turns below it. */
export function splitAngle(angle: number): { readonly mrad: number; readonly turns: number } {
  const turns = Math.floor(angle / (2 * Math.PI));
  return { mrad: Math.round((angle - turns * 2 * Math.PI) * 1e3), turns };
}
