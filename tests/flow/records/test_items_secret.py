"""Secret fields: sealed in the table, masked in every answer, of no use in queries (A11)."""
import json

import pytest
from groundwork.records import column, ids, rows, table

ITEMS = "/entities/vault/items"
SECRET = "correct-horse-7391"


@pytest.fixture(scope="module")
def vault(shared_project):
    shared_project.vault = shared_project.entity("vault", [
        {"name": "name", "type": "varchar", "unique": True}, {"name": "token", "type": "secret"},
        {"name": "pin", "type": "secret", "required": True}])
    return shared_project


def stored(vault, db, name, record):
    statement = f"select {column(vault.vault, name)} from {table(vault, db, vault.vault)} where id = %s"
    value = rows(db, statement, record["id"])[0][0]
    return None if value is None else bytes(value)


def test_sealed_in_the_table(vault, db):
    one, two = (vault.item("vault", name=name, token=SECRET, pin="1") for name in "ab")
    sealed = stored(vault, db, "token", one)
    assert SECRET.encode() not in sealed and sealed != stored(vault, db, "token", two), "equal secrets must not look equal"
    whole = rows(db, f"select t::text from {table(vault, db, vault.vault)} t")
    assert SECRET not in str(whole) and SECRET.encode().hex() not in str(whole)


def test_masked_everywhere(vault):
    record = vault.item("vault", name="masked", token=SECRET, pin="1")
    assert (record["token"], record["pin"]) == ("********", "********")
    path = f"{ITEMS}/{record['id']}"
    texts = [
        vault.admin.get(path).text, vault.admin.get(f"{path}?fields=token").text, vault.admin.get(ITEMS).text,
        vault.admin.get(f"{ITEMS}/export?format=csv").text, vault.admin.get(f"{ITEMS}/export?format=jsonl").text,
        vault.admin.put(path, {"token": SECRET + "2"}, expect=200).text,
        vault.admin.post(f"{ITEMS}/bulk", {"items": [{"name": "m2", "token": SECRET, "pin": "1"}]}, expect=201).text]
    assert not any(SECRET in text for text in texts)
    assert SECRET not in vault.gateway.log()


def test_the_mask_keeps_what_is_stored(vault, db):
    record = vault.item("vault", name="kept", token=SECRET, pin="1")
    path, before = f"{ITEMS}/{record['id']}", stored(vault, db, "token", record)
    vault.admin.put(path, {**{k: v for k, v in record.items() if k in ("name", "token", "pin")}, "name": "kept2"}, expect=200)
    assert stored(vault, db, "token", record) == before
    vault.admin.put(path, {"token": "other"}, expect=200)
    assert stored(vault, db, "token", record) != before
    assert vault.admin.put(path, {"token": None}, expect=200).json()["token"] is None
    assert stored(vault, db, "token", record) is None
    vault.admin.put(path, {"pin": None}, expect=400)
    vault.admin.post(ITEMS, {"name": "nopin", "pin": "********"}, expect=400)


def test_an_upsert_with_the_mask_keeps_it(vault, db):
    record = vault.item("vault", name="up", token=SECRET, pin="1")
    before = stored(vault, db, "token", record), stored(vault, db, "pin", record)
    body = {"items": [{"name": "up", "token": "********", "pin": "********"}], "mode": "upsert", "on_conflict": ["name"]}
    answer = vault.admin.post(f"{ITEMS}/bulk", body)
    if answer.status_code == 201:
        assert (stored(vault, db, "token", record), stored(vault, db, "pin", record)) == before
    else:
        assert answer.status_code == 400, answer.text  # a required secret must be in the item, because the item could be new


@pytest.mark.parametrize("query", [
    f"filter[token]={SECRET}", "filter[token][null]=true", "filter[token][ne]=x", "filter[token][starts_with]=c", "filter[token][in]=a",
    "filter[or][0][token]=x", "sort=token", "sort=-token"])
def test_a11_queries_learn_nothing(vault, query):
    answer = vault.admin.get(f"{ITEMS}?{query}", expect=400)
    assert answer.json()["code"] == "invalid_query"
    if "sort" not in query:
        vault.admin.get(f"{ITEMS}/aggregate?{query}", expect=400)
    vault.admin.get(f"{ITEMS}/export?{query}", expect=400)


def test_a11_aggregates_and_deletes_learn_nothing(vault):
    vault.item("vault", name="z", token=SECRET, pin="1")
    for query in ("group_by=token", "min=token", "max=token", "sum=token", "avg=token"):
        vault.admin.get(f"{ITEMS}/aggregate?{query}", expect=400)
    count = len(ids(vault.admin.get(ITEMS)))
    vault.admin.post(f"{ITEMS}/delete-many", {"filter": {"token": SECRET}}, expect=400)
    vault.admin.post(f"{ITEMS}/delete-many", {"filter": {"token": {"null": False}}}, expect=400)
    assert len(ids(vault.admin.get(ITEMS))) == count
    body = {"items": [{"name": "q", "pin": "1"}], "mode": "upsert", "on_conflict": ["token"]}
    vault.admin.post(f"{ITEMS}/bulk", body, expect=400)


def test_secrets_that_are_too_much(vault):
    answer = vault.admin.post(ITEMS, {"pin": "x" * 100000}, expect=400)
    assert answer.json()["errors"][0]["code"] == "too_long"
    vault.admin.post(ITEMS, {"pin": "ü" * 1000}, expect=201)
    assert json.loads(vault.admin.get(f"{ITEMS}?limit=1").text)
