"""needle_server.py PORT: the register map of the needle drive, served by pymodbus; a slide that arrives at once."""

import sys

from pymodbus import FramerType
from pymodbus.server import StartSerialServer
from pymodbus.simulator import DataType, SimData, SimDevice


def words(value):
    return [(value >> 16) & 0xFFFF, value & 0xFFFF]


identity = [0x4E44, 1, *words(50951), (7 << 8) | 35, *words(1), *words(100000)]
identity += [*words(60000), *words(5000000), *words(300000000)]
status = [0b110, 0x2D2D, *words(0), *words(0), 0, 0, *words(0)]
inputs = identity + [0] * (32 - len(identity)) + status + [0] * 22
holding = [0] * 64


async def action(function_code, start_address, address, count, current_registers, set_values):
    if function_code == 4:
        current_registers[address - start_address : address - start_address + count] = inputs[address : address + count]
    elif set_values is not None:
        holding[address : address + count] = set_values
        if address == 0:
            order(set_values[0])


def order(code):
    print(f"order {code}", flush=True)
    place = {3: [0, 0], 4: holding[1:3], 5: holding[14:16]}.get(code)
    if place is not None:
        inputs[34:38] = [*place, *place]


def registers(values):
    return [SimData(0, values=list(values), datatype=DataType.REGISTERS)]


no_bits = [SimData(0, values=[False] * 16, datatype=DataType.BITS)]
device = SimDevice(1, simdata=(no_bits, no_bits, registers(holding), registers(inputs)), action=action)
print("serving", flush=True)
StartSerialServer(context=device, framer=FramerType.RTU, port=sys.argv[1], baudrate=115200)
