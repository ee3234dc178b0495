/** The registers and bits that the emulated controller shows on its Modbus server. */
import { modbusBit, modbusRegister as at, splitAngle, toRegister } from "../../cell/ur/codec/modbus-map.js";
import type { RegisterBank } from "../modbus/pdu.js";
import { toPose } from "./arm-geometry.js";
import type { ControllerModel } from "./controller-model.js";

/** Addresses that exist. Inside, what has no meaning reads 0, so that one request can span several groups. */
const ranges = [
  [0, 127],
  [at.GENERAL_FIRST, at.GENERAL_LAST],
  [256, 451],
  [768, 770],
] as const;

export class UrRegisterBank implements RegisterBank {
  /** Added to every joint angle that is shown, rad: an interface that has lost its truth. */
  angleError = 0;

  constructor(private readonly model: () => ControllerModel) {}

  readRegister(address: number): number | undefined {
    if (!ranges.some(([first, last]) => address >= first && address <= last)) return undefined;
    if (address >= at.GENERAL_FIRST && address <= at.GENERAL_LAST) {
      return this.model().registers.port(address);
    }
    return toRegister(this.inputsAndOutputs(address) ?? this.state(address) ?? this.sixes(address) ?? 0);
  }

  private inputsAndOutputs(address: number): number | undefined {
    const { registers } = this.model();
    // The control box's eight first, the tool's two behind them; 8–15 of the controller's own words are the configurable.
    const boxAndTool = (bits: number): number => (bits & 0xff) | (((bits >> 16) & 3) << 8);
    const { digitalInputs, digitalOutputs, analogInputs, analogOutputs } = registers;
    switch (address) {
      case at.DIGITAL_INPUTS:
        return boxAndTool(digitalInputs);
      case at.DIGITAL_OUTPUTS:
        return boxAndTool(digitalOutputs);
      case at.TOOL_INPUTS:
        return (digitalInputs >> 16) & 3;
      case at.TOOL_OUTPUTS:
        return (digitalOutputs >> 16) & 3;
      case at.TOOL_VOLTAGE:
        return registers.toolVoltage;
      case at.CONFIGURABLE_INPUTS:
        return (digitalInputs >> 8) & 0xff;
      case at.CONFIGURABLE_OUTPUTS:
        return (digitalOutputs >> 8) & 0xff;
      case at.ANALOG_INPUTS:
      case at.ANALOG_INPUTS + 2:
        return (analogInputs[(address - at.ANALOG_INPUTS) / 2] ?? 0) * 0xffff;
      case at.ANALOG_INPUTS + 1:
      case at.ANALOG_INPUTS + 3:
        return registers.analogVoltage[(address - at.ANALOG_INPUTS - 1) / 2] === true ? 1 : 0;
      case at.ANALOG_OUTPUTS:
      case at.ANALOG_OUTPUTS + 2:
        return (analogOutputs[(address - at.ANALOG_OUTPUTS) / 2] ?? 0) * 0xffff;
      case at.ANALOG_OUTPUTS + 1:
      case at.ANALOG_OUTPUTS + 3:
        return registers.analogVoltage[2 + (address - at.ANALOG_OUTPUTS - 1) / 2] === true ? 1 : 0;
      default:
        return undefined;
    }
  }

  private state(address: number): number | undefined {
    const model = this.model();
    switch (address) {
      case at.VERSION_HIGH:
        return model.version.major;
      case at.VERSION_LOW:
        return model.version.minor;
      case at.ROBOT_MODE:
        return model.robotMode;
      case at.POWER_ON:
        return model.powered ? 1 : 0;
      case at.PROTECTIVE_STOPPED:
        return model.protectiveStopped ? 1 : 0;
      case at.EMERGENCY_STOPPED:
        return model.emergencyStopped ? 1 : 0;
      case at.SAFETY_SIGNAL:
        return model.emergencyStopped || model.protectiveStopped ? 1 : 0;
      case at.ROBOT_CURRENT:
        return model.powered ? 600 : 0;
      case at.TOOL_STATE:
        return model.powered ? 253 : 239;
      case at.TOOL_TEMPERATURE:
        return 30;
      default:
        return undefined;
    }
  }

