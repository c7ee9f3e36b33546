"""Payments: created on the processor's page or on a device, charged, captured, cancelled, refunded, listed."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from groundwork.client import Client
from groundwork.deadline import at_most, until
from groundwork.processor import PAY
from groundwork.records import execute, rows
from groundwork.soon import await_status
from groundwork.workflows import workflow

PAYMENTS = f"{PAY}/payments"
CHARGE = f"{PAYMENTS}/charge-payment-method"
ONE_OFF = {"type": "one_off", "amount": 12.5, "currency": "USD", "description": "Season ticket",
           "customer_email": "ada@example.org"}


def pay(shop, expect=201, headers=None, **changes):
    body = {name: value for name, value in {**ONE_OFF, **changes}.items() if value is not None}
    return shop.admin.post(PAYMENTS, body, headers=headers, expect=expect)


def saved(shop, card="4242424242424242", email="ada@example.org"):
    """Saves a card for the payer with this address and returns the processor's id of the payment method."""
    setup = shop.admin.post(f"{PAY}/payment-methods/setup-intent", {"customer_email": email}, expect=200).json()
    method = shop.processor.setup(setup["id"], card)
    return method["payment_method"] if isinstance(method["payment_method"], str) else method["payment_method"]["id"]


def charge(shop, method, expect=201, headers=None, amount=20, **changes):
    body = {"payment_method_id": method, "amount": amount, "currency": "usd", **changes}
    return shop.admin.post(CHARGE, body, headers=headers, expect=expect)


def intent(shop, id_, action=None, body=None, expect=200, **options):
    path = f"{PAYMENTS}/payment-intent/{id_}"
    if action is None:
        return shop.admin.get(path, expect=expect).json()
    return shop.admin.post(f"{path}/{action}", body, expect=expect, **options).json()


# --- one-off ---------------------------------------------------------------------------------------


def test_checkout(shop, processor):
    answer = pay(shop, metadata={"order": "A-17", "seats": 2, "vip": True})
    made = answer.json()
    assert answer.headers["Location"].endswith(f"{PAYMENTS}/{made['id']}")
    assert made["status"] == "requires_payment_method" and made["type"] == "one_off"
    assert made["amount"] == 12.5 and made["amount_minor"] == 1250 and made["currency"] == "usd"
    assert made["metadata"] == {"order": "A-17", "seats": "2", "vip": "true"}
    assert made["checkout_url"].startswith("http") and "client_secret" not in made
    asked = shop.requests("POST", "/v1/checkout/sessions")[-1]["params"]
    assert asked["payment_intent_data"]["metadata"]["payment_id"] == str(made["id"])
    assert asked["metadata"]["project_id"] == shop.project.id and asked["metadata"]["order"] == "A-17"
    session = shop.objects("checkout.session")[-1]
    processor.complete(session["id"])
    now = intent(shop, made["id"])
    assert now["status"] == "succeeded" and now["reference"].startswith("pi_") and now["checkout_url"] is None
    assert intent(shop, now["reference"])["id"] == made["id"]
    assert shop.admin.get(f"{PAYMENTS}/{made['id']}", expect=200).json()["paid_at"]


def test_intent_for_a_device(shop, processor):
    made = pay(shop, mode="intent", capture_method="automatic").json()
    assert made["client_secret"] and made["checkout_url"] is None and made["next_action"] is None
    assert made["reference"].startswith("pi_")
    assert "client_secret" not in shop.admin.get(f"{PAYMENTS}/{made['id']}", expect=200).json()
    assert intent(shop, made["id"])["client_secret"] == made["client_secret"]
    processor.pay(made["reference"])
    paid = intent(shop, made["id"])
    assert paid["status"] == "succeeded" and "client_secret" not in paid
    assert len(shop.charges()) == 1


