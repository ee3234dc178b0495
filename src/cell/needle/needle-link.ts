/**
 * Request and reply with the needle drive over its serial line. Every request carries an id that its reply repeats, so a
 * late reply can never be taken for the answer to another request; it is counted and dropped.
 */
import { monotonicNow, systemClock } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import type { ByteLink } from "../links/byte-link.js";
import { startReplyTimer } from "../links/reply-timer.js";
import { decodeReply, encodeRequest, LineAssembler, type NeedleReply } from "./codec.js";

export interface NeedleLinkOptions {
  /** For messages: the name of the device in the cell. */
  readonly device: string;
  readonly address: number;
  readonly checksums: boolean;
  readonly replyTimeoutS: number;
  readonly quietS: number;
}

export interface NeedleLinkCounters {
  readonly requests: number;
  readonly timeouts: number;
  readonly late: number;
  /** Lines whose checksum was wrong. */
  readonly damaged: number;
}

interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Runs at the last moment before the bytes leave; throwing keeps them back. */
  readonly permit?: (() => void) | undefined;
}

interface Waiter {
  readonly resolve: (reply: NeedleReply) => void;
  readonly reject: (error: CellError) => void;
}

export class NeedleLink {
  onAlert: (alert: NeedleReply) => void = () => undefined;
  onClosed: (reason: CellError) => void = () => undefined;

  private readonly lines = new LineAssembler();
  private readonly waiters = new Map<number, Waiter>();
  private tail: Promise<unknown> = Promise.resolve();
  private nextId = 0;
  private outOfStep = false;
  private lastByteS = 0;
  private readonly counts = { requests: 0, timeouts: 0, late: 0, damaged: 0 };

  constructor(
    private readonly link: ByteLink,
    private readonly options: NeedleLinkOptions,
  ) {
    link.onData = (bytes) => {
      this.receive(bytes);
    };
    link.onClosed = (reason) => {
      this.fail(reason);
      this.onClosed(reason);
    };
  }

  get isOpen(): boolean {
    return this.link.isOpen;
  }

  get descriptor(): number | undefined {
    return this.link.descriptor;
  }

  get counters(): NeedleLinkCounters {
    return { ...this.counts };
  }

  /** @throws CellError LINK_CONNECT, LINK_BUSY, LINK_ABORTED */
  async open(signal?: AbortSignal): Promise<void> {
    this.lines.reset();
    await this.link.open(signal);
    // The line may still hold what was sent to an earlier owner.
    this.outOfStep = true;
    this.lastByteS = monotonicNow();
  }

  async close(): Promise<void> {
    this.fail(new CellError("LINK_CLOSED", `${this.options.device}: the link was closed`));
    await this.link.close();
  }

  /**
   * Sends one command and waits for its reply; one in flight.
   * @param axis 0 for commands to the device as a whole
   * @throws CellError DEVICE_REFUSED for a rejection, with its reason; LINK_TIMEOUT, LINK_CLOSED, LINK_PROTOCOL,
   *   LINK_ABORTED
   */
  async request(axis: number, command: string, options: RequestOptions = {}): Promise<NeedleReply> {
    const turn = this.tail.then(async () => {
      if (options.signal?.aborted === true)
        throw new CellError(
          "LINK_ABORTED",
          `${this.options.device}: ${command} was cancelled before it was sent`,
        );
      if (this.outOfStep) await this.synchronise();
      options.permit?.();
      return this.post(axis, command);
    });
    this.tail = turn.catch(() => undefined);
    return this.accept(command, await turn);
  }

  /** Writes a command at once, past the queue: for stops. */
  async requestNow(axis: number, command: string): Promise<NeedleReply> {
    return this.accept(command, await this.post(axis, command));
  }

  private accept(command: string, reply: NeedleReply): NeedleReply {
    if (!reply.accepted)
      throw new CellError(
        "DEVICE_REFUSED",
        `${this.options.device}: ${command}: ${reply.data} (${reply.flag})`,
      );
    return reply;
  }

  /** Registers the waiter, writes, starts the timer; in this order. */
  private post(axis: number, command: string): Promise<NeedleReply> {
    const { device, address, checksums, replyTimeoutS } = this.options;
    const startS = monotonicNow();
    return new Promise<NeedleReply>((resolve, reject) => {
      const id = this.freeId();
      const settle = (): void => {
        timer.cancel();
        this.waiters.delete(id);
      };
      const waiter: Waiter = {
        resolve: (reply) => {
          settle();
          resolve(reply);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      this.waiters.set(id, waiter);
      this.counts.requests++;
      try {
        const text = encodeRequest({ device: address, axis, id, command }, checksums);
        this.link.write(Buffer.from(text, "latin1"));
      } catch (error) {
        this.waiters.delete(id);
        reject(asCellError(error));
        return;
      }
      const timer = startReplyTimer(replyTimeoutS, () => {
        this.counts.timeouts++;
        this.outOfStep = true;
        const elapsed = (monotonicNow() - startS).toFixed(3);
        waiter.reject(
          new CellError("LINK_TIMEOUT", `${device}: no reply to "${command}" after ${elapsed} s`),
        );
      });
    });
  }

  private freeId(): number {
    do this.nextId = (this.nextId + 1) % 100;
    while (this.waiters.has(this.nextId));
    return this.nextId;
  }

  /** Lets the line fall silent, ends any fragment with a line end, and asks for an empty reply. */
  private async synchronise(): Promise<void> {
    const { quietS, device, replyTimeoutS } = this.options;
    const giveUpS = monotonicNow() + 10 * quietS + replyTimeoutS;
    this.lastByteS = Math.max(this.lastByteS, monotonicNow() - quietS / 2);
    while (monotonicNow() - this.lastByteS < quietS && monotonicNow() < giveUpS)
      await systemClock.sleep(quietS / 4);
    this.lines.reset();
    try {
      this.link.write(Buffer.from("\r\n"));
      await this.post(0, "");
    } catch (error) {
      const reason = new CellError("LINK_CLOSED", `${device}: the line could not be synchronised`, {
        cause: error,
      });
      await this.link.close();
      this.onClosed(reason);
      throw reason;
    }
    this.outOfStep = false;
  }

  private receive(bytes: Uint8Array): void {
    this.lastByteS = monotonicNow();
    const strict = !this.outOfStep;
    try {
      for (const line of this.lines.push(bytes)) this.dispatch(line, strict);
    } catch (error) {
      if (!strict) return;
      const reason = asCellError(error);
      this.fail(reason);
      void this.link.close();
      this.onClosed(reason);
    }
  }

  private dispatch(line: string, strict: boolean): void {
    let reply: NeedleReply | undefined;
    try {
      reply = decodeReply(line);
    } catch (error) {
      if (strict) throw error;
    }
    if (reply === undefined) {
      this.counts.damaged++;
      return;
    }
    if (reply.type === "alert") this.onAlert(reply);
    if (reply.type !== "reply" || reply.device !== this.options.address) return;
    const waiter = reply.id === undefined ? undefined : this.waiters.get(reply.id);
    if (waiter === undefined) this.counts.late++;
    else waiter.resolve(reply);
  }

  private fail(reason: CellError): void {
    this.lines.reset();
    for (const waiter of [...this.waiters.values()]) waiter.reject(reason);
  }
}
