"""Writers of many records lock them in one order: writers of the same records wait for each other, and no deadlock fails one of
them."""
import concurrent.futures
import random

import pytest
from groundwork.records import rows

AT_ONCE = 8
ITEMS = "/entities/parts/items"


@pytest.fixture
def parts(project):
    project.entity("tags", [{"name": "name", "type": "varchar"}])
    project.tags = [project.item("tags", name=str(n))["id"] for n in range(20)]
    return project.entity("parts", [
        {"name": "code", "type": "varchar", "unique": True}, {"name": "number", "type": "integer", "unique": True},
        {"name": "price", "type": "decimal", "unique": True}, {"name": "n", "type": "integer"},
        {"name": "tags", "type": "relation", "options": {"entity": "tags", "many": True}}])


@pytest.fixture
def deadlocks(db):
    def count():
        return rows(db, "select deadlocks from pg_stat_database where datname = current_database()")[0][0]

    before = count()
    yield lambda: count() - before


def call_together(project, call, times):
    """Makes `times` calls on several clients concurrently, and returns the answers."""
    clients = [project.client(token=project.admin.token) for _ in range(AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda n: call(clients[n % AT_ONCE], random.Random(n)), range(times)))


KEYS = {
    "code": [f"k{n}" for n in range(100)],
    "number": list(range(-50, 50)),
    "price": ["1.5", "-2", "10", "9.99", "0.001", "100", "-0.5", "7e1", "3", "2.50"] + [str(n) for n in range(200, 260)],
}


@pytest.mark.parametrize("key", KEYS)
def test_upserts_of_the_same_keys(project, parts, deadlocks, key):
    def upsert(client, chance):
        items = [{key: value, "n": chance.randrange(100), "tags": chance.sample(project.tags, 3)} for value in KEYS[key]]
        chance.shuffle(items)
        return client.post(f"{ITEMS}/bulk", {"mode": "upsert", "on_conflict": [key], "items": items}), items

    for answer, items in call_together(project, upsert, 40):
        assert answer.status_code == 201, answer.text
        results = answer.json()["results"]
        assert [result["index"] for result in results] == list(range(len(items)))
    assert deadlocks() == 0
    stored = {record["id"]: record for page in (1, 2) for record in
              project.admin.get(ITEMS, params={"limit": 50, "page": page}, expect=200).json()["items"]}
    for result, item in zip(results, items):
        mine = stored[result["id"]][key]
        assert mine == (float(item[key]) if key == "price" else item[key]), "a result belongs to its item"


def test_new_records_of_the_same_keys(project, parts, deadlocks):
    """Each of several concurrent bulks with the same keys is refused or made, and every key is made once."""
    def create(client, chance):
        items = [{"code": f"c{n}"} for n in range(200)]
        chance.shuffle(items)
        return client.post(f"{ITEMS}/bulk", {"items": items, "atomic": chance.random() < 0.5})

    answers = [answer for answer in call_together(project, create, 24)]
    assert {answer.status_code for answer in answers} <= {201, 409}, [answer.text[:300] for answer in answers]
    assert sum(answer.json().get("created", 0) for answer in answers) == 200
    assert deadlocks() == 0


def test_removals_of_the_same_records(project, parts, deadlocks):
    made = project.admin.post(f"{ITEMS}/bulk", {"items": [{"code": f"d{n}", "tags": project.tags[:2]} for n in range(300)]}, expect=201)
    numbers = [result["id"] for result in made.json()["results"]]

    def remove(client, chance):
        mine = numbers[:]
        chance.shuffle(mine)
        return client.post(f"{ITEMS}/delete-many", {"ids": mine})

    answers = call_together(project, remove, 8)
    assert {answer.status_code for answer in answers} == {200}, [answer.text[:300] for answer in answers]
    assert sum(answer.json()["deleted"] for answer in answers) == 300
    assert deadlocks() == 0


def test_the_last_of_equal_items_counts(project, parts):
    items = [{"code": code, "n": n, "tags": [project.tags[n]]} for n, code in enumerate("bab")]
    answer = project.admin.post(f"{ITEMS}/bulk", {"mode": "upsert", "on_conflict": ["code"], "items": items}, expect=201).json()
    first, other, last = (result["id"] for result in answer["results"])
    assert first == last != other and (answer["created"], answer["updated"]) == (2, 1)
    record = project.admin.get(f"{ITEMS}/{last}", expect=200).json()
    assert (record["n"], record["tags"]) == (2, [project.tags[2]])
    refused = project.admin.post(f"{ITEMS}/bulk", {"mode": "upsert", "on_conflict": ["code"], "items": [
        {"code": "z", "number": 1}, {"code": "y", "number": 2}, {"code": "x", "number": 1}]})
    assert refused.status_code == 409 and refused.json()["errors"][0]["field"] == "items[2].number"
