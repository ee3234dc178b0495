/**
 * RTDE packages (TCP 30004): framing, value types, recipes and text messages, for both protocol versions.
 * A frame is `uint16 size, uint8 type, payload`; the size includes its own three bytes. Big-endian throughout.
 */
import { CellError } from "../../../base/errors.js";
import { ByteReader, ByteWriter, excerpt } from "./bytes.js";

export const rtdePackage = {
  REQUEST_PROTOCOL_VERSION: 86,
  GET_URCONTROL_VERSION: 118,
  TEXT_MESSAGE: 77,
  DATA: 85,
  SETUP_OUTPUTS: 79,
  SETUP_INPUTS: 73,
  START: 83,
  PAUSE: 80,
} as const;

const knownTypes: ReadonlySet<number> = new Set(Object.values(rtdePackage));

export type RtdeType =
  | "BOOL"
  | "UINT8"
  | "UINT32"
  | "UINT64"
  | "INT32"
  | "DOUBLE"
  | "VECTOR3D"
  | "VECTOR6D"
  | "VECTOR6INT32"
  | "VECTOR6UINT32";
export type RtdeValue = boolean | number | bigint | readonly number[];
export type RtdeVersion = 1 | 2;

const sizes: Readonly<Record<RtdeType, number>> = {
  BOOL: 1,
  UINT8: 1,
  UINT32: 4,
  UINT64: 8,
  INT32: 4,
  DOUBLE: 8,
  VECTOR3D: 24,
  VECTOR6D: 48,
  VECTOR6INT32: 24,
  VECTOR6UINT32: 24,
};

export const isRtdeType = (text: string): text is RtdeType => Object.hasOwn(sizes, text);

export interface RtdeFrame {
  readonly type: number;
  readonly payload: Buffer;
}

export function encodeFrame(type: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  return new ByteWriter(payload.length + 3)
    .u16(payload.length + 3)
    .u8(type)
    .bytes(payload)
    .finish();
}

/**
 * Cuts a byte stream into frames, whatever the segments. A wrong size or an unknown type means that the stream is lost:
 * it throws LINK_PROTOCOL and the owner closes the connection; it never looks for the next frame inside garbage.
 */
export class RtdeFramer {
  private pending: Buffer = Buffer.alloc(0);

  constructor(private readonly limit = 65535) {}

  push(chunk: Buffer): RtdeFrame[] {
    let buffer = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    const frames: RtdeFrame[] = [];
    while (buffer.length >= 3) {
      const size = buffer.readUInt16BE(0);
      const type = buffer.readUInt8(2);
      if (size < 3 || size > this.limit || !knownTypes.has(type)) {
        throw new CellError("LINK_PROTOCOL", `RTDE: not a frame: ${excerpt(buffer)}`);
      }
      if (buffer.length < size) break;
      frames.push({ type, payload: buffer.subarray(3, size) });
      buffer = buffer.subarray(size);
    }
    this.pending = buffer;
    return frames;
  }
}

/** Values of one recipe to and from bytes. */
export class RecipeCodec {
  readonly byteLength: number;

  constructor(readonly types: readonly RtdeType[]) {
    this.byteLength = types.reduce((sum, type) => sum + sizes[type], 0);
  }

  /** @throws CellError LINK_PROTOCOL when the length is not that of the recipe. */
  decode(payload: Buffer): RtdeValue[] {
    if (payload.length !== this.byteLength) {
      throw new CellError(
        "LINK_PROTOCOL",
        `RTDE: data of ${payload.length} bytes where the recipe has ${this.byteLength}: ${excerpt(payload)}`,
      );
    }
    let at = 0;
    return this.types.map((type): RtdeValue => {
      const start = at;
      at += sizes[type];
      switch (type) {
        case "BOOL":
          return payload.readUInt8(start) !== 0;
        case "UINT8":
          return payload.readUInt8(start);
        case "UINT32":
          return payload.readUInt32BE(start);
        case "UINT64":
          return payload.readBigUInt64BE(start);
        case "INT32":
          return payload.readInt32BE(start);
        case "DOUBLE":
          return payload.readDoubleBE(start);
        case "VECTOR3D":
        case "VECTOR6D": {
          const values: number[] = [];
          for (let i = start; i < at; i += 8) values.push(payload.readDoubleBE(i));
          return values;
        }
        case "VECTOR6INT32": {
          const values: number[] = [];
          for (let i = start; i < at; i += 4) values.push(payload.readInt32BE(i));
          return values;
        }
        case "VECTOR6UINT32": {
          const values: number[] = [];
          for (let i = start; i < at; i += 4) values.push(payload.readUInt32BE(i));
          return values;
        }
      }
    });
  }

  /** @throws RangeError when a value does not have the shape of its type (a defect of the caller). */
  encode(values: readonly RtdeValue[]): Buffer {
    if (values.length !== this.types.length) {
      throw new RangeError(`${values.length} values for a recipe of ${this.types.length}`);
    }
    const writer = new ByteWriter(Math.max(1, this.byteLength));
    this.types.forEach((type, i) => {
      const value = values[i];
      if (type === "BOOL") writer.u8(value === true ? 1 : 0);
      else if (type === "UINT64" && typeof value === "bigint") writer.u64(value);
      else if (type.startsWith("VECTOR") && Array.isArray(value)) {
        if (value.length !== (type === "VECTOR3D" ? 3 : 6)) {
          throw new RangeError(`${value.length} elements in a ${type}`);
        }
        for (const element of value as readonly number[]) {
          if (type === "VECTOR6INT32") writer.i32(element);
          else if (type === "VECTOR6UINT32") writer.u32(element);
          else writer.f64(element);
        }
      } else if (typeof value === "number") {
        if (type === "UINT8") writer.u8(value);
        else if (type === "UINT32") writer.u32(value);
        else if (type === "INT32") writer.i32(value);
        else if (type === "DOUBLE") writer.f64(value);
        else throw new RangeError(`a number where ${type} belongs`);
      } else throw new RangeError(`a ${typeof value} where ${type} belongs`);
    });
    return writer.finish();
  }
}

/** "a,b," → ["a", "b"]: a trailing comma is tolerated, as the controller does. */
export const splitNames = (text: string): string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

export const messageLevel = { EXCEPTION: 0, ERROR: 1, WARNING: 2, INFO: 3 } as const;

export interface RtdeMessage {
  readonly text: string;
  readonly source: string;
  readonly level: number;
}

/** Text message of the controller: level and text in version 1, length-prefixed text and source in version 2. */
export function encodeMessage(message: RtdeMessage, version: RtdeVersion): Buffer {
  const text = Buffer.from(message.text, "latin1").subarray(0, 255);
  if (version === 1) return new ByteWriter().u8(message.level).bytes(text).finish();
  const source = Buffer.from(message.source, "latin1").subarray(0, 255);
  return new ByteWriter()
    .u8(text.length)
    .bytes(text)
    .u8(source.length)
    .bytes(source)
    .u8(message.level)
    .finish();
}

export function decodeMessage(payload: Buffer, version: RtdeVersion): RtdeMessage {
  const reader = new ByteReader(payload);
  if (version === 1) {
    const level = reader.u8();
    return { level, text: reader.rest().toString("latin1"), source: "" };
  }
  const text = reader.text(reader.u8());
  const source = reader.text(reader.u8());
  return { text, source, level: reader.u8() };
}
