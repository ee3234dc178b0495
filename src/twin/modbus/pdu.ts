/**
 * Modbus requests and their answers, apart from how they are framed: function codes 1–6, 15 and 16, exceptions 1
 * (function), 2 (address) and 3 (value), with the limits of the Modbus application protocol 1.1b.
 */
import { ByteReader, ByteWriter } from "../../cell/ur/codec/bytes.js";

/** What a server shows. A method says undefined or false where there is nothing or nothing may be written. */
export interface RegisterBank {
  readRegister(address: number): number | undefined;
  writeRegister(address: number, value: number): boolean;
  readBit(address: number): boolean | undefined;
  writeBit(address: number, on: boolean): boolean;
}

export const modbusException = { FUNCTION: 1, ADDRESS: 2, VALUE: 3 } as const;

const refuse = (code: number, exception: number): Buffer => Buffer.of(code | 0x80, exception);

/** The answer to a request (without unit address), which is always one: nothing is left unanswered. */
export function answer(request: Buffer, bank: RegisterBank): Buffer {
  const code = request[0] ?? 0;
  const whole = (length: number): boolean => request.length === length;
  const word = (at: number): number => request.readUInt16BE(at);
  switch (code) {
    case 1:
    case 2:
      if (!whole(5) || word(3) < 1 || word(3) > 2000) return refuse(code, modbusException.VALUE);
      return readBits(code, word(1), word(3), bank);
    case 3:
    case 4:
      if (!whole(5) || word(3) < 1 || word(3) > 125) return refuse(code, modbusException.VALUE);
      return readRegisters(code, word(1), word(3), bank);
    case 5:
      if (!whole(5) || (word(3) !== 0 && word(3) !== 0xff00)) return refuse(code, modbusException.VALUE);
      return bank.writeBit(word(1), word(3) !== 0) ? request : refuse(code, modbusException.ADDRESS);
    case 6:
      if (!whole(5)) return refuse(code, modbusException.VALUE);
      return bank.writeRegister(word(1), word(3)) ? request : refuse(code, modbusException.ADDRESS);
    case 15:
    case 16: {
      const most = code === 15 ? 1968 : 123;
      const count = request.length >= 6 ? word(3) : 0;
      const bytes = code === 15 ? Math.ceil(count / 8) : 2 * count;
      if (count < 1 || count > most || request[5] !== bytes || !whole(6 + bytes)) {
        return refuse(code, modbusException.VALUE);
      }
      return writeMany(code, word(1), count, request.subarray(6), bank)
        ? request.subarray(0, 5)
        : refuse(code, modbusException.ADDRESS);
    }
    default:
      return refuse(code & 0x7f, modbusException.FUNCTION);
  }
}

function readBits(code: number, first: number, count: number, bank: RegisterBank): Buffer {
  const packed = Buffer.alloc(Math.ceil(count / 8));
  for (let i = 0; i < count; i++) {
    const on = bank.readBit(first + i);
    if (on === undefined) return refuse(code, modbusException.ADDRESS);
    if (on) packed[i >> 3] = (packed[i >> 3] ?? 0) | (1 << (i & 7));
  }
  return Buffer.concat([Buffer.of(code, packed.length), packed]);
}

function readRegisters(code: number, first: number, count: number, bank: RegisterBank): Buffer {
  const writer = new ByteWriter(2 + 2 * count).u8(code).u8(2 * count);
  for (let i = 0; i < count; i++) {
    const value = bank.readRegister(first + i);
    if (value === undefined) return refuse(code, modbusException.ADDRESS);
    writer.u16(value);
  }
  return writer.finish();
}

/** Nothing is written when one address is wrong. */
function writeMany(code: number, first: number, count: number, data: Buffer, bank: RegisterBank): boolean {
  const reader = new ByteReader(data);
  const bit = (i: number): boolean => (((data[i >> 3] ?? 0) >> (i & 7)) & 1) === 1;
  const known = (address: number): boolean =>
    (code === 15 ? bank.readBit(address) : bank.readRegister(address)) !== undefined;
  for (let i = 0; i < count; i++) if (!known(first + i)) return false;
  let written = true;
  for (let i = 0; i < count; i++) {
    written =
      (code === 15 ? bank.writeBit(first + i, bit(i)) : bank.writeRegister(first + i, reader.u16())) &&
      written;
  }
  return written;
}
