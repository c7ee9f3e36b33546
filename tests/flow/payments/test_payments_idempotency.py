"""Requests that move money, sent more than once: by callers that wait, by callers that do not wait, and by callers that lost the answer."""
import concurrent.futures
import http.client
import json
import urllib.parse

import pytest
import requests

from groundwork.deadline import until
from groundwork.processor import PAY
from groundwork.records import execute, rows
from groundwork.soon import await_status

PAYMENTS = f"{PAY}/payments"
CHARGE = f"{PAYMENTS}/charge-payment-method"


@pytest.fixture
def method(shop):
    return save(shop)


def save(shop, card="4242424242424242", email="ada@example.org"):
    setup = shop.admin.post(f"{PAY}/payment-methods/setup-intent", {"customer_email": email}, expect=200).json()
    return shop.processor.setup(setup["id"], card)["payment_method"]


def body(method, **changes):
    return {"payment_method_id": method, "amount": 20, "currency": "usd", **changes}


def send(shop, wanted, key=None, expect=201, client=None, path=CHARGE):
    headers = {"Idempotency-Key": key} if key is not None else None
    return (client or shop.admin).post(path, wanted, headers=headers, expect=expect)


def stored_result(shop, db, what="state, status, target, locked_until <= now()", key=None):
    where = f"where key = '{key}'" if key else ""
    return rows(db, f"select {what} from {shop.project.schema(db)}.idempotency_keys {where}")


def expire_leases(shop, db):
    """Ends the leases of abandoned requests, as time would do."""
    execute(db, f"update {shop.project.schema(db)}.idempotency_keys set locked_until = now() where state = 'in_progress'")


# --- keys ------------------------------------------------------------------------------------------


def test_answered_once(shop, method):
    first = send(shop, body(method), "k-1")
    assert "Idempotent-Replayed" not in first.headers
    again = send(shop, body(method), "k-1")
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.text == first.text and again.headers["Location"] == first.headers["Location"]
    assert again.headers["Content-Type"] == first.headers["Content-Type"]
    assert len(shop.charges()) == 1
    assert send(shop, body(method), "k-2").json()["id"] != first.json()["id"]
    assert len(shop.charges()) == 2


def test_key_in_the_body(shop, method):
    first = send(shop, body(method, idempotency_key="k-1"))
    assert send(shop, body(method), "k-1").text == first.text
    assert send(shop, body(method, idempotency_key="k-1"), "k-1").text == first.text
    refused = send(shop, body(method, idempotency_key="k-1"), "k-2", 400).json()
    assert refused["errors"][0]["field"] == "idempotency_key"
    assert len(shop.charges()) == 1


def test_same_request_written_differently(shop, method):
    first = send(shop, body(method), "k-1")
    wanted = {name: value for name, value in reversed(body(method).items())}
    again = shop.admin.request("POST", CHARGE, data=json.dumps(wanted, indent=3), expect=201,
                               headers={"Idempotency-Key": "k-1", "Content-Type": "application/json"})
    assert again.text == first.text


@pytest.mark.parametrize("changes", [{"amount": 21}, {"currency": "eur"}, {"description": "x"}])
def test_another_request(shop, method, changes):
    send(shop, body(method), "k-1")
    refused = send(shop, body(method, **changes), "k-1", 422).json()
    assert refused["code"] == "idempotency_mismatch"
    assert len(shop.charges()) == 1


def test_another_endpoint(shop, method):
    paid = send(shop, body(method), "k-1").json()
    send(shop, {"type": "one_off", "amount": 5, "currency": "usd"}, "k-1", 422, path=PAYMENTS)
    send(shop, {}, "k-1", 422, path=f"{PAYMENTS}/{paid['id']}/refund")


def test_keys_are_the_callers_own(shop, method):
    other = shop.project.user_with("svc_payments:create")
    machine = shop.project.key(["svc_payments:create"])
    answers = [send(shop, body(method), "k-1", client=client) for client in (shop.admin, other, machine)]
    assert len({answer.json()["id"] for answer in answers}) == 3
    assert send(shop, body(method), "k-1", client=machine).text == answers[2].text
    assert len(shop.charges()) == 3


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\tinside", "caf\u00e9"])
def test_bad_keys(shop, method, key):
    refused = send(shop, body(method, idempotency_key=key), None, 400).json()
    assert refused["errors"][0]["field"] == "idempotency_key", refused
    assert shop.charges() == []


