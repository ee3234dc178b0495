/** Time, messages, safety and settings; and the names of this controller that the emulator knows but does not perform. */
import { atLeast } from "../../../cell/ur/codec/version.js";
import { blocking, instant, type Builtin } from "./builtin.js";
import type { RobotServices, WatchdogAction } from "./services.js";
import { list, show, type Value } from "./values.js";

/** Known to the language; calling one is a runtime exception, never silence. */
const notPerformed = [
  "conveyor_pulse_decode",
  "modbus_add_signal",
  "position_deviation_warning",
  "reset_revolution_counter",
  "enable_external_ft_sensor",
];

const refused = instant("*?", (args) => {
  throw args.error("not available on this controller");
});

export function programFunctions(robot: RobotServices): [string, Builtin][] {
  const { version } = robot;
  const functions: [string, Builtin][] = [
    [
      "sleep",
      blocking("t", function* (args): Generator<undefined, Value> {
        const untilS = robot.timeS + args.number("t") - 1e-9;
        do yield;
        while (robot.timeS < untilS);
        return undefined;
      }),
    ],
    [
      "sync",
      blocking("", function* (): Generator<undefined, Value> {
        yield;
        return undefined;
      }),
    ],
    [
      "textmsg",
      instant("s1, s2?", (args) => {
        robot.say({
          kind: "text",
          text: show(args.any("s1")) + (args.has("s2") ? show(args.any("s2")) : ""),
        });
        return undefined;
      }),
    ],
    [
      "popup",
      instant("s, title?, warning?, error?, blocking?", (args) => {
        robot.say({ kind: "popup", title: args.text("title", "Popup"), text: show(args.any("s")) });
        return undefined;
      }),
    ],
    [
      "protective_stop",
      blocking("", function* (): Generator<undefined, Value> {
        robot.protectiveStop(0, "protective stop by the program");
        for (;;) yield;
      }),
    ],
    [
      "powerdown",
      instant("", () => {
        robot.powerDown();
        return undefined;
      }),
    ],
    [
      "rtde_set_watchdog",
      instant("variable_name, min_frequency, action?", (args, thread) => {
        const action = args.text("action", "pause").toLowerCase();
        if (!isAction(action)) throw args.error(`unknown action '${action}'`);
        robot.watch(thread.program, args.text("variable_name"), args.number("min_frequency"), action);
        return undefined;
      }),
    ],
    ["get_controller_temp", instant("", () => 30)],
    ["get_joint_temp", instant("j", () => 30)],
    ["get_tool_current", instant("", () => 0)],
    [
      "set_payload",
      instant("m, cog?, inertia?", (args) => {
        robot.payloadKg = args.number("m");
        if (args.has("cog")) robot.payloadCog = args.numbers("cog", 3);
        return undefined;
      }),
    ],
    [
      "set_payload_mass",
      instant("m", (args) => {
        robot.payloadKg = args.number("m");
        return undefined;
      }),
    ],
    [
      "set_payload_cog",
      instant("cog", (args) => {
        robot.payloadCog = args.numbers("cog", 3);
        return undefined;
      }),
    ],
    [
      "set_target_payload",
      instant("m, cog?, inertia?", (args) => {
        robot.payloadKg = args.number("m");
        if (args.has("cog")) robot.payloadCog = args.numbers("cog", 3);
        return undefined;
      }),
    ],
    ["get_target_payload", instant("", () => robot.payloadKg)],
    ["get_target_payload_cog", instant("", () => list(robot.payloadCog))],
    ["get_target_payload_inertia", instant("", () => list([0, 0, 0, 0, 0, 0]))],
    [
      "set_gravity",
      instant("d", (args) => {
        args.numbers("d", 3);
        return undefined;
      }),
    ],
  ];
  if (!atLeast(version, null, [4])) functions.push(["tool_contact", refused]);
  if (atLeast(version, [14, 3], [4])) functions.push(["get_steptime", instant("", () => robot.stepS)]);
  for (const name of notPerformed) functions.push([name, refused]);
  return functions;
}

const isAction = (text: string): text is WatchdogAction =>
  text === "ignore" || text === "pause" || text === "stop";
