"""A10: rows and fields that a caller may not see are in no answer, and have no effect on the answer to any query."""
import json

import pytest
from groundwork.records import codes, ids
from groundwork.soon import await_status

NOTES = "/entities/notes/items"
POSTS = "/entities/posts/items"


@pytest.fixture(scope="module")
def world(shared_project):
    """Notes of the administrator (hidden from the caller) and of the caller (own), and posts that refer to both."""
    project = shared_project
    project.entity("notes", [{"name": "name", "type": "varchar", "unique": True}, {"name": "n", "type": "integer"}])
    project.entity("posts", [
        {"name": "title", "type": "varchar"}, {"name": "note", "type": "relation", "options": {"entity": "notes"}},
        {"name": "notes", "type": "relation", "options": {"entity": "notes", "many": True}}], row_level_security=False)
    rights = [f"{entity}:{action}" for entity in ("notes", "posts") for action in ("read", "create", "update", "delete")]
    project.caller = project.user(permissions=[*rights, "svc_exports:create"])
    project.own = project.item("notes", client=project.caller, name="own", n=1)["id"]
    project.hidden = [project.item("notes", name=f"hidden{n}", n=100 + n)["id"] for n in range(3)]
    project.posts = [
        project.item("posts", title="a", note=project.own, notes=[project.own, project.hidden[0]])["id"],
        project.item("posts", title="b", note=project.hidden[0], notes=[project.hidden[0]])["id"],
        project.item("posts", title="c", note=None, notes=[])["id"]]
    return project


def test_hidden_rows_are_in_no_list(world):
    body = world.caller.get(NOTES, expect=200).json()
    assert [item["id"] for item in body["items"]] == [world.own] and body["total_items"] == 1 and not body["has_next_page"]
    assert world.caller.get(f"{NOTES}?limit=1").json()["has_next_page"] is False
    assert world.caller.get(f"{NOTES}?limit=1&page=2").json() | {"items": []} == {
        "items": [], "total_items": 1, "page": 2, "page_size": 1, "has_next_page": False}
    assert ids(world.caller.get(f"{NOTES}?cursor=start&sort=-n")) == [world.own]
    assert world.admin.get(NOTES).json()["total_items"] == 4


def test_hidden_rows_answer_like_missing_ones(world):
    for number in world.hidden:
        for method, tail, body in (("GET", "", None), ("HEAD", "", None), ("PUT", "", {"n": 2}), ("PATCH", "", {"n": 2}), ("PUT", "", {}),
                                   ("DELETE", "", None), ("POST", "/lock", {}), ("DELETE", "/lock", None)):
            answer = world.caller.request(method, f"{NOTES}/{number}{tail}", json=body, expect=404)
            missing = world.caller.request(method, f"{NOTES}/999999{tail}", json=body, expect=404)
            if method != "HEAD":
                assert {**answer.json(), "request_id": 0} == {**missing.json(), "request_id": 0}
    assert world.admin.get(f"{NOTES}/{world.hidden[0]}").json()["n"] == 100


def test_hidden_rows_match_no_filter(world):
    for query in ("filter[n][gte]=100", "filter[name]=hidden0", "filter[name][starts_with]=hid", f"filter[id]={world.hidden[0]}",
                  "filter[or][0][n]=100&filter[or][1][n]=101", f"filter[created_by]={world.admin.user['id']}"):
        assert ids(world.caller.get(f"{NOTES}?{query}")) == [], query
        assert world.caller.get(f"{NOTES}/aggregate?count=*&{query}").json()["items"] == [{"count": 0}], query


def test_hidden_rows_are_not_reached_through_relations(world):
    a, b, c = world.posts
    for query, wanted in (("filter[note.n][gte]=1", [a]), ("filter[note.name]=hidden0", []), ("filter[note.id][null]=false", [a]),
                          ("filter[notes.name]=hidden0", []), ("filter[notes.n][gte]=1", [a]),
                          (f"filter[notes]={world.hidden[0]}", []),
                          (f"filter[notes][in]={world.hidden[0]},{world.own}", [a]), ("filter[notes][null]=true", [b, c]),
                          (f"filter[notes][ne]={world.hidden[0]}", [a, b, c]), ("filter[note.name][ne]=hidden0", [a, b, c]),
                          ("filter[note.name][ne]=nothing", [a, b, c]), ("filter[note.id][null]=true", [b, c]),
                          ("filter[notes.name][nin]=hidden0", [a, b, c])):
        assert ids(world.caller.get(f"{POSTS}?sort=id&{query}")) == wanted, query


