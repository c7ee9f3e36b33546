"""/subscriptions: created by a checkout or with a saved method, changed, cancelled."""
import pytest

from groundwork.records import execute, rows

PAY = "/integrations/svcpay"
SUBSCRIPTIONS, PLANS, TEMPLATES = f"{PAY}/subscriptions", f"{PAY}/subscription-plans", f"{PAY}/subscription-templates"
GOLD = {"name": "Gold", "amount": 12.5, "currency": "usd", "billing_interval": "month", "trial_period_days": 14}
INLINE = {"name": "Silver", "description": "Half of it", "type": "recurring", "amount": 5, "currency": "EUR",
          "billing_interval": "week", "interval_count": 2}


def plan_of(shop, **body):
    return shop.admin.post(PLANS, GOLD | body, expect=201).json()


def subscribe(client, expect=201, key=None, **body):
    return client.post(SUBSCRIPTIONS, body, expect=expect, headers={"Idempotency-Key": key} if key else None).json()


def session_of(shop, subscription):
    """Returns the processor's checkout session of a subscription."""
    found = [each for each in shop.objects("checkout.session")
             if each["metadata"]["subscription_id"] == str(subscription["id"])]
    assert len(found) == 1, found
    return found[0]


def test_by_checkout_from_a_plan(shop):
    plan = plan_of(shop)
    user = shop.project.user()
    answer = shop.admin.post(SUBSCRIPTIONS, {"plan_id": plan["id"], "subscriber_id": user.user["id"],
                                             "metadata": {"seat": 7}}, expect=201)
    made = answer.json()
    assert answer.headers["Location"].endswith(f"{SUBSCRIPTIONS}/{made['id']}")
    assert made["status"] == "incomplete" and made["plan_id"] == plan["id"] and made["provider"] == "processor"
    assert made["subscriber_id"] == user.user["id"] and made["customer_email"] == user.user["email"]
    assert made["amount"] == 12.5 and made["trial_length_days"] == 14 and made["metadata"] == {"seat": "7"}
    session = session_of(shop, made)
    assert session["url"] == made["checkout_url"] and session["mode"] == "subscription" and session["metadata"]["subscription_id"] == str(made["id"])
    assert session["metadata"]["project_id"] == shop.project.id and session["metadata"]["seat"] == "7"
    sent = shop.requests("POST", "/v1/checkout/sessions")[-1]["params"]
    assert sent["line_items"][0]["price"] == plan["processor_price_id"]
    assert sent["subscription_data"]["trial_period_days"] == "14"
    assert sent["subscription_data"]["metadata"]["subscription_id"] == str(made["id"])
    read = shop.admin.get(f"{SUBSCRIPTIONS}/{made['id']}", expect=200).json()
    assert "checkout_url" not in read and read["id"] == made["id"]


def test_by_checkout_with_terms_of_its_own(shop):
    made = subscribe(shop.admin, **INLINE, customer_email="Payer@Example.org", success_url="https://shop.test/yes",
                     cancel_url="https://shop.test/no")
    assert made["amount"] == 5 and made["currency"] == "eur" and made["interval_count"] == 2
    assert made["subscriber_id"] is None and made["trial_length_days"] == 0 and made["plan_id"] is None
    sent = shop.requests("POST", "/v1/checkout/sessions")[-1]["params"]
    item = sent["line_items"][0]["price_data"]
    assert item["currency"] == "eur" and item["unit_amount"] == "500"
    assert item["recurring"] == {"interval": "week", "interval_count": "2"}
    assert item["product_data"]["name"] == "Silver" and "trial_period_days" not in sent["subscription_data"]
    assert sent["success_url"] == "https://shop.test/yes" and sent["cancel_url"] == "https://shop.test/no"


