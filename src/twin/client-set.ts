/** A listening TCP port with the connections it has accepted. */
import { createServer, type Server, type Socket } from "node:net";
import { CellError } from "../base/errors.js";

export class ClientSet {
  readonly sockets = new Set<Socket>();
  private server: Server | undefined;

  constructor(
    private readonly host: string,
    private readonly wantedPort: number,
    private readonly onClient: (socket: Socket) => void,
  ) {}

  /** The port that is listened on; differs from the wanted one when that was 0. */
  get port(): number {
    const address = this.server?.address();
    return address !== null && typeof address === "object" ? address.port : this.wantedPort;
  }

  /** @throws CellError LINK_BUSY when the port is taken. */
  async listen(): Promise<void> {
    const server = createServer({ noDelay: true }, (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
      // A client that vanishes is an ordinary event; `close` follows.
      socket.on("error", () => socket.destroy());
      this.onClient(socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => {
        reject(
          new CellError("LINK_BUSY", `cannot listen on ${this.host}:${this.wantedPort}: ${error.message}`, {
            cause: error,
          }),
        );
      });
      server.listen(this.wantedPort, this.host, resolve);
    });
    this.server = server;
  }

  drop(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.drop();
    const { server } = this;
    this.server = undefined;
    if (server) await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}
