"""Live changes: each listener sees the changes of records that it may see, in order and without a gap."""
import itertools
import socket
import threading
import time
import urllib.parse

import pytest
from groundwork.chaos import kill
from groundwork.client import Client
from groundwork.deadline import allowed, at_most, until
from groundwork.project import PASSWORD
from groundwork.records import rows
from groundwork.runs import condition
from groundwork.soon import PROMISE, SLACK, await_status
from groundwork.workflows import create, start, workflow
from stream import Stream, event_ids

ITEMS = "/entities/orders/items"


def client_at(gateway, client):
    """Returns a client of the same user at another gateway."""
    return Client(f"{gateway.url}/org/{client.project.id}", token=client.token)


def grant(live_project, record, *users, kind="users", expect=200):
    if kind == "users":
        items = [{"user_id": user.user["id"]} for user in users]
    else:
        items = list(users)
    live_project.admin.put(f"{ITEMS}/{record['id']}/rls-{kind}", {"items": items}, expect=expect)


def test_created_updated_deleted(live_project, listen):
    stream = listen(live_project.admin)
    made = live_project.item("orders", name="a", total=1)
    created = stream.next("created")
    assert created.data == {"entity": "orders", "id": made["id"], "record": made}
    changed = live_project.admin.put(f"{ITEMS}/{made['id']}", {"total": 2}, expect=200).json()
    updated = stream.next("updated")
    assert updated.data == {"entity": "orders", "id": made["id"], "record": changed}
    live_project.admin.delete(f"{ITEMS}/{made['id']}", expect=204)
    assert stream.next("deleted").data == {"entity": "orders", "id": made["id"]}
    assert len({created.position, updated.position, stream.position}) == 3


def test_a_stream_begins_with_its_answer(project, listen):
    """A stream shows every change after its 200, also if the project had no listener before."""
    project.entity("orders", [{"name": "name", "type": "varchar"}])
    stream = listen(project.admin, hello=False)
    made = [project.item("orders", name=str(n))["id"] for n in range(3)]
    stream.until(lambda event: event.kind == "created" and event.data["id"] == made[-1])
    second = listen(project.admin, hello=False)
    last = project.item("orders", name="last")["id"]
    for each in (stream, second):
        heard = each.until(lambda event: event.kind == "created" and event.data["id"] == last)
        assert [event.data["id"] for event in heard if event.kind == "created"][-1:] == [last]


@pytest.mark.timed
def test_a_change_is_soon_there(live_project, listen):
    stream = listen(live_project.admin)
    took = []
    for n in range(10):
        live_project.item("orders", name="soon", total=n)
        written = time.monotonic()
        took.append(stream.next("created").at - written)
    assert sorted(took)[7] < allowed(0.25), took


def test_each_change_shows_what_it_made(live_project, listen, mark):
    """Each event shows the record as that change left it, also when the next change came before the event was read."""
    stream = listen(live_project.admin)
    made = live_project.item("orders", name="steps", total=0)
    for n in range(1, 30):
        live_project.admin.put(f"{ITEMS}/{made['id']}", {"total": n}, expect=200)
    live_project.admin.delete(f"{ITEMS}/{made['id']}", expect=204)
    [events] = mark(stream)
    assert [event.kind for event in events] == ["created"] + ["updated"] * 29 + ["deleted"]
    assert [event.data["record"]["total"] for event in events[:-1]] == list(range(30))


def test_many_at_once(live_project, listen, mark):
    live_project.entity("tags", [{"name": "key", "type": "varchar", "unique": True}, {"name": "n", "type": "integer"}])
    stream = listen(live_project.admin, entities="orders,tags")
    made = live_project.admin.post("/entities/tags/items/bulk", {"items": [{"key": f"k{n}", "n": n} for n in range(20)]}, expect=201).json()
    ids = [result["id"] for result in made["results"]]
    live_project.admin.post("/entities/tags/items/bulk", {
        "mode": "upsert", "on_conflict": ["key"], "items": [{"key": f"k{n}", "n": -n} for n in range(18, 22)]}, expect=201)
    live_project.admin.post("/entities/tags/items/delete-many", {"ids": ids[:3]}, expect=200)
    [events] = mark(stream)
    assert event_ids(events[:20]) == [("created", each) for each in ids]
    middle = event_ids(events[20:-3])
    assert middle[:2] == [("updated", ids[18]), ("updated", ids[19])] and [kind for kind, _ in middle[2:]] == ["created"] * 2
    assert event_ids(events[-3:]) == [("deleted", each) for each in ids[:3]]