def test_confirm(shop):
    made = pay(shop, mode="intent").json()
    declined = shop.admin.post(f"{PAYMENTS}/payment-intent/{made['id']}/confirm",
                               {"payment_method_id": "pm_card_chargeDeclined"}, expect=402).json()
    assert declined["code"] == "card_error" and declined["payment_id"] == made["id"]
    assert declined["errors"][0]["field"] == "payment_method_id"
    assert declined["errors"][0]["code"] == "card_declined"
    assert declined["errors"][1]["code"] == "generic_decline"
    failed = shop.admin.get(f"{PAYMENTS}/{made['id']}", expect=200).json()
    assert failed["status"] == "failed" and failed["failure_code"] and failed["failure_message"]
    paid = intent(shop, made["reference"], "confirm", {"payment_method_id": "pm_card_visa"})
    assert paid["status"] == "succeeded" and paid["failure_code"] is None
    again = intent(shop, made["id"], "confirm", {}, expect=409)
    assert again["code"] == "payment_state"


def test_confirm_asks_for_authentication(shop, processor):
    made = pay(shop, mode="intent").json()
    asked = intent(shop, made["id"], "confirm", {"payment_method_id": "pm_card_authenticationRequired",
                                                 "return_url": "https://app.example.org/back"})
    assert asked["status"] == "requires_action" and asked["next_action"]["type"] == "redirect_to_url"
    assert asked["client_secret"] == made["client_secret"]
    processor.authenticate(made["reference"])
    assert intent(shop, made["id"])["status"] == "succeeded"


def test_confirm_again_after_a_decline(shop, processor):
    """A declined payment can be confirmed again: the new attempt runs, and the failure of the previous card is cleared."""
    made = pay(shop, mode="intent").json()
    intent(shop, made["id"], "confirm", {"payment_method_id": "pm_card_chargeDeclined"}, expect=402)
    asked = intent(shop, made["id"], "confirm", {"payment_method_id": "pm_card_authenticationRequired",
                                                 "return_url": "https://app.example.org/back"})
    assert asked["status"] == "requires_action" and asked["next_action"]["type"] == "redirect_to_url"
    assert asked["failure_code"] is None and asked["failure_message"] is None
    listed = shop.admin.get(f"{PAYMENTS}/{made['id']}", expect=200).json()
    assert (listed["status"], listed["failure_code"]) == ("requires_action", None)
    processor.authenticate(made["reference"], ok=False)
    lost = intent(shop, made["id"])
    assert (lost["status"], lost["failure_code"]) == ("failed", "payment_intent_authentication_failure")
    slow = intent(shop, made["id"], "confirm", {"payment_method_id": "pm_usBankAccount"})
    assert (slow["status"], slow["failure_code"]) == ("processing", None)
    processor.settle(made["reference"])
    assert intent(shop, made["id"])["status"] == "succeeded"


def test_confirm_with_a_saved_method(shop):
    method = saved(shop)
    made = pay(shop, mode="intent", save_payment_method=True).json()
    shop.admin.get(f"{PAY}/payment-methods", params={"customer_email": "ada@example.org", "sync": "true"}, expect=200)
    ours = shop.admin.get(f"{PAY}/payment-methods/{method}", expect=200).json()
    paid = intent(shop, made["id"], "confirm", {"payment_method_id": ours["id"]})
    assert paid["status"] == "succeeded" and paid["payment_method_id"] == ours["id"]


def test_capture(shop):
    made = pay(shop, mode="intent", capture_method="manual", amount=100).json()
    early = intent(shop, made["id"], "capture", {}, expect=409)
    assert early["code"] == "payment_state"
    assert intent(shop, made["id"], "confirm", {"payment_method_id": "pm_card_visa"})["status"] == "requires_capture"
    much = intent(shop, made["id"], "capture", {"amount": 100.01}, expect=400)
    assert much["errors"][0]["field"] == "amount"
    taken = intent(shop, made["id"], "capture", {"amount": 40.5})
    assert taken["status"] == "succeeded"
    charges = shop.charges()
    assert [each["amount_captured"] for each in charges] == [4050]
    assert intent(shop, made["id"], "capture", {}, expect=409)["code"] == "payment_state"