def test_long_and_odd_keys(shop, method):
    for key in ("x" * 255, "a b/c?d=\"e\";:{}[]%00", "1"):
        first = send(shop, body(method), key)
        assert send(shop, body(method), key).text == first.text
    assert len(shop.charges()) == 3


def test_empty_header(shop, method):
    assert send(shop, body(method), "", 400).json()["errors"][0]["field"] == "Idempotency-Key"


def test_invalid_requests_use_no_key(shop, db, method):
    send(shop, body(method, amount=-1), "k-1", 400)
    assert stored_result(shop, db) == []
    send(shop, body(method), "k-1")


def test_a_day_later(shop, db, method):
    send(shop, body(method), "k-1")
    execute(db, f"update {shop.project.schema(db)}.idempotency_keys set created_at = now() - interval '25 hours'")
    send(shop, body(method, amount=30), "k-1")
    assert sorted(each["amount"] for each in shop.charges()) == [2000, 3000]


# --- stored answers --------------------------------------------------------------------------------


def test_declines_are_kept(shop):
    method = save(shop, "4000000000000341")
    first = send(shop, body(method), "k-1", 402)
    again = send(shop, body(method), "k-1", 402)
    assert again.text == first.text and again.headers["Idempotent-Replayed"] == "true"
    assert again.headers["Content-Type"] == "application/problem+json"
    assert len(shop.requests("POST", "/v1/payment_intents")) == 1
    assert shop.admin.get(PAYMENTS, expect=200).json()["total_items"] == 1


def test_refusals_are_kept(shop):
    first = send(shop, body("pm_nothing"), "k-1", 404)
    assert send(shop, body("pm_nothing"), "k-1", 404).text == first.text
    small = {"type": "one_off", "amount": 0.01, "currency": "usd"}
    first = send(shop, small, "k-2", 400, path=PAYMENTS)
    assert send(shop, small, "k-2", 400, path=PAYMENTS).text == first.text
    assert len(shop.requests("POST", "/v1/checkout/sessions")) == 1


def test_missing_configuration_is_not_kept(make_shop, project):
    wanted = {"type": "one_off", "amount": 5, "currency": "usd"}
    headers = {"Idempotency-Key": "k-1"}
    project.admin.post(PAYMENTS, wanted, headers=headers, expect=409)
    shop = make_shop(project)
    await_status(lambda: shop.admin.post(PAYMENTS, wanted, headers=headers), 201)


def test_each_change_of_a_payment(shop, processor):
    made = send(shop, {"type": "one_off", "amount": 100, "currency": "usd", "mode": "intent", "capture_method": "manual"},
                "make", path=PAYMENTS).json()
    base = f"{PAYMENTS}/payment-intent/{made['id']}"
    for key, path, wanted in (
        ("confirm", f"{base}/confirm", {"payment_method_id": "pm_card_visa"}), ("capture", f"{base}/capture", {"amount": 90}),
        ("refund", f"{PAYMENTS}/{made['id']}/refund", {"amount": 10}), ("more", f"{PAYMENTS}/{made['id']}/refund", {"amount": 10}),
    ):
        first = send(shop, wanted, key, 200, path=path)
        again = send(shop, wanted, key, 200, path=path)
        assert first.text == again.text and "Idempotent-Replayed" in again.headers
    now = shop.admin.get(f"{PAYMENTS}/{made['id']}", expect=200).json()
    assert now["amount_refunded"] == 20 and now["status"] == "partially_refunded"
    assert len(shop.objects("refund")) == 2
    refused = send(shop, {}, "again", 409, path=f"{base}/capture")
    assert send(shop, {}, "again", 409, path=f"{base}/capture").text == refused.text


def test_what_is_kept_is_sealed(shop, db):
    """The stored answer is encrypted, because its client secret gives access to the payment."""
    wanted = {"type": "one_off", "amount": 5, "currency": "usd", "mode": "intent"}
    first = send(shop, wanted, "k-1", path=PAYMENTS)
    secret = first.json()["client_secret"]
    [(stored,)] = stored_result(shop, db, "response")
    assert len(bytes(stored)) > len(first.content) and secret.encode() not in bytes(stored)
    assert send(shop, wanted, "k-1", path=PAYMENTS).text == first.text
    assert len(shop.objects("payment_intent")) == 1


