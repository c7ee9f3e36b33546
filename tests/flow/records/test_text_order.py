"""Texts are ordered and compared by the project's locale on all routes; filters for equality and unique fields compare them as
written."""
import json
import random

import pytest
from groundwork.records import codes, execute, rows
from groundwork.soon import settle

ITEMS = "/entities/words/items"
ROOT, SWEDISH = ["Äpfel", "apple", "Banana"], ["apple", "Banana", "Äpfel"]
ALPHABETS = ["abcxyzABCXYZ", "äåöÄÅÖéèßøœñ", "a\u0301e\u0308A\u030ao\u0302", "αβγΩ", "жшщЯ", "中文字", "🙂👍", " -_.,'()&", "\u200b\u200d\u00ad", "0123"]


@pytest.fixture
def words(project):
    project.entity("shelves", [{"name": "name", "type": "varchar"}], row_level_security=False)
    entity = project.entity("words", [
        {"name": "w", "type": "varchar", "indexed": True}, {"name": "code", "type": "varchar", "unique": True}, {"name": "n", "type": "integer"},
        {"name": "shelf", "type": "relation", "options": {"entity": "shelves"}}], row_level_security=False)
    project.words = {name: f"f_{field['id']}" for name, field in ((field["name"], field) for field in entity["fields"])}
    project.table = f"e_{entity['id']}"
    return project


def locale(project, name):
    project.admin.put("/", {"settings": {"locale": name}}, expect=200)
    settle()


def collation(name):
    return f'collate "{name or "und"}-x-icu"'


def listed(project, **parameters):
    return project.admin.get(ITEMS, params={"limit": 500, **parameters}, expect=200).json()["items"]


def texts(project, **parameters):
    return [item["w"] for item in listed(project, **parameters)]


def fill(project, values):
    items = [{"w": value, "code": f"{n}", "n": n} for n, value in enumerate(values)]
    project.admin.post(f"{ITEMS}/bulk", {"items": items}, expect=201)


@pytest.mark.parametrize("name, order", [(None, ROOT), ("de", ROOT), ("sv", SWEDISH), ("SV-fi", SWEDISH)])
def test_everywhere(words, name, order):
    fill(words, ["Banana", "apple", "Äpfel"])
    for word in ("Banana", "apple", "Äpfel"):
        shelf = words.item("shelves", name=word)["id"]
        item = listed(words, **{"filter[w]": word})[0]["id"]
        words.admin.put(f"{ITEMS}/{item}", {"shelf": shelf}, expect=200)
    locale(words, name)
    assert words.admin.get("/", expect=200).json()["settings"]["locale"] == {"SV-fi": "sv-FI"}.get(name, name)
    for key in ("w", "shelf.name"):
        assert texts(words, sort=key) == order
        assert texts(words, sort=f"-{key}") == order[::-1]
        for i, word in enumerate(order):
            assert texts(words, sort=key, **{f"filter[{key}][gt]": word}) == order[i + 1:]
            assert texts(words, sort=key, **{f"filter[{key}][gte]": word}) == order[i:]
            assert texts(words, sort=key, **{f"filter[{key}][lt]": word}) == order[:i]
            assert texts(words, sort=key, **{f"filter[{key}][lte]": word}) == order[:i + 1]
            assert texts(words, sort=key, **{f"filter[{key}][between]": f"{word},{order[-1]}"}) == order[i:]
        groups = words.admin.get(f"{ITEMS}/aggregate?group_by={key}&count=*&min={key}&max={key}", expect=200).json()["items"]
        assert [group[key] for group in groups] == order
        ends = words.admin.get(f"{ITEMS}/aggregate?min={key}&max={key}", expect=200).json()["items"][0]
        assert (ends["min"][key], ends["max"][key]) == (order[0], order[-1])
    exported = words.admin.get(f"{ITEMS}/export?format=jsonl&sort=w", expect=200).text
    assert [json.loads(line)["w"] for line in exported.splitlines()] == order
    chart = words.admin.post("/charts", {
        "name": "by word", "kind": "bar", "entity": "words", "group_by": [{"field": "w"}],
        "aggregates": [{"function": "count"}]}, expect=201).json()
    data = words.admin.get(f"/charts/{chart['id']}/data", expect=200).text
    assert sorted(order, key=data.index) == order


