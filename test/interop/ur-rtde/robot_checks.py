"""robot_checks.py HOST START_Q SOFTWARE STEP_S: everything that ur-rtde offers and the emulated controller claims to do."""

import json
import math
import sys
import time

from dashboard_client import DashboardClient
from rtde_control import RTDEControlInterface
from rtde_io import RTDEIOInterface
from rtde_receive import RTDEReceiveInterface
from script_client import ScriptClient

from checks import check, comes_near, end, near, refused, section, settled, wait_until

host, start_q = sys.argv[1], json.loads(sys.argv[2])
software, step_s = sys.argv[3], float(sys.argv[4])
e_series = software.startswith("5")
dashboard = DashboardClient(host)
receive = None
control = None


def dashboard_brings_the_robot_up():
    dashboard.connect()
    check(dashboard.isConnected(), "dashboard: connected")
    check(software in dashboard.polyscopeVersion(), "dashboard: PolyscopeVersion")
    check("POWER_OFF" in dashboard.robotmode(), "dashboard: robotmode before power on")
    dashboard.powerOn()
    check(wait_until(lambda: "IDLE" in dashboard.robotmode()), "dashboard: power on ends in IDLE")
    dashboard.brakeRelease()
    check(wait_until(lambda: "RUNNING" in dashboard.robotmode()), "dashboard: brake release ends in RUNNING")
    check("NORMAL" in dashboard.safetymode(), "dashboard: safetymode")
    check(dashboard.getRobotModel().strip() == "UR5", "dashboard: get robot model")
    if e_series:
        check(dashboard.getSerialNumber().strip().isdigit(), "dashboard: get serial number")
        check(dashboard.isInRemoteControl(), "dashboard: is in remote control")
    else:
        refused(dashboard.getSerialNumber, "dashboard: the peer knows that 3.15 cannot tell its serial number")
    check(not dashboard.running(), "dashboard: nothing runs")
    check("STOPPED" in dashboard.programState(), "dashboard: programState")
    dashboard.popup("hello")
    dashboard.closePopup()
    dashboard.addToLog("interoperation")
    dashboard.closeSafetyPopup()
    check(dashboard.isConnected(), "dashboard: popup, log and their closing kept the connection")


def receive_streams_state():
    global receive
    receive = RTDEReceiveInterface(host)
    comes_near(receive.getActualQ, start_q, 1e-9, "receive: actual_q")
    near(receive.getTargetQ(), start_q, 1e-9, "receive: target_q")
    near(receive.getActualQd(), [0] * 6, 1e-12, "receive: actual_qd at rest")
    check(receive.getRobotMode() == 7, "receive: robot_mode running")
    check(receive.getSafetyMode() == 1, "receive: safety_mode normal")
    check(receive.getSafetyStatusBits() == 1, "receive: safety_status_bits")
    check(receive.getRobotStatus() & 1 == 1, "receive: robot_status_bits say power on")
    check(receive.getRuntimeState() == 1, "receive: runtime_state stopped")
    check(len(receive.getJointTemperatures()) == 6, "receive: joint_temperatures")
    check(list(receive.getJointMode()) == [253] * 6, "receive: joint_mode running")
    near(receive.getTargetSpeedFraction(), 1.0, 1e-9, "receive: target_speed_fraction")
    first = receive.getTimestamp()
    check(wait_until(lambda: receive.getTimestamp() > first + 0.1), "receive: timestamp goes on")
    steps = (receive.getTimestamp() - first) / step_s
    near(steps, round(steps), 1e-3, f"receive: timestamps are whole control steps of {step_s} s apart")
    check(not receive.isProtectiveStopped() and not receive.isEmergencyStopped(), "receive: no stop")


def slow_receive():
    slow = RTDEReceiveInterface(host, 10.0, ["timestamp", "actual_q"])
    near(slow.getActualQ(), start_q, 1e-9, "receive: a recipe of its own at 10 Hz")
    slow.disconnect()
    check(not slow.isConnected(), "receive: disconnect")


def control_script_runs():
    global control
    control = RTDEControlInterface(host)
    check(control.isConnected(), "control: connected")
    check(wait_until(control.isProgramRunning), "control: its script runs")
    check(wait_until(lambda: receive.getRuntimeState() == 2), "control: runtime_state playing")


