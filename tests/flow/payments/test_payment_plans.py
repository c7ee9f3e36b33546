"""/subscription-plans and /subscription-templates."""
import pytest

BASE = "/integrations/svcpay"
PLANS, TEMPLATES = f"{BASE}/subscription-plans", f"{BASE}/subscription-templates"
GOLD = {"plan_name": "gold", "name": "Gold", "description": "Everything", "type": "recurring", "amount": 12.5,
        "currency": "USD", "billing_interval": "month", "interval_count": 1, "trial_period_days": 14}


def make(client, **body):
    return client.post(PLANS, GOLD | body, expect=201).json()


def test_a_plan_is_made_read_changed_and_deleted(project):
    admin = project.admin
    answer = admin.post(PLANS, GOLD, expect=201)
    plan = answer.json()
    assert answer.headers["Location"].endswith(f"{PLANS}/{plan['id']}")
    assert isinstance(plan["tenant_id"], int)
    kept = {"plan_name": "gold", "name": "Gold", "description": "Everything", "type": "recurring", "amount": 12.5,
            "amount_minor": 1250, "currency": "usd", "billing_interval": "month", "interval_count": 1,
            "trial_period_days": 14, "is_active": True, "store_product_id": None, "processor_product_id": None,
            "processor_price_id": None, "synced": False, "sync_error": None}
    assert {name: plan[name] for name in kept} == kept
    path = f"{PLANS}/{plan['id']}"
    assert admin.get(path, expect=200).json() == plan
    changed = admin.put(path, {"amount": 15, "description": None, "store_product_id": "com.gold"}, expect=200).json()
    assert changed["amount"] == 15 and changed["amount_minor"] == 1500 and changed["description"] is None
    assert changed["store_product_id"] == "com.gold" and changed["trial_period_days"] == 14
    assert admin.patch(path, {"is_active": False}, expect=200).json()["is_active"] is False
    assert admin.get(f"{PLANS}?is_active=true", expect=200).json()["items"] == []
    assert [item["id"] for item in admin.get(f"{PLANS}?is_active=false", expect=200).json()["items"]] == [plan["id"]]
    admin.delete(path, expect=204)
    for call in (admin.get, admin.delete):
        call(path, expect=404)
    admin.put(path, {"name": "x"}, expect=404)


def test_one_of_the_names_is_enough(project):
    assert make(project.admin, plan_name="solo", name="solo")["name"] == "solo"
    body = {name: GOLD[name] for name in ("amount", "currency", "billing_interval")}
    assert project.admin.post(PLANS, body | {"name": "One"}, expect=201).json()["plan_name"] == "One"
    assert project.admin.post(PLANS, body | {"plan_name": "two"}, expect=201).json()["name"] == "two"
    project.admin.post(PLANS, body, expect=400)


@pytest.mark.parametrize("amount, currency, minor", [
    (12.5, "usd", 1250), (0, "eur", 0), (0.1, "eur", 10), (19.99, "gbp", 1999), (500, "jpy", 500), (5, "isk", 500),
    (5, "UGX", 500), (5.12, "kwd", 5120), (1.5, "bhd", 1500), (999999.99, "usd", 99999999)])
def test_amounts(shared_project, amount, currency, minor):
    plan = shared_project.admin.post(PLANS, GOLD | {"plan_name": f"{currency}{minor}", "amount": amount,
                                                    "currency": currency}, expect=201).json()
    assert plan["amount"] == amount and plan["amount_minor"] == minor and plan["currency"] == currency.lower()


@pytest.mark.parametrize("field, body", [
    ("amount", {"amount": -1}), ("amount", {"amount": 1.005}), ("amount", {"amount": "12"}), ("amount", {"amount": None}),
    ("amount", {"amount": 1.5, "currency": "jpy"}), ("amount", {"amount": 1.001, "currency": "kwd"}),
    ("amount", {"amount": 1000000}), ("currency", {"currency": "dollar"}), ("currency", {"currency": "u1d"}),
    ("billing_interval", {"billing_interval": "hour"}), ("interval_count", {"interval_count": 0}),
    ("interval_count", {"interval_count": 37}), ("interval_count", {"billing_interval": "year", "interval_count": 4}),
    ("interval_count", {"billing_interval": "week", "interval_count": 157}),
    ("interval_count", {"billing_interval": "day", "interval_count": 1096}),
    ("trial_period_days", {"trial_period_days": -1}), ("trial_period_days", {"trial_period_days": 731}),
    ("type", {"type": "one_off"}), ("name", {"name": ""}), ("is_active", {"is_active": "yes"}),
    ("processor_price_id", {"processor_price_id": "price_1"}), ("tenant_id", {"tenant_id": 1}), ("id", {"id": 1})])
def test_bad_bodies_name_the_field(shared_project, field, body):
    errors = shared_project.admin.post(PLANS, GOLD | body, expect=400).json()["errors"]
    assert field in [error["field"] for error in errors]


@pytest.mark.parametrize("missing", ["amount", "currency", "billing_interval"])
def test_terms_are_required(shared_project, missing):
    body = {name: value for name, value in GOLD.items() if name != missing}
    assert shared_project.admin.post(PLANS, body, expect=400).json()["errors"][0]["field"] == missing


