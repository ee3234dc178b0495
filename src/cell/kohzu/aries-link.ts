/** Requests to an ARIES and its replies over one byte link; lines it sends by itself are kept apart from the replies. */
import { CellError } from "../../base/errors.js";
import type { ByteLink } from "../links/byte-link.js";
import {
  RequestLink,
  type LinkCounters,
  type Request,
  type RequestLinkOptions,
  type RequestOptions,
} from "../links/request-link.js";
import {
  decodeReply,
  describeCode,
  encodeRequest,
  integerField,
  LineAssembler,
  namesAxis,
  type AriesReply,
} from "./codec.js";

export interface AriesLinkOptions extends Omit<RequestLinkOptions, "staleAtOpen"> {
  /** STX before each request: serial lines only. */
  readonly stx: boolean;
}

export class AriesLink {
  /** Spontaneous lines: emergency stop, lost link, changed device map. */
  onSystem: (reply: AriesReply) => void = () => undefined;

  private readonly link: RequestLink<AriesReply>;

  constructor(
    link: ByteLink,
    private readonly options: AriesLinkOptions,
  ) {
    this.link = new RequestLink(
      link,
      {
        lines: new LineAssembler(),
        read: (line) => this.read(line),
        probe: () => this.prepare("IDN", []),
      },
      // A serial line may hold old bytes: the first request waits for quiet. A new TCP connection holds none.
      { ...options, staleAtOpen: options.stx },
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
    const reply = await this.link.exchange(command, () => this.prepare(command, parameters), options);
    if (reply.kind === "E") throw this.refusal(command, parameters, reply);
    return reply;
  }

  /**
   * Writes STP at once, past the queue and any request in flight, and waits for its reply.
   * @param axis 0 stops all axes
   */
  async stopNow(axis: number, emergency: boolean): Promise<AriesReply> {
    return this.link.post(this.prepare("STP", [axis, Number(emergency)]));
  }

  private prepare(command: string, parameters: readonly number[]): Request<AriesReply> {
    const axis = namesAxis(command) ? parameters[0] : undefined;
    return {
      name: `${command}${parameters.join("/")}`,
      bytes: encodeRequest(command, parameters, this.options.stx),
      // An error about the request as a whole names no axis.
      matches: (reply) =>
        reply.command === command &&
        (reply.axis === axis || (reply.kind === "E" && reply.axis === undefined)),
    };
  }

  private read(line: string): AriesReply | "unsolicited" {
    if (line === "") return "unsolicited";
    const reply = decodeReply(line);
    if (reply.command !== "SYS") return reply;
    this.onSystem(reply);
    return "unsolicited";
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
}