# --- concurrent requests ---------------------------------------------------------------------------


def test_twenty_at_once(shop, processor, method):
    shop.fault("delay", path="/v1/payment_intents", seconds=0.5)

    def one(_):
        return requests.post(shop.admin.base_url + CHARGE, json=body(method), timeout=60,
                             headers={"Authorization": f"Bearer {shop.admin.token}", "Idempotency-Key": "k-1"})

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) <= {201, 409} and 201 in statuses, statuses
    for answer in answers:
        if answer.status_code == 409:
            assert answer.json()["code"] == "idempotency_in_progress" and int(answer.headers["Retry-After"]) >= 1
    assert len({answer.text for answer in answers if answer.status_code == 201}) == 1
    assert len(shop.charges()) == 1
    assert len({each["key"] for each in shop.requests("POST", "/v1/payment_intents")}) == 1


def test_the_same_capture_twice_at_once(shop):
    """Without keys, a second capture either joins the first or finds nothing to do."""
    made = send(shop, {"type": "one_off", "amount": 100, "currency": "usd", "mode": "intent", "capture_method": "manual"},
                path=PAYMENTS).json()
    base = f"{PAYMENTS}/payment-intent/{made['id']}"
    send(shop, {"payment_method_id": "pm_card_visa"}, None, 200, path=f"{base}/confirm")
    shop.fault("delay", path="*/capture", seconds=0.3)

    def one(_):
        return requests.post(f"{shop.admin.base_url}{base}/capture", json={}, timeout=60,
                             headers={"Authorization": f"Bearer {shop.admin.token}"}).status_code

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(one, range(4)))
    assert 200 in statuses and set(statuses) <= {200, 409, 503}, statuses
    assert len(shop.charges(captured=True)) == 1
    shop.processor.assert_never_charged_twice(shop.account)


def test_two_different_captures_at_once(shop, processor, db):
    """The second capture is refused while the first is open. This refusal is not stored: a request repeated with the same key receives an answer for
    the current state."""
    made = send(shop, {"type": "one_off", "amount": 100, "currency": "usd", "mode": "intent", "capture_method": "manual"},
                path=PAYMENTS).json()
    base = f"{PAYMENTS}/payment-intent/{made['id']}"
    send(shop, {"payment_method_id": "pm_card_visa"}, None, 200, path=f"{base}/confirm")
    shop.fault("status", status=503, path="*/capture", times=9)
    send(shop, {"amount": 60}, "one", 503, path=f"{base}/capture")
    assert send(shop, {"amount": 70}, "two", 409, path=f"{base}/capture").json()["code"] == "conflict"
    processor.clear_faults()
    assert send(shop, {"amount": 60}, "one", 200, path=f"{base}/capture").json()["status"] == "succeeded"
    assert send(shop, {"amount": 70}, "two", 409, path=f"{base}/capture").json()["code"] == "payment_state"
    assert [each["amount_captured"] for each in shop.charges(captured=True)] == [6000]


def test_two_refunds_at_once(shop, processor, method):
    """Each request is a refund of its own, with a key or without. While a refund is open, other refunds are refused and do not receive its answer."""
    paid = send(shop, body(method)).json()
    path = f"{PAYMENTS}/{paid['id']}/refund"
    shop.fault("status", status=503, path="/v1/refunds", times=20)
    send(shop, {"amount": 5}, "one", 503, path=path)
    assert send(shop, {"amount": 5}, "two", 409, path=path).json()["code"] == "conflict"
    assert send(shop, {"amount": 5}, None, 409, path=path).json()["code"] == "conflict"
    processor.clear_faults()
    assert send(shop, {"amount": 5}, "one", 200, path=path).json()["amount_refunded"] == 5
    assert send(shop, {"amount": 5}, "two", 200, path=path).json()["amount_refunded"] == 10
    assert len(shop.objects("refund")) == 2


