"""L1-L9 at a size that a test machine can take: too many, too slow, too large; all other clients are served."""
import os
import resource
import threading
import time

import pytest
import requests

from groundwork import raw
from groundwork.client import Client
from groundwork.cpu import cpu_seconds, memory
from groundwork.deadline import allowed, at_most, until
from groundwork.floods import AttackThreads
from groundwork.project import PASSWORD, Project
from groundwork.raw import head

pytestmark = pytest.mark.slow


def connect(gateway, receive_bytes=None):
    return raw.connect(gateway, receive_bytes, timeout=allowed(30))


def receive(sock, end=None, limit=1 << 20):
    """Returns the bytes that arrive until the peer closes, or `end` arrives."""
    data = b""
    try:
        while len(data) < limit and not (end and end in data):
            piece = sock.recv(65536)
            if not piece:
                break
            data += piece
    except ConnectionError:
        pass
    return data


def status_of(data):
    return int(data.split(b" ", 2)[1]) if data.startswith(b"HTTP/1.1 ") else None


class OtherClients:
    """Calls of another client during the block, at least 20: each succeeds, and their p99 is below `slowest`."""

    def __init__(self, client, path="/users/me", slowest=1.0):
        self.client = Client(client.base_url, token=client.token, key=client.key)
        self.path, self.slowest = path, slowest
        self.stop = threading.Event()
        self.taken, self.answers = [], set()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stop.is_set():
            begun = time.monotonic()
            response = self.client.get(self.path)
            self.answers.add((response.status_code, None if response.ok else response.json()["detail"]))
            self.taken.append(time.monotonic() - begun)
            time.sleep(0.02)

    def __enter__(self):
        self.thread.start()
        return self

    def wait_served(self):
        """Waits until these calls have been answered, while the attack still runs."""
        until(lambda: len(self.taken) > 20 or not self.thread.is_alive(), lambda: f"only {len(self.taken)} calls of others were answered")

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.wait_served()
        finally:
            self.stop.set()
            self.thread.join()
        if kind is None:
            slow = sorted(self.taken)[int(len(self.taken) * 0.99) - 1]
            assert self.answers == {(200, None)}, self.answers
            assert len(self.taken) > 20 and slow < allowed(self.slowest), f"p99 of the others is {slow:.2f} s"


@pytest.fixture
def quick(start_gateway, servers):
    """A project on a separate gateway with short timeouts."""
    gateway = start_gateway(HEADER_TIME_MS=1000, IDLE_MS=3000, WORKERS=2)
    operator = Client(f"{gateway.url}/org", token=servers.operator_token)
    yield Project(gateway, operator, None)
    gateway.stop()


@pytest.fixture
def patient(start_gateway, servers):
    """A project on a separate gateway whose clients may be idle for long."""
    gateway = start_gateway(IDLE_MS=600000, WORKERS=2)
    yield Project(gateway, Client(f"{gateway.url}/org", token=servers.operator_token), None)
    gateway.stop()


@pytest.mark.timed
def test_l1_idle_connections(patient):
    """500 idle connections cost little memory, and still work when they are used."""
    project, gateway = patient, patient.gateway
    before = memory(gateway)
    idle = []
    try:
        for _ in range(500):
            sock = connect(gateway)
            idle.append(sock)
            sock.sendall(head(project))
            assert status_of(receive(sock, b"\r\n\r\n")) == 200
        with OtherClients(project.admin):
            pass
        grown = memory(gateway) - before
        for sock in idle[::50]:
            sock.sendall(head(project))
            assert status_of(receive(sock, b"\r\n\r\n")) == 200
    finally:
        for sock in idle:
            sock.close()
    assert grown < 500 * 256 * 1024, f"{grown // 500} bytes a connection"


@pytest.mark.timed
def test_l1_idle_connections_end(quick):
    idle, used = connect(quick.gateway), connect(quick.gateway)
    used.sendall(head(quick))
    assert status_of(receive(used, b"}")) == 200
    with at_most(8, "the end of idle connections"):
        assert receive(used) == b""
        receive(idle)


