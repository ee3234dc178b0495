/**
 * The wire of a KOHZU ARIES/LYNX controller (manual Rev 1.43): a request is three capital letters and parameters joined
 * by "/", a reply is fields joined by TAB, both end in CR LF. A serial line puts STX before every request, TCP never.
 */
import { CellError } from "../../base/errors.js";

export const STX = 0x02;
const CR = 0x0d;
const LF = 0x0a;

/** Coordinates are 28-bit: pulses and encoder counts lie within these bounds everywhere. */
export const minPulses = -134_217_728;
export const maxPulses = 134_217_727;

/** Commands whose first parameter is an axis, which the reply repeats behind the command's name. */
const axisCommands = new Set([
  "APS",
  "RPS",
  "FRP",
  "ORG",
  "STP",
  "RDP",
  "RDE",
  "WRP",
  "WRE",
  "STR",
  "ROG",
  "WSY",
  "RSY",
  "WTB",
  "RTB",
]);

/** How a request is answered: when motion ends, or at acceptance ("Quick"). */
export const ResponseMethod = { completed: 0, quick: 1 } as const;
export type ResponseMethod = (typeof ResponseMethod)[keyof typeof ResponseMethod];

/** Whether replies to `command` name an axis: `RDP` → `RDP1`, but `MPS` → `MPS`. */
export const namesAxis = (command: string): boolean => axisCommands.has(command);

/** The bytes of one request. @param stx true on a serial line, false on TCP. */
export function encodeRequest(command: string, parameters: readonly number[], stx: boolean): Buffer {
  return Buffer.from(`${stx ? "\x02" : ""}${command}${parameters.join("/")}\r\n`, "latin1");
}

/** One request as the controller reads it. Parameters stay text: the controller judges their range itself. */
export interface AriesRequest {
  readonly command: string;
  readonly parameters: readonly string[];
}

export type RequestError = { readonly code: 1 | 3 | 4; readonly command: string };

/**
 * Reads the text between two line ends as a request.
 * @returns the error the controller would report: 1 no STX (serial only), 3 illegal character, 4 no command.
 */
export function decodeRequest(line: string, stx: boolean): AriesRequest | RequestError {
  let text = line;
  if (stx) {
    // Whatever stands before the last STX is the remains of a broken request.
    const start = text.lastIndexOf("\x02");
    if (start < 0) return { code: 1, command: echo(text) };
    text = text.slice(start + 1);
  }
  const command = text.slice(0, 3);
  if (!/^[0-9A-Z/?+.-]*$/.test(text)) return { code: text.startsWith("\x02") ? 4 : 3, command: echo(text) };
  if (!/^[A-Z]{3}$/.test(command)) return { code: 4, command: echo(text) };
  const rest = text.slice(3);
  return { command, parameters: rest === "" ? [] : rest.split("/") };
}

/** What an error reply can repeat of a request that could not be read. */
const echo = (text: string): string => text.replace(/[^0-9A-Z]/g, "").slice(0, 3) || "???";

/** One line from the controller. */
export interface AriesReply {
  /** C accepted, W warning, E error. */
  readonly kind: "C" | "W" | "E";
  /** Three letters; `SYS` for spontaneous lines. */
  readonly command: string;
  readonly axis: number | undefined;
  readonly data: readonly string[];
}

export function encodeReply(reply: AriesReply): string {
  const name = `${reply.command}${reply.axis ?? ""}`;
  return `${[reply.kind, name, ...reply.data].join("\t")}\r\n`;
}

/** @throws CellError LINK_PROTOCOL with a hex excerpt when the line is no reply at all. */
export function decodeReply(line: string): AriesReply {
  const [kind, name = "", ...data] = line.split("\t");
  const parts = /^([A-Z?]{3})(\d{0,2})$/.exec(name);
  if ((kind !== "C" && kind !== "W" && kind !== "E") || parts === null)
    throw new CellError("LINK_PROTOCOL", `not a reply of an ARIES: ${hexExcerpt(line)}`);
  const [, command = "", axis = ""] = parts;
  return { kind, command, axis: axis === "" ? undefined : Number(axis), data };
}

/** The first 48 bytes, for the log. */
export function hexExcerpt(line: string): string {
  const bytes = Buffer.from(line, "latin1");
  return bytes.subarray(0, 48).toString("hex").replace(/../g, "$& ").trim() + (bytes.length > 48 ? " …" : "");
}

/** A whole number from a reply. @throws CellError LINK_PROTOCOL */
export function integerField(reply: AriesReply, index: number): number {
  const text = reply.data[index];
  if (text === undefined || !/^[+-]?\d{1,12}$/.test(text))
    throw new CellError(
      "LINK_PROTOCOL",
      `${reply.command}${reply.axis ?? ""}: field ${index + 1} should be a whole number, is ${text ?? "absent"}`,
    );
  return Number(text);
}

/** What STR tells of an axis. */
export interface AxisStatus {
  readonly driving: "stopped" | "running" | "feedback";
  readonly emergencyStop: boolean;
  readonly nearOrigin: boolean;
  readonly origin: boolean;
  readonly limitCcw: boolean;
  readonly limitCw: boolean;
  readonly softLimit: "inside" | "plus" | "minus";
  readonly encoderInRange: boolean;
}

