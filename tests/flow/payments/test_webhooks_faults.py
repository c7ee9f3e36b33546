"""Payments services that are killed, and databases that are away (K14, K15, K19, D1, D2, D5-D7). Each test has its own daemons."""
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from types import SimpleNamespace

import psycopg2
import pytest
import requests

from groundwork.chaos import kill, postgres_proxy, redis_proxy, postgres_proxy_settings, redis_proxy_settings
from groundwork.daemon import free_port
from groundwork.deadline import at_most, until
from groundwork.records import execute, rows
from groundwork.runs import TableLock, condition
from groundwork.servers import ROOT
from groundwork.webhooks import Hooks, event, intent
from groundwork.workflows import workflow

LEASE = 2000  # the shortest lease that the settings allow
FROZEN_SETTINGS = {"LEASE_MS": 600000, "STATEMENT_TIMEOUT_MS": 60000}  # for a daemon that keeps its events until it is killed; wait_leases_end() ends its leases


@pytest.fixture
def start_test_webhook(start_webhook):
    """start_test_webhook() starts a daemon with a short lease. All daemons of a test are killed after the test."""
    started = []

    def start_it(**settings):
        started.append(start_webhook(**{"LEASE_MS": LEASE, "SWEEP_MS": 200, **settings}))
        return started[-1]

    yield start_it
    for daemon in started:
        if daemon.is_running():
            kill(daemon)


@pytest.fixture
def emitting_project(project):
    """A project with a workflow for PaymentSucceeded, so that succeeded payments are emitted."""
    workflow(project.admin, {"kind": "event", "event": "PaymentSucceeded"}, [condition()])
    return project


def add_succeeding(hooks, **columns):
    """Inserts a payment. Returns (its id, the event that it has succeeded)."""
    payment, pi = hooks.payment(**columns)
    return payment, event("payment_intent.succeeded", intent(pi))


def wait_leases_end(hooks):
    """Waits until the transactions of killed daemons have ended, then makes their events due, as the end of their leases would."""
    until(lambda: not applying(hooks, 0), "the transactions of the killed daemons have ended")
    execute(hooks.db, f"update {hooks.schema}.webhook_events set next_attempt_at = now() where state = 'received'")


def applying(hooks, seconds=0.3):
    """Returns the project's transactions that have been idle for `seconds`, because the proxy holds their next statement."""
    return rows(hooks.db, "select 1 from pg_stat_activity where state = 'idle in transaction' and query like %s"
                          " and state_change <= clock_timestamp() - make_interval(secs => %s)", f"%{hooks.schema}.%", seconds)


def check_exactly_once(hooks, payments):
    """Asserts that each payment has succeeded, and that the success was emitted once."""
    states = dict(rows(hooks.db, f"select id, status from {hooks.schema}.payments"))
    assert {payment: states[payment] for payment in payments} == dict.fromkeys(payments, "succeeded")
    assert sorted(hooks.emitted("PaymentSucceeded")) == sorted(payments)


# --- a daemon that is killed ---


def test_k14_killed_after_the_insert(emitting_project, db, servers, start_test_webhook):
    with postgres_proxy(servers) as proxy:
        first = start_test_webhook(**postgres_proxy_settings(servers, proxy), APPLY_SLOTS=0)
        hooks = Hooks(emitting_project, first, db)
        payment, told = add_succeeding(hooks)
        proxy.say("deaf into p_%d.webhook_events" % int(hooks.schema[2:]))
        answers = []

        def send():
            try:
                answers.append(hooks.send(told))
            except Exception:  # noqa: BLE001 - killed
                pass

        sender = threading.Thread(target=send)
        sender.start()
        until(lambda: hooks.count_stored() == 1, "the row is there")
        assert not answers
        kill(first)
        sender.join()
        assert not answers
    hooks.daemon = start_test_webhook()
    assert hooks.send_accepted(told) == {"received": True, "duplicate": True}
    hooks.wait(told, "applied")
    assert hooks.count_stored() == 1
    check_exactly_once(hooks, [payment])


def test_k15_killed_between_apply_and_outbox(emitting_project, db, servers, start_test_webhook):
    """An event is applied and emitted in one transaction: a daemon that is killed before it emits has applied nothing."""
    with postgres_proxy(servers) as proxy:
        first = start_test_webhook(**postgres_proxy_settings(servers, proxy), **FROZEN_SETTINGS)
        hooks = Hooks(emitting_project, first, db)
        payment, told = add_succeeding(hooks)
        proxy.say(f"hold into {hooks.schema}.outbox")
        hooks.send_accepted(told)
        until(lambda: applying(hooks), "the daemon is about to emit the success")
        assert hooks.row(told, "state", "attempts") == ("received", 1) and hooks.status(payment) == "processing"
        kill(first)
    wait_leases_end(hooks)
    hooks.daemon = start_test_webhook(**FROZEN_SETTINGS)
    hooks.wait(told, "applied")
    assert hooks.row(told, "attempts") == 2
    check_exactly_once(hooks, [payment])


