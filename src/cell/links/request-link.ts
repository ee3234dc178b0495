/**
 * Request and reply with one device over one byte link. One request is in flight at a time; its matcher is in place
 * before the bytes leave, and its deadline starts after them. A reply that comes late is counted and dropped; after a
 * timeout the line is left to fall silent and synchronised anew by a request that moves nothing. A reply outside the
 * protocol closes the link.
 */
import { monotonicNow, systemClock } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import type { ByteLink } from "./byte-link.js";
import { startReplyTimer, type ReplyTimer } from "./reply-timer.js";

export interface RequestLinkOptions {
  /** For messages: the name of the device in the cell. */
  readonly device: string;
  readonly replyTimeoutS: number;
  /** Silence after which the line is taken to be quiet, before it is synchronised anew. */
  readonly quietS: number;
  /** Whether a link that was just opened may still carry bytes meant for an earlier owner. */
  readonly staleAtOpen: boolean;
}

export interface LinkCounters {
  readonly requests: number;
  readonly timeouts: number;
  /** Replies that nobody waited for any more. */
  readonly late: number;
  /** Lines that were damaged on their way, or were fragments of the past. */
  readonly damaged: number;
  readonly resynchronised: number;
}

/** One request: its bytes, and which reply is its own. */
export interface Request<Reply> {
  /** For messages: the command as it is written. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly matches: (reply: Reply) => boolean;
  /** Called once when the wait for the reply is over, however it ends. */
  readonly settled?: () => void;
  /** Deadline of this reply, where it differs from that of the link. */
  readonly timeoutS?: number;
}

/** What the link must know of the language it carries. */
export interface LineLanguage<Reply> {
  /** Gathers bytes into lines. @throws CellError LINK_PROTOCOL for a line without an end */
  readonly lines: { push(bytes: Uint8Array): string[]; reset(): void };
  /**
   * What a line means. Lines that answer no request are dealt with inside and are `unsolicited`.
   * @throws CellError LINK_PROTOCOL for what no such device sends
   */
  read(line: string): Reply | "unsolicited" | "damaged";
  /** Written before the synchronising request: ends whatever fragment the device may hold. */
  readonly clearing?: Uint8Array;
  /** Written before the link is given up because of what came: stops whatever the device may be moving. */
  readonly lastWord?: Uint8Array;
  /** A request without effect, for synchronising. */
  probe(): Request<Reply>;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Runs at the last moment before the bytes leave; throwing keeps them back. */
  readonly permit?: (() => void) | undefined;
}

interface Waiter<Reply> {
  readonly matches: (reply: Reply) => boolean;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: CellError) => void;
}

export class RequestLink<Reply> {
  /** The link went down by itself. */
  onClosed: (reason: CellError) => void = () => undefined;

  /** Oldest first: at most one of the queue, and what was written past it. */
  private readonly waiters = new Set<Waiter<Reply>>();
  private tail: Promise<unknown> = Promise.resolve();
  private outOfStep = false;
  private lastByteS = 0;
  private readonly counts = { requests: 0, timeouts: 0, late: 0, damaged: 0, resynchronised: 0 };

