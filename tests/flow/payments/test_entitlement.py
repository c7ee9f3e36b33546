"""Entitlement: the rules for subscriptions of the processor and of the store, and which of several subscriptions counts."""
import itertools

import pytest

from groundwork.floods import raise_limits
from groundwork.records import execute, rows

BASE = "/integrations/svcpay/subscriptions"
MINE = f"{BASE}/me/entitlement"
NONE = {"has_access": False, "provider": None, "status": "none", "expires_at": None, "trial_length_days": 0,
        "subscription_id": None, "plan_id": None, "app_account_token": None}
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def project(shared_project):
    """One project for all tests of this module: each test signs in a reader of its own."""
    raise_limits(shared_project)
    return shared_project


@pytest.fixture
def reader(project):
    return project.user_with("svc_subscription_plans:read")


@pytest.fixture
def subscribe(project, db):
    """subscribe(user_id, status, ends="now() + '1 day'", **columns): inserts a subscription as webhooks would have left it and returns its id. Texts
    that start with now() are SQL."""
    schema = project.schema(db)

    def make(user_id, status, ends="now() + interval '1 day'", past_due_since=None, **columns):
        columns = {"subscriber_id": user_id, "status": status, "current_period_end": ends,
                   "provider_subscription_id": f"sub_{next(numbers)}", **columns}
        values = [value if str(value).startswith("now()") else "%s" for value in columns.values()]
        made = rows(db, f"insert into {schema}.subscriptions ({', '.join(columns)}) values ({', '.join(values)}) returning id",
                    *[value for value in columns.values() if not str(value).startswith("now()")])[0][0]
        if past_due_since:
            execute(db, f"insert into {schema}.subscription_history (subscription_id, at, from_status, to_status)"
                        f" values (%s, {past_due_since}, 'active', 'past_due')", made)
        return made

    return make


def mine(client):
    return client.get(MINE, expect=200).json()


def test_nobody_has_access_to_begin_with(project, reader):
    assert mine(reader) == NONE
    assert project.admin.get(f"{BASE}/by-user/{reader.user['id']}", expect=200).json() == NONE
    project.admin.get(f"{BASE}/by-user/424242", expect=404)
    project.admin.get(f"{BASE}/by-user/0", expect=404)
    reader.get(f"{BASE}/by-user/{reader.user['id']}", expect=403)
    project.user().get(MINE, expect=403)


@pytest.mark.parametrize("status, access", [
    ("trialing", True), ("active", True), ("incomplete", False), ("incomplete_expired", False), ("unpaid", False),
    ("paused", False), ("canceled", False)])
def test_states_of_the_processor(reader, subscribe, status, access):
    made = subscribe(reader.user["id"], status, trial_length_days=14)
    found = mine(reader)
    assert found["has_access"] is access and found["status"] == status and found["provider"] == "processor_web"
    assert found["subscription_id"] == made and found["trial_length_days"] == 14 and found["expires_at"]


def test_a_trial_ends_with_its_own_date(reader, subscribe):
    subscribe(reader.user["id"], "trialing", trial_end="now()::date + time '10:00'")
    assert mine(reader)["expires_at"].endswith("T10:00:00.000Z")


@pytest.mark.parametrize("since, columns, access", [
    ("now() - interval '1 day'", {}, True),                                    # three days of grace
    ("now() - interval '4 days'", {}, False),
    ("now() - interval '4 days'", {"grace_end": "now() + interval '1 hour'"}, True),
    ("now() - interval '1 day'", {"grace_end": "now() - interval '1 hour'"}, False)])
def test_past_due_has_days_of_grace(reader, subscribe, since, columns, access):
    subscribe(reader.user["id"], "past_due", "now() + interval '30 days'", since, **columns)
    assert mine(reader)["has_access"] is access and mine(reader)["status"] == "past_due"


STORE = {"provider": "iap_store", "environment": "Production"}