def test_orders_do_not_reveal(world):
    """A hidden value sorts like a missing value."""
    a, b, c = world.posts
    assert ids(world.caller.get(f"{POSTS}?sort=note.n,id")) == [a, b, c]
    assert ids(world.caller.get(f"{POSTS}?sort=-note.n,id")) == [a, b, c]
    cursor = world.caller.get(f"{POSTS}?sort=-note.n&limit=1&cursor=start").json()["next_cursor"]
    assert "100" not in cursor and ids(world.caller.get(f"{POSTS}?sort=-note.n&cursor={cursor}"))[-1] in (b, c)


def test_expansions_do_not_reveal(world):
    records = world.caller.get(f"{POSTS}?sort=id&expand=note,notes", expect=200).json()["items"]
    assert [(record["note"] or {}).get("id") for record in records] == [world.own, None, None]
    assert [[note["id"] for note in record["notes"]] for record in records] == [[world.own], [], []]
    assert "hidden" not in json.dumps(records)
    one = world.caller.get(f"{POSTS}/{world.posts[1]}?expand=note,notes", expect=200).json()
    assert one["note"] is None and one["notes"] == []


def test_aggregates_do_not_reveal(world):
    body = world.caller.get(f"{NOTES}/aggregate?count=*&sum=n&max=n&min=n&avg=n", expect=200).json()["items"][0]
    assert body["count"] == 1 and body["sum"]["n"] == body["max"]["n"] == body["min"]["n"] == body["avg"]["n"] == 1
    groups = world.caller.get(f"{NOTES}/aggregate?group_by=name", expect=200).json()["items"]
    assert groups == [{"name": "own", "count": 1}]
    through = world.caller.get(f"{POSTS}/aggregate?group_by=note.name&max=note.n", expect=200).text
    assert "hidden" not in through and "100" not in through


def test_exports_do_not_reveal(world):
    for form in ("csv", "jsonl"):
        assert "hidden" not in world.caller.get(f"{NOTES}/export?format={form}", expect=200).text
        posts = world.caller.get(f"{POSTS}/export?format={form}&fields=title,notes", expect=200).text
        assert str(world.own) in posts and len(posts.splitlines()) == 3 + (form == "csv")


def test_deletes_do_not_reach(world):
    body = world.caller.post(f"{NOTES}/delete-many", {"ids": [*world.hidden, 999999]}, expect=200).json()
    assert body == {"deleted": 0, "not_found": [*world.hidden, 999999]}
    body = world.caller.post(f"{NOTES}/delete-many", {"filter": {"n": {"gte": 100}}, "max_affected": 1}, expect=200).json()
    assert body == {"deleted": 0, "not_found": []}, "the guard must not count what is hidden"
    assert world.admin.get(NOTES).json()["total_items"] == 4


def test_upserts_do_not_reach(world):
    body = {"items": [{"name": "hidden0", "n": 5}], "mode": "upsert", "on_conflict": ["name"]}
    assert codes(world.caller.post(f"{NOTES}/bulk", body, expect=409)) != {}
    each = world.caller.post(f"{NOTES}/bulk", {**body, "atomic": False}, expect=201).json()
    assert each["failed"] == 1 and each["results"][0]["error"]["code"] == "unique_violation"
    assert world.admin.get(f"{NOTES}/{world.hidden[0]}").json()["n"] == 100


def test_imports_do_not_reach(world):
    files = {"file": ("x.csv", f"title,note\r\nq,{world.hidden[0]}\r\n", "text/csv")}
    answer = world.caller.post(f"{POSTS}/import", files=files)
    task = world.caller.get(f"/tasks/{answer.json()['task_id']}").json()
    assert task["done"] == 0 and task["failed"] == 1 and "does not exist" in task["errors"][0]["detail"], task


def test_keys_see_what_their_creator_sees(world):
    maker = world.user(permissions=["svc_api_keys:create", "notes:read", "notes:create"])
    mine = world.item("notes", client=maker, name="by maker")["id"]
    key = world.key(["notes:read"], client=maker)
    assert ids(key.get(NOTES)) == [mine]
    key.get(f"{NOTES}/{world.own}", expect=404)
    world.admin.delete(f"{NOTES}/{mine}", expect=204)


def test_without_row_rule_everybody_sees_all(world):
    other = world.user(entities=["posts"])
    assert ids(other.get(f"{POSTS}?sort=id")) == world.posts
    other.put(f"{POSTS}/{world.posts[2]}", {"title": "c"}, expect=200)


