"""W1-W6: events of the payment processor, from the request to their effects."""
import collections
import itertools
import json
import re
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from groundwork.deadline import until
from groundwork.project import Project
from groundwork.records import execute, rows
from groundwork.runs import TableLock, condition
from groundwork.webhooks import CREDENTIALS, Hooks, event, failed_intent, intent, sign
from groundwork.workflows import workflow

LIMIT = 262144
DAY = 86400


@pytest.fixture(scope="module")
def hooks(shared_project, webhook, servers):
    connection = servers.connect()
    yield Hooks(shared_project, webhook, connection)
    connection.close()


def received(daemon, outcome, source="processor"):
    found = re.search(rf'received_total{{source="{source}",outcome="{outcome}"}} (\d+)', daemon.metrics())
    return int(found.group(1))


def refused(hooks, answer, status=400):
    """Asserts that the answer is a problem, and returns it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == status
    return answer.json()


@pytest.fixture
def nothing_stored(hooks):
    before = hooks.count_stored()
    yield
    assert hooks.count_stored() == before


# --- addresses ---


def test_addresses(hooks, webhook, nothing_stored):
    assert requests.get(f"{webhook.url}/healthz", timeout=60).json() == {"status": "ok"}
    for path in ("/", "/webhooks", "/webhooks/processor", "/webhooks/other/x", f"/org/{hooks.project.id}", hooks.url[len(webhook.url):] + "/x"):
        assert requests.post(webhook.url + path, data=b"{}", timeout=60).status_code == 404, path
    for kind in ("processor", "iap-store"):
        for slug in ("nobody", "", "%00", "..", "a" * 300):
            assert requests.post(f"{webhook.url}/webhooks/{kind}/{slug}", data=b"{}", timeout=60).status_code in (400, 404), slug
        for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
            answer = requests.request(method, f"{webhook.url}/webhooks/{kind}/{hooks.project.id}", timeout=60)
            assert answer.status_code == 405 and answer.headers["Allow"] == "POST", method


def test_an_event_without_credentials(project, webhook, db):
    body = json.dumps(event("payment_intent.succeeded", intent("pi_1"))).encode()
    for secret in ("", "whsec_test"):
        answer = requests.post(f"{webhook.url}/webhooks/processor/{project.id}", data=body,
                               headers={"Stripe-Signature": sign(body, secret)}, timeout=60)
        assert answer.status_code == 400 and "no active webhook secret" in answer.json()["detail"]
    assert requests.post(f"{webhook.url}/webhooks/iap-store/{project.id}", data=b'{"signedPayload":"a.b.c"}', timeout=60).status_code == 400


def test_an_event_is_stored_and_applied(hooks):
    payment, pi = hooks.payment()
    told = event("payment_intent.succeeded", intent(pi))
    answer = hooks.send(told)
    assert answer.status_code == 200 and answer.json() == {"received": True}
    assert answer.headers["Content-Type"] == "application/json" and answer.headers["X-Request-Id"]
    state, about, effect = hooks.wait(told)
    assert (state, about) == ("applied", f"payment:{payment}") and "succeeded" in effect
    assert hooks.status(payment) == "succeeded"
    source, type_, version, payload, attempts, due = hooks.row(
        told, "source", "type", "api_version", "payload", "attempts", "next_attempt_at")
    assert (source, type_, version, attempts, due) == ("processor", told["type"], told["api_version"], 1, None)
    assert json.loads(payload) == told


@pytest.mark.parametrize("type_", ["application/json; charset=utf-8", "text/plain", "application/octet-stream", None, "nonsense"])
def test_any_content_type(hooks, type_):
    hooks.send_accepted(event("customer.created", {"id": "cus_1"}), **{"Content-Type": type_})


# --- W1 ---

BODIES = {
    "a byte changed": lambda body: body.replace(b"2000", b"2001"),
    "a byte more": lambda body: body + b" ",
    "a byte less": lambda body: body[:-1],
    "serialised again": lambda body: json.dumps(json.loads(body), separators=(",", ":")).encode(),
    "other order": lambda body: json.dumps(dict(reversed(json.loads(body).items()))).encode(),
    "other charset": lambda body: body.decode().encode("utf-16"),
    "byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "empty": lambda body: b"",
}


@pytest.mark.parametrize("name", BODIES)
def test_w1_other_bytes(hooks, nothing_stored, name):
    body = json.dumps(event("payment_intent.succeeded", intent("pi_w1"))).encode()
    before = received(hooks.daemon, "wrong_signature")
    assert "matches" in refused(hooks, hooks.post(BODIES[name](body), header=sign(body, hooks.secret)))["detail"]
    assert received(hooks.daemon, "wrong_signature") == before + 1


HEADERS = {
    "none": lambda t, v: None,
    "empty": lambda t, v: "",
    "two times": lambda t, v: f"t={t},t={t},v1={v}",
    "v0 only": lambda t, v: f"t={t},v0={v}",
    "no time": lambda t, v: f"v1={v}",
    "no signature": lambda t, v: f"t={t}",
    "a thousand": lambda t, v: f"t={t}" + f",v1={v}" * 1000,
    "seventeen": lambda t, v: f"t={t}" + f",v1={v}" * 17,
    "time is text": lambda t, v: f"t=now,v1={v}",
    "time with a sign": lambda t, v: f"t=+{t},v1={v}",
    "time is huge": lambda t, v: f"t={t}0000000000000,v1={v}",
    "other letters": lambda t, v: f"T={t},V1={v}",
    "semicolons": lambda t, v: f"t={t};v1={v}",
}


@pytest.mark.parametrize("name", HEADERS)
def test_w1_headers(hooks, nothing_stored, name):
    body = json.dumps(event("payment_intent.succeeded", intent("pi_w1"))).encode()
    time_, value = sign(body, hooks.secret).removeprefix("t=").split(",v1=")
    header = HEADERS[name](time_, value)
    answer = requests.post(hooks.url, data=body, headers={"Stripe-Signature": header} if header is not None else {}, timeout=60)
    assert answer.status_code in ((400, 431) if name == "a thousand" else (400,)), answer.text


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b'"evt"', b"{}", b'{"id":"evt_1"}', b'{"object":"event","type":"x"}', b'{"id":1,"type":"x"}',
    b'{"id":"","object":"event","type":"x"}', b'{"id":"evt_1","id":"evt_2","object":"event","type":"x"}',
    b'{"id":"evt_1","object":"event","type":"x"} {}', b'{"id":"evt_\xff","object":"event","type":"x"}',
    b'{"id":"evt_\\u0000","object":"event","type":"x"}', b"[" * 100000, b'{"id":"' + b"e" * 300 + b'","object":"event","type":"x"}',
    json.dumps({"id": "evt_1", "object": "event", "type": "x", "created": 1}).encode("utf-16"),
])
def test_signed_and_still_no_event(hooks, nothing_stored, body):
    refused(hooks, hooks.post(body))


def test_sizes(hooks):
    told = event("customer.created", {"id": "cus_1"})
    body = json.dumps(told).encode()
    hooks_room = LIMIT - len(body)
    assert hooks.post(body + b" " * hooks_room).status_code == 200
    assert hooks.row(told, "length(payload)") == LIMIT
    before = hooks.count_stored()
    refused(hooks, hooks.post(json.dumps(event("customer.created", {})).encode() + b" " * LIMIT), 413)

    def pieces():
        for _ in range(LIMIT // 1000 + 100):
            yield b" " * 1000

    try:
        assert requests.post(hooks.url, data=pieces(), headers={"Stripe-Signature": "x"}, timeout=60).status_code == 413
    except requests.ConnectionError:
        pass  # the daemon closed the connection while the client was sending
    assert hooks.count_stored() == before


# --- W2 ---


@pytest.mark.parametrize("seconds", [-301, -302, 360, 100000, -100000])
def test_w2_too_old_or_from_the_future(hooks, nothing_stored, seconds):
    answer = hooks.send(event("payment_intent.succeeded", intent("pi_w2")), at=int(time.time()) + seconds)
    assert "300 seconds" in refused(hooks, answer)["detail"]


@pytest.mark.parametrize("seconds", [-240, 295])
def test_w2_clocks_that_differ(hooks, seconds):
    hooks.send_accepted(event("customer.created", {"id": "cus_1"}), at=int(time.time()) + seconds)


def test_w2_again_after_four_days(hooks):
    payment, pi = hooks.payment()
    told = event("payment_intent.succeeded", intent(pi), at=int(time.time()) - 4 * DAY)
    hooks.send_accepted(told)
    hooks.wait(told)
    first = hooks.row(told, "state", "object", "effect", "attempts", "applied_at")
    assert hooks.send_accepted(told) == {"received": True, "duplicate": True}
    time.sleep(0.3)
    assert hooks.row(told, "state", "object", "effect", "attempts", "applied_at") == first
    assert hooks.status(payment) == "succeeded"


def test_w2_a_hundred_at_once(project, webhook, db):
    hooks = Hooks(project, webhook, db)
    workflow(project.admin, {"kind": "event", "event": "PaymentSucceeded"}, [condition()])
    payment, pi = hooks.payment()
    told = event("payment_intent.succeeded", intent(pi))
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: hooks.send_accepted(told), range(100)))
    assert sum("duplicate" not in answer for answer in answers) == 1
    hooks.wait(told, "applied")
    assert hooks.count_stored() == 1 and hooks.status(payment) == "succeeded" and hooks.emitted("PaymentSucceeded") == [payment]


def test_a_burst_beside_what_the_database_refuses(project, webhook, db):
    """Events that arrive together are inserted together. When the database refuses one event, the others are stored."""
    hooks = Hooks(project, webhook, db)
    execute(db, f"alter table {hooks.schema}.webhook_events add constraint tests check (type not like '%%.poison')")
    told = [event("customer.poison" if n % 10 == 0 else "customer.created", {"id": f"cus_{n}"}) for n in range(80)]
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(hooks.send_until_final, told))
    for one, answer in zip(told, answers):
        if one["type"] == "customer.poison":
            assert refused(hooks, answer)["detail"] == "The event holds a value that cannot be stored."
        else:
            assert answer.status_code == 200 and "duplicate" not in answer.json()
    assert hooks.count_stored() == 72


def test_the_same_burst_at_two_daemons(project, start_webhook, servers, db):
    """Two daemons receive the same events in different orders and insert them at the same time: they do not deadlock."""
    daemons = [start_webhook(DATABASE_URL=f"{servers.database_url}&application_name=burst") for _ in range(2)]
    here = Hooks(project, daemons[0], db)
    there = Hooks(project, daemons[1], db, secret=here.secret)
    told = [event("payment_intent.succeeded", intent(f"pi_{n}")) for n in range(100)]
    sends = itertools.chain(*zip(((here, one) for one in told), ((there, one) for one in reversed(told))))
    circles = "select deadlocks from pg_stat_database where datname = current_database()"
    before = rows(db, circles)
    first, unsure = collections.Counter(), set()

    def waiting(daemon):
        return int(re.search(r'^groundwork_shares_held{pool="requests"} (\d+)', daemon.metrics(), re.M)[1])

    def deliver(hooks, one):
        answer = hooks.send(one)
        if answer.status_code == 503:  # the request waited too long, so its sender does not know whether the event was stored
            unsure.add(one["id"])
            answer = hooks.send_until_final(one)
        assert answer.status_code == 200, answer.text
        return "duplicate" not in answer.json()

    with ThreadPoolExecutor(200) as pool:
        with TableLock(servers, f"{here.schema}.webhook_events", mode="exclusive"):
            delivered = [(one["id"], pool.submit(deliver, hooks, one)) for hooks, one in sends]
            until(lambda: min(map(waiting, daemons)) > 80, "the daemons hold the requests")
    for one, answer in delivered:
        first[one] += answer.result()
    assert here.count_stored() == 100
    assert max(first.values()) == 1 and {one for one, count in first.items() if count == 0} <= unsure
    assert [daemon.stop() for daemon in daemons] == [0, 0]
    until(lambda: not rows(db, "select 1 from pg_stat_activity where application_name = 'burst'"), "their sessions have not ended")
    assert rows(db, circles) == before  # a session reports its deadlocks when it ends


def test_two_events_of_one_id(hooks):
    """The first of two events with the same id is stored, because the processor makes the ids unique."""
    one, other = event("customer.created", {"id": "cus_1"}), event("customer.updated", {"id": "cus_2"})
    other["id"] = one["id"]
    hooks.send_accepted(one)
    assert hooks.send_accepted(other)["received"]
    assert hooks.row(one, "type") == "customer.created"


# --- W3 ---


@pytest.fixture(scope="module")
def other_hooks(session_gateway, operator, recorder, webhook, servers):
    connection = servers.connect()
    yield Hooks(Project(session_gateway, operator, recorder), webhook, connection)
    connection.close()


def test_w3_another_projects_secret(hooks, other_hooks, nothing_stored):
    payment, pi = hooks.payment()
    body = json.dumps(event("payment_intent.succeeded", intent(pi))).encode()
    refused(hooks, hooks.post(body, secret=other_hooks.secret))
    refused(hooks, other_hooks.post(body, secret=hooks.secret))
    assert hooks.status(payment) == "processing"


def dropped(hooks, told):
    """Asserts that the event is answered with 200, so that the processor does not repeat it, and that it is counted and leaves no row."""
    before, rows_before = received(hooks.daemon, "foreign"), hooks.count_stored()
    answer = hooks.send_accepted(told)
    assert answer["received"] is True and "another account or project" in answer["message"]
    assert received(hooks.daemon, "foreign") == before + 1
    assert hooks.count_stored() == rows_before and hooks.row(told, "state") is None


@pytest.mark.parametrize("type_", ["payment_intent.succeeded", "customer.subscription.updated", "account.updated", "customer.created"])
def test_w3_another_projects_object(hooks, other_hooks, nothing_stored, type_):
    payment, pi = hooks.payment()
    named = intent(pi, metadata={"project_id": other_hooks.project.id, "payment_id": str(payment)})
    dropped(hooks, event(type_, named))
    assert hooks.status(payment) == "processing"


def test_w3_its_own_object(hooks):
    payment, pi = hooks.payment()
    told = event("payment_intent.succeeded", intent(pi, metadata={"project_id": hooks.project.id, "payment_id": str(payment)}))
    hooks.send_accepted(told)
    hooks.wait(told, "applied")


def test_w3_accounts(project, webhook, db):
    hooks = Hooks(project, webhook, db, account="acct_ours")
    payment, pi = hooks.payment()
    for account in ("acct_theirs", "ACCT_OURS", "acct_our", "acct_ours2"):
        dropped(hooks, event("payment_intent.succeeded", intent(pi), account=account))
    assert hooks.status(payment) == "processing"
    told = event("payment_intent.succeeded", intent(pi), account="acct_ours")
    hooks.send_accepted(told)
    hooks.wait(told, "applied")
    assert hooks.row(told, "account") == "acct_ours" and hooks.status(payment) == "succeeded"


def test_w3_an_account_of_this_moment(project, webhook, db):
    """An event is not lost if its account is newer than the settings that the daemon has cached."""
    hooks = Hooks(project, webhook, db, account="acct_before")
    payment, pi = hooks.payment()
    told = event("payment_intent.succeeded", intent(pi), account="acct_now")
    dropped(hooks, told)
    execute(db, f"update {hooks.schema}.settings set doc = doc || '{{\"account\": \"acct_now\"}}' where key = 'processor'")
    assert hooks.send_accepted(told) == {"received": True}
    hooks.wait(told, "applied")
    assert hooks.status(payment) == "succeeded"


# --- W4 ---


def deliver(hooks, events, order):
    for index in order:
        hooks.send_accepted(events[index])
    for told in events:
        hooks.wait(told, "applied", "ignored")


def test_w4_payments_in_any_order(hooks):
    now = int(time.time())
    finals = set()
    for order in itertools.permutations(range(3)):
        payment, pi = hooks.payment("requires_payment_method")
        events = [event("payment_intent.payment_failed", failed_intent(pi), at=now - 30),
                  event("payment_intent.payment_failed", failed_intent(pi), at=now - 20),
                  event("payment_intent.succeeded", intent(pi), at=now - 10)]
        deliver(hooks, events, order)
        finals.add(rows(hooks.db, f"select status, failure_code, paid_at from {hooks.schema}.payments where id = %s", payment)[0])
    assert len(finals) == 1, finals
    assert finals.pop()[0] == "succeeded"


def subscription(id_, status, local, project, now, **members):
    return {"id": id_, "object": "subscription", "status": status, "customer": "cus_w4", "created": now - 60,
            "cancel_at_period_end": False, "canceled_at": None, "ended_at": None, "trial_start": None, "trial_end": None,
            "items": {"object": "list", "data": [{"id": "si_1", "current_period_start": now - 60, "current_period_end": now + DAY,
                                                  "price": {"id": "price_1", "product": "prod_1"}, "quantity": 1}]},
            "metadata": {"project_id": project.id, "subscription_id": str(local)}, **members}


@pytest.mark.parametrize("at_once", [False, True])
def test_w4_subscriptions_in_any_order(hooks, at_once):
    now = int(time.time())
    finals = set()
    for order in itertools.permutations(range(3)):
        id_ = f"sub_{secrets.token_hex(8)}"
        local = rows(hooks.db, f"insert into {hooks.schema}.subscriptions (status) values ('incomplete') returning id")[0][0]
        made = [subscription(id_, status, local, hooks.project, now, **more) for status, more in (
            ("incomplete", {}), ("active", {}), ("canceled", {"ended_at": now - 5, "canceled_at": now - 5}))]
        events = [event(f"customer.subscription.{name}", obj, at=now - 30 + 10 * n)
                  for n, (name, obj) in enumerate(zip(("created", "updated", "deleted"), made))]
        if at_once:
            threads = [threading.Thread(target=hooks.send_accepted, args=(events[index],)) for index in order]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        deliver(hooks, events, order)
        finals.add(rows(hooks.db, "select status, current_period_end, ended_at, canceled_at from"
                                  f" {hooks.schema}.subscriptions where id = %s", local)[0])
    assert len(finals) == 1, finals
    assert finals.pop()[0] == "canceled"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=lambda order: "".join(map(str, order)))
def test_w4_a_history_of_one_second(hooks, order):
    """Each change in the history begins with the state that the change before it ended with, in every order of delivery."""
    now = int(time.time())
    id_ = f"sub_{secrets.token_hex(8)}"
    local = rows(hooks.db, f"insert into {hooks.schema}.subscriptions (status) values ('incomplete') returning id")[0][0]
    events = [event(f"customer.subscription.{name}", subscription(id_, status, local, hooks.project, now), at=now)
              for name, status in (("created", "incomplete"), ("updated", "active"), ("deleted", "canceled"))]
    deliver(hooks, events, order)
    shown = hooks.project.admin.get(f"/integrations/svcpay/subscriptions/{local}", expect=200).json()
    history = [(each["from"], each["to"]) for each in shown["history"]]
    assert history == [(None, "incomplete"), ("incomplete", "active"), ("active", "canceled")]


def listen(hooks, *kinds):
    for kind in kinds:
        execute(hooks.db, f"insert into {hooks.schema}.workflows (name, trigger_kind, event, editor_id) values (%s, 'event', %s, 1)", kind, kind)


def test_w4_an_event_for_each_time_that_a_state_is_entered(hooks):
    now = int(time.time()) - 100
    id_ = f"sub_{secrets.token_hex(8)}"
    local = rows(hooks.db, f"insert into {hooks.schema}.subscriptions (status) values ('incomplete') returning id")[0][0]
    kinds = {"SubscriptionCreated": 1, "SubscriptionActivated": 3, "SubscriptionPastDue": 2, "SubscriptionExpired": 2}
    listen(hooks, *kinds)
    states = ["active", "past_due", "active", "past_due", "unpaid", "active", "paused", "active", "canceled"]
    told = [event("customer.subscription.updated", subscription(id_, state, local, hooks.project, now), at=now + number)
            for number, state in enumerate(states)]
    for each in told:
        hooks.send_accepted(each)
        hooks.wait(each, "applied")
    assert {kind: hooks.emitted(kind).count(local) for kind in kinds} == kinds


def test_w4_a_set_up_that_fails_twice(hooks):
    now = int(time.time()) - 100
    listen(hooks, "PaymentMethodCaptureFailed")
    failed = {"id": f"seti_{secrets.token_hex(8)}", "object": "setup_intent", "customer": "cus_1", "metadata": {},
              "last_setup_error": {"code": "card_declined", "message": "Your card was declined."}}
    for number in range(2):
        told = event("setup_intent.setup_failed", failed, at=now + number)
        hooks.send_accepted(told)
        hooks.wait(told, "applied")
    method, again = hooks.emitted("PaymentMethodCaptureFailed")
    assert method == again


def item(amount, **members):
    return {"id": "si_1", "price": {"id": "price_1", "product": "prod_1", "currency": "usd", "unit_amount": amount,
                                    "recurring": {"interval": "month", "interval_count": 1}}, "quantity": 1, **members}


def test_w4_amounts_of_subscriptions(hooks):
    """The amount of a period follows the processor's items: a price of 0, a quantity, several items."""
    now = int(time.time()) - 100
    id_ = f"sub_{secrets.token_hex(8)}"
    local = rows(hooks.db, f"insert into {hooks.schema}.subscriptions (status) values ('incomplete') returning id")[0][0]
    listen(hooks, "SubscriptionActivated")
    steps = [([item(1000, quantity=3)], 30), ([item(0)], 0), ([item(2000)], 20), ([item(2000, quantity=0)], 0),
             ([item(1000), item(250, quantity=2)], 15), ([item(None)], 15)]
    for number, (items, amount) in enumerate(steps):
        told = event("customer.subscription.updated", subscription(id_, "active", local, hooks.project, now, items={"data": items}), at=now + number)
        hooks.send_accepted(told)
        hooks.wait(told, "applied")
        shown = hooks.project.admin.get(f"/integrations/svcpay/subscriptions/{local}", expect=200).json()
        assert shown["amount"] == amount and shown["amount_minor"] == 100 * amount, items
    emitted = rows(hooks.db, f"select payload->'amount' from {hooks.schema}.outbox where event = 'SubscriptionActivated'"
                             " and (payload->>'id')::bigint = %s", local)
    assert emitted == [(30,)]


