/** A Modbus TCP server over a register bank: several clients, every request answered, garbage closes the connection. */
import type { Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import { ClientSet } from "../client-set.js";
import { encodeMbap, MbapFramer } from "./mbap-framer.js";
import { answer, type RegisterBank } from "./pdu.js";

export class ModbusTcpServer {
  readonly listener: ClientSet;
  /** Hears but answers nothing while true. */
  silent = false;

  constructor(
    host: string,
    port: number,
    private readonly bank: RegisterBank,
  ) {
    this.listener = new ClientSet(host, port, (socket) => this.accept(socket));
  }

  private accept(socket: Socket): void {
    const framer = new MbapFramer();
    socket.on("data", (chunk) => {
      try {
        for (const frame of framer.push(chunk)) {
          if (!this.silent) socket.write(encodeMbap({ ...frame, pdu: answer(frame.pdu, this.bank) }));
        }
      } catch (error) {
        if (!(error instanceof CellError)) throw error;
        socket.destroy();
      }
    });
  }
}
