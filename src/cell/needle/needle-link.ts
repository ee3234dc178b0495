/**
 * Requests to the needle drive and its replies over its serial line. Every request carries an id that its reply repeats,
 * so a late reply can never be taken for the answer to another request.
 */
import { CellError } from "../../base/errors.js";
import type { NeedleEnvelope } from "../envelope.js";
import type { ByteLink } from "../links/byte-link.js";
import {
  RequestLink,
  type LinkCounters,
  type Request,
  type RequestLinkOptions,
  type RequestOptions,
} from "../links/request-link.js";
import { decodeReply, encodeRequest, LineAssembler, type NeedleReply } from "./codec.js";

export interface NeedleLinkOptions extends Omit<RequestLinkOptions, "staleAtOpen"> {
  readonly address: number;
  readonly checksums: boolean;
  /** Judges every line right before it goes out. */
  readonly envelope: NeedleEnvelope;
}

export class NeedleLink {
  onAlert: (alert: NeedleReply) => void = () => undefined;

  private readonly link: RequestLink<NeedleReply>;
  private readonly idsInUse = new Set<number>();
  private lastId = 0;

  constructor(
    link: ByteLink,
    private readonly options: NeedleLinkOptions,
  ) {
    this.link = new RequestLink(
      link,
      {
        lines: new LineAssembler(),
        read: (line) => this.read(line),
        clearing: Buffer.from("\r\n"),
        lastWord: Buffer.from(
          `\r\n${encodeRequest({ device: options.address, axis: 0, id: undefined, command: "estop" }, options.checksums)}`,
          "latin1",
        ),
        probe: () => this.prepare(0, ""),
      },
      // The line may still hold what was sent to an earlier owner.
      { ...options, staleAtOpen: true },
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
   * Sends one command and waits for its reply; one in flight.
   * @param axis 0 for commands to the device as a whole
   * @throws CellError DEVICE_REFUSED for a rejection, with its reason; LINK_TIMEOUT, LINK_CLOSED, LINK_PROTOCOL,
   *   LINK_ABORTED
   */
  async request(axis: number, command: string, options: RequestOptions = {}): Promise<NeedleReply> {
    return this.accept(
      command,
      await this.link.exchange(command, () => this.prepare(axis, command), options),
    );
  }

  /** Writes a command at once, past the queue: for stops. */
  async requestNow(axis: number, command: string): Promise<NeedleReply> {
    return this.accept(command, await this.link.post(this.prepare(axis, command)));
  }

  private accept(command: string, reply: NeedleReply): NeedleReply {
    if (!reply.accepted)
      throw new CellError(
        "DEVICE_REFUSED",
        `${this.options.device}: ${command}: ${reply.data} (${reply.flag})`,
      );
    return reply;
  }

  private prepare(axis: number, command: string): Request<NeedleReply> {
    const { address, checksums, envelope } = this.options;
    do this.lastId = (this.lastId + 1) % 100;
    while (this.idsInUse.has(this.lastId));
    const id = this.lastId;
    const bytes = envelope.line(
      Buffer.from(encodeRequest({ device: address, axis, id, command }, checksums), "latin1"),
    );
    this.idsInUse.add(id);
    return {
      name: `"${command}"`,
      bytes,
      matches: (reply) => reply.id === id,
      settled: () => this.idsInUse.delete(id),
    };
  }

  private read(line: string): NeedleReply | "unsolicited" | "damaged" {
    const reply = decodeReply(line);
    if (reply === undefined) return "damaged";
    if (reply.type === "alert") this.onAlert(reply);
    if (reply.type !== "reply" || reply.device !== this.options.address) return "unsolicited";
    return reply;
  }
}