def joint_moves():
    goal = [start_q[0] + 0.15] + start_q[1:]
    check(control.moveJ(goal, 1.05, 1.4), "moveJ: done")
    comes_near(receive.getActualQ, goal, 1e-4, "moveJ: stands at its goal")
    check(wait_until(control.isSteady), "moveJ: steady afterwards")
    check(control.moveJ(start_q, 1.05, 1.4, True), "moveJ asynchronous: accepted")
    check(wait_until(lambda: max(abs(v) for v in receive.getActualQd()) > 0.05), "moveJ asynchronous: the arm moves")
    control.stopJ(2.0)
    check(wait_until(lambda: max(abs(v) for v in receive.getActualQd()) < 1e-6), "stopJ: the arm stands")
    check(abs(receive.getActualQ()[0] - start_q[0]) > 1e-3, "stopJ: short of the goal")
    path = [[start_q[0] + 0.05] + start_q[1:] + [0.8, 1.0, 0.02], list(start_q) + [0.8, 1.0, 0.0]]
    check(control.moveJ(path), "moveJ path: done")
    comes_near(receive.getActualQ, start_q, 1e-4, "moveJ path: stands at its end")


def linear_moves():
    pose = settled(receive.getActualTCPPose, receive.getTimestamp)
    goal = list(pose)
    goal[2] += 0.03
    goal[1] += 0.02
    check(control.moveL(goal, 0.25, 1.2), "moveL: done")
    comes_near(lambda: receive.getActualTCPPose()[:3], goal[:3], 1e-5, "moveL: stands at its goal")
    check(control.moveL_FK(start_q, 0.25, 1.2), "moveL_FK: done")
    comes_near(receive.getActualQ, start_q, 1e-4, "moveL_FK: back at the start")
    comes_near(lambda: receive.getActualTCPPose()[:3], pose[:3], 1e-5, "moveL_FK: pose of the start")
    check(control.moveJ_IK(goal), "moveJ_IK: done")
    comes_near(lambda: receive.getActualTCPPose()[:3], goal[:3], 1e-5, "moveJ_IK: stands at its goal")
    check(control.moveJ(start_q), "moveJ with default speed: done")


def servo():
    q = list(start_q)
    for _ in range(100):
        began = control.initPeriod()
        q[0] += 0.125 * step_s
        control.servoJ(q, 0, 0, step_s, 0.1, 300)
        control.waitPeriod(began)
    check(wait_until(lambda: abs(receive.getActualQ()[0] - q[0]) < 2e-3), "servoJ: the arm follows")
    check(control.servoStop(), "servoStop")
    check(wait_until(lambda: max(abs(v) for v in receive.getActualQd()) < 1e-6), "servoStop: the arm stands")
    check(control.moveJ(start_q), "servoJ: back")


def speeds():
    control.speedJ([0.1, 0, 0, 0, 0, 0], 0.5, 0.3)
    check(wait_until(lambda: receive.getActualQd()[0] > 0.09), "speedJ: reaches its speed")
    check(control.speedStop(), "speedStop")
    check(wait_until(lambda: abs(receive.getActualQd()[0]) < 1e-6), "speedStop: the arm stands")
    z = settled(receive.getActualTCPPose, receive.getTimestamp)[2]
    control.speedL([0, 0, 0.05, 0, 0, 0], 0.5, 0.3)
    check(wait_until(lambda: abs(receive.getActualTCPSpeed()[2] - 0.05) < 2e-3), "speedL: reaches its speed")
    check(control.speedStop(), "speedStop after speedL")
    check(receive.getActualTCPPose()[2] > z, "speedL: the tool went up")
    check(control.moveJ(start_q), "speeds: back")


def compliance():
    before = settled(receive.getActualTCPPose, receive.getTimestamp)
    check(control.forceModeSetDamping(0.1), "forceModeSetDamping")
    limits = [0.1, 0.1, 0.03, 0.2, 0.2, 0.2]
    check(control.forceMode([0] * 6, [0, 0, 1, 0, 0, 0], [0, 0, 20, 0, 0, 0], 2, limits), "forceMode: accepted")
    check(wait_until(lambda: receive.getActualTCPPose()[2] > before[2] + 0.01), "forceMode: the free tool goes where it presses")
    check(abs(receive.getActualTCPSpeed()[2]) < 0.03 * 1.02, "forceMode: no faster than its limit")
    check(control.forceModeStop(), "forceModeStop")
    pressed = settled(receive.getActualTCPPose, receive.getTimestamp)
    near(pressed[:2], before[:2], 1e-4, "forceMode: the other axes stayed")
    check(control.ftRtdeInputEnable(True), "ftRtdeInputEnable")
    # setExternalForceTorque of this version goes out under the id of another recipe, with a length that fits none.
    check(control.ftRtdeInputEnable(False), "ftRtdeInputEnable: off")
    check(receive.getActualTCPForce() == [0.0] * 6, "receive: actual_TCP_force")
    check(control.freedriveMode([1, 1, 0, 0, 0, 0]), "freedriveMode")
    check(control.endFreedriveMode(), "endFreedriveMode")
    check(control.teachMode(), "teachMode")
    check(control.endTeachMode(), "endTeachMode")
    near(settled(receive.getActualTCPPose, receive.getTimestamp), pressed, 1e-5, "freedrive and teach mode: nobody pushed, nothing moved")
    check(control.moveJ(start_q), "compliance: back")


