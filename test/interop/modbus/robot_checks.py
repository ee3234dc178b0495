"""robot_checks.py HOST PORT START_Q: pymodbus reads and writes the registers of the robot controller."""

import json
import sys

from pymodbus.client import ModbusTcpClient

from checks import check, end, near, section, wait_until

host, port, start_q = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
client = ModbusTcpClient(host, port=port)
signed = lambda value: value - 65536 if value > 32767 else value


def state():
    check(client.connect(), "connected")
    version = client.read_holding_registers(256, count=2).registers
    check(version == [3, 15], "registers 256-257: controller version")
    check(client.read_input_registers(258, count=1).registers == [7], "register 258: robot mode running, by function 4")
    check(client.read_holding_registers(260, count=6).registers == [1, 0, 0, 0, 0, 0], "registers 260-265: power on, no stop")
    bits = client.read_coils(260, count=6).bits[:6]
    check(bits == [True, False, False, False, False, False], "coils 260-265 say the same")
    check(client.read_discrete_inputs(260, count=1).bits[0], "function 2 says so, too")
    joints = client.read_holding_registers(270, count=56).registers
    angles = [signed(joints[i]) / 1e3 + signed(joints[50 + i]) * 6.283185307 for i in range(6)]
    near(angles, start_q, 1e-3, "registers 270-275 with the turns of 320-325: joint angles")
    check(all(0 <= joints[i] <= 6283 for i in range(6)), "joint angles lie within one turn")
    check(joints[10:16] == [0] * 6, "registers 280-285: standing still")
    check(joints[40:46] == [253] * 6, "registers 310-315: joint modes")
    pose = [signed(v) for v in client.read_holding_registers(400, count=6).registers]
    near([v / 1e4 for v in pose[:3]], [-0.4456, -0.1603, 0.3188], 2e-4, "registers 400-402: position in 0.1 mm")
    near([v / 1e3 for v in pose[3:]], [2.298, 2.081, -0.102], 2e-3, "registers 403-405: rotation vector in mrad")


def outputs():
    check(not client.write_register(1, 0b101).isError(), "register 1 written")
    check(client.read_holding_registers(1, count=1).registers == [0b101], "register 1: outputs 0 and 2 are on")
    check(not client.write_register(2, 0b1000).isError(), "set mask written")
    check(client.read_holding_registers(1, count=1).registers == [0b1101], "set mask switched output 3 on, no other")
    check(not client.write_register(3, 0b0101).isError(), "clear mask written")
    check(client.read_holding_registers(1, count=1).registers == [0b1000], "clear mask switched outputs 0 and 2 off")
    check(not client.write_coil(16 + 1, True).isError(), "coil of output 1 written")
    check(client.read_holding_registers(1, count=1).registers == [0b1010], "output 1 is on")
    check(not client.write_coils(16, [False] * 8).isError(), "eight coils written at once")
    check(client.read_holding_registers(1, count=1).registers == [0], "all outputs are off")
    check(not client.write_register(31, 0x81).isError(), "configurable outputs written")
    check(client.read_holding_registers(31, count=1).registers == [0x81], "configurable outputs read back")


def general_purpose():
    values = [0, 1, 32767, 32768, 65535]
    check(not client.write_registers(128, values).isError(), "five general purpose registers written")
    check(client.read_holding_registers(128, count=5).registers == values, "and read back, unsigned")
    check(not client.write_register(255, 4711).isError(), "register 255 is the last of them")
    check(client.read_holding_registers(255, count=1).registers == [4711], "and keeps its value")


def exceptions():
    for what, reply, code in (
        ("an address that does not exist", client.read_holding_registers(500, count=1), 2),
        ("a block that runs over the end", client.read_holding_registers(770, count=2), 2),
        ("writing a joint angle", client.write_register(270, 1), 2),
        ("a function that is not served", client.report_device_id(), 1),
    ):
        check(reply.isError() and reply.exception_code == code, f"{what}: exception {code}")
    check(client.read_holding_registers(258, count=1).registers == [7], "the connection lives on")


def two_clients():
    other = ModbusTcpClient(host, port=port)
    check(other.connect(), "a second client")
    client.write_register(200, 17)
    check(wait_until(lambda: other.read_holding_registers(200, count=1).registers == [17]), "sees what the first wrote")
    other.close()


for group in (state, outputs, general_purpose, exceptions, two_clients):
    section(group)
client.close()
end()
