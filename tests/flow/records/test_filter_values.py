"""Every operator can filter by every value that a field holds: lists and pairs in all their forms, on every route that reads
filters."""
import itertools
import json

import pytest
from groundwork.records import ids

WORDS = ["", " ", "a", "a,b", "Smith, John", ' "x"', '"', '""', '"a","b"', 'TV 55" OLED', " ends ", "\tTab", "line\nbreak", ",", ",,", "%_\\",
         "ÄPFEL", "日本語😀", "null", "true", "[0]", "&=+#", "'"]
STATES = ["open", "on hold", "Paid, late", 'the "last"', "späť"]
VALUES = {
    "s": WORDS, "t": WORDS,
    "i": [0, -1, 2**63 - 1, -(2**63), 7], "f": [0.5, -1e300, 3, 2.5], "d": ["0.10", "-5", "12345678901234567890.5"],
    "b": [True, False], "day": ["2024-02-29", "0001-01-01", "9999-12-31"],
    "at": ["2026-03-01T10:00:00.000Z", "2026-03-01T10:00:00.001Z", "0001-01-01T00:00:00.000Z"],
    "e": STATES,
}
COUNT = len(WORDS)
ITEMS = "/entities/words/items"
ORDERED = [field for field in VALUES if field not in ("b", "e")]  # enums order by their position


def text_of(value):
    return json.dumps(value) if isinstance(value, (bool, int, float)) else value


def quoted(value):
    return '"' + value.replace('"', '""') + '"'


def plain_or_quoted(value):
    """Quotes the value only if the form requires it."""
    return quoted(value) if "," in value or value.strip(" \t").startswith('"') else value


FORMS = {
    "quoted": lambda name, values: [(name, ",".join(map(quoted, values)))],
    "with blanks": lambda name, values: [(name, " , ".join(map(quoted, values)))],
    "as needed": lambda name, values: [(name, ",".join(map(plain_or_quoted, values)))],
    "brackets": lambda name, values: [(f"{name}[]", value) for value in values],
    "places": lambda name, values: [(f"{name}[{n}]", value) for n, value in reversed(list(enumerate(values)))],
}


@pytest.fixture(scope="module")
def world(shared_project):
    project = shared_project
    project.admin.post("/enums", {"name": "state", "values": STATES}, expect=201)
    project.entity("tags", [{"name": "label", "type": "varchar"}])
    types = {"s": "varchar", "t": "text", "i": "integer", "f": "float", "d": "decimal", "b": "bool", "day": "date", "at": "datetime"}
    project.entity("words", [
        *({"name": name, "type": kind} for name, kind in types.items()),
        {"name": "e", "type": "enum", "options": {"enum": "state"}}, {"name": "r", "type": "relation", "options": {"entity": "tags"}},
        {"name": "many", "type": "relation", "options": {"entity": "tags", "many": True}}, {"name": "pic", "type": "file"}])
    project.tags = [project.item("tags", label=label)["id"] for label in ("a,b", '"', "")]
    project.stored = [
        {field: values[n] if n < len(values) else None for field, values in VALUES.items()}
        | {"r": (project.tags + [None])[n % 4], "many": project.tags[:n % 3]} for n in range(COUNT)]
    made = project.admin.post(f"{ITEMS}/bulk", {"items": project.stored}, expect=201).json()
    assert made["created"] == COUNT, made
    project.ids = [result["id"] for result in made["results"]]
    return project


def found(world, params, path=ITEMS):
    answer = world.admin.get(path, params=[*params, ("limit", "500"), ("sort", "id")], expect=200)
    return [world.ids.index(number) for number in ids(answer)]


def chosen(values):
    values = [text_of(value) for value in values]
    return [[value] for value in values] + [list(pair) for pair in itertools.pairwise(values)] + [values]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", VALUES)
def test_lists_of_all_that_is_stored(world, field, form):
    stored = [text_of(record[field]) for record in world.stored]
    for values in chosen(VALUES[field]):
        within = [n for n, value in enumerate(stored) if value in values]
        assert found(world, FORMS[form](f"filter[{field}][in]", values)) == within, values
        assert found(world, FORMS[form](f"filter[{field}][nin]", values)) == [n for n in range(COUNT) if n not in within], values


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", ORDERED)
def test_pairs_of_all_that_is_stored(world, field, form):
    for value in VALUES[field]:
        text = text_of(value)
        assert found(world, FORMS[form](f"filter[{field}][between]", [text, text])) == [
            n for n, record in enumerate(world.stored) if record[field] == value and record[field] is not None], value


