/** What a link can do to the replies of a device, as switches of the twin with a prefix for the device. */
import { numberValue, onOff, type FaultTable } from "./fault-switches.js";
import type { ReplyFault, WireFaults } from "./wire-faults.js";

/** Bytes that no device sends, with a line end of their own. */
const garbage = Buffer.from([0xde, 0xad, 0xbe, 0xef, 0x0d, 0x0a]);

export function lineFaults(prefix: string, wire: WireFaults): FaultTable {
  const planned = (what: string, fault: ReplyFault): FaultTable[string] => ({
    what,
    value: "which reply from now (1, the next, when left out)",
    set: (value) => wire.plan(fault, value === undefined ? 1 : numberValue(value, 1, 1e6)),
  });
  return {
    [`${prefix}-late`]: {
      what: "every reply leaves later",
      value: "seconds, 0 for a good line",
      set: (value) => (wire.delayS = numberValue(value, 0, 60)),
    },
    [`${prefix}-split`]: {
      what: "replies arrive in single bytes",
      value: "seconds between bytes, 0 for a good line",
      set: (value) => (wire.splitS = numberValue(value, 0, 1)),
    },
    [`${prefix}-silent`]: {
      what: "the device hears and obeys but answers nothing",
      value: "on or off",
      set: (value) => (wire.silent = onOff(value)),
    },
    [`${prefix}-echo`]: {
      what: "the line hands back what it is given",
      value: "on or off",
      set: (value) => (wire.echo = onOff(value)),
    },
    [`${prefix}-wrong-speed`]: {
      what: "the speeds of the two ends differ",
      value: "on or off",
      set: (value) => (wire.wrongSpeed = onOff(value)),
    },
    [`${prefix}-reply-lost`]: planned("a reply never arrives", { kind: "lost" }),
    [`${prefix}-reply-repeated`]: planned("a reply arrives twice", { kind: "repeated" }),
    [`${prefix}-reply-cut`]: planned("only the first five bytes of a reply arrive", {
      kind: "cut",
      count: 5,
    }),
    [`${prefix}-byte-lost`]: planned("the last byte of a reply's text is lost", {
      kind: "byte-lost",
      index: -3,
    }),
    [`${prefix}-byte-damaged`]: planned("one bit of a reply is flipped", { kind: "byte-damaged", index: 2 }),
    [`${prefix}-garbage`]: planned("noise with a line end comes before a reply", {
      kind: "garbage-before",
      bytes: garbage,
    }),
  };
}
