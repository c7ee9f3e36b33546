"""The gateway is killed at each point of creating a subscription: whether the caller or the timer continues, there is one subscription and it is paid
once."""
import shutil

import pytest
import test_payments_killed as killed
from test_payments_killed import every_point, save, victim  # noqa: F401

from groundwork.deadline import until
from groundwork.processor import PAY
from groundwork.records import execute, rows

SUBSCRIPTIONS, PLANS = f"{PAY}/subscriptions", f"{PAY}/subscription-plans"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("strace"), reason="strace kills at a system call")]


@pytest.fixture
def plan(shop):
    return shop.admin.post(PLANS, {"name": "Gold", "amount": 20, "currency": "usd", "billing_interval": "month"},
                           expect=201).json()


@pytest.fixture(autouse=True)
def subscriptions_are_settled(monkeypatch):
    """Replaces `afterwards` of the tests of payments by a function that does the same for subscriptions."""
    def afterwards(shop, db, who):
        schema = shop.project.schema(db)
        if who == "timer":
            execute(db, f"update {schema}.subscriptions set settle_at = now() where call_key is not null")
            until(lambda: not rows(db, f"select 1 from {schema}.subscriptions where call_key is not null"), "the open subscriptions are settled")
        execute(db, f"update {schema}.idempotency_keys set locked_until = now() where state = 'in_progress'")

    monkeypatch.setattr(killed, "afterwards", afterwards)


@pytest.mark.parametrize("call, who", [
    ("sendto", "caller"),
    pytest.param("sendto", "timer", marks=pytest.mark.full), pytest.param("recvfrom", "caller", marks=pytest.mark.full)])
def test_with_a_saved_method(shop, processor, payments, db, victim, plan, call, who):  # noqa: F811
    body = {"plan_id": plan["id"], "payment_method_id": save(shop)}
    count, died = every_point(shop, db, victim, call, who, lambda caller, key: caller.post(SUBSCRIPTIONS, body, key))
    assert died >= 5, f"{died} deaths at {call}"
    assert len(shop.objects("subscription")) == len(shop.charges()) == count
    assert shop.admin.get(f"{SUBSCRIPTIONS}?status=active", expect=200).json()["total_items"] == count
    assert shop.admin.get(SUBSCRIPTIONS, expect=200).json()["total_items"] == count
    processor.assert_never_charged_twice(shop.account)


@pytest.mark.parametrize("who", [pytest.param("caller", marks=pytest.mark.full), "timer"])
def test_by_checkout(shop, payments, db, victim, who):  # noqa: F811
    body = {"name": "Silver", "amount": 5, "currency": "usd", "billing_interval": "week", "customer_email": "a@example.org"}
    count, died = every_point(shop, db, victim, "sendto", who, lambda caller, key: caller.post(SUBSCRIPTIONS, body, key))
    assert died >= 5, f"{died} deaths"
    assert len(shop.objects("checkout.session")) == count
    assert shop.admin.get(SUBSCRIPTIONS, expect=200).json()["total_items"] == count
