/** The faults of the emulated UR controller, as switches of the twin. */
import { numberValue, onOff, type FaultTable } from "../fault-switches.js";
import type { UrController } from "./ur-controller.js";

export const urFaults = (controller: UrController): FaultTable => ({
  "arm-protective-stop": {
    what: "a protective stop, as after a collision",
    value: "the error code (153 when left out)",
    set: (value) => controller.protectiveStop(value === undefined ? 153 : numberValue(value, 0, 1000)),
  },
  "arm-emergency-stop": {
    what: "the arm's emergency stop is pressed",
    set: () => controller.emergencyStop(true),
  },
  "arm-emergency-release": {
    what: "the arm's emergency stop is released",
    set: () => controller.emergencyStop(false),
  },
  "arm-local": {
    what: "local mode: scripts are refused with C210 on the primary interface",
    value: "on or off",
    set: (value) => controller.localMode(onOff(value)),
  },
  "arm-power-cycle": {
    what: "the controller is switched off and on: connections drop, its time begins at zero",
    set: () => controller.restart(),
  },
  "arm-rtde-silent": {
    what: "RTDE sends nothing while its connections stay open",
    value: "on or off",
    set: (value) => controller.pauseRtde(onOff(value)),
  },
  "arm-rtde-skip": {
    what: "so many control cycles are not sent: timestamps jump, no backlog",
    value: "cycles",
    set: (value) => controller.skipRtdeCycles(numberValue(value, 1, 1e6)),
  },
  "arm-rtde-in-use": {
    what: "an RTDE input is claimed by a field bus",
    value: "name of the input, or several with commas",
    set: (value) => controller.claimInputs(String(value).split(",")),
  },
  "arm-modbus-silent": {
    what: "the Modbus server hears but answers nothing",
    value: "on or off",
    set: (value) => controller.silenceModbus(onOff(value)),
  },
  "arm-modbus-wrong": {
    what: "the joint angles that the Modbus server shows are off",
    value: "error in rad, 0 ends it",
    set: (value) => controller.falsifyModbus(numberValue(value, -6.3, 6.3)),
  },
  "arm-speed-slider": {
    what: "the speed slider is moved",
    value: "fraction 0 to 1",
    set: (value) => controller.setSpeedFraction(numberValue(value, 0, 1)),
  },
});
