"""Data derived from records, read by callers who may not see the records: no answer of any route depends on such records. The
tests compare the answers of all reading routes before and after a change that the caller may not see, for each kind of
caller, and after changes of definitions and of permissions. No answer contains a hidden value (A19)."""
import itertools
import re

import pytest
from groundwork.client import Client
from groundwork.deadline import until
from groundwork.fixtures import starter
from groundwork.runs import step
from groundwork.searching import wait_indexed
from groundwork.soon import settle
from groundwork.workflows import workflow

HIDDEN_FIELD = {"wages": "pay_hidden", "staff": "wage_hidden"}  # in `staff` a field rule hides the field
HIDDEN_TEXT = "Zyxwvutian"           # in a record that the row rule hides
HIDDEN_AMOUNT = "73401739"           # in a field that the field rule hides
NAMES = (HIDDEN_TEXT, HIDDEN_AMOUNT)
# Members that depend only on the time, the request, or the caller's own last call.
VOLATILE = re.compile(r'"(?:as_of|request_id|last_seen_at|last_used_at|last_sign_in_at|url|token|ticket|expires_at|generated_at|took_ms)":(?:"[^"]*"|null|[0-9]+)')
# Routes of areas without data derived from records.
ELSEWHERE = re.compile(r"/(?:integrations/svcpay|push|email-templates|tenant-|mail|auth|secrets|ai|cors|storage|enums|org|healthz|\.well-known|realtime)")
# Callers who may read workflows and the audit log learn that something was done, but not what: these answers grow, without hidden
# values.
GROWING_PATHS = re.compile(r"/(?:workflows/jobs|workflows/\d+/jobs|audit-log)")


@pytest.fixture(scope="module")
def start_indexer(servers, session_gateway):
    yield from starter(servers, "search-indexer", lambda: dict(SWEEP_MS=200, LEASE_MS=3000))