@pytest.mark.timed
def test_l2_slowloris(quick):
    """A request head that takes too long ends the connection, even if its bytes keep arriving."""
    slow = [connect(quick.gateway) for _ in range(100)]
    open_now = list(slow)

    def have_ended():
        for sock in list(open_now):
            try:
                sock.send(b"X")
                if sock.recv(4096) == b"":
                    raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                open_now.remove(sock)
        return not open_now

    with OtherClients(quick.admin):
        with at_most(5, "the end of slow heads"):
            for sock in slow:
                sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
                sock.setblocking(False)
            until(have_ended, lambda: f"{len(open_now)} are still open", pause=0.2)
    for sock in slow:
        sock.close()


@pytest.mark.timed
def test_l3_slow_body(quick):
    """The gateway does not wait for a body that arrives at five bytes a second."""
    sock = connect(quick.gateway)
    sock.sendall(head(quick, method="PUT", more="Content-Type: application/json\r\nContent-Length: 10000\r\n"))
    answer = b""

    def has_ended():
        nonlocal answer
        try:
            sock.send(b" ")
            answer = sock.recv(4096)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    with OtherClients(quick.admin):
        sock.setblocking(False)
        until(has_ended, "the gateway still waits for the body", within=13, pause=0.2)
    sock.close()
    assert not answer or status_of(answer) in (408, 400), answer[:200]


@pytest.mark.timed
def test_l3_slow_reader(project, gateway):
    """A long list for clients that do not read: the memory of unread answers is limited, and other clients are served."""
    project.entity("pages", [{"name": "text", "type": "text"}])
    for _ in range(2):
        items = [{"text": "x" * 20000} for _ in range(40)]
        project.admin.post("/entities/pages/items/bulk", {"items": items}, expect=201)
    before = memory(gateway)
    slow = []
    for _ in range(10):
        sock = connect(gateway, receive_bytes=1)
        sock.sendall(head(project, "/entities/pages/items?limit=500"))
        slow.append(sock)
    # A list is created completely before its first byte is sent.
    statuses = [status_of(sock.recv(20)) for sock in slow]
    assert 200 in statuses and set(statuses) <= {200, 503}, statuses
    with OtherClients(project.admin):
        grown = memory(gateway) - before
    for sock in slow:
        sock.close()
    assert grown < 200 << 20, f"{grown >> 20} MB for ten readers"
    assert project.admin.get("/entities/pages/items?limit=500", expect=200).json()["total_items"] == 80


@pytest.mark.timed
@pytest.mark.parametrize("length", ["10737418240", "1048577", "9223372036854775807"])
def test_l4_a_body_that_is_declared_too_large(project, gateway, length):
    before = memory(gateway)
    sock = connect(gateway)
    sock.sendall(head(project, "/users/me", "PUT", f"Content-Type: application/json\r\nContent-Length: {length}\r\n"))
    with at_most(2, "the refusal"):
        assert status_of(receive(sock, b"\r\n\r\n")) in (413, 400)
    sock.close()
    assert memory(gateway) - before < 8 << 20


@pytest.mark.timed
def test_l4_chunks_without_end(project, gateway):
    """The answer comes when the limit is reached; the gateway discards further bytes for two seconds and then closes."""
    before = memory(gateway)
    sock = connect(gateway)
    sock.sendall(head(project, "/users/me", "PUT", "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"))
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"

    def has_ended():
        try:
            sock.sendall(chunk)
        except ConnectionError:
            return True

    until(has_ended, "the gateway still reads", within=8, pause=0.01)
    answer = b""
    try:
        answer = receive(sock, b"\r\n\r\n")
    finally:
        sock.close()
    assert not answer or status_of(answer) == 413
    assert memory(gateway) - before < 32 << 20


@pytest.mark.parametrize("more, statuses", [
    ("".join(f"X-H{number}: v\r\n" for number in range(10000)), {431}),
    ("X-Big: " + "a" * (1 << 20) + "\r\n", {431}),
    ("".join(f"X-H{number}: v\r\n" for number in range(150)), {431}),
])
def test_l5_too_many_and_too_large_headers(project, gateway, more, statuses):
    sock = connect(gateway)
    try:
        sock.sendall(head(project, more=more))
    except OSError:
        pass
    answer = receive(sock)
    assert not answer or status_of(answer) in statuses, answer[:200]
    sock.close()


def test_l5_a_target_that_is_too_long(project):
    response = project.admin.get("/users?" + "a" * 65536)
    assert response.status_code == 414


