/** The faults of the emulated microscope cameras, as switches of the twin. */
import type { CameraServer } from "./camera-server.js";
import { properExposureUs } from "./scene-files.js";
import { numberValue, type FaultTable, type FaultValue } from "./fault-switches.js";

/** What the scene's state says of each camera. */
export interface CameraSwitches {
  readonly online: [boolean, boolean];
  readonly frozen: [boolean, boolean];
  /** How far somebody has pushed the microscope along its axis, m. */
  readonly focusKnockM: [number, number];
}

const which = "camera 1 or 2";

const cameraOf = (value: FaultValue): 1 | 2 => (numberValue(value, 1, 2) === 2 ? 2 : 1);

/** `1:20` is camera 1 and 20. @throws RangeError */
function withValue(value: FaultValue): [camera: 1 | 2, rest: string] {
  const [, camera, rest] = /^([12]):(.*)$/s.exec(String(value)) ?? [];
  if (camera === undefined || rest === undefined)
    throw new RangeError(`${String(value)} does not name a camera and a value, as in 1:20`);
  return [camera === "2" ? 2 : 1, rest];
}

/** A word that is safe on a line of its own. */
function word(text: string): string {
  if (!/^[\w .-]{1,31}$/.test(text))
    throw new RangeError(`"${text}" is not up to 31 letters, digits, dots and dashes`);
  return text;
}

export const cameraFaults = (
  server: CameraServer,
  { online, frozen, focusKnockM }: CameraSwitches,
): FaultTable => {
  const flag = (flags: [boolean, boolean], to: boolean) => (value: FaultValue) => {
    flags[cameraOf(value) - 1] = to;
  };
  const plain = (what: string, setting: string) => (value: FaultValue) =>
    server.fault(cameraOf(value), what, setting);
  const number = (what: string, least: number, most: number) => (value: FaultValue) => {
    const [camera, rest] = withValue(value);
    server.fault(camera, what, numberValue(rest, least, most));
  };
  const text = (what: string) => (value: FaultValue) => {
    const [camera, rest] = withValue(value);
    server.fault(camera, what, word(rest));
  };
  return {
    "camera-offline": {
      what: "the camera answers nothing",
      value: which,
      set: flag(online, false),
    },
    "camera-online": {
      what: "the camera comes back as after power-up",
      value: which,
      set: flag(online, true),
    },
    "camera-freeze": {
      what: "the camera sends the same frame again and again",
      value: which,
      set: flag(frozen, true),
    },
    "camera-unfreeze": {
      what: "the camera sends new frames again",
      value: which,
      set: flag(frozen, false),
    },
    "camera-lost-packets": {
      what: "so many of a thousand stream packets do not leave, and none is sent again",
      value: "camera and number, as in 1:20; 0 ends it",
      set: number("lose", 0, 1000),
    },
    "camera-stall": {
      what: "the camera sends no frame while its control answers",
      value: which,
      set: plain("stall", "on"),
    },
    "camera-unstall": {
      what: "the camera sends frames again",
      value: which,
      set: plain("stall", "off"),
    },
    "camera-control-lost": {
      what: "the program that controls the camera loses the privilege, as when another takes it",
      value: which,
      set: plain("revoke", "on"),
    },
    "camera-model": {
      what: "the camera says that it is another model, from the next opening on",
      value: "camera and name, as in 1:Real; Fake is the true one",
      set: text("model"),
    },
    "camera-serial": {
      what: "the camera says that it has another serial number, as when two are exchanged",
      value: "camera and number, as in 1:MIC2",
      set: text("serial"),
    },
    "camera-clock": {
      what: "the camera's clock is ahead of wall time",
      value: "camera and seconds, as in 1:3600; 0 sets it right",
      set: number("clock", -1e6, 1e6),
    },
    "camera-exposure": {
      what: "the camera's exposure is off by so many stops (powers of two) from the proper one",
      value: "camera and stops from -4 to 4, as in 1:-2.5",
      set: (value) => {
        const [camera, rest] = withValue(value);
        server.fault(camera, "exposure", Math.round(properExposureUs * 2 ** numberValue(rest, -4, 4)));
      },
    },
    "focus-knocked": {
      what: "somebody pushes the microscope along its axis: its focus is off by that much more",
      value: "camera and micrometres from -1000 to 1000, as in 2:-300",
      set: (value) => {
        const [camera, rest] = withValue(value);
        focusKnockM[camera - 1] = (focusKnockM[camera - 1] ?? 0) + numberValue(rest, -1000, 1000) * 1e-6;
      },
    },
    "camera-slow": {
      what: "each frame takes the camera longer, and its control waits meanwhile",
      value: "camera and milliseconds, as in 1:200; 0 ends it",
      set: number("slow", 0, 5000),
    },
  };
};