# --- W5 ---


@pytest.mark.parametrize("type_", ["customer.created", "x", "payment_intent", "payment_intent.succeeded.", "a" * 255, "ü.ö", "'; drop"])
def test_w5_types_that_nobody_knows(hooks, type_):
    told = event(type_, {"id": "cus_1", "object": "customer"})
    assert hooks.send_accepted(told) == {"received": True, "message": "event type not supported"}
    assert hooks.row(told, "state", "attempts", "next_attempt_at") == ("unsupported", 0, None)


def test_w5_thin_events(hooks):
    told = {"id": "evt_thin", "object": "v2.core.event", "type": "v2.core.account.updated", "created": "2026-11-20T10:00:00.000Z",
            "related_object": {"id": "acct_1", "type": "v2.core.account", "url": "/v2/core/accounts/acct_1"}}
    assert hooks.send_accepted(told)["message"] == "event type not supported"
    assert hooks.row(told, "state") == "unsupported"


DRIFT = {
    "no data": lambda told: told.pop("data"),
    "no object": lambda told: told["data"].pop("object"),
    "object is text": lambda told: told["data"].update(object="pi_1"),
    "object is a list": lambda told: told["data"].update(object=[]),
    "object is null": lambda told: told["data"].update(object=None),
    "no id": lambda told: told["data"]["object"].pop("id"),
    "id is a number": lambda told: told["data"]["object"].update(id=5),
    "another kind": lambda told: told["data"]["object"].update(object="charge"),
    "everything null": lambda told: told["data"]["object"].update({k: None for k in told["data"]["object"] if k != "id"}),
    "numbers as text": lambda told: told["data"]["object"].update(amount="2000", created="yesterday"),
    "metadata is a list": lambda told: told["data"]["object"].update(metadata=[1]),
    "references are objects": lambda told: told["data"]["object"].update(customer={"id": "cus_1"}, latest_charge={"id": "ch_1"}),
    "no time": lambda told: told.pop("created"),
    "time is text": lambda told: told.update(created="now"),
    "time is far": lambda told: told.update(created=2**62),
    "more of everything": lambda told: told.update(context="acct_1", **{f"new_{n}": {"a": [n]} for n in range(100)}),
}
KNOWN = ["checkout.session.completed", "checkout.session.expired", "payment_intent.succeeded", "payment_intent.payment_failed",
         "customer.subscription.created", "customer.subscription.updated", "customer.subscription.deleted", "invoice_payment.paid",
         "setup_intent.setup_failed", "payment_method.attached", "payment_method.detached", "account.updated"]


