/** Puts an emulated controller on the wire: a TCP port as host or Telnet, a host that it dials as client, or a pseudo-terminal. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import { PtyPort, type PtyOptions } from "../pty-port.js";
import type { StageClient } from "./client-sessions.js";
import type { KohzuEmulator } from "./kohzu-emulator.js";
import { TelnetLogin } from "./telnet-login.js";

/** As delivered. */
const telnetPassword = "KOSMOS";
/** How long a controller waits before it dials again; our assumption. */
const dialAgainS = 0.5;

export class KohzuTcpServer {
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  private isCut = false;
  private dialling: NodeJS.Timeout | undefined;
  private ended = false;

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
    this.ended = false;
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
    this.ended = true;
    clearTimeout(this.dialling);
    if (server === undefined) {
      this.dropConnections();
      return;
    }
    const closed = new Promise<void>((resolve) =>
      server.close(() => {
        resolve();
      }),
    );
    this.dropConnections();
    await closed;
  }

  /**
   * In the client role the controller dials a host, and again whenever there is no connection; in other roles nothing
   * happens. `close` ends it.
   */
  dial(host: string, port: number): void {
    this.ended = false;
    const again = (): void => {
      if (this.ended) return;
      this.dialling = setTimeout(() => {
        this.dial(host, port);
      }, dialAgainS * 1e3);
    };
    if (this.controller.role !== "client" || this.isCut) {
      again();
      return;
    }
    const socket = connect({ host, port, noDelay: true });
    socket.on("error", () => undefined);
    socket.once("close", again);
    socket.once("connect", () => {
      this.serve(socket);
    });
  }

  private accept(socket: Socket): void {
    // A client takes nobody's call.
    if (this.controller.role === "client") socket.destroy();
    else this.serve(socket);
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    const write = (bytes: Buffer): void => {
      if (socket.writable && !this.isCut) socket.write(bytes);
    };
    let client: StageClient | undefined;
    const enter = (): StageClient => (client = this.controller.attach("tcp", write));
    const login =
      this.controller.role === "telnet"
        ? new TelnetLogin(telnetPassword, {
            write,
            enter: (rest) => {
              enter().receive(rest);
            },
            refuse: () => socket.destroy(),
          })
        : undefined;
    if (login === undefined) enter();
    socket.on("data", (bytes: Buffer) => {
      if (this.isCut) return;
      if (client !== undefined) client.receive(bytes);
      else login?.receive(bytes);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      client?.close();
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