def test_capture_after_a_card_that_was_declined(shop):
    made = pay(shop, mode="intent", capture_method="manual").json()
    intent(shop, made["id"], "confirm", {"payment_method_id": "pm_card_chargeDeclined"}, expect=402)
    assert intent(shop, made["id"])["status"] == "failed"
    assert intent(shop, made["id"], "confirm", {"payment_method_id": "pm_card_visa"})["status"] == "requires_capture"
    assert intent(shop, made["id"], "capture")["status"] == "succeeded"


def test_capture_follows_what_no_event_reported(shop, processor):
    made = pay(shop, mode="intent", capture_method="manual").json()
    processor.pay(made["reference"])
    assert intent(shop, made["id"], "capture")["status"] == "succeeded"


def test_cancel(shop, processor):
    made = pay(shop, mode="intent").json()
    assert intent(shop, made["id"], "cancel", {"reason": "duplicate"})["status"] == "canceled"
    assert intent(shop, made["id"], "cancel", expect=409)["code"] == "payment_state"
    page = pay(shop).json()
    assert intent(shop, page["id"], "cancel")["status"] == "canceled"
    assert shop.objects("checkout.session")[-1]["status"] == "expired"
    paid = pay(shop, mode="intent").json()
    processor.pay(paid["reference"])
    assert intent(shop, paid["id"], "cancel", expect=409)["code"] == "payment_state"


def test_refund(shop, processor):
    made = pay(shop, mode="intent", amount=100).json()
    early = shop.admin.post(f"{PAYMENTS}/{made['id']}/refund", {}, expect=409).json()
    assert early["code"] == "payment_state"
    processor.pay(made["reference"])
    part = shop.admin.post(f"{PAYMENTS}/{made['id']}/refund", {"amount": 30, "reason": "duplicate"}, expect=200).json()
    assert part["status"] == "partially_refunded" and part["amount_refunded"] == 30
    much = shop.admin.post(f"{PAYMENTS}/{made['id']}/refund", {"amount": 70.01}, expect=400).json()
    assert much["errors"][0]["field"] == "amount" and "70" in much["errors"][0]["message"]
    rest = shop.admin.post(f"{PAYMENTS}/{made['id']}/refund", expect=200).json()
    assert rest["status"] == "refunded" and rest["amount_refunded_minor"] == 10000
    shop.admin.post(f"{PAYMENTS}/{made['id']}/refund", {}, expect=409)


def test_refund_that_fails_later(shop, processor):
    made = pay(shop, mode="intent", amount=100).json()
    processor.pay(made["reference"])
    path = f"{PAYMENTS}/{made['id']}/refund"
    shop.admin.post(path, {"amount": 30}, expect=200)
    assert shop.admin.post(path, {}, expect=200).json()["status"] == "refunded"
    processor.fail_refund(shop.objects("refund")[-1]["id"])
    again = intent(shop, made["id"])
    assert (again["status"], again["amount_refunded"]) == ("partially_refunded", 30)
    rest = shop.admin.post(path, {}, expect=200).json()
    assert (rest["status"], rest["amount_refunded"]) == ("refunded", 100)
    for each in shop.objects("refund"):
        if each["status"] == "succeeded":
            processor.fail_refund(each["id"])
    whole = shop.admin.post(path, {"amount": 100}, expect=200).json()  # no event reported that all refunds failed
    assert (whole["status"], whole["amount_refunded"]) == ("refunded", 100)


def test_refunds_of_one_amount_at_once(shop, processor):
    """Concurrent refunds of the same amount are each made or refused: no request receives the result of another request."""
    made = pay(shop, mode="intent", amount=100).json()
    processor.pay(made["reference"])
    path = f"{PAYMENTS}/{made['id']}/refund"
    shop.fault("delay", path="/v1/refunds", times=8, seconds=0.3)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: shop.admin.post(path, {"amount": 10}), range(8)))
    statuses = sorted(answer.status_code for answer in answers)
    assert set(statuses) <= {200, 409} and 200 in statuses, statuses
    assert len(shop.objects("refund")) == statuses.count(200)
    shown = shop.admin.get(f"{PAYMENTS}/{made['id']}", expect=200).json()
    assert shown["amount_refunded"] == 10 * statuses.count(200)