def test_l6_pipelined_requests_with_an_invalid_one_among_them(project, gateway):
    """Answers come in order, and the gateway does not process requests after the invalid one."""
    sock = connect(gateway)
    good = [head(project, "/users/me", more=f"X-Request-Id: n{number}\r\n") for number in range(200)]
    batch = b"".join(good[:100]) + b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n" + b"".join(good[100:])
    sender = threading.Thread(target=lambda: ignore_errors(sock.sendall, batch))
    sender.start()
    data = receive(sock, limit=10 << 20)
    sender.join()
    sock.close()
    ids = [line.split(b": ")[1] for line in data.split(b"\r\n") if line.lower().startswith(b"x-request-id: n")]
    assert ids == [f"n{number}".encode() for number in range(100)][: len(ids)] and len(ids) <= 100
    assert data.count(b"HTTP/1.1 200") == len(ids) and data.count(b"HTTP/1.1 400") <= 1
    if len(ids) == 100:
        assert data.count(b"HTTP/1.1 400") == 1


def ignore_errors(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        pass


@pytest.mark.full
@pytest.mark.timed
def test_l7_one_project_at_many_times_the_load(project, operator, recorder, gateway):
    other = Project(gateway, operator, recorder)
    for one in (project, other):
        one.admin.put("/", {"settings": {"rate_read": 1000000}}, expect=200)
    request = head(project, "/users?limit=100") * 20

    def flood(number, stop):
        with connect(gateway) as sock:
            ignore_errors(sock.sendall, request)
            return status_of(receive(sock, limit=4000))

    with OtherClients(other.admin, slowest=1.5) as others, AttackThreads(12, flood) as flooding:
        time.sleep(4)
        until(lambda: flooding.answers[200] > 50, lambda: flooding.answers)
        others.wait_served()
    project.admin.get("/users/me", expect=200)


@pytest.mark.timed
def test_l8_many_sign_ins_at_once(project):
    """The number of concurrent hashes is limited, so other requests are only a little slower."""
    project.admin.put("/", {"settings": {"rate_sign_in_address": 1000000, "rate_sign_in_account": 1000000}}, expect=200)
    user = project.user()
    statuses = []

    def sign_in(number):
        body = {"email": user.user["email"], "password": PASSWORD if number % 2 else "wrong password"}
        statuses.append(requests.post(f"{project.base_url}/auth/v1/token", json=body, timeout=600).status_code)

    threads = [threading.Thread(target=sign_in, args=(number,)) for number in range(80)]
    with OtherClients(project.admin, slowest=2.0):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(statuses) == 80 and set(statuses) <= {200, 401, 429, 503}, statuses
    assert statuses.count(200) > 0


def test_l8_guesses_are_counted(project):
    user = project.user()
    answers = [project.client().post("/auth/v1/token", {"email": user.user["email"], "password": f"guess {n}"}) for n in range(12)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 2
    assert all(int(refused.headers["Retry-After"]) <= 60 for refused in answers[10:])


@pytest.mark.timed
def test_l9_descriptors_exhausted(start_gateway, servers):
    """The gateway stops accepting connections without spinning, and continues when descriptors are free."""
    gateway = start_gateway(WORKERS=1, IDLE_MS=600000)
    operator = Client(f"{gateway.url}/org", token=servers.operator_token)
    project = Project(gateway, operator, None)
    worker = gateway.workers()[0]
    used = len(os.listdir(f"/proc/{worker}/fd"))
    resource.prlimit(worker, resource.RLIMIT_NOFILE, (used + 20, used + 20))
    crowd = []
    for _ in range(100):
        sock = connect(gateway)
        ignore_errors(sock.sendall, head(project))
        crowd.append(sock)
    until(lambda: len(os.listdir(f"/proc/{worker}/fd")) >= used + 20, "not exhausted")
    time.sleep(0.5)
    before, begun = cpu_seconds([worker]), time.monotonic()
    time.sleep(2)
    spent, passed = cpu_seconds([worker]) - before, time.monotonic() - begun
    for sock in crowd:
        sock.close()
    assert spent < passed / 2, f"{spent:.2f} s of processor time in {passed:.1f} s of nothing to do"

    def is_answered():
        try:
            return requests.get(f"{project.base_url}/users/me", timeout=allowed(3),
                                headers={"Authorization": f"Bearer {project.admin.token}"}).status_code == 200
        except requests.RequestException:
            return False

    until(is_answered, "it does not recover", within=8)
    assert gateway.stop() == 0
