"""robot_checks.py HOST START_Q: urx reads the secondary and realtime streams and moves the arm with single lines of script."""

import json
import sys
import time

import urx

from checks import check, end, near, section, settled, wait_until

host, start_q = sys.argv[1], json.loads(sys.argv[2])
robot = urx.URRobot(host, use_rt=True)


def streams():
    check(robot.is_running(), "secondary stream: the robot runs")
    near(robot.getj(), start_q, 1e-9, "secondary stream: joint angles")
    check(not robot.is_program_running(), "secondary stream: no program runs")
    mode = robot.secmon.get_all_data()["RobotModeData"]
    check(mode["isPowerOnRobot"] and not mode["isEmergencyStopped"], "secondary stream: robot mode data")
    tool = robot.secmon.get_all_data()["ToolData"]
    near(tool["toolVoltage48V"], 48.0, 1.0, "secondary stream: tool data")
    near(robot.rtmon.q_actual(wait=True), start_q, 1e-9, "realtime stream: q_actual at its place in the packet")
    near(robot.rtmon.tcf_pose(wait=True)[:3], robot.getl()[:3], 1e-6, "both streams tell one pose")
    first = robot.rtmon.q_actual(wait=True, timestamp=True)[0]
    check(wait_until(lambda: robot.rtmon.q_actual(timestamp=True)[0] > first), "realtime stream: controller time goes on")
    near(robot.get_tcp_force(), [0.0] * 6, 20.0, "realtime stream: force")


def moves():
    goal = [start_q[0] + 0.1] + start_q[1:]
    near(robot.movej(goal, acc=1.4, vel=1.0), goal, 2e-3, "movej: ends at its goal")
    near(robot.movej([-0.1, 0, 0, 0, 0, 0], acc=1.4, vel=1.0, relative=True), start_q, 3e-3, "movej relative")
    pose = robot.getl()
    up = pose[:2] + [pose[2] + 0.02] + pose[3:]
    near(robot.movel(up, acc=0.5, vel=0.2)[:3], up[:3], 2e-3, "movel: ends at its goal")
    side = up[:1] + [up[1] + 0.03] + up[2:]
    near(robot.movels([up, side, pose], acc=0.5, vel=0.2, radius=0.005)[:3], pose[:3], 2e-3, "movels: a program of three lines with blends")
    near(robot.movep(up, acc=0.5, vel=0.2)[:3], up[:3], 2e-3, "movep: ends at its goal")
    check(robot.movej(start_q, acc=1.4, vel=1.0) is not None, "movej: back")


def a_new_program_ends_the_running_one():
    robot.movej([start_q[0] + 1.0] + start_q[1:], acc=1.0, vel=0.5, wait=False)
    check(wait_until(robot.is_program_running), "the program's run shows in the stream")
    check(wait_until(lambda: abs(robot.getj()[0] - start_q[0]) > 0.05), "the arm is on its way")
    robot.stopj(acc=3)
    check(wait_until(lambda: not robot.is_program_running()), "stopj ended it")
    # The program may end before the arm has come to rest.
    at = settled(lambda: robot.getj(wait=True), lambda: robot.rtmon.q_actual(wait=True, timestamp=True)[0])
    time.sleep(0.3)
    near(robot.getj(wait=True), at, 1e-9, "the arm stands")
    check(at[0] < start_q[0] + 0.9, "short of the old goal")


def settings():
    robot.set_tcp((0, 0, 0.05, 0, 0, 0))
    check(wait_until(lambda: abs(robot.secmon.get_cartesian_info()["Z"] - robot.rtmon.tcf_pose()[2]) < 1e-3), "set_tcp: both streams follow")
    robot.set_tcp((0, 0, 0, 0, 0, 0))
    # Its centre of gravity would go out in round brackets, which are no list.
    robot.set_payload(0.5)
    check(robot.is_running(), "set_payload: accepted by a robot that goes on running")


for group in (streams, moves, a_new_program_ends_the_running_one, settings):
    section(group)
robot.close()
end()
