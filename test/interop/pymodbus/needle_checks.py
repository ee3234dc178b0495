"""needle_checks.py PORT: the register map of the needle drive, read and written by pymodbus."""

import sys

from pymodbus.client import ModbusSerialClient

from checks import check, end, near, section, wait_until

client = ModbusSerialClient(sys.argv[1], baudrate=115200, timeout=2, retries=0)
client.connect()
TYPE = client.DATATYPE


def registers(address, count=1, holding=False):
    read = client.read_holding_registers if holding else client.read_input_registers
    reply = read(address, count=count, device_id=1)
    if reply.isError():
        raise RuntimeError(f"register {address}: {reply}")
    return reply.registers


def long(address, holding=False):
    return client.convert_from_registers(registers(address, 2, holding), TYPE.INT32)


def put(address, value):
    reply = client.write_registers(address, client.convert_to_registers(value, TYPE.INT32), device_id=1)
    if reply.isError():
        raise RuntimeError(f"register {address}: {reply}")


def order(code):
    return client.write_register(0, code, device_id=1)


def standing():
    return registers(32)[0] & 1 == 0


def identity():
    check(registers(0) == [0x4E44], "the map's mark")
    near(long(2), 50951, 0, "device id")
    near(long(7), 100000, 0, "a microstep of 100000 pm")
    near(long(9), 60000, 0, "a stroke of 60000 microsteps")
    near(long(11), 5000000, 0, "top speed")
    near(long(13), 300000000, 0, "top acceleration")
    check(client.convert_from_registers(registers(33), TYPE.STRING) == "WR", "the flag as two letters")


def homing():
    put(1, 100)
    reply = order(4)
    check(reply.isError() and reply.exception_code == 4, "a move without a reference: exception 4")
    check(registers(39) == [2], "and the reason is kept")
    check(not order(3).isError(), "home")
    check(wait_until(standing), "comes to rest")
    near(long(34), 0, 0, "at zero")
    check(registers(32) == [0b110], "referenced, driver on, at rest")


def move():
    put(1, 30000)
    put(3, 500000)
    put(5, 100000000)
    near(long(1, holding=True), 30000, 0, "a pair of registers reads back")
    count = registers(38)[0]
    check(not order(4).isError(), "move")
    check(wait_until(standing), "comes to rest")
    near(long(34), 30000, 0, "at the target")
    near(registers(38)[0], count + 1, 0, "the command was counted")


def stroke():
    put(11, 45000)
    check(not client.write_register(13, 50, device_id=1).isError(), "dwell")
    put(14, 10000)
    put(16, 3000000)
    put(18, 300000000)
    check(not order(5).isError(), "stroke")
    check(wait_until(standing), "comes to rest")
    near(long(34), 10000, 0, "where it retracts to")
    near(long(40), 45000, 0, "its deepest place")


def exceptions():
    for call, code, what in (
        (lambda: client.read_input_registers(64, count=1, device_id=1), 2, "no such register"),
        (lambda: client.write_register(1, 0, device_id=1), 3, "half a pair"),
        (lambda: order(99), 3, "no such command"),
        (lambda: client.write_registers(3, [0xFFFF, 0xFFFF], device_id=1), 3, "faster than it can"),
        (lambda: client.read_device_information(read_code=1, object_id=0, device_id=1), 1, "an unknown function"),
    ):
        reply = call()
        check(reply.isError() and reply.exception_code == code, f"{what}: exception {code}")
    put(1, 20000)
    check(not order(8).isError(), "driver off")
    reply = order(4)
    check(reply.isError() and reply.exception_code == 4 and registers(39) == [3], "a move with the driver off")
    check(not order(7).isError(), "driver on")
    query = client.diag_query_data(b"\x12\x34", device_id=1)
    check(query.message == b"\x12\x34", "diagnostics: the data come back")
    client.write_register(32, 4711, no_response_expected=True, device_id=0)
    check(wait_until(lambda: registers(32, holding=True) == [4711]), "a broadcast is obeyed")


for part in (identity, homing, move, stroke, exceptions):
    section(part)
client.close()
end()
