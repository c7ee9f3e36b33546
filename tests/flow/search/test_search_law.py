"""Nothing that a caller can observe depends on rows, fields or entities that it may not see: answers are the same and, apart
from noise, take the same time, whether hidden words exist or not."""
import statistics
import time

import pytest
from groundwork.searching import wait_indexed, search

FIELDS = [{"name": "title", "type": "varchar", "searchable": True}, {"name": "remark", "type": "text", "searchable": True}]
# Texts that the caller sees. Hidden words are mistyped forms, prefixes or continuations of words in these texts.
SEEN = ["lantern on the table", "lanterns", "walnut table", "walnat", "harbour light", "salary of the year", "copper", "coppers"]
HIDDEN = ["lantarn", "lanten", "lantern", "lanterna", "walnuts", "wulnut", "salaries", "selary", "copperas", "harbours", "zeppelin", "zep"]
# More words than a prefix (64) or a typo (16) expands to: the service chooses only among words that the caller sees.
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SEEN += [f"quil{a}{b}" for a in LETTERS[:10] for b in LETTERS[:7]] + [f"meridia{a}" for a in LETTERS[:20]]
HIDDEN += [f"quil{a}" for a in LETTERS] + [f"quil{a}{b}" for a in LETTERS[10:] for b in LETTERS[:4]] + [f"mer{a}dian" for a in LETTERS]
HIDDEN += [f"meridi{a}n" for a in LETTERS]
QUERIES = ["quil", "qui", "q", "quil lantern", "quila", "meridian", "meridia", "meridian table", "-quil* lantern", "lantern", "lantarn", "lanten", "lan", "walnut", "walnut table", "wal", "salary", "salaries", "selary", "sal", "copper", "cop",
           "harbour", "harbours", "zeppelin", "zeppelim", "zep", "lantern zeppelin", '"walnut table"', "lantern -zeppelin", "title:lantern", "*"]
BOXES = ["quil", "qu", "meridia", "lantern quil", "lan", "wal", "sal", "cop", "har", "zep", "walnut ta", "lantern z"]


@pytest.fixture
def caller(project, indexer):
    project.entity("notes", FIELDS)
    project.entity("hidden", FIELDS)
    role = project.role(permissions=["notes:read", "notes:create", "svc_search:read"],
                        field_access=[{"entity": "notes", "action": "read", "fields": ["title"]}])
    made = project.user(role_ids=[role["id"]])
    made.post("/entities/notes/items/bulk", {"items": [{"title": text} for text in SEEN]}, expect=201)
    return made


def observe(caller):
    """Returns all that the caller can see of its searches, apart from their duration."""
    seen = {}
    for query in QUERIES:
        answer = search(caller, query)
        answer.pop("took_ms")
        seen[query] = answer
    for box in BOXES:
        answer = caller.get("/search/suggest", params={"q": box}, expect=200).json()
        answer.pop("took_ms")
        seen["box", box] = answer
    return seen


def add_many(project, entity, items):
    for at in range(0, len(items), 500):
        project.admin.post(f"/entities/{entity}/items/bulk", {"items": items[at:at + 500]}, expect=201)


def hide_rows(project, count=40):
    add_many(project, "notes", [{"title": word} for word in HIDDEN for _ in range(count // 10)])


def hide_fields(project):
    for item in project.admin.get("/entities/notes/items", params={"limit": 500}, expect=200).json()["items"]:
        project.admin.put(f"/entities/notes/items/{item['id']}", {"remark": " ".join(HIDDEN)}, expect=200)


def hide_entities(project):
    add_many(project, "hidden", [{"title": word} for word in HIDDEN for _ in range(4)])


@pytest.mark.parametrize("hide", [hide_rows, hide_fields, hide_entities])
def test_answers_do_not_know_what_is_hidden(project, caller, db, hide):
    wait_indexed(project, db, "notes", "hidden")
    before = observe(caller)
    hide(project)
    wait_indexed(project, db, "notes", "hidden")
    after = observe(caller)
    for asked, answer in before.items():
        if hide is hide_fields:  # the records were changed, so their times differ
            for found in (answer, after[asked]):
                for item in found["items"]:
                    item.get("record", {}).pop("updated_at", None)
        assert after[asked] == answer, asked


def test_a_revoked_row_is_gone_at_once(project, caller, db):
    number = project.item("notes", title="zeppelin")["id"]
    path = f"/entities/notes/items/{number}/rls-users"
    project.admin.put(path, {"items": [{"user_id": caller.user["id"]}]}, expect=200)
    wait_indexed(project, db, "notes", "hidden")
    assert [item["id"] for item in search(caller, "zeppelin")["items"]] == [number]
    project.admin.delete(path, expect=204)
    end = time.monotonic() + 2
    while time.monotonic() < end:
        assert search(caller, "zeppelin")["items"] == []


@pytest.mark.full
def test_time_does_not_tell(project, caller, db):
    """A word that is hidden in many rows takes about as long as a word that exists nowhere: medians of alternating searches."""
    hide_rows(project, 100)
    wait_indexed(project, db, "notes", "hidden")
    spent = {"zeppelin": [], "quixotry": []}
    for _ in range(60):
        for query, times in spent.items():
            begun = time.perf_counter()
            search(caller, query)
            times.append(time.perf_counter() - begun)
    hidden, nowhere = (statistics.median(times) for times in spent.values())
    assert hidden < 2 * nowhere + 0.002, (hidden, nowhere)
