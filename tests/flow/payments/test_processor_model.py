"""The test processor itself: it agrees with the processor's own client library, and produces each fault that a test orders."""
import hashlib
import hmac
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time

import pytest
import requests

from groundwork.deadline import until
from groundwork.processor import SCHEMAS, Processor
from groundwork.servers import ROOT
from groundwork.stripe_client import StripeError

sys.path.insert(0, str(ROOT / "tests"))
from processor.errors import ApiError  # noqa: E402
from processor.forms import decode  # noqa: E402
from standin import Remote  # noqa: E402

SECRET = "whsec_of_the_tests"


@pytest.fixture
def own_processor():
    """A processor for this test alone."""
    processor = Processor(schemas=SCHEMAS if SCHEMAS.is_dir() else None, backoff=0.02)
    yield processor
    processor.close()


@pytest.fixture
def platform(own_processor):
    made = own_processor.new_platform()
    return {**made, "connected": own_processor.new_account(made["key"])}


@pytest.fixture
def client(stripe_client, own_processor, platform):
    """The package stripe, which calls the test processor for the connected account."""
    return stripe_client.configure(own_processor.url, platform["key"], platform["connected"])


class Api:
    """Sends requests without the package."""

    def __init__(self, processor, platform, account=None):
        self.processor, self.session = processor, requests.Session()
        self.session.headers.update({"Authorization": f"Bearer {platform['key']}", "Stripe-Version": "2026-10-28.endive"})
        if account:
            self.session.headers["Stripe-Account"] = account

    def call(self, method, path, form=None, key=None, timeout=60, **headers):
        if key:
            headers["Idempotency-Key"] = key
        where = {"data": form} if method == "POST" else {"params": form}
        return self.session.request(method, self.processor.url + path, headers=headers, timeout=timeout, **where)

    def post(self, path, form=None, key=None, expect=200, **options):
        answer = self.call("POST", path, form, key, **options)
        assert answer.status_code == expect, answer.text
        return answer.json()

    def get(self, path, form=None, expect=200):
        answer = self.call("GET", path, form)
        assert answer.status_code == expect, answer.text
        return answer.json()


@pytest.fixture
def api(own_processor, platform):
    return Api(own_processor, platform, platform["connected"])