def circular_servo():
    before = settled(receive.getActualTCPPose, receive.getTimestamp)
    goal = list(before)
    goal[2] += 0.02
    check(control.servoC(goal, 0.1, 0.5, 0.0), "servoC: accepted")
    comes_near(lambda: receive.getActualTCPPose()[:3], goal[:3], 1e-4, "servoC: the tool comes to its target")
    # Its script takes servoC for a command with an answer, its client does not: the next one would wait for ever.
    check(control.reuploadScript(), "servoC: the script uploaded anew")
    check(wait_until(control.isProgramRunning), "servoC: and running again")
    check(control.moveJ(start_q), "servoC: back")


def programs_of_the_disk():
    refused(lambda: dashboard.loadURP("nothing.urp"), "dashboard: a program that is not there")
    dashboard.loadURP("wait_program.urp")
    check("wait_program.urp" in dashboard.getLoadedProgram(), "dashboard: get loaded program")
    dashboard.play()
    check(wait_until(lambda: "PLAYING" in dashboard.programState()), "dashboard: play ends in PLAYING")
    check(wait_until(dashboard.running), "dashboard: running")
    check(wait_until(lambda: receive.getRuntimeState() == 2), "dashboard: runtime_state playing")
    dashboard.pause()
    check(wait_until(lambda: "PAUSED" in dashboard.programState()), "dashboard: pause ends in PAUSED")
    check(wait_until(lambda: receive.getRuntimeState() == 4), "dashboard: runtime_state paused")
    dashboard.play()
    check(wait_until(lambda: "PLAYING" in dashboard.programState()), "dashboard: play goes on")
    dashboard.stop()
    check(wait_until(lambda: "STOPPED" in dashboard.programState()), "dashboard: stop ends in STOPPED")


def kinematics():
    pose = settled(receive.getActualTCPPose, receive.getTimestamp)
    # With arguments this version sends twelve numbers under the id of its recipe of six, and waits for ever.
    near(control.getForwardKinematics(), pose, 1e-5, "getForwardKinematics")
    near(control.getInverseKinematics(pose, start_q), start_q, 1e-5, "getInverseKinematics near the start")
    check(control.getInverseKinematicsHasSolution(pose, start_q), "getInverseKinematicsHasSolution: yes")
    check(control.isPoseWithinSafetyLimits(pose), "isPoseWithinSafetyLimits")
    check(control.isJointsWithinSafetyLimits(start_q), "isJointsWithinSafetyLimits")
    near(control.poseTrans([1, 0, 0, 0, 0, math.pi / 2], [1, 0, 0, 0, 0, 0]), [1, 1, 0, 0, 0, math.pi / 2], 1e-5, "poseTrans")
    check(control.setTcp([0, 0, 0.1, 0, 0, 0]), "setTcp")
    near(control.getTCPOffset(), [0, 0, 0.1, 0, 0, 0], 1e-6, "getTCPOffset")
    check(wait_until(lambda: abs(math.dist(receive.getActualTCPPose()[:3], pose[:3]) - 0.1) < 1e-6), "setTcp: the pose moved by it")
    check(control.setTcp([0, 0, 0, 0, 0, 0]), "setTcp: back")
    check(control.setPayload(1.5, [0, 0, 0.02]), "setPayload")
    check(wait_until(lambda: abs(receive.getPayload() - 1.5) < 1e-6), "setPayload: streamed")
    check(len(control.getJointTorques()) == 6, "getJointTorques")
    if e_series:
        # For these the peer reads the answer without waiting for the script: it gets that of the call before.
        for call, wanted, what in (
            (control.getStepTime, step_s, "getStepTime"),
            (control.getActualToolFlangePose, pose, "getActualToolFlangePose"),
            (lambda: control.getActualJointPositionsHistory(2), start_q, "getActualJointPositionsHistory"),
        ):
            call()
            time.sleep(0.2)
            near(call(), wanted, 1e-4, what)
        near(control.getTargetWaypoint(), pose, 1e-4, "getTargetWaypoint")


