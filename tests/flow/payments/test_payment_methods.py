"""Saved payment methods: set-up, lists, synchronisation with the processor, removal."""
import concurrent.futures

import pytest

from groundwork.deadline import until
from groundwork.processor import PAY
from groundwork.workflows import workflow

METHODS = f"{PAY}/payment-methods"


def set_up(shop, card="4242424242424242", email="ada@example.org", **who):
    made = shop.admin.post(f"{METHODS}/setup-intent", who or {"customer_email": email}, expect=200).json()
    return shop.processor.setup(made["id"], card)


def methods(shop, **params):
    return shop.admin.get(METHODS, params=params, expect=200).json()["items"]


def sync(shop, email="ada@example.org", **params):
    return methods(shop, customer_email=email, sync="true", **params)


def emitted(db, shop, event):
    with db.cursor() as cursor:
        cursor.execute(f"select count(*) from {shop.project.schema(db)}.outbox where event = %s", (event,))
        return cursor.fetchone()[0]


def test_set_up_is_reported_by_events(shop, payments):
    made = shop.admin.post(f"{METHODS}/setup-intent", {"customer_email": "Ada@Example.org"}, expect=200).json()
    assert made["client_secret"] and made["status"] == "requires_payment_method"
    shop.processor.setup(made["id"])
    shop.drain()
    method, = until(lambda: [method for method in methods(shop) if method["brand"]], "the card is listed")
    assert method["type"] == "card" and method["brand"] == "visa" and method["last4"] == "4242"
    assert method["status"] == "active" and method["subscriber_email"] == "ada@example.org"
    for name in (method["id"], method["provider_id"]):
        read = shop.admin.get(f"{METHODS}/{name}", expect=200).json()
        assert {**read, "updated_at": None} == {**method, "updated_at": None}


def test_set_up_failed(shop, payments):
    set_up(shop, "4000000000000002")
    shop.drain()
    failed = until(lambda: methods(shop, status="setup_failed"), "the failed set-up is listed")[0]
    assert failed["provider_id"] is None or failed["failure_code"]
    assert failed["failure_code"] == "card_declined"
    if failed["provider_id"] is None:
        shop.admin.delete(f"{METHODS}/{failed['id']}", expect=204)
        shop.admin.get(f"{METHODS}/{failed['id']}", expect=404)


def test_sync(shop):
    assert sync(shop) == []
    set_up(shop)
    set_up(shop, "5555555555554444")
    set_up(shop, email="bob@example.org")
    found = sync(shop, email="ADA@example.org")
    assert {each["brand"] for each in found} == {"visa", "mastercard"}
    assert len(sync(shop)) == 2
    assert len(sync(shop, "bob@example.org")) == 1
    assert len(methods(shop)) == 3
    refused = shop.admin.get(METHODS, params={"sync": "true"}, expect=400).json()
    assert refused["code"] == "invalid_query"


def test_of_a_subscriber(shop):
    user = shop.project.user()
    set_up(shop, subscriber_id=user.user["id"])
    found = shop.admin.get(METHODS, params={"subscriber_id": user.user["id"], "sync": "true"}, expect=200).json()["items"]
    assert len(found) == 1 and found[0]["subscriber_id"] == user.user["id"]
    assert found[0]["subscriber_email"] == user.user["email"]
    assert methods(shop, subscriber_id=424242) == []
    shop.admin.post(f"{METHODS}/setup-intent", {"subscriber_id": 424242}, expect=404)


@pytest.mark.parametrize("by", ["id", "provider_id"])
def test_remove(shop, payments, by):
    set_up(shop)
    method = sync(shop)[0]
    shop.admin.delete(f"{METHODS}/{method[by]}", expect=204)
    gone = shop.admin.get(f"{METHODS}/{method['id']}", expect=200).json()
    assert gone["status"] == "detached"
    shop.admin.delete(f"{METHODS}/{method[by]}", expect=204)
    assert len(shop.requests("POST", f"/v1/payment_methods/{method['provider_id']}/detach")) == 1
    shop.drain()
    assert shop.admin.get(f"{METHODS}/{method['id']}", expect=200).json()["status"] == "detached"
    charge = {"payment_method_id": method["id"], "amount": 5, "currency": "usd"}
    refused = shop.admin.post(f"{PAY}/payments/charge-payment-method", charge, expect=409).json()
    assert refused["code"] == "payment_state"


