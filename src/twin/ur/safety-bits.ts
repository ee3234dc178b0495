/** RTDE's `safety_status_bits` of a safety mode. */
import { safetyBit, safetyMode } from "../../cell/ur/codec/enums.js";

const emergency = safetyBit.EMERGENCY_STOPPED | safetyBit.STOPPED_DUE_TO_SAFETY;

const bits: ReadonlyMap<number, number> = new Map<number, number>([
  [safetyMode.NORMAL, safetyBit.NORMAL],
  [safetyMode.REDUCED, safetyBit.REDUCED],
  [safetyMode.PROTECTIVE_STOP, safetyBit.PROTECTIVE_STOPPED | safetyBit.STOPPED_DUE_TO_SAFETY],
  [safetyMode.RECOVERY, safetyBit.RECOVERY],
  [safetyMode.SAFEGUARD_STOP, safetyBit.SAFEGUARD_STOPPED | safetyBit.STOPPED_DUE_TO_SAFETY],
  [safetyMode.SYSTEM_EMERGENCY_STOP, safetyBit.SYSTEM_EMERGENCY_STOPPED | emergency],
  [safetyMode.ROBOT_EMERGENCY_STOP, safetyBit.ROBOT_EMERGENCY_STOPPED | emergency],
  [safetyMode.VIOLATION, safetyBit.VIOLATION | safetyBit.STOPPED_DUE_TO_SAFETY],
  [safetyMode.FAULT, safetyBit.FAULT | safetyBit.STOPPED_DUE_TO_SAFETY],
]);

export const safetyStatusBits = (mode: number): number => bits.get(mode) ?? safetyBit.STOPPED_DUE_TO_SAFETY;
