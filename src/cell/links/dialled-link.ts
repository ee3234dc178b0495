/**
 * A TCP connection that the device makes: it dials this machine, which listens only while it waits. There is one such
 * connection, so that the guardian and who borrows the line share its descriptor.
 */
import { createServer, type Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import { SocketLink } from "./socket-link.js";
import type { TcpAddress } from "./tcp-link.js";

export class DialledLink extends SocketLink {
  /**
   * @param address where to listen
   * @param waitS devices dial again every few seconds, and how often is theirs to choose
   */
  constructor(
    private readonly address: TcpAddress,
    private readonly waitS = 15,
  ) {
    super(`tcp, dialled by the device at ${address.host}:${address.port}`, true);
  }

  protected async connected(signal: AbortSignal | undefined): Promise<Socket> {
    const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 2000 });
    // A second one would be another device, or a stranger.
    server.maxConnections = 1;
    try {
      return await new Promise<Socket>((resolve, reject) => {
        const timer = setTimeout(() => {
          reject(new CellError("LINK_CONNECT", `${this.description}: nobody after ${this.waitS} s`));
        }, this.waitS * 1e3);
        const abort = (): void => {
          reject(new CellError("LINK_ABORTED", `${this.description}: the wait was cancelled`));
        };
        const settle = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
        };
        if (signal?.aborted === true) abort();
        signal?.addEventListener("abort", abort, { once: true });
        server.once("error", (error) => {
          settle();
          reject(new CellError("LINK_CONNECT", `${this.description}: ${error.message}`, { cause: error }));
        });
        server.once("connection", (socket) => {
          settle();
          socket.on("error", () => undefined);
          resolve(socket);
        });
        server.listen(this.address.port, this.address.host);
      });
    } finally {
      // Takes no further connection; the one that was made stays.
      server.close();
    }
  }
}
