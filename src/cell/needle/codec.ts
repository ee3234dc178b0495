/**
 * The wire of the needle drive: Zaber ASCII. Requests `/device axis id command:checksum`, replies
 * `@device axis id OK|RJ IDLE|BUSY flag data:checksum`, info lines `#…`, alerts `!…`.
 */
import { CellError } from "../../base/errors.js";

export interface NeedleRequest {
  readonly device: number;
  /** 0 addresses the device as a whole. */
  readonly axis: number;
  /** 0…99, repeated in the reply. */
  readonly id: number | undefined;
  readonly command: string;
  /** The id was `--`: the device acts and answers nothing. */
  readonly unanswered?: true;
  /** What stood in the place of the id is neither a number up to 99 nor `--`. */
  readonly badId?: true;
}

export interface NeedleReply {
  readonly type: "reply" | "info" | "alert";
  readonly device: number;
  readonly axis: number;
  readonly id: number | undefined;
  /** Replies only: false for RJ. */
  readonly accepted: boolean;
  /** Replies and alerts. */
  readonly busy: boolean;
  /** Two letters, `--` when there is nothing to warn of. */
  readonly flag: string;
  /** Data of a reply, reason of a rejection, text of an info line. */
  readonly data: string;
}

/** Two's complement of the sum of all bytes between the first character and the colon: a line sums up to 0 with it. */
export function checksum(body: string): number {
  let sum = 0;
  for (const byte of Buffer.from(body, "latin1")) sum += byte;
  return -sum & 0xff;
}

const sealed = (body: string, withChecksum: boolean): string =>
  withChecksum ? `${body}:${checksum(body).toString(16).toUpperCase().padStart(2, "0")}` : body;

/** Splits off a checksum. @returns the body, and whether a checksum was there and right */
function unsealed(text: string): { readonly body: string; readonly intact: boolean } {
  const match = /^(.*):([0-9A-Fa-f]{2})$/.exec(text);
  if (match === null) return { body: text, intact: true };
  const [, body = "", given = ""] = match;
  return { body, intact: checksum(body) === parseInt(given, 16) };
}

const two = (n: number): string => String(n).padStart(2, "0");

export function encodeRequest(request: NeedleRequest, withChecksum: boolean): string {
  const { device, axis, id, command } = request;
  const address = [two(device), String(axis), ...(id === undefined ? [] : [two(id)])];
  // Without a command the device just tells its state.
  const fields = command === "" ? address : [...address, command];
  return `/${sealed(fields.join(" "), withChecksum)}\r\n`;
}

/** @returns undefined for what a device ignores: no command at all, or a wrong checksum */
export function decodeRequest(line: string): NeedleRequest | undefined {
  // The slash begins a command wherever it stands: what precedes it is the remains of a broken one.
  const start = line.lastIndexOf("/");
  if (start < 0) return undefined;
  const { body, intact } = unsealed(line.slice(start + 1));
  if (!intact) return undefined;
  const words = body
    .trim()
    .split(/\s+/)
    .filter((word) => word !== "");
  const numbers: number[] = [];
  while (numbers.length < 3 && /^\d{1,2}$/.test(words[0] ?? "")) numbers.push(Number(words.shift()));
  const [device = 0, axis = 0, id] = numbers;
  const request = { device, axis, id };
  if (numbers.length === 2 && words[0] === "--")
    return { ...request, command: words.slice(1).join(" "), unanswered: true };
  if (numbers.length === 2 && /^-?\d+$/.test(words[0] ?? ""))
    return { ...request, command: words.slice(1).join(" "), badId: true };
  return { ...request, command: words.join(" ") };
}

export function encodeReply(reply: NeedleReply, withChecksum: boolean): string {
  const { type, device, axis, id, accepted, busy, flag, data } = reply;
  const address = [two(device), String(axis), ...(id === undefined ? [] : [two(id)])];
  const state = busy ? "BUSY" : "IDLE";
  if (type === "info") return `#${sealed([...address, data].join(" "), withChecksum)}\r\n`;
  if (type === "alert")
    return `!${sealed([two(device), String(axis), state, flag].join(" "), withChecksum)}\r\n`;
  return `@${sealed([...address, accepted ? "OK" : "RJ", state, flag, data].join(" "), withChecksum)}\r\n`;
}