class World:
    """A project with hidden records, and one object of each kind that can be derived from them."""

    def __init__(self, project, db, listed):
        self.project, self.db, self.admin = project, db, project.admin
        self.numbers = itertools.count(1)
        self.routes = [line.split(None, 2)[1] for line in listed if line.startswith("GET ")]
        self.admin.put("/", {"settings": {f"rate_{name}": 1000000 for name in ("read", "write", "heavy")}}, expect=200)
        project.entity("wages", [
            {"name": "person", "type": "varchar", "searchable": True}, {"name": HIDDEN_FIELD["wages"], "type": "integer"},
            {"name": "code", "type": "varchar", "unique": True}, {"name": "slip", "type": "file"}],
            row_level_security=True, history=True)
        project.entity("staff", [
            {"name": "name", "type": "varchar", "searchable": True}, {"name": HIDDEN_FIELD["staff"], "type": "integer"},
            {"name": "wage", "type": "relation", "options": {"entity": "wages"}}], row_level_security=False, history=True)
        self.slip = self.admin.put("/files/upload/slip.txt", data=b"slip " + HIDDEN_TEXT.encode(),
                                   headers={"Content-Type": "text/plain"}).json()["id"]
        self.hidden = project.item("wages", person=f"{HIDDEN_TEXT} Example", code="C1", slip=self.slip, **{HIDDEN_FIELD["wages"]: int(HIDDEN_AMOUNT)})["id"]
        self.gone = project.item("wages", person=f"{HIDDEN_TEXT} Gone", code="C2")["id"]
        self.admin.delete(f"/entities/wages/items/{self.gone}", expect=204)
        self.staff = project.item("staff", name="Ann", wage=self.hidden, **{HIDDEN_FIELD["staff"]: int(HIDDEN_AMOUNT)})["id"]
        self.made = {}
        for entity, group in (("wages", "person"), ("staff", "wage.person")):
            query = {"entity": entity, "aggregates": [{"function": "max", "field": HIDDEN_FIELD[entity]}, {"function": "count"}],
                     "group_by": [{"field": group}], "filter": {HIDDEN_FIELD[entity]: {"gt": 5}}}
            self.admin.post("/materialized-views", {"name": f"{entity}_view", **query}, expect=201)
            chart = self.admin.post("/charts", {"name": entity, "kind": "table", **query}, expect=201).json()["id"]
            self.made[entity] = (query, chart)
        self.board = self.admin.post("/dashboards", {"name": "Board"}, expect=201).json()["id"]
        for entity, (_, chart) in self.made.items():
            self.admin.post(f"/dashboards/{self.board}/widgets", {"kind": "chart", "chart_id": chart}, expect=201)
            self.admin.post(f"/dashboards/{self.board}/widgets", {"kind": "list", "entity": entity, "sort": HIDDEN_FIELD[entity]}, expect=201)
        workflow(self.admin, {"kind": "event", "event": "EntityUpdated", "entity": "wages"}, [step("all", "ReadData", {"entity": "wages"})])
        self.everybody = [made["id"] for made in self.admin.get("/roles", params={"limit": 500}, expect=200).json()["items"]]
        self.settle()

    def settle(self):
        """Waits until views, workflows and the index have processed all writes."""
        for entity in self.made:
            self.admin.post(f"/materialized-views/{entity}_view/refresh", expect=202)
        until(lambda: all(view["status"] in ("ready", "failed") for view in self.admin.get("/materialized-views", expect=200).json()["items"]),
              "views are made", within=20)
        until(lambda: all(job["status"] not in ("queued", "running") for job in self.admin.get("/workflows/jobs", expect=200).json()["items"]),
              "jobs have ended", within=20)
        wait_indexed(self.project, self.db, "wages", "staff", within=20)

    def change(self):
        """Changes data that a caller may not see: values, the number of records, and the history of both."""
        n = next(self.numbers)
        self.admin.put(f"/entities/wages/items/{self.hidden}", {"person": f"{HIDDEN_TEXT} Number{n}", HIDDEN_FIELD["wages"]: int(HIDDEN_AMOUNT) + n}, expect=200)
        more = self.project.item("wages", person=f"{HIDDEN_TEXT} More", code=f"M{n}", **{HIDDEN_FIELD["wages"]: n})["id"]
        if n % 2:
            self.admin.delete(f"/entities/wages/items/{more}", expect=204)
        self.settle()

    def paths(self):
        """Yields the paths of each reading route, with the ids of existing objects."""
        chart = [made[1] for made in self.made.values()]
        views = [f"{entity}_view" for entity in self.made]
        records = {"wages": self.hidden, "staff": self.staff}
        values = {
            "/charts": {"id": chart}, "/materialized-views": {"name": views}, "/dashboards": {"id": [self.board]},
            "/files": {"id": [self.slip]}, "/workflows/jobs": {"id": [1, 2, 3]}, "/workflows": {"id": [1], "version": [1]},
            "/users": {"id": [1, 2]}, "/user-profiles": {"user_id": [1, 2]}, "/roles": {"id": self.everybody[:2]}, "/tasks": {"id": [1]},
            "/api-keys": {"id": [1]}, "/groups": {"id": [1]}, "/folders": {"id": [1]}, "/menus": {"id": [1]}, "/integrations": {"id": [1]},
            "/connections": {"id": [1]}, "/audit-log": {"id": [1]}, "/docs": {"asset": ["none"]},
        }
        for route in self.routes:
            if ELSEWHERE.match(route) or route.startswith("/files/tus"):
                continue
            if route.startswith("/entities/{entity}"):
                for entity, record in records.items():
                    yield (route.replace("{entity}", entity).replace("{id}", str(record)).replace("{version}", "1")
                           .replace("{field}", HIDDEN_FIELD[entity]) + ("?format=csv" if route.endswith("/export") else ""))
                continue
            area = max((prefix for prefix in values if route.startswith(prefix)), key=len, default=None)
            filled = [route]
            for name in re.findall(r"\{(\w+)\}", route):
                assert area and name in values[area], f"{route}: the matrix knows no {name}"
                filled = [path.replace(f"{{{name}}}", str(value)) for path in filled for value in values[area][name]]
            yield from filled
        yield from self.questions()

    def questions(self):
        """Yields queries with which a caller could try to learn hidden data."""
        for entity in ("wages", "staff"):
            items = f"/entities/{entity}/items"
            for hidden in (HIDDEN_FIELD[entity], "person", "wage.person", f"wage.{HIDDEN_FIELD['wages']}"):
                yield f"{items}?filter[{hidden}][ne]=0"
                yield f"{items}?filter[{hidden}][null]=false"
                yield f"{items}?sort={hidden}"
                yield f"{items}?fields={hidden}"
                yield f"{items}/aggregate?count=*&group_by={hidden}"
                yield f"{items}/aggregate?max={hidden}&filter[{hidden}][null]=false"
            yield f"{items}?expand=wage"
            yield f"{items}/aggregate?count=*"
            yield f"{items}/export?format=jsonl"
            yield f"/permissions/explain?path={items}/{self.hidden}"
            yield f"/permissions/explain?path={items}/424242"
            yield f"/permissions/explain?method=DELETE&path={items}/{self.hidden}"
        for text in (HIDDEN_TEXT, HIDDEN_TEXT[:4], HIDDEN_AMOUNT, "Number", "*", "Ann"):
            for path in ("/search", "/search/public", "/search/suggest"):
                yield f"{path}?q={text}"
            yield f"/search?q={text}&entities=wages&facets=person,{HIDDEN_FIELD['wages']}"
            yield f"/search?q={text}&entities=staff&facets=wage,{HIDDEN_FIELD['staff']}"

    def read_all(self, client, headers):
        """Returns the answer to each path, without members that always differ."""
        told = {}
        for path in dict.fromkeys(self.paths()):
            separate = Client(client.base_url, token=client.token, key=client.key)
            separate.session = client.session
            answer = separate.get(path, headers=headers)
            body = VOLATILE.sub("", answer.text) if "image" not in path else ""
            told[path] = (answer.status_code, body)
        return told