# --- grants and groups --------------------------------------------------------------------------


@pytest.fixture
def shared(project):
    """A record, its path, and a user who does not see the record."""
    project.entity("notes", [{"name": "name", "type": "varchar"}])
    project.path = f"{NOTES}/{project.item('notes', name='x')['id']}"
    project.item("notes", name="other")
    project.reader = project.user(entities=["notes"])
    return project


@pytest.mark.parametrize("kind", ["user", "group", "role"])
def test_grants(shared, kind):
    user, path = shared.reader, shared.path
    if kind == "user":
        where, grantee = "rls-users", {"user_id": user.user["id"]}
    elif kind == "role":
        where, grantee = "rls-groups", {"role_id": user.user["role_ids"][-1]}
    else:
        group = shared.admin.post("/groups", {"name": "Team"}, expect=201).json()["id"]
        shared.admin.post(f"/groups/{group}/members", {"user_ids": [user.user["id"]]}, expect=200)
        where, grantee = "rls-groups", {"group_id": group}
    user.get(path, expect=404)

    def grant(**rights):
        shared.admin.put(f"{path}/{where}", {"items": [{**grantee, **rights}]}, expect=200)

    grant()
    await_status(lambda: user.get(path), 200)
    number = int(path.rsplit("/", 1)[1])
    assert ids(user.get(NOTES)) == [number] and user.get(NOTES).json()["total_items"] == 1
    assert user.put(path, {"name": "y"}, expect=403).json()["code"] == "forbidden"
    user.post(f"{path}/lock", {}, expect=403)
    user.delete(path, expect=403)
    assert user.post(f"{NOTES}/delete-many", {"ids": [number]}, expect=200).json() == {"deleted": 0, "not_found": [number]}
    grant(can_update=True)
    assert user.put(path, {"name": "y"}, expect=200).json()["name"] == "y"
    user.delete(path, expect=403)
    grant(can_delete=True)
    user.put(path, {"name": "z"}, expect=403)
    shared.admin.delete(f"{path}/{where}", expect=204)
    user.get(path, expect=404)
    grant(can_delete=True)
    user.delete(path, expect=204)
    shared.admin.get(path, expect=404)


def test_x_group_id(shared):
    """A request with X-Group-Id and svc_group_data:read reads the records of the group's members."""
    role = shared.role(permissions=["notes:read", "notes:update", "notes:delete", "svc_group_data:read"])
    lead, member, stranger = shared.user(role_ids=[role["id"]]), shared.user(entities=["notes"]), shared.user(entities=["notes"])
    record = shared.item("notes", client=member, name="member's")["id"]
    alien = shared.item("notes", client=stranger, name="stranger's")["id"]
    group = shared.admin.post("/groups", {"name": "Team", "role_ids": [role["id"]]}, expect=201).json()["id"]
    shared.admin.post(f"/groups/{group}/members", {"user_ids": [member.user["id"]]}, expect=200)
    foreign = shared.admin.post("/groups", {"name": "Others"}, expect=201).json()["id"]
    shared.admin.post(f"/groups/{foreign}/members", {"user_ids": [stranger.user["id"]]}, expect=200)
    path = f"{NOTES}/{record}"
    with_group = {"X-Group-Id": str(group)}
    lead.get(path, expect=404)
    await_status(lambda: lead.get(path, headers=with_group), 200)
    assert ids(lead.get(NOTES, headers=with_group)) == [record]
    assert lead.get(f"{NOTES}/aggregate?count=*", headers=with_group).json()["items"] == [{"count": 1}]
    assert ids(lead.get(NOTES)) == []
    lead.get(f"{NOTES}/{alien}", headers=with_group, expect=404)
    lead.put(path, {"name": "x"}, headers=with_group, expect=403)
    lead.delete(path, headers=with_group, expect=403)
    lead.get(path, headers={"X-Group-Id": str(foreign)}, expect=403)
    lead.get(path, headers={"X-Group-Id": "999999"}, expect=403)
    for text in ("x", "0", "-1", "1,2", "1e3"):
        lead.get(path, headers={"X-Group-Id": text}, expect=400)
    stranger.get(path, headers=with_group, expect=403)
    member.get(path, headers=with_group, expect=403)
    shared.admin.delete(f"/groups/{group}/members/{member.user['id']}", expect=204)
    await_status(lambda: lead.get(path, headers=with_group), 404)


