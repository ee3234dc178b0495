"""Checks of a peer, printed one a line for test/interop/peer.ts. Waits poll: nothing depends on how fast the machine is."""

import sys
import time
import traceback

_failed = 0


def check(passed, what):
    """Counts one check."""
    global _failed
    if not passed:
        _failed += 1
    print(("ok " if passed else "not ok ") + what.replace("\n", " "), flush=True)
    return bool(passed)


def near(actual, wanted, tolerance, what):
    """Checks numbers, or lists of numbers, against wanted ones."""
    if not isinstance(wanted, (list, tuple)):
        actual, wanted = [actual], [wanted]
    actual = list(actual)
    good = len(actual) == len(wanted) and all(abs(a - w) <= tolerance for a, w in zip(actual, wanted))
    return check(good, what if good else f"{what}: {actual}, wanted {list(wanted)} within {tolerance}")


def comes_near(read, wanted, tolerance, what):
    """As `near`, of what `read()` gives within a while: two connections may be a sample apart."""

    def good():
        actual = read()
        pairs = zip(list(actual), wanted) if isinstance(wanted, (list, tuple)) else [(actual, wanted)]
        return all(abs(a - w) <= tolerance for a, w in pairs)

    wait_until(good, 3.0)
    return near(read(), wanted, tolerance, what)


def wait_until(ready, limit_s=10.0):
    """Polls `ready` until it is true; false when the limit passes first."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        if ready():
            return True
        time.sleep(0.02)
    return bool(ready())


def settled(read, clock):
    """What `read()` gives once it has been the same for 0.3 s of `clock()`, the device's own: a move may be over while the
    last of it is still under way, and a machine with much to do delivers old samples late."""
    last, since = list(read()), clock()

    def rests():
        nonlocal last, since
        values, now = list(read()), clock()
        if any(abs(a - b) > 1e-9 for a, b in zip(values, last)):
            last, since = values, now
        return now - since > 0.3

    check(wait_until(rests), "comes to rest")
    return last


def refused(call, what, kinds=(Exception,)):
    """Checks that a call fails."""
    try:
        call()
    except kinds as error:
        return check(True, f"{what}: {type(error).__name__}")
    return check(False, f"{what}: it was accepted")


def section(run):
    """Runs one group of checks; an exception counts as a failed check and the next group goes on."""
    print(f"-- {run.__name__}", flush=True)
    try:
        run()
    except Exception:
        traceback.print_exc()
        check(False, f"{run.__name__} ended in an exception")


def end():
    sys.stdout.flush()
    sys.exit(1 if _failed else 0)