def test_remove_what_was_detached_there(shop):
    set_up(shop)
    method = sync(shop)[0]
    shop.processor.detach(method["provider_id"])
    shop.admin.delete(f"{METHODS}/{method['id']}", expect=204)
    assert shop.admin.get(f"{METHODS}/{method['id']}", expect=200).json()["status"] == "detached"


def test_remove_while_the_processor_is_away(shop):
    set_up(shop)
    method = sync(shop)[0]
    shop.fault("status", status=500, path="/v1/payment_methods/*", times=9)
    shop.admin.delete(f"{METHODS}/{method['id']}", expect=503)
    assert shop.admin.get(f"{METHODS}/{method['id']}", expect=200).json()["status"] == "active"
    shop.processor.clear_faults()
    shop.admin.delete(f"{METHODS}/{method['id']}", expect=204)


def test_removal_is_emitted_once(shop, payments, db):
    listen(shop)
    set_up(shop)
    method = sync(shop)[0]
    shop.drain()
    shop.admin.delete(f"{METHODS}/{method['id']}", expect=204)
    shop.admin.delete(f"{METHODS}/{method['id']}", expect=204)
    shop.wait_applied(db)
    assert emitted(db, shop, "PaymentMethodRemoved") == 1
    assert emitted(db, shop, "PaymentMethodCaptured") == 1


def listen(shop):
    for name in ("PaymentMethodRemoved", "PaymentMethodCaptured"):
        workflow(shop.admin, {"kind": "event", "event": name})


def test_customer_after_an_outage(shop):
    """The processor replays an error for a repeated idempotency key, so the gateway uses a new key for each attempt."""
    shop.fault("status", status=500, method="POST", path="/v1/customers", times=9)
    shop.admin.post(f"{METHODS}/setup-intent", {"customer_email": "ada@example.org"}, expect=503)
    shop.processor.clear_faults()
    shop.admin.post(f"{METHODS}/setup-intent", {"customer_email": "ada@example.org"}, expect=200)
    assert len(shop.objects("customer")) == 1


def test_one_customer_for_an_address(shop):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(
            lambda _: shop.admin.post(f"{METHODS}/setup-intent", {"customer_email": "ada@example.org"}).status_code,
            range(8)))
    assert answers == [200] * 8
    assert len(shop.objects("customer")) == 1
    assert len({each["customer"] for each in shop.objects("setup_intent")}) == 1


def test_refused(shop):
    shop.admin.post(f"{METHODS}/setup-intent", {}, expect=400)
    shop.admin.post(f"{METHODS}/setup-intent", {"customer_email": "nobody"}, expect=400)
    for path in ("424242", "pm_nothing", "x", "0", "-1"):
        shop.admin.get(f"{METHODS}/{path}", expect=404)
        shop.admin.delete(f"{METHODS}/{path}", expect=404)


def test_rights(shop):
    set_up(shop)
    method = sync(shop)[0]
    shop.project.user_with("svc_payment_methods:read").get(METHODS, expect=200)
    shop.project.user_with("svc_payments:read").get(f"{METHODS}/{method['id']}", expect=200)
    shop.project.user_with("svc_payments:create").get(METHODS, expect=403)
    shop.project.user_with("svc_payments:read").delete(f"{METHODS}/{method['id']}", expect=403)
    shop.project.user_with("svc_payment_methods:create").post(f"{METHODS}/setup-intent", {"customer_email": "a@example.org"}, expect=200)
    shop.project.user_with("svc_payment_methods:delete").delete(f"{METHODS}/{method['id']}", expect=204)
