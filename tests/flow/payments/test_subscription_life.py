"""Subscriptions from their checkout to their end: events of the processor and of the app store, and who has access."""
import pytest

from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.store import *  # noqa: F403
from store.app import account_token

PAY = "/integrations/svcpay"
SUBSCRIPTIONS, PLANS, OPTIONS = f"{PAY}/subscriptions", f"{PAY}/subscription-plans", f"{PAY}/payment-options"
GOLD = {"name": "Gold", "amount": 12.5, "currency": "usd", "billing_interval": "month", "trial_period_days": 14}


class Life:
    """A subscription that began with a checkout, and its subscriber."""

    def __init__(self, shop, **plan):
        self.shop, self.admin, self.processor = shop, shop.admin, shop.processor
        self.user = shop.project.user_with("svc_subscription_plans:read")
        self.plan = self.admin.post(PLANS, GOLD | plan, expect=201).json()
        self.made = self.admin.post(SUBSCRIPTIONS, {"plan_id": self.plan["id"], "subscriber_id": self.user.user["id"]},
                                    expect=201).json()
        self.session = shop.objects("checkout.session")[-1]["id"]

    @property
    def now(self):
        return self.admin.get(f"{SUBSCRIPTIONS}/{self.made['id']}", expect=200).json()

    @property
    def id(self):
        return self.now["provider_subscription_id"]

    def wait(self, status, **members):
        wanted = {"status": status, **members}
        until(lambda: wanted.items() <= self.now.items(), f"{wanted}: {self.now}")
        return self.now

    def access(self, **settings):
        return self.user.get(f"{SUBSCRIPTIONS}/me/entitlement", expect=200).json()


def grace(shop, days):
    shop.admin.put(f"{PAY}/settings", {"grace_days": days}, expect=200)


@pytest.mark.parametrize("switches", [{}, {"duplicate": 2, "shuffle": True}])
def test_from_checkout_to_its_end(shop, payments, switches):
    shop.set_switches(**switches)
    life = Life(shop)
    assert life.access()["has_access"] is False and life.access()["status"] == "incomplete"
    life.processor.complete(life.session)
    trial = life.wait("trialing")
    found = life.access()
    assert found["has_access"] is True and found["status"] == "trialing" and found["provider"] == "processor_web"
    assert found["expires_at"] == trial["trial_end"] and found["trial_length_days"] == 14
    assert found["plan_id"] == life.plan["id"] and found["subscription_id"] == life.made["id"]
    life.processor.end_trial(life.id)
    active = life.wait("active")
    assert life.access()["expires_at"] == active["current_period_end"]
    life.processor.fail_renewal(life.id)
    life.wait("past_due")
    assert life.access()["has_access"] is True
    grace(shop, 0)
    until(lambda: life.access()["has_access"] is False, "no days of grace")
    grace(shop, 7)
    until(lambda: life.access()["has_access"] is True, "days of grace")
    life.processor.renew(life.id, "4242424242424242")
    life.wait("active")
    life.admin.post(f"{SUBSCRIPTIONS}/{life.made['id']}/cancel", expect=200)
    life.wait("active", cancel_at_period_end=True)
    assert life.access()["has_access"] is True
    life.processor.renew(life.id)
    ended = life.wait("canceled")
    assert ended["ended_at"] and life.access()["has_access"] is False
    assert {"trialing", "active", "past_due", "canceled"} <= {entry["to"] for entry in ended["history"]}
    shop.drain()
    shop.processor.assert_never_charged_twice(shop.account)


def payments_of(life, **wanted):
    found = life.admin.get(f"{PAY}/payments?type=recurring&limit=500", expect=200).json()["items"]
    return [payment for payment in found if wanted.items() <= payment.items()]


def emitted(project, db, event):
    return [id_ for id_, in rows(db, f"select (payload->>'id')::bigint from {project.schema(db)}.outbox where event = %s order by id", event)]


@pytest.mark.parametrize("api", ["acacia", "basil", "dahlia", "endive"])
@pytest.mark.parametrize("switches", [{}, {"duplicate": 2, "shuffle": True}])
def test_a_renewal_that_fails_is_a_failed_payment(make_shop, project, payments, db, switches, api):
    """PaymentFailed is emitted once for the failed renewal, and SubscriptionPastDue once for its subscription."""
    for event in ("PaymentFailed", "SubscriptionPastDue"):
        execute(db, f"insert into {project.schema(db)}.workflows (name, trigger_kind, event, editor_id) values (%s, 'event', %s, 1)",
                event, event)
    shop = make_shop(project, api=api)
    shop.set_switches(**switches)
    life = Life(shop, trial_period_days=0)
    life.processor.complete(life.session)
    life.wait("active")
    life.processor.fail_renewal(life.id)
    life.wait("past_due")
    until(lambda: payments_of(life, status="failed"), "the failed payment")
    shop.drain()
    shop.wait_applied(db)
    (failed,) = payments_of(life, status="failed")
    assert failed["subscription_id"] == life.made["id"] and failed["amount"] == 12.5 and failed["currency"] == "usd"
    assert failed["failure_code"] == "card_declined" and failed["paid_at"] is None
    assert len(payments_of(life, status="succeeded")) == 1
    assert emitted(project, db, "PaymentFailed") == [failed["id"]]
    assert emitted(project, db, "SubscriptionPastDue") == [life.made["id"]]


