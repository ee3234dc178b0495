/** Frames of Modbus TCP: `uint16 transaction, uint16 protocol (0), uint16 length, uint8 unit`, then the request. */
import { CellError } from "../../base/errors.js";
import { ByteWriter, excerpt } from "../../cell/ur/codec/bytes.js";

export interface MbapFrame {
  readonly transaction: number;
  readonly unit: number;
  readonly pdu: Buffer;
}

/** The unit address and the longest request, 253 bytes. */
const longest = 254;

export class MbapFramer {
  private pending: Buffer = Buffer.alloc(0);

  /** @throws CellError LINK_PROTOCOL for a header that no Modbus client sends; the connection is lost then. */
  push(chunk: Buffer): MbapFrame[] {
    let buffer = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    const frames: MbapFrame[] = [];
    while (buffer.length >= 6) {
      const length = buffer.readUInt16BE(4);
      if (buffer.readUInt16BE(2) !== 0 || length < 2 || length > longest) {
        throw new CellError("LINK_PROTOCOL", `Modbus TCP: not a frame: ${excerpt(buffer)}`);
      }
      if (buffer.length < 6 + length) break;
      frames.push({
        transaction: buffer.readUInt16BE(0),
        unit: buffer.readUInt8(6),
        pdu: buffer.subarray(7, 6 + length),
      });
      buffer = buffer.subarray(6 + length);
    }
    this.pending = buffer;
    return frames;
  }
}

export const encodeMbap = (frame: MbapFrame): Buffer =>
  new ByteWriter(7 + frame.pdu.length)
    .u16(frame.transaction)
    .u16(0)
    .u16(frame.pdu.length + 1)
    .u8(frame.unit)
    .bytes(frame.pdu)
    .finish();
