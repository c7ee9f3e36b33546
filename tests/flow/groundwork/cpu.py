"""CPU use of the programs of a test, in cores, read from the kernel.

    use = Cpu({"gateway": [pid, ...], "PostgreSQL": [pid]}); ...; use.cores()
"""
import os
import pathlib
import time

TICKS = os.sysconf("SC_CLK_TCK")


def seconds(path, ended=False):
    """`ended`: includes the time of its children that have ended."""
    numbers = pathlib.Path(f"/proc/{path}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(number) for number in numbers[11 : 15 if ended else 13]) / TICKS


def cpu_seconds(pids):
    return sum(seconds(pid) for pid in pids)


def memory(gateway):
    """Resident bytes of all workers."""
    pages = [int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in gateway.workers()]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")


class Cpu:
    """`programs`: name -> process ids. Each process counts with all its children, except this process, which counts alone.
    Threads other than the main thread are counted separately, as "... threads"."""

    def __init__(self, programs):
        self.programs, self.begun = programs, time.monotonic()
        self.before = self.read()

    def seconds_of(self, pid):
        """Returns the CPU seconds of the main threads and of all other threads."""
        try:
            if pid == os.getpid():
                return seconds(pid), 0
            main, whole = seconds(f"{pid}/task/{pid}"), seconds(pid, True)
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return 0, 0
        below = [self.seconds_of(int(child)) for child in children]
        ended = whole - seconds(pid)
        return main + ended + sum(one for one, _ in below), whole - ended - main + sum(other for _, other in below)

    def read(self):
        used = {}
        for name, pids in self.programs.items():
            found = [self.seconds_of(pid) for pid in pids]
            used[name], used[f"{name} threads"] = sum(one for one, _ in found), sum(other for _, other in found)
        return used

    def cores(self):
        """Returns how many cores each program has used since the last call, without those below 0.005."""
        now, read = time.monotonic(), self.read()
        used = {name: (read[name] - self.before[name]) / (now - self.begun) for name in read}
        self.before, self.begun = read, now
        return {name: cores for name, cores in used.items() if cores >= 0.005}