@pytest.mark.parametrize("at", [0, 0.002, 0.005, 0.01, 0.02, 0.05])
def test_killed_anywhere(emitting_project, db, start_test_webhook, at):
    """A daemon is killed at some point during twenty events: each event is applied once, also an event that was sent again."""
    first = start_test_webhook()
    hooks = Hooks(emitting_project, first, db)
    made = [add_succeeding(hooks) for _ in range(20)]
    acknowledged = []

    def send():
        for payment, told in made:
            try:
                if hooks.send(told).status_code == 200:
                    acknowledged.append(payment)
            except Exception:  # noqa: BLE001 - killed
                return

    sender = threading.Thread(target=send)
    sender.start()
    until(lambda: len(acknowledged) >= 3, "some events are accepted")
    time.sleep(at)
    kill(first)
    sender.join()
    hooks.daemon = start_test_webhook()
    for _, told in made:
        hooks.send_accepted(told)
    for _, told in made:
        hooks.wait(told, "applied")
    check_exactly_once(hooks, [payment for payment, _ in made])


def test_k19_an_event_that_takes_its_process_down(emitting_project, db, servers, start_test_webhook):
    """An event that kills its process several times ends as dead. Other events are applied, and a replay applies the dead event."""
    hooks = Hooks(emitting_project, None, db)
    payment, told = add_succeeding(hooks)
    ends = 3
    for attempt in range(1, ends + 1):
        with postgres_proxy(servers) as proxy:
            proxy.say(f"hold into {hooks.schema}.outbox")
            hooks.daemon = start_test_webhook(EVENT_ATTEMPTS=ends, **postgres_proxy_settings(servers, proxy), **FROZEN_SETTINGS)
            hooks.send_accepted(told)
            until(lambda: applying(hooks), f"attempt {attempt}")
            assert hooks.row(told, "state", "attempts") == ("received", attempt)
            kill(hooks.daemon)
        wait_leases_end(hooks)
    hooks.daemon = start_test_webhook(EVENT_ATTEMPTS=ends)
    until(lambda: hooks.row(told, "state") == "dead", "the event is dead")
    assert hooks.row(told, "attempts", "next_attempt_at") == (ends, None) and "process" in hooks.row(told, "error")
    others = [add_succeeding(hooks) for _ in range(5)]
    for _, other in others:
        hooks.send_accepted(other)
    for other, told_of in others:
        hooks.wait(told_of, "applied")
    assert hooks.status(payment) == "processing"
    emitting_project.admin.post(f"/integrations/svcpay/webhook-events/{hooks.row(told, 'id')}/replay", {}, expect=202)
    hooks.wait(told, "applied")
    assert hooks.status(payment) == "succeeded"


def test_innocent_ones_survive_a_poisoned_batch(project, db, servers, start_test_webhook):
    """Thirty claimed events wait for a lock until their daemon is killed: the next daemon applies all of them."""
    hooks = Hooks(project, start_test_webhook(APPLY_SLOTS=0), db)
    made = [add_succeeding(hooks) for _ in range(30)]
    for _, told in made:
        hooks.send_accepted(told)
    with TableLock(servers, f"{hooks.schema}.payments", mode="exclusive"):
        second = start_test_webhook(**FROZEN_SETTINGS)
        until(lambda: rows(db, f"select count(*) from {hooks.schema}.webhook_events where attempts = 1")[0][0] == 30, "claimed")
        kill(second)
    wait_leases_end(hooks)
    start_test_webhook(**FROZEN_SETTINGS)
    for _, told in made:
        hooks.wait(told, "applied")
    assert rows(db, f"select max(attempts) from {hooks.schema}.webhook_events")[0][0] == 2


