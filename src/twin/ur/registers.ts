/**
 * Everything that RTDE clients and programs write and read by name: registers, digital and analog outputs. Keys are RTDE
 * field names; what nobody wrote is zero.
 */
import type { RtdeType, RtdeValue } from "../../cell/ur/codec/rtde.js";

export const zeroOf = (type: RtdeType): RtdeValue => {
  switch (type) {
    case "BOOL":
      return false;
    case "UINT64":
      return 0n;
    case "VECTOR3D":
      return [0, 0, 0];
    case "VECTOR6D":
    case "VECTOR6INT32":
    case "VECTOR6UINT32":
      return [0, 0, 0, 0, 0, 0];
    default:
      return 0;
  }
};

export class Registers {
  private readonly values = new Map<string, RtdeValue>();
  /** Bits 0–7 standard, 8–15 configurable, 16–17 tool. */
  digitalOutputs = 0;
  digitalInputs = 0;
  /** 0…1 of their range. */
  readonly analogOutputs: [number, number] = [0, 0];
  readonly analogInputs: [number, number] = [0, 0];
  /** Which of inputs 0, 1 and outputs 0, 1 carry a voltage; the others a current. */
  readonly analogVoltage: [boolean, boolean, boolean, boolean] = [true, true, true, true];
  /** 0, 12 or 24 V. */
  toolVoltage = 0;
  /** General purpose registers of the Modbus server, 128–255; programs know them as port registers. */
  private readonly ports = new Uint16Array(256);

  port(address: number): number {
    return this.ports[address] ?? 0;
  }
  setPort(address: number, value: number): void {
    this.ports[address] = value;
  }

  get(name: string): RtdeValue | undefined {
    return this.values.get(name);
  }
  set(name: string, value: RtdeValue): void {
    this.values.set(name, value);
  }
  number(name: string): number {
    const value = this.values.get(name);
    return typeof value === "number" ? value : 0;
  }

  /** Bit `index` (0…127) of the `input` or `output` bit registers. */
  bit(side: "input" | "output", index: number): boolean {
    if (index >= 64) return this.values.get(`${side}_bit_register_${index}`) === true;
    const word = this.number(wordName(side, index));
    return ((word >>> (index % 32)) & 1) === 1;
  }
  setBit(side: "input" | "output", index: number, on: boolean): void {
    if (index >= 64) {
      this.values.set(`${side}_bit_register_${index}`, on);
      return;
    }
    const name = wordName(side, index);
    const mask = 1 << (index % 32);
    const word = this.number(name);
    this.values.set(name, (on ? word | mask : word & ~mask) >>> 0);
  }

  setDigitalOutput(index: number, on: boolean): void {
    const mask = 1 << index;
    this.digitalOutputs = on ? this.digitalOutputs | mask : this.digitalOutputs & ~mask;
  }

  /** An input package of a client: registers are stored, masked outputs take effect. @returns the slider, if it was set. */
  applyInputs(values: ReadonlyMap<string, RtdeValue>): { sliderFraction?: number } {
    const numeric = (name: string): number => {
      const value = values.get(name) ?? this.values.get(name);
      return typeof value === "number" ? value : 0;
    };
    for (const [name, value] of values) this.values.set(name, value);
    const groups = [
      ["standard_digital_output", 0, 8],
      ["configurable_digital_output", 8, 8],
      ["tool_digital_output", 16, 2],
    ] as const;
    for (const [name, first, count] of groups) {
      if (!values.has(`${name}_mask`)) continue;
      const mask = numeric(`${name}_mask`);
      for (let i = 0; i < count; i++) {
        if ((mask >> i) & 1) this.setDigitalOutput(first + i, ((numeric(name) >> i) & 1) === 1);
      }
    }
    if (values.has("standard_analog_output_mask")) {
      const mask = numeric("standard_analog_output_mask");
      for (const i of [0, 1] as const) {
        if (((mask >> i) & 1) === 0) continue;
        this.analogOutputs[i] = numeric(`standard_analog_output_${i}`);
        if (values.has("standard_analog_output_type"))
          this.analogVoltage[i === 0 ? 2 : 3] = ((numeric("standard_analog_output_type") >> i) & 1) === 1;
      }
    }
    if (values.has("speed_slider_mask") && (numeric("speed_slider_mask") & 1) === 1) {
      return { sliderFraction: Math.max(0, Math.min(1, numeric("speed_slider_fraction"))) };
    }
    return {};
  }
}

const wordName = (side: "input" | "output", index: number): string =>
  index < 32 ? `${side}_bit_registers0_to_31` : `${side}_bit_registers32_to_63`;
