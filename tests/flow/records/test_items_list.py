"""Lists: every operator on every type, compared with an oracle; relations, orders, pages, cursors, fields, expand."""
import decimal

import pytest
from groundwork.records import codes, ids, rows

THINGS = "/entities/things/items"
PARTIAL = "2026-03-01T10:00:00"
D = decimal.Decimal

# The values of each type, None included; a value's index is the index of its record.
VALUES = {
    "s": ["apple", "Apple pie", "banana", "50%", "a_b", "a\\b", None, "", "ÄPFEL", "o'brien; drop table x--", "a,b", "zz"],
    "t": ["long text one", "Long Text two", None, "x", "%", "_", "\\", "tab\tand\nline", "日本語", "'", '"', "true"],
    "i": [0, 1, -1, 2**53 + 1, -(2**63), 2**63 - 1, None, 7, 7, 8, 100, 42],
    "f": [0.5, -0.5, 1e300, 1e-300, 0.1, None, 3, 3.0000001, 100, 2.5, -1e10, 0.1],
    "d": [D("0.10"), D("0.1"), D("-5"), D("12345678901234567890.5"), None, D("3"), D("3.000"), D("99.99"), D("1"), D("2"), D("0"), D("7")],
    "b": [True, False, None, True, False, True, True, False, None, True, False, True],
    "day": ["2024-02-29", "2023-12-31", None, "0001-01-01", "9999-12-31", "2024-03-01", "2024-02-29", "1969-07-20",
            "2000-01-01", "2038-01-19", "2024-01-01", "2024-12-31"],
    "at": [f"{PARTIAL}.000Z", f"{PARTIAL}.001Z", f"{PARTIAL}.999Z", "2026-03-01T10:00:01.000Z", None, "1969-07-20T20:17:40.000Z",
           "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "2038-01-19T03:14:08.000Z", f"{PARTIAL}.500Z",
           "2000-01-01T00:00:00.000Z", f"{PARTIAL}.000Z"],
    "e": ["open", "paid", None, "on hold", "open", "paid", "open", "on hold", None, "open", "paid", "open"],
}
COUNT = 12


def text_of(value):
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def key_of(field, value):
    """Returns the value that the oracle compares: texts of dates and times compare in the same order, so that years beyond
    Python's datetime need no care."""
    return value if field != "d" else D(value)


PLACES = {}  # {text: its place in the order of the project's locale, as PostgreSQL sorts it}


def place_of(field, value):
    """Returns the value by which the oracle orders."""
    return PLACES[value] if field in ("s", "t", "e") else key_of(field, value)


def matches(field, op, stored, given):
    if op == "null":
        return (stored is None) == given
    if op == "ne":
        return stored is None or key_of(field, stored) != key_of(field, given)
    if op == "nin":
        return stored is None or key_of(field, stored) not in [key_of(field, value) for value in given]
    if stored is None:
        return False
    place = place_of(field, stored)
    return {
        "eq": lambda: key_of(field, stored) == key_of(field, given),
        "gt": lambda: place > place_of(field, given),
        "gte": lambda: place >= place_of(field, given),
        "lt": lambda: place < place_of(field, given),
        "lte": lambda: place <= place_of(field, given),
        "in": lambda: key_of(field, stored) in [key_of(field, value) for value in given],
        "between": lambda: place_of(field, given[0]) <= place <= place_of(field, given[1]),
        "contains": lambda: given in stored,
        "icontains": lambda: given.lower() in stored.lower(),
        "starts_with": lambda: stored.startswith(given),
        "ends_with": lambda: stored.endswith(given),
    }[op]()


ORDERED = ("gt", "gte", "lt", "lte", "between")
SETS = ("eq", "ne", "in", "nin")
TEXTS = ("contains", "icontains", "starts_with", "ends_with")
FITS = {
    "s": SETS + ORDERED + TEXTS, "t": SETS + ORDERED + TEXTS, "i": SETS + ORDERED, "f": SETS + ORDERED, "d": SETS + ORDERED,
    "b": SETS, "day": SETS + ORDERED, "at": SETS + ORDERED, "e": SETS + ORDERED,
}
OPERATORS = SETS + ORDERED + TEXTS + ("null",)