def test_the_platforms_share(shop, saved):
    shop.admin.put(f"{PAY}/processor-connect/fees", {"percent": 2.25}, expect=200)
    subscribe(shop.admin, **INLINE, success_url="https://shop.test/paid?session={CHECKOUT_SESSION_ID}")
    sent = shop.requests("POST", "/v1/checkout/sessions")[-1]["params"]
    assert sent["subscription_data"]["application_fee_percent"] == "2.25"
    assert sent["success_url"] == "https://shop.test/paid?session={CHECKOUT_SESSION_ID}"
    subscribe(shop.admin, **INLINE, payment_method_id=saved())
    assert shop.requests("POST", "/v1/subscriptions")[-1]["params"]["application_fee_percent"] == "2.25"


def test_from_templates(shop):
    plan = plan_of(shop)
    of_plan = shop.admin.post(TEMPLATES, {"name": "Long trial", "plan_id": plan["id"], "trial_period_days": 30},
                              expect=201).json()
    own = shop.admin.post(TEMPLATES, {"name": "Own", "amount": 3, "currency": "usd", "billing_interval": "day"},
                          expect=201).json()
    made = subscribe(shop.admin, template_id=of_plan["id"])
    assert made["name"] == "Long trial" and made["trial_length_days"] == 30 and made["plan_id"] == plan["id"]
    assert made["amount"] == 12.5 and made["subscriber_id"] == shop.admin.user["id"]
    made = subscribe(shop.admin, template_id=own["id"], name="Mine")
    assert made["name"] == "Mine" and made["amount"] == 3 and made["plan_id"] is None
    shop.admin.put(f"{TEMPLATES}/{own['id']}", {"is_active": False}, expect=200)
    subscribe(shop.admin, 409, template_id=own["id"])


@pytest.mark.parametrize("field, body", [
    ("name", {}), ("currency", {"name": "x"}), ("amount", {"name": "x", "currency": "usd"}),
    ("billing_interval", {"name": "x", "currency": "usd", "amount": 1}), ("plan_id", {"plan_id": 424242}),
    ("template_id", {"template_id": 424242}), ("template_id", {"template_id": 1, "plan_id": 1}),
    ("amount", {"plan_id": 1, "amount": 3}), ("interval_count", {"plan_id": 1, "interval_count": 3}),
    ("subscriber_id", INLINE | {"subscriber_id": 424242}), ("customer_email", INLINE | {"customer_email": "nobody"}),
    ("payment_method_id", INLINE | {"payment_method_id": 424242}), ("payment_method_id", INLINE | {"payment_method_id": 1.5}),
    ("success_url", INLINE | {"success_url": "no address"}), ("metadata", INLINE | {"metadata": []}),
    ("metadata.project_id", INLINE | {"metadata": {"project_id": "x"}}), ("type", INLINE | {"type": "one_off"}),
    ("status", INLINE | {"status": "active"}), ("interval_count", INLINE | {"interval_count": 157})])
def test_bad_bodies_name_the_field(shared_shop, processor, field, body):
    errors = shared_shop.admin.post(SUBSCRIPTIONS, body, expect=400).json()["errors"]
    assert field in [error["field"] for error in errors], errors


def test_nothing_is_sold_before_the_account_is_ready(project, make_shop):
    assert subscribe(project.admin, 409, **INLINE)["code"] == "payments_not_configured"
    make_shop(project, ready=False)
    assert subscribe(project.admin, 409, **INLINE)["code"] == "account_not_ready"


def test_an_inactive_plan_is_not_sold(shop):
    plan = plan_of(shop, is_active=False)
    assert subscribe(shop.admin, 409, plan_id=plan["id"])["code"] == "conflict"


# --- once ---

def test_repeats_with_a_key_make_one(shop):
    body = INLINE | {"customer_email": "one@example.org"}
    first = shop.admin.post(SUBSCRIPTIONS, body, headers={"Idempotency-Key": "k1"}, expect=201)
    again = shop.admin.post(SUBSCRIPTIONS, body, headers={"Idempotency-Key": "k1"}, expect=201)
    assert again.json() == first.json() and again.headers["Idempotent-Replayed"] == "true"
    assert again.headers["Location"] == first.headers["Location"]
    assert len(shop.objects("checkout.session")) == 1
    subscribe(shop.admin, 422, key="k1", **(body | {"amount": 6}))
    assert subscribe(shop.admin, key="k2", **body)["id"] != first.json()["id"]


