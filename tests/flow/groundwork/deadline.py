"""How long a test waits, and how long a promised duration may take.

Every duration in a test is meant for an idle machine. `make test` shares its machine with other work, so it allows ten times
as long: a test there fails because of the service, and not because of other load on the machine. `make check-load` has the
machine to itself and sets STRICT_TIMES: it allows each duration as it is written, in the tests that are marked `timed`.
"""
import contextlib
import os
import time

STRICT = bool(os.environ.get("STRICT_TIMES"))


def allowed(seconds):
    """Returns the seconds to allow for work that takes at most `seconds` on an idle machine."""
    return seconds if STRICT else 10 * seconds


def until(condition, what="the condition does not hold", within=6, pause=0.05):
    """Calls the condition until it is true, and returns its value. `what` (a text, or a function that returns one) describes
    what is missing when the condition is not true within allowed(within) seconds."""
    end = time.monotonic() + allowed(within)
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"not within {allowed(within)} s: {what() if callable(what) else what}"
        time.sleep(pause)


@contextlib.contextmanager
def at_most(seconds, what="the block"):
    """Fails when its block takes longer than allowed(seconds). A test with such a block is marked `timed`."""
    begun = time.monotonic()
    yield
    taken = time.monotonic() - begun
    assert taken <= allowed(seconds), f"{what} took {taken:.3f} s of {allowed(seconds)} s"