@pytest.mark.parametrize("field", ["s", "t"])
def test_single_values(world, field):
    for value in WORDS:
        for operator, holds in (("eq", str.__eq__), ("contains", str.__contains__), ("icontains", str.__contains__),
                                ("starts_with", str.startswith), ("ends_with", str.endswith)):
            wanted = [n for n, word in enumerate(WORDS) if holds(word, value)]
            shown = found(world, [(f"filter[{field}][{operator}]", value)])
            assert shown == wanted if operator != "icontains" else set(wanted) <= set(shown), (operator, value)
        assert found(world, [(f"filter[{field}][ne]", value)]) == [n for n in range(COUNT) if WORDS[n] != value]


@pytest.mark.parametrize("form", FORMS)
def test_lists_through_relations_and_in_groups(world, form):
    labels = ["a,b", '"']
    through = [n for n in range(COUNT) if n % 4 in (0, 1)]
    assert found(world, FORMS[form]("filter[r.label][in]", labels)) == through
    assert found(world, FORMS[form]("filter[r][in]", [str(tag) for tag in world.tags[:2]])) == through
    assert found(world, FORMS[form]("filter[many][in]", [str(tag) for tag in world.tags[:2]])) == [n for n in range(COUNT) if n % 3]
    assert found(world, FORMS[form]("filter[or][0][s][in]", ["a,b", ""]) + [("filter[or][1][i]", "7")]) == [0, 3, 4]
    assert found(world, FORMS[form]("filter[or][0][and][0][s][in]", ["a,b", ""]) + [("filter[or][1][i]", "7")]) == [0, 3, 4]
    two = FORMS[form]("filter[s][in]", ["a,b", "", "a"]) + FORMS[form]("filter[s][nin]", ["a", "b"])
    assert found(world, two) == [0, 3]


@pytest.mark.parametrize("form", FORMS)
def test_wherever_filters_are_read(world, form):
    values = ["Smith, John", '"', " ends "]
    within = [n for n, word in enumerate(WORDS) if word in values]
    params = FORMS[form]("filter[s][in]", values)
    answer = world.admin.get(f"{ITEMS}/aggregate", params=[("count", "*"), *params], expect=200).json()
    assert answer["items"] == [{"count": 3}]
    lines = world.admin.get(f"{ITEMS}/export", params=[("format", "jsonl"), ("sort", "id"), *params], expect=200).text.splitlines()
    assert [json.loads(line)["s"] for line in lines] == [WORDS[n] for n in within]
    walked, cursor = [], "start"
    while cursor is not None:
        page = world.admin.get(ITEMS, params=[("cursor", cursor), ("limit", "2"), *params], expect=200).json()
        walked, cursor = walked + [world.ids.index(item["id"]) for item in page["items"]], page["next_cursor"]
    assert walked == within


def test_lists_in_bodies(world):
    made = world.admin.post(f"{ITEMS}/bulk", {"items": [{"s": "go, now"}, {"s": "stay"}, {"s": '"go"'}]}, expect=201).json()
    for value, count in ((["go, now"], 1), ('"""go""","go, now"', 1), ('"stay"', 1)):
        assert world.admin.post(f"{ITEMS}/delete-many", {"filter": {"s": {"in": value}}}, expect=200).json()["deleted"] == count
    assert made["created"] == 3 and len(found(world, [])) == COUNT


@pytest.mark.parametrize("query,message", [
    ('filter[s][in]="a', "quote"), ('filter[s][nin]="a"b,c', "quote"), ('filter[s][between]="a","b" c', "quote"),
    ('filter[i][in]="1","x"', "whole number"), ("filter[s][eq][]=a", "takes one value"), ("filter[s][in][x]=a", "a condition is"),
    ("filter[s][between][]=a", "two values"), ("filter[or][0]=a", "a condition is"), ("filter[or][0][in][0]=a", ""),
    ("filter[s][in]=" + ",".join(['"a"'] * 501), "more than 500"),
])
def test_lists_that_are_refused(world, query, message):
    answer = world.admin.get(f"{ITEMS}?{query}", expect=400).json()
    assert answer["code"] == "invalid_query" and message in answer["errors"][0]["message"], answer
