"""line_checks.py PORT DIALECT: request and reply on a serial line, byte by byte, split and joined as lines do."""

import sys

import serial

from checks import check, end, section, wait_until

path, dialect = sys.argv[1:3]
baud = {"aries": 115200, "crux": 9600, "sc": 38400}[dialect]
line = serial.Serial(path, baudrate=baud, bytesize=8, parity="N", stopbits=1, timeout=20)


def ask(command):
    line.write(b"\x02" + command.encode("ascii") + b"\r\n")
    return line.readline()


def expect(command, reply):
    found = ask(command)
    wanted = reply.replace(" ", "\t").encode("ascii") + b"\r\n"
    check(found == wanted, f"{command}: {wanted!r}" + ("" if found == wanted else f", not {found!r}"))


KOSMOS = {
    "status": lambda axis: f"STR{axis}",
    "moving": lambda reply: reply.split(b"\t")[2] != b"0",
    "move": lambda axis, target: f"APS{axis}/9/{target}/1",
    "position": lambda axis: f"RDP{axis}",
    "home": lambda axis: f"ORG{axis}/9/1",
}
SC = {
    "status": lambda axis: f"STR1/{axis}",
    # The ninth character, as a program for the SC-410 takes it.
    "moving": lambda reply: chr(reply[9]) != "0",
    "move": lambda axis, target: f"APS{axis}/2/0/0/{target}/3/0/1",
    "position": lambda axis: f"RDP{axis}/0",
    "home": lambda axis: f"ORG{axis}/2/0/0/3/1",
}
say = SC if dialect == "sc" else KOSMOS


def standing(axis):
    return wait_until(lambda: not say["moving"](ask(say["status"](axis))), 30.0)


def identity():
    expect("IDN", {"aries": "C IDN ARIES 1 4 4", "crux": "C IDN CRUX-D 1000", "sc": "C IDN0 400 100"}[dialect])


def framing():
    line.write(b"IDN\r\n")
    check(line.readline() == b"E\tIDN\t1\r\n", "without STX: error 1")
    for byte in b"\x02" + say["position"](1).encode() + b"\r\n":
        line.write(bytes([byte]))
    check(line.readline() == b"C\tRDP1\t0\r\n", "single bytes make a request")
    line.write(b"\x02" + say["position"](1).encode() + b"\r\n\x02" + say["position"](2).encode() + b"\r\n")
    check(line.readline() == b"C\tRDP1\t0\r\n" and line.readline() == b"C\tRDP2\t0\r\n", "two requests in one write")
    # What a guardian does after half a request was left on the line.
    line.write(b"\x02APS1/4/10")
    line.write(b"\r\n")
    check(line.readline() == b"E\tAPS1\t100\r\n", "half a request is refused and moves nothing")


def moves():
    if dialect == "sc":
        expect("ASI1/150/1500/20/20/0/0/0/1/1/0/0/2/0", "C ASI1")
    expect(say["move"](1, 4000), "C APS1")
    check(standing(1), "the move ends")
    expect(say["position"](1), "C RDP1 4000")
    check(ask(say["move"](1, 0)) == b"C\tAPS1\r\n", "a move back is accepted")
    check(ask("STP1/0") == b"C\tSTP1\r\n", "and stopped on the way")
    check(standing(1), "it stands")
    check(int(ask(say["position"](1)).split(b"\t")[2]) > 0, "short of its target")


def homing():
    expect(say["home"](1), "C ORG1")
    check(standing(1), "the search ends")
    expect(say["position"](1), "C RDP1 0")


def refusals():
    unknown = 5 if dialect == "sc" else 4
    expect("XYZ1", f"E XYZ1 {unknown}" if dialect == "sc" else f"E XYZ {unknown}")
    character = 4 if dialect == "sc" else 3
    expect("rdp1", f"E 1 {character}")
    expect("STP1", "E STP1 100")
    if dialect == "sc":
        # A program for the SC-410 completes its moves with the response method 0.
        expect("ORG1/2/0/0/3/0", "C ORG1")
        expect("RSY1/21", "C RSY1 21 0")
    else:
        expect("RSY1/1", "C RSY1 1 0")
        expect("STP0/1", "C STP0")


for group in (identity, framing, moves, homing, refusals):
    section(group)
line.close()
end()