def test_w5_drift(project, webhook, db):
    """Events of unexpected form are stored, and each ends in a state that the API shows."""
    hooks = Hooks(project, webhook, db)
    sent = []
    for type_, (name, change) in itertools.product(KNOWN, DRIFT.items()):
        told = event(type_, intent(f"x_{secrets.token_hex(6)}"))
        told["data"]["object"].pop("object")
        change(told)
        assert hooks.send_until_final(told).status_code == 200, (type_, name)
        sent.append(told)
    until(lambda: rows(db, f"select 1 from {hooks.schema}.webhook_events where state = 'received'") == [], "each event has been processed")
    states = dict(rows(db, f"select event_id, state from {hooks.schema}.webhook_events"))
    assert len(states) == len(sent)
    assert webhook.is_running() and "panic" not in webhook.log()


@pytest.mark.parametrize("created", [None, "now", 2**62])
def test_w5_without_a_time(hooks, created):
    """An event without a valid time counts as created when it arrived."""
    payment, pi = hooks.payment()
    told = event("payment_intent.succeeded", intent(pi))
    told["created"] = created
    hooks.send_accepted(told)
    hooks.wait(told, "applied")
    paid = rows(hooks.db, f"select p.status, p.paid_at = date_trunc('second', e.received_at) from {hooks.schema}.payments p,"
                          f" {hooks.schema}.webhook_events e where p.id = %s and e.event_id = %s", payment, told["id"])
    assert paid == [("succeeded", True)]