# --- fields -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def staff(world):
    """An entity of which a role may read two fields, and may set and change only some."""
    project = world
    project.entity("staff", [
        {"name": "name", "type": "varchar"}, {"name": "level", "type": "integer"},
        {"name": "salary", "type": "integer", "unique": True},
        {"name": "boss", "type": "relation", "options": {"entity": "notes"}},
        {"name": "inbox", "type": "varchar"}], row_level_security=False)
    project.entity("desks", [{"name": "owner", "type": "relation", "options": {"entity": "staff"}}], row_level_security=False)
    rights = ["read", "create", "update", "delete"]
    project.limited = project.user(role_ids=[project.role(
        permissions=[*(f"staff:{right}" for right in rights), *(f"desks:{right}" for right in rights), "svc_exports:create"],
        field_access=[{"entity": "staff", "action": "read", "fields": ["name", "level"]},
                      {"entity": "staff", "action": "create", "fields": ["name", "inbox"]},
                      {"entity": "staff", "action": "update", "fields": ["name"]}])["id"]])
    project.person = project.item("staff", name="Ana", level=3, salary=7777, inbox="x")["id"]
    project.desk = project.item("desks", owner=project.person)["id"]
    return project


STAFF = "/entities/staff/items"
SHOWN = {"id", "name", "level", "created_at", "updated_at", "created_by"}


def test_hidden_fields_are_in_no_answer(staff):
    texts = []
    for answer in (staff.limited.get(STAFF), staff.limited.get(f"{STAFF}/{staff.person}"),
                   staff.limited.get("/entities/desks/items?expand=owner"), staff.limited.get(f"{STAFF}/export?format=jsonl"),
                   staff.limited.get(f"{STAFF}/export?format=csv"), staff.limited.put(f"{STAFF}/{staff.person}", {"name": "Ana"})):
        assert answer.status_code == 200, answer.text
        texts.append(answer.text)
    assert all("salary" not in text and "7777" not in text and "inbox" not in text for text in texts)
    assert set(staff.limited.get(f"{STAFF}/{staff.person}").json()) == SHOWN
    made = staff.limited.post(STAFF, {"name": "Ben", "inbox": "mine"}, expect=201).json()
    assert set(made) == SHOWN
    assert staff.admin.get(f"{STAFF}/{made['id']}").json()["inbox"] == "mine"


@pytest.mark.parametrize("path, query", [
    (STAFF, "filter[{}]=7777"), (STAFF, "filter[{}][gt]=1"), (STAFF, "filter[{}][null]=true"), (STAFF, "filter[or][0][{}]=1"),
    (STAFF, "sort={}"), (STAFF, "sort=-{}"), (STAFF, "fields={}"), (STAFF, "fields=name,{}"), (STAFF, "expand={}"),
    ("/entities/desks/items", "filter[owner.{}]=7777"), ("/entities/desks/items", "sort=owner.{}"),
    ("/entities/desks/items", "expand=owner.{}"), (f"{STAFF}/aggregate", "group_by={}"), (f"{STAFF}/aggregate", "sum={}"),
    (f"{STAFF}/aggregate", "max={}"), (f"{STAFF}/aggregate", "filter[{}]=1"),
    ("/entities/desks/items/aggregate", "group_by=owner.{}"),
    (f"{STAFF}/export", "fields={}"), (f"{STAFF}/export", "filter[{}]=1"), (f"{STAFF}/export", "sort={}"),
    (f"{STAFF}/1", "fields={}"), (f"{STAFF}/1", "expand={}"),
])
def test_hidden_fields_answer_like_missing_ones(staff, path, query):
    for hidden in ("salary", "boss"):
        answer = staff.limited.get(f"{path}?{query.format(hidden)}", expect=400)
        missing = staff.limited.get(f"{path}?{query.format('nothing')}", expect=400)
        assert answer.text.replace(hidden, "nothing").replace(answer.json()["request_id"], "") == missing.text.replace(
            missing.json()["request_id"], ""), answer.text


