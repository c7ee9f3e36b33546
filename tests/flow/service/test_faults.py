"""D5, D7, D8, D16: PostgreSQL restarts, crashes, is full, is locked, or changes its tables; the service survives."""
import collections
import concurrent.futures
import os
import signal
import socket
import threading
import time

import psycopg2
import pytest

from groundwork.client import Client
from groundwork.deadline import allowed, at_most, until
from groundwork.soon import wait_served

pytestmark = pytest.mark.slow


class Callers:
    """Threads that call repeatedly and record (begun, taken, status, answer). A thread that gets no answer ends, and the test
    fails."""

    def __init__(self, client, count, call, pause=0.01):
        self.stop = threading.Event()
        self.seen = []
        self.call = call
        self.pause = pause
        self.clients = [Client(client.base_url, token=client.token, key=client.key) for _ in range(count)]
        self.pool = concurrent.futures.ThreadPoolExecutor(count)

    def run(self, client, number):
        turn = 0
        while not self.stop.is_set():
            begun = time.monotonic()
            response = self.call(client, number, turn)
            self.seen.append((begun, time.monotonic() - begun, response.status_code, response))
            turn += 1
            time.sleep(self.pause)

    def __enter__(self):
        self.running = [self.pool.submit(self.run, client, number) for number, client in enumerate(self.clients)]
        return self

    def __exit__(self, kind, *_):
        self.stop.set()
        self.pool.shutdown()
        if kind is None:
            for one in self.running:
                one.result()

    def statuses(self, since=0.0):
        return collections.Counter(status for begun, _, status, _ in list(self.seen) if begun >= since)

    def wait_more(self, count=20):
        """Waits until `count` more calls have been answered."""
        wanted = len(self.seen) + count
        until(lambda: len(self.seen) >= wanted, lambda: f"only {len(self.seen)} of {wanted} were answered")


def write(client, number, turn):
    return client.post("/entities/orders/items", {"name": f"{number}-{turn}"})


def read(client, *_):
    return client.get("/entities/orders/items", params={"limit": 5, "count": "false"})


@pytest.fixture
def busy_project(project):
    project.admin.put("/", {"settings": {"rate_read": 1000000, "rate_write": 1000000}}, expect=200)
    project.entity("orders")
    project.entity("others")
    return project


def acknowledged_are_there(project, writers):
    names = {r.json()["name"] for _, _, status, r in writers.seen if status == 201}
    stored, cursor = set(), "start"
    while cursor:
        page = project.admin.get("/entities/orders/items",
                                 params={"limit": 500, "count": "false", "cursor": cursor}, expect=200).json()
        stored |= {item["name"] for item in page["items"]}
        cursor = page.get("next_cursor")
    assert names and names <= stored, f"acknowledged and lost: {sorted(names - stored)[:10]}"


def until_ready(servers):
    """Waits until PostgreSQL accepts connections again: after a crash it first recovers, for any time."""

    def is_ready():
        try:
            servers.connect().close()
            return True
        except psycopg2.OperationalError:
            return False

    until(is_ready, "PostgreSQL does not come back")


def outage(project, servers, breaks, expected=frozenset({200, 201, 503})):
    """Breaks PostgreSQL under load: the only errors are 503s, and everything is normal five seconds after it is back."""
    with Callers(project.admin, 4, write) as writers, Callers(project.admin, 3, read) as readers:
        both = ((writers, 201), (readers, 200))

        def of_late():
            return [set(callers.statuses(time.monotonic() - 1.5)) for callers, _ in both]

        writers.wait_more()
        readers.wait_more()
        breaks()
        time.sleep(0.2)
        until_ready(servers)
        until(lambda: of_late() == [{right} for _, right in both], of_late, within=6.5)
    for callers, _ in both:
        assert set(callers.statuses()) <= expected, callers.statuses()
        longest = max(taken for _, taken, _, _ in callers.seen)
        assert longest < allowed(10), f"a request hung for {longest:.1f} s"
    acknowledged_are_there(project, writers)


