/**
 * Dashboard client (TCP 29999): one command in flight, a deadline for each, and the connection dropped after a missed
 * reply, so that a late answer is never taken for the answer to the next command.
 */
import type { Socket } from "node:net";
import { asCellError, CellError } from "../../base/errors.js";
import { dashboardBanner, isExpectedReply, LineFramer } from "./codec/dashboard.js";
import { Condition, openSocket } from "./link.js";

export interface DashboardOptions {
  readonly host: string;
  readonly port: number;
  /** The banner may come late while the controller boots. */
  readonly bannerLimitS: number;
  readonly replyLimitS: number;
}

interface Session {
  readonly socket: Socket;
  readonly lines: string[];
  readonly arrived: Condition;
  ended: CellError | undefined;
}

export class DashboardClient {
  private session: Session | undefined;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: DashboardOptions) {}

  /** Waits for the banner. @throws CellError LINK_CONNECT, LINK_TIMEOUT, LINK_PROTOCOL */
  async connect(signal?: AbortSignal): Promise<void> {
    await this.enqueue(async () => {
      await this.ensure(signal);
    });
  }

  /**
   * Sends a command and returns its reply. @param limitS deadline of a slow command.
   * @throws CellError DEVICE_REFUSED when the reply is not what success sounds like
   */
  send(command: string, signal?: AbortSignal, limitS = this.options.replyLimitS): Promise<string> {
    return this.enqueue(async () => {
      const session = await this.ensure(signal);
      session.lines.length = 0;
      session.socket.write(`${command}\n`);
      let reply: string;
      try {
        reply = await this.line(session, limitS, `UR dashboard: reply to '${command}'`, signal);
      } catch (error) {
        this.drop();
        throw error;
      }
      if (!isExpectedReply(command, reply)) {
        throw new CellError("DEVICE_REFUSED", `UR dashboard: '${command}' was answered '${reply}'`);
      }
      return reply;
    });
  }

  /** As `send`, or undefined where the firmware does not know the command. */
  async ask(command: string, signal?: AbortSignal): Promise<string | undefined> {
    try {
      return await this.send(command, signal);
    } catch (error) {
      if (asCellError(error).code === "DEVICE_REFUSED") return undefined;
      throw error;
    }
  }

  close(): void {
    this.drop();
  }

  private enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.queue.then(work);
    this.queue = result.catch(() => undefined);
    return result;
  }

  private drop(): void {
    this.session?.socket.destroy();
    this.session = undefined;
  }

  private async ensure(signal?: AbortSignal): Promise<Session> {
    if (this.session && !this.session.ended) return this.session;
    this.drop();
    const { host, port, replyLimitS, bannerLimitS } = this.options;
    const socket = await openSocket(host, port, replyLimitS, "UR dashboard", signal);
    const session: Session = { socket, lines: [], arrived: new Condition(), ended: undefined };
    const framer = new LineFramer();
    const end = (error: CellError): void => {
      session.ended ??= error;
      session.arrived.check();
    };
    socket.on("data", (chunk) => {
      try {
        session.lines.push(...framer.push(chunk));
      } catch (error) {
        end(new CellError("LINK_PROTOCOL", "UR dashboard: an endless line", { cause: error }));
        socket.destroy();
      }
      session.arrived.check();
    });
    socket.on("error", (error) => {
      end(new CellError("LINK_CLOSED", `UR dashboard: ${error.message}`, { cause: error }));
    });
    socket.on("close", () => {
      end(new CellError("LINK_CLOSED", "UR dashboard: the controller closed the connection"));
    });
    this.session = session;
    try {
      const banner = await this.line(session, bannerLimitS, "UR dashboard: banner", signal);
      if (!banner.startsWith(dashboardBanner)) {
        throw new CellError("LINK_PROTOCOL", `UR dashboard: greeted with '${banner.slice(0, 80)}'`);
      }
    } catch (error) {
      this.drop();
      throw error;
    }
    return session;
  }

  private line(session: Session, limitS: number, what: string, signal?: AbortSignal): Promise<string> {
    return session.arrived.until(
      () => {
        const line = session.lines.shift();
        if (line === undefined && session.ended) throw session.ended;
        return line;
      },
      limitS,
      what,
      signal,
    );
  }
}