@pytest.fixture(scope="module")
def world(shared_project, servers):
    """A project with 12 things, authors and tags; its `ids` are the ids of the things by index."""
    project = shared_project
    connection = servers.connect()
    texts = [value for field in ("s", "t", "e") for value in VALUES[field] if value is not None]
    order = rows(connection, 'select distinct v collate "und-x-icu" from unnest(%s) as v order by 1', texts)
    PLACES.update({text: place for place, (text,) in enumerate(order)})
    connection.close()
    project.admin.post("/enums", {"name": "status", "values": ["open", "paid", "on hold"]}, expect=201)
    project.entity("countries", [{"name": "code", "type": "varchar"}])
    project.entity("authors", [
        {"name": "name", "type": "varchar"}, {"name": "age", "type": "integer"},
        {"name": "country", "type": "relation", "options": {"entity": "countries"}}])
    project.entity("tags", [{"name": "label", "type": "varchar"}, {"name": "weight", "type": "integer"}])
    project.entity("things", [
        {"name": "s", "type": "varchar"}, {"name": "t", "type": "text"}, {"name": "i", "type": "integer"},
        {"name": "f", "type": "float"}, {"name": "d", "type": "decimal"}, {"name": "b", "type": "bool"},
        {"name": "day", "type": "date"}, {"name": "at", "type": "datetime"}, {"name": "j", "type": "json"},
        {"name": "e", "type": "enum", "options": {"enum": "status"}}, {"name": "pass", "type": "secret"},
        {"name": "pic", "type": "file"},
        {"name": "author", "type": "relation", "options": {"entity": "authors"}},
        {"name": "tags", "type": "relation", "options": {"entity": "tags", "many": True}}])
    project.countries = [project.item("countries", code=code)["id"] for code in ("BO", "PE")]
    project.authors = [
        project.item("authors", name=name, age=age, country=country)["id"]
        for name, age, country in (("Ana", 30, project.countries[0]), ("Ben", 40, project.countries[1]), ("Cy", None, None))]
    project.tags = [project.item("tags", label=label, weight=i)["id"] for i, label in enumerate(("red", "green", "blue"))]
    items = []
    for n in range(COUNT):
        item = {field: (str(values[n]) if isinstance(values[n], D) else values[n]) for field, values in VALUES.items()}
        item |= {"j": {"n": n}, "pass": f"hidden{n}", "author": (project.authors + [None])[n % 4],
                 "tags": [tag for bit, tag in enumerate(project.tags) if n >> bit & 1]}
        items.append(item)
    body = project.admin.post(f"{THINGS}/bulk", {"items": items}, expect=201).json()
    assert body["created"] == COUNT, body
    project.ids = [result["id"] for result in body["results"]]
    return project


def listed(world, expect=200, **params):
    return world.admin.get(THINGS, params={"limit": 500, **params}, expect=expect)


def found(world, **params):
    """Returns the indexes of the things in a list."""
    return [world.ids.index(number) for number in ids(listed(world, sort="id", **params))]


def test_values_come_back(world):
    for n, record in enumerate(listed(world, sort="id").json()["items"]):
        for field, values in VALUES.items():
            shown = record[field]
            if field == "d" and shown is not None:
                assert abs(float(values[n]) - shown) <= 1e-9 * abs(shown)
            else:
                assert shown == values[n], (field, n)
        assert record["j"] == {"n": n} and record["pass"] == "********" and record["pic"] is None


@pytest.mark.parametrize("field", VALUES)
def test_every_operator_on_every_type(world, field):
    stored = VALUES[field]
    if field == "e":
        samples = ["open", "paid", "on hold"]
    else:
        samples = list(dict.fromkeys(value for value in stored if value is not None))
    for op in OPERATORS:
        if op != "null" and op not in FITS[field]:
            answer = listed(world, expect=400, **{f"filter[{field}][{op}]": text_of(samples[0])})
            assert answer.json()["code"] == "invalid_query"
            continue
        if op == "null":
            cases = [True, False]
        elif op in ("in", "nin"):
            plain = [value for value in samples if "," not in str(value) and value != '"']  # the others: test_filter_values.py
            cases = [plain[:1], plain[:3], plain[-2:], plain]
        elif op == "between":
            cases = [(a, b) for a in samples[:4] for b in samples[-3:] if not {",", '"'} & set(f"{a}{b}")]
        elif op in TEXTS:
            cases = ["a", "A", "%", "_", "\\", "a_b", "50%", "äpfel", "e", "", "'", "日", "text"]
        else:
            cases = samples
        for given in cases:
            text = ",".join(map(text_of, given)) if isinstance(given, (list, tuple)) else text_of(given)
            wanted = [n for n in range(COUNT) if matches(field, op, stored[n], given)]
            assert found(world, **{f"filter[{field}][{op}]": text}) == wanted, (field, op, given)
            if op == "eq":
                assert found(world, **{f"filter[{field}]": text}) == wanted, (field, given)


