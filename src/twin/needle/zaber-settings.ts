/** Settings of an emulated Zaber device: name, scope, range, access, and the value it starts with. */

interface SettingRule {
  readonly scope: "device" | "axis";
  readonly low: number;
  readonly high: number;
  readonly factory: number;
  readonly readOnly?: boolean;
  /** May be written at access level 2 only. */
  readonly advanced?: boolean;
  /** Decimals that the device shows; values are held as numbers. */
  readonly decimals?: number;
  /** Text instead of a number, read only. */
  readonly text?: string;
}

export interface ZaberSettingOptions {
  readonly deviceId: number;
  readonly serialNumber: number;
  readonly axisCount: number;
  readonly strokeMicrosteps: number;
  /** Data values, in the scaled units of the protocol. */
  readonly maxSpeedData: number;
  readonly maxAccelerationData: number;
}

export class ZaberSettings {
  private readonly rules: ReadonlyMap<string, SettingRule>;
  private readonly values = new Map<string, number>();

  constructor(options: ZaberSettingOptions) {
    const { deviceId, serialNumber, axisCount, strokeMicrosteps, maxSpeedData, maxAccelerationData } =
      options;
    const fixed = (scope: "device" | "axis", factory: number): SettingRule => ({
      scope,
      low: 0,
      high: 0,
      factory,
      readOnly: true,
    });
    const between = (scope: "device" | "axis", low: number, high: number, factory: number): SettingRule => ({
      scope,
      low,
      high,
      factory,
    });
    this.rules = new Map<string, SettingRule>([
      ["device.id", fixed("device", deviceId)],
      ["deviceid", fixed("device", deviceId)],
      ["version", { ...fixed("device", 0), text: "7.35" }],
      ["version.build", fixed("device", 12345)],
      ["system.serial", fixed("device", serialNumber)],
      ["system.axiscount", fixed("device", axisCount)],
      ["system.access", between("device", 1, 2, 1)],
      ["system.led.enable", between("device", 0, 1, 1)],
      ["system.voltage", { ...fixed("device", 48), decimals: 1 }],
      ["system.temperature", { ...fixed("device", 31), decimals: 1 }],
      ["comm.address", between("device", 1, 99, 1)],
      ["comm.alert", between("device", 0, 1, 0)],
      ["comm.checksum", between("device", 0, 1, 0)],
      ["comm.rs232.baud", { ...fixed("device", 115200) }],
      ["resolution", fixed("axis", 1)],
      ["peripheralid", fixed("axis", 0)],
      ["limit.min", between("axis", 0, strokeMicrosteps, 0)],
      ["limit.max", between("axis", 0, strokeMicrosteps, strokeMicrosteps)],
      ["maxspeed", between("axis", 1, maxSpeedData, Math.round(maxSpeedData / 5))],
      ["accel", between("axis", 1, maxAccelerationData, Math.round(maxAccelerationData / 5))],
      ["driver.current.max", { ...between("axis", 1, 100, 60), advanced: true }],
    ]);
  }

  has(name: string): boolean {
    return this.rules.has(name);
  }

  isDeviceScope(name: string): boolean {
    return this.rules.get(name)?.scope === "device";
  }

  /** @param axis 0 for settings of the device */
  value(name: string, axis = 0): number {
    return this.values.get(`${axis} ${name}`) ?? this.rules.get(name)?.factory ?? 0;
  }

  show(name: string, axis = 0): string {
    const rule = this.rules.get(name);
    return rule?.text ?? this.value(name, axis).toFixed(rule?.decimals ?? 0);
  }

  /** @returns why not: BADCOMMAND for what cannot be set, NOACCESS, BADDATA outside the range; undefined when done */
  set(name: string, value: number, axis = 0): "BADCOMMAND" | "BADDATA" | "NOACCESS" | undefined {
    const rule = this.rules.get(name);
    if (rule === undefined || rule.readOnly === true) return "BADCOMMAND";
    if (rule.advanced === true && this.value("system.access") < 2) return "NOACCESS";
    if (!Number.isInteger(value) || value < rule.low || value > rule.high) return "BADDATA";
    this.values.set(`${axis} ${name}`, value);
    return undefined;
  }

  /** `system restore`: all as it left the factory, the address excepted. */
  restore(): void {
    const address = this.value("comm.address");
    this.values.clear();
    this.values.set("0 comm.address", address);
  }
}