@pytest.mark.timed
def test_d5_fast_restart_under_load(busy_project, servers):
    outage(busy_project, servers, lambda: servers.postgres("restart"))


@pytest.mark.timed
def test_d5_crash_under_load(busy_project, servers):
    def crash():
        servers.postgres("kill")
        time.sleep(1)
        servers.postgres("start")

    outage(busy_project, servers, crash)


def test_d5_an_upload_whose_end_comes_in_an_outage(busy_project, servers, gateway):
    """The service checks rights again at the end of an upload. If it cannot read them, the answer is not an internal error."""
    half = b"x" * 262144  # enough that the gateway does not end the upload as too slow
    taken = 'groundwork_shares_held{pool="uploads"} 1'
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as s:
        s.sendall(f"PUT /org/{busy_project.id}/files/upload/late.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {2 * len(half)}\r\n"
                  f"Authorization: Bearer {busy_project.admin.token}\r\n\r\n".encode() + half)
        until(lambda: taken in gateway.metrics(), "the upload was not admitted")
        servers.postgres("stop")
        try:
            time.sleep(6)  # cached rights are valid for five seconds
            s.sendall(half)
            answer = s.recv(65536)
        finally:
            servers.postgres("start")
            until_ready(servers)
    assert answer.startswith(b"HTTP/1.1 503 "), answer
    assert b"Rights cannot be read" in answer, answer
    wait_served(busy_project.admin, "/entities/orders/items?limit=1")


@pytest.mark.timed
def test_d5_a_backend_dies(busy_project, servers, db):
    """A killed backend makes PostgreSQL restart all backends."""
    with db.cursor() as cursor:
        cursor.execute("select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()")
        pids = [row[0] for row in cursor.fetchall()]
    outage(busy_project, servers, lambda: os.kill(pids[0], signal.SIGKILL))


@pytest.mark.timed
def test_d5_backends_are_terminated(busy_project, servers, db):
    def terminate():
        with db.cursor() as cursor:
            cursor.execute("select pg_terminate_backend(pid) from pg_stat_activity "
                           "where backend_type = 'client backend' and pid <> pg_backend_pid()")

    outage(busy_project, servers, terminate)


@pytest.mark.timed
def test_d7_no_connection_left(busy_project, servers, db, gateway):
    """Another client takes every connection: requests get 503 within a second, and the service recovers on its own."""
    taken = []
    try:
        with db.cursor() as cursor:
            for _ in range(8):
                cursor.execute("select pg_terminate_backend(pid) from pg_stat_activity "
                               "where backend_type = 'client backend' and pid <> pg_backend_pid() and pid <> all(%s)",
                               ([connection.get_backend_pid() for connection in taken],))
                while len(taken) < 300:
                    try:
                        taken.append(servers.connect())
                    except psycopg2.OperationalError:
                        break
        time.sleep(0.2)
        for call in (lambda: read(busy_project.admin), lambda: write(busy_project.admin, 0, 0)):
            with at_most(2.5, "503"):
                response = call()
            assert response.status_code in (503, 200, 201), response.text
    finally:
        for connection in taken:
            connection.close()
    assert len(taken) > 100
    until(lambda: {read(busy_project.admin).status_code, write(busy_project.admin, 1, 1).status_code} == {200, 201}, "not normal again", within=15)
    wait_served(busy_project.admin, "/entities/orders/items?limit=5&count=false")
    for _ in range(20):
        assert read(busy_project.admin).status_code == 200 and write(busy_project.admin, 2, 2).status_code == 201