READS = [f"svc_{name}:read" for name in (
    "entities fields enums dashboards search workflows files users roles permissions audit_log documentation menus integrations connections groups api_keys"
).split()]


def permission_names(world):
    items = world.admin.get("/permissions", params={"limit": 500}, expect=200).json()["items"]
    return [item["name"] for item in items]


def group_member(world):
    """A user who sees one record, as a member of a group to which the record was granted."""
    client = world.project.user(role_ids=[world.project.role(permissions=[*world.reads, "wages:read"])["id"]])
    group = world.admin.post("/groups", {"name": "Payroll"}, expect=201).json()["id"]
    world.admin.post(f"/groups/{group}/members", {"user_ids": [client.user["id"]]}, expect=200)
    seen = world.project.item("wages", person="Ordinary", code="G1")["id"]
    world.admin.put(f"/entities/wages/items/{seen}/rls-groups", {"items": [{"group_id": group}]}, expect=200)
    return client, {"X-Group-Id": str(group)}


def row_rule_user(world):
    """A user who sees its own record, and not the others."""
    client = world.project.user(role_ids=[world.project.role(permissions=[*world.reads, "wages:read", "wages:create"])["id"]])
    world.project.item("wages", client, person="Own", code="O1", **{HIDDEN_FIELD["wages"]: 1})
    return client, {}


def field_rule_user(world):
    """A user who reads records of `staff`, in which a field rule hides the hidden field."""
    role = world.project.role(permissions=[*world.reads, "staff:read"], field_access=[
        {"entity": "staff", "action": "read", "fields": ["name"]}])
    return world.project.user(role_ids=[role["id"]]), {}


