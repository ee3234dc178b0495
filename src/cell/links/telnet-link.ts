/**
 * A line behind a Telnet login (RFC 854): every option that the device offers or asks for is refused, its prompt for a
 * password is answered, and what it says until then never reaches the owner. A login takes a moment that a stop does not
 * have: the guardian shares this connection.
 */
import { once } from "node:events";
import type { Socket } from "node:net";
import { monotonicNow, systemClock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import { SocketLink } from "./socket-link.js";
import { connectTcp, type TcpAddress } from "./tcp-link.js";

export interface TelnetAddress extends TcpAddress {
  readonly password: string;
}

const iac = 255;
const will = 251;
const wont = 252;
const demand = 253;
const dont = 254;
const subnegotiation = 250;
const end = 240;

/** Takes the negotiation out of a stream that may come in any pieces. */
export class TelnetFilter {
  private state: "data" | "command" | "option" | "sub" | "sub-command" = "data";
  private verb = 0;

  /** @returns the data, and what must be answered */
  push(bytes: Uint8Array): { readonly data: Buffer; readonly answer: Buffer } {
    const data: number[] = [];
    const answer: number[] = [];
    for (const byte of bytes) {
      switch (this.state) {
        case "data":
          if (byte === iac) this.state = "command";
          else data.push(byte);
          break;
        case "command":
          this.verb = byte;
          if (byte === iac) data.push(iac);
          this.state = byte === subnegotiation ? "sub" : byte >= will && byte <= dont ? "option" : "data";
          break;
        case "option":
          if (this.verb === will) answer.push(iac, dont, byte);
          if (this.verb === demand) answer.push(iac, wont, byte);
          this.state = "data";
          break;
        case "sub":
          if (byte === iac) this.state = "sub-command";
          break;
        case "sub-command":
          this.state = byte === end ? "data" : "sub";
          break;
      }
    }
    return { data: Buffer.from(data), answer: Buffer.from(answer) };
  }
}

export class TelnetLink extends SocketLink {
  private filter = new TelnetFilter();

  /** @param loginTimeoutS for the whole login; @param quietS silence after which it is taken to be over */
  constructor(
    private readonly address: TelnetAddress,
    private readonly loginTimeoutS = 5,
    private readonly quietS = 0.2,
  ) {
    super(`telnet ${address.host}:${address.port}`, true);
  }

  protected async connected(signal: AbortSignal | undefined): Promise<Socket> {
    this.filter = new TelnetFilter();
    const socket = await connectTcp(this.description, this.address, this.loginTimeoutS, signal);
    socket.on("error", () => undefined);
    try {
      await this.login(socket, signal);
    } catch (error) {
      socket.destroy();
      throw error;
    }
    socket.removeAllListeners("data");
    return socket;
  }

  protected override received(bytes: Buffer): void {
    const { data, answer } = this.filter.push(bytes);
    if (answer.length > 0) this.socket?.write(answer);
    if (data.length > 0) super.received(data);
  }

  private async login(socket: Socket, signal: AbortSignal | undefined): Promise<void> {
    let said = "";
    let lastS = monotonicNow();
    socket.on("data", (bytes: Buffer) => {
      lastS = monotonicNow();
      const { data, answer } = this.filter.push(bytes);
      if (answer.length > 0) socket.write(answer);
      said = (said + data.toString("latin1")).slice(-200);
    });
    const closed = once(socket, "close");
    const untilS = monotonicNow() + this.loginTimeoutS;
    const waitFor = async (done: () => boolean, missing: string): Promise<void> => {
      while (!done()) {
        if (signal?.aborted === true)
          throw new CellError("LINK_ABORTED", `${this.description}: the login was cancelled`);
        if (socket.destroyed || socket.readableEnded)
          throw new CellError("LINK_CONNECT", `${this.description}: closed during the login`);
        if (monotonicNow() > untilS) throw new CellError("LINK_CONNECT", `${this.description}: ${missing}`);
        await Promise.race([closed, systemClock.sleep(0.01)]);
      }
    };
    const asks = (): boolean => /password\s*[:>]?\s*$/i.test(said);
    await waitFor(asks, "no prompt for a password: a controller in its host role has none");
    said = "";
    socket.write(`${this.address.password}\r\n`);
    lastS = monotonicNow();
    await waitFor(
      () => asks() || monotonicNow() - lastS > this.quietS,
      "the device never falls silent after the login",
    );
    if (asks()) throw new CellError("LINK_CONNECT", `${this.description}: the password is refused`);
  }
}
