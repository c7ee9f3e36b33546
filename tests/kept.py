#!/usr/bin/python3
"""Cleans up after a tool, however the tool ends: no process that it started and no folder of its servers is left.

    import kept; kept.watch_and_clean()   the first call of a tool written in Python; the tool continues in a child process
    tests/kept.py COMMAND...             for other tools

Two parent processes watch the tool, which is a grandchild of the first. When one of the three processes gets a signal to end, crashes or
is killed, at least one parent remains. It inherits all processes that the others had started (PR_SET_CHILD_SUBREAPER: also processes in
sessions of their own and daemons), ends them, and removes the folder of all their temporary files (TMPDIR). When a watched tool starts
another tool, the parents of the first tool watch both.
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
PATIENCE = 20.0  # seconds until a tool that got a signal to end is killed
QUITTING = 6.0  # seconds until a PostgreSQL server that got a signal to end is killed
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
FROM_THE_KERNEL = 128  # si_code of a terminal's interrupt, which all processes in the foreground receive
ELSEWHERE = re.compile(r"^(?:PG_HOME|PG_SOCKETS|REDIS_SOCKET)=(/var/tmp/(?:groundwork-pg|gw)\.[^/\n]+)", re.M)


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


# --- processes and folders that a tool leaves -----------------------------------------------------


def children(pid):
    """The children of a process; none when the process ends while they are read."""
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


def program_name(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def reap():
    """Waits for children that have ended; returns {pid: exit status}."""
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


def kill_tree(pid):
    """Kills a process and its descendants. PostgreSQL gets SIGQUIT, so that it releases its shared memory and ends its own children."""
    if program_name(pid) != "postgres":
        send(pid, signal.SIGKILL)
        for child in children(pid):
            kill_tree(child)
    else:
        send(pid, signal.SIGQUIT)


def clean_up(folder):
    limit = time.monotonic() + QUITTING
    while descendants(os.getpid()):
        for child in children(os.getpid()):
            kill_tree(child)
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
    """Waits for the child and returns its exit status. Forwards signals to the child."""
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


def exit_like(status):
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
        number = os.WTERMSIG(status)
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def watch(child, folder):
    status = wait(child)
    clean_up(folder)
    exit_like(status)


def follow_parent(parent):
    """Called in a child after the fork: lets the kernel signal the child when its parent ends, also when the parent has already ended."""
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def watch_and_clean():
    """Returns in the tool's process. The process that has called it, and one more, watch that process."""
    if "GW_KEPT" in os.environ:
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gwkept."))
    folder.chmod(0o711)  # user postgres must be able to pass through this folder
    os.environ["GW_KEPT"] = os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    sys.stdout.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    for _ in range(2):
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        parent = os.getpid()
        child = os.fork()
        if child:
            watch(child, folder)
        follow_parent(parent)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


if __name__ == "__main__":
    watch_and_clean()
    os.execvp(sys.argv[1], sys.argv[1:])