@pytest.mark.parametrize("status, store_status, ends, columns, access", [
    ("active", "active", "now() + interval '1 day'", {}, True),
    ("active", "active", "now() - interval '1 minute'", {}, False),            # no event may have reported its end
    ("trialing", "trialing", "now() + interval '1 day'", {}, True),
    ("trialing", "trialing", "now() - interval '1 day'", {}, False),
    ("past_due", "in_grace", "now() - interval '1 day'", {"grace_end": "now() + interval '1 day'"}, True),
    ("past_due", "in_grace", "now() - interval '9 days'", {"grace_end": "now() - interval '1 day'"}, False),
    ("past_due", "billing_retry", "now() - interval '1 day'", {}, False),
    ("canceled", "expired", "now() - interval '1 day'", {}, False),
    ("canceled", "revoked", "now() + interval '1 day'", {}, False),
    ("active", None, "now() + interval '1 day'", {}, True)])
def test_states_of_the_store(reader, subscribe, status, store_status, ends, columns, access):
    subscribe(reader.user["id"], status, ends, store_status=store_status, **STORE, **columns)
    found = mine(reader)
    assert found["has_access"] is access and found["provider"] == "iap_store"
    assert found["status"] == (store_status or status)


def test_the_best_of_several(reader, subscribe):
    user = reader.user["id"]
    subscribe(user, "canceled", "now() + interval '90 days'")
    assert mine(reader)["status"] == "canceled"
    soon = subscribe(user, "active", "now() + interval '1 day'")
    assert mine(reader)["subscription_id"] == soon
    store = subscribe(user, "active", "now() + interval '30 days'", store_status="active", **STORE)
    found = mine(reader)
    assert found["subscription_id"] == store and found["provider"] == "iap_store" and found["has_access"] is True
    subscribe(user, "active", "now() - interval '1 day'", store_status="active", **STORE)
    assert mine(reader)["subscription_id"] == store


def test_users_of_a_subscription_share_it(project, reader, subscribe):
    admin, other = project.admin, project.user_with("svc_subscription_plans:read", "svc_payments:read")
    shared = subscribe(other.user["id"], "active")
    users = f"{BASE}/{shared}/users"
    ids = [reader.user["id"]]
    assert admin.put(users, {"user_ids": ids}, expect=200).json() == {"user_ids": ids}
    assert mine(reader)["has_access"] is True and mine(reader)["subscription_id"] == shared
    listed = other.get(users, expect=200).json()
    assert [(item["user_id"], item["email"]) for item in listed["items"]] == [(ids[0], reader.user["email"])]
    assert mine(other)["subscription_id"] == shared
    for client in (reader, other):
        client.put(users, {"user_ids": []}, expect=403)
        client.delete(f"{users}/{ids[0]}", expect=403)
    admin.delete(f"{users}/{ids[0]}", expect=204)
    admin.delete(f"{users}/{ids[0]}", expect=404)
    assert mine(reader) == NONE
    admin.put(users, {"user_ids": ids * 2}, expect=200)
    admin.put(users, {"user_ids": []}, expect=200)
    assert mine(reader) == NONE
    assert admin.put(users, {"user_ids": [424242]}, expect=400).json()["errors"][0]["field"] == "user_ids"
    for path in (f"{BASE}/424242/users", f"{BASE}/0/users"):
        admin.get(path, expect=404)
        admin.put(path, {"user_ids": []}, expect=404)


def test_a_key_stands_for_its_maker(project, subscribe):
    subscribe(project.admin.user["id"], "active")
    key = project.key(["svc_subscription_plans:read"])
    assert mine(key)["has_access"] is True
    key.get(f"{BASE}/by-user/{project.admin.user['id']}", expect=403)


def test_the_plan_is_shown(project, reader, subscribe):
    plan = project.admin.post("/integrations/svcpay/subscription-plans", {
        "name": "Gold", "amount": 5, "currency": "usd", "billing_interval": "month"}, expect=201).json()
    subscribe(reader.user["id"], "active", plan_id=plan["id"])
    assert mine(reader)["plan_id"] == plan["id"]
    path = f"/integrations/svcpay/subscription-plans/{plan['id']}"
    assert project.admin.delete(path, expect=409).json()["code"] == "in_use"