@pytest.mark.parametrize("kind", ["timeout", "reset", "garbage"])
def test_a_lost_answer_is_settled_by_repeating(shop, kind):
    """The processor made the session, but the answer was lost: a request with the same key returns the same session."""
    body = INLINE | {"customer_email": "one@example.org"}
    shop.fault(kind, 9, method="POST", path="/v1/checkout/sessions", act=True)
    refused = subscribe(shop.admin, 503, key="k", **body)
    assert refused["code"] == "outcome_unknown"
    shop.processor.clear_faults()
    made = subscribe(shop.admin, key="k", **body)
    assert len(shop.objects("checkout.session")) == 1 and session_of(shop, made)
    assert shop.admin.get(SUBSCRIPTIONS, expect=200).json()["total_items"] == 1


def test_an_outage_is_503_and_the_key_goes_on(shop):
    shop.fault("status", 3, status=503, method="POST", path="/v1/checkout/sessions")
    assert subscribe(shop.admin, 503, key="k", **INLINE)["code"] == "dependency_unavailable"
    made = subscribe(shop.admin, key="k", **INLINE)
    assert made["checkout_url"] and shop.admin.get(SUBSCRIPTIONS, expect=200).json()["total_items"] == 1


def test_what_was_turned_away_leaves_nothing(shop):
    shop.fault("status", 9, status=401, method="POST", path="/v1/checkout/sessions")
    assert subscribe(shop.admin, 502, key="k", **INLINE)["code"] == "provider_error"
    assert shop.admin.get(SUBSCRIPTIONS, expect=200).json()["total_items"] == 0
    shop.processor.clear_faults()
    assert subscribe(shop.admin, key="k", **INLINE)["checkout_url"]


# --- saved methods ---

@pytest.fixture
def saved(shop, db):
    """saved(card, email): saves a payment method of a payer in the project and returns its id."""
    schema = shop.project.schema(db)

    def save(card="4242424242424242", email="payer@example.org"):
        subscribe(shop.admin, **INLINE, customer_email=email)
        customer = shop.objects("customer")[-1]["id"]
        method = shop.processor.attach(customer, card)
        return rows(db, f"insert into {schema}.payment_methods (provider_id, customer, subscriber_email, brand, last4)"
                        " values (%s, %s, %s, 'visa', '4242') returning id", method["id"], customer, email)[0][0]

    return save


def test_with_a_saved_method(shop, saved):
    plan, method = plan_of(shop, trial_period_days=0), saved()
    made = subscribe(shop.admin, plan_id=plan["id"], payment_method_id=method)
    assert made["status"] == "active" and made["checkout_url"] is None and made["customer_email"] == "payer@example.org"
    assert made["provider_subscription_id"].startswith("sub_") and made["current_period_end"]
    assert len(shop.charges()) == 1 and shop.charges()[0]["amount"] == 1250
    assert [(entry["from"], entry["to"]) for entry in made["history"]][-1][1] == "active"
    theirs = shop.objects("subscription")[-1]
    assert theirs["metadata"]["subscription_id"] == str(made["id"])
    shop.processor.assert_never_charged_twice(shop.account)


def test_with_a_method_that_no_event_reported(shop):
    """The payer saved the method on a device a moment ago, and its event has not arrived yet."""
    setup = shop.admin.post(f"{PAY}/payment-methods/setup-intent", {"customer_email": "ada@example.org"}, expect=200).json()
    method = shop.processor.setup(setup["id"])["payment_method"]
    made = subscribe(shop.admin, **INLINE, payment_method_id=method)
    assert made["status"] == "active" and made["customer_email"] == "ada@example.org" and len(shop.charges()) == 1
    unknown = subscribe(shop.admin, 400, **INLINE, payment_method_id="pm_nothing")
    assert unknown["errors"][0]["field"] == "payment_method_id"


