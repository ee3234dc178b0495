/** A TCP connection that this side makes. */
import { connect, type Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import { SocketLink } from "./socket-link.js";

export interface TcpAddress {
  readonly host: string;
  readonly port: number;
}

export class TcpLink extends SocketLink {
  constructor(
    private readonly address: TcpAddress,
    private readonly connectTimeoutS = 3,
  ) {
    super(`tcp ${address.host}:${address.port}`, false);
  }

  protected connected(signal: AbortSignal | undefined): Promise<Socket> {
    return connectTcp(this.description, this.address, this.connectTimeoutS, signal);
  }
}

/** @param what for messages @throws CellError LINK_CONNECT, LINK_ABORTED */
export async function connectTcp(
  what: string,
  address: TcpAddress,
  timeoutS: number,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  const socket = connect({ ...address, noDelay: true, keepAlive: true, keepAliveInitialDelay: 2000 });
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (error: Error): void => {
        reject(new CellError("LINK_CONNECT", `${what}: ${error.message}`, { cause: error }));
      };
      const abort = (): void => {
        reject(new CellError("LINK_ABORTED", `${what}: connecting was cancelled`));
      };
      const timer = setTimeout(() => {
        fail(new Error(`no connection after ${timeoutS} s`));
      }, timeoutS * 1e3);
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
  return socket;
}
