"""Locks that editors hold on records."""
import concurrent.futures
import time

import pytest
from groundwork.records import execute, rows
from groundwork.soon import await_status

ITEMS = "/entities/products/items"


@pytest.fixture(scope="module")
def shop(shared_project):
    shared_project.entity("products", row_level_security=False)
    shared_project.one, shared_project.two = (shared_project.user(entities=["products"]) for _ in range(2))
    return shared_project


@pytest.fixture
def path(shop):
    return f"{ITEMS}/{shop.item('products', client=shop.one, name='x')['id']}"


def lock(client, path, expect=200, token=None, **body):
    return client.post(f"{path}/lock", body, headers={"X-Lock-Token": token}, expect=expect).json()


def test_a_lock_keeps_others_out(shop, path):
    held = lock(shop.one, path, ttl_seconds=60)
    assert set(held) == {"lock_token", "locked_by", "expires_at"} and held["locked_by"] == shop.one.user["id"]
    number = int(path.rsplit("/", 1)[1])
    for client in (shop.two, shop.admin, shop.one):  # without the token even the holder of the lock is refused
        for method, address, body in (("PUT", path, {"name": "y"}), ("PATCH", path, {"name": "y"}), ("PUT", path, {}),
                                      ("DELETE", path, None), ("POST", f"{path}/lock", {}),
                                      ("POST", f"{ITEMS}/delete-many", {"ids": [number]}),
                                      ("POST", f"{ITEMS}/delete-many", {"filter": {"id": number}})):
            if method == "PUT" and body == {}:
                continue
            answer = client.request(method, address, json=body, expect=423)
            assert answer.json()["code"] == "locked", address
    assert shop.two.get(path, expect=200).json()["name"] == "x"
    headers = {"X-Lock-Token": held["lock_token"]}
    assert shop.one.put(path, {"name": "y"}, headers=headers, expect=200).json()["name"] == "y"
    shop.two.put(path, {"name": "z"}, headers={"X-Lock-Token": "guess"}, expect=423)
    shop.one.delete(f"{path}/lock", headers=headers, expect=204)
    shop.two.put(path, {"name": "free"}, expect=200)
    shop.two.delete(path, expect=204)


def test_the_holder_may_delete(shop, path):
    token = lock(shop.one, path)["lock_token"]
    shop.one.delete(path, headers={"X-Lock-Token": token}, expect=204)


def test_the_holder_extends_it(shop, path):
    held = lock(shop.one, path, ttl_seconds=60)
    again = lock(shop.one, path, token=held["lock_token"], ttl_seconds=600)
    assert again["lock_token"] == held["lock_token"] and again["expires_at"] > held["expires_at"]
    lock(shop.two, path, token="guess", expect=423)


def test_unlocking(shop, path):
    for client in (shop.one, shop.admin):
        assert client.delete(f"{path}/lock", expect=409).json()["code"] == "not_locked"
    token = lock(shop.one, path)["lock_token"]
    shop.two.delete(f"{path}/lock", expect=423)
    answer = shop.two.delete(f"{path}/lock", headers={"X-Lock-Token": "guess"}, expect=409)
    assert answer.json()["code"] == "lock_token_invalid"
    shop.two.put(path, {"name": "y"}, expect=423)
    shop.admin.delete(f"{path}/lock", expect=204)
    shop.two.put(path, {"name": "y"}, expect=200)
    stale = shop.one.put(path, {"name": "z"}, headers={"X-Lock-Token": token})
    assert stale.status_code == 200, "a token of a lock that is gone is no obstacle"


def test_locks_end_by_themselves(shop, path):
    held = lock(shop.one, path, ttl_seconds=60)
    shop.two.put(path, {"name": "y"}, expect=423)
    lock(shop.one, path, token=held["lock_token"], ttl_seconds=1)
    await_status(lambda: shop.two.put(path, {"name": "y"}), 200)
    lock(shop.two, path)


def test_tokens_are_stored_hashed(shop, path, db):
    token = lock(shop.one, path)["lock_token"]
    stored = rows(db, f"select token_hash from {shop.schema(db)}.record_locks where record_id = %s", path.rsplit("/", 1)[1])
    assert token.encode() not in bytes(stored[0][0]) and len(token) >= 32


@pytest.mark.parametrize("body, code", [
    ({"ttl_seconds": 0}, "out_of_range"), ({"ttl_seconds": -1}, "out_of_range"), ({"ttl_seconds": 3601}, "out_of_range"),
    ({"ttl_seconds": "60"}, "type_mismatch"), ({"ttl_seconds": 1.5}, "type_mismatch"), ({"ttl": 5}, "unknown_field")])
def test_bodies_that_make_no_sense(shop, path, body, code):
    answer = shop.one.post(f"{path}/lock", body, expect=400)
    assert code in answer.text


def test_a_lock_without_a_body_lasts_a_minute(shop, path, db):
    shop.one.request("POST", f"{path}/lock", expect=200)
    left = rows(db, f"select extract(epoch from expires_at - now()) from {shop.schema(db)}.record_locks where record_id = %s",
                path.rsplit("/", 1)[1])[0][0]
    assert 50 < left <= 60


def test_one_of_many_gets_it(shop, path):
    clients = [shop.client(token=shop.one.token) for _ in range(10)]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        done = list(pool.map(lambda client: client.post(f"{path}/lock", {}).status_code, clients))
    assert sorted(done) == [200] + [423] * 9


def test_upserts_and_bulk_deletes_respect_locks(project):
    project.entity("goods", [{"name": "sku", "type": "varchar", "unique": True}, {"name": "n", "type": "integer"}])
    items = "/entities/goods/items"
    record = project.item("goods", sku="a", n=1)
    token = lock(project.admin, f"{items}/{record['id']}")["lock_token"]
    body = {"items": [{"sku": "b", "n": 2}, {"sku": "a", "n": 2}], "mode": "upsert", "on_conflict": ["sku"]}
    assert project.admin.post(f"{items}/bulk", body, expect=423).json()["code"] == "locked"
    assert [item["n"] for item in project.admin.get(items).json()["items"]] == [1]
    each = project.admin.post(f"{items}/bulk", {**body, "atomic": False}, expect=201).json()
    assert (each["created"], each["updated"], each["failed"]) == (1, 0, 1) and each["results"][1]["error"]["code"] == "locked"
    assert project.admin.post(f"{items}/bulk", body, headers={"X-Lock-Token": token}, expect=201).json()["updated"] == 2


def test_locks_do_not_reveal_of_hidden_records(project, db):
    """A lock needs a record that the caller may change; the lock's routes answer 404 if the caller does not see the record."""
    project.entity("products")
    user = project.user(entities=["products"])
    record = project.item("products", name="hidden")
    path = f"{ITEMS}/{record['id']}"
    user.post(f"{path}/lock", {}, expect=404)
    user.delete(f"{path}/lock", expect=404)
    project.admin.post(f"{path}/lock", {}, expect=200)
    user.post(f"{path}/lock", {}, expect=404)
    user.put(path, {"name": "x"}, expect=404)
    project.admin.put(f"{path}/rls-users", {"items": [{"user_id": user.user["id"]}]}, expect=200)
    await_status(lambda: user.get(path), 200)
    assert user.post(f"{path}/lock", {}).status_code == 403
    assert rows(db, f"select count(*) from {project.schema(db)}.record_locks")[0][0] == 1
    execute(db, f"update {project.schema(db)}.record_locks set expires_at = now()")
    time.sleep(0.01)
    project.admin.put(path, {"name": "y"}, expect=200)