def test_a_record_that_is_brought_back(live_project, listen, mark):
    live_project.entity("drafts", [{"name": "n", "type": "integer"}], history=True)
    stream = listen(live_project.admin, entities="orders,drafts")
    made = live_project.item("drafts", n=1)
    path = f"/entities/drafts/items/{made['id']}"
    live_project.admin.put(path, {"n": 2}, expect=200)
    live_project.admin.delete(path, expect=204)
    live_project.admin.post(f"{path}/history/1/restore", expect=200)
    [events] = mark(stream)
    assert [event.kind for event in events] == ["created", "updated", "deleted", "created", "updated"]
    assert [event.data["record"]["n"] for event in events[3:]] == [2, 1]


def test_a_record_whose_file_is_deleted(live_project, listen, mark):
    live_project.entity("letters", [{"name": "scan", "type": "file"}])
    number = live_project.admin.post("/files", files={"file": ("scan.txt", b"text")}, expect=201).json()["id"]
    made = live_project.item("letters", scan=number)
    stream = listen(live_project.admin, entities="orders,letters")
    live_project.admin.delete(f"/files/{number}", expect=204)
    [events] = mark(stream)
    assert event_ids(events) == [("updated", made["id"])] and events[0].data["record"]["scan"] is None


def test_what_goes_with_a_record(live_project, listen, mark):
    live_project.entity("authors", [{"name": "name", "type": "varchar"}])
    live_project.entity("books", [{"name": "author", "type": "relation", "options": {"entity": "authors", "on_delete": "cascade"}}])
    live_project.entity("notes", [{"name": "book", "type": "relation", "options": {"entity": "books", "on_delete": "set_null"}}])
    author = live_project.item("authors", name="a")
    book = live_project.item("books", author=author["id"])
    note = live_project.item("notes", book=book["id"])
    stream = listen(live_project.admin, entities="orders,authors,books,notes")
    live_project.admin.delete(f"/entities/authors/items/{author['id']}", expect=204)
    [events] = mark(stream)
    found = {(event.data["entity"], event.kind, event.data["id"]) for event in events}
    assert found == {("authors", "deleted", author["id"]), ("books", "deleted", book["id"]), ("notes", "updated", note["id"])}
    assert next(event for event in events if event.kind == "updated").data["record"]["book"] is None


# --- rules ---

def test_rows(live_project, listen, mark):
    one, other = live_project.user(entities=["orders"]), live_project.user(entities=["orders"])
    mine, theirs = listen(one), listen(other)
    everything = listen(live_project.admin)
    made = live_project.item("orders", client=one, name="mine")
    hidden = live_project.item("orders", name="the administrator's")
    assert mine.next("created").data["record"] == made
    grant(live_project, hidden, other)
    assert theirs.next("created").data["record"] == hidden
    live_project.admin.put(f"{ITEMS}/{hidden['id']}", {"total": 5}, expect=200)
    assert theirs.next("updated").data["record"]["total"] == 5
    grant(live_project, hidden)
    assert theirs.next("deleted").data == {"entity": "orders", "id": hidden["id"]}
    live_project.admin.put(f"{ITEMS}/{hidden['id']}", {"total": 6}, expect=200)
    live_project.admin.delete(f"{ITEMS}/{hidden['id']}", expect=204)
    [events] = mark(everything)
    assert event_ids(events) == [("created", made["id"]), ("created", hidden["id"]), ("updated", hidden["id"]),
                                 ("updated", hidden["id"]), ("deleted", hidden["id"])]
    live_project.item("orders", client=one, name="last")
    live_project.item("orders", client=other, name="last")
    assert mine.next("created").data["record"]["name"] == theirs.next("created").data["record"]["name"] == "last"


def test_rows_of_groups_and_roles(live_project, listen):
    user = live_project.user(entities=["orders"])
    group = live_project.admin.post("/groups", {"name": "Buyers"}, expect=201).json()
    live_project.admin.post(f"/groups/{group['id']}/members", {"user_ids": [user.user["id"]]}, expect=200)
    role = user.get("/users/me", expect=200).json()["role_ids"][-1]
    stream = listen(user)
    for by in ({"group_id": group["id"]}, {"role_id": role}):
        record = live_project.item("orders", name="granted")
        grant(live_project, record, by, kind="groups")
        assert stream.next("created").data["id"] == record["id"]
        live_project.admin.put(f"{ITEMS}/{record['id']}", {"total": 1}, expect=200)
        assert stream.next("updated").data["id"] == record["id"]
        live_project.admin.delete(f"{ITEMS}/{record['id']}", expect=204)
        assert stream.next("deleted").data["id"] == record["id"]


