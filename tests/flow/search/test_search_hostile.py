"""Callers who try to learn by searching what they may not read, or to keep others from searching."""
import concurrent.futures
import threading

import pytest
from groundwork.deadline import allowed, until
from groundwork.records import rows
from groundwork.searching import wait_indexed, find_ids, search

FIELDS = [
    {"name": "title", "type": "varchar", "searchable": True, "public": True},
    {"name": "salary", "type": "text", "searchable": True},
    {"name": "code", "type": "varchar"},
]


def fill_project(project, servers):
    """Fills the project with records of the administrator; the caller reads only the titles of its own rows."""
    project.entity("staff", FIELDS, public_read=True)
    project.entity("plans", FIELDS)
    role = project.role(permissions=["staff:read", "staff:create", "svc_search:read"],
                        field_access=[{"entity": "staff", "action": "read", "fields": ["title"]}])
    project.caller = project.user(role_ids=[role["id"]])
    project.hidden = project.item("staff", title="zebra", salary="platinum", code="x")["id"]
    project.item("plans", title="zebra")
    project.own = project.item("staff", client=project.caller, title="lantern")["id"]
    project.admin.put(f"/entities/staff/items/{project.own}", {"salary": "platinum", "code": "red"}, expect=200)
    db = servers.connect()
    wait_indexed(project, db, "staff", "plans")
    db.close()
    return project


@pytest.fixture(scope="module")
def staff(shared_project, servers, indexer):
    """One project for all tests that change nothing."""
    return fill_project(shared_project, servers)


@pytest.fixture
def own_staff(project, servers, indexer):
    return fill_project(project, servers)


@pytest.mark.parametrize("query", [
    "platinum", "salary:platinum", "plat", '"platinum"', "platinun", "lantern salary:platinum", "title:platinum", "zebra", "zeb", "title:zebra"])
def test_no_word_finds_what_is_hidden(staff, query):
    answer = search(staff.caller, query)
    assert "platinum" not in str(answer["items"]) and "zebra" not in str(answer["items"])
    assert {item["id"] for item in answer["items"]} <= {staff.own}
    assert answer["total_items"] == len(answer["items"])


@pytest.mark.parametrize("parameters, member", [
    ({"facets": "salary"}, "facets"), ({"facets": "code"}, "facets"), ({"facets": "title,code"}, "facets"),
    ({"filter[salary]": "platinum"}, "filter[salary]"), ({"filter[code][ne]": "red"}, "filter[code]"),
    ({"e": "staff", "sort": "salary"}, "sort"), ({"e": "staff", "fields": "title,salary"}, "fields"),
    ({"e": "staff", "expand": "salary"}, "expand"), ({"e": "plans"}, "e"), ({"e": "staff,plans"}, "e")])
def test_no_parameter_names_what_is_hidden(staff, parameters, member):
    """A hidden field or entity is refused in the same words as a missing one, except for its name."""
    refused = staff.caller.get("/search", params={"q": "lantern", **parameters}, expect=400).json()
    assert refused["errors"] and refused["errors"][0]["field"].startswith(member.split("[")[0])
    hidden = next(name for name in ("salary", "code", "plans") if name in str(parameters))
    other = {key.replace(hidden, "nobodys"): value.replace(hidden, "nobodys") for key, value in parameters.items()}
    unknown = staff.caller.get("/search", params={"q": "lantern", **other}, expect=400).json()
    keep = lambda answer: [(error["field"].replace("nobodys", hidden), error["code"], error["message"].replace("nobodys", hidden))
                           for error in answer["errors"]]
    assert keep(unknown) == keep(refused)


def test_a_hidden_field_is_no_sign(staff):
    """`salary:` names a field only for a caller who reads that field, and is a word for other callers; a word of a hidden field
    excludes nothing."""
    assert find_ids(staff.admin, "salary:platinum", e="staff") == [staff.own, staff.hidden]
    assert find_ids(staff.caller, "lantern -platinum") == [staff.own]
    assert find_ids(staff.caller, "* -platinum") == [staff.own]
    assert find_ids(staff.admin, "* -platinum", e="staff") == []
    assert staff.caller.get("/search/suggest", params={"q": "plat"}, expect=200).json()["items"] == []


