"""Q1-Q3, L11: names, filters, sort orders and patterns of clients reach PostgreSQL only as values."""
import pytest

INJECTIONS = [
    "'", "''", "\"", "\\", ";", "--", "/*", "*/", "id;drop table users", "id--", "id desc", "id,(select 1)", "(select 1)",
    "1=1", "' or '1'='1", "id'; select pg_sleep(5) --", "id) union select 1 --", "$1", "$$", "{p}", "{p}.users", "%s", "%n",
    "e_1", "f_1", "t.id", "t.f_1", "public.users", "pg_class", "oid", "ctid", "xmin", "tableoid", "current_user", "version()",
    "id\u0000", "\u202eid", "ID", " id", "id ", "i d", "id\n", "a" * 64, "a" * 5000, "\u00fc", "\U0001f600", "-", "--id", "+id",
    ".", "..", "a.b.c.d.e.f", "name.", ".name", "name..x", "[", "]", "[]", "name[", "null", "true",
]


@pytest.fixture(scope="module")
def world(shared_project):
    shared_project.entity("notes", [
        {"name": "name", "type": "varchar", "searchable": True}, {"name": "amount", "type": "integer"},
        {"name": "price", "type": "decimal"}, {"name": "at", "type": "datetime"}, {"name": "day", "type": "date"},
        {"name": "done", "type": "bool"}, {"name": "doc", "type": "json"}, {"name": "real", "type": "float"},
    ])
    for name in ("100%", "a_b", "a\\b", "50", "[x]", "(", "'quoted'", "ünï", "a" * 50):
        shared_project.item("notes", name=name, amount=1)
    return shared_project


ITEMS = "/entities/notes/items"


# --- names (Q1) ---


@pytest.mark.parametrize("name", [name for name in INJECTIONS if name not in ("e_1", "f_1", "oid", "ctid", "xmin", "tableoid",
                                                                              "current_user", "null", "true", "pg_class")] +
                         ["", "Orders", "1orders", "_orders", "orders-1", "or ders", "svc_orders", "a" * 49, "order\u0301"])
def test_q1_names_that_are_none(shared_project, name):
    admin = shared_project.admin
    admin.post("/entities", {"name": name}, expect=400)
    admin.post("/entities", {"name": "fine", "fields": [{"name": name, "type": "text"}]}, expect=400)
    admin.post("/enums", {"name": name, "values": ["a"]}, expect=400)


@pytest.mark.parametrize("name", ["select", "table", "user", "group", "order", "pg_class", "current_user", "ctid", "xmin", "oid",
                                  "tableoid", "null", "true", "e_1", "public", "information_schema", "a" * 48, "limit"])
def test_q1_reserved_words_are_names_like_others_or_refused(shared_project, name):
    """Tables and columns are named by number, so reserved words of SQL have no special meaning."""
    made = shared_project.admin.post("/entities", {"name": name, "fields": [{"name": name, "type": "integer", "indexed": True}]})
    assert made.status_code in (201, 400), made.text
    if made.status_code == 201:
        item = shared_project.item(name, **{name: 7})
        found = shared_project.admin.get(f"/entities/{name}/items", params={f"filter[{name}]": 7, "sort": f"-{name}"}, expect=200)
        assert found.json()["items"][0]["id"] == item["id"]
        shared_project.admin.delete(f"/entities/{name}", expect=204)


def test_q1_names_that_postgresql_would_cut_to_the_same(project):
    fields = [{"name": "a" * 47 + end, "type": "integer"} for end in "bc"]
    project.entity("twins", fields)
    item = project.item("twins", **{fields[0]["name"]: 1, fields[1]["name"]: 2})
    assert item[fields[0]["name"]] == 1 and item[fields[1]["name"]] == 2


@pytest.mark.parametrize("name", ["id", "created_at", "updated_at", "created_by", "version"])
def test_q1_names_of_what_the_service_sets(shared_project, name):
    made = shared_project.admin.post("/entities", {"name": "things", "fields": [{"name": name, "type": "text"}]})
    assert made.status_code in (400, 201), made.text
    if made.status_code == 201:
        assert name == "version", "only what no record shows may be named so"
        shared_project.admin.delete("/entities/things", expect=204)


# --- queries (Q2) ---