def test_times_in_other_zones_and_forms(world):
    for text in ("2026-03-01T10:00:00Z", "2026-03-01T06:00:00-04:00", "2026-03-01T10:00:00.000+00:00"):
        assert found(world, **{"filter[at]": text}) == [0, 11], text
    assert found(world, **{"filter[at][gt]": "2026-03-01T10:00:00Z", "filter[at][lt]": "2026-03-01T10:00:01Z"}) == [1, 2, 9]


@pytest.mark.parametrize("field, text", [
    ("i", "x"), ("i", ""), ("i", "1.5"), ("i", "9223372036854775808"), ("i", "1 "), ("i", "0x1"), ("i", "１"), ("i", "1e3"),
    ("f", "x"), ("f", "nan"), ("f", "inf"), ("f", "1e999"), ("f", ""), ("f", "0x1p3"), ("d", "x"), ("d", "NaN"),
    ("d", "Infinity"),
    ("d", "1e999999"), ("d", ""), ("d", "1_000"), ("b", "1"), ("b", "TRUE"), ("b", ""), ("b", "null"),
    ("day", "2024-02-30"), ("day", "2024-2-1"), ("day", "today"), ("day", "0000-01-01"), ("day", "infinity"),
    ("day", "10000-01-01"),
    ("at", "now"), ("at", "2026-03-01T"), ("at", "2026-03-01T10"), ("at", "2026-13-01T10:00:00Z"), ("at", "infinity"),
    ("at", "0000-01-01T00:00:00Z"), ("e", "closed"), ("e", ""), ("e", "OPEN"), ("author", "x"), ("author", ""), ("tags", "x"),
    ("pic", "x"), ("id", "x"), ("created_at", "x"), ("created_by", "me"),
])
def test_values_that_do_not_fit(world, field, text):
    for op in ("eq", "ne", "in"):
        answer = listed(world, expect=400, **{f"filter[{field}][{op}]": text})
        assert codes(answer) == {f"filter[{field}][{op}]": "invalid_query"}, answer.text


@pytest.mark.parametrize("query", [
    "filter[s][like]=x", "filter[s][EQ]=x", "filter[s][]=x", "filter[s][eq][ne]=x", "filter[s][eq][0]=x", "filter[s][null]=1", "filter[s][null]=",
    "filter[i][between]=1", "filter[i][between]=1,2,3", "filter[i][between]=,", "filter=x", "filter[]=x", "filter[s",
    "filter[[s]]=1",
    "filter[or][0]=x", "filter[or][a][s]=1", "filter[or][100][s]=1", "filter[or][-1][s]=1",
    "filter[or][0][or][0][or][0][or][0][or][0][s]=1",
    "filter[s]]=x", "filter[j]=1", "filter[j][eq]={}", "filter[j][contains]=n", "filter[s.x]=1", "filter[author.]=1",
    "filter[.s]=1",
    "filter[author.nothing]=1", "filter[author.country.code.x]=1", "filter[tags.label][between]=a", "filter[author][gt]=1",
    "filter[tags][gt]=1", "filter[b][gt]=true", "filter[e][contains]=o", "filter[nothing]=1", "filter[f_1]=1",
    "filter[version]=1",
    "filter[xmin]=1", "filter[i][in]=" + ",".join(map(str, range(501))), "&".join(f"filter[or][{n}][i]={n}" for n in range(51)),
    "sort=,", "sort=nothing", "sort=-", "sort=--i", "sort=j", "sort=tags", "sort=tags.label", "sort=i,i,i,i,i,i",
    "sort=i&order=up", "sort=i,f&order=desc", "sort=-i&order=desc", "sort=i&sort=f", "sort[i]=desc", "sort=i;drop", "sort=i desc",
    "fields=", "fields=nothing", "fields=id,,name", "fields=author.name", "fields=*", "expand=nothing", "expand=s", "expand=",
    "expand=author.name",
    "expand=author.country.code", "limit=0", "limit=501", "limit=-1", "limit=x", "limit=1e2", "limit=1000000000", "limit=",
    "page=0",
    "page=-1", "page=9223372036854775808", "page=9223372036854775807", "page=x", "page=", "page=1.5", "count=maybe", "count=1",
    "cursor=x", "cursor=AAAA", "cursor=start&page=2", "page=1&page=2", "limit=1&limit=2", "nothing=1", "Filter[s]=1", "q=x",
    "filter%5Bs%5D%5Bcontains%5D=%00", "filter[s]=%ff", "filter[s]=%c0%80", "filter[s]=%ed%a0%80", "filter[%00]=1", "s=x",
])
def test_queries_that_make_no_sense(world, query):
    answer = world.admin.get(f"{THINGS}?{query}")
    assert answer.status_code == 400, (query, answer.text[:500])
    assert answer.json()["code"] in ("invalid_query", "unknown_parameter"), answer.text


