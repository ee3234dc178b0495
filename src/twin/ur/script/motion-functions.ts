/** Functions that move the arm or tell where it is. A motion belongs to the thread that began it until it is over. */
import { ArmRefusal, type ArmViolation } from "../arm-limits.js";
import { toolPose, toPose } from "../arm-geometry.js";
import type { PathPace } from "../arm-paths.js";
import { blocking, instant, type Args, type Builtin, type Thread } from "./builtin.js";
import type { RobotServices } from "./services.js";
import { list, pose, type Value } from "./values.js";

/** Joint angles given as a list, or reached by the inverse kinematics of a pose. */
function jointTarget(args: Args, name: string, robot: RobotServices): number[] {
  return args.isPose(name) ? robot.arm.postureFor(args.pose(name)) : args.numbers(name, 6);
}

function poseTarget(args: Args, name: string, robot: RobotServices): number[] {
  if (args.isPose(name)) return args.pose(name);
  return toPose(toolPose(robot.arm.table, args.numbers(name, 6), robot.arm.tcpOffset));
}

/** Begins a motion and waits for `done`; whoever is killed on the way leaves a motion to be braked. */
function* move(
  args: Args,
  thread: Thread,
  robot: RobotServices,
  begin: () => ArmViolation | undefined,
  done: () => boolean,
): Generator<undefined, undefined> {
  const { arm } = robot;
  if (thread.program.secondary) throw args.error("a secondary program may not move the robot");
  if (arm.owner && arm.owner !== thread) throw args.error("another thread is already controlling the robot");
  arm.owner = thread;
  let complete = false;
  try {
    const violation = refusing(args, begin);
    if (violation) robot.protectiveStop(violation.code, violation.text);
    do yield;
    while (violation || !done());
    complete = true;
    return undefined;
  } finally {
    arm.owner = undefined;
    if (!complete) arm.abandon();
  }
}

function refusing<T>(args: Args, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ArmRefusal) throw args.error(error.message);
    throw error;
  }
}

