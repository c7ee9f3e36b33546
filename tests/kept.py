#!/usr/bin/python3
"""However a tool ends, nothing of it stays: no process that it started, no folder of its servers.

    import kept; kept.keep()        first of all in a tool written in Python; the tool goes on in a child
    tests/kept.py COMMAND...        for others

Two parents watch the tool, which is their child's child: whoever of the three is told to end, crashes or is killed, one of
the parents is left, inherits what the others had started (PR_SET_CHILD_SUBREAPER: also what runs in a session of its own
or was made a daemon), ends it, and removes the folder in which all of them have their temporary files (TMPDIR). A tool
that a kept tool starts is kept by that one.
"""
import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
WATCHED = ENDING | {signal.SIGCHLD}
PATIENCE = 20.0  # seconds for a tool that was told to end
QUITTING = 6.0  # seconds for a PostgreSQL that was told to
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
FROM_THE_KERNEL = 128  # si_code of a terminal's interrupt: everybody in the foreground has got it
ELSEWHERE = re.compile(r"^(?:PG_HOME|PG_SOCKETS|REDIS_SOCKET)=(/var/tmp/(?:groundwork-pg|gw)\.[^/\n]+)", re.M)


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


# --- what is left of a tool -----------------------------------------------------------------------


def children(pid):
    """Whoever ends while they are read has none any more."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def name(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def reap():
    """Exit statuses of children that have ended."""
    ended = {}
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    except ChildProcessError:
        pass
    return ended


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def end(pid):
    """PostgreSQL gives its shared memory back when it is told to quit, and ends its own; everything else is killed."""
    if name(pid) != "postgres":
        send(pid, signal.SIGKILL)
        for child in children(pid):
            end(child)
    else:
        send(pid, signal.SIGQUIT)


def sweep(folder):
    limit = time.monotonic() + QUITTING
    while descendants(os.getpid()):
        for child in children(os.getpid()):
            end(child)
        if time.monotonic() > limit:
            for pid in descendants(os.getpid()):
                send(pid, signal.SIGKILL)
        time.sleep(0.02)
        reap()
    with open("/proc/self/mounts", encoding="ascii", errors="replace") as mounts:
        for place in [line.split(" ")[1] for line in mounts if line.split(" ")[1].startswith(f"{folder}/")]:
            subprocess.run(["umount", "-l", place], check=False)
    for state in [*folder.rglob("pg.env"), *folder.rglob("redis.env")]:
        for elsewhere in ELSEWHERE.findall(state.read_text()):
            shutil.rmtree(elsewhere, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


# --- the watch ------------------------------------------------------------------------------------


def wait(child):
    """The child's exit status; it is told what this process is told."""
    limit = None
    while True:
        ended = reap()
        if child in ended:
            return ended[child]
        told = signal.sigtimedwait(WATCHED, 0.5)
        if told and told.si_signo in ENDING:
            limit = limit or time.monotonic() + PATIENCE
            if told.si_code != FROM_THE_KERNEL:
                send(child, told.si_signo)
        if limit and time.monotonic() > limit:
            send(child, signal.SIGKILL)


def leave(status):
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
        number = os.WTERMSIG(status)
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def watch(child, folder):
    status = wait(child)
    sweep(folder)
    leave(status)


def below(parent):
    """In a child, just forked: it is told when its parent ends, also when that has happened already."""
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def keep():
    """Returns in the tool; the process that has called it, and one more, watch it."""
    if "GW_KEPT" in os.environ:
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gwkept."))
    folder.chmod(0o711)  # user postgres passes through
    os.environ["GW_KEPT"] = os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    sys.stdout.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    for _ in range(2):
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        parent = os.getpid()
        child = os.fork()
        if child:
            watch(child, folder)
        below(parent)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


if __name__ == "__main__":
    keep()
    os.execvp(sys.argv[1], sys.argv[1:])