def test_a_shutdown_gives_back_what_has_not_begun(emitting_project, db, servers, start_test_webhook):
    hooks = Hooks(emitting_project, start_test_webhook(APPLY_SLOTS=0), db)
    made = [add_succeeding(hooks) for _ in range(40)]
    for _, told in made:
        hooks.send_accepted(told)
    second = start_test_webhook(APPLY_SLOTS=2, **FROZEN_SETTINGS)
    with TableLock(servers, f"{hooks.schema}.payments", mode="exclusive") as held:
        execute(db, f"update {hooks.schema}.webhook_events set next_attempt_at = now(), attempts = 0, state = 'received' where state = 'applied'")
        until(lambda: held.is_awaited(db) or rows(db, f"select 1 from {hooks.schema}.webhook_events where state = 'applied'"), "the daemon has begun")
        second.signal(signal.SIGTERM)
        until(lambda: rows(db, f"select count(*) from {hooks.schema}.webhook_events where state = 'received' and attempts > 0")[0][0] <= 2,
              "the daemon releases its events")
    assert second.process.wait(60) == 0
    # The two events that had begun are applied, or failed because of the lock on a busy machine.
    assert rows(db, f"select count(*) from {hooks.schema}.webhook_events where state = 'received' and next_attempt_at > now()")[0][0] == 0
    assert rows(db, f"select count(*) from {hooks.schema}.webhook_events where state = 'received' and attempts > 0")[0][0] == 0
    assert rows(db, f"select count(*) from {hooks.schema}.webhook_events where state = 'received'")[0][0] >= 36
    start_test_webhook()
    for _, told in made:
        hooks.wait(told, "applied")
    check_exactly_once(hooks, [payment for payment, _ in made])


