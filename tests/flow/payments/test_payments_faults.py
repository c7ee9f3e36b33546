"""Payments while the processor misbehaves, its events arrive in any order, and gateways are killed: no payer is charged twice, every payment ends in
the same state as at the processor, and each event is emitted once."""
import collections
import concurrent.futures
import os
import random
import signal
import threading
import time

import pytest
import requests

from groundwork.client import Client
from groundwork.daemon import free_port
from groundwork.deadline import until
from groundwork.processor import PAY
from groundwork.records import execute, rows

CHARGE = f"{PAY}/payments/charge-payment-method"


@pytest.fixture(scope="module")
def hasty_gateway(start_gateway, session_gateway):
    """A gateway that waits at most 300 ms for the processor. Tests kill it often."""
    return start_gateway("gateway-hasty", WORKERS=1, PROCESSOR_TIMEOUT_MS=300, REQUEST_TIMEOUT_MS=8000)


@pytest.fixture
def hasty_shop(hasty_gateway, shop, recorder):
    """A shop whose requests go through the hasty gateway, with a saved card."""
    if not hasty_gateway.is_running():
        hasty_gateway.start()
    shop.method = save(shop, "ada@example.org")
    shop.admin = Client(f"{hasty_gateway.url}/org/{shop.project.id}", token=shop.admin.token, recorder=recorder, project=shop.project)
    return shop


def save(shop, email, card="4242424242424242"):
    """Saves a card through the session's gateway, which waits longer for the processor. Returns the id of the payment method."""
    setup = shop.project.admin.post(f"{PAY}/payment-methods/setup-intent", {"customer_email": email}, expect=200).json()
    return shop.processor.setup(setup["id"], card)["payment_method"]


def charge(shop, key, **changes):
    body = {"payment_method_id": shop.method, "amount": 20, "currency": "usd", **changes}
    try:
        return shop.admin.post(CHARGE, body, headers={"Idempotency-Key": key})
    except requests.RequestException:
        return None


def repeat_until_final(shop, key, **changes):
    """Repeats a request until the answer is final, and returns this answer."""
    def answered():
        answer = charge(shop, key, **changes)
        return answer is not None and answer.status_code not in (409, 500, 502, 503, 504) and [answer]

    return until(answered, "a final answer", 10, pause=0.1)[0]


def payments(shop):
    return shop.admin.get(f"{PAY}/payments", params={"limit": 500}, expect=200).json()["items"]


def one_charge(shop, processor):
    """Asserts that there was one charge, and that the only payment that has not failed is the payment of this charge."""
    assert len(shop.charges()) == 1 and processor.assert_never_charged_twice(shop.account)
    found = payments(shop)
    assert [each["status"] for each in found if each["status"] != "failed"] == ["succeeded"], found
    assert found[-1]["reference"] == shop.charges()[0]["payment_intent"]


# --- the processor misbehaves --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [
    {"kind": "timeout"}, {"kind": "timeout", "act": False}, {"kind": "reset"}, {"kind": "reset", "act": False},
    {"kind": "garbage"}, {"kind": "garbage", "act": False}, {"kind": "delay", "seconds": 0.5},
    {"kind": "status", "status": 502, "act": True}, {"kind": "status", "status": 503}, {"kind": "status", "status": 504},
    {"kind": "status", "status": 409}, {"kind": "status", "status": 429}, {"kind": "status", "status": 424},
    {"kind": "status", "status": 500, "stored": False, "act": True}, {"kind": "status", "status": 503, "header": "false"},
], ids=lambda fault: "-".join(str(each) for each in fault.values()))
@pytest.mark.parametrize("times", [1, 3])
def test_a_fault_never_charges_twice(hasty_shop, processor, fault, times):
    hasty_shop.fault(path="/v1/payment_intents", times=times, **fault)
    answer = repeat_until_final(hasty_shop, "k")
    assert (answer.status_code, answer.json()["status"]) == (201, "succeeded"), answer.text
    one_charge(hasty_shop, processor)
    keys = {each["key"] for each in hasty_shop.requests("POST", "/v1/payment_intents") if each["acted"] or each["replayed"]}
    assert len(keys) == 1
    again = charge(hasty_shop, "k")
    assert again.json() == answer.json() and again.headers["Idempotent-Replayed"] == "true"
    assert len(hasty_shop.charges()) == 1


def test_an_error_that_the_processor_keeps(hasty_shop, processor):
    """The processor replays a 500 for a day. The error does not show whether the charge was made, so the payment stays open."""
    hasty_shop.fault("status", status=500, path="/v1/payment_intents", act=True)
    for _ in range(2):
        answer = charge(hasty_shop, "k")
        assert answer.status_code in (502, 503), answer.text
    assert len(hasty_shop.charges()) == 1 and processor.assert_never_charged_twice(hasty_shop.account)
    assert [each["status"] in ("succeeded", "failed") for each in payments(hasty_shop)] == [False]


