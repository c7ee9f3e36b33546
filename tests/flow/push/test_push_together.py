"""Several dispatchers at once, and the removal of old sends."""
import collections
import re
import signal

import pytest
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.servers import ROOT

SETTINGS = {"LEASE_MS": 60000, "SWEEP_MS": 200, "DRAIN_TIMEOUT_MS": 60000}


@pytest.fixture
def start_dispatchers(start_dispatcher, push_project):
    """A function that starts a dispatcher. Only the dispatchers of one test take its sends, and they take no sends of other projects."""
    started = []
    for table in ("push_projects", "workflow_projects"):
        push_project.execute(f"delete from platform.{table} where number <> %s", push_project.number)
    # A notification about another project may still be in the stream: these dispatchers would take and count its sends, so end them.
    for schema, in rows(push_project.db, "select schemaname from pg_tables where tablename = 'push_sends' and schemaname <> %s",
                        push_project.schema):
        execute(push_project.db, f"update {schema}.push_sends set status = 'Failed', due_at = null, finished_at = now(), leased = false"
                            " where due_at is not null")

    def start(**settings):
        started.append(start_dispatcher(**{**SETTINGS, **settings}))
        return started[-1]

    yield start
    for daemon in started:
        if daemon.is_running():
            daemon.stop(120)


def sends_of(daemon):
    """Returns the number of sends that have ended in this process."""
    lines = daemon.metrics().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("groundwork_push_sends_total{"))


def test_two_dispatchers(push_project, start_dispatchers, fcm):
    """I6: one dispatcher takes each send, and each device receives each send once."""
    daemons = [start_dispatchers(SEND_SLOTS=2) for _ in range(2)]
    push_project.phones(40, f"two{push_project.number}")
    fcm.forget()
    fcm.fault("hold", times=None)
    try:
        made = [push_project.send(data={"number": str(number)}) for number in range(20)]
        until(lambda: len(fcm.sends()) == 4 * 40, "both have as many sends as they have slots")
        fcm.clear_faults()
        for send in made:
            log = push_project.wait_ended(send)
            assert (log["status"], log["fcm_delivered"], log["attempt"]) == ("Succeeded", 40, 1)
    finally:
        fcm.clear_faults()
    got = collections.Counter((each["token"], each["data"]["number"]) for each in fcm.messages())
    assert len(got) == 40 * 20 and set(got.values()) == {1}
    assert len({each["data"]["notification_id"] for each in fcm.messages()}) == 20
    parts = lambda: [sends_of(daemon) for daemon in daemons]
    until(lambda: sum(parts()) == 20, parts)
    assert min(parts()) >= 2, parts()


def test_one_goes_and_one_comes(push_project, start_dispatchers, fcm):
    """A new dispatcher replaces an old one, as in an update: no request is repeated, and no send waits for the end of a lease."""
    first = start_dispatchers()
    push_project.phones(1500, f"update{push_project.number}")
    fcm.forget()
    fcm.fault("hold", times=None, skip=300)
    try:
        send = push_project.send()
        until(lambda: len(fcm.sends()) > 300, "it is under way")
        second = start_dispatchers()
        first.signal(signal.SIGTERM)
        until(lambda: "worker.draining" in first.log(), "the first dispatcher shuts down")
    finally:
        fcm.clear_faults()
    first.stop(120)
    log = push_project.wait_ended(send)
    assert (log["status"], log["fcm_delivered"]) == ("Succeeded", 1500)
    assert len(fcm.messages()) == 1500 and sends_of(second) == 1


def test_what_is_old_goes(push_project, start_dispatchers):
    insert = """insert into {p}.push_sends (source, request, status, due_at, finished_at, created_at)
        select 'Test', '{{}}', 'Succeeded', null, now() - make_interval(days => %s), now() - interval '90 days'
        from generate_series(1, %s)"""
    for days, number in ((31, 600), (400, 3), (29, 2)):
        push_project.execute(insert, days, number)
    # A send that has not ended stays, however old it is.
    push_project.execute("""insert into {p}.push_sends (source, request, status, due_at, leased, created_at)
                       values ('Test', '{{}}', 'Running', now() + interval '1 hour', true, now() - interval '90 days')""")
    push_project.execute("""insert into {p}.push_deliveries (send_id, provider, target_id, status)
                       select s.id, 1, n, 'delivered' from {p}.push_sends s, generate_series(1, 20) n""")

    def left():
        return (push_project.query_value("select count(*) from {p}.push_sends"),
                push_project.rows("select count(*), count(distinct send_id) from {p}.push_deliveries")[0])

    start_dispatchers(SEND_RETENTION_DAYS=30)
    until(lambda: left() == (3, (60, 3)), left)


def test_what_is_old_is_looked_for_at_the_front(push_project):
    """A round that finds no old send reads only one row, however many sends the project has."""
    cursor = push_project.db.cursor()
    push_project.execute("""insert into {p}.push_sends (source, request, status, due_at, finished_at)
                       select 'Test', '{{}}', 'Succeeded', null, now() from generate_series(1, 30000)""")
    text = re.search(r"-- name: sends_old :one\n(.*?);\n", (ROOT / "services/push-dispatcher/dispatch_claim.sql").read_text(), re.S)[1]
    text = text.replace("{p}", push_project.schema).replace(":days::integer", "30").replace("old:boolean", "old")
    cursor.execute(f"explain (analyze, buffers) {text}")
    plan = "\n".join(line for line, in cursor.fetchall())
    assert sum(map(int, re.findall(r"(?:hit|read)=(\d+)", re.search("Buffers: .*", plan)[0]))) < 20, plan
    cursor.execute(text)
    assert cursor.fetchone() == (False,)


def test_long_tokens(push_project, start_dispatchers, fcm):
    """A page of devices ends early when their tokens are long."""
    start_dispatchers()
    push_project.phones(700, "l" * 3900 + str(push_project.number))
    fcm.forget()
    log = push_project.wait_ended(push_project.send())
    assert (log["status"], log["fcm_delivered"]) == ("Succeeded", 700)
    assert len({each["token"] for each in fcm.messages()}) == len(fcm.messages()) == 700


def phones_in_progress(daemon):
    """Returns how many phones of the process's quota are in progress."""
    return int(re.search(r'shares_held{pool="push_fcm"} (\d+)', daemon.metrics())[1])


def test_many_broadcasts_of_one_project(push_project, start_dispatchers, fcm):
    """R16: messages that wait for a provider do not fail, however many broadcasts use this provider. The dispatcher's connections carry 500 requests
    at a time."""
    daemon = start_dispatchers()
    push_project.phones(200, f"many{push_project.number}")
    fcm.forget()
    fcm.fault("hold", times=None)
    try:
        made = [push_project.send(data={"number": str(number)}) for number in range(8)]
        until(lambda: len(fcm.sends()) == 500 and phones_in_progress(daemon) > 600, lambda: (len(fcm.sends()), phones_in_progress(daemon)))
        assert phones_in_progress(daemon) <= 1000
        fcm.clear_faults()
        for send in made:
            log = push_project.wait_ended(send)
            assert (log["status"], log["fcm_delivered"], log["first_error"]) == ("Succeeded", 200, None)
    finally:
        fcm.clear_faults()
    assert len(fcm.messages()) == 200 * 8