def test_the_public_sees_public_fields(staff):
    anybody = staff.client()
    assert {item["record"]["title"] for item in search(anybody, "*", public=True)["items"]} == {"zebra", "lantern"}
    for query in ("platinum", "salary:platinum", "plat"):
        assert "platinum" not in str(search(anybody, query, public=True)["items"])
    for parameters in ({"facets": "salary"}, {"filter[salary]": "platinum"}, {"e": "plans"}, {"e": "staff", "fields": "salary"},
                       {"e": "staff", "sort": "code"}):
        anybody.get("/search/public", params={"q": "zebra", **parameters}, expect=400)
    anybody.get("/search", params={"q": "zebra"}, expect=401)
    anybody.get("/search/suggest", params={"q": "zeb"}, expect=401)
    # /search/public shows a signed-in user no more than the public
    assert "platinum" not in str(search(staff.admin, "platinum", public=True)["items"])


@pytest.mark.parametrize("query", [
    "x" * 10240, "ab " * 1000, "* " * 5000, "\u65e5" * 600, "\u65e5" * 300, "-" * 600, "a-" * 200, "a*" * 200, '"' + "a " * 100 + '"', '"' * 301,
    "a+" * 250, "\u2665\u2764" * 200])
def test_queries_that_are_too_much(staff, query):
    for client, path in ((staff.caller, "/search"), (staff.client(), "/search/public")):
        answer = client.get(path, params={"q": query})
        assert answer.status_code in (200, 414, 431), answer.text[:300]
    assert staff.caller.get("/search/suggest", params={"q": query}).status_code in (200, 414, 431)


@pytest.mark.parametrize("raw", [
    "q=%00", "q=oak%00lantern", "q=%ff%fe", "q=%c3%28", "q=%ed%a0%80", "q=%f4%90%80%80", "q=lantern%80", "q=%", "q=%zz", "q=a&q=b", "q[]=a",
    "q=lantern&e=%00", "q=lantern&facets=%ff", "q=lantern&fields=%c3%28&e=staff", "q=lantern&filter[title]=%00", "q=lantern&sort=%f0&e=staff",
    "q=lantern&page=1e3", "q=lantern&page=99999999999999999999", "q=lantern&pageSize=-1", "q=lantern&page=0x1",
    "q=lantern&page=9223372036854775807&pageSize=500", "q=lantern&page=-9223372036854775808",
    "q=lantern&facets=" + ",".join(["title"] * 400), "q=lantern&e=" + ",".join(["staff"] * 400), "q=lantern&e=,,,", "q=lantern&facets=,"])
def test_parameters_that_are_none(staff, raw):
    """Malformed parameters get an answer or a 400 with a code, in searches of users and of the public."""
    for client, path in ((staff.caller, "/search"), (staff.client(), "/search/public")):
        answer = client.get(f"{path}?{raw}")
        assert answer.status_code in (200, 400), answer.text[:300]
        assert answer.status_code == 200 or answer.json()["code"], answer.text


@pytest.mark.timed
def test_filters_that_are_bombs(staff):
    deep = "".join("[and][0]" for _ in range(200))
    many = {f"filter[or][{n}][title]": "lantern" for n in range(300)}
    for parameters in ({f"filter{deep}[title]": "x"}, many, {"filter[title][in]": ",".join("abcdef" * 500)},
                       {"filter[title][like]": "%" * 500 + "a"}):
        answer = staff.caller.get("/search", params={"q": "lantern", **parameters})
        assert answer.status_code in (200, 400, 414, 431), answer.text[:300]
        assert answer.elapsed.total_seconds() < allowed(5)


def test_pages_end_where_they_end(staff):
    answer = search(staff.caller, "lantern", page=1000, pageSize=1)
    assert (answer["items"], answer["total_items"], answer["has_next_page"]) == ([], 1, False)
    for page, size in ((1001, 1), (3, 500), (51, 20), (2**62, 4)):
        answer = staff.caller.get("/search", params={"q": "lantern", "page": page, "pageSize": size}, expect=400)
        assert answer.json()["errors"][0]["field"] == "page"