@pytest.mark.parametrize("path", [ITEMS, "/users", "/roles", "/groups", "/api-keys", "/audit-log", "/entities", "/enums"])
def test_q2_sort_and_order(world, path):
    wrong = []
    for text in INJECTIONS:
        for params in ({"sort": text}, {"sort": "id", "order": text}):
            answer = world.admin.get(path, params=params)
            empty = text.strip() in ("", "-")
            if answer.status_code != 400 and not (empty and answer.status_code == 200):
                wrong.append(f"{params}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)


def test_q2_filters(world):
    wrong = []
    for text in INJECTIONS:
        for name in (f"filter[{text}]", f"filter[name][{text}]", f"filter[amount][{text}]", f"filter[or][0][{text}]",
                     f"filter[or][{text}][name]", f"filter[name][eq][{text}]", f"filter{text}", f"filter[{text}.name]"):
            answer = world.admin.get(ITEMS, params={name: "1"})
            if answer.status_code not in (400, 414) and not (answer.status_code == 200 and text in ("id", "")):
                wrong.append(f"{name[:80]!r}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("field", ["name", "amount", "price", "at", "day", "done", "real", "doc", "id", "created_at"])
def test_q2_values(world, field):
    """Values are bound parameters: for any text the answer is 200, or a 400 that names the parameter."""
    wrong = []
    for text in INJECTIONS + ["NaN", "Infinity", "1e400", "9" * 30, "-1", "0x10", "1,2,3", "infinity", "now", "2024-02-30",
                              "0001-01-01", "-4713-01-01", "10000-01-01T00:00:00Z", "294277-01-01", "t", "on", "{}", "[1]"]:
        for operator in ("eq", "gt", "in", "between", "icontains", "null"):
            answer = world.admin.get(ITEMS, params={f"filter[{field}][{operator}]": text, "count": "false"})
            if answer.status_code not in (200, 400, 414):
                wrong.append(f"{operator} {text[:40]!r}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)


def test_q2_other_parameters(world):
    wrong = []
    for text in INJECTIONS:
        for path, params in ((ITEMS, {"fields": text}), (ITEMS, {"expand": text}), (ITEMS, {"cursor": text}),
                             (ITEMS, {"count": text}), (f"{ITEMS}/aggregate", {"group_by": text, "count": "*"}),
                             (f"{ITEMS}/aggregate", {"sum": text}), (f"{ITEMS}/aggregate", {"count": text}),
                             (f"{ITEMS}/export", {"format": text}), ("/users", {"role_id": text})):
            answer = world.admin.get(path, params=params)
            if answer.status_code != 400 and params != {"count": "true"}:
                wrong.append(f"{path} {str(params)[:80]}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)


def test_q2_paths(world):
    wrong = []
    for text in INJECTIONS:
        name = "".join(f"%{byte:02x}" for byte in text.encode())
        for path in (f"/entities/{name}/items", f"/entities/{name}", f"{ITEMS}/{name}", f"/entities/notes/fields/{name}",
                     f"/enums/{name}", f"/users/{name}"):
            answer = world.admin.get(path)
            if answer.status_code not in (400, 404, 405, 414) and not (text in (".", "..") and answer.status_code == 200):
                wrong.append(f"{path[:80]}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)


# --- patterns are literal (Q3) ---


@pytest.mark.parametrize("pattern, found", [
    ("%", ["100%"]), ("_", ["a_b"]), ("\\", ["a\\b"]), ("a_", ["a_b"]), ("0%", ["100%"]), ("a%b", []), ("[x", ["[x]"]),
    ("(", ["("]), (".*", []), ("'", ["'quoted'"]), ("ünï", ["ünï"]), ("\\\\", []), ("%%", []), ("a" * 51, []),
])
def test_q3_contains_is_literal(world, pattern, found):
    for operator in ("contains", "icontains"):
        answer = world.admin.get(ITEMS, params={f"filter[name][{operator}]": pattern}, expect=200)
        assert [item["name"] for item in answer.json()["items"]] == found
    starts = world.admin.get(ITEMS, params={"filter[name][starts_with]": pattern}, expect=200).json()["items"]
    assert [item["name"] for item in starts] == [name for name in found if name.startswith(pattern)]
    ends = world.admin.get(ITEMS, params={"filter[name][ends_with]": pattern}, expect=200).json()["items"]
    assert [item["name"] for item in ends] == [name for name in found if name.endswith(pattern)]


def test_q3_many_conditions_are_limited(world):
    for count in (20, 1000):
        params = [(f"filter[or][{number}][name][icontains]", "%" * 20) for number in range(count)]
        assert world.admin.get(ITEMS, params=params).status_code in (200, 400, 414, 431)
    assert world.admin.get(ITEMS, params={"filter[id][in]": ",".join(str(n) for n in range(3000))}).status_code in (200, 400, 414)
    answer = world.admin.post(f"{ITEMS}/delete-many", {"filter": {"name": {"icontains": "%" * 900000}}})
    assert answer.status_code in (200, 400, 413), answer.text[:200]


# --- pages (L11) ---


@pytest.mark.parametrize("path", [ITEMS, "/users", "/permissions", "/audit-log", "/entities/notes/fields"])
@pytest.mark.parametrize("query", ["limit=1e9", "limit=1000000000", "limit=501", "limit=-1", "limit=0", "limit=", "limit=abc",
                                   "limit=1.5", "limit=+5", "limit=0x5", "limit=99999999999999999999", "page=0", "page=-1",
                                   "page=9223372036854775808", "page=x", "page=", "limit=5&limit=6", "page=1&page=2",
                                   "count=maybe", "limit=%00", "page=1%27"])
def test_l11_pages_that_are_none(world, path, query):
    answer = world.admin.get(f"{path}?{query}", expect=400)
    assert answer.json()["code"] in ("invalid_query", "unknown_parameter", "validation_failed", "bad_request", "out_of_range")


@pytest.mark.parametrize("path", [ITEMS, "/users", "/permissions", "/audit-log"])
@pytest.mark.parametrize("page", [1000, 1000000, 9223372036854775807 // 500, 9223372036854775807])
def test_l11_pages_far_beyond_the_end(world, path, page):
    answer = world.admin.get(path, params={"page": page, "limit": 500})
    assert answer.status_code in (200, 400), answer.text
    if answer.status_code == 200:
        assert answer.json()["items"] == [] and not answer.json()["has_next_page"]