@pytest.mark.timed
def test_rows_of_a_groups_members(live_project, listen):
    """A listener with X-Group-Id sees the records of the group's members, as in lists."""
    member, outsider = live_project.user(entities=["orders"]), live_project.user(entities=["orders"])
    leader = live_project.user(entities=["orders"], permissions=["svc_group_data:read"])
    group = live_project.admin.post("/groups", {"name": "Shop"}, expect=201).json()
    ids = [member.user["id"], leader.user["id"]]
    live_project.admin.post(f"/groups/{group['id']}/members", {"user_ids": ids}, expect=200)
    scope = {"X-Group-Id": str(group["id"])}
    await_status(lambda: leader.get(ITEMS, headers=scope), 200)
    stream = listen(leader, headers=scope)
    live_project.item("orders", client=outsider, name="not theirs")
    made = live_project.item("orders", client=member, name="theirs")
    assert stream.next("created").data["id"] == made["id"]
    left = stream.position
    live_project.admin.post(f"/groups/{group['id']}/members", {"user_ids": [outsider.user["id"]]}, expect=200)
    assert stream.next("reset").data == {"entity": "orders", "reason": "rights"}
    assert [event.kind for event in listen(leader, headers=scope, position=stream.position).before] == []
    assert [event.data for event in listen(leader, headers=scope, position=left).before] == [{"entity": None, "reason": "rights"}]
    live_project.admin.delete(f"/groups/{group['id']}/members/{leader.user['id']}", expect=204)
    ended(stream, "forbidden")


def test_fields(live_project, listen):
    access = [{"entity": "orders", "action": "read", "fields": ["name"]}]
    user = live_project.user(role_ids=[live_project.role(permissions=["orders:read", "svc_realtime:read"], field_access=access)["id"]])
    stream = listen(user)
    record = live_project.item("orders", name="a", total=7, note="secret")
    grant(live_project, record, user)
    shown = stream.next("created").data["record"]
    assert shown == user.get(f"{ITEMS}/{record['id']}", expect=200).json() and "note" not in shown and "total" not in shown
    for hidden in ("total", "note"):
        user.get("/realtime", params={"entities": "orders", f"filter[{hidden}]": 7}, expect=400)


# --- filters ---

def test_filters(live_project, listen, mark):
    stream = listen(live_project.admin, **{"filter[total][gte]": 10, "filter[name][ne]": "no"})
    every = listen(live_project.admin)
    low = live_project.item("orders", name="a", total=1)
    high = live_project.item("orders", name="b", total=10)
    live_project.item("orders", name="no", total=11)
    live_project.admin.put(f"{ITEMS}/{low['id']}", {"total": 12}, expect=200)
    live_project.admin.put(f"{ITEMS}/{high['id']}", {"total": 20}, expect=200)
    live_project.admin.put(f"{ITEMS}/{high['id']}", {"total": 2}, expect=200)
    live_project.admin.put(f"{ITEMS}/{high['id']}", {"total": 3}, expect=200)
    live_project.admin.delete(f"{ITEMS}/{high['id']}", expect=204)
    live_project.admin.delete(f"{ITEMS}/{low['id']}", expect=204)
    mark(every)
    found = event_ids(stream.until(lambda event: event.kind == "deleted" and event.data["id"] == low["id"]))
    assert found == [("created", high["id"]), ("created", low["id"]), ("updated", high["id"]), ("deleted", high["id"]),
                     ("deleted", low["id"])]


def test_lists_of_values(live_project, listen):
    """Listeners that filter by different lists of values do not share a filter."""
    streams = {name: listen(live_project.admin, **{"filter[name][in][]": [name, "none, such"]}) for name in ("a, b", '"c"')}
    made = {name: live_project.item("orders", name=name, total=1)["id"] for name in streams}
    for name, stream in streams.items():
        assert stream.next("created").data["id"] == made[name]
    assert [stream.next("deleted").data["id"] for name, stream in streams.items()
            if live_project.admin.delete(f"{ITEMS}/{made[name]}", expect=204)] == list(made.values())


def test_filters_through_relations(live_project, listen):
    live_project.entity("lands", [{"name": "code", "type": "varchar"}])
    live_project.entity("towns", [{"name": "land", "type": "relation", "options": {"entity": "lands"}}, {"name": "n", "type": "integer"}])
    here, there = live_project.item("lands", code="BO"), live_project.item("lands", code="PE")
    stream = listen(live_project.admin, entities="towns", **{"filter[land.code]": "BO"})
    others = {query: listen(live_project.admin, entities="towns", **{query: value}) for query, value in (
        ("filter[land.code][ne]", "BO"), ("filter[land.code][nin]", "BO,AR"), ("filter[land.code][null]", "true"))}
    nowhere = live_project.item("towns", n=0)
    assert [other.next("created").data["id"] for other in others.values()] == [nowhere["id"]] * 3
    live_project.item("towns", land=there["id"], n=1)
    moved = live_project.item("towns", land=here["id"], n=2)
    assert stream.next("created").data["id"] == moved["id"]
    live_project.admin.put(f"/entities/towns/items/{moved['id']}", {"land": there["id"]}, expect=200)
    assert stream.next("deleted").data["id"] == moved["id"]


