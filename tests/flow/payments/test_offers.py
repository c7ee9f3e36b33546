"""/integrations/svcpay/offers: what a code grants, and that concurrent redemptions never exceed a limit."""
import concurrent.futures

import pytest

BASE = "/integrations/svcpay/offers"
CREDIT = {"name": "Welcome", "kind": "credit", "amount": 5, "currency": "credits"}


def offer(admin, **body):
    return admin.post(BASE, {**CREDIT, **body}, expect=201).json()


def codes(admin, of, **body):
    return [item["code"] for item in admin.post(f"{BASE}/{of['id']}/codes", body, expect=201).json()["items"]]


def shopper(project):
    return project.user(permissions=["svc_subscription_plans:read"])


def redeem(client, code, **expect):
    return client.post(f"{BASE}/me/redeem", {"code": code}, **{"expect": 200, **expect}).json()


def balance(project, client):
    held = project.admin.get(f"/integrations/svcpay/balances/{client.user['id']}", expect=200).json()["balances"]
    return {b["unit"]: b["amount"] for b in held}


def test_life_of_an_offer(project):
    admin = project.admin
    made = offer(admin, description="For new ones")
    assert (made["amount"], made["amount_minor"], made["currency"], made["per_user_limit"]) == (5, 5, "credits", 1)
    assert made["redeemed"] == 0 and made["is_active"] is True and made["plan_ids"] == []
    changed = admin.put(f"{BASE}/{made['id']}", {"max_redemptions": 9, "description": None}, expect=200).json()
    assert changed == {**made, "max_redemptions": 9, "description": None, "updated_at": changed["updated_at"]}
    other = admin.put(f"{BASE}/{made['id']}", {"kind": "percent", "percent_off": 12.5, "amount": None}, expect=200).json()
    assert (other["kind"], other["percent_off"], other["amount"]) == ("percent", 12.5, None)
    assert admin.get(f"{BASE}/{made['id']}", expect=200).json() == other
    assert [o["id"] for o in admin.get(BASE, expect=200).json()["items"]] == [made["id"]]
    assert admin.post(BASE, CREDIT, expect=409).json()["errors"][0]["field"] == "name"
    admin.delete(f"{BASE}/{made['id']}", expect=204)
    admin.get(f"{BASE}/{made['id']}", expect=404)
    admin.delete(f"{BASE}/{made['id']}", expect=404)


@pytest.mark.parametrize("body, field", [
    ({"kind": "percent"}, "percent_off"),
    ({"kind": "percent", "percent_off": 0}, "percent_off"),
    ({"kind": "percent", "percent_off": 100.5}, "percent_off"),
    ({"kind": "percent", "percent_off": 1.234}, "percent_off"),
    ({"kind": "amount", "currency": "usd"}, "amount"),
    ({"kind": "amount", "amount": 3}, "currency"),
    ({"kind": "amount", "amount": 3, "currency": "credits"}, "currency"),
    ({"kind": "amount", "amount": 3.001, "currency": "usd"}, "amount"),
    ({"kind": "credit", "amount": -1, "currency": "usd"}, "amount"),
    ({"kind": "credit", "amount": 0, "currency": "usd"}, "amount"),
    ({"kind": "trial"}, "trial_days"),
    ({"kind": "store"}, "store_offer_id"),
    ({"kind": "gift"}, "kind"),
    ({"kind": "trial", "trial_days": 3, "starts_at": "soon"}, "starts_at"),
    ({"kind": "trial", "trial_days": 3, "starts_at": "2030-01-02T00:00:00Z", "ends_at": "2030-01-02T00:00:00Z"}, "ends_at"),
])
def test_bad_offers(shared_project, body, field):
    answer = shared_project.admin.post(BASE, {"name": "Bad", **body}, expect=400).json()
    assert field in [error["field"] for error in answer["errors"]]


def test_an_offer_ends_behind_its_beginning(project):
    made = offer(project.admin, starts_at="2030-01-02T00:00:00Z")
    answer = project.admin.put(f"{BASE}/{made['id']}", {"ends_at": "2030-01-01T00:00:00Z"}, expect=400).json()
    assert answer["errors"][0]["field"] == "ends_at"
    early = {"starts_at": None, "ends_at": "2030-01-01T00:00:00Z"}
    assert project.admin.put(f"{BASE}/{made['id']}", early, expect=200).json()["starts_at"] is None


def test_a_new_currency_asks_for_its_amount(project):
    made = offer(project.admin, currency="usd")
    answer = project.admin.put(f"{BASE}/{made['id']}", {"currency": "jpy"}, expect=400).json()
    assert answer["errors"][0]["field"] == "amount"
    changed = project.admin.put(f"{BASE}/{made['id']}", {"currency": "jpy", "amount": 700}, expect=200).json()
    assert (changed["amount"], changed["amount_minor"]) == (700, 700)


