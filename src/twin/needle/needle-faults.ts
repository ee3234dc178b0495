/** The faults of the emulated needle drive and of its serial line, as switches of the twin. */
import { numberValue, onOff, type FaultSwitch, type FaultTable, type FaultValue } from "../fault-switches.js";
import type { ReplyFault } from "../wire-faults.js";
import type { NeedleDriveEmulator } from "./needle-drive.js";
import type { Flag } from "./slide.js";

/** The cable of a drive: what a pseudo-terminal's end can do. */
export interface NeedleCable {
  open(): Promise<void>;
  close(): Promise<void>;
}

/** Conditions that the drive only tells of: flag, name of the switch, what it is. */
const conditions: readonly (readonly [Flag, string, string])[] = [
  [
    "FQ",
    "needle-encoder-fault",
    "the drive loses its encoder: the reading stands still and the driver switches off",
  ],
  ["FT", "needle-twist", "the drive reports excessive twist"],
  ["FB", "needle-stream-bounds", "the drive reports a stream target outside its limits"],
  ["ND", "needle-stream-gap", "the drive reports that a stream ran dry on its way"],
  ["WP", "needle-calibration", "the drive reports that its calibration does not fit"],
  ["WV", "needle-voltage", "the supply voltage is out of range"],
  ["WT", "needle-overheated", "the drive is too hot"],
  ["NC", "needle-manual", "somebody turns the knob of the drive"],
  ["NU", "needle-setting-pending", "a setting of the drive takes effect later"],
  ["NJ", "needle-joystick", "a joystick has control of the drive"],
];

/** What may be in the way of the slide: flag with which it stops there. */
const barriers: readonly (readonly [Flag, string, string])[] = [
  ["FS", "needle-obstacle", "something hard is in the way: the slide stalls there"],
  ["WL", "needle-limit-trip", "a limit sensor answers where there is no limit"],
  ["FP", "needle-off-path", "the slide cannot follow its commanded path from there on"],
];

/** What may happen to single replies. */
const replies: readonly (readonly [string, string, ReplyFault])[] = [
  ["needle-reply-lost", "one reply is lost", { kind: "lost" }],
  ["needle-reply-repeated", "one reply comes twice", { kind: "repeated" }],
  ["needle-reply-cut", "one reply breaks off after five bytes", { kind: "cut", count: 5 }],
  ["needle-byte-lost", "one reply loses a byte", { kind: "byte-lost", index: 6 }],
  ["needle-byte-damaged", "a bit of one reply is flipped", { kind: "byte-damaged", index: 6 }],
  [
    "needle-garbage",
    "bytes that belong to no protocol come before one reply",
    { kind: "garbage-before", bytes: Buffer.from([0xff, 0xfe, 0x00, 0x0d, 0x0a]) },
  ],
];

/** A number of millimetres below the upper stop in m, or undefined for `off`. @throws RangeError */
const depthM = (value: FaultValue): number | undefined =>
  value === "off" ? undefined : numberValue(value, 0, 100) / 1e3;

export function needleFaults(drive: NeedleDriveEmulator, cable: NeedleCable): FaultTable {
  const { faults } = drive;
  const table: Record<string, FaultSwitch> = {
    "needle-driver-fault": {
      what: "the driver switches itself off, as on a short overcurrent",
      set: () => drive.failDriver(),
    },
    "needle-driver-off": {
      what: "the driver is switched off from elsewhere",
      set: () => drive.switchDriverOff(),
    },
    "needle-interrupted": {
      what: "a motion under way is stopped by somebody else",
      set: () => drive.interrupt(),
    },
    "needle-home-sensor": {
      what: "the sensor at the upper stop is dead: homing finds no reference",
      value: "on (dead) or off",
      set: (value) => (drive.slide.homeSensorDead = onOff(value)),
    },
    "needle-displaced": {
      what: "the standing slide is pushed",
      value: "um, negative upward",
      set: (value) => drive.displace(numberValue(value, -10_000, 10_000) / 1e6),
    },
    "needle-reference-told": {
      what: "somebody tells the drive where it stands instead of homing it",
      value: "um",
      set: (value) => drive.tellReference(numberValue(value, -1e6, 1e6) / 1e6),
    },
    "needle-power-cycle": {
      what: "the drive's power fails and returns: the reference is lost",
      set: () => drive.powerCycle(),
    },
    "needle-late": {
      what: "every reply of the drive is late",
      value: "ms, 0 for none",
      set: (value) => (faults.delayS = numberValue(value, 0, 60_000) / 1e3),
    },
    "needle-split": {
      what: "replies of the drive come in single bytes",
      value: "ms between two bytes, 0 for none",
      set: (value) => (faults.splitS = numberValue(value, 0, 1000) / 1e3),
    },
    "needle-silent": {
      what: "the drive hears and acts, but answers nothing",
      value: "on or off",
      set: (value) => (faults.silent = onOff(value)),
    },
    "needle-echo": {
      what: "the line hands back what it is given",
      value: "on or off",
      set: (value) => (faults.echo = onOff(value)),
    },
    "needle-wrong-speed": {
      what: "the speeds of both ends of the line differ: replies arrive as noise",
      value: "on or off",
      set: (value) => (faults.wrongSpeed = onOff(value)),
    },
    "needle-unplug": {
      what: "the serial cable of the drive is pulled; plugged in again it is another terminal under the same name",
      value: "on (out) or off (in again)",
      set: (value) => void (onOff(value) ? cable.close() : cable.open()).catch(() => undefined),
    },
  };
  for (const [flag, name, what] of conditions)
    table[name] = { what, value: "on or off", set: (value) => drive.condition(flag, onOff(value)) };
  for (const [flag, name, what] of barriers)
    table[name] = {
      what,
      value: "mm below the upper stop, or off",
      set: (value) => drive.block(depthM(value), flag),
    };
  for (const [name, what, fault] of replies)
    table[name] = {
      what,
      value: "which reply from now (1, the next, when left out)",
      set: (value) => faults.plan(fault, value === undefined ? 1 : numberValue(value, 1, 1e6)),
    };
  return table;
}
