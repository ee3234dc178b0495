/** Puts an emulated controller on the wire: a TCP port, or a pseudo-terminal. */
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import { PtyPort, type PtyOptions } from "../pty-port.js";
import type { KohzuEmulator } from "./kohzu-emulator.js";

export class KohzuTcpServer {
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  private isCut = false;

  constructor(private readonly controller: KohzuEmulator) {}

  /** @returns the port, chosen by the system when 0 was asked for. @throws CellError LINK_CONNECT */
  async listen(host: string, port: number): Promise<number> {
    const server = createServer((socket) => {
      this.accept(socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => {
        reject(
          new CellError("LINK_CONNECT", `stage controller on ${host}:${port}: ${error.message}`, {
            cause: error,
          }),
        );
      });
      server.listen(port, host, resolve);
    });
    this.server = server;
    return (server.address() as AddressInfo).port;
  }

  /** Cuts all connections, as a pulled cable or a power cycle would; new ones are accepted. */
  dropConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** A pulled cable: nothing passes either way, and nobody is told. */
  cut(on: boolean): void {
    this.isCut = on;
  }

  async close(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) =>
      server.close(() => {
        resolve();
      }),
    );
    this.dropConnections();
    await closed;
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    const client = this.controller.attach("tcp", (bytes) => {
      if (socket.writable && !this.isCut) socket.write(bytes);
    });
    socket.on("data", (bytes: Buffer) => {
      if (!this.isCut) client.receive(bytes);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      client.close();
      this.sockets.delete(socket);
    });
  }
}

/** Serves the controller on a pseudo-terminal with the serial dialect. Close the port to pull the cable. */
export async function serveKohzuOnPty(controller: KohzuEmulator, options: PtyOptions): Promise<PtyPort> {
  const port = new PtyPort(options);
  const client = controller.attach("serial", (bytes) => {
    port.write(bytes);
  });
  port.onData = (bytes) => {
    controller.faults.hear(bytes, (echoed) => port.write(echoed));
    client.receive(bytes);
  };
  await port.open();
  return port;
}
