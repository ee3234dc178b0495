/** A TCP connection as a ByteLink. Keep-alive finds a pulled cable; Nagle's delay would add to every round trip. */
import { connect, type Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import type { ByteLink } from "./byte-link.js";

export interface TcpAddress {
  readonly host: string;
  readonly port: number;
}

export class TcpLink implements ByteLink {
  onData: (bytes: Uint8Array) => void = () => undefined;
  onClosed: (reason: CellError) => void = () => undefined;
  readonly description: string;
  readonly descriptor = undefined;
  private socket: Socket | undefined;

  constructor(
    private readonly address: TcpAddress,
    private readonly connectTimeoutS = 3,
  ) {
    this.description = `tcp ${address.host}:${address.port}`;
  }

  get isOpen(): boolean {
    return this.socket !== undefined;
  }

  async open(signal?: AbortSignal): Promise<void> {
    if (this.socket !== undefined) return;
    const socket = connect({ ...this.address, noDelay: true, keepAlive: true, keepAliveInitialDelay: 2000 });
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = (error: Error): void => {
          reject(new CellError("LINK_CONNECT", `${this.description}: ${error.message}`, { cause: error }));
        };
        const abort = (): void => {
          reject(new CellError("LINK_ABORTED", `${this.description}: connecting was cancelled`));
        };
        const timer = setTimeout(() => {
          fail(new Error(`no connection after ${this.connectTimeoutS} s`));
        }, this.connectTimeoutS * 1e3);
        const settle = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
        };
        if (signal?.aborted === true) abort();
        signal?.addEventListener("abort", abort, { once: true });
        socket.once("connect", () => {
          settle();
          resolve();
        });
        socket.once("error", (error) => {
          settle();
          fail(error);
        });
      });
    } catch (error) {
      socket.on("error", () => undefined);
      socket.destroy();
      throw error;
    }
    this.socket = socket;
    socket.removeAllListeners("error");
    socket.on("data", (bytes: Buffer) => {
      if (this.socket === socket) this.onData(bytes);
    });
    let reason = "the device closed the connection";
    socket.on("error", (error) => {
      reason = error.message;
    });
    socket.on("end", () => socket.destroy());
    socket.on("close", () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      this.onClosed(new CellError("LINK_CLOSED", `${this.description}: ${reason}`));
    });
  }

  write(bytes: Uint8Array): void {
    if (this.socket === undefined) throw new CellError("LINK_CLOSED", `${this.description} is not open`);
    this.socket.write(bytes);
  }

  async close(): Promise<void> {
    const { socket } = this;
    this.socket = undefined;
    if (socket === undefined || socket.destroyed) return;
    await new Promise<void>((resolve) => {
      socket.once("close", () => {
        resolve();
      });
      socket.destroy();
    });
  }
}
