"""Rights that are taken, and rights that change, while other clients write as fast as they can."""
import threading
import time

import pytest
from groundwork.deadline import allowed
from groundwork.soon import PROMISE
from stream import Stream

BALES = "/entities/bales/items"
LISTENING = ["bales:read", "orders:read", "svc_realtime:read"]


@pytest.fixture(scope="module")
def bales(live_project):
    live_project.entity("bales", [{"name": "n", "type": "integer"}, {"name": "weight", "type": "integer"}], row_level_security=False)
    return live_project


class Flood(threading.Thread):
    """Writes bulks of bales, and records when each bulk was begun."""

    def __init__(self, client, first):
        super().__init__(daemon=True)
        self.client, self.number, self.stop, self.begun = client, first, threading.Event(), {}
        self.start()

    def run(self):
        while not self.stop.is_set():
            self.begun[self.number] = time.monotonic()
            made = self.client.post(f"{BALES}/bulk", {"items": [{"n": self.number}] * 40})
            assert made.status_code == 201, made.text
            self.number += 1

    def end(self):
        self.stop.set()
        self.join()


def take_permission(live_project, user, role):
    live_project.admin.put(f"/roles/{role['id']}", {"permissions": ["svc_realtime:read"]}, expect=200)


def sign_out(live_project, user, role):
    user.post("/auth/v1/logout", expect=204)


def suspend(live_project, user, role):
    live_project.admin.put(f"/users/{user.user['id']}", {"status": "suspended"}, expect=200)


@pytest.mark.timed
def test_who_may_not_listen_any_more_hears_nothing_more(bales, listen):
    """A listener that loses its rights receives nothing after a second, however much waits to be sent; other listeners
    continue."""
    live_project, ways = bales, {take_permission: "forbidden", sign_out: "unauthorized", suspend: "unauthorized"}
    control, listeners = listen(live_project.admin, entities="bales"), {}
    for way in ways:
        role = live_project.role(permissions=LISTENING)
        user = live_project.user(role_ids=[role["id"]])
        listeners[way] = user, role, listen(user, entities="bales")
    floods = [Flood(live_project.client(token=live_project.admin.token), first) for first in (0, 1_000_000)]
    try:
        for way, (user, role, stream) in listeners.items():
            stream.until(lambda event: event.data["record"]["n"] in (5, 1_000_005), within=15)  # in the middle of the flood
            way(live_project, user, role)
            taken = time.monotonic()
            events = stream.until(lambda event: event.kind == "end")
            assert events[-1].data == {"code": ways[way]} and stream.ended.wait(60)
            late = [event for event in events if event.kind == "created" and event.at > taken + allowed(1.5)]
            begun = [floods[event.data["record"]["n"] >= 1_000_000].begun[event.data["record"]["n"]] for event in events if event.kind == "created"]
            assert not late and max(begun, default=0) < taken + allowed(PROMISE)
    finally:
        for flood in floods:
            flood.end()
    last = live_project.item("bales", n=-1)
    assert control.until(lambda event: event.data["id"] == last["id"], within=15)
    assert not control.ended.is_set()


def events_until_reset(user, position, change):
    """Calls `change` once the stream has begun; returns all events up to a reset. The gateway ends a stream with more than 512 KB
    that were not read: the client continues at its position."""
    events = []
    while not events or events[-1].kind != "reset":
        with Stream(user, entities="bales,orders", position=events[-1].position if events else position, hello=False) as stream:
            change()
            while not (events and events[-1].kind == "reset") and stream.has_next(within=15):
                events.append(stream.next())
        change = dict  # no second change
    return events


def test_who_catches_up_while_its_rights_change_misses_nothing(bales):
    """A listener that must read one entity again continues where it was in the other, also after its connection is cut."""
    live_project = bales
    role = live_project.role(permissions=LISTENING)
    user = live_project.user(role_ids=[role["id"]])
    with Stream(user, entities="bales,orders") as stream:
        left = stream.position
    ids = []
    for n in range(5):
        made = live_project.admin.post(f"{BALES}/bulk", {"items": [{"n": n}] * 1000}, expect=201).json()
        ids += [result["id"] for result in made["results"]]
    narrow = [{"entity": "orders", "action": "read", "fields": ["name"]}]
    events = events_until_reset(user, left, lambda: live_project.admin.put(f"/roles/{role['id']}", {"field_access": narrow}, expect=200))
    assert events[-1].data == {"entity": "orders", "reason": "rights"}
    heard = [event.data["id"] for event in events if event.kind == "created"]
    with Stream(user, entities="bales,orders", position=events[-1].position) as stream:
        heard += [event.data["id"] for event in stream.before if event.kind == "created"]
    assert heard == ids
