/** The faults of the emulated UR controller, as switches of the twin. */
import { numberValue, onOff, type FaultTable, type FaultValue } from "../fault-switches.js";
import type { UrController } from "./ur-controller.js";

/** Programs of a client that streams servo targets badly. */
const servoing = (how: "leap" | "starve"): string => `def servoing():
  q = get_actual_joint_positions()
  i = 0
  while i < 60:
    q[0] = q[0] + 0.002
    servoj(q)
    i = i + 1
  end
${how === "leap" ? "  q[0] = q[0] + 0.5\n  servoj(q)" : "  sleep(1)"}
end
`;

function replace(set: Set<string>, value: FaultValue): void {
  set.clear();
  if (value === undefined) return;
  for (const name of String(value).split(",")) set.add(name.trim());
}

/** @param controller also its servers' quirks, which outlive a restart. */
export function urFaults(controller: UrController): FaultTable {
  const { rtdeQuirks: rtde, dashboardQuirks: dashboard } = controller;
  return {
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
    "arm-boot": {
      what: "the controller is switched off and on and boots slowly",
      value: "seconds until it has booted",
      set: (value) => controller.restart(numberValue(value, 0, 600)),
    },
    "arm-second-program": {
      what: "another client sends a program, which ends the running one",
      set: () => controller.runScript("def other():\n  sleep(0.1)\nend\n"),
    },
    "arm-runtime-exception": {
      what: "another client sends a program that dies of an error",
      set: () => controller.runScript("def faulty():\n  x = 1 / 0\nend\n"),
    },
    "arm-servo-jump": {
      what: "another client sends servo targets that leap, which ends in a protective stop C204",
      set: () => controller.runScript(servoing("leap")),
    },
    "arm-servo-starved": {
      what: "another client stops sending servo targets on the way; the arm brakes",
      set: () => controller.runScript(servoing("starve")),
    },
    "arm-rtde-silent": {
      what: "RTDE sends nothing while its connections stay open",
      value: "on or off",
      set: (value) => (rtde.paused = onOff(value)),
    },
    "arm-rtde-skip": {
      what: "so many control cycles are not sent: timestamps jump, no backlog",
      value: "cycles",
      set: (value) => (rtde.skip += numberValue(value, 1, 1e6)),
    },
    "arm-rtde-time-reset": {
      what: "RTDE's timestamps begin at zero again while the connections stay open",
      set: () => (rtde.timeShiftS = -controller.timeS),
    },
    "arm-rtde-in-use": {
      what: "RTDE inputs are claimed by a field bus",
      value: "names with commas; none ends it",
      set: (value) => replace(rtde.claimed, value),
    },
    "arm-rtde-not-found": {
      what: "RTDE does not know these output fields",
      value: "names with commas; none ends it",
      set: (value) => replace(rtde.notFound, value),
    },
    "arm-rtde-version-1": {
      what: "RTDE refuses version 2, as firmware before 3.4",
      value: "on or off",
      set: (value) => (rtde.onlyVersion1 = onOff(value)),
    },
    "arm-rtde-start-twice": {
      what: "the answer to a start request comes twice",
      value: "on or off",
      set: (value) => (rtde.startReply = onOff(value) ? "twice" : "once"),
    },
    "arm-rtde-start-late": {
      what: "the answer to a start request comes late, data before it",
      value: "seconds, 0 ends it",
      set: (value) => {
        const lateS = numberValue(value, 0, 60);
        rtde.startReply = lateS > 0 ? { lateS } : "once";
      },
    },
    "arm-rtde-data-first": {
      what: "a data package leaves before the answer to the start request",
      value: "on or off",
      set: (value) => (rtde.dataFirst = onOff(value)),
    },
    "arm-rtde-message-first": {
      what: "a text message greets every client before it has asked for anything",
      value: "on or off",
      set: (value) => (rtde.messageFirst = onOff(value)),
    },
    "arm-rtde-bytewise": {
      what: "every byte of RTDE leaves in a segment of its own",
      value: "on or off",
      set: (value) => (rtde.bytewise = onOff(value)),
    },
    "arm-rtde-bundle": {
      what: "so many data packages leave in one segment",
      value: "packages, 1 ends it",
      set: (value) => (rtde.bundle = Math.round(numberValue(value, 1, 1000))),
    },
    "arm-rtde-cut": {
      what: "the next data package is cut in the middle and the connection reset",
      set: () => (rtde.cutNext = true),
    },
    "arm-dashboard-lag": {
      what: "the dashboard's text tells older state",
      value: "seconds",
      set: (value) => (dashboard.lagS = numberValue(value, 0, 60)),
    },
    "arm-dashboard-banner": {
      what: "the dashboard greets late",
      value: "seconds",
      set: (value) => (dashboard.bannerDelayS = numberValue(value, 0, 60)),
    },
    "arm-dashboard-slow": {
      what: "the dashboard answers late",
      value: "seconds",
      set: (value) => (dashboard.replyDelayS = numberValue(value, 0, 60)),
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
  };
}