@pytest.mark.parametrize("name", ["pass", "pass.x", "PASS"])
def test_a11_secrets_cannot_be_asked_about(world, name):
    for query in (f"filter[{name}]=hidden1", f"filter[{name}][starts_with]=h", f"filter[{name}][null]=true",
                  f"filter[or][0][{name}]=hidden1", f"sort={name}", f"sort=-{name}", f"filter[{name}][in]=hidden1"):
        assert world.admin.get(f"{THINGS}?{query}", expect=400).json()["code"] == "invalid_query", query


def test_conditions_together(world):
    assert found(world, **{"filter[i][gte]": 7, "filter[b]": "true"}) == [
        n for n in range(COUNT) if VALUES["i"][n] is not None and VALUES["i"][n] >= 7 and VALUES["b"][n] is True]
    assert found(world, **{"filter[or][0][i]": 7, "filter[or][1][i]": 8, "filter[e]": "open"}) == [9]
    both = found(world, **{"filter[or][0][i]": 7, "filter[or][0][e]": "on hold", "filter[or][1][s]": "zz"})
    assert both == [7, 11]
    nested = found(world, **{"filter[or][0][and][0][i]": 7, "filter[or][0][and][1][e]": "on hold", "filter[or][1][s]": "zz"})
    assert nested == both
    assert found(world, **{"filter[and][0][or][0][i]": 7, "filter[and][0][or][1][i]": 8, "filter[and][1][e]": "open"}) == [9]
    assert found(world, **{"filter[i][gt]": 5, "filter[i][lt]": 50}) == [7, 8, 9, 11]


def authors_of(world, *names):
    index = {"Ana": 0, "Ben": 1, "Cy": 2, None: 3}
    return [n for n in range(COUNT) if n % 4 in [index[name] for name in names]]


def test_filters_through_relations(world):
    assert found(world, **{"filter[author.name]": "Ana"}) == authors_of(world, "Ana")
    assert found(world, **{"filter[author]": world.authors[1]}) == authors_of(world, "Ben")
    assert found(world, **{"filter[author][in]": f"{world.authors[0]},{world.authors[2]}"}) == authors_of(world, "Ana", "Cy")
    assert found(world, **{"filter[author][null]": "true"}) == authors_of(world, None)
    assert found(world, **{"filter[author][ne]": world.authors[0]}) == authors_of(world, "Ben", "Cy", None)
    assert found(world, **{"filter[author.age][gt]": 29}) == authors_of(world, "Ana", "Ben")
    assert found(world, **{"filter[author.country.code]": "BO"}) == authors_of(world, "Ana")
    assert found(world, **{"filter[author.country.code][in]": "BO,PE"}) == authors_of(world, "Ana", "Ben")
    assert found(world, **{"filter[author.country]": world.countries[1]}) == authors_of(world, "Ben")
    assert found(world, **{"filter[author.country][null]": "true"}) == authors_of(world, "Cy", None)
    assert found(world, **{"filter[author.country][null]": "false"}) == authors_of(world, "Ana", "Ben")
    assert found(world, **{"filter[author.id]": world.authors[2]}) == authors_of(world, "Cy")


PATHS = ("author.name", "author.age", "author.country", "author.country.code", "author.created_at", "author.country.created_at")