def test_with_a_saved_method_and_terms_of_its_own(shop, saved):
    method = saved()
    made = subscribe(shop.admin, **INLINE, payment_method_id=method)
    assert made["status"] == "active" and shop.charges()[-1]["amount"] == 500
    subscribe(shop.admin, **INLINE, payment_method_id=method)
    assert len([each for each in shop.objects("product") if each["id"].startswith("gw_")]) == 1


def test_a_decline_is_402_and_kept(shop, saved):
    plan, method = plan_of(shop, trial_period_days=0), saved("4000000000000341")
    for _ in range(2):
        refused = subscribe(shop.admin, 402, key="k", plan_id=plan["id"], payment_method_id=method)
        assert refused["code"] == "card_error" and refused["errors"][0]["code"] == "card_declined"
    listed = shop.admin.get(f"{SUBSCRIPTIONS}?plan_id={plan['id']}", expect=200).json()["items"]
    assert [item["status"] for item in listed] == ["incomplete_expired"]
    history = shop.admin.get(f"{SUBSCRIPTIONS}/{listed[0]['id']}").json()["history"]
    assert history[-1]["to"] == "incomplete_expired" and history[-1]["detail"]["failure_code"] == "card_declined"
    assert not shop.charges() and not shop.objects("subscription")


@pytest.mark.parametrize("kind", ["timeout", "reset"])
def test_a_lost_charge_is_not_made_twice(shop, saved, kind):
    plan, method = plan_of(shop, trial_period_days=0), saved()
    shop.fault(kind, 9, method="POST", path="/v1/subscriptions", act=True)
    body = {"plan_id": plan["id"], "payment_method_id": method}
    refused = shop.admin.post(SUBSCRIPTIONS, body, expect=503, headers={"Idempotency-Key": "k"})
    assert refused.json()["code"] == "outcome_unknown"
    shop.processor.clear_faults()
    made = subscribe(shop.admin, key="k", **body)
    assert refused.headers["Location"].endswith(f"{SUBSCRIPTIONS}/{made['id']}")
    assert made["status"] == "active" and len(shop.charges()) == 1 and len(shop.objects("subscription")) == 1


# --- codes ---

def code_of(shop, code="SUMMER", **offer):
    made = shop.admin.post(f"{PAY}/offers", {"name": code} | offer, expect=201).json()
    shop.admin.post(f"{PAY}/offers/{made['id']}/codes", {"codes": [code]}, expect=201)
    return made


def test_a_code_lowers_the_price_for_good(shop):
    plan, user = plan_of(shop), shop.project.user().user["id"]
    code_of(shop, kind="percent", percent_off=20)
    made = subscribe(shop.admin, plan_id=plan["id"], subscriber_id=user, offer_code="summer")
    assert made["amount"] == 10 and made["plan_id"] == plan["id"]
    item = shop.requests("POST", "/v1/checkout/sessions")[-1]["params"]["line_items"][0]["price_data"]
    assert item["unit_amount"] == "1000" and item["product"] == plan["processor_product_id"]
    again = subscribe(shop.admin, 409, plan_id=plan["id"], subscriber_id=user, offer_code="SUMMER")
    assert again["code"] == "offer_unavailable"
    subscribe(shop.admin, 404, plan_id=plan["id"], subscriber_id=user, offer_code="WINTER")
    shop.admin.post(f"{SUBSCRIPTIONS}/{made['id']}/cancel", expect=200)
    assert subscribe(shop.admin, plan_id=plan["id"], subscriber_id=user, offer_code="SUMMER")["amount"] == 10


@pytest.mark.parametrize("currency, amount, percent, expected", [
    ("isk", 7, 30, 4), ("kwd", 0.5, 33.3, 0.33), ("jpy", 7, 30, 5), ("usd", 0.01, 100, 0)])