def test_a_declined_card_stays_declined(hasty_shop, processor):
    method = save(hasty_shop, "bo@example.org", "4000000000000341")
    hasty_shop.fault("reset", path="/v1/payment_intents", times=3)
    first = repeat_until_final(hasty_shop, "k", payment_method_id=method)
    assert (first.status_code, first.json()["code"]) == (402, "card_error")
    assert repeat_until_final(hasty_shop, "k", payment_method_id=method).json()["errors"] == first.json()["errors"]
    assert hasty_shop.charges() == [] and len(payments(hasty_shop)) == 1


def test_many_requests_of_one_key(hasty_shop, processor):
    hasty_shop.fault("delay", seconds=0.2, path="/v1/payment_intents")
    clients = [hasty_shop.project.client(token=hasty_shop.admin.token) for _ in range(20)]  # clients of a gateway that waits ten times as long

    def ask(client):
        return client.post(CHARGE, {"payment_method_id": hasty_shop.method, "amount": 20, "currency": "usd"},
                           headers={"Idempotency-Key": "k"})

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, clients * 5))
    assert collections.Counter(each.status_code for each in answers).keys() <= {201, 409}
    assert len({each.json()["id"] for each in answers if each.status_code == 201}) == 1
    assert repeat_until_final(hasty_shop, "k").status_code == 201
    assert charge(hasty_shop, "k", amount=21).status_code == 422
    one_charge(hasty_shop, processor)


# --- the gateway is killed -----------------------------------------------------------------------------------


def kill(daemon):
    os.killpg(daemon.process.pid, signal.SIGKILL)
    daemon.process.wait(60)


def killed_while(daemon, shop, db, key, when):
    """Sends one charge, kills the gateway as soon as `when` returns and starts the gateway again. Ends its lock on the key."""
    asking = threading.Thread(target=charge, args=(shop, key))
    asking.start()
    when()
    kill(daemon)
    asking.join()
    daemon.start()  # the statements that the killed gateway had sent are committed by now, or never will be
    execute(db, f"update {shop.project.schema(db)}.idempotency_keys set locked_until = now() where state = 'in_progress'")


def wait_fault(shop):
    """Waits until a request has met the fault at the processor."""
    until(lambda: not shop.processor.faults_left(), "the processor has received the request", pause=0.01)