def test_platform_fee(shop, make_shop, operator, gateway, recorder):
    from groundwork.project import Project

    shop.admin.put(f"{PAY}/processor-connect/fees", {"percent": 2.5, "fixed": 0.3, "currency": "usd"}, expect=200)
    made = soon_with_fee(shop)
    assert made["platform_fee"] == 2.8 and made["platform_fee_minor"] == 280
    assert shop.requests("POST", "/v1/payment_intents")[-1]["params"]["application_fee_amount"] == "280"
    intent(shop, made["id"], "confirm", {"payment_method_id": "pm_card_visa"})
    part = intent(shop, made["id"], "capture", {"amount": 50})
    assert shop.requests("POST", f"/v1/payment_intents/{made['reference']}/capture")[-1]["params"] == {
        "amount_to_capture": "5000", "application_fee_amount": "140"}
    assert part["status"] == "succeeded"
    own = make_shop(Project(gateway, operator, recorder), mode="own")
    own.admin.put(f"{PAY}/processor-connect/fees", {"percent": 2.5, "fixed": 0.3, "currency": "usd"}, expect=200)
    assert pay(own, mode="intent").json()["platform_fee"] == 0
    assert "application_fee_amount" not in own.requests("POST", "/v1/payment_intents")[-1]["params"]


def soon_with_fee(shop):
    """Creates payments until one has a platform fee and returns that payment: each worker reloads the settings within a second."""
    def made():
        found = pay(shop, mode="intent", amount=100, capture_method="manual").json()
        return found["platform_fee_minor"] and found

    return until(made, "a fee")


# --- saved methods, charged ------------------------------------------------------------------------


def test_charge(shop, processor):
    method = saved(shop)
    answer = charge(shop, method, description="July", metadata={"invoice": "7"})
    paid = answer.json()
    assert answer.headers["Location"].endswith(f"{PAYMENTS}/{paid['id']}")
    assert paid["status"] == "succeeded" and paid["type"] == "saved_method" and paid["paid_at"]
    assert paid["customer_email"] == "ada@example.org" and paid["description"] == "July"
    asked = shop.requests("POST", "/v1/payment_intents")[-1]["params"]
    assert asked["off_session"] == "true" and asked["confirm"] == "true" and asked["payment_method"] == method
    assert asked["automatic_payment_methods"] == {"enabled": "true", "allow_redirects": "never"}
    ours = paid["payment_method_id"]
    assert charge(shop, ours).json()["payment_method_id"] == ours
    assert len(shop.charges()) == 2
    processor.assert_never_charged_twice(shop.account)


def test_charge_declined(shop):
    method = saved(shop, "4000000000000341")
    refused = charge(shop, method, expect=402).json()
    assert refused["code"] == "card_error" and "client_secret" not in refused
    assert refused["errors"][0]["field"] == "payment_method_id"
    assert refused["errors"][0]["code"] == "card_declined"
    failed = shop.admin.get(f"{PAYMENTS}/{refused['payment_id']}", expect=200).json()
    assert failed["status"] == "failed" and failed["failure_code"] and failed["reference"].startswith("pi_")
    assert shop.charges() == []


def test_charge_needs_its_owner(shop, processor):
    method = saved(shop, "4000002760003184")
    refused = charge(shop, method, expect=402).json()
    assert refused["errors"][0]["code"] == "authentication_required"
    assert refused["client_secret"].startswith("pi_")
    failed = shop.admin.get(f"{PAYMENTS}/{refused['payment_id']}", expect=200).json()
    asked = intent(shop, failed["id"], "confirm", {"payment_method_id": method})
    assert asked["next_action"]
    processor.authenticate(failed["reference"])
    assert intent(shop, failed["id"])["status"] == "succeeded"


