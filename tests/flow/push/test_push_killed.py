"""K13, I6: a dispatcher is killed at each point of a send and another dispatcher continues: no device is missed, and only requests that were in
flight at the kill are repeated, with the same notification_id."""
import collections
import re

import psycopg2
import pytest
from groundwork.chaos import kill
from groundwork.deadline import until
from psycopg2.extras import Json

SETTINGS = {"LEASE_MS": 30000, "SWEEP_MS": 200, "DRAIN_TIMEOUT_MS": 60000}


@pytest.fixture
def start_test_dispatcher(start_dispatcher):
    """A function that starts a dispatcher. Only the dispatchers of one test take its sends."""
    started = []

    def start(**settings):
        started.append(start_dispatcher(**{**SETTINGS, **settings}))
        return started[-1]

    yield start
    for daemon in started:
        if daemon.is_running():
            daemon.stop(120)


def kill_and_expire(push_project, daemon):
    """Kills the dispatcher and makes its sends due, as the end of their leases would."""
    kill(daemon)
    push_project.execute("update {p}.push_sends set due_at = now() where leased")


def repeated_tokens(messages):
    """Returns the tokens that received more than one message."""
    return [token for token, count in collections.Counter(each["token"] for each in messages).items() if count > 1]


def one_notification(messages):
    return len({each["data"]["notification_id"] for each in messages}) == 1


def check(push_project, fcm, send, count, in_flight):
    log = push_project.wait_ended(send, 10)
    messages = fcm.messages()
    assert (log["status"], log["targets"], log["fcm_delivered"], log["fcm_failed"]) == ("Succeeded", count, count, 0)
    assert len({each["token"] for each in messages}) == count and one_notification(messages)
    assert len(repeated_tokens(messages)) <= in_flight
    assert {status for status, _ in push_project.deliveries(send).values()} == {"delivered"}
    return repeated_tokens(messages)


@pytest.mark.parametrize("after", [0, 1, 400, 1100, 2300])
def test_killed_while_it_sends(push_project, start_test_dispatcher, fcm, after):
    """The dispatcher is killed after the provider has received `after` requests."""
    fcm.forget()
    push_project.phones(2500, f"kill{push_project.number}")
    fcm.fault("delay", times=None, seconds=0.05)
    try:
        first = start_test_dispatcher()
        send = push_project.send()
        until(lambda: len(fcm.sends()) >= after and push_project.send_row(send)["leased"], "it is under way", pause=0.02)
        kill_and_expire(push_project, first)
        fcm.clear_faults()
        start_test_dispatcher()
        check(push_project, fcm, send, 2500, 500)
    finally:
        fcm.clear_faults()


@pytest.mark.full
def test_killed_again_and_again(push_project, start_test_dispatcher, fcm):
    """More dispatchers are killed than a send has attempts: the send completes, because each of them made progress."""
    fcm.forget()
    push_project.phones(4000, f"again{push_project.number}")
    fcm.fault("delay", times=None, seconds=0.05)
    kills = 0
    try:
        send = push_project.send()
        while kills < 3:
            daemon = start_test_dispatcher(SEND_ATTEMPTS=2)
            seen = len(fcm.sends())
            until(lambda seen=seen: len(fcm.sends()) > seen + 600, "the send makes progress", pause=0.02)
            kill_and_expire(push_project, daemon)
            kills += 1
        fcm.clear_faults()
        start_test_dispatcher(SEND_ATTEMPTS=2)
        check(push_project, fcm, send, 4000, kills * 500)
    finally:
        fcm.clear_faults()


def test_rows_are_there_before_the_first_request(push_project, start_test_dispatcher, fcm):
    fcm.forget()
    push_project.phones(1200, f"rows{push_project.number}")
    fcm.fault("hang", times=None)
    try:
        daemon = start_test_dispatcher(LEASE_MS=2000)
        send = push_project.send()
        until(fcm.sends, "a request")
        assert push_project.query_value("select count(*) from {p}.push_deliveries where send_id = %s", send) == 1200
        # Devices that are registered later do not belong to this send.
        push_project.phones(50, f"late{push_project.number}")
        kill(daemon)
    finally:
        fcm.clear_faults()
    start_test_dispatcher()
    log = push_project.wait_ended(send)
    assert (log["targets"], log["fcm_delivered"]) == (1200, 1200)


def blocked_row(push_project, send, record):
    """Inserts the row of a delivery in an open transaction: a dispatcher that writes the page with this row waits until the returned connection is
    closed."""
    connection = psycopg2.connect(push_project.db.dsn)
    with connection.cursor() as cursor:
        cursor.execute(f"insert into {push_project.schema}.push_deliveries (send_id, provider, target_id) values (%s, 1, %s)", (send, record))
    return connection