def test_a_change_of_currency_keeps_the_amount(project):
    path = f"{PLANS}/{make(project.admin, amount=15)['id']}"
    assert project.admin.put(path, {"currency": "jpy"}, expect=200).json()["amount_minor"] == 15
    assert project.admin.put(path, {"currency": "usd", "amount": 1.5}, expect=200).json()["amount_minor"] == 150
    assert project.admin.put(path, {"currency": "jpy"}, expect=400).json()["errors"][0]["field"] == "amount"
    assert project.admin.put(path, {"interval_count": 40}, expect=400).json()["errors"][0]["field"] == "interval_count"
    assert project.admin.get(path).json()["amount"] == 1.5


def test_unique_members(project):
    make(project.admin, store_product_id="com.gold")
    for body, field in (({"name": "Other"}, "plan_name"), ({"plan_name": "b", "store_product_id": "com.gold"},
                                                           "store_product_id")):
        assert project.admin.post(PLANS, GOLD | body, expect=409).json()["errors"][0]["field"] == field
    other = make(project.admin, plan_name="silver")
    project.admin.put(f"{PLANS}/{other['id']}", {"plan_name": "gold"}, expect=409)


def test_who_may(project):
    reader, other = project.user_with("svc_subscription_plans:read"), project.user()
    plan = make(project.admin)
    path = f"{PLANS}/{plan['id']}"
    template = project.admin.post(TEMPLATES, {"name": "t", "plan_id": plan["id"]}, expect=201).json()
    for read in (PLANS, path, TEMPLATES, f"{TEMPLATES}/{template['id']}"):
        reader.get(read, expect=200)
        other.get(read, expect=403)
    for client in (reader, other):
        client.post(PLANS, GOLD, expect=403)
        client.put(path, {"name": "x"}, expect=403)
        client.delete(path, expect=403)
        client.post(TEMPLATES, {"name": "u", "plan_id": plan["id"]}, expect=403)
        client.put(f"{TEMPLATES}/{template['id']}", {"name": "u"}, expect=403)
        client.delete(f"{TEMPLATES}/{template['id']}", expect=403)


def test_changes_are_audited(project):
    plan = make(project.admin)
    project.admin.put(f"{PLANS}/{plan['id']}", {"name": "x"}, expect=200)
    project.admin.delete(f"{PLANS}/{plan['id']}", expect=204)
    actions = [item["action"] for item in project.admin.get("/audit-log?limit=50", expect=200).json()["items"]]
    for action in ("create", "update", "delete"):
        assert f"subscription_plans.{action}" in actions


# --- templates ---

def test_templates_of_a_plan_and_of_their_own(project):
    admin = project.admin
    plan = make(admin)
    of_plan = admin.post(TEMPLATES, {"name": "Of the plan", "plan_id": plan["id"], "trial_period_days": 30},
                         expect=201).json()
    assert of_plan["plan_id"] == plan["id"] and of_plan["amount"] is None and of_plan["trial_period_days"] == 30
    assert of_plan["interval_count"] is None and of_plan["currency"] is None
    own = admin.post(TEMPLATES, {"name": "Own", "amount": 5.12, "currency": "KWD", "billing_interval": "week"},
                     expect=201).json()
    assert own["plan_id"] is None and own["amount"] == 5.12 and own["amount_minor"] == 5120
    assert own["interval_count"] == 1 and own["trial_period_days"] == 0
    path = f"{TEMPLATES}/{own['id']}"
    assert admin.get(path, expect=200).json() == own
    assert admin.put(path, {"amount": 6}, expect=200).json()["currency"] == "kwd"
    moved = admin.put(path, {"plan_id": plan["id"]}, expect=200).json()
    assert moved["amount"] is None and moved["plan_id"] == plan["id"]
    assert admin.put(path, {"plan_id": None}, expect=400).json()["errors"][0]["field"] in ("currency", "amount")
    admin.put(path, {"plan_id": None, "amount": 1, "currency": "eur", "billing_interval": "year"}, expect=200)
    listed = admin.get(f"{TEMPLATES}?plan_id={plan['id']}", expect=200).json()
    assert [item["id"] for item in listed["items"]] == [of_plan["id"]] and listed["total_items"] == 1
    admin.delete(path, expect=204)
    admin.get(path, expect=404)
    admin.delete(path, expect=404)
    admin.put(path, {"name": "x"}, expect=404)


@pytest.mark.parametrize("field, body", [
    ("plan_id", {"plan_id": 424242}), ("plan_id", {"plan_id": 0}), ("currency", {}), ("amount", {"currency": "usd"}),
    ("billing_interval", {"currency": "usd", "amount": 1}), ("name", {"name": ""})])
def test_bad_templates(shared_project, field, body):
    errors = shared_project.admin.post(TEMPLATES, {"name": "Bad"} | body, expect=400).json()["errors"]
    assert field in [error["field"] for error in errors]


def test_a_template_of_a_plan_has_no_terms_of_its_own(project):
    plan = make(project.admin)
    body = {"name": "t", "plan_id": plan["id"], "amount": 3}
    assert project.admin.post(TEMPLATES, body, expect=400).json()["errors"][0]["field"] == "plan_id"
    project.admin.post(TEMPLATES, {"name": "t", "plan_id": plan["id"]}, expect=201)
    project.admin.post(TEMPLATES, {"name": "t", "plan_id": plan["id"]}, expect=409)
