/**
 * The needle drive behind a Modbus RTU map (registers in cell/needle/modbus-codec.ts): the same slide as behind Zaber
 * ASCII. A stroke is set up in registers and begins with one command; from then on the drive runs it alone.
 */
import {
  commands,
  exceptions,
  flagWord,
  holdingCount,
  holdingPairs,
  holdingRegisters as holding,
  inputRegisters as input,
  mapMark,
  mapVersion,
  refusals,
  signed,
  stateBits,
  unsigned,
  words,
  type Refusal,
} from "../../cell/needle/modbus-codec.js";
import type { Slide } from "./slide.js";

export interface ModbusDeviceOptions {
  readonly unit?: number;
  readonly deviceId: number;
  readonly serialNumber?: number;
  readonly microstepM: number;
  readonly slide: Slide;
}

/** Of what a request makes of the device: the data of the reply, or an exception. */
export type ModbusAnswer = { readonly data: readonly number[] } | { readonly exception: number };

const refuse = (exception: number): ModbusAnswer => ({ exception });

export class ModbusDevice {
  readonly unit: number;
  readonly slide: Slide;
  private readonly registers = new Uint16Array(holdingCount);
  private echo = 0;
  private commandCount = 0;
  private refusal: Refusal | "" = "";
  /** Turning point of the stroke that runs or ran last. */
  private deepest = 0;

  constructor(private readonly options: ModbusDeviceOptions) {
    this.unit = options.unit ?? 1;
    this.slide = options.slide;
    this.powerUp();
  }

  /** Power fails and returns: the registers are as from the factory. */
  powerCycle(now: number): void {
    this.slide.powerCycle(now);
    this.powerUp();
  }

  /** Functions 3 and 4. */
  read(code: 3 | 4, address: number, count: number, now: number): ModbusAnswer {
    this.slide.update(now);
    if (count < 1 || count > 125) return refuse(exceptions.illegalValue);
    const data: number[] = [];
    for (let i = address; i < address + count; i++) {
      const word = code === 3 ? this.holding(i) : this.input(i, now);
      if (word === undefined) return refuse(exceptions.illegalAddress);
      data.push(word);
    }
    return { data };
  }

  /** Functions 6 and 16. Nothing is written unless all of it can be. */
  write(address: number, values: readonly number[], now: number): ModbusAnswer {
    this.slide.update(now);
    const end = address + values.length;
    if (address === holding.echo && values.length === 1) {
      this.echo = values[0] ?? 0;
      return { data: [] };
    }
    if (values.length === 0 || address < 0 || end > holdingCount) return refuse(exceptions.illegalAddress);
    // Half a 32-bit value would be a place that nobody meant.
    const inside = (register: number): boolean => register >= address && register < end;
    if (holdingPairs.some((pair) => inside(pair) !== inside(pair + 1)))
      return refuse(exceptions.illegalValue);
    if (address === holding.command && values.length > 1) return refuse(exceptions.illegalValue);
    if (address === holding.command) return this.command(values[0] ?? 0, now);
    const before = this.registers.slice();
    this.registers.set(values, address);
    if (this.acceptable()) return { data: [] };
    this.registers.set(before);
    return refuse(exceptions.illegalValue);
  }

  private powerUp(): void {
    const { strokeMicrosteps, topSpeed, topAcceleration } = this.slide.options;
    this.registers.fill(0);
    const put = (address: number, value: number): void => this.registers.set(words(value), address);
    for (const speed of [holding.speed, holding.retractSpeed]) put(speed, Math.round(topSpeed / 5));
    for (const acceleration of [holding.acceleration, holding.retractAcceleration])
      put(acceleration, Math.round(topAcceleration / 5));
    put(holding.limitMax, strokeMicrosteps);
    this.commandCount = 0;
    this.refusal = "";
  }

  private pair(address: number): number {
    return signed(this.registers[address], this.registers[address + 1]);
  }

  private unsignedPair(address: number): number {
    return unsigned(this.registers[address], this.registers[address + 1]);
  }

  private acceptable(): boolean {
    const { strokeMicrosteps, topSpeed, topAcceleration } = this.slide.options;
    const [low, high] = [this.pair(holding.limitMin), this.pair(holding.limitMax)];
    if (low < 0 || high > strokeMicrosteps || low > high) return false;
    for (const speed of [holding.speed, holding.retractSpeed]) {
      const value = this.unsignedPair(speed);
      if (value < 1 || value > topSpeed) return false;
    }
    for (const acceleration of [holding.acceleration, holding.retractAcceleration]) {
      const value = this.unsignedPair(acceleration);
      if (value < 1 || value > topAcceleration) return false;
    }
    return (this.registers[holding.dwellMs] ?? 0) <= 60_000;
  }

