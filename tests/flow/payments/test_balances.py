"""/integrations/svcpay/balances: every change is an entry, and the entries add up to the balance."""
import concurrent.futures
import threading

import pytest

BASE = "/integrations/svcpay/balances"


def adjust(client, user_id, amount, unit="usd", expect=200, headers=None, **more):
    body = {"amount": amount, "unit": unit, "reason": "test", **more}
    return client.post(f"{BASE}/{user_id}/adjust", body, expect=expect, headers=headers).json()


def history(client, user_id, query=""):
    return client.get(f"{BASE}/{user_id}/history{query}", expect=200).json()["items"]


def test_adjust_list_get_history(project):
    admin, holder = project.admin, project.user().user["id"]
    assert admin.get(f"{BASE}/{holder}", expect=200).json() == {"user_id": holder, "balances": []}
    first = adjust(admin, holder, 12.5, reference="order 7")
    assert (first["amount"], first["amount_minor"], first["unit"]) == (12.5, 1250, "usd")
    adjust(admin, holder, -0.1)
    adjust(admin, holder, 30, unit="Credits")
    adjust(admin, holder, 5, unit="JPY")
    held = admin.get(f"{BASE}/{holder}", expect=200).json()["balances"]
    assert {b["unit"]: (b["amount"], b["amount_minor"]) for b in held} == {
        "credits": (30, 30), "jpy": (5, 5), "usd": (12.4, 1240)}
    page = admin.get(f"{BASE}?unit=usd", expect=200).json()
    assert [b["user_id"] for b in page["items"]] == [holder] and page["total_items"] == 1
    entries = history(admin, holder, "?unit=usd")
    assert [(e["delta"], e["balance"], e["reference"]) for e in entries] == [(-0.1, 12.4, None), (12.5, 12.5, "order 7")]
    assert entries[0]["actor_id"] == admin.user["id"]
    assert len(history(admin, holder)) == 4


def test_pages_show_each_balance_once(project):
    admin, holder = project.admin, project.user().user["id"]
    units = {f"unit-{number}" for number in range(25)}
    for unit in units:
        adjust(admin, holder, 1, unit=unit)
    for sort in ("user_id", "amount_minor", "unit"):
        pages = [admin.get(f"{BASE}?sort={sort}&limit=7&page={page}", expect=200).json()["items"] for page in range(1, 5)]
        seen = [balance["unit"] for page in pages for balance in page]
        assert len(seen) == 25 and set(seen) == units, sort


def test_nobody_spends_what_is_not_there(project):
    admin, holder = project.admin, project.user().user["id"]
    adjust(admin, holder, 10)
    assert adjust(admin, holder, -10.01, expect=409)["code"] == "conflict"
    assert adjust(admin, holder, -10.01, may_overdraw=True)["amount"] == -0.01
    assert len(history(admin, holder)) == 2


def test_nobody_holds_more_than_can_be_counted(project):
    admin, holder, most = project.admin, project.user().user["id"], 2**53 - 1
    assert adjust(admin, holder, most, unit="Points")["amount_minor"] == most
    assert adjust(admin, holder, 1, unit="points", expect=409)["code"] == "conflict"
    adjust(admin, holder, -most, unit="points")
    assert adjust(admin, holder, -most, unit="points", may_overdraw=True)["amount_minor"] == -most
    assert adjust(admin, holder, -1, unit="points", may_overdraw=True, expect=409)["code"] == "conflict"
    assert [e["balance_minor"] for e in history(admin, holder, "?unit=POINTS")] == [-most, 0, most]
    assert admin.get(f"{BASE}?unit=Points", expect=200).json()["total_items"] == 1


def test_changes_at_once_add_up(project):
    admin, holder = project.admin, project.user().user["id"]
    adjust(admin, holder, 10)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        bodies = [{"amount": -1, "unit": "usd", "reason": "race"}] * 16
        codes = list(pool.map(lambda body: admin.post(f"{BASE}/{holder}/adjust", body).status_code, bodies))
    assert sorted(codes) == [200] * 10 + [409] * 6
    entries = history(admin, holder)
    assert entries[0]["balance_minor"] == 0 and sum(e["delta_minor"] for e in entries) == 0


def test_a_key_changes_once(project):
    admin, holder = project.admin, project.user().user["id"]
    key = {"Idempotency-Key": "adjust-1"}
    first = adjust(admin, holder, 7, headers=key)
    again = admin.post(f"{BASE}/{holder}/adjust", {"amount": 7, "unit": "usd", "reason": "test"}, headers=key, expect=200)
    assert again.json() == first and again.headers["Idempotent-Replayed"] == "true"
    assert adjust(admin, holder, 8, headers=key, expect=422)["code"] == "idempotency_mismatch"
    assert adjust(admin, holder, 7, idempotency_key="adjust-2")["amount"] == 14
    assert adjust(admin, holder, 7, idempotency_key="adjust-2")["amount"] == 14
    assert len(history(admin, holder)) == 2


def test_a_refused_change_leaves_its_key(project):
    admin, holder = project.admin, project.user().user["id"]
    key = {"Idempotency-Key": "later"}
    adjust(admin, holder, -5, headers=key, expect=409)
    adjust(admin, holder, 5)
    assert adjust(admin, holder, -5, headers=key)["amount"] == 0


def test_many_with_one_key_change_once(project):
    admin, holder = project.admin, project.user().user["id"]
    start = threading.Barrier(12)

    def one(_):
        start.wait()
        return admin.post(f"{BASE}/{holder}/adjust", {"amount": 3, "unit": "usd", "reason": "race"},
                          headers={"Idempotency-Key": "race"}).status_code

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        codes = set(pool.map(one, range(12)))
    assert 200 in codes and codes <= {200, 409}
    assert [e["balance"] for e in history(admin, holder)] == [3]


@pytest.mark.parametrize("body, field", [
    ({"unit": "usd", "reason": "x"}, "amount"),
    ({"amount": 1, "reason": "x"}, "unit"),
    ({"amount": 1, "unit": "usd"}, "reason"),
    ({"amount": 0, "unit": "usd", "reason": "x"}, "amount"),
    ({"amount": "1", "unit": "usd", "reason": "x"}, "amount"),
    ({"amount": 0.001, "unit": "usd", "reason": "x"}, "amount"),
    ({"amount": -0.001, "unit": "usd", "reason": "x"}, "amount"),
    ({"amount": 0.5, "unit": "jpy", "reason": "x"}, "amount"),
    ({"amount": 0.5, "unit": "credits", "reason": "x"}, "amount"),
    ({"amount": 1e300, "unit": "usd", "reason": "x"}, "amount"),
    ({"amount": -9223372036854775808, "unit": "usd", "reason": "x"}, "amount"),
    ({"amount": 1, "unit": "us d", "reason": "x"}, "unit"),
    ({"amount": 1, "unit": "", "reason": "x"}, "unit"),
    ({"amount": 1, "unit": "usd", "reason": ""}, "reason"),
])
def test_bad_changes(shared_project, body, field):
    answer = shared_project.admin.post(f"{BASE}/{shared_project.admin.user['id']}/adjust", body, expect=400).json()
    assert field in [error["field"] for error in answer["errors"]]


def test_nobody(shared_project):
    admin = shared_project.admin
    admin.get(f"{BASE}/424242", expect=404)
    admin.get(f"{BASE}/424242/history", expect=404)
    adjust(admin, 424242, 1, expect=404)