@pytest.mark.parametrize("params,status", [
    ({}, 400), ({"entities": ""}, 400), ({"entities": "orders,nothing"}, 400), ({"entities": "orders,"}, 400),
    ({"entities": "orders", "filter[nothing]": "1"}, 400), ({"entities": "orders", "filter[total]": "x"}, 400),
    ({"entities": "orders", "sort": "id"}, 400), ({"entities": "orders", "ticket": "x"}, 200),
])
def test_what_is_asked_for(live_project, params, status):
    live_project.admin.get("/realtime", params=params, stream=True, expect=status).close()


def test_who_may_ask(live_project):
    live_project.client().get("/realtime", params={"entities": "orders"}, expect=401)
    live_project.user_with("orders:read").get("/realtime", params={"entities": "orders"}, expect=403)
    live_project.user_with("svc_realtime:read").get("/realtime", params={"entities": "orders"}, expect=403)
    live_project.user_with("orders:read", "svc_realtime:read", api_access=False).get("/realtime", params={"entities": "orders"}, expect=403)
    live_project.user_with("orders:read").post("/realtime/ticket", expect=403)
    live_project.admin.head("/realtime", params={"entities": "orders"}, expect=200)
    live_project.key(["orders:read", "svc_realtime:read"]).get("/realtime", params={"entities": "orders"}, stream=True, expect=200).close()


# --- resuming ---

def test_going_on_behind_an_event(live_project, listen, mark):
    control = listen(live_project.admin)
    stream = listen(live_project.admin)
    live_project.item("orders", name="first")
    left = stream.next("created").position
    control.next("created")
    stream.close()
    made = [live_project.item("orders", name="missed", total=n) for n in range(5)]
    live_project.admin.put(f"{ITEMS}/{made[0]['id']}", {"total": 50}, expect=200)
    live_project.admin.delete(f"{ITEMS}/{made[1]['id']}", expect=204)
    [events] = mark(control)
    again = listen(live_project.admin, position=left)
    assert [(event.kind, event.data) for event in again.before[:-1]] == [(event.kind, event.data) for event in events]
    for event in events[:4]:  # and from every position between, also in the address
        rest = [other for other in again.before if other.data["id"] != event.data["id"]]
        with Stream(live_project.admin, entities="orders", last_event_id=event.position) as part:
            assert len(part.before) < len(again.before) and part.before[-1].data == rest[-1].data


def test_going_on_in_the_middle_of_a_batch(live_project, listen):
    """A stream resumes after any event, also one in the middle of a batch that was read together."""
    stream = listen(live_project.admin)
    made = live_project.admin.post(f"{ITEMS}/bulk", {"items": [{"name": "batch", "total": n} for n in range(300)]}, expect=201).json()
    ids = [result["id"] for result in made["results"]]
    events = stream.until(lambda event: event.data["id"] == ids[-1])
    assert event_ids(events) == [("created", each) for each in ids]
    for place in (0, 57, 199, 200, 298):
        with Stream(live_project.admin, entities="orders", position=events[place].position) as part:
            assert event_ids(part.before) == [("created", each) for each in ids[place + 1:]]


def test_a_transaction_that_ends_late_is_not_missed(live_project, listen, db, mark):
    schema = live_project.schema(db)
    stream = listen(live_project.admin)
    record = live_project.item("orders", name="slow")
    other = live_project.item("orders", name="held")
    mark(stream)
    with db.cursor() as cursor:
        cursor.execute(f"select id from {schema}.entities where name = 'orders'")
        table = f"{schema}.e_{cursor.fetchone()[0]}"
        cursor.execute("begin")
        cursor.execute(f"insert into {schema}.live_log (entity_id, record_id, kind, before) select {table.split('_')[-1]}, t.id, 2, to_jsonb(t)"
                       f" from {table} t where t.id = %s", (other["id"],))
        cursor.execute(f"update {table} set version = version + 1 where id = %s", (other["id"],))
        live_project.admin.put(f"{ITEMS}/{record['id']}", {"total": 1}, expect=200)
        assert stream.next("updated").data["id"] == record["id"]
        cursor.execute("commit")
    assert stream.next("updated").data["id"] == other["id"]