def test_a_renewal_that_fails_and_is_paid_later(shop, payments, db, project):
    """A later payment of the same invoice changes the failed payment to succeeded."""
    life = Life(shop, trial_period_days=0)
    life.processor.complete(life.session)
    life.wait("active")
    life.processor.fail_renewal(life.id)
    until(lambda: payments_of(life, status="failed"), "the failed payment")
    (failed,) = payments_of(life, status="failed")
    life.processor.retry(life.id, "4242424242424242")
    life.wait("active")
    shop.drain()
    shop.wait_applied(db)
    assert len(payments_of(life)) == 2 and len(payments_of(life, status="succeeded")) == 2
    (paid,) = payments_of(life, id=failed["id"])
    assert paid["failure_code"] is None and paid["paid_at"]


def test_a_checkout_that_nobody_pays(shop, payments):
    life = Life(shop)
    life.processor.expire(life.session)
    ended = life.wait("incomplete_expired")
    assert ended["provider_subscription_id"] is None and life.access()["has_access"] is False
    assert life.admin.delete(f"{PLANS}/{life.plan['id']}", expect=204)
    assert life.now["plan_id"] is None


def test_cancelled_there_ends_here(shop, payments):
    life = Life(shop, trial_period_days=0)
    life.processor.complete(life.session)
    life.wait("active")
    life.processor.cancel(life.id)
    life.wait("canceled")


def test_a_plan_that_was_changed_there(shop, payments):
    """The price at the processor determines the plan of the subscription."""
    life = Life(shop, trial_period_days=0)
    life.processor.complete(life.session)
    life.wait("active")
    big = life.admin.post(PLANS, GOLD | {"name": "Big", "amount": 99}, expect=201).json()
    moved = life.admin.put(f"{SUBSCRIPTIONS}/{life.made['id']}", {"plan_id": big["id"]}, expect=200).json()
    shop.drain()
    states = f"{PAY}/webhook-events?limit=500"
    until(lambda: not {event["state"] for event in shop.admin.get(states, expect=200).json()["items"]} & {"received", "failed"},
          "all events are applied")
    assert life.now["plan_id"] == big["id"] == moved["plan_id"] and life.now["amount"] == 99
    assert life.access()["plan_id"] == big["id"]


def test_another_plan_for_several(shop, payments):
    """The plan determines the price of one unit, and the processor the quantity."""
    life = Life(shop, trial_period_days=0)
    life.processor.complete(life.session)
    life.wait("active")
    life.processor.set_quantity(life.id, 3)
    life.wait("active", amount=37.5)
    big = life.admin.post(PLANS, GOLD | {"name": "Big", "amount": 20}, expect=201).json()
    moved = life.admin.put(f"{SUBSCRIPTIONS}/{life.made['id']}", {"plan_id": big["id"]}, expect=200).json()
    assert moved["amount"] == 60 and moved["plan_id"] == big["id"] and moved["name"] == "Big"
    life.wait("active", amount=60)


@pytest.mark.parametrize("kind", ["reset", "status"])
def test_the_timer_settles_what_nobody_repeats(shop, payments, db, kind):
    schema = shop.project.schema(db)
    shop.fault(kind, 10, method="POST", path="/v1/checkout/sessions", status=503, act=kind == "reset")
    body = {"name": "Silver", "amount": 5, "currency": "usd", "billing_interval": "week", "customer_email": "a@example.org",
            "metadata": {"failure_code": "the caller's own"}}
    shop.admin.post(SUBSCRIPTIONS, body, headers={"Idempotency-Key": "k"}, expect=503)
    shop.processor.clear_faults()
    assert rows(db, f"select call_path from {schema}.subscriptions") == [("/v1/checkout/sessions",)]
    execute(db, f"update {schema}.subscriptions set settle_at = now()")
    until(lambda: rows(db, f"select 1 from {schema}.subscriptions where call_key is null and session_id is not null"), "settled")
    made = shop.admin.post(SUBSCRIPTIONS, body, headers={"Idempotency-Key": "k"}, expect=201).json()
    sessions = shop.objects("checkout.session")
    assert [each["url"] for each in sessions] == [made["checkout_url"]]
    shop.processor.complete(sessions[0]["id"])
    until(lambda: shop.admin.get(f"{SUBSCRIPTIONS}/{made['id']}").json()["status"] == "active", "active")


