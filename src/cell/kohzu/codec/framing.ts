/**
 * Lines of the KOHZU controllers (ARIES/LYNX manual Rev 1.43, pages 47 to 55; CRUX and the SC series alike): a request is
 * three capital letters and parameters joined by "/", a reply is fields joined by TAB, both end in CR LF. A serial line
 * puts STX before every request, TCP never.
 */
import { CellError } from "../../../base/errors.js";

/** Coordinates are 28-bit: pulses and encoder counts lie within these bounds everywhere. */
export const minPulses = -134_217_728;
export const maxPulses = 134_217_727;

/** How a request is answered: when motion ends, or at acceptance ("Quick"). */
export const ResponseMethod = { completed: 0, quick: 1 } as const;
export type ResponseMethod = (typeof ResponseMethod)[keyof typeof ResponseMethod];

/** The bytes of one request. @param stx true on a serial line, false on TCP. */
export function encodeRequest(command: string, parameters: readonly number[], stx: boolean): Buffer {
  return Buffer.from(`${stx ? "\x02" : ""}${command}${parameters.join("/")}\r\n`, "latin1");
}

/** One request as the controller reads it. Parameters stay text: the controller judges their range itself. */
export interface StageRequest {
  readonly command: string;
  readonly parameters: readonly string[];
}

/** Why a line is no request; the number behind it differs between the families. */
export type RequestFlaw = "no STX" | "illegal character" | "no command";

export interface RequestError {
  readonly flaw: RequestFlaw;
  /** What an error reply can repeat of it. */
  readonly command: string;
}

/** Reads the text between two line ends as a request. @param stx whether one must, or must not, stand before it */
export function decodeRequest(line: string, stx: boolean): StageRequest | RequestError {
  let text = line;
  if (stx) {
    // Whatever stands before the last STX is the remains of a broken request.
    const start = text.lastIndexOf("\x02");
    if (start < 0) return { flaw: "no STX", command: echo(text) };
    text = text.slice(start + 1);
  }
  const command = text.slice(0, 3);
  // An STX over TCP is a command error (page 48).
  if (text.startsWith("\x02")) return { flaw: "no command", command: echo(text) };
  if (!/^[0-9A-Z/?+.-]*$/.test(text)) return { flaw: "illegal character", command: echo(text) };
  if (!/^[A-Z]{3}$/.test(command)) return { flaw: "no command", command: echo(text) };
  const rest = text.slice(3);
  return { command, parameters: rest === "" ? [] : rest.split("/") };
}

/** What an error reply can repeat of a request that could not be read. */
const echo = (text: string): string => text.replace(/[^0-9A-Z]/g, "").slice(0, 3) || "???";

/** One line from the controller. */
export interface StageReply {
  /** C accepted, W warning, E error. */
  readonly kind: "C" | "W" | "E";
  /** Three letters; `SYS` for spontaneous lines. */
  readonly command: string;
  readonly axis: number | undefined;
  readonly data: readonly string[];
}

export function encodeReply(reply: StageReply): string {
  const name = `${reply.command}${reply.axis ?? ""}`;
  return `${[reply.kind, name, ...reply.data].join("\t")}\r\n`;
}

/** @throws CellError LINK_PROTOCOL with a hex excerpt when the line is no reply at all. */
export function decodeReply(line: string): StageReply {
  const [kind, name = "", ...data] = line.split("\t");
  const parts = /^([A-Z?]{3})(\d{0,2})$/.exec(name);
  if ((kind !== "C" && kind !== "W" && kind !== "E") || parts === null)
    throw new CellError("LINK_PROTOCOL", `not a reply of a KOHZU controller: ${hexExcerpt(line)}`);
  const [, command = "", axis = ""] = parts;
  return { kind, command, axis: axis === "" ? undefined : Number(axis), data };
}

/** The first 48 bytes, for the log. */
export function hexExcerpt(line: string): string {
  const bytes = Buffer.from(line, "latin1");
  return bytes.subarray(0, 48).toString("hex").replace(/../g, "$& ").trim() + (bytes.length > 48 ? " …" : "");
}

/** A whole number from a reply. @throws CellError LINK_PROTOCOL */
export function integerField(reply: StageReply, index: number): number {
  const text = reply.data[index];
  if (text === undefined || !/^[+-]?\d{1,12}$/.test(text))
    throw new CellError(
      "LINK_PROTOCOL",
      `${reply.command}${reply.axis ?? ""}: field ${index + 1} should be a whole number, is ${text ?? "absent"}`,
    );
  return Number(text);
}

/** Gathers bytes into lines that end in CR LF, wherever the transport splits them. */
export class LineAssembler {
  private pending = "";

  /** @param limit longest line; a stream without line ends must not grow without bound. */
  constructor(private readonly limit = 1024) {}

  /**
   * Takes bytes and returns the lines that are now whole, without their line end.
   * @throws CellError LINK_PROTOCOL when a line exceeds the limit; the assembler is empty then.
   */
  push(bytes: Uint8Array): string[] {
    this.pending += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    const lines: string[] = [];
    for (let end = this.pending.indexOf("\r\n"); end >= 0; end = this.pending.indexOf("\r\n")) {
      lines.push(this.pending.slice(0, end));
      this.pending = this.pending.slice(end + 2);
    }
    if (this.pending.length > this.limit) {
      const excerpt = hexExcerpt(this.pending);
      this.pending = "";
      throw new CellError("LINK_PROTOCOL", `${this.limit} bytes without a line end: ${excerpt}`);
    }
    return lines;
  }

  /** Forgets a half line, after a timeout or a reconnect. */
  reset(): void {
    this.pending = "";
  }

  get empty(): boolean {
    return this.pending === "";
  }
}
