/** Settings of the emulated drive: name, scope, range, and the value it starts with. */

interface SettingRule {
  readonly scope: "device" | "axis";
  readonly low: number;
  readonly high: number;
  readonly factory: number;
  readonly readOnly?: boolean;
  /** Text instead of a number, read only. */
  readonly text?: string;
}

export interface NeedleSettingOptions {
  readonly deviceId: number;
  readonly strokeMicrosteps: number;
  /** Data values, in the scaled units of the protocol. */
  readonly maxSpeedData: number;
  readonly maxAccelerationData: number;
}

export class NeedleSettings {
  private readonly rules: ReadonlyMap<string, SettingRule>;
  private readonly values = new Map<string, number>();

  constructor(options: NeedleSettingOptions) {
    const { deviceId, strokeMicrosteps, maxSpeedData, maxAccelerationData } = options;
    const fixed = (factory: number): SettingRule => ({
      scope: "device",
      low: 0,
      high: 0,
      factory,
      readOnly: true,
    });
    const onAxis = (low: number, high: number, factory: number): SettingRule => ({
      scope: "axis",
      low,
      high,
      factory,
    });
    this.rules = new Map<string, SettingRule>([
      ["device.id", fixed(deviceId)],
      ["deviceid", fixed(deviceId)],
      ["version", { ...fixed(0), text: "7.35" }],
      ["version.build", fixed(12345)],
      ["system.serial", fixed(60001)],
      ["system.axiscount", fixed(1)],
      ["comm.address", fixed(1)],
      ["comm.alert", { scope: "device", low: 0, high: 1, factory: 0 }],
      ["comm.checksum", { scope: "device", low: 0, high: 1, factory: 0 }],
      ["limit.min", onAxis(0, strokeMicrosteps, 0)],
      ["limit.max", onAxis(0, strokeMicrosteps, strokeMicrosteps)],
      ["maxspeed", onAxis(1, maxSpeedData, Math.round(maxSpeedData / 5))],
      ["accel", onAxis(1, maxAccelerationData, Math.round(maxAccelerationData / 5))],
      ["driver.enabled", { ...onAxis(0, 1, 1), readOnly: true }],
    ]);
  }

  has(name: string): boolean {
    return this.rules.has(name);
  }

  isDeviceScope(name: string): boolean {
    return this.rules.get(name)?.scope === "device";
  }

  value(name: string): number {
    return this.values.get(name) ?? this.rules.get(name)?.factory ?? 0;
  }

  show(name: string): string {
    return this.rules.get(name)?.text ?? String(this.value(name));
  }

  /** @returns why not: BADCOMMAND for what cannot be set, BADDATA outside the range; undefined when done */
  set(name: string, value: number): "BADCOMMAND" | "BADDATA" | undefined {
    const rule = this.rules.get(name);
    if (rule === undefined || rule.readOnly === true) return "BADCOMMAND";
    if (!Number.isInteger(value) || value < rule.low || value > rule.high) return "BADDATA";
    this.values.set(name, value);
    return undefined;
  }
}
