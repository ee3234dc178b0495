/** Requests to a KOHZU controller and its replies over one byte link; what it says by itself is kept apart from replies. */
import { CellError } from "../../base/errors.js";
import type { StageEnvelope } from "../envelope.js";
import type { ByteLink } from "../links/byte-link.js";
import {
  RequestLink,
  type LinkCounters,
  type Request,
  type RequestLinkOptions,
  type RequestOptions,
} from "../links/request-link.js";
import { describeCode, type CodeFamily } from "./codec/codes.js";
import { decodeReply, encodeRequest, integerField, LineAssembler, type StageReply } from "./codec/framing.js";
import { replyAxis } from "./codec/reply-names.js";

export interface KohzuLinkOptions extends RequestLinkOptions {
  readonly family: CodeFamily;
  /** STX before each request: serial lines only. */
  readonly stx: boolean;
  /** Judges every line right before it goes out. */
  readonly envelope: StageEnvelope;
}

/** A command and its parameters, before it becomes bytes. */
export interface StageCommand {
  readonly name: string;
  readonly parameters: readonly number[];
}

export class KohzuLink {
  /** Spontaneous lines: emergency stop, lost link, changed device map. */
  onSystem: (reply: StageReply) => void = () => undefined;

  private readonly link: RequestLink<StageReply>;

  constructor(
    link: ByteLink,
    private readonly options: KohzuLinkOptions,
  ) {
    this.link = new RequestLink(
      link,
      {
        lines: new LineAssembler(),
        read: (line) => this.read(line),
        lastWord: encodeRequest("STP", [0, 1], options.stx),
        probe: () => this.prepare("IDN", []),
      },
      options,
    );
  }

  /** The link went down by itself. */
  set onClosed(heard: (reason: CellError) => void) {
    this.link.onClosed = heard;
  }

  get isOpen(): boolean {
    return this.link.isOpen;
  }

  get descriptor(): number | undefined {
    return this.link.descriptor;
  }

  get counters(): LinkCounters {
    return this.link.counters;
  }

  /** @throws CellError LINK_CONNECT, LINK_BUSY, LINK_ABORTED */
  async open(signal?: AbortSignal): Promise<void> {
    await this.link.open(signal);
  }

  async close(): Promise<void> {
    await this.link.close();
  }

  /** Leaves the line to another reader, or takes it back. */
  lend(on: boolean): void {
    this.link.lend(on);
  }

  /** Writes a stop whose reply another reader of the line gets. @throws CellError LINK_CLOSED */
  stopUnheard({ name, parameters }: StageCommand): void {
    this.link.say(this.prepare(name, parameters).bytes);
  }

  /**
   * Sends one request and waits for its reply.
   * @throws CellError DEVICE_REFUSED, DEVICE_LIMIT, DEVICE_EMERGENCY_STOP for an E reply, with the code in words
   * @throws CellError LINK_TIMEOUT, LINK_CLOSED, LINK_PROTOCOL, LINK_ABORTED
   */
  async request(
    command: string,
    parameters: readonly number[],
    options: RequestOptions = {},
  ): Promise<StageReply> {
    const reply = await this.link.exchange(command, () => this.prepare(command, parameters), options);
    if (reply.kind === "E") throw this.refusal(command, parameters, reply);
    return reply;
  }

  /** Writes a stop at once, past the queue and any request in flight, and waits for its reply, E replies included. */
  async stopNow({ name, parameters }: StageCommand, timeoutS: number): Promise<StageReply> {
    return this.link.post({ ...this.prepare(name, parameters), timeoutS });
  }

  private prepare(command: string, parameters: readonly number[]): Request<StageReply> {
    const axis = replyAxis(this.options.family, command, parameters);
    return {
      name: `${command}${parameters.join("/")}`,
      bytes: this.options.envelope.line(encodeRequest(command, parameters, this.options.stx)),
      // An error about the request as a whole names no axis.
      matches: (reply) =>
        reply.command === command &&
        (reply.axis === axis || (reply.kind === "E" && reply.axis === undefined)),
    };
  }

  private read(line: string): StageReply | "unsolicited" {
    if (line === "") return "unsolicited";
    const reply = decodeReply(line);
    if (reply.command !== "SYS") return reply;
    this.onSystem(reply);
    return "unsolicited";
  }

  private refusal(command: string, parameters: readonly number[], reply: StageReply): CellError {
    const { device, family } = this.options;
    const code = integerField(reply, 0);
    const what = `${device}: ${command}${parameters.join("/")}: ${describeCode(code, family)}`;
    // Numbers from 300 on mean the same in all families; 5 is the emergency stop of the ARIES, but a bad command of the SC.
    if ((family === "aries" && code === 5) || code === 314 || code === 800 || code === 801)
      return new CellError("DEVICE_EMERGENCY_STOP", what);
    if ((code >= 304 && code <= 306) || code === 310 || (code >= 316 && code <= 319))
      return new CellError("DEVICE_LIMIT", what);
    return new CellError("DEVICE_REFUSED", what);
  }
}
