"""The processor's copy of plans: one product for each plan, and one active price that matches the plan, also after an error at any step."""
import os
import signal
import threading

import pytest

from groundwork.client import Client
from groundwork.deadline import until

PAY = "/integrations/svcpay"
PLANS = f"{PAY}/subscription-plans"
GOLD = {"plan_name": "gold", "name": "Gold", "description": "Everything", "amount": 12.5, "currency": "usd",
        "billing_interval": "month", "interval_count": 3}


def make(shop, **body):
    return shop.admin.post(PLANS, GOLD | body, expect=201).json()


def save(shop, plan, **body):
    return shop.admin.put(f"{PLANS}/{plan['id']}", body, expect=200).json()


def prices(shop, active=True):
    return [price for price in shop.objects("price") if price["active"] is active]


def agrees(shop, plan):
    """Asserts that the processor's product and active price match the plan."""
    assert plan["synced"] is True and plan["sync_error"] is None
    products = [each for each in shop.objects("product") if each["metadata"].get("plan_id") == str(plan["id"])]
    assert [each["id"] for each in products] == [plan["processor_product_id"]]
    assert products[0]["name"] == plan["name"] and products[0]["active"] is plan["is_active"]
    assert products[0]["description"] == plan["description"]
    assert products[0]["metadata"]["project_id"] == shop.project.id
    active = [each for each in prices(shop) if each["product"] == products[0]["id"]]
    assert [each["id"] for each in active] == [plan["processor_price_id"]]
    assert active[0]["unit_amount"] == plan["amount_minor"] and active[0]["currency"] == plan["currency"]
    assert active[0]["recurring"]["interval"] == plan["billing_interval"]
    assert active[0]["recurring"]["interval_count"] == plan["interval_count"]


def test_a_plan_is_synced_when_it_is_made_and_changed(shop):
    plan = make(shop)
    agrees(shop, plan)
    assert shop.admin.get(f"{PLANS}/{plan['id']}").json() == plan
    calls = len(shop.requests("POST"))
    assert save(shop, plan, trial_period_days=3, store_product_id="x")["synced"] is True
    assert len(shop.requests("POST")) == calls, "neither field concerns the processor"
    renamed = save(shop, plan, name="Golden", description=None, is_active=False)
    agrees(shop, renamed)
    assert renamed["processor_price_id"] == plan["processor_price_id"]
    for change in ({"amount": 15}, {"currency": "eur"}, {"billing_interval": "year", "interval_count": 1}, {"amount": 12.5},
                   {"currency": "usd", "billing_interval": "month", "interval_count": 3}):
        before = shop.admin.get(f"{PLANS}/{plan['id']}").json()
        changed = save(shop, plan, **change)
        agrees(shop, changed)
        assert changed["processor_price_id"] != before["processor_price_id"]
        assert changed["processor_product_id"] == plan["processor_product_id"]
    assert len(prices(shop, False)) == 5


def test_ids_are_null_until_the_account_is_onboarded(project, make_shop):
    shop = make_shop(project, ready=False)
    plan = make(shop)
    assert plan["processor_product_id"] is None and plan["processor_price_id"] is None and plan["synced"] is False
    shop.connect()
    assert save(shop, plan, name="x")["processor_product_id"] is None
    shop.onboard()
    assert shop.admin.get(f"{PLANS}/{plan['id']}").json()["synced"] is False
    agrees(shop, save(shop, plan, name="Gold"))


def test_an_account_of_its_own(project, make_shop):
    shop = make_shop(project, mode="own")
    agrees(shop, save(shop, make(shop), amount=1))


def test_another_key_of_its_own(project, make_shop):
    """The gateway cannot know that the new key belongs to another account, so it creates the product and the price that it misses there."""
    shop = make_shop(project, mode="own")
    plan = make(shop)
    other = make_shop(project, mode="own")
    agrees(other, save(other, plan, amount=20))


def test_another_account_gets_products_of_its_own(project, make_shop):
    shop = make_shop(project)
    plan = make(shop)
    project.admin.delete(f"{PAY}/processor-connect/credentials", expect=204)
    other = make_shop(project)
    assert other.account != shop.account
    moved = save(other, plan, amount=20)
    agrees(other, moved)


def test_what_is_deleted_is_retired(shop):
    plan = save(shop, make(shop), amount=20)
    shop.admin.delete(f"{PLANS}/{plan['id']}", expect=204)
    assert not prices(shop) and [each["active"] for each in shop.objects("product")] == [False]


