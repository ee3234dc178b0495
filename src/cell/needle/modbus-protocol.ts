/**
 * The needle drive over its Modbus RTU map (modbus-codec.ts). A stroke is a row of registers that one command sets going;
 * the drive runs it alone from there.
 */
import { asCellError, CellError } from "../../base/errors.js";
import type { NeedleEnvelope } from "../envelope.js";
import type { LinkCounters, RequestOptions } from "../links/request-link.js";
import { SerialLink } from "../links/serial-link.js";
import type { ModbusNeedleProfile } from "../profile.js";
import {
  commands,
  flagOf,
  holdingRegisters as holding,
  infoBlock,
  inputRegisters as input,
  mapMark,
  mapVersion,
  refusals,
  signed,
  stateBits,
  statusBlock,
  unsigned,
} from "./modbus-codec.js";
import { ModbusLink } from "./modbus-link.js";
import type { DriveMotion, DriveStroke, NeedleProtocol, NeedleState } from "./needle-protocol.js";

export interface ModbusOptions {
  readonly name: string;
  readonly path: string;
  readonly baudRate: number;
  readonly profile: ModbusNeedleProfile;
  readonly envelope: NeedleEnvelope;
}

export class ModbusProtocol implements NeedleProtocol {
  private readonly link: ModbusLink;
  private readonly travel: number;

  constructor(private readonly options: ModbusOptions) {
    const { profile, name, path, baudRate } = options;
    this.travel = Math.round(profile.stroke.value / profile.microstep.value);
    this.link = new ModbusLink(new SerialLink({ path, baudRate }), {
      device: name,
      unit: profile.unit,
      replyTimeoutS: profile.replyTimeout.value,
      quietS: profile.quietTime.value,
    });
  }

  set onClosed(heard: (reason: CellError) => void) {
    this.link.onClosed = heard;
  }

  get isOpen(): boolean {
    return this.link.isOpen;
  }

  get descriptor(): number | undefined {
    return this.link.descriptor;
  }

  get counters(): LinkCounters {
    return this.link.counters;
  }

  open(signal?: AbortSignal): Promise<void> {
    return this.link.open(signal);
  }

  close(): Promise<void> {
    return this.link.close();
  }

  async identify(signal?: AbortSignal): Promise<void> {
    const { profile, name } = this.options;
    const wrong = (what: string): CellError =>
      new CellError("DEVICE_WRONG_MODEL", `${name}: ${what} (profile ${profile.name})`);
    const { address, count } = infoBlock;
    const info = await this.link.readInput("read identity", address, count, { signal });
    const at = (register: number): number => unsigned(info[register - address], info[register + 1 - address]);
    if (info[input.mapMark - address] !== mapMark || info[input.mapVersion - address] !== mapVersion)
      throw wrong("its registers are those of another map");
    if (at(input.deviceId) !== profile.deviceId)
      throw wrong(`expected device id ${profile.deviceId}, found ${at(input.deviceId)}`);
    const firmware = info[input.firmware - address] ?? 0;
    const [least, leastMinor] = profile.firmware;
    if (firmware < ((least << 8) | leastMinor))
      throw wrong(`firmware ${firmware >> 8}.${firmware & 0xff} is older than ${least}.${leastMinor}`);
    if (at(input.microstepPm) !== Math.round(profile.microstep.value * 1e12))
      throw wrong(`a microstep of ${at(input.microstepPm)} pm`);
    if (at(input.stroke) !== this.travel) throw wrong(`a stroke of ${at(input.stroke)} microsteps`);
    // A stroke that was broken off may have left its depth limit behind.
    await this.setLimit(this.travel, { signal });
  }

  async read(signal?: AbortSignal): Promise<NeedleState> {
    const { address, count } = statusBlock;
    const status = await this.link.readInput("read status", address, count, { signal });
    const state = status[input.state - address] ?? 0;
    const flag = flagOf(status[input.flag - address]);
    if (!/^([A-Z]{2}|--)$/.test(flag))
      throw new CellError("LINK_PROTOCOL", `${this.options.name}: warning ${JSON.stringify(flag)}`);
    return {
      microsteps: signed(status[input.position - address], status[input.position + 1 - address]),
      busy: (state & stateBits.moving) !== 0,
      referenced: (state & stateBits.referenced) !== 0,
      flags: flag === "--" ? [] : [flag],
    };
  }

  home(options: RequestOptions): Promise<void> {
    return this.command("home", commands.home, options);
  }

  async move(target: number, motion: DriveMotion, options: RequestOptions): Promise<void> {
    const { speed, acceleration } = motion;
    await this.set("write target", holding.target, [target, speed, acceleration], options);
    await this.command("move", commands.move, options);
  }

  async stroke(stroke: DriveStroke, options: RequestOptions): Promise<void> {
    const { down, up, depth, dwellMs, end } = stroke;
    // Speed, acceleration, both limits, depth, dwell, end, and the way back.
    const plan = [
      ...[down.speed, down.acceleration, 0, depth, depth],
      ...[dwellMs, end, up.speed, up.acceleration],
    ];
    await this.set("write stroke", holding.speed, plan, options);
    await this.command("stroke", commands.stroke, options);
  }

  async endStroke(): Promise<void> {
    await this.setLimit(this.travel, {});
  }

  async halt(kind: "stop" | "estop"): Promise<void> {
    await this.link.writeNow(kind, holding.command, commands[kind]);
  }

  async clear(signal?: AbortSignal): Promise<void> {
    await this.command("clear warnings", commands.clearWarnings, { signal });
    await this.command("enable driver", commands.driverEnable, { signal });
    await this.setLimit(this.travel, { signal });
  }

  private setLimit(deepest: number, options: RequestOptions): Promise<void> {
    return this.set("write limits", holding.limitMin, [0, deepest], options);
  }

  /** Writes the values of the fields from a register on, as the envelope makes words of them, and reads them back. */
  private async set(
    name: string,
    address: number,
    values: readonly number[],
    options: RequestOptions,
  ): Promise<void> {
    const words = this.options.envelope.registers(address, values);
    await this.link.writeMany(name, address, words, options);
    const found = await this.link.readHolding(`${name} (check)`, address, words.length, options);
    if (found.some((word, i) => word !== words[i]))
      throw new CellError(
        "DEVICE_REFUSED",
        `${this.options.name}: ${name}: [${words.join(" ")}] was written and reads [${found.join(" ")}]`,
      );
  }

  /** Carries out a command; a refusal is told with the reason that the drive keeps. */
  private async command(name: string, code: number, options: RequestOptions): Promise<void> {
    try {
      await this.link.writeOne(name, holding.command, code, options);
    } catch (error) {
      const known = asCellError(error);
      if (known.code !== "DEVICE_REFUSED") throw known;
      const [reason = 0] = await this.link.readInput("read refusal", input.refusal, 1, {
        signal: options.signal,
      });
      throw new CellError("DEVICE_REFUSED", `${known.detail}: ${refusals[reason] ?? `reason ${reason}`}`, {
        cause: error,
      });
    }
  }
}