def test_charge_that_takes_its_time(shop, processor):
    method = saved(shop, "000123456789")
    paid = charge(shop, method).json()
    assert paid["status"] == "processing"
    processor.settle(paid["reference"])
    assert intent(shop, paid["id"])["status"] == "succeeded"


def test_charge_reserved(shop):
    paid = charge(shop, saved(shop), capture_method="manual").json()
    assert paid["status"] == "requires_capture"
    assert intent(shop, paid["id"], "capture")["status"] == "succeeded"


@pytest.mark.parametrize("method", [424242, "pm_nothing", 0, "", None, [1], 2.5])
def test_charge_of_no_method(shared_shop, processor, method):
    answer = charge(shared_shop, method, expect=None)
    assert answer.status_code in ((404,) if method in (424242, "pm_nothing") else (400,)), answer.text


def test_methods_of_others_are_not_there(shop, make_shop, operator, gateway, recorder):
    from groundwork.project import Project

    other = make_shop(Project(gateway, operator, recorder))
    method = saved(other)
    charge(shop, method, expect=404)
    assert other.charges() == []


# --- emitted events -------------------------------------------------------------------------------


def test_events(shop, payments, db):
    """Each event is emitted once, even when answers and repeated events of the processor report the same state several times."""
    for event in ("PaymentCreated", "PaymentSucceeded", "PaymentFailed"):
        workflow(shop.admin, {"kind": "event", "event": event})
    paid = charge(shop, saved(shop)).json()
    refused = charge(shop, saved(shop, "4000000000000341", "bob@example.org"), expect=402).json()
    made = pay(shop).json()
    shop.set_switches(duplicate=2)
    shop.processor.complete(shop.objects("checkout.session")[-1]["id"])
    shop.wait_applied(db)
    wanted = sorted([("PaymentCreated", paid["id"]), ("PaymentSucceeded", paid["id"]),
                     ("PaymentCreated", refused["payment_id"]), ("PaymentFailed", refused["payment_id"]),
                     ("PaymentCreated", made["id"]), ("PaymentSucceeded", made["id"])])
    found = rows(db, f"select event, (payload ->> 'id')::bigint from {shop.project.schema(db)}.outbox")
    assert sorted((event, number) for event, number in found if event.startswith("Payment")) == wanted


# --- refused requests ------------------------------------------------------------------------------


@pytest.mark.parametrize("changes, field", [
    ({"amount": 0}, "amount"), ({"amount": -1}, "amount"), ({"amount": 1.005}, "amount"),
    ({"amount": 1000000}, "amount"), ({"amount": "5"}, "amount"), ({"amount": 10.5, "currency": "jpy"}, "amount"),
    ({"amount": 1.234, "currency": "kwd"}, "amount"), ({"currency": "dollar"}, "currency"), ({"currency": "zzz"}, "currency"), ({"currency": ""}, "currency"),
    ({"type": "recurring"}, "type"), ({"customer_email": "ada"}, "customer_email"), ({"mode": "card"}, "mode"),
    ({"capture_method": "later"}, "capture_method"), ({"metadata": {"payment_id": "7"}}, "metadata.payment_id"),
    ({"metadata": {"a": {"b": 1}}}, "metadata.a"), ({"metadata": {"a[b]": "c"}}, "metadata.a[b]"),
    ({"metadata": {"a": "x" * 501}}, "metadata.a"), ({"metadata": {f"k{i}": "v" for i in range(41)}}, "metadata"),
    ({"save_payment_method": True, "customer_email": None}, "customer_email"), ({"success_url": "app"}, "success_url"),
])
def test_bad_values(shared_shop, processor, changes, field):
    refused = pay(shared_shop, expect=400, **changes).json()
    assert refused["code"] == "validation_failed" and refused["errors"][0]["field"] == field, refused
    assert shared_shop.requests("POST", "/v1/checkout/sessions") == []


def test_zero_decimals(shop):
    assert pay(shop, amount=1500, currency="JPY").json()["amount_minor"] == 1500
    assert pay(shop, amount=1.23, currency="kwd").json()["amount_minor"] == 1230


