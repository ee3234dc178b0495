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

/** A program that waits for inputs that nobody sends, at least five a second. */
const unfed = `def watched():
  rtde_set_watchdog("input_int_register_23", 5, "stop")
  while True:
    sync()
  end
end
`;

/** Six numbers with commas; zeros for none. @throws RangeError */
function six(value: FaultValue): number[] {
  if (value === undefined) return [0, 0, 0, 0, 0, 0];
  const numbers = String(value).split(",").map(Number);
  if (numbers.length !== 6 || !numbers.every(Number.isFinite))
    throw new RangeError(`${value} are no six numbers`);
  return numbers;
}

function replace(set: Set<string>, value: FaultValue): void {
  set.clear();
  if (value === undefined) return;
  for (const name of String(value).split(",")) set.add(name.trim());
}

/** @param controller also its servers' quirks, which outlive a restart. */
export function urFaults(controller: UrController): FaultTable {
  return { ...controlFaults(controller), ...rtdeFaults(controller), ...otherFaults(controller) };
}

/** Safety, power and programs. */
function controlFaults(controller: UrController): FaultTable {
  return {
    "arm-protective-stop": {
      what: "a protective stop, as after a collision",
      value: "the error code (153 when left out)",
      set: (value) => controller.protectiveStop(value === undefined ? 153 : numberValue(value, 0, 1000), 0),
    },
    "arm-protective-stops": {
      what: "joint 0 has had so many protective stops in eight hours; the 50th is a fault, C163",
      value: "stops, 0 to 49",
      set: (value) => controller.countStops(Math.round(numberValue(value, 0, 49))),
    },
    "arm-safeguard-stop": {
      what: "a door opens: a safeguard stop, after which the robot goes on by itself when it is closed",
      value: "on or off",
      set: (value) => controller.safeguardStop(onOff(value)),
    },
    "arm-restart-safety": {
      what: "somebody restarts the safety system: the arm is off, RTDE and the streams drop their clients",
      set: () => controller.restartSafety(),
    },
    "arm-watchdog": {
      what: "another client's program sets a watchdog that nobody feeds: C207 and a protective stop",
      set: () => controller.runScript(unfed),
    },
    "arm-pushed": {
      what: "somebody pushes the tool; an arm in force mode or freedrive gives way",
      value: "fx,fy,fz,tx,ty,tz in N and N·m of the base frame; none ends it",
      set: (value) => controller.pushTool(six(value)),
    },
    "arm-scripts-ignored": {
      what: "programs are swallowed without a word, as when the service is disabled in the security settings",
      value: "on or off",
      set: (value) => (controller.streamQuirks.scriptsIgnored = onOff(value)),
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
    "arm-slider-stops": {
      what: "raising the speed slider from 0 under a program ends in a protective stop, until the next power cycle",
      value: "on or off",
      set: (value) => controller.stopFromZero(onOff(value)),
    },
    "arm-speed-slider": {
      what: "the speed slider is moved",
      value: "fraction 0 to 1",
      set: (value) => controller.setSpeedFraction(numberValue(value, 0, 1)),
    },
  };
}

function rtdeFaults(controller: UrController): FaultTable {
  const { rtdeQuirks: rtde } = controller;
  return {
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
      set: (value) => (rtde.segmentBytes = onOff(value) ? 1 : Infinity),
    },
    "arm-rtde-segments": {
      what: "RTDE leaves in segments of at most so many bytes, as frames longer than a packet of the network do",
      value: "bytes, 0 ends it",
      set: (value) => (rtde.segmentBytes = Math.round(numberValue(value, 0, 65535)) || Infinity),
    },
    "arm-rtde-recipe-bytes": {
      what: "a list of output names is cut after so many bytes",
      value: "bytes (2048 by the guide), 0 ends it",
      set: (value) => (rtde.recipeBytes = Math.round(numberValue(value, 0, 65535)) || Infinity),
    },
    "arm-rtde-recipe-fields": {
      what: "output fields of a recipe after so many are not found",
      value: "fields (96 by hearsay), 0 ends it",
      set: (value) => (rtde.recipeFields = Math.round(numberValue(value, 0, 65535)) || Infinity),
    },
    "arm-rtde-slow-reader": {
      what: "how long a client may leave its connection full before it is closed",
      value: "seconds",
      set: (value) => (rtde.slowReaderS = numberValue(value, 0, 600)),
    },
    "arm-rtde-restart": {
      what: "RTDE alone begins anew, as it does once while the controller boots",
      set: () => controller.restartRtde(),
    },
    "arm-rtde-message": {
      what: "a text message comes in the middle of everything",
      value: "the text",
      set: (value) => controller.rtdeMessage(String(value ?? "a message")),
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
  };
}

/** Dashboard, streams and Modbus. */
function otherFaults(controller: UrController): FaultTable {
  const { dashboardQuirks: dashboard, streamQuirks: streams } = controller;
  return {
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
    "arm-dashboard-refuses": {
      what: "the dashboard answers what it shall do with another sentence, and does nothing",
      value: "the sentence; none ends it",
      set: (value) => (dashboard.refusal = value === undefined ? undefined : String(value)),
    },
    "arm-dashboard-drop": {
      what: "the dashboard closes its connections, as at a switch between local and remote",
      set: () => controller.dropDashboard(),
    },
    "arm-stream-newer": {
      what: "the primary stream speaks as a newer firmware: longer and unknown sub-packages",
      value: "on or off",
      set: (value) => (streams.newer = onOff(value)),
    },
    "arm-realtime-bytes": {
      what: "packets of the realtime interface have another size, as of another firmware",
      value: "bytes, 1044 to 16384; 0 ends it",
      set(value) {
        const bytes = numberValue(value, 0, 16384);
        if (bytes > 0 && bytes < 1044) throw new RangeError("0 or from 1044 to 16384 expected");
        streams.realtimeBytes = Math.round(bytes);
      },
    },
  };
}