def test_hidden_fields_in_bodies(staff):
    path = f"{STAFF}/{staff.person}"
    for body, code in (({"salary": 1}, "unknown_field"), ({"boss": None}, "unknown_field"), ({"level": 9}, "read_only"),
                       ({"inbox": "y"}, "unknown_field")):
        assert list(codes(staff.limited.put(path, body, expect=400)).values()) == [code], body
    for body, code in (({"salary": 1}, "unknown_field"), ({"level": 9}, "read_only"), ({"nothing": 9}, "unknown_field")):
        assert list(codes(staff.limited.post(STAFF, body, expect=400)).values()) == [code], body
        bulk = staff.limited.post(f"{STAFF}/bulk", {"items": [body]}, expect=400)
        assert list(codes(bulk).values()) == [code], bulk.text
    upsert = {"items": [{"name": "q", "salary": 7777}], "mode": "upsert", "on_conflict": ["salary"]}
    answer = staff.limited.post(f"{STAFF}/bulk", upsert, expect=400)
    missing = staff.limited.post(f"{STAFF}/bulk", {**upsert, "on_conflict": ["nothing"]}, expect=400)
    assert codes(answer) == codes(missing)
    for body in ({"filter": {"salary": 7777}}, {"filter": {"salary": {"gt": 1}}}, {"filter": {"or": [{"salary": 1}]}}):
        assert set(codes(staff.limited.post(f"{STAFF}/delete-many", body, expect=400)).values()) == {"unknown_field"}
    for name in ("salary", "nothing"):
        files = {"file": ("x.csv", f"name,{name}\r\nx,1\r\n", "text/csv")}
        assert codes(staff.limited.post(f"{STAFF}/import", files=files, expect=400)) == {name: "unknown_field"}
    assert staff.admin.get(path).json()["salary"] == 7777


def test_entities_that_may_not_be_read_are_not_reached(staff):
    """Without notes:read, no query of posts follows its relation to notes."""
    user = staff.user_with("posts:read")
    for query in ("filter[note.name]=own", "sort=note.name", "expand=note", "expand=notes", "filter[notes.n]=1"):
        user.get(f"{POSTS}?{query}", expect=400)
    user.get(f"{POSTS}/aggregate?group_by=note.name", expect=400)


def test_rules_of_two_roles_add_up(staff):
    roles = [staff.role(permissions=["staff:read"], field_access=[{"entity": "staff", "action": "read", "fields": fields}])["id"]
             for fields in (["name"], ["level"])]
    assert set(staff.user(role_ids=roles).get(f"{STAFF}/{staff.person}", expect=200).json()) == SHOWN


def test_who_may_open_what_the_rule_hides(project):
    """Users of a new project may change entities, but not in a way that shows them hidden records."""
    project.entity("letters", [{"name": "text", "type": "varchar", "public": True}, {"name": "note", "type": "varchar"}])
    letter = project.item("letters", text="of the administrator", note="x")["id"]
    path = "/entities/letters"
    user = project.user(entities=["letters"])
    user.put(path, {"label": "Letters", "row_level_security": True, "public_read": False}, expect=200)
    for change in ({"row_level_security": False}, {"public_read": True}):
        assert user.put(path, change, expect=403).json()["code"] == "admin_required"
        user.put(path, {"name": "renamed", **change}, expect=403)
    assert user.get(path + "/items", expect=200).json()["total_items"] == 0
    assert project.admin.put(path, {"public_read": True}, expect=200).json()["public_read"]
    user.put(path + "/fields/note", {"public": True}, expect=403)
    user.put(path + "/fields/note", {"indexed": True, "public": False}, expect=200)
    project.admin.put(path + "/fields/note", {"public": True}, expect=200)
    user.put(path + "/fields/note", {"indexed": False, "public": True}, expect=200)
    user.put(path, {"public_read": False}, expect=200)
    assert not project.admin.put(path, {"row_level_security": False}, expect=200).json()["row_level_security"]
    await_status(lambda: user.get(f"{path}/items/{letter}"), 200)


def test_a_refused_change_of_a_field_reveals_nothing_of_hidden_records(project):
    project.entity("letters", [{"name": "text", "type": "varchar"}, {"name": "n", "type": "integer"}])
    hidden = project.item("letters", n=5)["id"]
    user = project.user(entities=["letters"])
    for change in ({"name": "text", "required": True}, {"name": "n", "options": {"max": 4}}):
        path = f"/entities/letters/fields/{change['name']}"
        told = project.admin.put(path, change, expect=409).json()
        assert told["detail"].startswith("1 record has") and told["detail"].endswith(f": {hidden}.")
        asked = user.put(path, change, expect=403).json()
        assert str(hidden) not in asked["detail"]
        asked = user.post("/entities/letters/fields", {"name": "must", "type": "text", "required": True}, expect=409).json()
        assert asked["detail"].startswith("Some records have no value") and str(hidden) not in asked["detail"]
    project.admin.put("/entities/letters", {"row_level_security": False}, expect=200)
    await_status(lambda: user.get(f"/entities/letters/items/{hidden}"), 200)
    assert user.put("/entities/letters/fields/text", {"required": True}, expect=409).json()["detail"].startswith("1 record has")