def test_what_the_processor_refuses(shop, processor):
    refused = pay(shop, amount=0.01, expect=400).json()
    assert refused["errors"][0]["field"] == "amount" and refused["errors"][0]["code"] == "amount_too_small"
    failed = shop.admin.get(f"{PAYMENTS}/{refused['payment_id']}", expect=200).json()
    assert failed["status"] == "failed" and failed["failure_code"] == "amount_too_small"


def test_not_configured(project):
    refused = project.admin.post(PAYMENTS, ONE_OFF, expect=409).json()
    assert refused["code"] == "payments_not_configured"


def test_account_not_ready(make_shop, project):
    shop = make_shop(project, ready=False)
    shop.connect()
    refused = await_status(lambda: pay(shop, expect=None), 409).json()
    assert refused["code"] in ("account_not_ready", "payments_not_configured")
    assert shop.objects("checkout.session") == []


def test_unknown_subscriber(shop):
    assert pay(shop, subscriber_id=424242, expect=404).json()["code"] == "not_found"


def test_subscriber(shop):
    user = shop.project.user()
    made = pay(shop, subscriber_id=user.user["id"], customer_email=None, mode="intent").json()
    assert made["subscriber_id"] == user.user["id"]
    pay(shop, subscriber_id=user.user["id"], customer_email=None, mode="intent")
    customers = shop.objects("customer")
    assert len(customers) == 1 and customers[0]["email"] == user.user["email"]


def test_customer_that_is_gone(shop, db):
    pay(shop, save_payment_method=True)
    execute(db, f"update {shop.project.schema(db)}.payment_customers set provider_id = 'cus_gone'")
    pay(shop, save_payment_method=True, expect=400)
    assert pay(shop, save_payment_method=True).json()["checkout_url"]


# --- outages ---------------------------------------------------------------------------------------


def test_processor_is_down(shop):
    shop.fault("status", status=503, path="/v1/payment_intents", times=9)
    answer = pay(shop, mode="intent", expect=503)
    refused = answer.json()
    assert refused["code"] == "dependency_unavailable"
    assert answer.headers["Location"].endswith(f"/payments/{refused['payment_id']}")
    open_one = shop.admin.get(f"{PAYMENTS}/{refused['payment_id']}", expect=200).json()
    assert open_one["status"] == "requires_payment_method" and open_one["reference"] is None


def test_too_many_requests_leave_nothing(shop):
    before = shop.admin.get(PAYMENTS, expect=200).json()["total_items"]
    shop.fault("status", status=429, path="/v1/payment_intents", times=9)
    refused = pay(shop, mode="intent", expect=503).json()
    assert refused["code"] == "dependency_unavailable" and "payment_id" not in refused
    assert shop.admin.get(PAYMENTS, expect=200).json()["total_items"] == before


def test_refused_credentials(shop):
    shop.fault("status", status=401, path="/v1/payment_intents", times=1)
    assert pay(shop, mode="intent", expect=502).json()["code"] == "provider_error"
    assert shop.admin.get(PAYMENTS, expect=200).json()["total_items"] == 0


@pytest.mark.parametrize("kind", ["timeout", "reset", "garbage"])
def test_lost_answer_is_asked_for_again(shop, processor, kind):
    """The processor acted, but its answer was lost: the gateway repeats the call with the same idempotency key and receives the answer."""
    method = saved(shop)
    shop.fault(kind, path="/v1/payment_intents", seconds=5)
    assert charge(shop, method).json()["status"] == "succeeded"
    assert len(shop.charges()) == 1
    processor.assert_never_charged_twice(shop.account)


def test_status_when_the_processor_is_away(shop):
    made = pay(shop, mode="intent").json()
    shop.fault("status", status=500, path="/v1/payment_intents/*", times=9)
    assert intent(shop, made["id"])["status"] == "requires_payment_method"