def test_lower_prices_are_whole_in_their_currency(shop, currency, amount, percent, expected):
    user = shop.project.user().user["id"]
    code_of(shop, kind="percent", percent_off=percent)
    made = subscribe(shop.admin, name="x", amount=amount, currency=currency, billing_interval="month", subscriber_id=user,
                     offer_code="SUMMER")
    assert made["amount"] == expected


def test_a_code_makes_a_trial_longer(shop):
    plan, user = plan_of(shop), shop.project.user().user["id"]
    code_of(shop, kind="trial", trial_days=60)
    made = subscribe(shop.admin, plan_id=plan["id"], subscriber_id=user, offer_code="SUMMER")
    assert made["trial_length_days"] == 60 and made["amount"] == 12.5
    sent = shop.requests("POST", "/v1/checkout/sessions")[-1]["params"]
    assert sent["subscription_data"]["trial_period_days"] == "60"
    assert sent["line_items"][0]["price"] == plan["processor_price_id"]


def test_codes_that_do_not_fit(shop):
    plan, user = plan_of(shop), shop.project.user().user["id"]
    code_of(shop, "EURO", kind="amount", amount=1, currency="eur")
    code_of(shop, "CREDIT", kind="credit", amount=1, currency="usd")
    other = plan_of(shop, name="Other")
    code_of(shop, "OTHER", kind="percent", percent_off=5, plan_ids=[other["id"]])
    for code in ("EURO", "CREDIT", "OTHER"):
        refused = subscribe(shop.admin, 409, plan_id=plan["id"], subscriber_id=user, offer_code=code)
        assert refused["code"] == "offer_unavailable"
    body = {"plan_id": plan["id"], "subscriber_id": None, "customer_email": "a@example.org", "offer_code": "EURO"}
    assert subscribe(shop.admin, 400, **body)["errors"][0]["field"] == "subscriber_id"
    assert shop.admin.get(SUBSCRIPTIONS, expect=200).json()["total_items"] == 0
    assert shop.admin.get(f"{PAY}/balances", expect=200).json()["items"] == []


def test_a_code_of_a_declined_charge_is_free_again(shop, saved):
    plan, user = plan_of(shop, trial_period_days=0), shop.project.user().user["id"]
    offer = code_of(shop, kind="amount", amount=2.5, currency="usd")
    body = {"plan_id": plan["id"], "subscriber_id": user, "offer_code": "SUMMER"}
    subscribe(shop.admin, 402, **body, payment_method_id=saved("4000000000000341"))
    assert shop.admin.get(f"{PAY}/offers/{offer['id']}", expect=200).json()["redeemed"] == 0
    made = subscribe(shop.admin, **body, payment_method_id=saved(email="other@example.org"))
    assert made["status"] == "active" and shop.charges()[-1]["amount"] == 1000
    assert shop.admin.get(f"{PAY}/offers/{offer['id']}", expect=200).json()["redeemed"] == 1


def test_a_customer_that_is_gone(shop, db):
    """The processor no longer knows the customer: the next request creates a new customer."""
    user = shop.project.user().user["id"]
    subscribe(shop.admin, **INLINE, subscriber_id=user)
    execute(db, f"update {shop.project.schema(db)}.payment_customers set provider_id = 'cus_gone'")
    subscribe(shop.admin, 400, **INLINE, subscriber_id=user)
    subscribe(shop.admin, **INLINE, subscriber_id=user)


# --- changes ---

@pytest.fixture
def running_subscription(shop, saved):
    """A running subscription and its plan."""
    plan = plan_of(shop, trial_period_days=0)
    return subscribe(shop.admin, plan_id=plan["id"], payment_method_id=saved()), plan


