"""Listeners while Redis or PostgreSQL are away: they stay connected, and miss nothing."""
import threading
import time

import pytest
from groundwork.deadline import at_most, until
from groundwork.soon import PROMISE, SLACK, wait_served
from stream import Stream, event_ids


def write(client, stop, made):
    while not stop.is_set():
        answer = client.post("/entities/orders/items", {"name": "steady", "total": len(made)})
        if answer.status_code == 201:
            made.append(answer.json()["id"])
        else:
            assert answer.status_code == 503, answer.text
            time.sleep(0.05)


@pytest.mark.timed
def test_without_redis(live_project, listen, servers):
    stream = listen(live_project.admin)
    servers.redis("stop")
    try:
        made = live_project.item("orders", name="nobody rings")
        with at_most(PROMISE + SLACK, "a change"):
            assert stream.next("created").data["id"] == made["id"]
    finally:
        servers.redis("start")


def test_postgres_that_crashes(live_project, listen, servers):
    """Each committed change arrives once, at a listener that stays and at one that resumes from an earlier position."""
    stream = listen(live_project.admin)
    live_project.item("orders", name="first")
    left = stream.next("created").position
    stop, made = threading.Event(), []
    thread = threading.Thread(target=write, args=(live_project.client(token=live_project.admin.token), stop, made))
    thread.start()
    try:
        until(lambda: len(made) >= 5, "records are written")
        servers.postgres("kill")
        try:
            time.sleep(0.3)
        finally:
            servers.postgres("start")
        before = len(made)
        until(lambda: len(made) >= before + 5, "records are written again")
    finally:
        stop.set()
        thread.join()
    wait_served(live_project.admin, "/entities/orders/items?limit=1")
    last = live_project.item("orders", name="last")
    events = stream.until(lambda event: event.data["id"] == last["id"])
    # A write whose answer was lost may have been committed, too.
    assert [each for each in event_ids(events) if each[1] in made or each[1] == last["id"]] == [("created", each) for each in [*made, last["id"]]]
    assert len(set(event_ids(events))) == len(events)
    with Stream(live_project.admin, entities="orders", position=left) as again:
        assert event_ids(again.before) == event_ids(events)


def test_a_position_claims_nothing_that_a_crash_takes_back(live_project, db):
    """A position does not cover the number of a rolled-back transaction: after a crash PostgreSQL may assign that number again,
    and the listener must then see its changes."""
    with Stream(live_project.admin, entities="orders"):
        pass
    with db.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute("select pg_current_xact_id()::text::bigint")
        number = cursor.fetchone()[0]
        cursor.execute("rollback")
    with Stream(live_project.admin, entities="orders") as stream:
        low, high, _ = stream.position.split(".")[1].split(":")
        assert int(low) <= int(high) <= number
        made = live_project.item("orders", name="afterwards")
        assert stream.next("created").data["id"] == made["id"]
        assert int(stream.position.split(".")[1].split("~")[0].split(":")[1]) > number
