/** Messages of the primary stream: version, text, errors, keys, runtime exceptions, safety mode. Unknown ones are kept by number. */
import { ByteReader, ByteWriter } from "./bytes.js";
import { encodePacket, primaryType } from "./primary.js";
import type { SoftwareVersion } from "./version.js";

export const messageType = {
  TEXT: 0,
  POPUP: 2,
  VERSION: 3,
  SAFETY_MODE: 5,
  ERROR_CODE: 6,
  KEY: 7,
  RUNTIME_EXCEPTION: 10,
} as const;
export const reportLevel = { DEBUG: 0, INFO: 1, WARNING: 2, VIOLATION: 3, FAULT: 4, CRITICAL: 5 } as const;

export type RobotMessage =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "popup"; readonly title: string; readonly text: string }
  | {
      readonly kind: "version";
      readonly project: string;
      readonly version: SoftwareVersion;
      readonly date: string;
    }
  | {
      readonly kind: "error";
      readonly code: number;
      readonly argument: number;
      readonly level: number;
      readonly text: string;
    }
  | { readonly kind: "key"; readonly title: string; readonly text: string }
  | { readonly kind: "exception"; readonly line: number; readonly column: number; readonly text: string }
  | { readonly kind: "safety"; readonly mode: number }
  | { readonly kind: "other"; readonly subtype: number };

/** Where a message comes from, as the controller numbers its parts. */
const messageSource = -2;

export function encodeRobotMessage(message: RobotMessage, timestampUs: bigint): Buffer {
  const w = new ByteWriter().u64(timestampUs).u8(messageSource);
  switch (message.kind) {
    case "text":
      w.u8(messageType.TEXT).text(message.text);
      break;
    case "popup":
      w.u8(messageType.POPUP).u32(0).u32(0).u8(0).u8(0).u8(0);
      w.u8(message.title.length).text(message.title).text(message.text);
      break;
    case "version":
      w.u8(messageType.VERSION).u8(message.project.length).text(message.project);
      w.u8(message.version.major).u8(message.version.minor);
      w.i32(message.version.bugfix).i32(message.version.build).text(message.date);
      break;
    case "error":
      w.u8(messageType.ERROR_CODE).i32(message.code).i32(message.argument).i32(message.level);
      w.u32(0).u32(0).text(message.text);
      break;
    case "key":
      w.u8(messageType.KEY).i32(0).i32(0).u8(message.title.length).text(message.title).text(message.text);
      break;
    case "exception":
      w.u8(messageType.RUNTIME_EXCEPTION).i32(message.line).i32(message.column).text(message.text);
      break;
    case "safety":
      w.u8(messageType.SAFETY_MODE).i32(0).i32(0).u8(message.mode).u32(0).u32(0);
      break;
    case "other":
      w.u8(message.subtype);
  }
  return encodePacket(primaryType.ROBOT_MESSAGE, w.finish());
}

export function decodeRobotMessage(body: Buffer): RobotMessage {
  const reader = new ByteReader(body);
  reader.bytes(9);
  const subtype = reader.u8();
  const rest = (): string => reader.rest().toString("latin1");
  switch (subtype) {
    case messageType.TEXT:
      return { kind: "text", text: rest() };
    case messageType.POPUP: {
      reader.bytes(11);
      const title = reader.text(reader.u8());
      return { kind: "popup", title, text: rest() };
    }
    case messageType.VERSION: {
      const project = reader.text(reader.u8());
      const version = { major: reader.u8(), minor: reader.u8(), bugfix: reader.i32(), build: reader.i32() };
      return { kind: "version", project, version, date: rest() };
    }
    case messageType.ERROR_CODE: {
      const [code, argument, level] = [reader.i32(), reader.i32(), reader.i32()];
      reader.bytes(8);
      return { kind: "error", code, argument, level, text: rest() };
    }
    case messageType.KEY: {
      reader.bytes(8);
      const title = reader.text(reader.u8());
      return { kind: "key", title, text: rest() };
    }
    case messageType.RUNTIME_EXCEPTION: {
      const [line, column] = [reader.i32(), reader.i32()];
      return { kind: "exception", line, column, text: rest() };
    }
    case messageType.SAFETY_MODE:
      reader.bytes(8);
      return { kind: "safety", mode: reader.u8() };
    default:
      return { kind: "other", subtype };
  }
}

/** What a message complains of, for an error text; undefined when it is no complaint. */
export function complaintOf(message: RobotMessage): string | undefined {
  if (message.kind === "exception") return `line ${message.line}, column ${message.column}: ${message.text}`;
  if (message.kind !== "error" || message.level < reportLevel.WARNING) return undefined;
  return `C${message.code}A${message.argument} ${message.text}`.trim();
}
