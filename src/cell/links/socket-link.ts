/**
 * A connected TCP socket as a ByteLink; how it comes to be connected is the business of its kinds. Keep-alive finds a
 * pulled cable; Nagle's delay would add to every round trip.
 */
import type { Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import type { ByteLink } from "./byte-link.js";
import { descriptorOf, setReading } from "./socket-handle.js";

export abstract class SocketLink implements ByteLink {
  onData: (bytes: Uint8Array) => void = () => undefined;
  onClosed: (reason: CellError) => void = () => undefined;
  protected socket: Socket | undefined;

  /** @param shared nobody else can connect: the guardian and who borrows the line use this connection's descriptor */
  protected constructor(
    readonly description: string,
    private readonly shared: boolean,
  ) {}

  get isOpen(): boolean {
    return this.socket !== undefined;
  }

  get descriptor(): number | undefined {
    return this.shared && this.socket !== undefined ? descriptorOf(this.socket) : undefined;
  }

  /** A connected socket, ready for requests. @throws CellError LINK_CONNECT, LINK_ABORTED */
  protected abstract connected(signal: AbortSignal | undefined): Promise<Socket>;

  async open(signal?: AbortSignal): Promise<void> {
    if (this.socket !== undefined) return;
    const socket = await this.connected(signal);
    this.socket = socket;
    socket.removeAllListeners("error");
    let reason = "the device closed the connection";
    socket.on("data", (bytes: Buffer) => {
      if (this.socket === socket) this.received(bytes);
    });
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

  /** What the device sent. */
  protected received(bytes: Buffer): void {
    this.onData(bytes);
  }

  write(bytes: Uint8Array): void {
    if (this.socket === undefined) throw new CellError("LINK_CLOSED", `${this.description} is not open`);
    this.socket.write(bytes);
  }

  holdReading(on: boolean): void {
    if (this.shared && this.socket !== undefined) setReading(this.socket, !on);
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