def test_cancel_at_the_end_resume_and_cancel_now(shop, running_subscription):
    path = f"{SUBSCRIPTIONS}/{running_subscription[0]['id']}"
    assert shop.admin.post(f"{path}/resume", expect=409).json()["code"] == "payment_state"
    ending = shop.admin.post(f"{path}/cancel", expect=200).json()
    assert ending["status"] == "active" and ending["cancel_at_period_end"] is True
    resumed = shop.admin.post(f"{path}/resume", expect=200).json()
    assert resumed["cancel_at_period_end"] is False and resumed["status"] == "active"
    again = shop.admin.post(f"{path}/cancel", {"at_period_end": True}, expect=200).json()
    assert again["cancel_at_period_end"] is True
    ended = shop.admin.post(f"{path}/cancel", {"at_period_end": False}, expect=200).json()
    assert ended["status"] == "canceled" and ended["ended_at"]
    for action in ("cancel", "resume"):
        assert shop.admin.post(f"{path}/{action}", expect=409).json()["code"] == "payment_state"
    assert shop.admin.put(path, {"plan_id": running_subscription[1]["id"]}, expect=409).json()["code"] == "payment_state"


def test_what_has_ended_there_ends_here(shop, running_subscription):
    shop.processor.cancel(running_subscription[0]["provider_subscription_id"])
    path = f"{SUBSCRIPTIONS}/{running_subscription[0]['id']}"
    assert shop.admin.post(f"{path}/cancel", {"at_period_end": False}, expect=200).json()["status"] == "canceled"


def test_cancelling_an_open_checkout(shop):
    made = subscribe(shop.admin, **INLINE)
    path = f"{SUBSCRIPTIONS}/{made['id']}"
    assert shop.admin.post(f"{path}/resume", expect=409).json()["code"] == "payment_state"
    assert shop.admin.put(path, {"plan_id": 424242}, expect=409).json()["code"] == "payment_state"
    assert shop.admin.post(f"{path}/cancel", expect=200).json()["status"] == "incomplete_expired"
    assert session_of(shop, made)["status"] == "expired"
    shop.admin.post(f"{path}/cancel", expect=409)


def test_moving_to_another_plan(shop, running_subscription):
    made, gold = running_subscription
    path = f"{SUBSCRIPTIONS}/{made['id']}"
    big = plan_of(shop, name="Big", amount=99)
    moved = shop.admin.put(path, {"plan_id": big["id"]}, expect=200).json()
    assert moved["plan_id"] == big["id"] and moved["name"] == "Big" and moved["amount"] == 99
    theirs = shop.processor.get(made["provider_subscription_id"])
    assert theirs["items"]["data"][0]["price"]["id"] == big["processor_price_id"]
    assert shop.admin.put(path, {"plan_id": big["id"]}, expect=200).json()["plan_id"] == big["id"]
    assert shop.admin.put(path, {"plan_id": 424242}, expect=400).json()["errors"][0]["field"] == "plan_id"
    assert shop.admin.delete(f"{PLANS}/{big['id']}", expect=409).json()["code"] == "in_use"
    shop.admin.delete(f"{PLANS}/{gold['id']}", expect=204)


def test_changing_what_is_ours(shop, running_subscription):
    path = f"{SUBSCRIPTIONS}/{running_subscription[0]['id']}"
    user = shop.project.user()
    changed = shop.admin.put(path, {"subscriber_id": user.user["id"], "metadata": {"a": True}}, expect=200).json()
    assert changed["subscriber_id"] == user.user["id"] and changed["metadata"] == {"a": "true"}
    entitlement = shop.admin.get(f"{SUBSCRIPTIONS}/by-user/{user.user['id']}", expect=200).json()
    assert entitlement["has_access"] is True and entitlement["status"] == "active"
    assert shop.admin.put(path, {"subscriber_id": None}, expect=200).json()["subscriber_id"] is None
    assert shop.admin.put(path, {"subscriber_id": 424242}, expect=400).json()["errors"][0]["field"] == "subscriber_id"
    editor = shop.project.user_with("svc_payments:update", "svc_payments:read")
    assert editor.put(path, {"subscriber_id": user.user["id"]}, expect=403).json()["code"] == "admin_required"
    assert editor.put(path, {"metadata": None}, expect=200).json()["metadata"] == {}