@pytest.mark.timed
def test_d8_a_locked_table_delays_nobody_else(busy_project, servers, db, operator, recorder, gateway):
    from groundwork.project import Project

    other = Project(gateway, operator, recorder)
    other.entity("orders")
    with db.cursor() as cursor:
        cursor.execute(f"select id from {busy_project.schema(db)}.entities where name = 'orders'")
        table = f"{busy_project.schema(db)}.e_{cursor.fetchone()[0]}"
    holder = servers.connect()
    holder.autocommit = False

    def calm(client, *_):
        return client.get("/entities/others/items", params={"limit": 1})

    def calm_write(client, number, turn):
        return client.post("/entities/others/items", {"name": "x"})

    try:
        holder.cursor().execute(f"lock table {table} in access exclusive mode")
        with Callers(busy_project.admin, 6, read) as stuck, Callers(busy_project.admin, 4, write) as stuck_writers, \
                Callers(busy_project.admin, 2, calm) as calms, Callers(busy_project.admin, 1, calm_write) as calm_writes, \
                Callers(other.admin, 2, read) as others:
            time.sleep(6)
            for callers in (calms, calm_writes, others):  # requests for the locked table keep waiting
                callers.wait_more()
    finally:
        holder.rollback()
        holder.close()
    for callers in (calms, calm_writes, others):
        assert set(callers.statuses()) <= {200, 201}, callers.statuses()
        taken = sorted(taken for _, taken, _, _ in callers.seen)
        assert len(taken) > 20, "hardly any call came through"
        assert taken[-1] < allowed(1.5), f"delayed by {taken[-1]:.2f} s (median {taken[len(taken) // 2]:.3f} s)"
    for callers in (stuck, stuck_writers):
        assert set(callers.statuses()) <= {200, 201, 503, 504}, callers.statuses()
    read(busy_project.admin)
    assert read(busy_project.admin).status_code == 200 and write(busy_project.admin, 9, 9).status_code == 201


def test_d16_the_entity_changes_under_traffic(busy_project):
    """Fields are added and removed while two workers hold prepared plans: no answer is a 5xx, and no change is partial."""
    def call(client, number, turn):
        if turn % 3 == 0:
            return client.post("/entities/orders/items", {"name": "x", "amount": turn})
        return client.get("/entities/orders/items", params={"limit": 3, "sort": "-id", "filter[amount][gte]": 0})

    with Callers(busy_project.admin, 6, call) as callers:
        for turn in range(4):
            made = busy_project.admin.post("/entities/orders/fields", {"name": f"extra{turn}", "type": "integer", "default": turn})
            assert made.status_code == 201, made.text
            changed = busy_project.admin.put(f"/entities/orders/fields/extra{turn}", {"type": "text", "default": None})
            assert changed.status_code == 200, changed.text
            renamed = busy_project.admin.put(f"/entities/orders/fields/extra{turn}", {"name": f"other{turn}"})
            assert renamed.status_code == 200, renamed.text
            busy_project.admin.delete(f"/entities/orders/fields/other{turn}", expect=204)
    assert set(callers.statuses()) == {200, 201}, [
        r.text[:300] for _, _, status, r in callers.seen if status not in (200, 201)][:3]


@pytest.mark.timed
def test_d16_a_change_behind_a_long_read_gives_up(busy_project, servers, db):
    with db.cursor() as cursor:
        cursor.execute(f"select id from {busy_project.schema(db)}.entities where name = 'orders'")
        table = f"{busy_project.schema(db)}.e_{cursor.fetchone()[0]}"
    holder = servers.connect()
    holder.autocommit = False
    try:
        holder.cursor().execute(f"select count(*) from {table}")
        with Callers(busy_project.admin, 3, read) as readers:
            readers.wait_more()
            with at_most(8, "the change"):
                change = busy_project.admin.post("/entities/orders/fields", {"name": "late", "type": "integer"})
            readers.wait_more()
    finally:
        holder.rollback()
        holder.close()
    assert change.status_code in (409, 503), f"{change.status_code}: {change.text}"
    assert set(readers.statuses()) == {200}, readers.statuses()
    assert max(taken for _, taken, _, _ in readers.seen) < allowed(3), "readers waited for the change"
    busy_project.admin.post("/entities/orders/fields", {"name": "late", "type": "integer"}, expect=201)