def test_codes(project):
    admin = project.admin
    made = offer(admin)
    assert codes(admin, made, codes=["autumn", "Winter-1"]) == ["AUTUMN", "WINTER-1"]
    random = codes(admin, made, count=50)
    assert len(set(random)) == 50 and all(len(code) == 12 for code in random)
    admin.post(f"{BASE}/{made['id']}/codes", {"codes": ["NEW", "AUTUMN"]}, expect=409)
    admin.post(f"{BASE}/{made['id']}/codes", {"codes": ["Twice", "TWICE"]}, expect=409)
    page = admin.get(f"{BASE}/{made['id']}/codes?limit=3", expect=200).json()
    assert page["total_items"] == 52 and page["items"][0]["code"] == "AUTUMN"
    one = page["items"][0]
    changed = admin.put(f"{BASE}/{made['id']}/codes/{one['id']}", {"max_redemptions": 2, "is_active": False}, expect=200)
    assert changed.json()["max_redemptions"] == 2 and changed.json()["is_active"] is False
    admin.delete(f"{BASE}/{made['id']}/codes/{one['id']}", expect=204)
    admin.put(f"{BASE}/{made['id']}/codes/{one['id']}", {"is_active": True}, expect=404)
    logged = [entry["action"] for entry in admin.get("/audit-log", expect=200).json()["items"]]
    assert logged[:2] == ["offers.code_delete", "offers.code_update"]
    admin.post(f"{BASE}/424242/codes", {}, expect=404)
    for body in ({"codes": []}, {"codes": ["a b"]}, {"codes": ["x" * 41]}, {"count": 0}, {"count": 1, "codes": ["A"]}):
        admin.post(f"{BASE}/{made['id']}/codes", body, expect=400)


def test_redeeming_credit(project):
    buyer, other = shopper(project), shopper(project)
    made = offer(project.admin)
    (code,) = codes(project.admin, made, codes=["HELLO"])
    answer = redeem(buyer, " hello ")
    assert answer["offer_id"] == made["id"] and answer["kind"] == "credit" and answer["redeem_url"] is None
    assert redeem(buyer, code, expect=409)["code"] == "offer_unavailable"
    redeem(other, code)
    assert balance(project, buyer) == balance(project, other) == {"credits": 5}
    told = project.admin.get(f"{BASE}/{made['id']}/redemptions", expect=200).json()
    assert [d["user_id"] for d in told["items"]] == [other.user["id"], buyer.user["id"]]
    assert redeem(buyer, "NOTHING", expect=404)["code"] == "not_found"
    assert redeem(buyer, "no code!", expect=404)["code"] == "not_found"


def test_a_key_redeems_once(project):
    """The answer was lost: when the client repeats the request with the same key, a code that may be redeemed twice is redeemed once."""
    buyer = shopper(project)
    made = offer(project.admin, per_user_limit=5)
    (code,) = codes(project.admin, made)
    first = redeem(buyer, code, headers={"Idempotency-Key": "one"})
    assert redeem(buyer, code, headers={"Idempotency-Key": "one"}) == first
    assert balance(project, buyer) == {"credits": 5}
    assert redeem(buyer, "OTHER", headers={"Idempotency-Key": "one"}, expect=422)["code"] == "idempotency_mismatch"
    assert redeem(buyer, code)["redemption_id"] != first["redemption_id"]
    assert balance(project, buyer) == {"credits": 10}


@pytest.mark.parametrize("of, with_code, why", [
    ({"is_active": False}, {}, "not active"),
    ({"starts_at": "2999-01-01T00:00:00Z"}, {}, "not begun"),
    ({"ends_at": "2001-01-01T00:00:00Z"}, {}, "ended"),
    ({}, {"expires_at": "2001-01-01T00:00:00Z"}, "ended"),
    ({}, {"user_id": 424242}, "another user"),
    ({"plan_ids": [7]}, {}, "not for this plan"),
])
def test_what_cannot_be_redeemed(project, of, with_code, why):
    (code,) = codes(project.admin, offer(project.admin, **of), **with_code)
    assert why in redeem(shopper(project), code, expect=409)["detail"]


def test_limits_hold_when_many_redeem_at_once(project):
    made = offer(project.admin, max_redemptions=3, per_user_limit=100)
    many = codes(project.admin, made, count=8, max_redemptions=1)
    buyer = shopper(project)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda code: buyer.post(f"{BASE}/me/redeem", {"code": code}).status_code, many * 2))
    assert sorted(statuses) == [200] * 3 + [409] * 13
    assert balance(project, buyer) == {"credits": 15}
    assert project.admin.get(f"{BASE}/{made['id']}", expect=200).json()["redeemed"] == 3


def test_codes_of_mine(project):
    buyer = shopper(project)
    made = offer(project.admin)
    (mine,) = codes(project.admin, made, user_id=buyer.user["id"])
    codes(project.admin, made, count=3)
    assert [c["code"] for c in buyer.get(f"{BASE}/me/codes", expect=200).json()["items"]] == [mine]
    redeem(buyer, mine)
    assert buyer.get(f"{BASE}/me/codes", expect=200).json()["items"] == [], "a user redeems an offer once"
    project.admin.put(f"{BASE}/{made['id']}", {"per_user_limit": 2}, expect=200)
    assert [c["code"] for c in buyer.get(f"{BASE}/me/codes", expect=200).json()["items"]] == [mine]
    project.admin.put(f"{BASE}/{made['id']}", {"max_redemptions": 1}, expect=200)
    assert buyer.get(f"{BASE}/me/codes", expect=200).json()["items"] == [], "the offer is used up"
    project.admin.put(f"{BASE}/{made['id']}", {"max_redemptions": None}, expect=200)
    assert [c["code"] for c in buyer.get(f"{BASE}/me/codes", expect=200).json()["items"]] == [mine]
    project.admin.put(f"{BASE}/{made['id']}", {"is_active": False}, expect=200)
    assert buyer.get(f"{BASE}/me/codes", expect=200).json()["items"] == []


def test_codes_for_subscriptions_are_not_redeemed_here(project):
    made = offer(project.admin, kind="trial", trial_days=14, amount=None, currency=None)
    (code,) = codes(project.admin, made)
    assert "offer_code" in redeem(shopper(project), code, expect=409)["detail"]
    assert project.admin.get(f"{BASE}/{made['id']}", expect=200).json()["redeemed"] == 0
