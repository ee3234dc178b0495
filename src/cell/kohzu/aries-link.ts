/**
 * Request and reply with an ARIES over one byte link. One request is in flight at a time; its matcher is in place before
 * the bytes leave. A reply that comes late is counted and dropped, and after a timeout the line is left to fall silent
 * and synchronised anew by asking for the identity.
 */
import { monotonicNow, systemClock } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import type { ByteLink } from "../links/byte-link.js";
import { startReplyTimer } from "../links/reply-timer.js";
import {
  decodeReply,
  describeCode,
  encodeRequest,
  integerField,
  LineAssembler,
  namesAxis,
  type AriesReply,
} from "./codec.js";

export interface AriesLinkOptions {
  /** For messages: the name of the device in the cell. */
  readonly device: string;
  /** STX before each request: serial lines only. */
  readonly stx: boolean;
  readonly replyTimeoutS: number;
  readonly quietS: number;
}

export interface LinkCounters {
  readonly requests: number;
  readonly timeouts: number;
  /** Replies that nobody waited for any more. */
  readonly late: number;
  readonly resynchronised: number;
}

interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Runs at the last moment before the bytes leave; throwing keeps them back. */
  readonly permit?: (() => void) | undefined;
}

interface Waiter {
  readonly matches: (reply: AriesReply) => boolean;
  readonly resolve: (reply: AriesReply) => void;
  readonly reject: (error: CellError) => void;
}

export class AriesLink {
  /** Spontaneous lines: emergency stop, lost link, changed device map. */
  onSystem: (reply: AriesReply) => void = () => undefined;
  /** The link went down by itself. */
  onClosed: (reason: CellError) => void = () => undefined;

  private readonly lines = new LineAssembler();
  private waiter: Waiter | undefined;
  private readonly stopWaiters = new Set<Waiter>();
  private tail: Promise<unknown> = Promise.resolve();
  private outOfStep = false;
  private lastByteS = 0;
  private readonly counts = { requests: 0, timeouts: 0, late: 0, resynchronised: 0 };

