/**
 * A serial line with one Modbus RTU device on it. The standard ends a frame by 3.5 characters of silence, which no
 * program on a busy computer can time; so a frame ends where its function says that it does, and silence only clears
 * away what never became one.
 */
import { exceptions, intact, requestLength, sealFrame } from "../../cell/needle/modbus-codec.js";
import type { WireFaults } from "../wire-faults.js";
import type { ModbusAnswer, ModbusDevice } from "./modbus-device.js";

/** Far above 3.5 characters at 9600 bit/s (4 ms), for clients that are held up between two writes. */
const silenceS = 0.05;
/** The largest RTU frame of the standard. */
const longestFrame = 256;

export class ModbusLine {
  private pending = Buffer.alloc(0);
  private silence: NodeJS.Timeout | undefined;

  constructor(
    readonly device: ModbusDevice,
    private readonly faults: WireFaults,
    private readonly clock: () => number,
    private readonly write: (bytes: Buffer) => void,
  ) {}

  receive(bytes: Uint8Array): void {
    this.faults.hear(bytes, this.write);
    this.pending = Buffer.concat([this.pending, bytes]).subarray(-4 * longestFrame);
    while (this.takeOne());
    clearTimeout(this.silence);
    if (this.pending.length > 0) this.silence = setTimeout(() => this.endFrame(), silenceS * 1e3);
  }

  reset(): void {
    clearTimeout(this.silence);
    this.pending = Buffer.alloc(0);
  }

  dispose(): void {
    this.reset();
  }

  /** Takes a whole frame, or one byte that begins none. @returns false when more bytes are needed */
  private takeOne(): boolean {
    if (this.pending.length === 0) return false;
    const length = requestLength(this.pending);
    if (length === undefined || length > this.pending.length) {
      // What begins with another address, or is longer than any frame, is no request that is still on its way.
      if (length !== undefined && length > longestFrame) return this.skip(1);
      return this.forUs() ? false : this.skip(1);
    }
    if (length === 0) return this.forUs() ? false : this.skip(1);
    const frame = this.pending.subarray(0, length);
    if (!intact(frame)) return this.skip(1);
    this.pending = this.pending.subarray(length);
    this.handle(frame);
    return true;
  }

  private forUs(): boolean {
    return this.pending[0] === this.device.unit || this.pending[0] === 0;
  }

  private skip(count: number): boolean {
    this.pending = this.pending.subarray(count);
    return true;
  }

  /** Silence: what stands there is a frame of an unknown function, or nothing. */
  private endFrame(): void {
    const frame = this.pending;
    this.pending = Buffer.alloc(0);
    if (intact(frame) && frame[0] === this.device.unit)
      this.reply(frame[1] ?? 0, { exception: exceptions.illegalFunction }, Buffer.alloc(0));
  }

  private handle(frame: Buffer): void {
    const [unit = 0, code = 0] = frame;
    if (unit !== this.device.unit && unit !== 0) return;
    const now = this.clock();
    const address = frame.readUInt16BE(2);
    const second = frame.readUInt16BE(4);
    let answer: ModbusAnswer;
    let echoed = frame.subarray(2, 6);
    switch (code) {
      case 3:
      case 4:
        answer = this.device.read(code, address, second, now);
        echoed = Buffer.alloc(0);
        break;
      case 6:
        answer = this.device.write(address, [second], now);
        break;
      case 8:
        // Diagnostics: only "return query data".
        answer = address === 0 ? { data: [] } : { exception: exceptions.illegalFunction };
        break;
      default: {
        const values = frame.subarray(7, -2);
        const numbers = Array.from({ length: values.length >> 1 }, (_, i) => values.readUInt16BE(2 * i));
        answer =
          numbers.length === second && values.length === 2 * second
            ? this.device.write(address, numbers, now)
            : { exception: exceptions.illegalValue };
      }
    }
    // A broadcast is obeyed and not answered.
    if (unit !== 0) this.reply(code, answer, echoed);
  }

  private reply(code: number, answer: ModbusAnswer, echoed: Buffer): void {
    const { unit } = this.device;
    let body: Buffer;
    if ("exception" in answer) body = Buffer.from([unit, code | 0x80, answer.exception]);
    else if (echoed.length > 0) body = Buffer.concat([Buffer.from([unit, code]), echoed]);
    else {
      const data = Buffer.alloc(2 * answer.data.length);
      answer.data.forEach((word, i) => data.writeUInt16BE(word & 0xffff, 2 * i));
      body = Buffer.concat([Buffer.from([unit, code, data.length]), data]);
    }
    this.faults.send(sealFrame(body), this.write);
  }
}