def inputs_and_outputs():
    io = RTDEIOInterface(host)
    check(io.setStandardDigitalOut(3, True), "setStandardDigitalOut")
    check(wait_until(lambda: receive.getDigitalOutState(3)), "setStandardDigitalOut: streamed")
    check(io.setStandardDigitalOut(3, False), "setStandardDigitalOut: off")
    check(wait_until(lambda: not receive.getDigitalOutState(3)), "setStandardDigitalOut: streamed off")
    check(io.setConfigurableDigitalOut(1, True), "setConfigurableDigitalOut")
    check(wait_until(lambda: receive.getDigitalOutState(9)), "setConfigurableDigitalOut: bit 9")
    check(io.setToolDigitalOut(0, True), "setToolDigitalOut")
    check(wait_until(lambda: receive.getDigitalOutState(16)), "setToolDigitalOut: bit 16")
    check(io.setAnalogOutputVoltage(0, 0.25), "setAnalogOutputVoltage")
    check(wait_until(lambda: receive.getStandardAnalogOutput0() != 0), "setAnalogOutputVoltage: streamed")
    check(io.setSpeedSlider(0.5), "setSpeedSlider")
    check(wait_until(lambda: abs(receive.getTargetSpeedFraction() - 0.5) < 1e-9), "setSpeedSlider: streamed")
    check(io.setSpeedSlider(1.0), "setSpeedSlider: back")
    check(io.setInputIntRegister(18, 77), "setInputIntRegister")
    check(io.setInputDoubleRegister(18, 1.25), "setInputDoubleRegister")
    io.disconnect()


def in_use_and_reconnect():
    refused(lambda: RTDEControlInterface(host), "a second control interface is refused its inputs")
    receive.disconnect()
    check(not receive.isConnected(), "receive: disconnected")
    check(receive.reconnect(), "receive: reconnect")
    comes_near(receive.getActualQ, start_q, 1e-3, "receive: data after the reconnect")


def custom_script():
    check(control.sendCustomScriptFunction("interop", "  write_output_integer_register(18, 4711)\n  textmsg(\"custom\")\n"), "sendCustomScriptFunction")
    own = RTDEReceiveInterface(host, 125.0, ["timestamp", "output_int_register_18"])
    check(wait_until(lambda: own.getOutputIntRegister(18) == 4711), "sendCustomScriptFunction: its register is streamed")
    own.disconnect()
    check(control.reuploadScript(), "reuploadScript")
    check(wait_until(control.isProgramRunning), "reuploadScript: its script runs again")
    check(control.moveJ(start_q), "moveJ after reuploadScript")


def watchdog():
    # 2 Hz: a machine with much to do may well be late by a tenth of a second.
    check(control.setWatchdog(2.0), "setWatchdog")
    for _ in range(20):
        control.kickWatchdog()
        time.sleep(0.05)
    check(not receive.isProtectiveStopped(), "watchdog: kicked, nothing happens")
    began = time.monotonic()
    check(wait_until(receive.isProtectiveStopped, 5), "watchdog: not kicked, a protective stop")
    check(time.monotonic() - began < 3, "watchdog: within three seconds")
    check(receive.getSafetyMode() == 3, "watchdog: safety_mode protective stop")
    check(not control.isProgramRunning(), "watchdog: the program is gone")


def recovery():
    dashboard.closeSafetyPopup()
    stopped = time.monotonic()
    refused(dashboard.unlockProtectiveStop, "unlock within 5 s is refused")
    time.sleep(max(0, 5.2 - (time.monotonic() - stopped)))
    dashboard.unlockProtectiveStop()
    check(wait_until(lambda: not receive.isProtectiveStopped()), "unlock: the stop is gone")
    check(receive.getSafetyMode() == 1, "unlock: safety_mode normal")


def control_again():
    global control
    control.disconnect()
    control = RTDEControlInterface(host)
    check(control.moveJ([start_q[0] + 0.05] + start_q[1:]), "a new control interface moves the arm")
    control.triggerProtectiveStop()
    check(wait_until(receive.isProtectiveStopped), "triggerProtectiveStop: streamed")
    control.disconnect()


def script_client():
    client = ScriptClient(host, *[int(part) for part in software.split(".")[:2]])
    client.connect()
    check(client.isConnected(), "script client: connected")
    check(client.sendScriptCommand("set_digital_out(5, True)\n"), "script client: a command is sent")
    check(wait_until(lambda: receive.getDigitalOutState(5)), "script client: the command has its effect")
    client.disconnect()


for group in (
    dashboard_brings_the_robot_up,
    receive_streams_state,
    slow_receive,
    programs_of_the_disk,
    control_script_runs,
    joint_moves,
    linear_moves,
    servo,
    speeds,
    circular_servo,
    compliance,
    kinematics,
    inputs_and_outputs,
    in_use_and_reconnect,
    custom_script,
    watchdog,
    recovery,
    script_client,
    control_again,
):
    section(group)
end()