  private sixes(address: number): number | undefined {
    const model = this.model();
    const { arm } = model;
    const group = address - (address % 10);
    const i = address % 10;
    if (i > 5) return undefined;
    const lengthOrAngle = (values: readonly number[], perMetre: number): number =>
      (values[i] ?? 0) * (i < 3 ? perMetre : 1e3);
    switch (group) {
      case at.JOINT_ANGLES:
        return splitAngle((arm.q[i] ?? 0) + this.angleError).mrad;
      case at.JOINT_TURNS:
        return splitAngle((arm.q[i] ?? 0) + this.angleError).turns;
      case at.JOINT_SPEEDS:
        return (arm.qd[i] ?? 0) * 1e3;
      case at.JOINT_TEMPERATURES:
        return 30;
      case at.JOINT_MODES:
        return model.jointMode;
      case at.TCP_POSE:
        return lengthOrAngle(toPose(arm.tool), 1e4);
      case at.TCP_SPEED:
        return lengthOrAngle(arm.toolTwist, 1e3);
      case at.TCP_OFFSET:
        return lengthOrAngle(arm.tcpOffset, 1e4);
      default:
        return undefined;
    }
  }

  writeRegister(address: number, value: number): boolean {
    const { registers } = this.model();
    if (address >= at.GENERAL_FIRST && address <= at.GENERAL_LAST) {
      registers.setPort(address, value);
      return true;
    }
    const outputs = (mask: number, shift: number, on: (bit: number) => boolean | undefined): boolean => {
      for (let bit = 0; bit < 8 + (shift === 0 ? 2 : 0); bit++) {
        const wanted = (mask >> bit) & 1 ? on(bit) : undefined;
        if (wanted !== undefined) registers.setDigitalOutput(bit < 8 ? bit + shift : bit + 8, wanted);
      }
      return true;
    };
    switch (address) {
      case at.DIGITAL_OUTPUTS:
        return outputs(0x3ff, 0, (bit) => ((value >> bit) & 1) === 1);
      case at.SET_OUTPUTS:
        return outputs(value, 0, () => true);
      case at.CLEAR_OUTPUTS:
        return outputs(value, 0, () => false);
      case at.CONFIGURABLE_OUTPUTS:
        return outputs(0xff, 8, (bit) => ((value >> bit) & 1) === 1);
      case at.SET_CONFIGURABLE:
        return outputs(value, 8, () => true);
      case at.CLEAR_CONFIGURABLE:
        return outputs(value, 8, () => false);
      case at.ANALOG_OUTPUTS:
      case at.ANALOG_OUTPUTS + 2:
        registers.analogOutputs[address === at.ANALOG_OUTPUTS ? 0 : 1] = value / 0xffff;
        return true;
      case at.TOOL_VOLTAGE:
        if (value !== 0 && value !== 12 && value !== 24) return false;
        registers.toolVoltage = value;
        return true;
      case at.TOOL_OUTPUTS:
        for (const bit of [0, 1]) registers.setDigitalOutput(16 + bit, ((value >> bit) & 1) === 1);
        return true;
      default:
        return false;
    }
  }

  readBit(address: number): boolean | undefined {
    const bit = (register: number, first: number): boolean =>
      (((this.readRegister(register) ?? 0) >> (address - first)) & 1) === 1;
    if (address >= modbusBit.STATUS && address <= at.SAFETY_SIGNAL) return this.readRegister(address) !== 0;
    if (address < modbusBit.INPUTS + modbusBit.COUNT) return bit(at.DIGITAL_INPUTS, modbusBit.INPUTS);
    if (address < modbusBit.OUTPUTS + modbusBit.COUNT) return bit(at.DIGITAL_OUTPUTS, modbusBit.OUTPUTS);
    return undefined;
  }

  writeBit(address: number, on: boolean): boolean {
    const index = address - modbusBit.OUTPUTS;
    if (index < 0 || index > 9) return false;
    this.model().registers.setDigitalOutput(index < 8 ? index : index + 8, on);
    return true;
  }
}