@pytest.mark.parametrize("kind", ["timeout", "status"])
def test_an_outage_in_a_change(shop, running_subscription, kind):
    path = f"{SUBSCRIPTIONS}/{running_subscription[0]['id']}"
    shop.fault(kind, 9, path="/v1/subscriptions/*", status=503)
    refused = shop.admin.post(f"{path}/cancel", expect=503).json()
    assert refused["code"] == ("outcome_unknown" if kind == "timeout" else "dependency_unavailable")
    shop.processor.clear_faults()
    assert shop.admin.post(f"{path}/cancel", expect=200).json()["cancel_at_period_end"] is True


def test_the_store_keeps_its_own(project, db):
    schema = project.schema(db)
    made = rows(db, f"insert into {schema}.subscriptions (provider, provider_subscription_id, status, environment) values"
                    " ('iap_store', '2000000', 'active', 'Sandbox') returning id")[0][0]
    path = f"{SUBSCRIPTIONS}/{made}"
    for action in ("cancel", "resume"):
        assert project.admin.post(f"{path}/{action}", expect=409).json()["code"] == "payment_state"
    assert project.admin.put(path, {"metadata": {}}, expect=409).json()["code"] == "payment_state"
    assert project.admin.put(path, {"plan_id": 1}, expect=409).json()["code"] == "payment_state"
    user = project.user()
    assert project.admin.put(path, {"subscriber_id": user.user["id"]}, expect=200).json()["subscriber_id"] == user.user["id"]


# --- reading ---

def test_lists_are_filtered_and_walked(shop, db):
    made = [subscribe(shop.admin, **INLINE, customer_email=f"p{number}@example.org")["id"] for number in range(5)]
    admin = shop.admin
    listed = admin.get(f"{SUBSCRIPTIONS}?limit=2", expect=200).json()
    assert [item["id"] for item in listed["items"]] == made[:2:-1] and listed["total_items"] == 5
    walked, cursor = [], "start"
    while cursor:
        page = admin.get(f"{SUBSCRIPTIONS}?limit=2&cursor={cursor}", expect=200).json()
        walked, cursor = walked + [item["id"] for item in page["items"]], page["next_cursor"]
    assert walked == made[::-1]
    assert admin.get(f"{SUBSCRIPTIONS}?status=active", expect=200).json()["items"] == []
    assert admin.get(f"{SUBSCRIPTIONS}?provider=iap_store", expect=200).json()["total_items"] == 0
    assert admin.get(f"{SUBSCRIPTIONS}?plan_id=1&subscriber_id=1", expect=200).json()["total_items"] == 0
    for query in ("status=none", "provider=processor_web", "plan_id=x", "sort=name", "cursor=%20"):
        admin.get(f"{SUBSCRIPTIONS}?{query}", expect=400)
    for path in ("424242", "0", "x"):
        admin.get(f"{SUBSCRIPTIONS}/{path}", expect=404)


def test_who_may(shop):
    made = subscribe(shop.admin, **INLINE)
    reader, creator = shop.project.user_with("svc_payments:read"), shop.project.user_with("svc_payments:create")
    reader.get(f"{SUBSCRIPTIONS}/{made['id']}", expect=200)
    creator.get(SUBSCRIPTIONS, expect=403)
    reader.post(SUBSCRIPTIONS, INLINE, expect=403)
    mine = subscribe(creator, **INLINE)
    assert mine["subscriber_id"] == creator.user["id"] and mine["customer_email"] == creator.user["email"]
    for client in (reader, creator):
        client.post(f"{SUBSCRIPTIONS}/{made['id']}/cancel", expect=403)
        client.post(f"{SUBSCRIPTIONS}/{made['id']}/resume", expect=403)
        client.put(f"{SUBSCRIPTIONS}/{made['id']}", {"metadata": {}}, expect=403)