def test_a_plan_stays_while_it_cannot_be_retired(shop):
    plan = make(shop)
    shop.fault("status", 9, status=503, path="/v1/p*")
    shop.admin.delete(f"{PLANS}/{plan['id']}", expect=503)
    shop.processor.clear_faults()
    assert shop.admin.get(f"{PLANS}/{plan['id']}", expect=200).json()["synced"] is False
    agrees(shop, save(shop, plan, name="Still here"))
    shop.admin.delete(f"{PLANS}/{plan['id']}", expect=204)
    assert not prices(shop)


# --- errors ---

@pytest.mark.parametrize("path", ["/v1/products", "/v1/prices"])
@pytest.mark.parametrize("kind", [("status", 500), ("status", 503), ("status", 401), ("status", 429), ("timeout", 0),
                                  ("reset", 0), ("garbage", 0)])
def test_it_is_saved_without_the_processor_and_synced_later(shared_shop, processor, path, kind):
    shared_shop.fault(kind[0], 9, method="POST", path=path, status=kind[1] or 500)
    plan = make(shared_shop, plan_name=f"{path}-{kind[0]}-{kind[1]}".replace("/", ""))
    assert plan["synced"] is False and plan["sync_error"]
    processor.clear_faults()
    agrees(shared_shop, save(shared_shop, plan, description="Everything"))


@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("kind", ["reset", "status"])
def test_a_change_of_price_at_any_step(shared_shop, processor, step, kind):
    """A change of price updates the product, creates a price and deactivates the old price. When any answer is lost, the next save completes the
    change."""
    before = len(shared_shop.objects("price"))
    plan = make(shared_shop, plan_name=f"change-{step}-{kind}")
    shared_shop.fault(kind, 9, method="POST", path="/v1/p*", skip=step, status=503, act=kind == "reset")
    changed = save(shared_shop, plan, name="Other", amount=99)
    assert changed["amount"] == 99
    processor.clear_faults()
    agrees(shared_shop, save(shared_shop, plan, name="Other"))
    assert len(shared_shop.objects("price")) == before + 2


def test_the_processors_refusal_is_shown(shop):
    shop.fault("status", 1, status=400, method="POST", path="/v1/prices")
    plan = make(shop)
    assert plan["synced"] is False and plan["sync_error"] and plan["processor_product_id"]
    agrees(shop, save(shop, plan))


def test_an_answer_lost_for_longer_than_keys_are_kept(shop):
    shop.fault("reset", 9, method="POST", path="/v1/prices", act=True)
    plan = make(shop)
    assert plan["processor_price_id"] is None
    shop.processor.clear_faults()
    shop.processor.store.results.clear()
    agrees(shop, save(shop, plan))
    shop.processor.store.results.clear()
    assert len(shop.objects("price")) == 1


def test_what_was_removed_there_is_made_anew(shop):
    plan = make(shop)
    with shop.processor.store.lock:
        for kind in ("product", "price"):
            shop.processor.store.spaces[shop.account][kind].clear()
        shop.processor.store.results.clear()
    agrees(shop, save(shop, plan, amount=3))


def test_saves_side_by_side_end_in_one_state(shop):
    plan = make(shop)
    clients = [Client(shop.admin.base_url, token=shop.admin.token) for _ in range(8)]

    def change(number):
        for turn in range(4):
            clients[number].put(f"{PLANS}/{plan['id']}", {"amount": 1 + number * 10 + turn}, timeout=60)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    agrees(shop, save(shop, plan))


@pytest.mark.parametrize("skip", range(3))
def test_a_gateway_that_is_killed_in_the_middle(shop, start_gateway, skip):
    """The gateway is killed after any number of calls to the processor: the next save completes the change."""
    plan = make(shop)
    gateway = start_gateway(WORKERS=1)
    client = Client(f"{gateway.url}/org/{shop.project.id}", token=shop.admin.token)
    shop.fault("delay", 1, method="POST", path="/v1/p*", skip=skip, seconds=3)

    def change():
        try:
            client.put(f"{PLANS}/{plan['id']}", {"name": "Killed", "amount": 77})
        except OSError:
            pass

    thread = threading.Thread(target=change)
    thread.start()
    until(lambda: not shop.processor.faults_left(), "the gateway's call is in progress")
    os.killpg(gateway.process.pid, signal.SIGKILL)
    thread.join()
    changed = shop.admin.get(f"{PLANS}/{plan['id']}").json()
    assert changed["amount"] == 77
    agrees(shop, save(shop, plan))
    assert len(shop.objects("price")) == 2
