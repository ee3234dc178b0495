/** Force mode, freedrive and what programs ask of the force on the tool. */
import { atLeast } from "../../../cell/ur/codec/version.js";
import { forceFrame, type Compliance } from "../arm-compliance.js";
import { fromPose } from "../arm-geometry.js";
import { instant, type Args, type Builtin, type Program, type Thread } from "./builtin.js";
import type { RobotServices } from "./services.js";
import { list } from "./values.js";

/** Defaults of the URScript manual. */
const standard = { damping: 0.005, gain: 1 };
/** Assumed: how fast a hand may lead the arm, and how it stops when it is let go. */
const freedrive = { speedLimits: [0.25, 0.25, 0.25, 0.8, 0.8, 0.8], damping: 0.05, gain: 1 };

export function forceFunctions(robot: RobotServices): [string, Builtin][] {
  const { arm, sensor } = robot;
  let settings = { ...standard };
  const prepared = new WeakSet<Program>();
  /** Whatever the program leaves on ends with it. */
  const untilEnd = (thread: Thread): void => {
    if (prepared.has(thread.program)) return;
    prepared.add(thread.program);
    thread.program.cleanUps.push(() => {
      arm.comply(undefined);
      sensor.fromClients = false;
      settings = { ...standard };
    });
  };
  const comply = (args: Args, thread: Thread, compliance: Compliance): void => {
    if (thread.program.secondary) throw args.error("a secondary program may not move the robot");
    untilEnd(thread);
    arm.comply(compliance);
  };
  const release = instant("", () => {
    arm.comply(undefined);
    return undefined;
  });
  const lead = (
    args: Args,
    thread: Thread,
    axes: readonly boolean[],
    feature: readonly number[],
  ): undefined => {
    comply(args, thread, {
      frame: forceFrame(fromPose(feature), 2),
      axes,
      wrench: [0, 0, 0, 0, 0, 0],
      ...freedrive,
    });
  };
  const setting = (name: "damping" | "gain", parameter: string, most: number): Builtin =>
    instant(parameter, (args, thread) => {
      const value = args.number(parameter);
      if (value < 0 || value > most) throw args.error(`${parameter} must be in [0, ${most}]`);
      untilEnd(thread);
      settings[name] = value;
      return undefined;
    });

  const functions: [string, Builtin][] = [
    [
      "force_mode",
      instant("task_frame, selection_vector, wrench, type, limits", (args, thread) => {
        const type = args.integer("type");
        if (type !== 1 && type !== 2 && type !== 3) throw args.error("type must be 1, 2 or 3");
        const limits = args.numbers("limits", 6).map(Math.abs);
        comply(args, thread, {
          frame: forceFrame(fromPose(args.pose("task_frame")), type),
          axes: args.numbers("selection_vector", 6).map((chosen) => chosen !== 0),
          wrench: args.numbers("wrench", 6),
          speedLimits: limits,
          ...settings,
        });
        return undefined;
      }),
    ],
    ["end_force_mode", release],
    ["force_mode_set_damping", setting("damping", "damping", 1)],
    ["force_mode_set_gain_scaling", setting("gain", "scaling", 2)],
    [
      "freedrive_mode",
      instant("freeAxes?, feature?", (args, thread) =>
        lead(
          args,
          thread,
          (args.has("freeAxes") ? args.numbers("freeAxes", 6) : [1, 1, 1, 1, 1, 1]).map((free) => free !== 0),
          args.has("feature") ? args.pose("feature") : [0, 0, 0, 0, 0, 0],
        ),
      ),
    ],
    ["end_freedrive_mode", release],
    ["get_freedrive_status", instant("", () => 0)],
    [
      "teach_mode",
      instant("", (args, thread) =>
        lead(args, thread, [true, true, true, true, true, true], [0, 0, 0, 0, 0, 0]),
      ),
    ],
    ["end_teach_mode", release],

    ["get_tcp_force", instant("", () => list(sensor.wrench))],
    ["force", instant("", () => sensor.force)],
    [
      "zero_ftsensor",
      instant("", () => {
        sensor.tare();
        return undefined;
      }),
    ],
    [
      "ft_rtde_input_enable",
      instant("enable, sensor_mass?, sensor_measuring_offset?, sensor_cog?", (args, thread) => {
        untilEnd(thread);
        sensor.fromClients = args.boolean("enable");
        return undefined;
      }),
    ],
  ];
  if (atLeast(robot.version, null, [4]))
    functions.push([
      "tool_contact",
      instant("direction?", (args) =>
        sensor.contactSteps(args.has("direction") ? args.numbers("direction", 6) : [0, 0, 0, 0, 0, 0]),
      ),
    ]);
  return functions;
}
