"""stage_checks.py PORT: aries-controller reads and moves four axes of an emulated ARIES."""

import sys
import time

from aries import Aries

from checks import check, end, near, section, wait_until

stage = Aries(host="127.0.0.1", port=int(sys.argv[1]))


def positions():
    check(stage.position_by_pulse == (0, 0, 0, 0), "four pulse counters, read")
    near(stage.position, [0.0] * 4, 1e-9, "four positions in degrees")
    check(stage.is_stopped, "all stand")


def moves():
    stage.position = (-45, 60, 180, 10)
    stage.sleep_until_stop()
    check(stage.position_by_pulse == (-22500, 60000, -90000, 5000), "APS and RPS end at their targets")
    near(stage.position, (-45.0, 60.0, 180.0, 10.0), 1e-9, "in degrees, the roll axis modulo a turn")


def stops():
    stage.raw_command("FRP1/5/0")
    check(wait_until(lambda: not stage.is_stopped), "an endless drive runs")
    stage.stop_all_stages(immediate=True)
    check(wait_until(lambda: stage.is_stopped), "STP with mode 1 ends it")
    stage.raw_command("FRP1/5/1")
    stage.stop_all_stages()
    check(wait_until(lambda: stage.is_stopped), "STP with mode 0 ends it")


def overflow():
    # Beyond 134,000,000 pulses it homes the roll axis and waits for the completed reply.
    check(stage.raw_command("WRP3/134100000") == "C\tWRP3\r\n", "WRP: bytes of the reply")
    stage.position_by_pulse = (0, 0, 45000, 0)
    stage.sleep_until_stop()
    check(stage.position_by_pulse == (0, 0, 45000, 0), "homed on the way, and at the target")
    check(stage.raw_command("ROG3") == "C\tROG3\t1\r\n", "the origin is known")


def homing():
    stage.reset(x=True, y=False, z=False, u=False)
    stage.sleep_until_stop()
    check(stage.raw_command("ROG1") == "C\tROG1\t1\r\n", "homed with a Quick reply")
    check(stage.raw_command("RDP1") == "C\tRDP1\t0\r\n", "and at zero")


def raw_replies():
    for command, reply in (
        ("IDN", "C\tIDN\tARIES\t1\t4\t4\r\n"),
        ("RAX", "C\tRAX\t4\t4\t11110000" + "\t00000000" * 7 + "\r\n"),
        ("STR2", "C\tSTR2\t0\t0\t1\t0\t0\t0\r\n"),
        ("RSY1/2", "C\tRSY1\t2\t4\r\n"),
        ("RSY1/16", "C\tRSY1\t16\t50000\r\n"),
        ("WTB1/0/100/1000/20/20/2", "C\tWTB1\t0\t100\t1000\t20\t20\t2\t110\t110\r\n"),
        ("APS1/0/100", "E\tAPS1\t100\r\n"),
        ("APS9/0/100/1", "E\tAPS9\t120\r\n"),
        ("XYZ1", "E\tXYZ\t4\r\n"),
        ("\x02RDP1", "E\tRDP\t4\r\n"),
    ):
        found = stage.raw_command(command)
        check(found == reply, f"{command!r} is answered by {reply!r}" + ("" if found == reply else f", not {found!r}"))
    stage.unlock_emergency_stop()
    check(stage.is_stopped, "REM without a lock does no harm")


def one_owner_of_a_reply():
    started = time.monotonic()
    reply = stage.raw_command("APS2/9/20000/0", timeout=60)
    check(reply == "C\tAPS2\r\n", "a completed reply comes")
    # 20000 pulses at 10000 pps take 2 s and more, thirty times faster here.
    check(time.monotonic() - started > 0.05, "and only when the motion has ended")
    check(stage.raw_command("RDP2") == "C\tRDP2\t20000\r\n", "at the target")


for group in (positions, moves, stops, overflow, homing, raw_replies, one_owner_of_a_reply):
    section(group)
stage.tn.close()
end()
