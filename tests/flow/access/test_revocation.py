"""A8: a revoked right ends on every worker within a second, under traffic on every worker."""
import threading
import time

import pytest

from groundwork.client import Client
from groundwork.deadline import allowed, until
from groundwork.project import PASSWORD
from groundwork.soon import PROMISE, SLACK

pytestmark = pytest.mark.timed

CONNECTIONS = 8  # the kernel distributes them over two workers


class Traffic:
    """Sends requests over several connections and records when the last successful one began."""

    def __init__(self, client, path):
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.last_success = 0.0
        self.statuses = {}
        self.refused = [0] * CONNECTIONS  # refusals in a row, by connection
        self.clients = [Client(client.base_url, token=client.token, key=client.key) for _ in range(CONNECTIONS)]
        self.threads = [threading.Thread(target=self.ask, args=(number, one, path)) for number, one in enumerate(self.clients)]

    def ask(self, number, client, path):
        while not self.stop.is_set():
            begun = time.monotonic()
            status = client.get(path).status_code
            with self.lock:
                self.statuses[status] = self.statuses.get(status, 0) + 1
                self.refused[number] = 0 if status == 200 else self.refused[number] + 1
                if status == 200:
                    self.last_success = max(self.last_success, begun)
            time.sleep(0.05)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def ends_within_the_promise(self, change, statuses):
        """Makes the change, and waits until each connection is refused repeatedly. Asserts that no request that began later
        than the promised time succeeded."""
        until(lambda: self.statuses.get(200, 0) >= CONNECTIONS, lambda: f"no traffic before the change: {self.statuses}")
        change()
        changed = time.monotonic()
        until(lambda: min(self.refused) >= 15, lambda: f"refused in a row: {self.refused}", PROMISE + SLACK + 4)
        with self.lock:
            assert set(self.statuses) <= {200, *statuses}, self.statuses
            assert set(self.statuses) & set(statuses), self.statuses
            late = self.last_success - changed
        assert late <= allowed(PROMISE + SLACK), f"a success {late:.3f} s after the change"


@pytest.fixture
def orders(project):
    project.entity("orders")
    project.holding = project.role(permissions=["orders:read", "svc_api_keys:create", "svc_roles:read"])
    project.reader = project.user(role_ids=[project.holding["id"]])
    return project


PATH = "/entities/orders/items"


def test_a8_permission_taken_from_a_role(orders):
    with Traffic(orders.reader, PATH) as traffic:
        traffic.ends_within_the_promise(
            lambda: orders.admin.put(f"/roles/{orders.holding['id']}", {"permissions": []}, expect=200), {403})


def test_a8_role_taken_from_a_user(orders):
    with Traffic(orders.reader, PATH) as traffic:
        traffic.ends_within_the_promise(
            lambda: orders.admin.put(f"/users/{orders.reader.user['id']}", {"role_ids": []}, expect=200), {403})


def test_a8_api_access_flag(orders):
    with Traffic(orders.reader, PATH) as traffic:
        traffic.ends_within_the_promise(
            lambda: orders.admin.put(f"/roles/{orders.holding['id']}", {"api_access": False}, expect=200), {403})


def test_a8_user_suspended(orders):
    key = orders.key(["orders:read"], client=orders.reader)
    with Traffic(orders.reader, PATH) as traffic, Traffic(key, PATH) as by_key:
        traffic.ends_within_the_promise(
            lambda: orders.admin.put(f"/users/{orders.reader.user['id']}", {"status": "suspended"}, expect=200), {401})
        until(lambda: by_key.statuses.get(401), "the key is still accepted", PROMISE + SLACK)


def test_a8_user_deleted(orders):
    with Traffic(orders.reader, PATH) as traffic:
        traffic.ends_within_the_promise(
            lambda: orders.admin.delete(f"/users/{orders.reader.user['id']}", expect=204), {401})


def test_a8_key_deleted(orders):
    key = orders.key(["orders:read"])
    with Traffic(key, PATH) as traffic:
        traffic.ends_within_the_promise(lambda: orders.admin.delete(f"/api-keys/{key.info['id']}", expect=204), {401})


def test_a8_logout(orders):
    with Traffic(orders.reader, PATH) as traffic:
        traffic.ends_within_the_promise(lambda: orders.reader.post("/auth/v1/logout", expect=204), {401})
    orders.client().sign_in(orders.reader.user["email"], PASSWORD).get(PATH, expect=200)


def test_a8_session_ended_by_an_administrator(orders):
    user = f"/users/{orders.reader.user['id']}"
    session = orders.admin.get(f"{user}/sessions", expect=200).json()["items"][0]["id"]
    with Traffic(orders.reader, PATH) as traffic:
        traffic.ends_within_the_promise(lambda: orders.admin.delete(f"{user}/sessions/{session}", expect=204), {401})


def test_a8_entity_permission_ends_with_the_entity(orders):
    with Traffic(orders.reader, PATH) as traffic:
        traffic.ends_within_the_promise(lambda: orders.admin.delete("/entities/orders", expect=204), {403, 404})


def test_a8_without_redis(orders, servers):
    """The Redis message is only a hint: without Redis the workers still poll the epochs."""
    servers.redis("stop")
    try:
        with Traffic(orders.reader, PATH) as traffic:
            traffic.ends_within_the_promise(
                lambda: orders.admin.put(f"/roles/{orders.holding['id']}", {"permissions": []}, expect=200), {403})
    finally:
        servers.redis("start")