def test_several_daemons_share_the_work(emitting_project, db, start_test_webhook):
    daemons = [start_test_webhook(), start_test_webhook(WORKERS=2)]
    hooks = Hooks(emitting_project, daemons[0], db)
    made = [add_succeeding(hooks) for _ in range(200)]

    def send(index):
        own = Hooks.__new__(Hooks)
        own.__dict__.update(hooks.__dict__, daemon=daemons[index])
        for _, told in made if index else reversed(made):
            own.send_accepted(told)

    senders = [threading.Thread(target=send, args=(index,)) for index in range(2)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    for _, told in made:
        hooks.wait(told, "applied")
    check_exactly_once(hooks, [payment for payment, _ in made])
    assert hooks.count_stored() == len(made)
    assert all(daemon.stop() == 0 for daemon in daemons)


# --- Redis ---


def test_d2_without_redis(emitting_project, db, servers, start_test_webhook):
    """No notification arrives: a daemon applies at once the events that it stored itself, and replayed events within a sweep or two."""
    with redis_proxy(servers) as proxy:
        daemon = start_test_webhook(**redis_proxy_settings(proxy))
        hooks = Hooks(emitting_project, daemon, db)
        proxy.say("cut")
        payment, told = add_succeeding(hooks)
        with no_sweep(servers):
            hooks.send_accepted(told)
            hooks.wait(told, "applied")
        replay(emitting_project, hooks, told)
        check_exactly_once(hooks, [payment])


def test_a_notification_is_received(emitting_project, db, servers, start_test_webhook):
    """A notification makes the daemon apply a replayed event without a sweep."""
    hooks = Hooks(emitting_project, start_test_webhook(), db)
    _, told = add_succeeding(hooks)
    with no_sweep(servers):
        hooks.send_accepted(told)
        hooks.wait(told, "applied")
        replay(emitting_project, hooks, told)


def no_sweep(servers):
    """Locks the list of projects with events, so that no daemon can sweep."""
    return TableLock(servers, "platform.payment_projects")


def replay(project, hooks, told):
    """Replays the event and waits until it has been applied again."""
    before = hooks.row(told, "applied_at")
    project.admin.post(f"/integrations/svcpay/webhook-events/{hooks.row(told, 'id')}/replay", {}, expect=202)
    until(lambda: hooks.row(told, "state") == "applied" and hooks.row(told, "applied_at") > before, "replayed")


# --- PostgreSQL ---


def under_outage(hooks, outage, seconds=2.0):
    """Sends events before, during and after an outage. Answers are 200 or 503, and each event answered with 200 is applied once."""
    made = [add_succeeding(hooks) for _ in range(400)]
    taken, statuses, stop = [], set(), threading.Event()

    def send(number):
        for payment, told in made[number::4]:
            if stop.is_set():
                return
            try:
                answer = hooks.send(told)
            except OSError:
                statuses.add("broken")
                continue
            statuses.add(answer.status_code)
            if answer.status_code == 200:
                taken.append((payment, told))
            elif answer.status_code == 503:
                assert int(answer.headers["Retry-After"]) > 0
            time.sleep(0.02)

    senders = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for sender in senders:
        sender.start()
    until(lambda: len(taken) > 10, "some events are accepted")
    outage()
    time.sleep(seconds)
    stop.set()
    for sender in senders:
        sender.join()
    assert statuses <= {200, 503}, statuses
    return taken


def check_settled(hooks, servers, taken):
    hooks.db = servers.connect()
    try:
        last = add_succeeding(hooks)
        until(lambda: hooks.send(last[1]).status_code == 200, "requests are accepted again", within=5)
        for _, told in [*taken, last]:
            hooks.wait(told, "applied", within=30)
        states = dict(rows(hooks.db, f"select id, status from {hooks.schema}.payments"))
        for payment, _ in taken:
            assert states[payment] == "succeeded"
        told = hooks.emitted("PaymentSucceeded")
        assert len(told) == len(set(told)) and {payment for payment, _ in taken} <= set(told)
    finally:
        hooks.db.close()


@pytest.fixture
def outage_hooks(emitting_project, start_test_webhook, db):
    return Hooks(emitting_project, start_test_webhook(WORKERS=2), db)


@pytest.mark.timed
def test_d5_fast_restart(outage_hooks, servers):
    check_settled(outage_hooks, servers, under_outage(outage_hooks, lambda: servers.postgres("restart")))


@pytest.mark.timed
def test_d5_crash(outage_hooks, servers):
    def crash():
        servers.postgres("kill")
        time.sleep(1)
        servers.postgres("start")

    check_settled(outage_hooks, servers, under_outage(outage_hooks, crash))


@pytest.mark.timed
def test_d5_backends_are_terminated(outage_hooks, servers, db):
    def terminate():
        execute(db, "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where backend_type = 'client backend' and pid <> pg_backend_pid()")

    check_settled(outage_hooks, servers, under_outage(outage_hooks, terminate))


@pytest.mark.timed
def test_d5_away(outage_hooks, servers):
    """While the database is away, the answer is a 503 with Retry-After at once. No accepted event is lost."""
    servers.postgres("kill")
    try:
        with at_most(5, "503"):
            answer = outage_hooks.send(event("payment_intent.succeeded", intent("pi_away")))
        assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0
        assert answer.json()["code"] == "dependency_unavailable"
    finally:
        servers.postgres("start")
    check_settled(outage_hooks, servers, [])


def test_d6_commits_whose_answer_is_lost(emitting_project, db, servers, start_test_webhook):
    """One commit in five is carried out, but its answer is lost (ExecuteAndTimeout): each event is applied once."""
    with postgres_proxy(servers) as proxy:
        hooks = Hooks(emitting_project, start_test_webhook(**postgres_proxy_settings(servers, proxy)), db)
        made = [add_succeeding(hooks) for _ in range(60)]
        proxy.say("eat 20")
        for _, told in made:
            hooks.send_accepted(told)
        for _, told in made:
            hooks.wait(told, "applied", within=15)
        check_exactly_once(hooks, [payment for payment, _ in made])


def test_d6_stored_and_the_answer_lost(emitting_project, db, servers, start_test_webhook):
    """The connection breaks after the INSERT: the answer is 503, and the repeated event is answered as a duplicate."""
    with postgres_proxy(servers) as proxy:
        hooks = Hooks(emitting_project, start_test_webhook(**postgres_proxy_settings(servers, proxy), APPLY_SLOTS=0), db)
        hooks.send_accepted(event("customer.created", {"id": "cus_1"}))
        _, told = add_succeeding(hooks)
        proxy.say("deaf payment_intent.succeeded")
        answers = []
        sender = threading.Thread(target=lambda: answers.append(hooks.send(told)))
        sender.start()
        until(lambda: hooks.count_stored() == 2, "the row is there")
        proxy.say("cut")
        sender.join()
        assert answers[0].status_code == 503
        proxy.say("pass")
        assert hooks.send_accepted(told)["duplicate"] is True


@pytest.mark.timed
def test_d7_no_connection_left(emitting_project, db, servers, start_test_webhook):
    hooks = Hooks(emitting_project, start_test_webhook(), db)
    taken = []
    try:
        for _ in range(8):
            execute(db, "select pg_terminate_backend(pid) from pg_stat_activity"
                        " where backend_type = 'client backend' and pid <> pg_backend_pid() and pid <> all(%s)",
                    [connection.get_backend_pid() for connection in taken])
            while len(taken) < 300:
                try:
                    taken.append(servers.connect())
                except psycopg2.OperationalError:
                    break
        time.sleep(0.2)
        with at_most(5, "503"):
            answer = hooks.send(event("payment_intent.succeeded", intent("pi_d7")))
        assert answer.status_code in (503, 200), answer.text
    finally:
        for connection in taken:
            connection.close()
    payment, told = add_succeeding(hooks)
    until(lambda: hooks.send(told).status_code == 200, "requests are accepted again without help", 20)
    hooks.wait(told, "applied")
    assert hooks.status(payment) == "succeeded"


def test_a_daemon_that_stands_still(emitting_project, db, servers, start_test_webhook):
    """A daemon is stopped with SIGSTOP for longer than its lease, and another daemon applies the event: the first daemon writes nothing when it
    continues."""
    first = start_test_webhook()
    hooks = Hooks(emitting_project, first, db)
    payment, told = add_succeeding(hooks)
    with TableLock(servers, f"{hooks.schema}.payments", mode="exclusive") as held:
        hooks.send_accepted(told)
        until(lambda: held.is_awaited(db), "it waits in its transaction")
        for pid in [first.process.pid, *first.workers()]:
            os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(LEASE / 1000 + 0.5)
        second = start_test_webhook()
        assert re.search(r"groundwork_webhooks_dead_total \d", second.metrics())
    finally:
        for pid in [first.process.pid, *first.workers()]:
            os.kill(pid, signal.SIGCONT)
    hooks.daemon = second
    hooks.wait(told, "applied", within=15)
    check_exactly_once(hooks, [payment])


def test_a_queue_that_waits_longer_than_its_lease(emitting_project, db, servers, start_test_webhook):
    """An event that was claimed in advance and has not begun is claimed again before its lease ends, and does not count as crashed."""
    hooks = Hooks(emitting_project, start_test_webhook(APPLY_SLOTS=0), db)
    made = [add_succeeding(hooks) for _ in range(30)]
    for _, told in made:
        hooks.send_accepted(told)
    with TableLock(servers, f"{hooks.schema}.payments", mode="exclusive") as held:
        start_test_webhook(APPLY_SLOTS=2, LEASE_MS=3 * LEASE)  # longer than a loaded machine delays the daemon
        until(lambda: held.is_awaited(db), "the daemon has begun")
        time.sleep(3 * LEASE / 1000 * 1.5)
    for _, told in made:
        hooks.wait(told, "applied", within=15)
    check_exactly_once(hooks, [payment for payment, _ in made])
    tries = [attempts for attempts, in rows(db, f"select attempts from {hooks.schema}.webhook_events")]
    assert sorted(tries)[len(made) // 2] == 1, tries


@pytest.fixture
def proxy(servers):
    """proxy(daemon, ...) starts haproxy with the shipped configuration in front of these daemons. Returns its port for webhooks."""
    started = []

    def start(*daemons):
        port = free_port()
        text = (ROOT / "deploy/proxy/haproxy.cfg").read_text()
        for old, new in (
            ("bind :8080", f"bind 127.0.0.1:{free_port()}"), ("bind :8081", f"bind 127.0.0.1:{port}"),
            ("bind 127.0.0.1:8089", f"bind 127.0.0.1:{free_port()}"),
            ("server-template webhook 16 payments-webhook:8080",
             "\n    ".join(f"server webhook{n} 127.0.0.1:{daemon.port}" for n, daemon in enumerate(daemons))),
        ):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        config = servers.folder / "webhooks-proxy.cfg"
        config.write_text(text)
        started.append(subprocess.Popen(["haproxy", "-db", "-f", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return port

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.skipif(not shutil.which("haproxy"), reason="haproxy is not installed")
def test_two_daemons_behind_the_proxy(emitting_project, db, start_test_webhook, proxy):
    """A daemon is killed under load: the other daemon takes its share, and no sender receives an error."""
    first, second = start_test_webhook(), start_test_webhook()
    hooks = Hooks(emitting_project, first, db)
    port = proxy(first, second)
    front = Hooks.__new__(Hooks)
    front.__dict__.update(hooks.__dict__, daemon=SimpleNamespace(url=f"http://127.0.0.1:{port}"))

    def health():
        try:
            return requests.get(f"http://127.0.0.1:{port}/healthz", timeout=60).status_code == 200
        except requests.RequestException:
            return False

    until(health, "the proxy has found them")
    made = [add_succeeding(hooks) for _ in range(150)]
    answers = []

    def send(number):
        for _, told in made[number::3]:
            answers.append(front.send(told).status_code)
            time.sleep(0.01)

    senders = [threading.Thread(target=send, args=(number,)) for number in range(3)]
    for sender in senders:
        sender.start()
    until(lambda: len(answers) > 30, "both daemons have received events")
    kill(first)
    for sender in senders:
        sender.join()
    assert set(answers) == {200} and len(answers) == len(made)
    assert requests.post(f"http://127.0.0.1:{port}/webhooks/processor/nobody", timeout=60).status_code == 404
    assert hooks.count_stored() == len(made)
    for _, told in made:
        hooks.wait(told, "applied")
    check_exactly_once(hooks, [payment for payment, _ in made])
