/**
 * Requests and replies of Modbus as bytes, through modbus-serial: the library makes frames and reads them, the link that
 * owns the line carries them. Its own timer and its single slot for a reply are not used.
 */
import { EventEmitter } from "node:events";
import modbusSerial from "modbus-serial";

const { default: ModbusRTU } = modbusSerial;
type ModbusClient = InstanceType<typeof ModbusRTU>;

/** A request that waits for its reply. */
export interface CodedRequest {
  readonly bytes: Buffer;
  /** The registers of the reply to a read; empty for a write. @throws Error what the library says of a wrong reply */
  readonly decode: (frame: Buffer) => readonly number[];
}

/** The device answered with an exception code. */
export class ModbusException extends Error {
  constructor(readonly code: number) {
    super(`exception ${code}`);
  }
}

/** Stands where the library expects a port: keeps what is written, hands on what is put in. */
class Catch extends EventEmitter {
  readonly isOpen = true;
  written = Buffer.alloc(0);
  open(done: () => void): void {
    done();
  }
  close(done?: () => void): void {
    done?.();
  }
  write(bytes: Buffer): void {
    this.written = Buffer.from(bytes);
  }
}

/** What the library says: registers of a read, or the place of a write. */
type Result = { readonly data: readonly number[] } | { readonly address: number } | undefined;

export class ModbusCoder {
  constructor(private readonly unit: number) {}

  readHolding(address: number, count: number): CodedRequest {
    return this.code((client, done) => client.writeFC3(this.unit, address, count, done));
  }

  readInput(address: number, count: number): CodedRequest {
    return this.code((client, done) => client.writeFC4(this.unit, address, count, done));
  }

  writeOne(address: number, value: number): CodedRequest {
    return this.code((client, done) => client.writeFC6(this.unit, address, value, done));
  }

  writeMany(address: number, values: readonly number[]): CodedRequest {
    return this.code((client, done) => client.writeFC16(this.unit, address, [...values], done));
  }

  private code(
    write: (client: ModbusClient, done: (error: Error | null, result: Result) => void) => void,
  ): CodedRequest {
    const port = new Catch();
    const client = new ModbusRTU(port);
    client.open(() => undefined);
    let answer: { readonly error: Error | null; readonly result: Result } | undefined;
    write(client, (error, result) => (answer = { error, result }));
    return {
      bytes: port.written,
      decode: (frame) => {
        answer = undefined;
        port.emit("data", frame);
        if (answer === undefined) throw new Error("no reply to this request");
        const { error, result } = answer as { readonly error: Error | null; readonly result: Result };
        if (error === null) return result !== undefined && "data" in result ? result.data : [];
        if ("modbusCode" in error && typeof error.modbusCode === "number")
          throw new ModbusException(error.modbusCode);
        throw error;
      },
    };
  }
}