const drivingStates = ["stopped", "running", "feedback"] as const;
const softLimitStates = ["inside", "plus", "minus"] as const;

/** @throws CellError LINK_PROTOCOL */
export function decodeStatus(reply: AriesReply): AxisStatus {
  const [b, c, d, e, f, g] = [0, 1, 2, 3, 4, 5].map((index) => integerField(reply, index));
  const driving = drivingStates[b ?? -1];
  const softLimit = softLimitStates[f ?? -1];
  if (
    driving === undefined ||
    softLimit === undefined ||
    c === undefined ||
    d === undefined ||
    e === undefined
  )
    throw new CellError("LINK_PROTOCOL", `STR${reply.axis ?? ""}: ${reply.data.join(" ")} is no status`);
  return {
    driving,
    emergencyStop: c !== 0,
    nearOrigin: (d & 1) !== 0,
    origin: (d & 2) !== 0,
    limitCcw: (e & 1) !== 0,
    limitCw: (e & 2) !== 0,
    softLimit,
    encoderInRange: g !== 0,
  };
}

export function encodeStatus(status: AxisStatus): string[] {
  return [
    drivingStates.indexOf(status.driving),
    Number(status.emergencyStop),
    Number(status.nearOrigin) + 2 * Number(status.origin),
    Number(status.limitCcw) + 2 * Number(status.limitCw),
    softLimitStates.indexOf(status.softLimit),
    Number(status.encoderInRange),
  ].map(String);
}

/** One of the tables 0…11 of an axis; times on the wire are multiples of 10 ms. */
export interface SpeedTable {
  readonly startPps: number;
  readonly topPps: number;
  readonly accelerationS: number;
  readonly decelerationS: number;
  readonly pattern: "rectangular" | "trapezoid" | "s-curve";
}

export const speedPatterns = ["rectangular", "trapezoid", "s-curve"] as const;

/** From the reply to WTB or RTB: table, start, top, acceleration, deceleration, pattern. @throws CellError LINK_PROTOCOL */
export function decodeSpeedTable(reply: AriesReply): SpeedTable {
  const pattern = speedPatterns[integerField(reply, 5) - 1];
  if (pattern === undefined) throw new CellError("LINK_PROTOCOL", `${reply.command}: no such speed pattern`);
  return {
    startPps: integerField(reply, 1),
    topPps: integerField(reply, 2),
    accelerationS: integerField(reply, 3) / 100,
    decelerationS: integerField(reply, 4) / 100,
    pattern,
  };
}

/** Parameters of WTB after the axis. */
export function speedTableParameters(table: number, speed: SpeedTable): number[] {
  return [
    table,
    speed.startPps,
    speed.topPps,
    Math.round(speed.accelerationS * 100),
    Math.round(speed.decelerationS * 100),
    speedPatterns.indexOf(speed.pattern) + 1,
  ];
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

export const lineEnd = Buffer.from([CR, LF]);

/** What the codes of E and W replies mean (manual pages 111–112). */
export const ariesCodes: Readonly<Record<number, string>> = {
  1: "no STX before the command",
  3: "illegal character",
  4: "unknown command",
  5: "emergency stop input",
  6: "link to a LYNX lost while moving",
  51: "a device joined the link",
  52: "a device left the link",
  100: "wrong number of parameters",
  120: "no such axis",
  121: "no such system setting",
  304: "CW limit reached while driving",
  305: "CCW limit reached while driving",
  306: "limit reached in a multi-axis drive",
  307: "both limits are on",
  308: "excitation is off",
  309: "the axis is already driving",
  310: "target outside the coordinate range",
  311: "position cannot be written while moving",
  312: "encoder cannot be written while moving",
  313: "system setting cannot be written while moving",
  314: "stopped by the emergency stop input",
  315: "driver alarm",
  316: "the soft limits are crossed",
  317: "stopped at the + soft limit",
  318: "stopped at the - soft limit",
  319: "soft limit reached in a multi-axis drive",
  320: "the main axis of an interpolation does not move",
  321: "servo not ready",
  322: "stopped because the link was lost",
  323: "already stopping",
  324: "driver alarm in a multi-axis drive",
  350: "the target lies beyond a soft limit: the drive ends there",
  399: "other drive error",
  401: "encoder correction failed after all retries",
  500: "no multi-axis slot is set (MPI)",
  501: "multi-axis slot 1 is not set (MPI)",
  502: "multi-axis slot 2 is not set (MPI)",
  503: "multi-axis slot 3 is not set (MPI)",
  504: "multi-axis slot 4 is not set (MPI)",
  601: "acceleration time too short",
  602: "acceleration time too long",
  603: "deceleration time too short",
  604: "deceleration time too long",
  605: "start speed above half of the top speed",
  607: "top speed above system setting 16",
  800: "locked by the emergency stop: remove the cause, then REM",
  801: "REM refused: the cause is still present",
  802: "locked by the lost link: RAX",
  803: "command before the reply to the last one",
  901: "not while an axis moves",
};

/** The code of a W or E reply in words: `304 (CW limit reached while driving)`. */
export function describeCode(code: number): string {
  const nth = code >= 101 && code <= 109 ? `parameter ${code - 100} out of range` : undefined;
  const text = nth ?? ariesCodes[code];
  return text === undefined ? `${code}` : `${code} (${text})`;
}