const replyForm = /^(\d{2}) (\d)(?: (\d{2}))? (OK|RJ) (IDLE|BUSY) (--|[A-Z]{2})(?: (.*))?$/;
const alertForm = /^(\d{2}) (\d) (IDLE|BUSY) (--|[A-Z]{2})(?: (.*))?$/;
const infoForm = /^(\d{2}) (\d)(?: (\d{2}))?(?: (.*))?$/;

/**
 * @returns undefined when a checksum says that the line was damaged on its way
 * @throws CellError LINK_PROTOCOL when it is no line of this protocol
 */
export function decodeReply(line: string): NeedleReply | undefined {
  const { body, intact } = unsealed(line.slice(1));
  if (!intact) return undefined;
  const number = (text: string | undefined): number | undefined =>
    text === undefined ? undefined : Number(text);
  if (line.startsWith("@")) {
    const match = replyForm.exec(body);
    if (match !== null) {
      const [, device, axis, id, verdict, state, flag = "--", data = ""] = match;
      return {
        type: "reply",
        device: Number(device),
        axis: Number(axis),
        id: number(id),
        accepted: verdict === "OK",
        busy: state === "BUSY",
        flag,
        data,
      };
    }
  } else if (line.startsWith("!")) {
    const match = alertForm.exec(body);
    if (match !== null) {
      const [, device, axis, state, flag = "--", data = ""] = match;
      const busy = state === "BUSY";
      return {
        type: "alert",
        device: Number(device),
        axis: Number(axis),
        id: undefined,
        accepted: true,
        busy,
        flag,
        data,
      };
    }
  } else if (line.startsWith("#")) {
    const match = infoForm.exec(body);
    if (match !== null) {
      const [, device, axis, id, data = ""] = match;
      const common = { accepted: true, busy: false, flag: "--" } as const;
      return { type: "info", device: Number(device), axis: Number(axis), id: number(id), ...common, data };
    }
  }
  const excerpt = Buffer.from(line.slice(0, 48), "latin1").toString("hex").replace(/../g, "$& ").trim();
  throw new CellError("LINK_PROTOCOL", `not a reply of a needle drive: ${excerpt}`);
}

/** What the warning flags mean. F: a fault, motion stops; W: a warning; N: a note. */
export const needleFlags: Readonly<Record<string, string>> = {
  FO: "driver switched off",
  FD: "driver disabled by a fault",
  FQ: "encoder error",
  FS: "stalled and stopped",
  FT: "excessive twist of the axis",
  FB: "stream target outside the limits",
  FP: "strayed from the commanded path",
  FE: "limit sensor not found",
  WH: "not homed",
  WL: "unexpected limit",
  WP: "calibration does not fit",
  WV: "supply voltage out of range",
  WT: "temperature too high",
  WM: "displaced while standing",
  WR: "no reference position",
  NC: "manual control",
  NI: "movement interrupted",
  ND: "stream discontinuity",
  NU: "a setting takes effect later",
  NJ: "joystick control",
};

/** Why a command was rejected. (ASCII protocol manual; public client source) */
export const needleRejections: Readonly<Record<string, string>> = {
  AGAIN: "cannot be taken just now",
  BADAXIS: "there is no such axis",
  BADCOMMAND: "unknown command or setting",
  BADDATA: "a value is out of range or not of its kind",
  BADMESSAGEID: "the message id is no number up to 99",
  DEVICEONLY: "for the device as a whole, not for an axis",
  DRIVERDISABLED: "the driver is off",
  FULL: "no room left in the device",
  LOCKSTEP: "the axis is bound to another one",
  NOACCESS: "needs a higher access level",
  PARKED: "the axis is parked",
  STATUSBUSY: "not while the axis moves",
};

export const describeRejection = (reason: string): string =>
  needleRejections[reason] === undefined ? reason : `${reason} (${needleRejections[reason]})`;

export const describeFlag = (flag: string): string => `${flag} (${needleFlags[flag] ?? "unknown flag"})`;

/** Gathers bytes into lines; requests may end in any mix of CR and LF. */
export class LineAssembler {
  private pending = "";

  constructor(private readonly limit = 512) {}

  /** @throws CellError LINK_PROTOCOL when a line exceeds the limit; the assembler is empty then */
  push(bytes: Uint8Array): string[] {
    this.pending += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    const parts = this.pending.split(/[\r\n]+/);
    this.pending = parts.pop() ?? "";
    if (this.pending.length > this.limit) {
      this.pending = "";
      throw new CellError("LINK_PROTOCOL", `${this.limit} bytes without a line end`);
    }
    return parts.filter((part) => part !== "");
  }

  reset(): void {
    this.pending = "";
  }
}