@pytest.mark.parametrize("act", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("who", ["caller", "timer"])
def test_killed_around_the_charge(hasty_shop, hasty_gateway, processor, payments_of, db, act, who):
    """The gateway is killed before or after the processor acted: the caller's repeated request or the timer completes the charge."""
    hasty_shop.fault("timeout", path="/v1/payment_intents", act=act, seconds=1)
    killed_while(hasty_gateway, hasty_shop, db, "k", lambda: wait_fault(hasty_shop))
    if who == "caller":
        assert repeat_until_final(hasty_shop, "k").json()["status"] == "succeeded"
    else:
        payments_of(hasty_shop)
        schema = hasty_shop.project.schema(db)
        execute(db, f"update {schema}.payments set settle_at = now() where settle_at is not null")
        until(lambda: [each["status"] for each in payments(hasty_shop)] == ["succeeded"], "the timer settles it")
        assert repeat_until_final(hasty_shop, "k").json()["status"] == "succeeded"
    one_charge(hasty_shop, processor)


@pytest.fixture
def payments_of(start_payments, servers, processor):
    """A function that starts a payments service for a shop. The service is stopped after the test."""
    started = []

    def start(_shop):
        started.append(start_payments(PROCESSOR_TIMEOUT_MS=1000, SWEEP_MS=200))

    yield start
    for daemon in started:
        daemon.stop()


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment(hasty_shop, hasty_gateway, processor, db, seed):
    moment = random.Random(seed).uniform(0, 0.06)
    killed_while(hasty_gateway, hasty_shop, db, "k", lambda: time.sleep(moment))
    assert repeat_until_final(hasty_shop, "k").json()["status"] == "succeeded"
    one_charge(hasty_shop, processor)


# --- events in any order -------------------------------------------------------------------------------------

KINDS = ("PaymentCreated", "PaymentSucceeded", "PaymentFailed", "SubscriptionCreated", "SubscriptionActivated",
         "SubscriptionExpired", "SubscriptionPastDue", "PaymentMethodCaptured", "PaymentMethodRemoved")


def listen(project):
    """Creates a workflow for each kind of event. Returns {id of the workflow: kind}."""
    step = {"key": "hold", "action": "Condition", "params": {"field": "$svc.trigger.kind", "op": "not_empty"}}
    return {project.admin.post("/workflows", {
        "name": kind, "enabled": True, "trigger": {"kind": "event", "event": kind}, "start_step": "hold", "steps": [step],
    }, expect=201).json()["id"]: kind for kind in KINDS}


def emitted(shop, db, kinds):
    found = rows(db, f"select workflow_id, count(*) from {shop.project.schema(db)}.jobs group by workflow_id")
    return {kinds[id_]: count for id_, count in found}


@pytest.mark.parametrize("generation, switches", [
    ("dahlia", {}), ("acacia", {}), ("dahlia", {"duplicate": 2, "shuffle": True}),
    ("acacia", {"duplicate": 1, "shuffle": True, "delay": [0, 0.5]}), ("endive", {"shuffle": True, "delay": [0, 1]}),
    ("basil", {"drop": True}),
], ids=lambda each: each if isinstance(each, str) else "-".join(each) or "well")
def test_a_subscription_from_start_to_end(make_shop, project, processor, payments, runner, db, generation, switches):
    shop = make_shop(project, api=generation)
    kinds = listen(project)
    plan = shop.admin.post(f"{PAY}/subscription-plans", {
        "plan_name": "pro", "name": "Pro", "amount": 9, "currency": "usd", "billing_interval": "month"}, expect=201).json()
    member = project.user(permissions=["svc_payments:create", "svc_payments:read", "svc_subscription_plans:read"])
    made = member.post(f"{PAY}/subscriptions", {"plan_id": plan["id"]}, expect=201).json()
    shop.set_switches(**switches)
    session = shop.objects("checkout.session")[-1]
    processor.complete(session["id"])
    subscription = processor.get(session["id"])["subscription"]
    deliver(shop, processor, switches)
    mine = f"{PAY}/subscriptions/me/entitlement"
    until(lambda: member.get(mine, expect=200).json()["has_access"], "access")
    assert member.get(mine).json()["status"] == "active"
    processor.renew(subscription)
    processor.fail_renewal(subscription)
    deliver(shop, processor, switches)
    path = f"{PAY}/subscriptions/{made['id']}"
    until(lambda: shop.admin.get(path, expect=200).json()["status"] == "past_due", "past due")
    processor.cancel(subscription)
    deliver(shop, processor, switches)
    until(lambda: shop.admin.get(path, expect=200).json()["status"] == "canceled", "canceled")
    until(lambda: not member.get(mine, expect=200).json()["has_access"], "no access")
    shop.wait_applied(db)
    assert not rows(db, f"select 1 from {project.schema(db)}.webhook_events where state = 'dead'")
    wanted = {"PaymentCreated": 3, "PaymentSucceeded": 2, "PaymentFailed": 1, "SubscriptionCreated": 1,
              "SubscriptionActivated": 1, "SubscriptionPastDue": 1, "SubscriptionExpired": 1, "PaymentMethodCaptured": 1}
    until(lambda: not rows(db, f"select 1 from {project.schema(db)}.outbox where pending & 1 <> 0"), "the runner has taken all")
    got = emitted(shop, db, kinds)
    assert got == wanted
    assert processor.assert_never_charged_twice(shop.account) and len(shop.charges()) == 2
    paid = [each for each in shop.admin.get(f"{PAY}/payments", expect=200).json()["items"] if each["status"] == "succeeded"]
    assert sorted(each["reference"] for each in paid) == sorted(each["payment_intent"] for each in shop.charges())


def deliver(shop, processor, switches):
    if switches.get("drop"):
        assert processor.resend(endpoint=shop.endpoint) > 0
    shop.drain()


def test_a_service_that_was_away(make_shop, project, processor, start_payments, db):
    """The processor delivers events again that the stopped service could not receive: no event is lost or applied twice."""
    shop, port = make_shop(project), free_port()
    processor.update_endpoint(shop.endpoint, url=f"http://127.0.0.1:{port}/webhooks/processor/{project.id}")
    made = shop.admin.post(f"{PAY}/payments", {"type": "one_off", "amount": 5, "currency": "usd"}, expect=201).json()
    processor.complete(shop.objects("checkout.session")[-1]["id"])
    until(lambda: processor.attempts(shop.endpoint), "the first try")
    with pytest.raises(AssertionError, match="not taken"):
        shop.drain(0)
    daemon = start_payments(PORT=port)
    try:
        shop.drain()
        schema = project.schema(db)
        until(lambda: rows(db, f"select status from {schema}.payments where id = %s", made["id"]) == [("succeeded",)], "paid")
        assert max(each["try"] for each in processor.attempts(shop.endpoint)) > 1
    finally:
        daemon.stop()
