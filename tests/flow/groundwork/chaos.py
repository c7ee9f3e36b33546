"""Ways to kill daemons and to cut their connections, and to reach a gateway other than the session's."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

from .client import Client
from .proxy import Proxy


FAKETIME = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


def faketime_prefix(offset, binary):
    """A prefix that starts the program with another wall clock ("+2h"); its other clocks are not changed."""
    linked = subprocess.run(["ldd", binary], capture_output=True, text=True).stdout
    # A sanitizer's library must be loaded first.
    first = [word for line in linked.splitlines() if "libasan" in line for word in line.split() if word.startswith("/")]
    return ["env", f"FAKETIME={offset}", "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1",
            f"LD_PRELOAD={':'.join([*first, str(FAKETIME)])}"]


def kill(daemon):
    """Kills the supervisor and its workers at the same moment, as a power cut does."""
    os.killpg(daemon.process.pid, signal.SIGKILL)
    daemon.process.wait()
    with contextlib.suppress(ProcessLookupError):
        while True:  # a worker that is ending still has the port
            os.killpg(daemon.process.pid, 0)
            time.sleep(0.01)


def postgres_proxy(servers):
    folder = pathlib.Path(servers.database_url.split("host=")[1].split("&")[0])
    return Proxy(next(path for path in folder.glob(".s.PGSQL.*") if not path.name.endswith(".lock")))


def redis_proxy(servers):
    return Proxy(servers.redis_url.removeprefix("unix:"))


def postgres_proxy_settings(servers, proxy):
    """Settings of a daemon that reaches PostgreSQL through the proxy."""
    user = servers.database_url.split("//")[1].split("@")[0]
    name = servers.database_url.split("@/")[1].split("?")[0]
    return {"DATABASE_URL": f"postgresql://{user}@127.0.0.1:{proxy.port}/{name}?sslmode=disable"}


def redis_proxy_settings(proxy):
    return {"REDIS_URL": f"redis://127.0.0.1:{proxy.port}"}


def client_at(gateway, project):
    """The project's administrator as a client of another gateway."""
    return Client(f"{gateway.url}/org/{project.id}", token=project.admin.token)


def run_in_background(call):
    """Runs the call in a thread and ignores any exception; returns the thread."""

    def run():
        try:
            call()
        except Exception:  # noqa: BLE001 - a client whose gateway was killed
            pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


class DeafServer:
    """A TCP address that accepts no connection, because its backlog is full. `answer()` accepts all waiting and new
    connections, and returns the bytes that they sent, once no connection has come for a second."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.fill = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", self.port))
            self.fill.append(one)

    def answer(self):
        own = set()
        for one in self.fill:
            try:
                own.add(one.getsockname())
            except OSError:
                pass
        self.listener.settimeout(1)
        received = []
        while True:
            try:
                taken, peer = self.listener.accept()
            except TimeoutError:
                return received
            taken.settimeout(1)
            try:
                data = b"" if peer in own else taken.recv(65536)
            except OSError:
                data = b""
            taken.close()
            if data:
                received.append(data)

    def close(self):
        for one in [self.listener, *self.fill]:
            one.close()
