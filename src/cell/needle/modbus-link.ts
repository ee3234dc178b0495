/**
 * Requests to a Modbus RTU device and its replies over a serial line, on the common request link. RTU has no ids: after a
 * timeout the line is synchronised by writing a number to the echo register and waiting for just that number, so that a
 * late reply cannot be taken for the answer to another request.
 */
import { systemClock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import type { ByteLink } from "../links/byte-link.js";
import {
  RequestLink,
  type LinkCounters,
  type Request,
  type RequestLinkOptions,
  type RequestOptions,
} from "../links/request-link.js";
import { commands, foreign, holdingRegisters, intact, anyReplyLength } from "./modbus-codec.js";
import { ModbusCoder, ModbusException, type CodedRequest } from "./modbus-coder.js";

export interface ModbusLinkOptions extends Omit<RequestLinkOptions, "staleAtOpen"> {
  readonly unit: number;
}

/** A stop waits so long for the reply under way: two frames on the line at once would be none. */
const stopPatienceS = 0.02;

/** Cuts bytes into reply frames; a frame travels as a string of its bytes. */
export class FrameAssembler {
  private pending = Buffer.alloc(0);

  constructor(private readonly unit: number) {}

  /** @throws CellError LINK_PROTOCOL for what no reply of this device begins with */
  push(bytes: Uint8Array): string[] {
    this.pending = Buffer.concat([this.pending, bytes]);
    const frames: string[] = [];
    for (;;) {
      let length: number | undefined;
      try {
        length = anyReplyLength(this.unit, this.pending);
      } catch (error) {
        this.pending = Buffer.alloc(0);
        throw error;
      }
      if (length === undefined || length > this.pending.length) return frames;
      frames.push(this.pending.subarray(0, length).toString("latin1"));
      this.pending = this.pending.subarray(length);
    }
  }

  reset(): void {
    this.pending = Buffer.alloc(0);
  }
}

export class ModbusLink {
  private readonly link: RequestLink<Buffer>;
  private readonly coder: ModbusCoder;
  private readonly inFlight = new Set<Promise<unknown>>();
  private nonce = 0;

  constructor(
    link: ByteLink,
    private readonly options: ModbusLinkOptions,
  ) {
    this.coder = new ModbusCoder(options.unit);
    this.link = new RequestLink<Buffer>(
      link,
      {
        lines: new FrameAssembler(options.unit),
        read: (line) => {
          const frame = Buffer.from(line, "latin1");
          return intact(frame) ? frame : "damaged";
        },
        lastWord: this.coder.writeOne(holdingRegisters.command, commands.estop).bytes,
        probe: () => {
          this.nonce = (this.nonce + 1) & 0xffff;
          return this.request("echo", this.coder.writeOne(holdingRegisters.echo, this.nonce));
        },
      },
      // The line may still hold what was sent to an earlier owner.
      { ...options, staleAtOpen: true },
    );
  }

  /** The link went down by itself. */
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

  /** @throws CellError LINK_CONNECT, LINK_BUSY, LINK_ABORTED */
  async open(signal?: AbortSignal): Promise<void> {
    await this.link.open(signal);
  }

  async close(): Promise<void> {
    await this.link.close();
  }

  /** Input registers. @throws CellError LINK_TIMEOUT, LINK_CLOSED, LINK_PROTOCOL, LINK_ABORTED, DEVICE_REFUSED */
  readInput(
    name: string,
    address: number,
    count: number,
    options?: RequestOptions,
  ): Promise<readonly number[]> {
    return this.ask(name, this.coder.readInput(address, count), options);
  }

  /** Holding registers. @throws CellError as `readInput` */
  readHolding(
    name: string,
    address: number,
    count: number,
    options?: RequestOptions,
  ): Promise<readonly number[]> {
    return this.ask(name, this.coder.readHolding(address, count), options);
  }

  /** @throws CellError as `readInput` */
  async writeOne(name: string, address: number, value: number, options?: RequestOptions): Promise<void> {
    await this.ask(name, this.coder.writeOne(address, value), options);
  }

  /** @throws CellError as `readInput` */
  async writeMany(
    name: string,
    address: number,
    values: readonly number[],
    options?: RequestOptions,
  ): Promise<void> {
    await this.ask(name, this.coder.writeMany(address, values), options);
  }

  /** Past the queue, for stops; waits a moment for the reply that is under way. */
  async writeNow(name: string, address: number, value: number): Promise<void> {
    if (this.inFlight.size > 0)
      await Promise.race([Promise.allSettled(this.inFlight), systemClock.sleep(stopPatienceS)]);
    const coded = this.coder.writeOne(address, value);
    this.decode(name, coded, await this.link.post(this.request(name, coded)));
  }

  private async ask(
    name: string,
    coded: CodedRequest,
    options: RequestOptions = {},
  ): Promise<readonly number[]> {
    let sent: Promise<Buffer> | undefined = undefined;
    try {
      sent = this.link.exchange(name, () => this.request(name, coded), options);
      this.inFlight.add(sent);
      return this.decode(name, coded, await sent);
    } finally {
      if (sent !== undefined) this.inFlight.delete(sent);
    }
  }

  /** Whether a frame answers a request shows when the library reads it: length, unit, function and, for writes, echo. */
  private request(name: string, coded: CodedRequest): Request<Buffer> {
    const code = coded.bytes[1] ?? 0;
    const echo = code === 6 || code === 16 ? coded.bytes.subarray(2, 6) : undefined;
    return {
      name,
      bytes: coded.bytes,
      matches: (frame) => {
        if (frame[1] === (code | 0x80)) return true;
        if (frame[1] !== code) return false;
        return echo === undefined
          ? frame[2] === 2 * coded.bytes.readUInt16BE(4)
          : frame.subarray(2, 6).equals(echo);
      },
    };
  }

  private decode(name: string, coded: CodedRequest, frame: Buffer): readonly number[] {
    try {
      return coded.decode(frame);
    } catch (error) {
      if (error instanceof ModbusException)
        throw new CellError("DEVICE_REFUSED", `${this.options.device}: ${name}: exception ${error.code}`, {
          cause: error,
        });
      throw foreign(frame);
    }
  }
}