@pytest.mark.parametrize("position", ["1:1:", "nonsense", "9999999999:9999999999:", "5:9:7~", "3:4:~5:6:~x", "0" * 5000])
@pytest.mark.parametrize("mine", [True, False])
def test_positions_that_lead_nowhere(live_project, listen, position, mine):
    stream = listen(live_project.admin)
    stream = listen(live_project.admin, position=(stream.position.split(".")[0] + "." if mine else "") + position)
    assert [event.kind for event in stream.before] == ["reset"] and stream.before[0].data == {"entity": None, "reason": "position"}
    made = live_project.item("orders", name="after")
    assert stream.next("created").data["id"] == made["id"]


def test_several_gateways_and_one_that_is_killed(live_project, start_gateway, listen):
    """A listener that reconnects to another gateway with the id of its last event misses nothing and sees nothing twice."""
    one = start_gateway("live-killed", WORKERS=1)
    user = live_project.user(entities=["orders"])
    control = listen(user)
    stream = Stream(client_at(one, user), entities="orders")
    found, made, stop = [], [], threading.Event()

    def write():
        writer = live_project.client(token=user.token)
        while not stop.is_set():
            made.append(live_project.item("orders", client=writer, name="steady", total=len(made))["id"])
            writer.put(f"{ITEMS}/{made[-1]}", {"total": -1}, expect=200)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    found += [stream.next() for _ in range(20)]
    kill(one)
    assert stream.ended.wait(60)
    stream.close()
    while not stream.events.empty():
        found.append(stream.events.get())
    last = stream.position
    written = len(made)
    until(lambda: len(made) > written + 1, "records are written meanwhile")
    stop.set()
    thread.join()
    ends = lambda event: event.kind == "updated" and event.data["id"] == made[-1]
    with Stream(user, entities="orders", position=last) as again:
        found += again.before
        if not ends(found[-1]):
            found += again.until(ends)
    expected = [pair for each in made for pair in (("created", each), ("updated", each))]
    assert event_ids(control.until(ends)) == expected
    assert event_ids(found) == expected


# --- rights that change ---

def ended(stream, code):
    with at_most(PROMISE + SLACK, "the end of a stream"):
        events = stream.until(lambda event: event.kind == "end")
        assert events[-1].data == {"code": code}
        assert stream.ended.wait(60)


@pytest.mark.timed
def test_a_session_that_ends(live_project, listen):
    user = live_project.user(entities=["orders"])
    stream = listen(user)
    user.post("/auth/v1/logout", expect=204)
    ended(stream, "unauthorized")


@pytest.mark.timed
def test_a_session_that_an_administrator_ends(live_project, listen):
    user = live_project.user(entities=["orders"])
    stream = listen(user)
    other = listen(live_project.client().sign_in(user.user["email"], PASSWORD))
    current = [each["id"] for each in user.get("/users/me/sessions", expect=200).json()["items"] if each["is_current"]]
    live_project.admin.delete(f"/users/{user.user['id']}/sessions/{current[0]}", expect=204)
    ended(stream, "unauthorized")
    assert not other.ended.is_set()
    live_project.admin.delete(f"/users/{user.user['id']}/sessions", expect=204)
    ended(other, "unauthorized")


@pytest.mark.timed
def test_a_user_who_is_suspended(live_project, listen):
    user = live_project.user(entities=["orders"])
    stream = listen(user)
    live_project.admin.put(f"/users/{user.user['id']}", {"status": "suspended"}, expect=200)
    ended(stream, "unauthorized")


@pytest.mark.timed
def test_a_key_that_is_deleted(live_project, listen):
    key = live_project.key(["orders:read", "svc_realtime:read"])
    stream = listen(key)
    live_project.admin.delete(f"/api-keys/{key.info['id']}", expect=204)
    ended(stream, "unauthorized")


@pytest.mark.timed
def test_a_permission_that_is_taken(live_project, listen):
    live_project.entity("parcels", [{"name": "a", "type": "integer"}], row_level_security=False)
    role = live_project.role(permissions=["orders:read", "parcels:read", "svc_realtime:read"])
    user = live_project.user(role_ids=[role["id"]])
    stream = listen(user, entities="orders,parcels")
    live_project.admin.put(f"/roles/{role['id']}", {"permissions": ["parcels:read", "svc_realtime:read"]}, expect=200)
    assert stream.next("closed").data == {"entity": "orders", "code": "forbidden"}
    parcel = live_project.item("parcels", a=1)
    assert stream.next("created").data["id"] == parcel["id"]
    live_project.admin.put(f"/roles/{role['id']}", {"permissions": ["parcels:read"]}, expect=200)
    ended(stream, "forbidden")


