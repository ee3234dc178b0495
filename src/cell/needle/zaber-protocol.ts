/**
 * The needle drive over Zaber ASCII. A stroke is a stream: corked, filled with the way down, a dwell and the way back,
 * and begun by the uncork; the drive runs it alone from there.
 */
import { CellError } from "../../base/errors.js";
import type { NeedleEnvelope } from "../envelope.js";
import type { LinkCounters, RequestOptions } from "../links/request-link.js";
import { SerialLink } from "../links/serial-link.js";
import type { ZaberNeedleProfile } from "../profile.js";
import { NeedleLink } from "./needle-link.js";
import type { DriveMotion, DriveStroke, NeedleProtocol, NeedleState } from "./needle-protocol.js";

export interface ZaberOptions {
  readonly name: string;
  readonly path: string;
  readonly baudRate: number;
  readonly profile: ZaberNeedleProfile;
  readonly envelope: NeedleEnvelope;
}

/** Flags that can hide no other one that matters: those below them are notes. */
const harmless = new Set(["--", "WR", "NC", "NI", "ND", "NU", "NJ"]);

export class ZaberProtocol implements NeedleProtocol {
  private readonly link: NeedleLink;
  private readonly travel: number;

  constructor(private readonly options: ZaberOptions) {
    const { profile, name, path, baudRate, envelope } = options;
    this.travel = Math.round(profile.stroke.value / profile.microstep.value);
    this.link = new NeedleLink(new SerialLink({ path, baudRate }), {
      device: name,
      address: profile.deviceAddress,
      checksums: profile.checksums,
      envelope,
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
    const id = await this.number(0, "get device.id", signal);
    if (id !== profile.deviceId)
      throw new CellError(
        "DEVICE_WRONG_MODEL",
        `${name}: expected device id ${profile.deviceId} (profile ${profile.name}), found ${id}`,
      );
    const version = (await this.link.request(0, "get version", { signal })).data;
    const [major = NaN, minor = 0] = version.split(".").map(Number);
    const [least, leastMinor] = profile.firmware;
    if (!(major > least || (major === least && minor >= leastMinor)))
      throw new CellError(
        "DEVICE_WRONG_MODEL",
        `${name}: firmware ${version} is older than ${profile.firmware.join(".")} (profile ${profile.name})`,
      );
    if (profile.checksums) await this.write(0, "comm.checksum", 1, signal);
    await this.write(0, "comm.alert", 0, signal);
    // A stroke that was broken off may have left its depth limit behind.
    await this.write(this.axis, "limit.max", this.travel, signal);
  }

  async read(signal?: AbortSignal): Promise<NeedleState> {
    const { name } = this.options;
    const reply = await this.link.request(this.axis, "get pos", { signal });
    if (!/^-?\d+$/.test(reply.data))
      throw new CellError("LINK_PROTOCOL", `${name}: position ${reply.data || "missing"}`);
    let flags: readonly string[] = reply.flag === "--" ? [] : [reply.flag];
    // A reply shows the most severe flag alone; what it hides may forbid motion, too.
    if (!harmless.has(reply.flag)) flags = await this.warnings(signal);
    return {
      microsteps: Number(reply.data),
      busy: reply.busy,
      referenced: !flags.includes("WR") && !flags.includes("WH"),
      flags,
    };
  }

  async home(options: RequestOptions): Promise<void> {
    await this.link.request(this.axis, "home", options);
  }

  async move(target: number, motion: DriveMotion, options: RequestOptions): Promise<void> {
    const [speed, acceleration] = this.data(motion);
    await this.link.request(this.axis, `move abs ${target} ${speed} ${acceleration}`, options);
  }

  async stroke(stroke: DriveStroke, options: RequestOptions): Promise<void> {
    const { depth, end, dwellMs } = stroke;
    const [speed, acceleration] = this.data(stroke.down);
    const [backSpeed, backAcceleration] = this.data(stroke.up);
    await this.write(this.axis, "limit.max", depth, options.signal);
    for (const command of [
      "setup live 1",
      "fifo cork",
      `set maxspeed ${speed}`,
      `set tanaccel ${acceleration}`,
      `line abs ${depth}`,
      `wait ${dwellMs}`,
      `set maxspeed ${backSpeed}`,
      `set tanaccel ${backAcceleration}`,
      `line abs ${end}`,
      "fifo uncork",
    ])
      await this.link.request(0, `stream 1 ${command}`, options);
  }

  async endStroke(): Promise<void> {
    await this.link.request(0, "stream 1 setup disable").catch(() => undefined);
    await this.write(this.axis, "limit.max", this.travel);
  }

  async halt(kind: "stop" | "estop"): Promise<void> {
    await this.link.requestNow(this.axis, kind);
  }

  async clear(signal?: AbortSignal): Promise<void> {
    await this.link.request(this.axis, "warnings clear", { signal });
    await this.link.request(this.axis, "driver enable", { signal });
    await this.write(this.axis, "limit.max", this.travel, signal);
  }

  private get axis(): number {
    return this.options.profile.axisNumber;
  }

  /** Data values of speed and acceleration: never faster than asked. */
  private data({ speed, acceleration }: DriveMotion): readonly [number, number] {
    const { speedScale, accelerationScale } = this.options.profile;
    const whole = (value: number): number => Math.max(1, Math.floor(value));
    return [whole(speed * speedScale.value), whole(acceleration * accelerationScale.value)];
  }

  private async warnings(signal: AbortSignal | undefined): Promise<readonly string[]> {
    const { data } = await this.link.request(this.axis, "warnings", { signal });
    const [count = "", ...flags] = data.split(" ");
    if (Number(count) !== flags.length || flags.some((flag) => !/^[A-Z]{2}$/.test(flag)))
      throw new CellError("LINK_PROTOCOL", `${this.options.name}: "warnings" answered ${data}`);
    return flags;
  }

  private async number(axis: number, command: string, signal: AbortSignal | undefined): Promise<number> {
    const { data } = await this.link.request(axis, command, { signal });
    if (!/^-?\d+$/.test(data))
      throw new CellError(
        "LINK_PROTOCOL",
        `${this.options.name}: "${command}" answered ${data || "nothing"}`,
      );
    return Number(data);
  }

  /** Sets a value and reads it back. */
  private async write(axis: number, setting: string, value: number, signal?: AbortSignal): Promise<void> {
    await this.link.request(axis, `set ${setting} ${value}`, { signal });
    const found = await this.number(axis, `get ${setting}`, signal);
    if (found !== value)
      throw new CellError(
        "DEVICE_REFUSED",
        `${this.options.name}: ${setting} was set to ${value} and reads ${found}`,
      );
  }
}