@pytest.mark.parametrize("pages", [1, 3])
def test_killed_while_it_reads_a_source(push_project, start_test_dispatcher, fcm, pages):
    """The dispatcher is killed when `pages` pages of an entity's records are rows of deliveries and the next page is being written."""
    project = push_project.project
    entity = project.entity("phones", [{"name": "token", "type": "varchar"}, {"name": "owner", "type": "integer"}])
    ids = {field["name"]: field["id"] for field in entity["fields"]}
    push_project.execute(f"insert into {{p}}.e_{entity['id']} (f_{ids['token']}) select 'src{push_project.number}-' || n from generate_series(1, 2200) n")
    source = {"kind": "entity_field", "entity_id": entity["id"], "token_field_id": ids["token"], "owner_field_id": ids["owner"]}
    push_project.execute("update {p}.settings set doc = doc || %s where kind = 'push' and key = 'fcm'", Json({"source": source}))
    fcm.forget()
    send = push_project.send()
    records = [each for each, in push_project.rows(f"select id from {{p}}.e_{entity['id']} order by id")]
    blocker = blocked_row(push_project, send, records[pages * 500 + 100])
    try:
        first = start_test_dispatcher()
        until(lambda: push_project.send_row(send)["targets"] == pages * 500 and push_project.rows(
            "select 1 from pg_stat_activity where %s = any (pg_blocking_pids(pid))", blocker.info.backend_pid), "it writes the next")
        kill_and_expire(push_project, first)
    finally:
        blocker.close()
    assert fcm.sends() == []
    start_test_dispatcher()
    assert check(push_project, fcm, send, 2200, 0) == []
    assert set(push_project.deliveries(send)) == set(records)


def test_told_to_end_it_gives_back(push_project, start_test_dispatcher, fcm):
    """A dispatcher that is stopped releases its send, and the next dispatcher repeats no request."""
    fcm.forget()
    push_project.phones(3000, f"drain{push_project.number}")
    fcm.fault("delay", times=None, seconds=0.05)
    try:
        daemon = start_test_dispatcher()
        send = push_project.send()
        until(lambda: len(fcm.sends()) > 700, "it is under way", pause=0.02)
        daemon.stop(120)
        assert not push_project.send_row(send)["leased"]
        fcm.clear_faults()
        start_test_dispatcher()
        assert check(push_project, fcm, send, 3000, 0) == []
    finally:
        fcm.clear_faults()


def test_one_that_was_presumed_dead_writes_nothing(push_project, start_test_dispatcher, fcm):
    device = push_project.device(f"fenced{push_project.number}")
    fcm.fault("hold")
    daemon = start_test_dispatcher()
    send = push_project.send()
    until(lambda: fcm.sends(f"fenced{push_project.number}"), "it is sent")
    push_project.execute("update {p}.push_sends set token = token + 1, due_at = now() + interval '1 hour' where id = %s", send)
    fcm.clear_faults()
    until(lambda: re.search(r'running{queue="push_sends"} 0\n', daemon.metrics()), daemon.metrics)
    assert push_project.deliveries(send) == {device: ("pending", None)}
    assert daemon.is_running()


def test_quarantine(push_project, start_test_dispatcher):
    """When a send has no attempts left, its pending deliveries fail. When failing these deliveries used up the attempts again, the send ends at once."""
    devices = [push_project.device(f"poison{number}.{push_project.number}") for number in range(3)]
    poison = "update {p}.push_sends set leased = true, attempt = 5, due_at = now(), fan_out = 2, targets = 3{also} where id = %s"
    row = "insert into {p}.push_deliveries (send_id, provider, target_id, status) values (%s, 1, %s, %s)"
    begun, untouched, again = push_project.send(), push_project.send(), push_project.send()
    for send, first in ((begun, "delivered"), (untouched, "pending"), (again, "pending")):
        for device in devices:
            push_project.execute(row, send, device, first if device == devices[0] else "pending")
    push_project.execute(poison.replace("{also}", ", fcm_delivered = 1"), begun)
    push_project.execute(poison.replace("{also}", ""), untouched)
    push_project.execute(poison.replace("{also}", ", first_error = 'QUARANTINED'"), again)
    start_test_dispatcher()
    for send, status, failed in ((begun, "Partial", 2), (untouched, "Failed", 3), (again, "Failed", 0)):
        log = push_project.wait_ended(send)
        assert (log["status"], log["first_error"], log["fcm_failed"]) == (status, "QUARANTINED", failed)
    dead = ("failed", "QUARANTINED")
    assert push_project.deliveries(begun) == {devices[0]: ("delivered", None), devices[1]: dead, devices[2]: dead}
    assert push_project.deliveries(untouched) == {device: dead for device in devices}