def test_rights_that_show_other_things(live_project, listen):
    role = live_project.role(permissions=["orders:read", "svc_realtime:read"])
    user = live_project.user(role_ids=[role["id"]])
    stream = listen(user)
    record = live_project.item("orders", name="a", total=1)
    grant(live_project, record, user)
    assert "total" in stream.next("created").data["record"]
    live_project.admin.put(f"/roles/{role['id']}", {
        "field_access": [{"entity": "orders", "action": "read", "fields": ["name"]}]}, expect=200)
    assert stream.next("reset").data == {"entity": "orders", "reason": "rights"}
    live_project.admin.put(f"{ITEMS}/{record['id']}", {"total": 2}, expect=200)
    assert "total" not in stream.next("updated").data["record"]


def widen(live_project, role, user, record):
    live_project.admin.put(f"/roles/{role['id']}", {"field_access": []}, expect=200)


def join(live_project, role, user, record):
    group = live_project.admin.post("/groups", {"name": f"of {user.user['id']}"}, expect=201).json()
    live_project.admin.post(f"/groups/{group['id']}/members", {"user_ids": [user.user["id"]]}, expect=200)


def rise(live_project, role, user, record):
    live_project.admin.put(f"/users/{user.user['id']}", {"role_ids": [live_project.role_named("Admin User")["id"]]}, expect=200)


def show(live_project, role, user, record):
    grant(live_project, record, user)


def hide(live_project, role, user, record):
    show(live_project, role, user, record)
    grant(live_project, record)


def give_back(live_project, role, user, record):
    live_project.admin.put(f"/roles/{role['id']}", {"permissions": []}, expect=200)
    live_project.admin.put(f"/roles/{role['id']}", {"permissions": ["orders:read", "svc_realtime:read"]}, expect=200)


@pytest.mark.parametrize("change,again,told", [
    (widen, True, []), (join, True, []), (rise, True, []), (show, False, ["created"]), (hide, False, ["created", "deleted"]), (give_back, False, [])],
    ids=lambda value: getattr(value, "__name__", ""))
def test_rights_that_change_while_nobody_listens(live_project, listen, change, again, told):
    """A returning listener gets an event for each record that a grant has shown or hidden, and one reset if its other rights
    differ."""
    narrow = [{"entity": "orders", "action": "read", "fields": ["name"]}]
    role = live_project.role(permissions=["orders:read", "svc_realtime:read"], field_access=narrow)
    user = live_project.user(role_ids=[role["id"]])
    record = live_project.item("orders", name="away", total=1)
    with Stream(user, entities="orders") as stream:
        left = stream.position
    change(live_project, role, user, record)
    await_status(lambda: user.get(ITEMS), 200)
    stream = listen(user, position=left)
    events = stream.before or ([stream.next()] if again else [])  # the gateway may learn of the change a moment later
    assert [event.kind for event in events] == (["reset"] if again else []) + told
    if again:
        assert events[0].data["reason"] == "rights"
    assert not listen(user, position=stream.position).before  # only once


def test_a_model_that_changed_while_nobody_listened(live_project, listen):
    live_project.entity("crates", [{"name": "a", "type": "integer"}])
    with Stream(live_project.admin, entities="crates,orders") as stream:
        left = stream.position
    made = live_project.item("crates", a=1)
    live_project.admin.post("/entities/crates/fields", {"name": "b", "type": "varchar"}, expect=201)
    before = listen(live_project.admin, entities="orders,crates", position=left).before
    assert [event.kind for event in before] == ["reset", "created"]
    assert before[0].data == {"entity": None, "reason": "model"} and before[1].data["record"]["id"] == made["id"]


def test_a_model_that_changes(live_project, listen):
    live_project.entity("cases", [{"name": "a", "type": "integer"}])
    stream = listen(live_project.admin, entities="cases,orders")
    made = live_project.item("cases", a=1)
    assert stream.next("created").data["record"]["a"] == 1
    live_project.admin.post("/entities/cases/fields", {"name": "b", "type": "varchar"}, expect=201)
    assert stream.next("reset").data == {"entity": "cases", "reason": "model"}
    live_project.admin.put(f"/entities/cases/items/{made['id']}", {"b": "x"}, expect=200)
    assert stream.next("updated").data["record"]["b"] == "x"
    live_project.admin.delete("/entities/cases", expect=204)
    other = live_project.item("orders", name="still")
    assert stream.until(lambda event: event.kind == "created")[-1].data["id"] == other["id"]


# --- tickets ---

@pytest.mark.timed
def test_a_ticket_is_good_once(live_project, listen):
    user = live_project.user(entities=["orders"])
    ticket = user.post("/realtime/ticket", expect=200).json()
    nobody = live_project.client()
    stream = listen(nobody, ticket=ticket["ticket"])
    nobody.get("/realtime", params={"entities": "orders", "ticket": ticket["ticket"]}, expect=401)
    made = live_project.item("orders", client=user, name="by ticket")
    assert stream.next("created").data["record"] == made
    nobody.get("/users/me", params={"ticket": ticket["ticket"]}, expect=401)
    user.post("/auth/v1/logout", expect=204)
    ended(stream, "unauthorized")


