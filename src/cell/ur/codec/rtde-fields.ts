/**
 * The fields of RTDE recipes, their types, and the first software version that knows them (RTDE guide and the
 * compatibility table of UR's client library; a field without a documented edge is taken to have always existed).
 */
import type { RtdeType } from "./rtde.js";
import { atLeast, type SoftwareVersion } from "./version.js";

interface Field {
  readonly type: RtdeType;
  /** First CB3 version (3.x), null when CB3 never had it. */
  readonly cb3: readonly [number, number?] | null;
  readonly eSeries: readonly [number, number?];
}

const outputs = new Map<string, Field>();
const inputs = new Map<string, Field>();

function define(
  table: Map<string, Field>,
  type: RtdeType,
  names: string,
  cb3: Field["cb3"] = [0],
  eSeries: Field["eSeries"] = [0],
): void {
  for (const name of names.split(/\s+/)) table.set(name, { type, cb3, eSeries });
}

define(
  outputs,
  "DOUBLE",
  `timestamp tcp_force_scalar speed_scaling target_speed_fraction actual_momentum actual_main_voltage
   actual_robot_voltage actual_robot_current actual_execution_time standard_analog_input0 standard_analog_input1
   standard_analog_output0 standard_analog_output1 io_current tool_analog_input0 tool_analog_input1
   tool_output_current`,
);
define(
  outputs,
  "VECTOR6D",
  `target_q target_qd target_qdd target_current target_moment actual_q actual_qd actual_current
   joint_control_output actual_TCP_pose actual_TCP_speed actual_TCP_force target_TCP_pose target_TCP_speed
   joint_temperatures actual_joint_voltage`,
);
define(outputs, "VECTOR6INT32", "joint_mode");
define(outputs, "INT32", "robot_mode safety_mode tool_output_voltage");
define(
  outputs,
  "UINT32",
  "runtime_state robot_status_bits safety_status_bits analog_io_types tool_mode tool_analog_input_types",
);
define(outputs, "UINT64", "actual_digital_input_bits actual_digital_output_bits");
define(outputs, "VECTOR3D", "actual_tool_accelerometer");
define(outputs, "UINT32", "output_bit_registers0_to_31 output_bit_registers32_to_63");
define(outputs, "VECTOR3D", "elbow_position elbow_velocity", [5], [0]);
define(outputs, "DOUBLE", "tool_temperature", [9], [0]);
define(outputs, "INT32", "safety_status", [10], [4]);
define(outputs, "VECTOR6D", "tcp_offset", [12, 3], [5, 1]);
define(outputs, "DOUBLE", "payload", [11], [5, 1]);
define(outputs, "VECTOR3D", "payload_cog", [11], [5, 1]);
define(outputs, "UINT32", "script_control_line", [14], [9]);
define(outputs, "VECTOR6D", "payload_inertia", [15], [11]);
define(outputs, "VECTOR6D", "ft_raw_wrench", null, [9]);
for (let i = 0; i < 48; i++) {
  const upper = i >= 24;
  define(outputs, "INT32", `output_int_register_${i}`, upper ? [9] : [4], upper ? [3] : [0]);
  define(outputs, "DOUBLE", `output_double_register_${i}`, upper ? [9] : [4], upper ? [3] : [0]);
}
for (let i = 64; i < 128; i++) define(outputs, "BOOL", `output_bit_register_${i}`, [9], [3]);

define(inputs, "UINT32", "speed_slider_mask");
define(inputs, "DOUBLE", "speed_slider_fraction standard_analog_output_0 standard_analog_output_1");
define(
  inputs,
  "UINT8",
  `standard_digital_output_mask standard_digital_output configurable_digital_output_mask
   configurable_digital_output tool_digital_output_mask tool_digital_output standard_analog_output_mask
   standard_analog_output_type`,
);
define(inputs, "VECTOR6D", "external_force_torque", [3], [0]);
define(inputs, "UINT32", "input_bit_registers0_to_31 input_bit_registers32_to_63", [4], [0]);
for (let i = 0; i < 48; i++) {
  const upper = i >= 24;
  define(inputs, "INT32", `input_int_register_${i}`, upper ? [9] : [4], upper ? [3] : [0]);
  define(inputs, "DOUBLE", `input_double_register_${i}`, upper ? [9] : [4], upper ? [3] : [0]);
}
for (let i = 64; i < 128; i++) define(inputs, "BOOL", `input_bit_register_${i}`, [9], [3]);
// What a client writes can be read back under the same name.
for (const [name, field] of inputs) if (name.startsWith("input_")) outputs.set(name, field);

function lookUp(table: Map<string, Field>, name: string, version: SoftwareVersion): RtdeType | undefined {
  const field = table.get(name);
  return field && atLeast(version, field.cb3, field.eSeries) ? field.type : undefined;
}

/** Type of an output field in this software version; undefined is NOT_FOUND. */
export const outputType = (name: string, version: SoftwareVersion): RtdeType | undefined =>
  lookUp(outputs, name, version);
/** Type of an input field in this software version; undefined is NOT_FOUND. */
export const inputType = (name: string, version: SoftwareVersion): RtdeType | undefined =>
  lookUp(inputs, name, version);

export const outputNames = (): string[] => [...outputs.keys()];