def test_a_payment_that_is_being_made(shop, processor):
    """A payment that is still being made cannot be cancelled. This refusal is not stored: the same request succeeds later."""
    wanted = {"type": "one_off", "amount": 5, "currency": "usd", "mode": "intent"}
    shop.fault("status", status=503, path="/v1/payment_intents", times=20)
    number = send(shop, wanted, "make", 503, path=PAYMENTS).json()["payment_id"]
    path = f"{PAYMENTS}/payment-intent/{number}/cancel"
    assert send(shop, {}, "drop", 409, path=path).json()["code"] == "conflict"
    processor.clear_faults()
    send(shop, wanted, "make", path=PAYMENTS)
    assert send(shop, {}, "drop", 200, path=path).json()["status"] == "canceled"


# --- unknown outcomes ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["timeout", "reset", "garbage"])
def test_unknown_then_repeated(shop, processor, method, kind):
    shop.fault(kind, path="/v1/payment_intents", times=9, seconds=5)
    answer = send(shop, body(method), "k-1", 503)
    refused = answer.json()
    assert refused["code"] == "outcome_unknown" and answer.headers["Location"].endswith(f"/{refused['payment_id']}")
    processor.clear_faults()
    paid = send(shop, body(method), "k-1").json()
    assert paid["id"] == refused["payment_id"] and paid["status"] == "succeeded"
    assert len(shop.charges()) == 1
    processor.assert_never_charged_twice(shop.account)


def test_unknown_then_settled(shop, processor, payments, db, method):
    """The caller gave up, so the timer repeats the call with the same idempotency key."""
    shop.fault("reset", path="/v1/payment_intents", times=10, act=False)
    refused = send(shop, body(method), "k-1", 503).json()
    processor.clear_faults()
    settle(shop, db, refused["payment_id"])
    assert status_of(shop, refused["payment_id"], "succeeded")
    assert len(shop.charges()) == 1
    paid = send(shop, body(method), "k-1").json()
    assert paid["id"] == refused["payment_id"] and paid["status"] == "succeeded"
    assert len(shop.charges()) == 1
    processor.assert_never_charged_twice(shop.account)


@pytest.mark.parametrize("fault, status, code", [
    ({"kind": "reset", "act": False}, "failed", "not_carried_out"), ({"kind": "reset"}, "succeeded", None),
    ({"kind": "status", "status": 503}, "failed", "not_carried_out")], ids=["lost", "not-answered", "away"])
def test_without_a_key_nothing_is_charged_later(shop, processor, payments, db, method, fault, status, code):
    """Without a key no caller can repeat the request, so the timer makes no charge for it, and a new request charges once. A charge that the
    processor did make is found."""
    shop.set_switches(drop=True)
    shop.fault(path="/v1/payment_intents", times=20, method="POST", **fault)
    refused = send(shop, body(method), None, 503).json()
    processor.clear_faults()
    paid = send(shop, body(method), None).json()
    payment = refused["payment_id"]
    execute(db, f"update {shop.project.schema(db)}.payments set created_at = now() - interval '3 minutes' where id = {payment}")
    settle(shop, db, payment)
    found = status_of(shop, payment, status)
    assert found["failure_code"] == code
    assert {each["payment_intent"] for each in shop.charges()} == {paid["reference"], found["reference"]} - {None}


def test_turned_away_then_repeated(shop, method):
    shop.fault("status", status=429, path="/v1/payment_intents", times=3)
    send(shop, body(method), "k-1", 503)
    assert shop.admin.get(PAYMENTS, expect=200).json()["total_items"] == 0
    send(shop, body(method), "k-1")
    assert len(shop.charges()) == 1


def test_turned_away_while_repeated(shop, processor, method):
    """The processor made the charge and then refuses calls with 429: a 429 on the repeated call does not undo the payment."""
    shop.set_switches(drop=True)
    shop.fault("reset", path="/v1/payment_intents", times=9)
    refused = send(shop, body(method), "k-1", 503).json()
    processor.clear_faults()
    shop.fault("status", status=429, path="/v1/payment_intents", times=40)
    assert send(shop, body(method), "k-1", 503).json()["payment_id"] == refused["payment_id"]
    processor.clear_faults()
    paid = send(shop, body(method), "k-1").json()
    assert paid["id"] == refused["payment_id"] and paid["status"] == "succeeded"
    assert len(shop.charges()) == 1
    processor.assert_never_charged_twice(shop.account)


