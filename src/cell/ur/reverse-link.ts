/**
 * The driver's end of the reverse socket: waits for the control script to connect back, keeps it alive, and hands over
 * commands. If this process stalls, the keep-alives stop with it and the script brakes the arm.
 */
import { EventEmitter } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import {
  decodeReverseStatus,
  encodeReverseCommand,
  reverseCommand,
  statusLength,
  type ReverseCommand,
  type ReverseStatus,
} from "./codec/reverse.js";
import { Condition } from "./link.js";

interface Events {
  status: [ReverseStatus];
  closed: [];
}

export interface ReverseLinkOptions {
  /** Silence after which the script stops the arm. */
  readonly readTimeoutS: number;
  readonly keepAliveS: number;
}

export class ReverseLink extends EventEmitter<Events> {
  latest: ReverseStatus | undefined;

  private server: Server | undefined;
  private socket: Socket | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly changed = new Condition();
  private session = 0;
  private sequence = 0;

  constructor(private readonly options: ReverseLinkOptions) {
    super();
  }

  get connected(): boolean {
    return this.socket !== undefined;
  }

  /** Listens for the script of `session`. @returns the port */
  async listen(host: string, port: number, session: number): Promise<number> {
    await this.close();
    this.session = session;
    this.sequence = 0;
    this.latest = undefined;
    const server = createServer({ noDelay: true }, (socket) => {
      this.accept(socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => {
        reject(
          new CellError("LINK_BUSY", `UR reverse socket at ${host}:${port}: ${error.message}`, {
            cause: error,
          }),
        );
      });
      server.listen(port, host, resolve);
    });
    this.server = server;
    const address = server.address();
    return address !== null && typeof address === "object" ? address.port : port;
  }

  private accept(socket: Socket): void {
    let pending: Buffer = Buffer.alloc(0);
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      while (pending.length >= 4 * statusLength) {
        const status = decodeReverseStatus(pending.subarray(0, 4 * statusLength));
        pending = pending.subarray(4 * statusLength);
        // Another script, or another program: it gets no commands, so it moves nothing.
        if (status.session !== this.session || (this.socket && this.socket !== socket)) {
          socket.destroy();
          return;
        }
        this.adopt(socket);
        this.latest = status;
        this.emit("status", status);
        this.changed.check();
      }
    });
    socket.on("close", () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      clearInterval(this.timer);
      this.emit("closed");
      this.changed.check();
    });
  }

  private adopt(socket: Socket): void {
    if (this.socket === socket) return;
    this.socket = socket;
    clearInterval(this.timer);
    const alive = (): void => {
      this.write({ kind: reverseCommand.KEEP_ALIVE, values: [], speed: 0, acceleration: 0, blend: 0 });
    };
    alive();
    this.timer = setInterval(alive, this.options.keepAliveS * 1e3);
  }

  private write(command: Omit<ReverseCommand, "sequence" | "timeoutMs">): void {
    const { socket } = this;
    if (!socket || socket.destroyed) return;
    const timeoutMs = Math.round(this.options.readTimeoutS * 1e3);
    socket.write(encodeReverseCommand({ ...command, sequence: this.sequence, timeoutMs }));
  }

  /** Waits until the script has connected back. */
  waitForScript(limitS: number, check: () => void, signal?: AbortSignal): Promise<void> {
    return this.changed
      .until(
        () => {
          check();
          return this.latest;
        },
        limitS,
        "UR: the control program connects back",
        signal,
      )
      .then(() => undefined);
  }
  /** Re-evaluates waits after something outside has changed. */
  wake(): void {
    this.changed.check();
  }

  /** Sends a command. @returns its sequence number. @throws CellError LINK_CLOSED */
  send(command: Omit<ReverseCommand, "sequence" | "timeoutMs">): number {
    if (!this.socket) throw new CellError("LINK_CLOSED", "UR: the control program is not connected");
    this.sequence++;
    this.write(command);
    return this.sequence;
  }

  /** Brakes the arm; does nothing when nobody listens. Never throws. */
  stop(decelerationRadS2: number): number {
    this.sequence++;
    this.write({
      kind: reverseCommand.STOP,
      values: [],
      speed: 0,
      acceleration: decelerationRadS2,
      blend: 0,
    });
    return this.sequence;
  }

  /** Ends the script's connection and listening. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    const { socket, server } = this;
    this.socket = undefined;
    this.server = undefined;
    this.latest = undefined;
    socket?.end();
    if (server)
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        socket?.destroySoon();
      });
  }
}