def draw(seed, count):
    """Returns texts of many scripts, composed and decomposed, some repeated, some null."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        kind = chance.random()
        if kind < 0.05:
            made.append(None)
        elif kind < 0.2 and made:
            made.append(chance.choice(made))
        else:
            made.append("".join(chance.choice(chance.choice(ALPHABETS)) for _ in range(chance.randrange(1, 7))))
    return made + ["é", "e\u0301", "É", "E\u0301", "é"]


def walk(project, sort, **parameters):
    walked, cursor = [], "start"
    while cursor is not None:
        page = project.admin.get(ITEMS, params={"sort": sort, "limit": 7, "cursor": cursor, "fields": "id", **parameters}, expect=200).json()
        walked += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    return walked


@pytest.mark.parametrize("name", [None, "sv", "de"])
def test_walks_and_comparisons_are_those_of_postgresql(words, db, name):
    """Cursor walks and comparisons agree with PostgreSQL, for null texts and, on a required field, by one row comparison."""
    fill(words, draw(name, 295))
    locale(words, name)
    table, word = f"{words.schema(db)}.{words.table}", words.words["w"]
    for direction, sign in (("", ""), (" desc", "-")):
        for sort, keys in ((f"{sign}w", f"{word} {collation(name)}{direction} nulls last, id{direction}"),
                           (f"n,{sign}w", f"{words.words['n']} nulls last, {word} {collation(name)}{direction} nulls last, id{direction}")):
            wanted = [row[0] for row in rows(db, f"select id from {table} order by {keys}")]
            assert walk(words, sort) == wanted
            assert [item["id"] for item in listed(words, sort=sort)] == wanted
    for pivot in random.Random(name).sample([value for value in draw(name, 295) if value], 12):
        for operator, sign in (("gt", ">"), ("gte", ">="), ("lt", "<"), ("lte", "<=")):
            wanted = rows(db, f"select id from {table} where {word} {collation(name)} {sign} %s order by id", pivot)
            found = [item["id"] for item in listed(words, fields="id", **{f"filter[w][{operator}]": pivot})]
            assert found == [row[0] for row in wanted], (pivot, operator)
        same = [row[0] for row in rows(db, f"select id from {table} where {word} = %s collate \"C\" order by id", pivot)]
        assert [item["id"] for item in listed(words, fields="id", **{"filter[w]": pivot})] == same
    execute(db, f"delete from {table} where {word} is null")
    words.admin.put("/entities/words/fields/w", {"required": True}, expect=200)
    for direction, sign in (("", ""), (" desc", "-")):
        wanted = rows(db, f"select id from {table} order by {word} {collation(name)}{direction}, id{direction}")
        assert walk(words, f"{sign}w") == [row[0] for row in wanted]


def test_found_and_unique_as_written(words):
    locale(words, "sv")
    words.item("words", w="caf\u00e9", code="\u00e9")
    words.item("words", w="cafe\u0301", code="e\u0301")
    words.item("words", w="CAF\u00c9", code="E")
    assert codes(words.admin.post(ITEMS, {"code": "\u00e9"}, expect=409)) == {"code": "unique_violation"}
    assert len(listed(words, **{"filter[w]": "caf\u00e9"})) == 1
    assert len(listed(words, **{"filter[w][in]": "caf\u00e9,cafe\u0301"})) == 2
    assert len(listed(words, **{"filter[w][starts_with]": "caf\u00e9"})) == 1
    assert len(listed(words, **{"filter[w][starts_with]": "cafe"})) == 1
    answer = words.admin.post(f"{ITEMS}/bulk", {"mode": "upsert", "on_conflict": ["code"], "items": [{"code": "e\u0301", "n": 5}]}, expect=201)
    assert answer.json()["updated"] == 1 and answer.json()["created"] == 0
    groups = words.admin.get(f"{ITEMS}/aggregate?group_by=w&count=*", expect=200).json()["items"]
    assert [group["count"] for group in groups] == [1, 1, 1]


def test_a_cursor_of_another_locale(words):
    fill(words, ["Banana", "apple", "Äpfel", "Zebra"])
    cursor = {sort: words.admin.get(ITEMS, params={"sort": sort, "limit": 2, "cursor": "start"}, expect=200).json()["next_cursor"]
              for sort in ("w", "n", "shelf.name,w")}
    locale(words, "sv")
    for sort in ("w", "shelf.name,w"):
        refused = words.admin.get(ITEMS, params={"sort": sort, "limit": 2, "cursor": cursor[sort]}, expect=400).json()
        assert refused["errors"][0]["field"] == "cursor" and "locale" in refused["errors"][0]["message"]
    assert len(words.admin.get(ITEMS, params={"sort": "n", "cursor": cursor["n"]}, expect=200).json()["items"]) == 2
    locale(words, None)
    assert len(words.admin.get(ITEMS, params={"sort": "w", "cursor": cursor["w"]}, expect=200).json()["items"]) == 2


@pytest.mark.parametrize("name", ["tlh", "", "de_DE", "de-x-icu", "C", "und-x-icu\" or true", "xx-YY", "German"])
def test_unknown_locales(shared_project, name):
    refused = shared_project.admin.put("/", {"settings": {"locale": name}}, expect=400)
    assert codes(refused) == {"settings.locale": "pattern"}
    assert "such as de" in refused.json()["errors"][0]["message"]
    assert shared_project.admin.get("/", expect=200).json()["settings"]["locale"] is None


def test_a_locale_that_the_server_lost(words, db):
    """With a locale that this server's ICU does not know, texts have the order of the root locale, and nothing fails."""
    fill(words, ["Banana", "apple", "Äpfel"])
    locale(words, "sv")
    execute(db, f"update {words.schema(db)}.settings set doc = jsonb_set(doc, '{{locale}}', '\"tlh\"') where kind = 'setting' and key = 'project'")
    execute(db, "update platform.projects set epoch = epoch + 1 where slug = %s", words.id)
    settle()
    assert texts(words, sort="w") == ROOT


