/**
 * The driver's end of the reverse socket: waits for the control script to connect back, keeps it alive, and hands over
 * commands. If this process stalls, the keep-alives stop with it and the script brakes the arm.
 */
import { EventEmitter } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import type { ArmEnvelope } from "../envelope.js";
import type { ArmMessage } from "../native.js";
import { decodeReverseStatus, reverseCommand, statusLength, type ReverseStatus } from "./codec/reverse.js";
import { Condition } from "./link.js";

interface Events {
  status: [ReverseStatus];
  closed: [];
}

export interface ReverseLinkOptions {
  /** Silence after which the script stops the arm. */
  readonly readTimeoutS: number;
  readonly keepAliveS: number;
  /** Judges every command and makes its bytes. */
  readonly envelope: ArmEnvelope;
}

/** A command before it has its place in the row. */
export type ArmCommand = Omit<ArmMessage, "sequence" | "timeoutMs">;

/** Where the arm stands when a motion begins. */
export interface ArmStart {
  readonly joints: readonly number[];
  /** Of the flange in the base frame: position, m, and rotation vector, rad. */
  readonly pose: readonly number[];
}

/** Moves that were judged, as the bytes that will go out. */
export interface JudgedMoves {
  readonly messages: readonly Buffer[];
  /** Of the last one. */
  readonly sequence: number;
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

  private write(command: ArmCommand): void {
    const { socket } = this;
    if (!socket || socket.destroyed) return;
    socket.write(this.encode(command, this.sequence));
  }

  private encode(command: ArmCommand, sequence: number): Buffer {
    const timeoutMs = Math.round(this.options.readTimeoutS * 1e3);
    return this.options.envelope.encode({ ...command, sequence, timeoutMs });
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

  /**
   * Has moves judged, one as a step from the other, all of them before the first goes out.
   * @throws CellError SAFETY_ENVELOPE
   */
  judge(moves: readonly ArmCommand[], start: ArmStart): JudgedMoves {
    this.options.envelope.standsAt(start.joints, start.pose);
    const messages = moves.map((move, i) => this.encode(move, this.sequence + i + 1));
    return { messages, sequence: this.sequence + messages.length };
  }

  /**
   * Sends moves that were judged. @throws CellError LINK_CLOSED; SAFETY_STOPPED when a stop came since they were judged
   */
  send({ messages, sequence }: JudgedMoves): void {
    if (!this.socket) throw new CellError("LINK_CLOSED", "UR: the control program is not connected");
    if (sequence !== this.sequence + messages.length)
      throw new CellError("SAFETY_STOPPED", "UR: stopped before the motion began");
    this.sequence = sequence;
    for (const message of messages) this.socket.write(message);
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