@pytest.mark.parametrize("amount", [5, 15])
def test_refund_of_unknown_outcome(shop, processor, payments, db, method, amount):
    """The timer reads the state of the payment and closes the open call. When the caller repeats the request, no second refund is made."""
    paid = send(shop, body(method)).json()
    path = f"{PAYMENTS}/{paid['id']}/refund"
    shop.fault("reset", path="/v1/refunds", times=10)
    send(shop, {"amount": amount}, "back", 503, path=path)
    processor.clear_faults()
    settle(shop, db, paid["id"])
    assert status_of(shop, paid["id"], "partially_refunded")
    until(lambda: rows(db, f"select 1 from {shop.project.schema(db)}.payments where call_key is null"), "closed")
    again = send(shop, {"amount": amount}, "back", 200, path=path).json()
    assert again["amount_refunded"] == amount
    assert len(shop.objects("refund")) == 1


def test_a_refund_behind_another_one(shop, processor, payments, db, method):
    """The first refund never arrived and was closed. When it is repeated, the open call of the payment belongs to the second refund."""
    paid = send(shop, body(method)).json()
    path = f"{PAYMENTS}/{paid['id']}/refund"
    shop.fault("status", status=503, path="/v1/refunds", times=40)
    send(shop, {"amount": 5}, "one", 503, path=path)
    settle(shop, db, paid["id"])
    until(lambda: rows(db, f"select 1 from {shop.project.schema(db)}.payments where call_key is null"), "closed")
    send(shop, {"amount": 7}, "two", 503, path=path)
    processor.clear_faults()
    assert send(shop, {"amount": 5}, "one", 409, path=path).json()["code"] == "conflict"
    assert send(shop, {"amount": 7}, "two", 200, path=path).json()["amount_refunded"] == 7
    assert send(shop, {"amount": 5}, "one", 200, path=path).json()["amount_refunded"] == 12
    assert sorted(each["amount"] for each in shop.objects("refund")) == [500, 700]


def test_capture_that_never_arrived(shop, processor, payments, db):
    made = send(shop, {"type": "one_off", "amount": 100, "currency": "usd", "mode": "intent", "capture_method": "manual"},
                path=PAYMENTS).json()
    base = f"{PAYMENTS}/payment-intent/{made['id']}"
    send(shop, {"payment_method_id": "pm_card_visa"}, None, 200, path=f"{base}/confirm")
    shop.fault("reset", path="*/capture", times=10, act=False)
    send(shop, {}, "take", 503, path=f"{base}/capture")
    processor.clear_faults()
    settle(shop, db, made["id"])
    await_status(lambda: shop.admin.get(f"{PAYMENTS}/{made['id']}"), 200)
    assert send(shop, {}, "take", 200, path=f"{base}/capture").json()["status"] == "succeeded"
    assert len(shop.charges(captured=True)) == 1


def test_caller_goes_away(shop, processor, payments, db, method):
    """The request ends when its caller disconnects, but the charge is completed."""
    shop.fault("delay", path="/v1/payment_intents", seconds=60)
    gateway = urllib.parse.urlsplit(shop.admin.base_url)
    caller = http.client.HTTPConnection(gateway.netloc, timeout=60)
    caller.request("POST", gateway.path + CHARGE, json.dumps(body(method)), {
        "Authorization": f"Bearer {shop.admin.token}", "Content-Type": "application/json", "Idempotency-Key": "k-1"})
    until(lambda: not processor.faults_left(), "the processor has received the request")
    caller.close()
    [(state, _, target, _)] = stored_result(shop, db)
    assert state == "in_progress" and target.startswith("payment:")
    assert send(shop, body(method), "k-1", 409).json()["code"] == "idempotency_in_progress"
    payment = int(target.split(":")[1])
    processor.clear_faults()
    until(shop.charges, "the processor acts")
    settle(shop, db, payment)
    assert status_of(shop, payment, "succeeded")
    expire_leases(shop, db)
    assert send(shop, body(method), "k-1").json()["id"] == payment
    assert len(shop.charges()) == 1
    processor.assert_never_charged_twice(shop.account)


def settle(shop, db, payment):
    """Makes the payment due for the timer."""
    execute(db, f"update {shop.project.schema(db)}.payments set settle_at = now() where id = {payment} and settle_at is not null")


def status_of(shop, payment, wanted):
    def found():
        read = shop.admin.get(f"{PAYMENTS}/{payment}", expect=200).json()
        return read["status"] == wanted and read

    return until(found, f"payment {payment} {wanted}")