def test_tickets_that_are_none(live_project, db):
    user = live_project.user(entities=["orders"])
    nobody = live_project.client()
    tickets = [user.post("/realtime/ticket", expect=200).json()["ticket"] for _ in range(2)]
    with db.cursor() as cursor:
        cursor.execute(f"update {live_project.schema(db)}.live_tickets set expires_at = now() - interval '1 second'")
    db.commit()
    late = user.post("/realtime/ticket", expect=200).json()["ticket"]
    user.post("/auth/v1/logout", expect=204)
    for ticket in [*tickets, late, "", "x" * 43, "x" * 5000]:
        nobody.get("/realtime", params={"entities": "orders", "ticket": ticket}, expect=401)


# --- slow readers, and too many listeners ---

def test_who_does_not_read_is_cut(live_project, listen, mark):
    quick = listen(live_project.admin)
    base = urllib.parse.urlsplit(live_project.admin.base_url)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # the kernel's buffer could hold more than is written here
        slow.settimeout(60)
        slow.connect((base.hostname, base.port))
        slow.sendall(f"GET {base.path}/realtime?entities=orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {live_project.admin.token}\r\n\r\n".encode())
        assert b" 200 " in slow.recv(1024, socket.MSG_PEEK)
        text = "x" * 60000
        record = live_project.item("orders", name="large")
        for n in range(100):
            live_project.admin.put(f"{ITEMS}/{record['id']}", {"note": text, "total": n}, expect=200)
            if n % 50 == 49:
                mark(quick)
        with pytest.raises(ConnectionError):
            while slow.recv(65536):
                pass


def test_too_many(live_project, start_gateway):
    gateway = start_gateway("live-few", WORKERS=1, LIVE_LISTENERS=16)
    client = client_at(gateway, live_project.admin)
    streams = [Stream(client, entities="orders", hello=False) for _ in range(8)]
    refused = client.get("/realtime", params={"entities": "orders"}, expect=503)
    assert refused.headers["Retry-After"] and refused.json()["code"] == "too_many_requests_in_flight"
    streams.pop().close()
    await_status(lambda: client.get("/realtime", params={"entities": "orders"}, stream=True), 200).close()
    for stream in streams:
        stream.close()
    gateway.stop()


def test_what_the_log_keeps(live_project, listen, db):
    """Old entries leave the log, and a listener whose position is older gets a reset."""
    stream = listen(live_project.admin)
    live_project.item("orders", name="old")
    left = stream.next("created").position
    live_project.item("orders", name="older than an hour, soon")
    stream.next("created")
    schema = live_project.schema(db)
    with db.cursor() as cursor:
        cursor.execute(f"update {schema}.live_log set at = at - interval '2 hours'")
        cursor.execute("update platform.live_projects set due_at = now()")
    db.commit()
    until(lambda: rows(db, f"select count(*) from {schema}.live_log") == [(0,)], "the log is empty", 20, pause=0.2)
    again = listen(live_project.admin, position=left)
    assert [event.kind for event in again.before] == ["reset"]
    live_project.item("orders", name="new")
    assert stream.next("created").data["record"]["name"] == "new"


# --- long work ---

def test_imports_and_indexes(live_project, listen):
    user = live_project.user(entities=["orders"])
    other = live_project.user(entities=["orders"])
    mine, theirs = listen(user, entities=None, tasks="true"), listen(other, entities=None, tasks="true")
    every = listen(live_project.admin, entities=None, tasks="true", indexes="true")
    task = user.post("/entities/orders/items/import", files={"file": ("a.csv", b"name,total\na,1\nb,x\n", "text/csv")},
                     expect=202).json()["task_id"]
    for stream in (mine, every):
        last = stream.until(lambda event: event.kind == "task" and event.data["status"] not in ("queued", "running"))[-1]
        shown = user.get(f"/tasks/{task}", expect=200).json()
        assert last.data == {key: shown[key] for key in ("id", "kind", "status", "total", "done", "failed")}
    assert theirs.events.empty()
    user.get("/realtime", params={"indexes": "true"}, expect=403)
    user.get("/realtime", params={"sends": "true"}, expect=403)
    live_project.user_with("svc_realtime:read").get("/realtime", params={"jobs": "true"}, expect=403)


