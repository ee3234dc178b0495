"""needle_bytes.py PORT: bytes to and from the needle drive, as the public manual spells them."""

import sys
import time

import serial

from checks import check, end, section

port = serial.Serial(sys.argv[1], 115200, timeout=2)


def lrc(body):
    return b"%02X" % (-sum(body) & 0xFF)


def exchange(sent, wanted, what):
    port.write(sent)
    got = b"".join(port.readline() for _ in range(wanted.count(b"\n")))
    check(got == wanted, what if got == wanted else f"{what}: {got!r}, wanted {wanted!r}")


def forms():
    exchange(b"/\n", b"@01 0 OK IDLE -- 0\r\n", "the shortest command")
    exchange(b"/1 1 get pos\r", b"@01 1 OK IDLE -- 0\r\n", "CR alone ends a command")
    exchange(b"/01 1 42 get pos\r\n", b"@01 1 42 OK IDLE -- 0\r\n", "a message id comes back")
    exchange(b"rubbish/1 1 get pos\n", b"@01 1 OK IDLE -- 0\r\n", "a command begins at its slash")
    exchange(b"/1 1 get pos\n/1 0 get comm.address\n", b"@01 1 OK IDLE -- 0\r\n@01 0 OK IDLE -- 1\r\n", "two commands in one write")
    exchange(b"/1 1 fly\n", b"@01 1 RJ IDLE -- BADCOMMAND\r\n", "a rejection")


def single_bytes():
    for byte in b"/1 1 07 get limit.max\n":
        port.write(bytes([byte]))
        time.sleep(0.003)
    got = port.readline()
    check(got == b"@01 1 07 OK IDLE -- 60000\r\n", f"one byte at a time: {got!r}")


def checksums():
    body = b"1 1 get pos"
    exchange(b"/" + body + b":" + lrc(body) + b"\n", b"@01 1 OK IDLE -- 0\r\n", "a right checksum")
    port.write(b"/" + body + b":00\n")
    port.timeout = 0.3
    check(port.readline() == b"", "a wrong checksum is not answered")
    port.timeout = 2
    port.write(b"/1 0 set comm.checksum 1\n")
    reply = port.readline().rstrip(b"\r\n")
    seal = reply.rsplit(b":", 1)
    check(len(seal) == 2 and lrc(seal[0][1:]) == seal[1], f"the reply carries its checksum: {reply!r}")
    exchange(b"/1 0 set comm.checksum 0\n", b"@01 0 OK IDLE -- 0\r\n", "and none when switched off")


def silence():
    port.timeout = 0.3
    port.write(b"/1 1 -- get pos\n/7 1 get pos\nno slash\n")
    check(port.readline() == b"", "no reply where none is due")
    port.timeout = 2


for part in (forms, single_bytes, checksums, silence):
    section(part)
end()