def test_a_chart_that_is_kept(words):
    fill(words, ["Banana", "apple", "Äpfel"])
    chart = words.admin.post("/charts", {
        "name": "by word", "kind": "bar", "entity": "words", "group_by": [{"field": "w"}],
        "aggregates": [{"function": "count"}]}, expect=201).json()

    def shown():
        return [row[0] for row in words.admin.get(f"/charts/{chart['id']}/data", expect=200).json()["rows"]]

    for name, order in ((None, ROOT), ("sv", SWEDISH), ("de", ROOT)):
        locale(words, name)
        assert shown() == order


def test_names_of_other_lists(words):
    """Names that people choose are ordered by the locale in other lists, too."""
    for name in ("Banana", "apple", "Äpfel"):
        words.admin.post("/roles", {"name": name}, expect=201)
        words.admin.post("/folders", {"name": name}, expect=201)
        words.admin.post("/groups", {"name": name}, expect=201)

    def shown(path, order):
        items = words.admin.get(path, params={"sort": order}, expect=200).json()["items"]
        return [item["name"] for item in items if item["name"] in ROOT]

    for name, order in ((None, ROOT), ("sv", SWEDISH)):
        locale(words, name)
        for path in ("/roles", "/folders", "/groups"):
            assert shown(path, "name") == order and shown(path, "-name") == order[::-1]
