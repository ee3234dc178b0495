/** Values of the output fields of RTDE, taken from the controller's state. */
import type { RtdeType, RtdeValue } from "../../cell/ur/codec/rtde.js";
import { flangePose, toPose } from "./arm-geometry.js";
import type { ControllerModel } from "./controller-model.js";
import { zeroOf } from "./registers.js";

const six = (value: number): number[] => [value, value, value, value, value, value];

const sources: Readonly<Record<string, (model: ControllerModel) => RtdeValue>> = {
  timestamp: (model) => model.timeS,
  target_q: (model) => model.arm.q,
  actual_q: (model) => model.arm.q,
  target_qd: (model) => model.arm.qd,
  actual_qd: (model) => model.arm.qd,
  actual_TCP_pose: (model) => toPose(model.arm.tool),
  target_TCP_pose: (model) => toPose(model.arm.tool),
  actual_TCP_speed: (model) => model.arm.toolTwist,
  target_TCP_speed: (model) => model.arm.toolTwist,
  actual_TCP_force: (model) => model.sensor.wrench,
  tcp_force_scalar: (model) => model.sensor.force,
  tcp_offset: (model) => model.arm.tcpOffset,
  joint_mode: (model) => six(model.jointMode),
  joint_temperatures: () => six(30),
  actual_joint_voltage: (model) => six(model.powered ? 48 : 0),
  robot_mode: (model) => model.robotMode,
  safety_mode: (model) => model.safetyMode,
  safety_status: (model) => model.safetyMode,
  runtime_state: (model) => model.runtimeState,
  robot_status_bits: (model) => model.robotStatusBits,
  safety_status_bits: (model) => model.safetyStatusBits,
  speed_scaling: (model) => (model.programRunning ? model.arm.speedScaling : 0),
  target_speed_fraction: (model) => model.arm.speedFraction,
  actual_digital_input_bits: (model) => BigInt(model.registers.digitalInputs),
  actual_digital_output_bits: (model) => BigInt(model.registers.digitalOutputs),
  standard_analog_input0: (model) => model.registers.analogInputs[0],
  standard_analog_input1: (model) => model.registers.analogInputs[1],
  analog_io_types: ({ registers }) =>
    registers.analogVoltage.reduce((bits, voltage, i) => bits | (voltage ? 1 << i : 0), 0),
  tool_output_voltage: (model) => model.registers.toolVoltage,
  script_control_line: (model) => model.scriptLine,
  standard_analog_output0: (model) => model.registers.analogOutputs[0],
  standard_analog_output1: (model) => model.registers.analogOutputs[1],
  actual_main_voltage: () => 48,
  actual_robot_voltage: (model) => (model.powered ? 48 : 0),
  actual_robot_current: (model) => (model.powered ? 0.6 : 0),
  actual_execution_time: () => 1,
  payload: (model) => model.payloadKg,
  payload_cog: (model) => model.payloadCog,
  tool_temperature: () => 30,
  tool_mode: () => 255,
  elbow_position: (model) => {
    // The elbow is the origin of the third frame: the chain up to it, the rest of the arm cut off.
    const { a, d, alpha, theta } = model.arm.table;
    const cut = (row: readonly number[]): number[] => row.map((value, i) => (i < 2 ? value : 0));
    return flangePose({ a: cut(a), d: cut(d), alpha: cut(alpha), theta: cut(theta) }, model.arm.q)
      .translation;
  },
};

export function outputValue(model: ControllerModel, name: string, type: RtdeType): RtdeValue {
  return sources[name]?.(model) ?? model.registers.get(name) ?? zeroOf(type);
}
