"""Clients that disappear at any moment, concurrently with clients that check that every answer belongs to their own request.

CHAOS_SECONDS makes the test run longer than the few seconds of a usual run.
"""
import json
import os
import random
import re
import socket
import struct
import threading
import time
import uuid

import pytest

from groundwork.deadline import until
from groundwork.fixtures import *  # noqa: F401,F403
from groundwork.project import Project
from groundwork.records import rows

SECONDS = float(os.environ.get("CHAOS_SECONDS", "8"))
HONEST = 6
VANDALS = 8


class Honest(threading.Thread):
    """Reads and writes its own records, and fails on a record of another client."""

    def __init__(self, client, end):
        super().__init__()
        self.client = client
        self.end = end
        self.mark = uuid.uuid4().hex
        self.mine = {}
        self.done = 0
        self.busy = 0
        self.failure = None

    def ask(self, method, path, **options):
        """Returns the answer after checking that it belongs to this request, or None for 503."""
        request_id = uuid.uuid4().hex
        response = self.client.request(method, path, headers={"X-Request-Id": request_id}, **options)
        assert response.headers["X-Request-Id"] == request_id
        if response.status_code == 503:  # too busy, but still the answer to this request
            assert response.json()["request_id"] == request_id
            self.busy += 1
            return None
        self.done += 1
        return response

    def own(self, item):
        assert item["text"].startswith(self.mark), "a record of another client"
        assert item["text"] == self.mine.get(item["id"], item["text"]), "another record's text"

    def create(self):
        text = self.mark + random.choice("abc") * random.randrange(1, random.choice([50, 3000, 90000]))
        made = self.ask("POST", "/entities/notes/items", json={"text": text, "n": random.randrange(9)})
        if made is not None:
            assert made.status_code == 201 and made.json()["text"] == text
            self.mine[made.json()["id"]] = text

    def get(self):
        if self.mine:
            item_id = random.choice(list(self.mine))
            found = self.ask("GET", f"/entities/notes/items/{item_id}")
            if found is not None:
                assert found.status_code == 200 and found.json()["id"] == item_id
                self.own(found.json())

    def list(self):
        found = self.ask("GET", "/entities/notes/items", params={"limit": random.randrange(1, 30), "sort": "-id",
                                                                 "filter[n][gte]": random.randrange(5)})
        if found is not None:
            assert found.status_code == 200, found.text
            for item in found.json()["items"]:
                self.own(item)

    def export(self):
        found = self.ask("GET", "/entities/notes/items/export", params={"format": "jsonl"})
        if found is not None:
            assert found.status_code == 200, found.text
            for line in found.text.splitlines():
                self.own(json.loads(line))

    def missing(self):
        path = f"/entities/{self.mark[:8]}x/items"
        found = self.ask("GET", path)
        if found is not None:
            assert found.status_code == 404

    def run(self):
        steps = [self.create] * 2 + [self.get] * 6 + [self.list] * 3 + [self.missing, self.export]
        try:
            while time.monotonic() < self.end or self.done <= 10:
                random.choice(steps)()
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure


class Vandal(threading.Thread):
    """Sends requests, complete or truncated, alone or pipelined, reads some of the answers and disconnects."""

    def __init__(self, client, address, end):
        super().__init__()
        self.client = client
        self.address = address
        self.end = end
        self.count = 0

    def head(self, method, path, extra=""):
        base = "/org/" + self.client.project.id
        return (f"{method} {base}{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.client.token}\r\n"
                f"{extra}\r\n").encode()

    def request(self):
        body = json.dumps({"text": "vandal" + "v" * random.randrange(200000), "n": 1}).encode()
        bulk = json.dumps({"items": [{"text": f"vandal{i}", "n": i} for i in range(200)]}).encode()
        posts = [("/entities/notes/items", body), ("/entities/notes/items/bulk", bulk),
                 ("/entities/notes/items/delete-many", b'{"filter":{"n":{"lt":3}},"max_affected":500}')]
        path, data = random.choice(posts)
        if random.random() < 0.3:
            expect = random.choice(["", "Expect: 100-continue\r\n"])
            return self.head("POST", path, f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
                                           f"{expect}") + data
        if random.random() < 0.15:
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(data[i:i + 5000]), data[i:i + 5000])
                              for i in range(0, len(data), 5000))
            return self.head("POST", path, "Transfer-Encoding: chunked\r\n") + chunks + b"0\r\n\r\n"
        return self.head("GET", random.choice([
            "/entities/notes/items?limit=200", "/entities/notes/items/1", "/entities/notes/items/export?format=csv",
            "/entities/notes/items/aggregate?count=*", "/users/me", "/nothing",
            "/entities/notes/items?filter[text][icontains]=zzz&limit=500", "/docs"]))

    def send_once(self):
        data = b"".join(self.request() for _ in range(random.choice([1, 1, 1, 3, 10])))
        if random.random() < 0.5:
            data = data[: random.randrange(1, len(data))]
        with socket.create_connection(self.address, timeout=5) as sock:
            if random.random() < 0.5:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if random.random() < 0.2:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(random.choice([0.001, 0.01, 0.1, 0.5]))
            sock.sendall(data)
            if random.random() < 0.2:
                sock.shutdown(socket.SHUT_WR)
            for _ in range(random.randrange(6)):
                if not sock.recv(random.choice([1, 100, 70000])):
                    break

    def run(self):
        while time.monotonic() < self.end:
            try:
                self.send_once()
            except OSError:
                pass
            self.count += 1


def wait_quiet(gateway):
    """Waits until everything that clients began has ended: requests, leases, statements."""
    names = ["http_in_flight", "http_connections", "db_leased", "db_in_flight", "db_waiting"]

    def left():
        found = dict(re.findall(r"^groundwork_(\w+) (\S+)$", gateway.metrics(), re.M))
        return {name: found[name] for name in names if float(found.get(name, 0))}

    until(lambda: not left(), left, within=15, pause=0.2)


@pytest.fixture
def chaos_gateway(start_gateway):
    return start_gateway("chaos", WORKERS=1, STATEMENT_TIMEOUT_MS=60000)


def test_clients_that_vanish(session_gateway, operator, recorder, chaos_gateway, servers):
    project = Project(session_gateway, operator, recorder)
    project.entity("notes", fields=[{"name": "text", "type": "text"}, {"name": "n", "type": "integer"}])
    clients = [project.user(entities=["notes"], permissions=["svc_exports:create"]) for _ in range(HONEST + 1)]
    for client in clients:
        client.base_url = f"{chaos_gateway.url}/org/{project.id}"
        client.recorder = None
    end = time.monotonic() + SECONDS
    honest = [Honest(client, end) for client in clients[:HONEST]]
    vandals = [Vandal(clients[-1], ("127.0.0.1", chaos_gateway.port), end) for _ in range(VANDALS)]
    for thread in honest + vandals:
        thread.start()
    for thread in honest + vandals:
        thread.join()
    for thread in honest:
        if thread.failure:
            raise thread.failure
    assert not chaos_gateway.alarms() and chaos_gateway.is_running()
    assert all(thread.done > 10 for thread in honest), [thread.done for thread in honest]
    for client in clients:
        client.session.close()

    wait_quiet(chaos_gateway)
    with servers.connect() as db:  # other daemons also begin and end transactions
        until(lambda: not rows(db, "select 1 from pg_stat_activity where state like 'idle in%%' and state_change < now() - interval '100 ms'"),
              lambda: rows(db, "select state, query from pg_stat_activity where state like 'idle in%%'"))
    assert chaos_gateway.stop() == 0