@pytest.mark.parametrize("path", PATHS)
def test_one_meaning_through_relations(world, path):
    """Groups, filters and orders all treat a field of an empty relation as null."""
    groups = world.admin.get(f"{THINGS}/aggregate", params={"group_by": path}, expect=200).json()["items"]
    counts = {group[path]: group["count"] for group in groups}
    assert sum(counts.values()) == COUNT and counts[None] >= len(authors_of(world, None))
    assert len(found(world, **{f"filter[{path}][null]": "true"})) == counts[None]
    assert len(found(world, **{f"filter[{path}][null]": "false"})) == COUNT - counts[None]
    for value, count in counts.items():
        if value is None:
            continue
        for same, other in (("eq", "ne"), ("in", "nin")):
            within = found(world, **{f"filter[{path}][{same}]": value})
            assert len(within) == count
            assert found(world, **{f"filter[{path}][{other}]": value}) == [n for n in range(COUNT) if n not in within], (other, value)
    last = ids(listed(world, sort=path))[COUNT - counts[None]:]
    assert sorted(world.ids.index(number) for number in last) == found(world, **{f"filter[{path}][null]": "true"})
    either = {f"filter[or][0][{path}][null]": "true", "filter[or][1][s]": "apple"}
    assert found(world, **either) == sorted({0, *found(world, **{f"filter[{path}][null]": "true"})})


def test_filters_through_many(world):
    def tagged(*bits):
        return [n for n in range(COUNT) if any(n >> bit & 1 for bit in bits)]

    rest = [n for n in range(COUNT) if n not in tagged(0)]
    assert found(world, **{"filter[tags.label]": "red"}) == tagged(0)
    assert found(world, **{"filter[tags.label][in]": "red,blue"}) == tagged(0, 2)
    assert found(world, **{"filter[tags.weight][gte]": 1}) == tagged(1, 2)
    assert found(world, **{"filter[tags]": world.tags[0]}) == tagged(0)
    assert found(world, **{"filter[tags][in]": f"{world.tags[1]},{world.tags[2]}"}) == tagged(1, 2)
    assert found(world, **{"filter[tags][ne]": world.tags[0]}) == rest
    assert found(world, **{"filter[tags][nin]": f"{world.tags[0]},{world.tags[1]}"}) == [0, 4, 8]
    assert found(world, **{"filter[tags][null]": "true"}) == [0, 8]
    assert found(world, **{"filter[tags][null]": "false"}) == tagged(0, 1, 2)
    assert found(world, **{"filter[tags.label][ne]": "red"}) == rest
    assert found(world, **{"filter[tags.label][nin]": "red,green"}) == [0, 4, 8]
    assert found(world, **{"filter[tags.weight][null]": "true"}) == [0, 8]
    assert found(world, **{"filter[tags.weight][null]": "false"}) == tagged(0, 1, 2)


@pytest.mark.parametrize("field", [*VALUES, "author", "author.name", "author.country.code", "id", "created_at", "created_by", "pic"])
def test_orders_and_walks(world, field):
    """Pages with a cursor give each record once, in the order of the list, with nulls last."""
    for down in ("", "-"):
        order = f"{down}{field}"
        whole = ids(listed(world, sort=order))
        assert sorted(whole) == world.ids
        if field in VALUES:
            values = [VALUES[field][world.ids.index(number)] for number in whole]
            present = [place_of(field, value) for value in values if value is not None]
            assert present == sorted(present, reverse=bool(down)), order
            assert all(value is None for value in values[len(present):]), order
        for size in (1, 5):
            walked, cursor = [], "start"
            while cursor is not None:
                page = listed(world, sort=order, limit=size, cursor=cursor).json()
                assert page["total_items"] == -1 and page["has_next_page"] == (page["next_cursor"] is not None)
                walked += [item["id"] for item in page["items"]]
                cursor = page["next_cursor"]
            assert walked == whole, (order, size)
        if field == "i" and not down:
            assert ids(listed(world, sort=field, order="desc")) == ids(listed(world, sort=f"-{field}"))


def test_orders_of_several_fields(world):
    whole = ids(listed(world, sort="-e,b,-i"))
    walked, cursor = [], "start"
    while cursor is not None:
        page = listed(world, sort="-e,b,-i", limit=2, cursor=cursor, fields="id").json()
        walked += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert walked == whole and len(set(whole)) == COUNT


def test_an_empty_sort_is_nothing(world):
    """An empty sort is ignored in all lists: a client that always sends its parameters sends some of them empty."""
    for path in (THINGS, "/entities", "/users", "/roles", "/files", "/folders", "/workflows", "/secrets", "/permissions", "/tasks",
                 "/materialized-views", "/charts", "/audit-log"):
        plain, empty = (world.admin.get(f"{path}?limit=3{sort}", expect=200).json() for sort in ("", "&sort="))
        assert plain["items"] == empty["items"], path
    assert ids(listed(world, sort="", order="desc")) == world.ids[::-1]
    world.admin.get("/search?q=apple&sort=", expect=200)