CALLERS = {
    "anonymous": lambda world: (world.project.client(), {}),
    "standard": lambda world: (world.project.user(), {}),
    "reader of settings": lambda world: (world.project.user_with(*world.reads), {}),
    "reader of records alone": lambda world: (world.project.user_with("wages:read"), {}),
    "under a row rule": row_rule_user,
    "under a field rule": field_rule_user,
    "member of a group": group_member,
    "key of an administrator": lambda world: (world.project.key(world.reads), {}),
    "key of a user under a row rule": lambda world: (world.project.key(["svc_entities:read", "wages:read"], client=world.project.user(
        permissions=["svc_entities:read", "wages:read", "svc_api_keys:create"])), {}),
}


@pytest.fixture(scope="module")
def world(shared_project, session_gateway, start_runner, start_indexer, servers):
    start_runner(SWEEP_MS=200)
    start_indexer()
    listed = session_gateway.run("--list-routes")
    assert listed.returncode == 0, listed.stderr
    connection = servers.connect()
    made = World(shared_project, connection, listed.stdout.splitlines())
    made.reads = [name for name in READS if name in permission_names(made)]
    assert len(made.reads) > 12
    made.callers = {name: make(made) for name, make in CALLERS.items()}
    made.settle()
    settle()
    yield made
    connection.close()


def differences(before, after):
    return [f"{path}: {before[path]} became {after[path]}"[:700] for path in before
            if before[path] != after[path] and not GROWING_PATHS.match(path)]


def check(world, caller):
    client, headers = world.callers[caller]
    before = world.read_all(client, headers)
    world.change()
    after = world.read_all(client, headers)
    assert not differences(before, after), "\n".join(differences(before, after))[:6000]
    named = [path for path, (_, body) in after.items() for name in NAMES if name in body and name not in path]
    assert not named, named
    for path in ("/workflows/jobs", "/workflows/jobs/1"):
        assert not re.search(r'"trigger":\{[^}]*"id":[1-9]', after[path][1]), after[path]
    wrong = [f"{path}: {status}" for path, (status, _) in after.items() if status >= 500]
    assert not wrong, wrong
    return after


@pytest.mark.parametrize("caller", CALLERS)
def test_no_answer_depends_on_what_its_caller_may_not_see(world, caller):
    told = check(world, caller)
    if caller == "under a field rule":
        # the caller's own query names the field; definitions, records and documents do not
        assert not [path for path, (_, body) in told.items() if HIDDEN_FIELD["staff"] in body and HIDDEN_FIELD["staff"] not in path]


# Changes between the creation of derived data and its reading: most of them give a right and revoke it again.
CHANGES = {
    "shared with every role, then redefined": lambda world: [
        world.admin.put(f"/materialized-views/{entity}_view", {"role_ids": world.everybody}, expect=200)
        and world.admin.put(f"/materialized-views/{entity}_view", {"role_ids": []}, expect=200) for entity in world.made],
    "the row rule ended and came back": lambda world: [
        world.admin.put("/entities/wages", {"row_level_security": on}, expect=200) for on in (False, True)],
    "charts made of views": lambda world: [
        world.admin.put(f"/charts/{chart}", {"entity": None, "view": f"{entity}_view", "filter": None, "group_by": [],
                                             "aggregates": [{"function": "max", "field": "count"}]}, expect=200)
        for entity, (_, chart) in world.made.items()],
}


@pytest.mark.parametrize("change", CHANGES)
def test_nor_after_changes_of_definitions_and_of_rights(world, change):
    CHANGES[change](world)
    world.settle()
    settle()
    for caller in ("standard", "reader of settings", "under a row rule", "under a field rule", "key of an administrator"):
        check(world, caller)


def test_a_right_that_was_taken_away_closes_what_was_made_with_it(world):
    client, headers = world.callers["under a row rule"]
    role = client.user["role_ids"][0]
    world.admin.put(f"/roles/{role}", {"permissions": world.reads}, expect=200)
    settle()
    check(world, "under a row rule")
    named = [path for path, (_, body) in world.read_all(client, headers).items() if '"Own"' in body]
    assert not named, named
