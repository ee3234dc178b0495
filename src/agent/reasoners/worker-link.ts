/**
 * One question at a time to a process of somebody else's, over ZeroMQ: a request of several parts goes out, a reply of
 * two (JSON header, text) comes back. A reply counts only with the id and the content hash of the request that waits.
 * Late, foreign and malformed replies are dropped and counted. A worker that hangs or dies costs one deadline, never more.
 */
import { randomUUID } from "node:crypto";
import { Dealer } from "zeromq";
import type { z } from "zod";
import { systemClock, type Clock } from "../../base/clock.js";
import { CellError, type ErrorCode } from "../../base/errors.js";

export interface WorkerEndpoint {
  /** `ipc://…` or `tcp://…`. */
  readonly endpoint: string;
  /** Whether this side binds (workers connect) or connects (the worker binds). */
  readonly mode: "bind" | "connect";
  /** From request to reply, s. */
  readonly budgetS: number;
  readonly clock?: Clock;
}

export interface WorkerCounters {
  readonly requests: number;
  readonly replies: number;
  /** Answers to requests whose deadline had passed. */
  readonly late: number;
  /** Ids never asked, or the right id with the hash of another content. */
  readonly foreign: number;
  readonly malformed: number;
}

/** What every reply's header holds, whatever else it does. */
export interface WorkerHeader {
  readonly id: string;
}

export interface WorkerProtocol<H extends WorkerHeader> {
  /** As in "reasoner worker", for messages. */
  readonly peer: string;
  /** The error for a question that was not answered. */
  readonly failure: ErrorCode;
  readonly header: z.ZodType<H>;
  /** The hash that a reply echoes. */
  readonly hashOf: (header: H) => string;
}

export interface WorkerReply<H> {
  readonly header: H;
  readonly text: Uint8Array;
  readonly receivedAtS: number;
}

interface Pending<H> {
  readonly id: string;
  readonly hash: string;
  readonly resolve: (reply: WorkerReply<H>) => void;
}

/** A reply of more than this closes the connection: no parser of ours takes as much. */
const maxMessageBytes = 256 * 1024;
const retryS = 0.02;

export class WorkerLink<H extends WorkerHeader> {
  private readonly clock: Clock;
  private socket: Dealer | undefined;
  private receiving: Promise<void> | undefined;
  private pending: Pending<H> | undefined;
  /** Ids whose time has passed, newest last. */
  private readonly past: string[] = [];
  private readonly count = { requests: 0, replies: 0, late: 0, foreign: 0, malformed: 0 };

  constructor(
    private readonly options: WorkerEndpoint,
    private readonly protocol: WorkerProtocol<H>,
  ) {
    this.clock = options.clock ?? systemClock;
  }

  get counters(): WorkerCounters {
    return { ...this.count };
  }

  /** Opens the socket; the worker may come before or after. @throws CellError LINK_CONNECT */
  async start(): Promise<void> {
    if (this.socket !== undefined) return;
    const { endpoint, mode } = this.options;
    const socket = new Dealer({
      linger: 0,
      // Nothing is queued for a worker that is not there, and little for one that does not read.
      immediate: true,
      sendHighWaterMark: 2,
      receiveHighWaterMark: 16,
      sendTimeout: 0,
      maxMessageSize: maxMessageBytes,
      reconnectInterval: 100,
      reconnectMaxInterval: 1000,
    });
    try {
      if (mode === "bind") await socket.bind(endpoint);
      else socket.connect(endpoint);
    } catch (error) {
      socket.close();
      throw new CellError("LINK_CONNECT", `${this.protocol.peer}: cannot ${mode} ${endpoint}`, {
        cause: error,
      });
    }
    this.socket = socket;
    this.receiving = this.receive(socket);
  }

  async close(): Promise<void> {
    this.socket?.close();
    this.socket = undefined;
    await this.receiving?.catch(() => undefined);
  }

  /**
   * Asks once. `parts` makes the request from its id and the time it is sent at (s, the clock's).
   * @throws CellError the protocol's `failure` when no reply came in time, LINK_ABORTED when the signal fired
   */
  async ask(
    hash: string,
    parts: (id: string, sentAtS: number) => (string | Uint8Array)[],
    signal: AbortSignal,
  ): Promise<WorkerReply<H>> {
    const { failure } = this.protocol;
    const { socket } = this;
    if (socket === undefined) throw new CellError(failure, "the link to the worker was not started");
    if (this.pending !== undefined) throw new CellError(failure, "one question is under way already");
    const startS = this.clock.now();
    const id = randomUUID();
    const elapsed = (): string => `${(this.clock.now() - startS).toFixed(2)} s`;
    const deadline = AbortSignal.timeout(Math.ceil(this.options.budgetS * 1e3));
    const over = AbortSignal.any([signal, deadline]);
    const reply = new Promise<WorkerReply<H>>((resolve) => {
      this.pending = { id, hash, resolve };
    });
    this.count.requests++;
    try {
      const sent = await this.send(socket, parts(id, startS), over);
      if (!sent) {
        signal.throwIfAborted();
        throw new CellError(failure, `no worker took the request within ${elapsed()}`);
      }
      return await Promise.race([reply, rejectOn(over)]);
    } catch (error) {
      if (signal.aborted) {
        throw new CellError("LINK_ABORTED", "the question was cancelled", { cause: signal.reason });
      }
      if (deadline.aborted && !(error instanceof CellError)) {
        throw new CellError(failure, `no reply to ${id} within ${elapsed()}`);
      }
      if (error instanceof CellError) throw error;
      throw new CellError(failure, "the request could not be sent", { cause: error });
    } finally {
      this.pending = undefined;
      this.past.push(id);
      if (this.past.length > 64) this.past.shift();
    }
  }

  /** False when the time was over before any worker took it. */
  private async send(socket: Dealer, parts: (string | Uint8Array)[], over: AbortSignal): Promise<boolean> {
    while (!over.aborted) {
      try {
        await socket.send(parts);
        return true;
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        if (code !== "EAGAIN" && code !== "EBUSY") throw error;
      }
      await this.clock.sleep(retryS, over).catch(() => undefined);
    }
    return false;
  }

  private async receive(socket: Dealer): Promise<void> {
    for await (const parts of socket) this.take(parts);
  }

  private take(parts: readonly Uint8Array[]): void {
    const header = this.readHeader(parts);
    const text = parts[1];
    if (header === undefined || text === undefined || parts.length !== 2) {
      this.count.malformed++;
      return;
    }
    const { pending } = this;
    if (pending === undefined || header.id !== pending.id) {
      if (this.past.includes(header.id)) this.count.late++;
      else this.count.foreign++;
      return;
    }
    if (this.protocol.hashOf(header) !== pending.hash) {
      this.count.foreign++;
      return;
    }
    this.count.replies++;
    pending.resolve({ header, text, receivedAtS: this.clock.now() });
  }

  private readHeader(parts: readonly Uint8Array[]): H | undefined {
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(parts[0]);
      return this.protocol.header.parse(JSON.parse(text));
    } catch {
      return undefined;
    }
  }
}

/** The text of a reply. Bytes that are not UTF-8 decode to U+FFFD, which no parser of ours takes. */
export const replyText = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => {
      reject(signal.reason instanceof Error ? signal.reason : new Error("cancelled"));
    };
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}