def test_cursors_belong_to_their_query(world):
    cursor = listed(world, sort="i", limit=2, cursor="start").json()["next_cursor"]
    for params in ({"sort": "-i"}, {"sort": "f"}, {"sort": "i", "filter[b]": "true"}, {}):
        listed(world, expect=400, **{"limit": 2, "cursor": cursor, **params})
    for broken in (cursor[:-1], cursor + "A", cursor[::-1], cursor[:4], cursor.swapcase(), "!" + cursor):
        listed(world, expect=400, sort="i", cursor=broken)
    assert listed(world, sort="i", limit=2, cursor=cursor, count="true").json()["total_items"] == COUNT


def test_pages(world):
    seen = []
    for number in (1, 2, 3, 4):
        page = listed(world, sort="id", limit=5, page=number).json()
        assert list(page) == ["items", "total_items", "page", "page_size", "has_next_page"]
        assert (page["total_items"], page["page"], page["page_size"]) == (COUNT, number, 5)
        assert page["has_next_page"] == (number < 3)
        seen += [item["id"] for item in page["items"]]
    assert seen == world.ids
    uncounted = listed(world, sort="id", limit=5, page=2, count="false").json()
    assert uncounted["total_items"] == -1 and uncounted["has_next_page"] is True
    assert listed(world, limit=6, page=2, count="false").json()["has_next_page"] is False
    far = listed(world, limit=500, page=10**12).json()
    assert far["items"] == [] and far["total_items"] == COUNT and far["has_next_page"] is False
    assert listed(world, **{"filter[i]": 7, "limit": 1}).json()["total_items"] == 2
    assert world.admin.get(THINGS).json()["page_size"] == 20


def test_fields(world):
    for fields, names in (("id", ["id"]), ("f,s", ["s", "f"]), ("tags,id", ["id", "tags"]), ("s,s", ["s"]), ("pass", ["pass"]),
                          ("created_by,created_at", ["created_at", "created_by"])):
        for record in listed(world, fields=fields).json()["items"]:
            assert list(record) == names


def test_expand(world):
    records = listed(world, sort="id", expand="author.country,tags").json()["items"]
    for n, record in enumerate(records):
        names = ["Ana", "Ben", "Cy", None]
        assert (record["author"] or {"name": None})["name"] == names[n % 4]
        if n % 4 < 2:
            assert record["author"]["country"]["code"] == ["BO", "PE"][n % 4]
        elif record["author"]:
            assert record["author"]["country"] is None
        assert [tag["id"] for tag in record["tags"]] == [tag for bit, tag in enumerate(world.tags) if n >> bit & 1]
        assert all(tag["label"] for tag in record["tags"])
    one = world.admin.get(f"{THINGS}/{world.ids[5]}?expand=author,tags&fields=s", expect=200).json()
    assert set(one) == {"s", "author", "tags"} and one["author"]["name"] == "Ben"
    plain = listed(world, sort="id").json()["items"]
    assert [record["author"] for record in plain[:4]] == [*world.authors, None]


def test_many_keep_their_order(world):
    tags = [world.tags[2], world.tags[0], world.tags[1]]
    record = world.admin.post(THINGS, {"tags": tags}, expect=201).json()
    path = f"{THINGS}/{record['id']}"
    try:
        assert record["tags"] == tags and world.admin.get(path).json()["tags"] == tags
        assert [tag["id"] for tag in world.admin.get(f"{path}?expand=tags").json()["tags"]] == tags
        assert world.admin.put(path, {"tags": tags[::-1]}, expect=200).json()["tags"] == tags[::-1]
        assert world.admin.put(path, {"s": "x"}, expect=200).json()["tags"] == tags[::-1]
        assert world.admin.put(path, {"tags": None}, expect=200).json()["tags"] == []
    finally:
        world.admin.delete(path, expect=204)


def test_an_expansion_knows_its_limit(world):
    assert listed(world, expand="author,author.country,tags", limit=500).status_code == 200
    deep = ".".join(["author"] * 10)
    listed(world, expect=400, expand=deep)
    listed(world, expect=400, expand=",".join(["author"] * 50))


def test_pages_of_an_empty_entity(world):
    world.entity("empty", [{"name": "a", "type": "varchar"}])
    body = world.admin.get("/entities/empty/items", expect=200).json()
    assert body == {"items": [], "total_items": 0, "page": 1, "page_size": 20, "has_next_page": False}
    walk = world.admin.get("/entities/empty/items?cursor=start", expect=200).json()
    assert walk["items"] == [] and walk["next_cursor"] is None and walk["has_next_page"] is False