  constructor(
    private readonly link: ByteLink,
    private readonly language: LineLanguage<Reply>,
    private readonly options: RequestLinkOptions,
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

  /** Opens the link; what the device may have sent before is dropped. @throws CellError LINK_CONNECT, LINK_BUSY, LINK_ABORTED */
  async open(signal?: AbortSignal): Promise<void> {
    this.language.lines.reset();
    await this.link.open(signal);
    this.outOfStep = this.options.staleAtOpen;
    this.lastByteS = monotonicNow();
  }

  /**
   * Leaves the line to another reader: nothing that comes is heard, and what is written with `post` finds no reply. Taken
   * back, the link first brings itself in step again.
   */
  lend(on: boolean): void {
    this.link.holdReading(on);
    if (!on) this.outOfStep = true;
  }

  async close(): Promise<void> {
    this.fail(new CellError("LINK_CLOSED", `${this.options.device}: the link was closed`));
    await this.link.close();
  }

  /**
   * Sends a request when those before it are answered, and waits for its reply.
   * @param name the command in messages, before its request is made
   * @param make called at the last moment before the bytes leave
   * @throws CellError LINK_TIMEOUT, LINK_CLOSED, LINK_PROTOCOL, LINK_ABORTED, and what `permit` throws
   */
  async exchange(name: string, make: () => Request<Reply>, options: RequestOptions = {}): Promise<Reply> {
    const turn = this.tail.then(async () => {
      if (options.signal?.aborted === true)
        throw new CellError(
          "LINK_ABORTED",
          `${this.options.device}: ${name} was cancelled before it was sent`,
        );
      if (this.outOfStep) await this.synchronise();
      options.permit?.();
      return this.post(make());
    });
    this.tail = turn.catch(() => undefined);
    return turn;
  }

  /** Writes bytes at once that nobody waits for a reply to. @throws CellError LINK_CLOSED */
  say(bytes: Uint8Array): void {
    this.link.write(bytes);
  }

  /** Writes a request at once, past the queue and any request in flight: for stops. Registers, writes, starts the timer. */
  post(request: Request<Reply>): Promise<Reply> {
    const { device, replyTimeoutS } = this.options;
    const startS = monotonicNow();
    return new Promise<Reply>((resolve, reject) => {
      let timer: ReplyTimer | undefined = undefined;
      const settle = (): void => {
        timer?.cancel();
        this.waiters.delete(waiter);
        request.settled?.();
      };
      const waiter: Waiter<Reply> = {
        matches: request.matches,
        resolve: (reply) => {
          settle();
          resolve(reply);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      this.waiters.add(waiter);
      this.counts.requests++;
      try {
        this.link.write(request.bytes);
      } catch (error) {
        waiter.reject(asCellError(error));
      }
      // The link may have gone down while it was written to.
      if (!this.waiters.has(waiter)) return;
      timer = startReplyTimer(request.timeoutS ?? replyTimeoutS, () => {
        this.counts.timeouts++;
        this.outOfStep = true;
        const elapsed = (monotonicNow() - startS).toFixed(3);
        waiter.reject(
          new CellError("LINK_TIMEOUT", `${device}: no reply to ${request.name} after ${elapsed} s`),
        );
      });
    });
  }

  /** Lets the line fall silent, forgets what came, and asks until the answer is the one expected. */
  private async synchronise(): Promise<void> {
    const { quietS, device, replyTimeoutS } = this.options;
    const giveUpS = monotonicNow() + 10 * quietS + replyTimeoutS;
    this.lastByteS = Math.max(this.lastByteS, monotonicNow() - quietS / 2);
    while (monotonicNow() - this.lastByteS < quietS && monotonicNow() < giveUpS)
      await systemClock.sleep(quietS / 4);
    this.language.lines.reset();
    try {
      if (this.language.clearing) this.link.write(this.language.clearing);
      await this.post(this.language.probe());
    } catch (error) {
      const reason = new CellError("LINK_CLOSED", `${device}: the link could not be synchronised`, {
        cause: error,
      });
      this.sayLastWord();
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
      for (const line of this.language.lines.push(bytes)) this.dispatch(line, strict);
    } catch (error) {
      if (strict) this.breakOff(asCellError(error));
    }
  }

  private dispatch(line: string, strict: boolean): void {
    let reply: Reply | "unsolicited" | "damaged";
    try {
      reply = this.language.read(line);
    } catch (error) {
      if (strict) throw error;
      reply = "damaged";
    }
    if (reply === "unsolicited") return;
    if (reply === "damaged") {
      this.counts.damaged++;
      return;
    }
    for (const waiter of this.waiters)
      if (waiter.matches(reply)) {
        waiter.resolve(reply);
        return;
      }
    this.counts.late++;
  }

  /** A reply outside the protocol: nothing on this link can be believed any more. */
  private breakOff(reason: CellError): void {
    this.sayLastWord();
    this.fail(reason);
    void this.link.close();
    this.onClosed(reason);
  }

  private sayLastWord(): void {
    const { lastWord } = this.language;
    if (lastWord === undefined) return;
    try {
      this.link.write(lastWord);
    } catch {
      // The link is down already; who guards the device has its own way to it.
    }
  }

  private fail(reason: CellError): void {
    this.language.lines.reset();
    for (const waiter of [...this.waiters]) waiter.reject(reason);
  }
}
