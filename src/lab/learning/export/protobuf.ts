/** Protocol Buffers on the wire, as far as writing an ONNX model needs them: varints, floats, bytes and nested messages. */

/** The bytes of a message's fields; a message is the concatenation of them. */
export type Field = Uint8Array;

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}

const wireVarint = 0;
const wireBytes = 2;
const wireFixed32 = 5;

const tagged = (field: number, wire: number, content: Iterable<number>): Field =>
  Uint8Array.from([...varint(field * 8 + wire), ...content]);

/** A whole number from 0 to 2^53. */
export const integer = (field: number, value: number): Field => tagged(field, wireVarint, varint(value));

export function float(field: number, value: number): Field {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return tagged(field, wireFixed32, bytes);
}

export const bytes = (field: number, value: Uint8Array): Field =>
  Buffer.concat([tagged(field, wireBytes, varint(value.length)), value]);

export const text = (field: number, value: string): Field => bytes(field, Buffer.from(value, "utf8"));

export const message = (field: number, ...fields: readonly Field[]): Field =>
  bytes(field, Buffer.concat(fields));