# --- W6 ---


def test_w6_rotation(project, webhook, db):
    hooks = Hooks(project, webhook, db, secret="whsec_the_old_one")
    old, new = {"secret": "whsec_the_old_one"}, {"secret": "whsec_the_new_one"}

    def configured(*secrets_):
        project.admin.put(CREDENTIALS, {"webhook_secrets": list(secrets_)}, expect=200)

    def takes(secret):
        return hooks.send_until_final(event("customer.created", {"id": "cus_1"}), secret=secret).status_code == 200

    def comes_back(seconds):
        """Configures the old secret again and returns whether the daemon accepts it before it expires."""
        end = time.time() + seconds
        configured(new, {**old, "expires_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))})
        while time.time() < end:
            if takes(old["secret"]):
                return True
        return False

    assert takes(old["secret"]) and not takes(new["secret"])
    configured(old, new)
    until(lambda: takes(new["secret"]), "the new secret is accepted")
    assert takes(old["secret"])
    configured(new)
    until(lambda: not takes(old["secret"]), "the old secret is no longer accepted")
    assert takes(new["secret"])
    assert any(comes_back(seconds) for seconds in (4, 16, 64))  # a busy machine needs longer to notify the daemon
    until(lambda: not takes(old["secret"]), "the old secret has expired", 10)
    assert takes(new["secret"])


# --- applied: backoff, death, replay, retention ---


def test_a_failure_is_tried_again_later(hooks, project, webhook, db):
    """No processor answers, so the invoice cannot be read: the event is retried later."""
    own = Hooks(project, webhook, db)
    told = event("invoice_payment.paid", {"id": "inpay_1", "object": "invoice_payment", "invoice": "in_1", "status": "paid",
                                          "amount_paid": 500, "currency": "usd", "payment": {"type": "payment_intent", "payment_intent": "pi_x"}})
    own.send_accepted(told)

    def put_off():
        state, *found = own.row(told, "state", "attempts", "error", "extract(epoch from next_attempt_at - now())")
        return found if state == "failed" and found[-1] > 0 else None

    attempts, error, wait = until(put_off, "applying the event fails")
    assert attempts >= 1 and error and wait < 3 * 2 ** attempts
    until(lambda: own.row(told, "attempts") >= 2, "applying the event is retried")
    execute(db, f"update {own.schema}.webhook_events set attempts = 11, next_attempt_at = now(), state = 'failed'")
    until(lambda: own.row(told, "state", "attempts") == ("failed", 12), "the event is kept, because the processor may be available later")
    assert 900 < own.row(told, "extract(epoch from next_attempt_at - now())") < 5400
    execute(db, f"update {own.schema}.webhook_events set attempts = 11, next_attempt_at = now(), state = 'failed',"
                " received_at = received_at - interval '3 days'")
    until(lambda: own.row(told, "state") == "dead", "the twelfth attempt was the last")
    assert own.row(told, "next_attempt_at", "attempts") == (None, 12)
    listed = project.admin.get("/integrations/svcpay/webhook-events?state=dead", expect=200).json()["items"]
    assert [item["event_id"] for item in listed] == [told["id"]]
    replayed = project.admin.post(f"/integrations/svcpay/webhook-events/{listed[0]['id']}/replay", {}, expect=202).json()
    assert replayed["state"] == "received"
    until(lambda: own.row(told, "state") == "failed" and own.row(told, "attempts") < 12, "the replay starts again with the first attempt")


def test_a_replay_changes_nothing_twice(project, webhook, db):
    hooks = Hooks(project, webhook, db)
    workflow(project.admin, {"kind": "event", "event": "PaymentSucceeded"}, [condition()])
    payment, pi = hooks.payment()
    told = event("payment_intent.succeeded", intent(pi))
    hooks.send_accepted(told)
    hooks.wait(told, "applied")
    applied = hooks.row(told, "applied_at")
    project.admin.post(f"/integrations/svcpay/webhook-events/{hooks.row(told, 'id')}/replay", {}, expect=202)
    until(lambda: hooks.row(told, "state") == "applied" and hooks.row(told, "applied_at") > applied, "applied again")
    assert hooks.status(payment) == "succeeded" and hooks.emitted("PaymentSucceeded") == [payment]


def test_old_rows_go(project, start_webhook, db):
    daemon = start_webhook(RETAIN_MS=500, SWEEP_MS=300)
    hooks = Hooks(project, daemon, db)
    ages = {"applied": 91, "ignored": 91, "unsupported": 91, "dead": 91, "failed": 91}
    for state, days in ages.items():
        for age in (days, days - 2):
            execute(db, f"insert into {hooks.schema}.webhook_events (source, event_id, type, created_at, received_at, payload, state,"
                        " next_attempt_at) values ('processor', %s, 'x', now(), now() - make_interval(days => %s), '{}', %s, %s)",
                    f"{state}-{age}", age, state, "2099-01-01" if state == "failed" else None)
    for key, hours in (("old", 25), ("new", 23)):
        execute(db, f"insert into {hooks.schema}.idempotency_keys (principal, key, request_hash, locked_until, created_at)"
                    " values ('user:1', %s, '', now(), now() - make_interval(hours => %s))", key, hours)
    until(lambda: not rows(db, f"select 1 from {hooks.schema}.webhook_events where event_id like '%%ed-91' and state <> 'failed'"),
          "events of 90 days")
    until(lambda: rows(db, f"select key from {hooks.schema}.idempotency_keys") == [("new",)], "keys of 24 hours")
    left = {name for name, in rows(db, f"select event_id from {hooks.schema}.webhook_events")}
    assert left == {"applied-89", "ignored-89", "unsupported-89", "dead-89", "failed-89", "dead-91", "failed-91"}
    assert daemon.stop() == 0


def test_metrics_and_health(hooks, webhook):
    hooks.send_accepted(event("customer.created", {"id": "cus_1"}))
    text = webhook.metrics()
    for name in ("received_total", "applied_total", "failed_total", "dead_total", "backlog", "oldest_due_ms", "apply_seconds_count"):
        assert f"groundwork_webhooks_{name}" in text, name
    ready = requests.get(f"{webhook.admin_url}/readyz", timeout=60)
    assert ready.status_code == 200 and ready.json()["dependencies"]["postgresql"] == "up"


def test_nothing_secret_is_logged(hooks, webhook):
    hooks.send_accepted(event("customer.created", {"id": "cus_1", "email": "canary@example.org"}))
    hooks.post(b'{"note":"canary-body"}')
    log = webhook.log()
    for word in (hooks.secret, "canary@example.org", "canary-body", "v1="):
        assert word not in log
