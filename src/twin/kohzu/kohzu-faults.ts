/** The faults of the emulated stage controller, as switches of the twin. */
import { numberValue, onOff, type FaultTable, type FaultValue } from "../fault-switches.js";
import { lineFaults } from "../line-faults.js";
import type { KohzuEmulator } from "./kohzu-emulator.js";
import type { Side } from "./stage-sensors.js";

/** What carries the controller's bytes. */
export interface Connections {
  /** Closes all of them; new ones are accepted. */
  drop(): void;
  /** Nothing passes either way, and nobody is told: a pulled cable. */
  cut(on: boolean): void;
}

const axisValue = (value: FaultValue): number => {
  const axis = numberValue(value, 1, 32);
  if (!Number.isInteger(axis)) throw new RangeError(`${axis} is no axis`);
  return axis;
};

/** `3:cw` @throws RangeError */
function axisSide(value: FaultValue): readonly [number, Side] {
  const [axis, side] = String(value).split(":");
  if (side !== "cw" && side !== "ccw") throw new RangeError(`${String(value)} names no limit`);
  return [axisValue(axis), side];
}

/** `3:40` @throws RangeError */
function axisNumber(value: FaultValue, least: number, most: number): readonly [number, number] {
  const [axis, number] = String(value).split(":");
  return [axisValue(axis), numberValue(number, least, most)];
}

const oneAxis = "axis";
const limitOf = "axis:cw or axis:ccw, as in 3:cw";

export const kohzuFaults = (controller: KohzuEmulator, connections: Connections): FaultTable => ({
  "stage-emergency-stop": {
    what: "the stage controller's emergency stop input is on",
    set: () => controller.emergencyStop(),
  },
  "stage-emergency-release": {
    what: "the stage controller's emergency stop input is off again; its lock stays until REM",
    set: () => controller.releaseEmergencyStop(),
  },
  "stage-power-cycle": {
    what: "the controller is switched off and on: connections drop, origins and locks are gone",
    set: () => {
      controller.powerCycle();
      connections.drop();
    },
  },
  "stage-link-drop": { what: "all connections of the controller close", set: () => connections.drop() },
  "stage-link-cut": {
    what: "nothing passes to or from the controller, as with a pulled cable",
    value: "on or off",
    set: (value) => connections.cut(onOff(value)),
  },
  "stage-lynx-lost": {
    what: "the link to the LYNX units fails: their moving axes stop, the controller locks until RAX",
    set: () => controller.linkLost(),
  },
  "stage-device-left": {
    what: "a LYNX leaves the link: W SYS 51",
    set: () => controller.deviceMapChanged(false),
  },
  "stage-device-joined": {
    what: "a LYNX joins the link: W SYS 52",
    set: () => controller.deviceMapChanged(true),
  },
  "stage-clients-full": {
    what: "32 other applications hold connections: a further one is never answered",
    value: "on or off",
    set: (value) => controller.occupyClients(onOff(value)),
  },
  "stage-foreign-stop": {
    what: "another client stops all axes",
    set: () => controller.foreignCommand("STP", [0, 0]),
  },
  "stage-foreign-move": {
    what: "another client drives an axis with its table 4",
    value: "axis:target in pulses",
    set: (value) => {
      const [axis, target] = axisNumber(value, -134_217_728, 134_217_727);
      controller.foreignCommand("APS", [axis, 4, target, 1]);
    },
  },
  "stage-limit-closed": {
    what: "a limit switch stays closed",
    value: limitOf,
    set: (value) => controller.stickLimit(...axisSide(value), true),
  },
  "stage-limit-open": {
    what: "a limit switch never closes",
    value: limitOf,
    set: (value) => controller.stickLimit(...axisSide(value), false),
  },
  "stage-limit-good": {
    what: "a limit switch works again",
    value: limitOf,
    set: (value) => controller.stickLimit(...axisSide(value), undefined),
  },
  "stage-origin-dead": {
    what: "the near-origin sensor of an axis never switches on",
    value: oneAxis,
    set: (value) => controller.deadNearOrigin(axisValue(value), true),
  },
  "stage-origin-good": {
    what: "the near-origin sensor of an axis works again",
    value: oneAxis,
    set: (value) => controller.deadNearOrigin(axisValue(value), false),
  },
  "stage-excitation-off": {
    what: "the motor current of an axis is off: the counter goes on, the table does not",
    value: oneAxis,
    set: (value) => controller.excite(axisValue(value), false),
  },
  "stage-excitation-on": {
    what: "the motor current of an axis is on again",
    value: oneAxis,
    set: (value) => controller.excite(axisValue(value), true),
  },
  "stage-steps-lost": {
    what: "a motor falls behind at rest; the counter knows nothing of it",
    value: "axis:steps",
    set: (value) => controller.loseSteps(...axisNumber(value, -1e6, 1e6)),
  },
  "stage-alarm": {
    what: "the motor driver of an axis raises its alarm; it stops and is refused until RAL",
    value: oneAxis,
    set: (value) => controller.raiseAlarm(axisValue(value)),
  },
  "stage-servo-not-ready": {
    what: "an axis with a servo drive loses its ready signal",
    value: oneAxis,
    set: (value) => controller.servo(axisValue(value), false),
  },
  "stage-servo-ready": {
    what: "the servo drive of an axis is ready again",
    value: oneAxis,
    set: (value) => controller.servo(axisValue(value), true),
  },
  "stage-setting-ignored": {
    what: "settings are acknowledged but not applied",
    value: "on or off",
    set: (value) => controller.ignoreSettings(onOff(value)),
  },
  "stage-own-backlash": {
    what: "the controller corrects backlash by itself (settings 11 and 12)",
    value: "axis:pulses, 0 for none",
    set: (value) => controller.ownBacklash(...axisNumber(value, 0, 65_535)),
  },
  "stage-early-idle": {
    what: "so many looks at moving axes say stopped",
    value: "looks",
    set: (value) => controller.lieIdle(numberValue(value, 0, 1e6)),
  },
  ...lineFaults("stage-line", controller.faults),
});