@pytest.mark.timed
def test_the_audit_log(live_project, listen):
    """Readers of the audit log see each entry as in its list; a listener that loses the permission sees no further entry."""
    auditor = live_project.user(permissions=["svc_audit_log:read", "svc_realtime:read"])
    refused = live_project.user(entities=["orders"]).get("/realtime", params={"audit": "true"}, expect=403).json()
    assert refused["detail"] == "This needs the permission svc_audit_log:read."
    stream, both = listen(auditor, entities=None, audit="true"), listen(live_project.admin, audit="true")
    made = [str(live_project.admin.post("/groups", {"name": f"noted {n}"}, expect=201).json()["id"]) for n in range(3)]
    for each in (stream, both):
        events = [event for event in each.until(lambda event: event.data["target_id"] == made[-1]) if event.data["target"] == "group"]
        assert [(event.kind, event.data["target_id"]) for event in events] == [("audit", each) for each in made]
    ids = [event.data["id"] for event in events]
    listed = auditor.get("/audit-log", params={"limit": 10}, expect=200).json()["items"]
    assert [event.data for event in events] == [entry for entry in reversed(listed) if entry["id"] in ids]
    live_project.admin.put(f"/users/{auditor.user['id']}", {"role_ids": [live_project.role_named("Standard User")["id"]]}, expect=200)
    assert stream.until(lambda event: event.kind == "closed")[-1].data == {"entity": "audit", "code": "forbidden"}
    ended(stream, "forbidden")


def test_the_audit_log_goes_on_behind_an_event(live_project, listen):
    """A stream of selected audit entries resumes after any event, without missing or repeating an entry."""
    numbers = itertools.count()

    def group():
        return str(live_project.admin.post("/groups", {"name": f"audited {next(numbers)}"}, expect=201).json()["id"])

    admin, chosen = str(live_project.admin.user["id"]), {"entities": None, "audit": "true", "audit_action": "groups.create"}
    stream = listen(live_project.admin, **chosen, audit_actor=admin, audit_kind="user", audit_target="group")
    both = listen(live_project.admin, audit="true", audit_target="group")
    made = [group()]
    left = stream.next("audit").position
    assert both.next("audit").data["target_id"] == made[0]
    stream.close()
    for _ in range(3):
        live_project.role()
        made.append(group())
        record = live_project.item("orders", name="between")
    again = listen(live_project.admin, **chosen, position=left)
    assert [event.data["target_id"] for event in again.before] == made[1:]
    for place, event in enumerate(again.before):
        assert [each.data["target_id"] for each in listen(live_project.admin, **chosen, position=event.position).before] == made[place + 2:]
    told = both.until(lambda event: event.data.get("id") == record["id"] and event.kind == "created")
    assert [event.data["target_id"] for event in told if event.kind == "audit"] == made[1:]
    middle = next(event for event in told if event.kind == "audit")
    rest = listen(live_project.admin, audit="true", audit_target="group", position=middle.position).before
    for kind in ("audit", "created"):  # entries precede the changes that were read together with them
        behind = [event.data["id"] for event in told[told.index(middle) + 1:] if event.kind == kind]
        assert [event.data["id"] for event in rest if event.kind == kind] == behind
    one = listen(live_project.admin, entities=None, audit="true", audit_target=f"group/{made[2]}", position=left)
    assert [event.data["target_id"] for event in one.before] == [made[2]]
    for none in ({"audit_kind": "api_key"}, {"audit_actor": "424242"}, {"audit_target": "group/0"}):
        assert not listen(live_project.admin, entities=None, audit="true", position=left, **none).before
    plain = live_project.user(entities=["orders"])
    assert not [event for event in listen(plain, position=left).before if event.kind == "audit"], "a position gives no rights"


@pytest.mark.parametrize("params", [
    {"entities": "orders", "audit_actor": "1"}, {"audit": "true", "audit_kind": "anybody"}, {"audit": "true", "audit_actor": "x"},
    {"audit": "true", "audit_actor": "0"}, {"entities": "orders", "audit": "false", "audit_target": "group"}])
def test_what_is_chosen_from_the_audit_log(live_project, params):
    live_project.admin.get("/realtime", params=params, expect=400)


def test_jobs(live_project, listen, runner):
    stream = listen(live_project.admin, entities="orders", jobs="true")
    made = workflow(live_project.admin, steps=[condition()])
    job = start(live_project.admin, made)
    last = stream.until(lambda event: event.kind == "job" and event.data["status"] == "succeeded")[-1]
    assert (last.data["id"], last.data["workflow_id"]) == (job, made["id"])


def test_records_that_workflows_make(live_project, listen, runner):
    stream = listen(live_project.admin)
    start(live_project.admin, workflow(live_project.admin, steps=[create(values={"name": "by a job"})]))
    assert stream.next("created").data["record"]["name"] == "by a job"
