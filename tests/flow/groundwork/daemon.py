"""A daemon under test: starts it on free loopback ports, stores its log, watches for its end."""
import itertools
import os
import re
import signal
import socket
import subprocess
import time

import requests

from .deadline import allowed, until

# Lines that no log may contain in any test: sanitizer reports, panics, a request that was answered with 500.
ALARM = re.compile(
    r"ERROR: (Address|Leak|UndefinedBehavior|Thread)Sanitizer|runtime error:|^panic: |SUMMARY: \w+Sanitizer"
    r'|^\{[^\n]*"event":"access"[^\n]*"status":500,[^\n]*', re.M
)

# The CPU microseconds of a long run of the event loop. Daemons log each run above 5 ms, or 50 ms with sanitizers. A test fails at
# ten times as much: page faults on a busy machine make a run only five times as long.
LONG_RUN = re.compile(r'^\{[^\n]*"event":"loop\.long_run"[^\n]*"us":(\d+)[^\n]*', re.M)
LONG_RUN_US = 5_000
LONG_RUN_SANITIZED_US = 50_000

SANITIZERS = {
    # A test run has dozens of daemons at once, so each keeps only 16 MB of freed memory in quarantine, and 8 frames of each
    # allocation.
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=0:abort_on_error=0:allocator_may_return_null=1:"
                    "quarantine_size_mb=16:thread_local_quarantine_size_kb=256:malloc_context_size=8",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}

# A leak check takes a third of a second of a processor, so `make test` checks the first daemon of each program in each process of the
# run, and `make check-long` checks all daemons.
_checked_programs = set()


def is_checked_for_leaks(binary):
    is_first = binary not in _checked_programs
    _checked_programs.add(binary)
    return is_first or bool(os.environ.get("TESTS_LONG"))


# Below the kernel's ephemeral ports. Each process of a test run has its own range and begins at a different port.
PORTS = 2500
FIRST_PORT = 10_000 + PORTS * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw8").removeprefix("gw")) % 9)
_ports = (FIRST_PORT + (os.getpid() + n) % PORTS for n in itertools.count())


def free_port():
    """Returns a port that was not returned lately: workers of a daemon share its port (SO_REUSEPORT), so two daemons could
    share one too."""
    for port in itertools.islice(_ports, PORTS):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError(f"no port from {FIRST_PORT} on is free")


class Daemon:
    """`settings` are its GROUNDWORK_ variables without the prefix."""

    def __init__(self, binary, log_path, **settings):
        self.binary = binary
        self.log_path = log_path
        self.port = free_port()
        self.admin_port = free_port()
        self.settings = {
            "HOST": "127.0.0.1",
            "PORT": self.port,
            "ADMIN_HOST": "127.0.0.1",
            "ADMIN_PORT": self.admin_port,
            **settings,
        }
        self.has_leak_check = is_checked_for_leaks(binary)
        self.prefix = []  # a program that starts the daemon by exec: ["env", "FAKETIME=+2h"]
        self.process = None
        self.log_seen = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_sanitized(self):
        return "asan" in str(self.binary)

    @property
    def admin_url(self):
        return f"http://127.0.0.1:{self.admin_port}"

    def environment(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("GROUNDWORK_")}
        ours = {f"GROUNDWORK_{k}": str(v) for k, v in self.settings.items() if v is not None}
        unchecked = {} if self.has_leak_check else {"ASAN_OPTIONS": f"{SANITIZERS['ASAN_OPTIONS']}:detect_leaks=0"}
        return {**SANITIZERS, **unchecked, **kept, **ours}

    def run(self, *arguments, timeout=60):
        """Runs the binary to its end (--migrate, --check, --list-routes) and returns its output."""
        return subprocess.run(
            [self.binary, *arguments], env=self.environment(), capture_output=True, text=True, timeout=timeout
        )

    def start(self, wait=60):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, self.binary], env=self.environment(), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.wait_ready(wait)
        return self

    def wait_ready(self, wait=60):
        end = time.monotonic() + wait
        while time.monotonic() < end:
            if not self.is_running():
                raise RuntimeError(f"{self.binary} ended with {self.process.returncode}:\n{self.log_tail()}")
            try:
                if requests.get(f"{self.admin_url}/readyz", timeout=10).status_code == 200:
                    return
            except requests.RequestException:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"{self.binary} is not ready after {wait} s:\n{self.log_tail()}")

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, wait=allowed(20)):
        """Sends SIGTERM and returns the exit status."""
        if self.is_running():
            self.signal(signal.SIGTERM)
        try:
            return self.process.wait(wait)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(60)
            raise RuntimeError(f"{self.binary} did not end within {wait} s:\n{self.log_tail()}") from None

    def workers(self):
        """Process ids of its workers, from the kernel."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as children:
            return [int(pid) for pid in children.read().split()]

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def log_tail(self, lines=40):
        return "\n".join(self.log().splitlines()[-lines:])

    def alarms(self):
        """Sanitizer reports, panics, answers with 500 and very long runs in the log since the last call, with the text after
        each."""
        if not self.log_path.exists():
            return []
        with open(self.log_path, "rb") as log:
            log.seek(self.log_seen)
            data = log.read()
        self.log_seen += len(data)
        text = data.decode(errors="replace")
        return self.longer_runs(text, 10 * self.long_run_us) + [text[match.start() : match.start() + 6000] for match in ALARM.finditer(text)]

    @property
    def long_run_us(self):
        return LONG_RUN_SANITIZED_US if self.is_sanitized else LONG_RUN_US

    @staticmethod
    def longer_runs(text, us):
        return [match[0] for match in LONG_RUN.finditer(text) if int(match[1]) >= us]

    def long_runs(self):
        """The log lines about runs of the loop that were longer than allowed(). Waits until the log has as many lines as the
        metrics count."""
        counted = sum(map(int, re.findall(r'^groundwork_long_runs_total\{task="[^"]*"\} (\d+)$', self.metrics(), re.M)))
        until(lambda: len(LONG_RUN.findall(self.log())) >= counted, f"the log does not have {counted} lines about long runs")
        return self.longer_runs(self.log(), allowed(self.long_run_us))

    def metrics(self):
        return requests.get(f"{self.admin_url}/metrics", timeout=60).text