@pytest.mark.timed
def test_status_does_not_wait_for_the_processor(shop, start_gateway):
    """The gateway soon answers with the stored status of a payment, even if a call to the processor may take longer than the client waits."""
    made = pay(shop, mode="intent").json()
    patient = start_gateway("patient", WORKERS=1, PROCESSOR_TIMEOUT_MS=80000)
    client = Client(f"{patient.url}/org/{shop.project.id}", token=shop.admin.token)
    shop.fault("timeout", path="/v1/payment_intents/*", times=9, seconds=600)
    with at_most(20, "the answer"):
        found = client.get(f"{PAYMENTS}/payment-intent/{made['id']}", expect=200).json()
    assert found["status"] == "requires_payment_method"


# --- lists and rights ------------------------------------------------------------------------------


def test_lists(shop):
    method = saved(shop)
    user = shop.project.user()
    first = pay(shop, mode="intent", subscriber_id=user.user["id"], customer_email=None).json()
    second = charge(shop, method).json()
    third = pay(shop, amount=7).json()

    def ids(path=PAYMENTS, **params):
        return [each["id"] for each in shop.admin.get(path, params=params, expect=200).json()["items"]]

    assert ids() == [third["id"], second["id"], first["id"]]
    assert ids(order="asc") == [first["id"], second["id"], third["id"]]
    assert ids(status="succeeded") == [second["id"]] == ids(f"{PAYMENTS}/status/succeeded")
    assert ids(type="saved_method") == [second["id"]]
    assert ids(subscriber_id=user.user["id"]) == [first["id"]]
    assert ids(provider="iap_store") == [] == ids(subscription_id=1)
    assert ids(created_from=second["created_at"], created_to=third["created_at"]) == [second["id"]]
    page = shop.admin.get(PAYMENTS, params={"cursor": "start", "limit": 2}, expect=200).json()
    rest = shop.admin.get(PAYMENTS, params={"cursor": page["next_cursor"], "limit": 2}, expect=200).json()
    assert [each["id"] for each in page["items"] + rest["items"]] == [third["id"], second["id"], first["id"]]
    assert rest["next_cursor"] is None
    assert shop.admin.get(f"{PAYMENTS}/status/lost", expect=400).json()["errors"][0]["field"] == "status"
    for wrong in ({"status": "lost"}, {"created_from": "yesterday"}, {"type": "x"}, {"subscriber_id": "x"}, {"what": 1}):
        shop.admin.get(PAYMENTS, params=wrong, expect=400)


def test_rights(shop):
    made = pay(shop, mode="intent").json()
    reader = shop.project.user_with("svc_payments:read")
    reader.get(f"{PAYMENTS}/{made['id']}", expect=200)
    reader.get(f"{PAYMENTS}/payment-intent/{made['id']}", expect=200)
    reader.post(PAYMENTS, ONE_OFF, expect=403)
    reader.post(f"{PAYMENTS}/payment-intent/{made['id']}/confirm", {}, expect=403)
    writer = shop.project.user_with("svc_payments:create")
    writer.post(PAYMENTS, ONE_OFF, expect=201)
    writer.get(PAYMENTS, expect=403)
    writer.post(f"{PAYMENTS}/{made['id']}/refund", {}, expect=403)
    key = shop.project.key(["svc_payments:update"])
    key.post(f"{PAYMENTS}/payment-intent/{made['id']}/cancel", expect=200)


def test_other_projects(shop, make_shop, operator, gateway, recorder):
    from groundwork.project import Project

    other = make_shop(Project(gateway, operator, recorder))
    made = pay(shop, mode="intent").json()
    other.admin.get(f"{PAYMENTS}/{made['id'] + 1000}", expect=404)
    other.admin.get(f"{PAYMENTS}/payment-intent/{made['reference']}", expect=404)
    other.admin.post(f"{PAYMENTS}/payment-intent/{made['reference']}/cancel", expect=404)
    shop.admin.get(f"{PAYMENTS}/payment-intent/pi_x", expect=404)
    shop.admin.get(f"{PAYMENTS}/payment-intent/seti_1", expect=404)