  constructor(
    private readonly link: ByteLink,
    private readonly options: AriesLinkOptions,
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

  get counters(): LinkCounters {
    return { ...this.counts };
  }

  /** Opens the link; what the device may have sent before is dropped. @throws CellError LINK_CONNECT, LINK_BUSY */
  async open(signal?: AbortSignal): Promise<void> {
    this.lines.reset();
    await this.link.open(signal);
    // A serial line may hold old bytes: the first request waits for quiet. A new TCP connection holds none.
    this.outOfStep = this.options.stx;
    this.lastByteS = monotonicNow();
  }

  async close(): Promise<void> {
    this.fail(new CellError("LINK_CLOSED", `${this.options.device}: the link was closed`));
    await this.link.close();
  }

  /**
   * Sends one request and waits for its reply.
   * @throws CellError DEVICE_REFUSED for an E reply, with the code in words
   * @throws CellError LINK_TIMEOUT, LINK_CLOSED, LINK_PROTOCOL, LINK_ABORTED
   */
  async request(
    command: string,
    parameters: readonly number[],
    options: RequestOptions = {},
  ): Promise<AriesReply> {
    const reply = await this.exchange(command, parameters, options);
    if (reply.kind === "E") throw this.refusal(command, parameters, reply);
    return reply;
  }

  /** As `request`, but returns E replies. */
  async exchange(
    command: string,
    parameters: readonly number[],
    options: RequestOptions = {},
  ): Promise<AriesReply> {
    const turn = this.tail.then(async () => {
      if (options.signal?.aborted === true)
        throw new CellError(
          "LINK_ABORTED",
          `${this.options.device}: ${command} was cancelled before it was sent`,
        );
      if (this.outOfStep) await this.synchronise();
      options.permit?.();
      return this.transact(command, parameters);
    });
    this.tail = turn.catch(() => undefined);
    return turn;
  }

  /**
   * Writes STP at once, past the queue and any request in flight, and waits for its reply.
   * @param axis 0 stops all axes
   */
  async stopNow(axis: number, emergency: boolean): Promise<AriesReply> {
    return this.post("STP", [axis, Number(emergency)], this.stopWaiters);
  }

  private refusal(command: string, parameters: readonly number[], reply: AriesReply): CellError {
    const code = integerField(reply, 0);
    const what = `${this.options.device}: ${command}${parameters.join("/")}: ${describeCode(code)}`;
    if (code === 5 || code === 314 || code === 800 || code === 801)
      return new CellError("DEVICE_EMERGENCY_STOP", what);
    if ((code >= 304 && code <= 306) || code === 310 || (code >= 316 && code <= 319))
      return new CellError("DEVICE_LIMIT", what);
    return new CellError("DEVICE_REFUSED", what);
  }

  private async transact(command: string, parameters: readonly number[]): Promise<AriesReply> {
    const others = new Set<Waiter>();
    try {
      return await this.post(command, parameters, others, (waiter) => {
        this.waiter = waiter;
      });
    } catch (error) {
      if (error instanceof CellError && error.code === "LINK_TIMEOUT") this.outOfStep = true;
      throw error;
    } finally {
      this.waiter = undefined;
    }
  }

  /** Registers a matcher, writes, starts the timer; in this order. */
  private post(
    command: string,
    parameters: readonly number[],
    group: Set<Waiter>,
    registered: (waiter: Waiter) => void = () => undefined,
  ): Promise<AriesReply> {
    const { device, stx, replyTimeoutS } = this.options;
    const axis = namesAxis(command) ? parameters[0] : undefined;
    const startS = monotonicNow();
    return new Promise<AriesReply>((resolve, reject) => {
      const settle = (): void => {
        timer.cancel();
        group.delete(waiter);
      };
      const waiter: Waiter = {
        // An error about the request as a whole names no axis.
        matches: (reply) =>
          reply.command === command &&
          (reply.axis === axis || (reply.kind === "E" && reply.axis === undefined)),
        resolve: (reply) => {
          settle();
          resolve(reply);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      group.add(waiter);
      registered(waiter);
      this.counts.requests++;
      try {
        this.link.write(encodeRequest(command, parameters, stx));
      } catch (error) {
        group.delete(waiter);
        reject(asCellError(error));
        return;
      }
      const timer = startReplyTimer(replyTimeoutS, () => {
        this.counts.timeouts++;
        const elapsed = (monotonicNow() - startS).toFixed(3);
        waiter.reject(
          new CellError(
            "LINK_TIMEOUT",
            `${device}: no reply to ${command}${parameters.join("/")} after ${elapsed} s`,
          ),
        );
      });
    });
  }

  /** Lets the line fall silent, forgets what came, and asks for the identity until the answer is the one expected. */
  private async synchronise(): Promise<void> {
    const { quietS, device, replyTimeoutS } = this.options;
    const giveUpS = monotonicNow() + 10 * quietS + replyTimeoutS;
    this.lastByteS = Math.max(this.lastByteS, monotonicNow() - quietS / 2);
    while (monotonicNow() - this.lastByteS < quietS && monotonicNow() < giveUpS)
      await systemClock.sleep(quietS / 4);
    this.lines.reset();
    try {
      await this.transact("IDN", []);
    } catch (error) {
      const reason = new CellError(
        "LINK_CLOSED",
        `${device}: the link could not be synchronised after a timeout`,
        { cause: error },
      );
      await this.link.close();
      this.onClosed(reason);
      throw reason;
    }
    this.outOfStep = false;
    this.counts.resynchronised++;
  }

  private receive(bytes: Uint8Array): void {
    this.lastByteS = monotonicNow();
    // Before the line is known to be in step, what comes may be half a line of the past.
    const strict = !this.outOfStep;
    try {
      for (const line of this.lines.push(bytes)) if (line !== "") this.dispatch(line, strict);
    } catch (error) {
      if (strict) this.breakOff(asCellError(error));
    }
  }

  private dispatch(line: string, strict: boolean): void {
    let reply: AriesReply;
    try {
      reply = decodeReply(line);
    } catch (error) {
      if (strict) throw error;
      this.counts.late++;
      return;
    }
    if (reply.command === "SYS") {
      this.onSystem(reply);
      return;
    }
    for (const waiter of this.stopWaiters)
      if (waiter.matches(reply)) {
        waiter.resolve(reply);
        return;
      }
    if (this.waiter?.matches(reply) === true) this.waiter.resolve(reply);
    else this.counts.late++;
  }

  /** A reply outside the protocol: nothing on this link can be believed any more. */
  private breakOff(reason: CellError): void {
    this.fail(reason);
    void this.link.close();
    this.onClosed(reason);
  }

  private fail(reason: CellError): void {
    this.lines.reset();
    this.waiter?.reject(reason);
    for (const waiter of [...this.stopWaiters]) waiter.reject(reason);
  }
}
