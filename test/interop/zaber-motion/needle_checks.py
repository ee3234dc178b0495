"""needle_checks.py PORT: what zaber-motion offers for one axis, without a network."""

import sys

from zaber_motion import Measurement, Units
from zaber_motion.ascii import Connection
from zaber_motion.exceptions import (
    BadCommandException,
    BadDataException,
    CommandFailedException,
    DeviceDbFailedException,
    StreamMovementFailedException,
)

from checks import check, end, near, refused, section, wait_until

connection = Connection.open_serial_port(sys.argv[1])
connection.enable_alerts()
alerts = []
connection.alert.subscribe(alerts.append)
unknown = []
connection.unknown_response.subscribe(unknown.append)
device = None
axis = None


def detection():
    global device, axis
    devices = connection.detect_devices(identify_devices=False)
    unknown.clear()  # enable_alerts asks all devices and waits for none
    check([d.device_address for d in devices] == [1], "one device answers the broadcast")
    refused(connection.detect_devices, "identification without the vendor's database", (DeviceDbFailedException,))
    device = devices[0]
    axis = device.get_axis(1)
    check(device.generic_command("get system.axiscount").data == "1", "one axis")
    check(device.generic_command("get device.id").data == "50951", "device id")
    replies = connection.generic_command_multi_response("", device=1)
    check(len(replies) == 1 and replies[0].status == "IDLE", "an empty command is answered once")


def homing():
    check(not axis.is_homed(), "no reference at power-up")
    check("WR" in axis.warnings.get_flags(), "warning WR")
    refused(lambda: axis.move_absolute(100), "an absolute move without a reference", (BadDataException,))
    axis.home()
    check(axis.is_homed(), "homed")
    near(axis.get_position(), 0, 0, "at zero")


def moves():
    axis.move_absolute(30000)
    near(axis.get_position(), 30000, 0, "absolute move")
    axis.move_relative(-1000)
    near(axis.get_position(), 29000, 0, "relative move")
    axis.move_min()
    near(axis.get_position(), 0, 0, "move min")
    axis.move_max()
    near(axis.get_position(), 60000, 0, "move max")
    axis.move_absolute(10000, velocity=400000, acceleration=2000)
    near(axis.get_position(), 10000, 0, "move with its own speed and acceleration")
    axis.move_velocity(50000)
    check(axis.is_busy(), "runs with a velocity")
    axis.stop()
    check(not axis.is_busy() and axis.get_position() > 10000, "stopped on the way")
    axis.warnings.clear_flags()
    refused(lambda: axis.move_absolute(60001), "a target outside the limits", (BadDataException,))
    axis.move_absolute(20000, wait_until_idle=False)
    check(axis.generic_command("stop").warning_flag == "NI", "a move that a stop interrupts: warning NI")
    axis.wait_until_idle()
    axis.warnings.clear_flags()
    axis.move_absolute(30000)
    axis.move_sin(500, Units.NATIVE, 100, Units.NATIVE, 2)
    near(axis.get_position(), 30000, 0, "two periods of a sine end where they began")


def settings():
    near(axis.settings.get("limit.max"), 60000, 0, "limit.max")
    axis.settings.set("limit.max", 40000)
    near(axis.settings.get("limit.max"), 40000, 0, "a setting reads back")
    refused(lambda: axis.move_absolute(40001), "a target beyond the new limit", (BadDataException,))
    axis.settings.set("limit.max", 60000)
    near(device.settings.get("system.voltage"), 48.0, 0, "a setting with decimals")
    check(device.settings.get_string("version") == "7.35", "a setting as text")
    refused(lambda: device.settings.set("device.id", 1), "a read-only setting", (BadCommandException,))
    refused(lambda: device.generic_command("frob"), "an unknown command", (BadCommandException,))
    refused(lambda: axis.settings.set("driver.current.max", 50), "a setting of a higher access level", (CommandFailedException,))


def states():
    axis.park()
    check(axis.is_parked(), "parked")
    refused(lambda: axis.move_absolute(0), "a move while parked", (CommandFailedException,))
    axis.unpark()
    check(not axis.is_parked(), "no longer parked")
    axis.driver_disable()
    refused(lambda: axis.move_absolute(0), "a move with the driver off", (CommandFailedException,))
    axis.driver_enable()
    axis.move_absolute(0)
    near(axis.get_position(), 0, 0, "moves again")


def stroke():
    axis.move_absolute(30000)
    stream = device.streams.get_stream(1)
    stream.setup_live(1)
    stream.cork()
    stream.set_max_speed(819200)
    stream.set_max_tangential_acceleration(16384)
    stream.line_absolute(Measurement(45000))
    stream.wait(50)
    stream.set_max_speed(4915200)
    stream.set_max_tangential_acceleration(49152)
    stream.line_absolute(Measurement(10000))
    check(not axis.is_busy(), "the cork holds the stroke")
    stream.uncork()
    stream.wait_until_idle()
    near(axis.get_position(), 10000, 0, "the stroke ends where it retracts to")
    refused(lambda: stream.line_absolute(Measurement(70000)), "a line beyond the limits", (StreamMovementFailedException,))
    axis.warnings.clear_flags()
    stream.disable()


def messages():
    lines = device.generic_command_multi_response("help")
    check(len(lines) > 3, "a reply with lines of information after it")
    before = len(alerts)
    axis.move_absolute(11000)
    axis.move_absolute(10000)
    check(wait_until(lambda: len(alerts) >= before + 2), "an alert at the end of each move")
    check(alerts[-1].status == "IDLE" and alerts[-1].axis_number == 1, "the alert says who stands")
    device.generic_command("set comm.checksum 1")
    near(axis.get_position(), 10000, 0, "replies with checksums")
    device.generic_command("set comm.checksum 0")
    check(unknown == [], "no reply came that nobody waited for")


for part in (detection, homing, moves, settings, states, stroke, messages):
    section(part)
connection.close()
end()