  private holding(address: number): number | undefined {
    return address === holding.echo ? this.echo : this.registers[address];
  }

  private input(address: number, now: number): number | undefined {
    const { options, slide } = this;
    const { strokeMicrosteps, topSpeed, topAcceleration } = slide.options;
    const pairs: readonly (readonly [number, number])[] = [
      [input.deviceId, options.deviceId],
      [input.serialNumber, options.serialNumber ?? 60001],
      [input.microstepPm, Math.round(options.microstepM * 1e12)],
      [input.stroke, strokeMicrosteps],
      [input.topSpeed, Math.round(topSpeed)],
      [input.topAcceleration, Math.round(topAcceleration)],
      [input.position, slide.reading(now)],
      [input.commanded, slide.commanded],
      [input.deepest, this.deepest],
    ];
    for (const [first, value] of pairs)
      if (address === first || address === first + 1) return words(value)[address - first];
    switch (address) {
      case input.mapMark:
        return mapMark;
      case input.mapVersion:
        return mapVersion;
      case input.firmware:
        return (7 << 8) | 35;
      case input.state:
        return (
          (slide.busy ? stateBits.moving : 0) |
          (slide.referenced && !slide.flags.has("WH") ? stateBits.referenced : 0) |
          (slide.immovable === "DRIVERDISABLED" ? 0 : stateBits.driverOn) |
          (slide.flags.has("NI") ? stateBits.interrupted : 0)
        );
      case input.flag:
        return flagWord(slide.flag);
      case input.commandCount:
        return this.commandCount;
      case input.refusal:
        return refusals.indexOf(this.refusal);
      default:
        return undefined;
    }
  }

  private command(code: number, now: number): ModbusAnswer {
    const reason = this.carryOut(code, now);
    this.slide.update(now);
    this.refusal = reason ?? "";
    if (reason === undefined) {
      this.commandCount = (this.commandCount + 1) & 0xffff;
      this.registers[holding.command] = code;
      return { data: [] };
    }
    if (reason === "STATUSBUSY") return refuse(exceptions.deviceBusy);
    return refuse(reason === "BADCOMMAND" ? exceptions.illegalValue : exceptions.deviceFailure);
  }

  private carryOut(code: number, now: number): Refusal | undefined {
    const { slide } = this;
    switch (code) {
      case commands.stop:
        slide.brake(now, this.unsignedPair(holding.acceleration));
        return undefined;
      case commands.estop:
        slide.brake(now);
        return undefined;
      case commands.clearWarnings:
        slide.clear();
        return undefined;
      case commands.driverEnable:
        slide.enable();
        return undefined;
      case commands.driverDisable:
        slide.disable(now);
        return undefined;
      case commands.reset:
        this.powerCycle(now);
        return undefined;
      case commands.home:
        if (slide.immovable !== undefined) return slide.immovable;
        slide.flags.delete("FS");
        slide.home(now);
        return undefined;
      case commands.move:
        return this.move(now);
      case commands.stroke:
        return this.stroke(now);
      default:
        return "BADCOMMAND";
    }
  }

  private mayGo(...targets: readonly number[]): Refusal | undefined {
    if (this.slide.immovable !== undefined) return this.slide.immovable;
    const [low, high] = [this.pair(holding.limitMin), this.pair(holding.limitMax)];
    if (!this.slide.referenced || targets.some((target) => target < low || target > high)) return "BADDATA";
    return undefined;
  }

  private move(now: number): Refusal | undefined {
    const target = this.pair(holding.target);
    const held = this.mayGo(target);
    if (held !== undefined) return held;
    this.slide.flags.delete("FS");
    this.slide.go(now, target, this.unsignedPair(holding.speed), this.unsignedPair(holding.acceleration));
    return undefined;
  }

  private stroke(now: number): Refusal | undefined {
    const { slide } = this;
    if (slide.busy) return "STATUSBUSY";
    const [depth, end] = [this.pair(holding.depth), this.pair(holding.retractTo)];
    const held = this.mayGo(depth, end);
    if (held !== undefined) return held;
    slide.flags.delete("FS");
    slide.flags.delete("NI");
    this.deepest = depth;
    slide.ahead(now, [
      {
        kind: "line",
        target: depth,
        speed: this.unsignedPair(holding.speed),
        acceleration: this.unsignedPair(holding.acceleration),
      },
      { kind: "wait", durationS: (this.registers[holding.dwellMs] ?? 0) / 1e3 },
      {
        kind: "line",
        target: end,
        speed: this.unsignedPair(holding.retractSpeed),
        acceleration: this.unsignedPair(holding.retractAcceleration),
      },
    ]);
    return undefined;
  }
}
