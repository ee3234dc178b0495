/** Big-endian byte writer and reader shared by the UR packets. The reader never reads past its end. */
import { CellError } from "../../../base/errors.js";

export class ByteWriter {
  private buffer: Buffer;
  private used = 0;

  constructor(capacity = 256) {
    this.buffer = Buffer.allocUnsafe(capacity);
  }

  private reserve(count: number): number {
    const at = this.used;
    if (at + count > this.buffer.length) {
      const bigger = Buffer.allocUnsafe(Math.max(2 * this.buffer.length, at + count));
      this.buffer.copy(bigger, 0, 0, at);
      this.buffer = bigger;
    }
    this.used = at + count;
    return at;
  }

  u8(value: number): this {
    const at = this.reserve(1);
    this.buffer[at] = value & 0xff;
    return this;
  }
  u16(value: number): this {
    const at = this.reserve(2);
    this.buffer.writeUInt16BE(value, at);
    return this;
  }
  u32(value: number): this {
    const at = this.reserve(4);
    this.buffer.writeUInt32BE(value >>> 0, at);
    return this;
  }
  i32(value: number): this {
    const at = this.reserve(4);
    this.buffer.writeInt32BE(value, at);
    return this;
  }
  u64(value: bigint): this {
    const at = this.reserve(8);
    this.buffer.writeBigUInt64BE(BigInt.asUintN(64, value), at);
    return this;
  }
  f32(value: number): this {
    const at = this.reserve(4);
    this.buffer.writeFloatBE(value, at);
    return this;
  }
  f64(value: number): this {
    const at = this.reserve(8);
    this.buffer.writeDoubleBE(value, at);
    return this;
  }
  f64s(values: readonly number[]): this {
    for (const value of values) this.f64(value);
    return this;
  }
  bytes(value: Uint8Array): this {
    const at = this.reserve(value.length);
    this.buffer.set(value, at);
    return this;
  }
  text(value: string): this {
    return this.bytes(Buffer.from(value, "latin1"));
  }
  zeros(count: number): this {
    const at = this.reserve(count);
    this.buffer.fill(0, at, at + count);
    return this;
  }

  get length(): number {
    return this.used;
  }
  /** The bytes written so far (a view; the writer is not to be used afterwards). */
  finish(): Buffer {
    return this.buffer.subarray(0, this.used);
  }
}

/** @throws CellError LINK_PROTOCOL when asked for more than is there. */
export class ByteReader {
  private at = 0;

  constructor(private readonly buffer: Buffer) {}

  private take(count: number): number {
    const start = this.at;
    if (start + count > this.buffer.length) {
      throw new CellError(
        "LINK_PROTOCOL",
        `a packet of ${this.buffer.length} bytes ends ${start + count - this.buffer.length} bytes too early: ${excerpt(this.buffer)}`,
      );
    }
    this.at = start + count;
    return start;
  }

  u8(): number {
    return this.buffer.readUInt8(this.take(1));
  }
  i8(): number {
    return this.buffer.readInt8(this.take(1));
  }
  u16(): number {
    return this.buffer.readUInt16BE(this.take(2));
  }
  u32(): number {
    return this.buffer.readUInt32BE(this.take(4));
  }
  i32(): number {
    return this.buffer.readInt32BE(this.take(4));
  }
  u64(): bigint {
    return this.buffer.readBigUInt64BE(this.take(8));
  }
  f32(): number {
    return this.buffer.readFloatBE(this.take(4));
  }
  f64(): number {
    return this.buffer.readDoubleBE(this.take(8));
  }
  f64s(count: number): number[] {
    return Array.from({ length: count }, () => this.f64());
  }
  bytes(count: number): Buffer {
    const start = this.take(count);
    return this.buffer.subarray(start, start + count);
  }
  text(count: number): string {
    return this.bytes(count).toString("latin1");
  }
  rest(): Buffer {
    return this.bytes(this.remaining);
  }
  get remaining(): number {
    return this.buffer.length - this.at;
  }
}

/** The first bytes of a packet as hex, for a log. */
export function excerpt(bytes: Uint8Array, limit = 48): string {
  const head = Buffer.from(bytes.subarray(0, limit)).toString("hex");
  return bytes.length > limit ? `${head}… (${bytes.length} bytes)` : head;
}