def test_a_charge_that_nobody_repeats(shop, payments, db):
    """The subscription that the processor made is found by its event or by the timer, and no payer is charged twice."""
    schema = shop.project.schema(db)
    life = Life(shop, trial_period_days=0)
    life.processor.complete(life.session)
    life.wait("active")
    method = until(lambda: rows(db, f"select id from {schema}.payment_methods where status = 'active'"), "a saved method")[0][0]
    shop.set_switches(paused=True)
    shop.fault("reset", 10, method="POST", path="/v1/subscriptions", act=True)
    body = {"plan_id": life.plan["id"], "payment_method_id": method}
    shop.admin.post(SUBSCRIPTIONS, body, headers={"Idempotency-Key": "k"}, expect=503)
    shop.processor.clear_faults()
    execute(db, f"update {schema}.subscriptions set settle_at = now() where call_key is not null")
    until(lambda: not rows(db, f"select 1 from {schema}.subscriptions where call_key is not null"), "settled")
    shop.set_switches(paused=False)
    shop.drain()
    made = shop.admin.post(SUBSCRIPTIONS, body, headers={"Idempotency-Key": "k"}, expect=201).json()
    assert made["status"] == "active" and made["id"] != life.made["id"]
    assert len(shop.objects("subscription")) == 2 and len(shop.charges()) == 2
    assert shop.admin.get(SUBSCRIPTIONS).json()["total_items"] == 2


@pytest.mark.parametrize("act", [False, True], ids=["lost", "not-answered"])
def test_without_a_key_nothing_is_charged_later(shop, payments, db, act):
    """Without a key no caller can repeat the request: the timer does not start a subscription that the processor does not have, and finds one that it
    has."""
    schema = shop.project.schema(db)
    shop.set_switches(drop=True)
    setup = shop.admin.post(f"{PAY}/payment-methods/setup-intent", {"customer_email": "ada@example.org"}, expect=200).json()
    body = {"name": "Silver", "amount": 5, "currency": "usd", "billing_interval": "week",
            "payment_method_id": shop.processor.setup(setup["id"])["payment_method"]}
    shop.fault("reset", 20, method="POST", path="/v1/subscriptions", act=act)
    shop.admin.post(SUBSCRIPTIONS, body, expect=503)
    shop.processor.clear_faults()
    execute(db, f"update {schema}.subscriptions set settle_at = now(), created_at = now() - interval '3 minutes'")
    until(lambda: rows(db, f"select 1 from {schema}.subscriptions where call_key is null"), "settled")
    [made] = shop.admin.get(SUBSCRIPTIONS, expect=200).json()["items"]
    assert made["status"] == ("active" if act else "incomplete_expired") and len(shop.charges()) == act
    assert act or made["metadata"]["failure_code"] == "not_carried_out"


# --- together with the app store ---

def test_a_subscription_of_the_app_store(outlet):
    user = outlet.project.user_with("svc_subscription_plans:read")
    sub = outlet.new_subscription(token=account_token(user.user["id"]))
    token = user.get(f"{SUBSCRIPTIONS}/me/entitlement", expect=200).json()["app_account_token"]
    assert token == account_token(user.user["id"])
    outlet.deliver(outlet.sandbox, *sub.buy(trial="P1W"))
    found = user.get(f"{SUBSCRIPTIONS}/me/entitlement", expect=200).json()
    assert found["has_access"] is True and found["provider"] == "iap_store" and found["status"] == "trialing"
    assert found["trial_length_days"] == 7
    outlet.deliver(outlet.sandbox, *sub.renew())
    assert user.get(f"{SUBSCRIPTIONS}/me/entitlement", expect=200).json()["status"] == "active"
    outlet.deliver(outlet.sandbox, *sub.fail(grace_ms=16 * 86400000))
    found = user.get(f"{SUBSCRIPTIONS}/me/entitlement", expect=200).json()
    assert found["has_access"] is True and found["status"] == "in_grace"
    outlet.deliver(outlet.sandbox, *sub.expire("BILLING_RETRY"))
    assert user.get(f"{SUBSCRIPTIONS}/me/entitlement", expect=200).json()["has_access"] is False


def test_options_with_the_app_store(spare_outlet):
    admin = spare_outlet.project.admin

    def options(**query):
        text = "&".join(f"{name}={value}" for name, value in query.items())
        found = admin.get(f"{OPTIONS}?{text}", expect=200).json()
        return found["primary_provider"], found["providers"], found["web_checkout_allowed"]

    web = ("processor_web", ["processor_web"], True)
    alone, both = ("iap_store", ["iap_store"], False), ("iap_store", ["iap_store", "processor_web"], True)
    assert options(platform="ios", storefront="USA") == alone, "the web accepts no payments"
    assert options(platform="android") == options(platform="web", storefront="USA") == web
    admin.put(f"{PAY}/processor-connect/credentials", {"mode": "own", "secret_key": "sk_test_x", "webhook_secrets": []},
              expect=200)
    until(lambda: options(platform="ios", storefront="USA") == both, options(platform="ios", storefront="USA"))
    assert options(platform="ios", storefront="us") == both
    assert options(platform="ios", storefront="DEU") == options(platform="ios") == alone
    admin.put(f"{PAY}/settings", {"web_checkout_storefronts": ["DEU", "FRA"]}, expect=200)
    until(lambda: options(platform="ios", storefront="de") == both, options(platform="ios", storefront="de"))
    assert options(platform="ios", storefront="USA") == alone
    admin.delete(f"{PAY}/iap-store/credentials", expect=204)
    until(lambda: options(platform="ios", storefront="USA") == web, options(platform="ios", storefront="USA"))