def test_one_permission_is_not_another(staff):
    """A caller who may write but not read finds nothing and learns of no entity."""
    writer = staff.user_with("svc_search:read", "staff:create", "staff:update", "staff:delete")
    assert search(writer, "zebra")["items"] == [] and search(writer, "*")["total_items"] == 0
    writer.get("/search", params={"q": "zebra", "e": "staff"}, expect=400)
    writer.get("/search/status", expect=403)
    writer.post("/search/rehydrate", expect=403)
    writer.delete("/search/purge/staff", expect=403)


class Background(threading.Thread):
    """Repeats an action in a thread until the block ends, and raises the action's error at the end of the block."""

    def __init__(self, act):
        super().__init__(daemon=True)
        self.act, self.over, self.error, self.turns = act, False, None, 0

    def run(self):
        try:
            while not self.over:
                self.act()
                self.turns += 1
        except BaseException as error:  # noqa: BLE001
            self.error = error

    def wait_turns(self, turns=3):
        """Waits until the action was done `turns` more times, or has failed."""
        wanted = self.turns + turns
        until(lambda: self.error or self.turns >= wanted, "the action does not continue")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()
        if self.error:
            raise self.error


def test_searches_while_an_index_is_swapped(own_staff, db):
    """Searches give the same answer while their index is rebuilt three times."""
    def look():
        assert find_ids(own_staff.admin, "zebra", e="staff") == [own_staff.hidden]
        assert find_ids(own_staff.caller, "lantern") == [own_staff.own]

    with Background(look) as background:
        for _ in range(3):
            own_staff.admin.post("/search/rehydrate/staff", expect=202)
            wait_indexed(own_staff, db, "staff")
        background.wait_turns()


def test_searches_while_an_entity_goes(own_staff, db):
    """A search finds the records of an entity until the entity is deleted; a search that names it then gets a 400."""
    own_staff.entity("doomed", FIELDS)
    own_staff.item("doomed", title="lantern")
    wait_indexed(own_staff, db, "doomed")
    gone = threading.Event()

    def look():
        before = gone.is_set()
        answer = own_staff.admin.get("/search", params={"q": "lantern"}, expect=200).json()
        assert not before or [item["entity"] for item in answer["items"]] == ["staff"]
        named = own_staff.admin.get("/search", params={"q": "lantern", "e": "doomed", "facets": "title"})
        assert named.status_code in (200, 400), named.text

    with Background(look) as background:
        background.wait_turns()
        own_staff.admin.delete("/entities/doomed", expect=204)
        gone.set()
        background.wait_turns()


def test_many_at_once(staff):
    """Eight concurrent callers with the largest allowed query get an answer, a 429 or a 503."""
    query = " ".join(f"{chr(97 + n)}*" for n in range(10))
    bad = []

    def flood():
        for _ in range(10):
            answer = staff.caller.get("/search", params={"q": query, "pageSize": 500})
            if answer.status_code not in (200, 429, 503):
                bad.append(answer.text)

    threads = [threading.Thread(target=flood) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not bad
    assert find_ids(staff.caller, "lantern") == [staff.own]


def test_an_index_that_is_exchanged_beneath(own_staff, servers, db):
    """A search whose index is replaced and emptied after the search has chosen it chooses again, and misses nothing."""
    schema = own_staff.schema(db)
    other = servers.connect()
    other.autocommit = False
    pid = other.info.backend_pid
    with other.cursor() as cursor, concurrent.futures.ThreadPoolExecutor(1) as pool:
        for query in ("zebra", "zeb -oak"):
            cursor.execute(f"lock table {schema}.search_postings in access exclusive mode")
            answer = pool.submit(find_ids, own_staff.admin, query, e="staff")
            until(lambda: rows(db, "select 1 from pg_stat_activity where %s = any (pg_blocking_pids(pid))", pid), "the search waits", pause=0.01)
            cursor.execute(f"update {schema}.search_indexes set id = id + 1000")
            cursor.execute(f"update {schema}.search_postings set idx = idx + 1000")
            cursor.execute(f"update {schema}.search_docs set idx = idx + 1000")
            other.commit()
            assert answer.result() == [own_staff.hidden], query
    other.close()