export function motionFunctions(robot: RobotServices): [string, Builtin][] {
  const { arm } = robot;
  /** Done when the arm stands, or is near enough to its target for the next move to be blended in. */
  const arrived = (): (() => boolean) => () => arm.mayProceed;
  const stopped = (): (() => boolean) => () => !arm.isOnPath;
  /** Done when the wanted time, one control step without, is over. */
  const held = (args: Args): (() => boolean) => {
    const untilS = robot.timeS + args.number("t", robot.stepS) - 1e-9;
    return () => robot.timeS >= untilS;
  };
  const motion = (
    signature: string,
    begin: (args: Args) => ArmViolation | undefined,
    done: (args: Args) => () => boolean,
  ): Builtin =>
    blocking(signature, (args, thread) => move(args, thread, robot, () => begin(args), done(args)));
  const paceOf = (args: Args, speed: number, acceleration: number): PathPace => ({
    speed: args.number("v", speed),
    acceleration: args.number("a", acceleration),
    durationS: args.number("t", 0),
    blendM: args.number("r", 0),
  });
  /** A straight motion of the tool; only movel may be given a time instead of a speed. */
  const toolMove = (args: Args): undefined => {
    arm.moveTool(poseTarget(args, "pose", robot), paceOf(args, 0.25, 1.2));
  };

  return [
    [
      "movej",
      motion(
        "q, a?, v?, t?, r?",
        (args): undefined => {
          arm.moveJoints(jointTarget(args, "q", robot), paceOf(args, 1.05, 1.4));
        },
        arrived,
      ),
    ],
    ["movel", motion("pose, a?, v?, t?, r?", toolMove, arrived)],
    ["movep", motion("pose, a?, v?, r?", toolMove, arrived)],
    // A process motion without halts between targets: straight, and joined to the next within the radius.
    ["servoc", motion("pose, a?, v?, r?", toolMove, arrived)],
    [
      "movec",
      motion(
        "pose_via, pose_to, a?, v?, r?, mode?",
        (args): undefined => {
          const mode = args.integer("mode", 0);
          if (mode !== 0 && mode !== 1) throw args.error("mode must be 0 or 1");
          const via = poseTarget(args, "pose_via", robot);
          arm.moveArc(via, poseTarget(args, "pose_to", robot), paceOf(args, 0.25, 1.2), mode === 1);
        },
        arrived,
      ),
    ],
    [
      "servoj",
      motion(
        "q, a?, v?, t?, lookahead_time?, gain?",
        (args) => {
          const lookaheadS = args.number("lookahead_time", 0.1);
          const gain = args.number("gain", 300);
          if (lookaheadS < 0.03 || lookaheadS > 0.2)
            throw args.error("lookahead_time must be in [0.03, 0.2]");
          if (gain < 100 || gain > 2000) throw args.error("gain must be in [100, 2000]");
          return arm.servo(jointTarget(args, "q", robot), lookaheadS, gain, args.number("t", robot.stepS));
        },
        held,
      ),
    ],
    [
      "speedj",
      motion(
        "qd, a?, t?",
        (args) =>
          arm.speedJoints(args.numbers("qd", 6), args.number("a", 1.4), args.number("t", robot.stepS)),
        held,
      ),
    ],
    [
      "speedl",
      motion(
        "xd, a?, t?, aRot?",
        (args) => arm.speedTool(args.numbers("xd", 6), args.number("a", 1.2), args.number("t", robot.stepS)),
        held,
      ),
    ],
    ["stopj", motion("a", (args) => arm.stopJoints(args.number("a")), stopped)],
    ["stopl", motion("a, aRot?", (args) => arm.stopTool(args.number("a")), stopped)],

    [
      "set_tcp",
      instant("pose", (args) => {
        arm.tcpOffset = args.pose("pose");
        return undefined;
      }),
    ],
    ["get_tcp_offset", instant("", () => pose(arm.tcpOffset))],
    ["get_actual_joint_positions", instant("", () => list(arm.q))],
    ["get_target_joint_positions", instant("", () => list(arm.q))],
    ["get_actual_joint_speeds", instant("", () => list(arm.qd))],
    ["get_target_joint_speeds", instant("", () => list(arm.qd))],
    ["get_joint_positions", instant("", () => list(arm.q))],
    ["get_joint_torques", instant("", () => list([0, 0, 0, 0, 0, 0]))],
    ["get_actual_tcp_pose", instant("", () => pose(toPose(arm.tool)))],
    ["get_target_tcp_pose", instant("", () => pose(toPose(arm.tool)))],
    [
      "get_target_waypoint",
      instant("", (args) => {
        if (!arm.waypoint) throw args.error("no move has been commanded");
        return pose(arm.waypoint);
      }),
    ],
    [
      "get_actual_joint_positions_history",
      instant("steps?", (args) => {
        const steps = args.integer("steps", 0);
        const q = steps === 0 ? arm.q : arm.past[arm.past.length - 1 - steps];
        if (steps < 0 || !q) throw args.error(`${steps} steps back are not kept`);
        return list(q);
      }),
    ],
    [
      "get_actual_tool_flange_pose",
      instant("", () => pose(toPose(toolPose(arm.table, arm.q, [0, 0, 0, 0, 0, 0])))),
    ],
    ["get_actual_tcp_speed", instant("", () => list(arm.toolTwist))],
    ["get_target_tcp_speed", instant("", () => list(arm.toolTwist))],
    ["get_tcp_speed", instant("", () => list(arm.toolTwist))],
    ["is_steady", instant("", () => !arm.isMoving)],
    [
      "get_forward_kin",
      instant("q?, tcp?", (args) => {
        const q = args.has("q") ? args.numbers("q", 6) : arm.q;
        return pose(toPose(toolPose(arm.table, q, args.has("tcp") ? args.pose("tcp") : arm.tcpOffset)));
      }),
    ],
    [
      "get_inverse_kin",
      instant("x, qnear?, maxPositionError?, maxOrientationError?, tcp?", (args) =>
        list(refusing(args, () => inverseOf(args, robot))),
      ),
    ],
    [
      "get_inverse_kin_has_solution",
      instant("pose, qnear?, maxPositionError?, maxOrientationError?, tcp?", (args) => {
        try {
          inverseOf(args, robot, "pose");
          return true;
        } catch (error) {
          if (error instanceof ArmRefusal) return false;
          throw error;
        }
      }),
    ],
    [
      "is_within_safety_limits",
      instant("pose", (args): Value => {
        try {
          const q = jointTarget(args, "pose", robot);
          return q.every((value) => Math.abs(value) <= arm.limits.jointPositionRad);
        } catch (error) {
          if (error instanceof ArmRefusal) return false;
          throw error;
        }
      }),
    ],
  ];
}

function inverseOf(args: Args, robot: RobotServices, name = "x"): number[] {
  const near = args.has("qnear") ? args.numbers("qnear", 6) : robot.arm.q;
  const tcp = args.has("tcp") ? args.pose("tcp") : robot.arm.tcpOffset;
  return robot.arm.postureFor(args.pose(name), near, tcp);
}