class Hooks:
    """Receives events and answers with .status."""

    def __init__(self):
        hooks = self
        self.status, self.got = 200, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                hooks.got.append((json.loads(body), self.headers["Stripe-Signature"], body, hooks.status))
                self.send_response(hooks.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def types(self):
        return [event["type"] for event, _, _, status in self.got if status == 200]

    def of(self, type_):
        return [event["data"]["object"] for event, _, _, status in self.got if event["type"] == type_ and status == 200]


@pytest.fixture
def hooks():
    own = Hooks()
    yield own
    own.server.shutdown()
    own.server.server_close()


def plan(api, amount=900, interval="month", **more):
    product = api.post("/v1/products", {"name": "Pro"})
    return api.post("/v1/prices", {"product": product["id"], "currency": "usd", "unit_amount": amount,
                                   "recurring[interval]": interval, **more})


def subscription_session(api, price, **more):
    return api.post("/v1/checkout/sessions", {
        "mode": "subscription", "line_items[0][price]": price["id"], "line_items[0][quantity]": 1,
        "success_url": "https://shop.example/done?s={CHECKOUT_SESSION_ID}", "cancel_url": "https://shop.example/back",
        "subscription_data[metadata][subscription_id]": "7", **more})


# --- agreement with the package ------------------------------------------------------------------------------


def test_the_client_pays_captures_and_refunds(client, own_processor, platform):
    customer = client.call("customers.create", {"email": "ann@example.org", "name": "Ann", "metadata": {"a b": "1 & 2"}})
    assert client.call("customers.list", {"email": "ann@example.org", "limit": 1})["data"][0]["id"] == customer["id"]
    assert customer["metadata"] == {"a b": "1 & 2"}
    intent = client.call("paymentIntents.create", {
        "amount": 2500, "currency": "usd", "customer": customer["id"], "capture_method": "manual",
        "application_fee_amount": 100, "automatic_payment_methods": {"enabled": True}})
    assert intent["status"] == "requires_payment_method" and intent["client_secret"].startswith(intent["id"])
    intent = client.call("paymentIntents.confirm", intent["id"], {"payment_method": "pm_card_visa",
                                                                  "return_url": "https://shop.example"})
    assert (intent["status"], intent["amount_capturable"]) == ("requires_capture", 2500)
    intent = client.call("paymentIntents.capture", intent["id"],
                         {"amount_to_capture": 2000, "expand": ["latest_charge.balance_transaction"]})
    settled = intent["latest_charge"]["balance_transaction"]
    assert (intent["status"], intent["amount_received"], settled["fee"]) == ("succeeded", 2000, 88 + 100)
    assert [each["type"] for each in settled["fee_details"]] == ["stripe_fee", "application_fee"]
    refund = client.call("refunds.create", {"payment_intent": intent["id"], "amount": 500})
    assert refund["status"] == "succeeded"
    assert client.call("charges.retrieve", intent["latest_charge"]["id"])["amount_refunded"] == 500
    with pytest.raises(StripeError) as error:
        client.call("refunds.create", {"payment_intent": intent["id"], "amount": 1501})
    assert error.value.class_ == "StripeInvalidRequestError"
    assert len(own_processor.charges(platform["connected"])) == 1 and not own_processor.violations()


def test_the_client_reads_lists_page_by_page(client):
    made = [client.call("customers.create", {"email": f"c{n}@example.org"})["id"] for n in range(5)]
    first = client.call("customers.list", {"limit": 2})
    assert [each["id"] for each in first["data"]] == made[:2:-1] and first["has_more"] is True
    rest = client.call("customers.list", {"limit": 10, "starting_after": first["data"][-1]["id"]})
    assert [each["id"] for each in rest["data"]] == made[2::-1] and rest["has_more"] is False
    with pytest.raises(StripeError) as error:
        client.call("customers.list", {"limit": 101})
    assert error.value.param == "limit"


def test_the_client_sells_subscriptions(client, own_processor):
    product = client.call("products.create", {"name": "Pro", "metadata": {"plan_id": "3"}})
    price = client.call("prices.create", {"product": product["id"], "currency": "usd", "unit_amount": 900,
                                          "recurring": {"interval": "month"}, "lookup_key": "pro"})
    session = client.call("checkout.sessions.create", {
        "mode": "subscription", "line_items": [{"price": price["id"], "quantity": 1}], "customer_email": "bo@example.org",
        "success_url": "https://shop.example/{CHECKOUT_SESSION_ID}", "client_reference_id": "7",
        "subscription_data": {"trial_period_days": 14, "application_fee_percent": 2.5, "metadata": {"subscription_id": "7"}}})
    assert session["url"].startswith(own_processor.url) and session["status"] == "open"
    own_processor.complete(session["id"])
    session = client.call("checkout.sessions.retrieve", session["id"], {"expand": ["subscription"]})
    subscription = session["subscription"]
    assert (session["status"], session["payment_status"]) == ("complete", "no_payment_required")
    assert (subscription["status"], subscription["metadata"]) == ("trialing", {"subscription_id": "7"})
    assert subscription["trial_end"] - subscription["trial_start"] == 14 * 86400
    own_processor.end_trial(subscription["id"])
    subscription = client.call("subscriptions.retrieve", subscription["id"], {"expand": ["latest_invoice.payments"]})
    item, paid = subscription["items"]["data"][0], subscription["latest_invoice"]["payments"]["data"][0]
    assert subscription["status"] == "active" and paid["amount_paid"] == 900
    assert item["current_period_end"] > item["current_period_start"] >= subscription["start_date"]
    invoice = client.call("invoices.retrieve", paid["invoice"])
    assert invoice["parent"]["subscription_details"]["subscription"] == subscription["id"]
    found = client.call("invoicePayments.list", {"payment": paid["payment"]})
    assert [each["id"] for each in found["data"]] == [paid["id"]]
    subscription = client.call("subscriptions.update", subscription["id"], {"cancel_at_period_end": True})
    assert subscription["cancel_at"] == item["current_period_end"]
    assert client.call("subscriptions.cancel", subscription["id"])["status"] == "canceled"
    with pytest.raises(StripeError) as error:
        client.call("subscriptions.cancel", subscription["id"])
    assert error.value.status == 404
    client.call("prices.update", price["id"], {"active": False})
    with pytest.raises(StripeError) as error:
        client.call("products.del", product["id"])
    assert "prices" in str(error.value) and not own_processor.violations()


def test_the_client_saves_cards(client, own_processor):
    customer = client.call("customers.create", {"email": "cy@example.org"})
    setup = client.call("setupIntents.create", {"customer": customer["id"], "usage": "off_session"})
    own_processor.setup(setup["id"])
    methods = client.call("customers.listPaymentMethods", customer["id"], {"limit": 100})["data"]
    assert [each["card"]["last4"] for each in methods] == ["4242"]
    charged = client.call("paymentIntents.create", {
        "amount": 700, "currency": "eur", "customer": customer["id"], "payment_method": methods[0]["id"],
        "off_session": True, "confirm": True}, {"idempotencyKey": "one"})
    assert charged["status"] == "succeeded"
    assert client.call("paymentMethods.detach", methods[0]["id"])["customer"] is None
    with pytest.raises(StripeError) as error:
        client.call("paymentIntents.create", {"amount": 700, "currency": "eur", "customer": customer["id"],
                                              "payment_method": methods[0]["id"], "off_session": True, "confirm": True})
    assert error.value.class_ == "StripeInvalidRequestError"
    failed = client.call("setupIntents.create", {"customer": customer["id"]})
    assert own_processor.setup(failed["id"], "4000000000000002")["last_setup_error"]["code"] == "card_declined"


@pytest.mark.parametrize("call, error", [
    (("paymentIntents.create", {"amount": 700, "currency": "usd", "payment_method": "pm_card_chargeDeclined", "confirm": True}),
     ("StripeCardError", 402, "card_declined", "generic_decline")),
    (("paymentIntents.create", {"amount": 700, "currency": "usd", "confirm": True,
                                "payment_method": "pm_card_chargeDeclinedInsufficientFunds"}),
     ("StripeCardError", 402, "card_declined", "insufficient_funds")),
    (("paymentIntents.create", {"amount": 700, "currency": "usd", "payment_method": "pm_card_authenticationRequired",
                                "confirm": True, "off_session": True}),
     ("StripeCardError", 402, "authentication_required", "authentication_required")),
    (("paymentIntents.create", {"amount": 10, "currency": "usd"}), ("StripeInvalidRequestError", 400, "amount_too_small", None)),
    (("paymentIntents.create", {"amount": 100000000, "currency": "usd"}),
     ("StripeInvalidRequestError", 400, "amount_too_large", None)),
    (("paymentIntents.create", {"amount": 700, "currency": "usd", "customer": "cus_none"}),
     ("StripeInvalidRequestError", 400, "resource_missing", None)),
    (("paymentIntents.retrieve", "pi_none"), ("StripeInvalidRequestError", 404, "resource_missing", None)),
    (("paymentIntents.capture", "pi_none"), ("StripeInvalidRequestError", 404, "resource_missing", None)),
])
def test_errors_are_the_clients_classes(client, call, error):
    with pytest.raises(StripeError) as raised:
        client.call(*call)
    told = raised.value
    assert (told.class_, told.status, told.code, told.decline_code) == error and told.request_id.startswith("req_")
    if told.status == 402:
        assert client.call("paymentIntents.retrieve", told.intent)["status"] == "requires_payment_method"


@pytest.mark.parametrize("status, class_", [
    (429, "StripeRateLimitError"), (401, "StripeAuthenticationError"), (403, "StripePermissionError"),
    (500, "StripeAPIError"), (503, "StripeAPIError")])
def test_faults_are_the_clients_classes(client, own_processor, status, class_):
    own_processor.fault("status", status=status, path="/v1/customers", method="POST")
    with pytest.raises(StripeError) as error:
        client.call("customers.create", {"email": "x@example.org"})
    assert (error.value.class_, error.value.status) == (class_, status)
    assert client.call("customers.list")["data"] == []
    assert client.call("customers.create", {"email": "x@example.org"})["id"]


def test_the_client_repeats_what_was_lost(client, own_processor, platform):
    own_processor.fault("reset", path="/v1/payment_intents", times=2)
    intent = client.call("paymentIntents.create", {"amount": 700, "currency": "usd", "payment_method": "pm_card_visa",
                                                   "confirm": True}, retries=3)
    asked = own_processor.requests("POST", "/v1/payment_intents")
    assert intent["status"] == "succeeded" and len(asked) == 3 and len({each["key"] for each in asked}) == 1
    assert [each["replayed"] for each in asked] == [False, True, True]
    assert len(own_processor.charges(platform["connected"])) == 1 and own_processor.assert_never_charged_twice()


@pytest.mark.parametrize("generation", ["acacia", "basil", "dahlia", "endive"])
def test_the_client_verifies_what_is_delivered(client, own_processor, platform, api, hooks, generation):
    own_processor.add_endpoint(hooks.url, SECRET, platform["key"], connect=True, api=generation, events=["*"])
    api.post("/v1/customers", {"email": "zoë@example.org"})
    own_processor.drain()
    event, header, payload, _ = hooks.got[0]
    verified = client.verify(payload, header, SECRET)
    assert verified["id"] == event["id"] and verified["account"] == platform["connected"]
    assert verified["data"]["object"]["email"] == "zoë@example.org" and generation in verified["api_version"]
    for bad in ((payload + " ", header, SECRET), (payload, header, "whsec_other"), (payload, header.replace("v1=", "v0="), SECRET)):
        with pytest.raises(StripeError) as error:
            client.verify(*bad)
        assert error.value.class_ == "StripeSignatureVerificationError"


def test_signatures_are_made_alike(stripe_client, own_processor):
    for payload in ('{"id":"evt_1","object":"event"}', '{"name":"Zoë – 日本"}', ""):
        ours, theirs = own_processor.sign(payload, SECRET, 1700000000), stripe_client.sign(payload, SECRET, 1700000000)
        assert ours == theirs
    both = own_processor.sign("{}", [SECRET, "whsec_new"])
    assert both.count("v1=") == 2
    assert stripe_client.verify("{}", both, SECRET) == stripe_client.verify("{}", both, "whsec_new") == {}


# --- requests ------------------------------------------------------------------------------------------------


def test_forms_nest():
    text = "a[b][0]=1&a[b][1]=x%20y&a[c][d]=&items[0][price]=p&items[1][price]=q&m[0]=z&on=true"
    assert decode(text) == {"a": {"b": ["1", "x y"], "c": {"d": ""}}, "items": [{"price": "p"}, {"price": "q"}],
                            "m": ["z"], "on": "true"}
    for bad in ("a=1&a=2", "a=1&a[b]=2", "[a]=1", "a[=1", "a]b=1"):
        with pytest.raises(ApiError):
            decode(bad)


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the schemas of the operations are not here")
@pytest.mark.parametrize("path, form, where", [
    ("/v1/payment_intents", {"amount": 700, "currency": "usd", "colour": "red"}, "colour"),
    ("/v1/payment_intents", {"amount": "7.5", "currency": "usd"}, "amount"),
    ("/v1/payment_intents", {"amount": 700, "currency": "usd", "payment_method_types[0]": "card"}, "payment_method_types"),
    ("/v1/payment_intents", {"amount": 700, "currency": "usd", "automatic_payment_methods[enabled]": "yes"},
     "automatic_payment_methods[enabled]"),
    ("/v1/checkout/sessions", {"mode": "gift"}, "mode"),
    ("/v1/checkout/sessions", {"line_items[0][prize]": "x", "line_items[0][quantity]": 1}, "line_items[0][prize]"),
    ("/v1/account_links", {"type": "account_onboarding"}, "account"),
])
def test_a_request_must_suit_every_generation(own_processor, api, path, form, where):
    error = api.post(path, form, expect=400)["error"]
    assert error["type"] == "invalid_request_error" and error["param"] == where
    assert where in {each["where"] for each in own_processor.violations()}


def test_objects_live_in_their_account(own_processor, platform, api):
    other = Api(own_processor, platform, own_processor.new_account(platform["key"]))
    above, stranger = Api(own_processor, platform), Api(own_processor, own_processor.new_platform(), platform["connected"])
    customer = api.post("/v1/customers", {"email": "ann@example.org"})
    assert api.get(f"/v1/customers/{customer['id']}")["email"] == "ann@example.org"
    for elsewhere in (other, above):
        assert elsewhere.get(f"/v1/customers/{customer['id']}", expect=404)["error"]["code"] == "resource_missing"
        assert elsewhere.get("/v1/customers")["data"] == []
    assert stranger.get(f"/v1/customers/{customer['id']}", expect=403)["error"]["code"] == "account_invalid"
    nobody = Api(own_processor, {"key": "sk_test_unknown"})
    nobody.get("/v1/customers", expect=401)
    above.post("/v1/payment_intents", {"amount": 700, "currency": "usd", "application_fee_amount": 10}, expect=400)


def test_an_account_takes_money_once_it_is_onboarded(own_processor, platform, hooks):
    above = Api(own_processor, platform)
    own_processor.add_endpoint(hooks.url, SECRET, platform["key"], connect=True)
    account = above.post("/v1/accounts", {"country": "US", "email": "shop@example.org", "business_type": "company",
                                          "capabilities[card_payments][requested]": "true"})
    assert account["charges_enabled"] is False and account["requirements"]["currently_due"]
    inside = Api(own_processor, platform, account["id"])
    inside.post("/v1/payment_intents", {"amount": 700, "currency": "usd"}, expect=403)
    link = above.post("/v1/account_links", {"account": account["id"], "type": "account_onboarding",
                                            "refresh_url": "https://shop.example/again", "return_url": "https://shop.example/ok"})
    assert requests.get(link["url"], timeout=60).status_code == 200
    again = requests.get(link["url"], timeout=60, allow_redirects=False)
    assert (again.status_code, again.headers["Location"]) == (303, "https://shop.example/again")
    done = requests.post(f"{link['url']}/complete", timeout=60, allow_redirects=False)
    assert (done.status_code, done.headers["Location"]) == (303, "https://shop.example/ok")
    assert above.get(f"/v1/accounts/{account['id']}")["charges_enabled"] is True
    own_processor.drain()
    event = hooks.got[-1][0]
    assert (event["type"], event["account"]) == ("account.updated", account["id"])
    assert event["data"]["previous_attributes"]["charges_enabled"] is False
    inside.post("/v1/payment_intents", {"amount": 700, "currency": "usd"})


# --- idempotency ---------------------------------------------------------------------------------------------

CHARGE = {"amount": 700, "currency": "usd", "payment_method": "pm_card_visa", "confirm": "true"}


def test_a_key_has_one_result_for_a_day(own_processor, api):
    first = api.call("POST", "/v1/payment_intents", CHARGE, "k")
    second = api.call("POST", "/v1/payment_intents", CHARGE, "k")
    assert first.json() == second.json() and "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true" and len(own_processor.charges()) == 1
    other = api.post("/v1/payment_intents", {**CHARGE, "amount": 800}, "k", expect=400)["error"]
    assert other["type"] == "idempotency_error"
    assert api.post("/v1/customers", {}, "k", expect=400)["error"]["type"] == "idempotency_error"
    own_processor.advance(86401)
    assert api.post("/v1/payment_intents", CHARGE, "k")["id"] != first.json()["id"]


def test_a_declined_card_is_replayed_a_bad_request_is_not(own_processor, api):
    form = {**CHARGE, "payment_method": "pm_card_chargeDeclined"}
    first, second = (api.post("/v1/payment_intents", form, "k", expect=402)["error"] for _ in range(2))
    assert first["payment_intent"]["id"] == second["payment_intent"]["id"]
    api.post("/v1/payment_intents", {**CHARGE, "amount": 1}, "k2", expect=400)
    assert api.post("/v1/payment_intents", CHARGE, "k2")["status"] == "succeeded"


def test_a_key_in_use_is_a_conflict(own_processor, api, platform):
    own_processor.fault("delay", seconds=60, path="/v1/payment_intents")
    slow = threading.Thread(target=lambda: Api(own_processor, platform, platform["connected"]).post("/v1/payment_intents", CHARGE, "k"))
    slow.start()
    until(lambda: own_processor.store.results, "it is under way")
    assert api.post("/v1/payment_intents", CHARGE, "k", expect=409)["error"]["code"] == "idempotency_key_in_use"
    own_processor.clear_faults()
    slow.join()
    assert api.post("/v1/payment_intents", CHARGE, "k")["status"] == "succeeded" and len(own_processor.charges()) == 1


def test_a_500_stays_and_a_503_does_not(own_processor, api):
    own_processor.fault("status", status=500, path="/v1/payment_intents")
    answers = [api.call("POST", "/v1/payment_intents", CHARGE, "a") for _ in range(2)]
    assert [each.status_code for each in answers] == [500, 500]
    assert [each.headers.get("Idempotent-Replayed") for each in answers] == [None, "true"] and own_processor.charges() == []
    own_processor.fault("status", status=503, path="/v1/payment_intents")
    answers = [api.call("POST", "/v1/payment_intents", CHARGE, "b") for _ in range(2)]
    assert [each.status_code for each in answers] == [503, 200] and len(own_processor.charges()) == 1


# --- faults --------------------------------------------------------------------------------------------------


def test_faults_after_the_work(own_processor, api):
    for number, (kind, error) in enumerate((("reset", requests.ConnectionError), ("timeout", requests.Timeout)), 1):
        own_processor.fault(kind, path="/v1/payment_intents")
        with pytest.raises(error):
            api.call("POST", "/v1/payment_intents", CHARGE, kind, timeout=60 if kind == "reset" else 0.3)
        until(lambda number=number: len(own_processor.charges()) == number, "the work is done")
        again = api.call("POST", "/v1/payment_intents", CHARGE, kind)
        assert again.headers["Idempotent-Replayed"] == "true" and again.json()["status"] == "succeeded"
    own_processor.fault("garbage", path="/v1/payment_intents")
    with pytest.raises(ValueError):
        api.call("POST", "/v1/payment_intents", CHARGE, "g").json()
    own_processor.fault("status", status=502, act=True, path="/v1/payment_intents", header="true")
    answer = api.call("POST", "/v1/payment_intents", CHARGE, "s")
    assert (answer.status_code, answer.headers["Stripe-Should-Retry"]) == (502, "true")
    assert api.post("/v1/payment_intents", CHARGE, "s")["status"] == "succeeded"
    assert len(own_processor.charges()) == 4 and own_processor.assert_never_charged_twice() and own_processor.faults_left() == []


def test_faults_before_the_work(own_processor, api):
    own_processor.fault("reset", act=False, path="/v1/payment_intents")
    with pytest.raises(requests.ConnectionError):
        api.call("POST", "/v1/payment_intents", CHARGE, "k")
    assert own_processor.charges() == []
    assert "Idempotent-Replayed" not in api.call("POST", "/v1/payment_intents", CHARGE, "k").headers


def test_a_second_charge_is_found(own_processor, api):
    for key in ("a", "b"):
        api.post("/v1/payment_intents", {**CHARGE, "metadata[payment_id]": "12", "metadata[project_id]": "shop"}, key)
    with pytest.raises(AssertionError, match="shop/12"):
        own_processor.assert_never_charged_twice()


# --- pages ---------------------------------------------------------------------------------------------------


def test_a_checkout_page_is_completed_as_a_person_does(own_processor, api):
    session = subscription_session(api, plan(api))
    page = requests.get(session["url"], timeout=60)
    assert page.status_code == 200 and "9.00 USD" in page.text and "Subscribe to Pro" in page.text
    refused = requests.post(f"{session['url']}/complete", {"number": "4000 0000 0000 0002"}, timeout=60)
    assert refused.status_code == 402 and "declined" in refused.text
    assert api.get(f"/v1/checkout/sessions/{session['id']}")["status"] == "open"
    back = requests.post(f"{session['url']}/abandon", timeout=60, allow_redirects=False)
    assert back.headers["Location"] == "https://shop.example/back"
    paid = requests.post(f"{session['url']}/complete", {"email": "p@example.org"}, timeout=60, allow_redirects=False)
    assert (paid.status_code, paid.headers["Location"]) == (303, f"https://shop.example/done?s={session['id']}")
    session = api.get(f"/v1/checkout/sessions/{session['id']}")
    assert (session["status"], session["payment_status"], session["url"]) == ("complete", "paid", None)
    assert api.get(f"/v1/customers/{session['customer']}")["email"] == "p@example.org"
    assert requests.get(own_processor.url + "/checkout/" + session["id"], timeout=60).status_code == 410
    assert requests.post(own_processor.url + f"/checkout/{session['id']}/complete", timeout=60).status_code == 400


def test_an_expired_checkout(own_processor, api, platform, hooks):
    own_processor.add_endpoint(hooks.url, SECRET, platform["key"], connect=True)
    first, second = subscription_session(api, plan(api)), subscription_session(api, plan(api))
    assert requests.post(f"{first['url']}/expire", timeout=60).status_code == 200
    own_processor.advance(86401)
    own_processor.drain()
    assert [each["id"] for each in hooks.of("checkout.session.expired")] == [first["id"], second["id"]]
    api.post(f"/v1/checkout/sessions/{first['id']}/expire", expect=400)
    with pytest.raises(ApiError):
        own_processor.complete(first["id"])


def test_authentication_is_asked_on_session(own_processor, api, platform, hooks):
    own_processor.add_endpoint(hooks.url, SECRET, platform["key"], connect=True)
    form = {**CHARGE, "payment_method": "pm_card_authenticationRequired", "return_url": "https://shop.example/ok"}
    for ok, status, type_ in (("complete", "succeeded", "payment_intent.succeeded"),
                              ("fail", "requires_payment_method", "payment_intent.payment_failed")):
        intent = api.post("/v1/payment_intents", form)
        url = intent["next_action"]["redirect_to_url"]["url"]
        assert intent["status"] == "requires_action" and requests.get(url, timeout=60).status_code == 200
        answer = requests.post(f"{url}/{ok}", timeout=60, allow_redirects=False)
        assert answer.headers["Location"] == "https://shop.example/ok"
        assert api.get(f"/v1/payment_intents/{intent['id']}")["status"] == status
        own_processor.drain()
        assert hooks.types()[-1] == type_


# --- events --------------------------------------------------------------------------------------------------


def test_events_of_a_subscription(own_processor, api, platform, hooks):
    own_processor.add_endpoint(hooks.url, SECRET, platform["key"], connect=True)
    session = subscription_session(api, plan(api))
    own_processor.complete(session["id"])
    own_processor.drain()
    assert hooks.types() == ["payment_method.attached", "customer.subscription.created", "payment_intent.succeeded",
                             "invoice.paid", "invoice_payment.paid", "customer.subscription.updated",
                             "checkout.session.completed"]
    subscription = hooks.of("customer.subscription.updated")[0]
    assert hooks.of("customer.subscription.created")[0]["status"] == "incomplete" and subscription["status"] == "active"
    hooks.got.clear()
    assert own_processor.renew(subscription["id"])["status"] == "active"
    assert own_processor.fail_renewal(subscription["id"])["status"] == "past_due"
    assert own_processor.cancel(subscription["id"], status="unpaid")["status"] == "unpaid"
    assert own_processor.cancel(subscription["id"])["status"] == "canceled"
    own_processor.drain()
    assert hooks.types().count("invoice_payment.paid") == 1 and hooks.types()[-1] == "customer.subscription.deleted"
    assert [each["status"] for each in hooks.of("customer.subscription.updated")] == ["active", "active", "past_due", "unpaid"]
    assert own_processor.assert_never_charged_twice()


def test_the_clock_ends_trials_and_periods(own_processor, api):
    session = subscription_session(api, plan(api, interval="week"), **{"subscription_data[trial_period_days]": 3})
    subscription = own_processor.complete(session["id"])["subscription"]
    assert api.get(f"/v1/subscriptions/{subscription}")["status"] == "trialing"
    own_processor.advance(3 * 86400)
    assert api.get(f"/v1/subscriptions/{subscription}")["status"] == "active" and len(own_processor.charges()) == 1
    own_processor.advance(14 * 86400)
    assert len(own_processor.charges()) == 3
    api.post(f"/v1/subscriptions/{subscription}", {"cancel_at_period_end": "true"})
    own_processor.advance(7 * 86400)
    ended = api.get(f"/v1/subscriptions/{subscription}")
    assert (ended["status"], ended["cancel_at_period_end"], len(own_processor.charges())) == ("canceled", True, 3)


def test_generations_differ_where_the_real_ones_do(own_processor, api, platform, hooks):
    own_processor.add_endpoint(hooks.url, SECRET, platform["key"], connect=True, api="acacia", events=["*"])
    own_processor.complete(subscription_session(api, plan(api))["id"])
    own_processor.drain()
    subscription, invoice = hooks.of("customer.subscription.updated")[0], hooks.of("invoice.paid")[0]
    assert subscription["current_period_end"] > subscription["current_period_start"]
    assert "current_period_end" not in subscription["items"]["data"][0]
    assert (invoice["subscription"], invoice["paid"]) == (subscription["id"], True) and "parent" not in invoice
    assert invoice["payment_intent"] == hooks.of("payment_intent.succeeded")[0]["id"]
    assert hooks.of("payment_intent.succeeded")[0]["invoice"] == invoice["id"]
    assert "invoice_payment.paid" not in hooks.types() and hooks.got[0][0]["api_version"] == "2025-02-24.acacia"
    new = json.loads(own_processor.event_payload(own_processor.events("invoice.paid")[0]["id"], "dahlia"))["data"]["object"]
    assert new["parent"]["subscription_details"]["subscription"] == subscription["id"] and "subscription" not in new


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the fixtures are not here")
@pytest.mark.parametrize("generation, set_", [("acacia", "acacia (2025-02)"), ("dahlia", "dahlia (2026-07-29)")])
def test_objects_have_no_member_that_the_real_ones_lack(own_processor, api, generation, set_):
    real = json.loads((SCHEMAS / "processor-fixtures.json").read_text())["sets"][set_]
    session = own_processor.complete(subscription_session(api, plan(api))["id"])
    subscription = own_processor.get(session["subscription"], generation)
    intent = own_processor.objects("payment_intent")[0]
    shown = [own_processor.get(id_, generation) for id_ in (
        session["id"], subscription["id"], subscription["latest_invoice"], intent["id"], intent["latest_charge"],
        session["customer"], subscription["default_payment_method"], subscription["items"]["data"][0]["price"]["id"],
        subscription["items"]["data"][0]["price"]["product"], own_processor.objects("setup_intent")[0]["id"] if
        own_processor.objects("setup_intent") else intent["id"], api.session.headers["Stripe-Account"])]
    for each in shown:
        extra = set(each) - set(real[each["object"]]) - {"refunds", "plan", "livemode"}
        assert not extra, f"{each['object']} of {generation} has {extra}"


def test_delivery_is_repeated_until_it_is_taken(own_processor, api, platform, hooks):
    own_processor.add_endpoint(hooks.url, SECRET, platform["key"], connect=True, events=["*"])
    hooks.status = 500
    api.post("/v1/customers", {"email": "a@example.org"})
    until(lambda: len(hooks.got) > 1, "it is repeated")
    with pytest.raises(AssertionError, match="customer.created"):
        own_processor.drain(timeout=0)
    hooks.status = 200
    own_processor.drain()
    assert len(hooks.got) > 2 and len({event["id"] for event, *_ in hooks.got}) == 1 and hooks.types() == ["customer.created"]
    tried = own_processor.attempts()
    assert [each["try"] for each in tried] == list(range(1, len(tried) + 1)) and tried[-1]["status"] == 200
    for event, header, body, _ in hooks.got:
        at = header.split(",")[0].removeprefix("t=")
        digest = hmac.new(SECRET.encode(), f"{at}.{body}".encode(), hashlib.sha256).hexdigest()
        assert header == f"t={at},v1={digest}" and abs(int(at) - time.time()) < 60 and event["object"] == "event"


def test_delivery_behaves_as_badly_as_it_is_set(own_processor, api, platform, hooks):
    endpoint = own_processor.add_endpoint(hooks.url, SECRET, platform["key"], connect=True, events=["*"], duplicate=2)
    api.post("/v1/customers", {"email": "a@example.org"})
    own_processor.drain()
    assert hooks.types() == ["customer.created"] * 3
    own_processor.update_endpoint(endpoint, duplicate=0, drop=True)
    api.post("/v1/products", {"name": "Dropped"})
    own_processor.drain()
    assert len(hooks.got) == 3
    own_processor.update_endpoint(endpoint, drop=False)
    assert own_processor.resend() == 1
    own_processor.drain()
    assert hooks.types()[-1] == "product.created"
    own_processor.pause()
    for n in range(12):
        api.post("/v1/products", {"name": f"P{n}"})
    time.sleep(0.1)
    assert len(hooks.got) == 4
    own_processor.update_endpoint(endpoint, shuffle=True)
    own_processor.flush()
    own_processor.drain()
    names = [each["name"] for each in hooks.of("product.created")[1:]]
    assert sorted(names) == sorted(f"P{n}" for n in range(12)) and names != [f"P{n}" for n in range(12)]
    own_processor.update_endpoint(endpoint, shuffle=False, delay=0.3)
    begin = time.monotonic()
    api.post("/v1/products", {"name": "Late"})
    own_processor.drain()
    assert time.monotonic() - begin >= 0.3
    assert own_processor.resend(event=own_processor.events("customer.created")[0]["id"]) == 1
    own_processor.drain()
    assert hooks.types()[-1] == "customer.created"


# --- without the daemons -------------------------------------------------------------------------------------


def start(state, port=0):
    process = subprocess.Popen(["/usr/bin/python3", "-S", str(ROOT / "tests/processor"), "--port", str(port), "--state",
                                str(state), "--key", "sk_test_kept"], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert line.startswith("listening on "), line
    return process, line.split()[-1]


def test_a_processor_of_its_own_keeps_its_state(tmp_path):
    state = tmp_path / "processor.json"
    process, url = start(state)
    remote = Remote(url)
    account = remote.new_account(key="sk_test_kept")
    headers = {"Authorization": "Bearer sk_test_kept", "Stripe-Account": account, "Idempotency-Key": "k"}
    first = requests.post(f"{url}/v1/payment_intents", CHARGE, headers=headers, timeout=60).json()
    remote.fault(kind="status", status=503, path="/v1/customers")
    assert requests.get(f"{url}/v1/customers", headers=headers, timeout=60).status_code == 503
    with pytest.raises(AssertionError, match="no_such_method"):
        remote.no_such_method()
    process.terminate()
    assert process.wait(60) == 0
    process, url = start(state)
    again = requests.post(f"{url}/v1/payment_intents", CHARGE, headers=headers, timeout=60)
    assert again.json() == first and again.headers["Idempotent-Replayed"] == "true"
    assert len(Remote(url).charges()) == 1 and pathlib.Path(state).stat().st_mode & 0o777 == 0o600
    process.terminate()
    process.wait(60)
