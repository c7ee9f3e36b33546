"""/workflows: saved completely or not at all, stored in versions, and followed by the gateways and runners."""
import concurrent.futures
import datetime

import pytest
from groundwork.deadline import until
from groundwork.records import codes, execute, outbox, outbox_end, rows
from groundwork.soon import await_status
from groundwork.workflows import (add_step, api_trigger, call, create, document, event, job_row, listeners, set_job, start,
                                  timed_trigger, workflow)

ORDERS = [{"name": "name", "type": "varchar"}, {"name": "total", "type": "float"}]


@pytest.fixture
def shop(project):
    project.orders = project.entity("orders", ORDERS)
    return project


@pytest.fixture(scope="module")
def checked(shared_project):
    shared_project.entity("orders", ORDERS)
    return shared_project


def one(project, db, made, *columns):
    (found,) = rows(db, f"select {', '.join(columns)} from {project.schema(db)}.workflows where id = %s", made["id"])
    return found if len(columns) > 1 else found[0]


# --- create, read, change, delete ---


def test_create_and_read(shop, db):
    admin = shop.admin
    body = {"name": "Keep", "trigger": event(), "steps": [create(next="tell"), call("tell")]}
    answer = admin.post("/workflows", body, expect=201)
    made = answer.json()
    assert answer.headers["Location"].endswith(f"/workflows/{made['id']}")
    assert (made["name"], made["enabled"], made["version"], made["start_step"], made["editor_id"], made["next_fire_at"]) == (
        "Keep", True, 1, "save", admin.user["id"], None)
    assert made["trigger"] == {"kind": "event", "event": "EntityCreated", "entity": "orders"}
    assert [step["key"] for step in made["steps"]] == ["save", "tell"]
    assert made["steps"][0]["params"] == {"entity": "orders", "values": {"name": "x"}} and made["steps"][0]["next"] == "tell"
    got = admin.get(f"/workflows/{made['id']}", expect=200)
    assert got.json() == made and got.headers["ETag"] == answer.headers["ETag"]
    admin.get(f"/workflows/{made['id']}", headers={"If-None-Match": got.headers["ETag"]}, expect=304)
    assert admin.get("/workflows", expect=200).json()["items"] == [made]
    assert one(shop, db, made, "trigger_kind", "event", "entity_id", "category", "route", "cron", "editor_key_id") == (
        "event", "EntityCreated", shop.orders["id"], None, None, None, None)
    for number in (424242, 0, "x", 2 ** 63):
        admin.get(f"/workflows/{number}", expect=404)
        admin.put(f"/workflows/{number}", {"name": "x"}, expect=404)
        admin.delete(f"/workflows/{number}", expect=404)


def test_put_merges_and_patch_is_put(shop):
    admin = shop.admin
    made = workflow(admin, event(), [create(next="tell"), call("tell")])
    path = f"/workflows/{made['id']}"
    named = admin.put(path, {"name": "New"}, expect=200).json()
    assert {**named, "updated_at": made["updated_at"]} == {**made, "name": "New", "version": 2}
    off = admin.patch(path, {"enabled": False}, expect=200).json()
    assert (off["enabled"], off["version"], off["steps"], off["trigger"]) == (False, 3, made["steps"], made["trigger"])
    steps = admin.put(path, {"steps": [call("tell")]}, expect=200).json()
    assert [step["key"] for step in steps["steps"]] == ["tell"] and steps["start_step"] == "tell"
    two = admin.put(path, {"steps": [call("a", next="tell"), call("tell")]}, expect=400)  # start_step does not change
    assert "steps[0] (a)" in codes(two)
    two = admin.put(path, {"steps": [call("a", next="tell"), call("tell")], "start_step": "a"}, expect=200).json()
    assert two["start_step"] == "a"
    moved = admin.put(path, {"trigger": {"kind": "manual"}, "start_step": None}, expect=200).json()
    assert moved["trigger"] == {"kind": "manual"} and moved["steps"] == two["steps"] and moved["start_step"] == "a"
    assert admin.get(path).json() == moved
    for body in ({"name": None}, {"trigger": None}, {"steps": None}, {"enabled": None}, {"name": ""}, {"name": "x" * 201}, {"id": 424242},
                 {"version": 3}, {"editor_id": 424242}, {"next_fire_at": made["created_at"]}, {"created_at": "x"}, {"surprise": 1}, {"steps": {}},
                 {"trigger": []}, {"enabled": "yes"}):
        admin.put(path, body, expect=400)
    assert admin.get(path).json() == moved


def test_if_match(shop):
    admin = shop.admin
    first = admin.post("/workflows", document(), expect=201)
    path = f"/workflows/{first.json()['id']}"
    second = admin.put(path, {"name": "b"}, headers={"If-Match": first.headers["ETag"]}, expect=200)
    assert second.headers["ETag"] != first.headers["ETag"]
    for method in ("PUT", "DELETE"):
        stale = admin.request(method, path, json={"name": "c"} if method == "PUT" else None,
                              headers={"If-Match": first.headers["ETag"]}, expect=412)
        assert stale.json()["code"] == "precondition_failed"
    admin.put(path, {"name": "c"}, headers={"If-Match": f'{first.headers["ETag"]}, {second.headers["ETag"]}'}, expect=200)
    admin.put(path, {"name": "d"}, headers={"If-Match": "*"}, expect=200)
    admin.put(path, {"name": "e"}, headers={"If-Match": '"other"'}, expect=412)
    last = admin.get(path).headers["ETag"]
    admin.delete(path, headers={"If-Match": last}, expect=204)


def test_lists(project):
    made = [workflow(project.admin, trigger, enabled=enabled, name=f"W{n}") for n, (trigger, enabled) in enumerate(
            (({"kind": "manual"}, True), (api_trigger("a"), False), (timed_trigger(), True), (api_trigger("b"), True)))]

    def listed(**params):
        body = project.admin.get("/workflows", params=params, expect=200).json()
        return [item["id"] - made[0]["id"] for item in body["items"]], body["total_items"], body["has_next_page"]

    assert listed() == ([0, 1, 2, 3], 4, False)
    assert listed(enabled="false") == ([1], 1, False) and listed(enabled="true")[0] == [0, 2, 3]
    assert listed(kind="api") == ([1, 3], 2, False) and listed(kind="event")[0] == []
    assert listed(kind="api", enabled="true")[0] == [3]
    assert listed(sort="-id", limit=3) == ([3, 2, 1], 4, True) and listed(sort="name", order="desc")[0] == [3, 2, 1, 0]
    assert listed(limit=3, page=2, count="false") == ([3], -1, False)
    for wrong in ({"kind": "x"}, {"enabled": "yes"}, {"sort": "steps"}, {"limit": 501}, {"surprise": 1}):
        project.admin.get("/workflows", params=wrong, expect=400)


def test_delete_cancels_what_runs_and_keeps_the_history(shop, db):
    admin = shop.admin
    made, other = workflow(admin, event()), workflow(admin, event())
    states = ("queued", "running", "waiting", "succeeded", "failed", "cancelled", "skipped")
    jobs = {}
    for state in states:
        jobs[state] = start(admin, made)
        set_job(shop, db, jobs[state], status=state, token=7)
    add_step(shop, db, jobs["running"], 1, "a", "succeeded")
    add_step(shop, db, jobs["running"], 2, "b", "sent")
    kept = start(admin, other)
    admin.delete(f"/workflows/{made['id']}", expect=204)
    admin.get(f"/workflows/{made['id']}", expect=404)
    admin.get(f"/workflows/{made['id']}/versions", expect=404)
    after = {state: job_row(shop, db, number, "status", "token") for state, number in jobs.items()}
    assert after == {**{state: ("cancelled", 8) for state in states[:3]}, **{state: (state, 7) for state in states[3:]}}
    assert job_row(shop, db, kept, "status") == "queued"
    assert listeners(shop, db) == [(f"workflow:{other['id']}", shop.orders["id"], "EntityCreated")]
    body = admin.get(f"/workflows/{made['id']}/jobs", expect=200).json()
    assert body["total_items"] == len(states)
    job = admin.get(f"/workflows/jobs/{jobs['running']}", expect=200).json()
    assert job["status"] == "cancelled" and job["finished_at"] and [step["status"] for step in job["steps"]] == ["succeeded", "interrupted"]
    admin.delete(f"/workflows/{made['id']}", expect=404)


def test_versions(shop, db):
    admin = shop.admin
    made = workflow(admin)
    path = f"/workflows/{made['id']}"
    writer = shop.user_with("svc_workflows:update")
    writer.put(path, {"name": "b"}, expect=200)
    admin.put(path, {"steps": [call("other")]}, expect=200)
    body = admin.get(f"{path}/versions", expect=200).json()
    assert [(item["version"], item["editor_id"]) for item in body["items"]] == [
        (3, admin.user["id"]), (2, admin.user["id"]), (1, admin.user["id"])]
    assert set(body["items"][0]) == {"version", "editor_id", "created_at"} and body["total_items"] == 3
    second = admin.get(f"{path}/versions/2", expect=200).json()
    assert (second["version"], second["name"], second["trigger"], second["start_step"], second["steps"]) == (
        2, "b", {"kind": "manual"}, "call", made["steps"])
    assert [item["version"] for item in admin.get(f"{path}/versions", params={"sort": "version", "limit": 2}).json()["items"]] == [1, 2]
    walked, cursor = [], "start"
    while cursor:
        page = admin.get(f"{path}/versions", params={"limit": 2, "cursor": cursor}, expect=200).json()
        walked += [item["version"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert walked == [3, 2, 1]
    for missing in (f"{path}/versions/4", f"{path}/versions/0", f"{path}/versions/x", "/workflows/424242/versions/1"):
        admin.get(missing, expect=404)
    assert "enabled" not in rows(db, f"select doc from {shop.schema(db)}.workflow_versions limit 1")[0][0]


def test_changes_are_in_the_audit_log(project):
    made = workflow(project.admin)
    job = start(project.admin, made)
    project.admin.put(f"/workflows/{made['id']}", {"name": "x"}, expect=200)
    project.admin.post(f"/workflows/jobs/{job}/cancel", expect=200)
    project.admin.post(f"/workflows/jobs/{job}/retry", expect=202)
    project.admin.delete(f"/workflows/{made['id']}", expect=204)
    items = project.admin.get("/audit-log", params={"limit": 5}, expect=200).json()["items"]
    assert [(item["action"], item["target"], item["target_id"]) for item in items] == [
        ("workflows.delete", "workflow", str(made["id"])), ("jobs.retry", "job", str(job)), ("jobs.cancel", "job", str(job)),
        ("workflows.update", "workflow", str(made["id"])), ("workflows.create", "workflow", str(made["id"]))]


# --- the editor ---


def test_whoever_saves_is_the_editor(project, db):
    """A workflow runs with the rights of its last editor: the user who last changed what it does (test_workflow_guards.py: a change of the name alone
    does not count)."""
    made = workflow(project.admin)
    writer = project.user_with("svc_workflows:update")
    saved = writer.put(f"/workflows/{made['id']}", {"steps": [call("mine")]}, expect=200).json()
    assert saved["editor_id"] == writer.user["id"]
    owner = project.user(["svc_api_keys:create"])
    key = project.key(["svc_workflows:update", "svc_workflows:create"], client=owner)
    saved = key.put(f"/workflows/{made['id']}", {"steps": [call("by_key")]}, expect=200).json()
    assert saved["editor_id"] == owner.user["id"]
    assert one(project, db, made, "editor_id", "editor_key_id") == (owner.user["id"], key.info["id"])
    found = rows(db, f"select version, editor_id, editor_key_id from {project.schema(db)}.workflow_versions order by version")
    assert found == [(1, project.admin.user["id"], None), (2, writer.user["id"], None), (3, owner.user["id"], key.info["id"])]
    assert one(project, db, workflow(key), "editor_id", "editor_key_id") == (owner.user["id"], key.info["id"])
    project.admin.put(f"/workflows/{made['id']}", {"steps": [call("back")]}, expect=200)
    assert one(project, db, made, "editor_id", "editor_key_id") == (project.admin.user["id"], None)


# --- refused documents, and the fields that the findings name ---

S = "steps[0] (call)"


@pytest.mark.parametrize("change, finding", [
    ({"name": ""}, "name"), ({"name": "a\nb"}, "name"), ({"name": 1}, "name"), ({"surprise": 1}, "surprise"), ({"id": 1}, "id"),
    ({"steps": []}, "steps"), ({"steps": [call(f"s{n}") for n in range(101)]}, "steps"), ({"steps": [1]}, "steps[0]"),
    ({"start_step": "nothing"}, "start_step"), ({"start_step": 5}, "start_step"),
    # triggers
    ({"trigger": {}}, "trigger.kind"), ({"trigger": {"kind": "x"}}, "trigger.kind"), ({"trigger": {"kind": "manual", "x": 1}}, "trigger.x"),
    ({"trigger": {"kind": "timed"}}, "trigger.cron"), ({"trigger": timed_trigger("* * * *")}, "trigger.cron"),
    ({"trigger": timed_trigger("0 24 * * *")}, "trigger.cron"), ({"trigger": timed_trigger("0 0 30 2 *")}, "trigger.cron"),
    ({"trigger": timed_trigger("61 * * * *")}, "trigger.cron"), ({"trigger": timed_trigger("@daily")}, "trigger.cron"),
    ({"trigger": timed_trigger(timezone="Mars/Olympus")}, "trigger.timezone"), ({"trigger": timed_trigger(timezone="../../etc/passwd")}, "trigger.timezone"),
    ({"trigger": {"kind": "event"}}, "trigger.event"), ({"trigger": event(name="OrderMade")}, "trigger.event"),
    ({"trigger": event("nothing")}, "trigger.entity"), ({"trigger": {"kind": "event", "event": "EntityCreated"}}, "trigger.entity"),
    ({"trigger": event("orders", "PaymentCreated")}, "trigger.entity"),
    ({"trigger": event(filter={"field": "name", "op": "like", "value": 1})}, "trigger.filter.op"),
    ({"trigger": api_trigger("a/b")}, "trigger.route"), ({"trigger": api_trigger("")}, "trigger.route"), ({"trigger": api_trigger("ä")}, "trigger.route"),
    ({"trigger": api_trigger("x" * 65)}, "trigger.route"), ({"trigger": {"kind": "api"}}, "trigger.route"),
    # steps
    ({"steps": [{"action": "CallAnApi", "params": call()["params"]}]}, "steps[0].key"), ({"steps": [call("Upper")]}, "steps[0].key"),
    ({"steps": [call("a", next="b"), call("b"), call("a")]}, "steps[2].key"),
    ({"steps": [{**call(), "action": "Fly"}]}, f"{S}.action"), ({"steps": [call(next="nothing")]}, f"{S}.next"),
    ({"steps": [call(on_failure="nothing")]}, f"{S}.on_failure"), ({"steps": [call(then="call")]}, f"{S}.then"),
    ({"steps": [call(), call("b")]}, "steps[1] (b)"), ({"steps": [call(next="call")]}, S),
    ({"steps": [call(timeout_seconds=0)]}, f"{S}.timeout_seconds"), ({"steps": [call(surprise=1)]}, f"{S}.surprise"),
    ({"steps": [call(enabled="no")]}, f"{S}.enabled"),
    # parameters
    ({"steps": [{**call(), "params": {"method": "POST"}}]}, f"{S}.params.url"),
    ({"steps": [call(url="https://{{ $svc.trigger.data.host }}/")]}, f"{S}.params.url"),
    ({"steps": [{**call(), "params": {"url": "https://example.org", "method": "post"}}]}, f"{S}.params.method"),
    ({"steps": [{**call(), "params": {"url": "https://example.org", "method": "GET", "x": 1}}]}, f"{S}.params.x"),
    ({"steps": [create(entity="nothing")]}, "steps[0] (save).params.entity"),
    ({"steps": [create(values={"colour": 1})]}, "steps[0] (save).params.values.colour"),
    ({"steps": [create(values={"name": "{{ $svc.secrets.KEY }}"})]}, "steps[0] (save).params.values.name"),
    ({"steps": [create(values={"name": "{{ $svc.nowhere }}"})]}, "steps[0] (save).params.values.name"),
    ({"steps": [create(values={"name": "{{ $svc.trigger.data"})]}, "steps[0] (save).params.values.name"),
    ({"steps": [create(values={"name": "{{ $svc.steps.later.data }}"}, next="later"), call("later")]}, "steps[0] (save).params.values.name"),
])
def test_findings_name_the_place(checked, db, change, finding):
    body = {**document(), **change}
    refused = checked.admin.post("/workflows", body, expect=400)
    assert refused.json()["code"] == "validation_failed" and finding in codes(refused), refused.text
    assert rows(db, f"select count(*) from {checked.schema(db)}.workflows")[0][0] == 0
    assert rows(db, f"select count(*) from {checked.schema(db)}.event_listeners")[0][0] == 0


def test_the_documented_examples_can_be_saved(shop):
    schemas = shop.admin.get("/docs", expect=200).json()["module_documentation"]["platform"]["components"]["schemas"]
    step, trigger = schemas["WorkflowStep"], schemas["WorkflowTrigger"]
    made = workflow(shop.admin, trigger["example"], [step["example"]])
    assert made["steps"][0]["params"] == step["properties"]["params"]["example"]
    told = step["properties"]["params"]["description"]
    for action in step["properties"]["action"]["description"].removeprefix("One of ").split(";")[0].split(", "):
        assert f"\n- {action}: " in told, action


def test_several_findings_at_once(checked):
    refused = checked.admin.post("/workflows", {"trigger": {"kind": "x"}}, expect=400)
    assert codes(refused) == {"name": "required", "steps": "required"}
    body = document(timed_trigger("x"), [create(entity="nothing", next="b"), call("b", url="ftp://x")])
    assert len(codes(checked.admin.post("/workflows", body, expect=400))) >= 2


def test_a_refused_change_changes_nothing(shop, db):
    made = workflow(shop.admin, event())
    shop.admin.put(f"/workflows/{made['id']}", {"enabled": False, "trigger": event("nothing")}, expect=400)
    assert shop.admin.get(f"/workflows/{made['id']}").json() == made
    assert one(shop, db, made, "version") == 1 and len(listeners(shop, db)) == 1


def test_unknown_secrets(project, db):
    steps = [{**call(), "params": {"url": "https://example.org", "method": "POST",
                                   "headers": {"Authorization": "Bearer {{ $svc.secrets.TOKEN }}"}}}]
    refused = project.admin.post("/workflows", document(steps=steps), expect=400)
    assert codes(refused) == {"steps[0] (call).params": "not_found"} and "TOKEN" in refused.text
    execute(db, f"insert into {project.schema(db)}.secrets (name, sealed) values ('TOKEN', '')")
    made = workflow(project.admin, steps=steps)
    execute(db, f"delete from {project.schema(db)}.secrets")
    path = f"/workflows/{made['id']}"
    project.admin.put(path, {"name": "x"}, expect=400)
    project.admin.put(path, {"enabled": False}, expect=200)  # an invalid workflow can be disabled
    project.admin.put(path, {"enabled": True}, expect=400)


def test_large_workflows(project):
    code = "x" * 20000
    steps = [{"key": f"s{n}", "action": "RunScript", "params": {"script": code}, **({"next": f"s{n + 1}"} if n < 11 else {})} for n in range(12)]
    workflow(project.admin, steps=steps)
    for step in steps:
        step["params"]["script"] = "x" * 25000
    refused = project.admin.post("/workflows", document(steps=steps), expect=413)
    assert refused.json()["code"] == "payload_too_large"
    deep = [1]
    for _ in range(70):
        deep = [deep]
    project.admin.post("/workflows", document(steps=[{**call(), "params": {"body": deep}}]), expect=400)


def test_numbers_come_back_as_they_were(project):
    steps = [{**call(), "params": {"url": "https://example.org", "method": "POST",
                                   "body": {"a": 1e20, "c": 2 ** 63 - 1, "d": 0.1, "e": "10000000000000000000000"}}}]
    made = workflow(project.admin, steps=steps)
    renamed = project.admin.put(f"/workflows/{made['id']}", {"name": "again"}, expect=200).json()
    assert renamed["steps"][0]["params"]["body"] == made["steps"][0]["params"]["body"] == steps[0]["params"]["body"]


def test_a_project_has_so_many_workflows(project, db):
    schema = project.schema(db)
    execute(db, f"insert into {schema}.workflows (name, trigger_kind, editor_id) select n::text, 'manual', 1 from generate_series(1, 999) n")
    workflow(project.admin)
    assert project.admin.post("/workflows", document(), expect=409).json()["code"] == "conflict"


# --- routes ---


def test_routes_are_unique_in_any_case_and_while_disabled(project):
    made = workflow(project.admin, api_trigger("Sync-Orders"))
    assert made["trigger"] == {"kind": "api", "route": "sync-orders"}
    other = workflow(project.admin, api_trigger("other"))
    for taken in ("sync-orders", "SYNC-ORDERS"):
        for answer in (project.admin.post("/workflows", document(api_trigger(taken)), expect=409),
                       project.admin.put(f"/workflows/{other['id']}", {"trigger": api_trigger(taken)}, expect=409)):
            assert answer.json()["code"] == "unique_violation" and codes(answer) == {"trigger.route": "unique_violation"}
    project.admin.put(f"/workflows/{made['id']}", {"enabled": False}, expect=200)
    project.admin.post("/workflows", document(api_trigger("sync-orders"), enabled=False), expect=409)
    project.admin.put(f"/workflows/{made['id']}", {"trigger": api_trigger("sync-orders")}, expect=200)  # its own route
    project.admin.put(f"/workflows/{made['id']}", {"trigger": {"kind": "manual"}}, expect=200)
    third = workflow(project.admin, api_trigger("sync-orders"))
    project.admin.put(f"/workflows/{made['id']}", {"trigger": api_trigger("sync-orders")}, expect=409)
    project.admin.delete(f"/workflows/{third['id']}", expect=204)
    project.admin.put(f"/workflows/{made['id']}", {"trigger": api_trigger("sync-orders")}, expect=200)


def test_one_of_many_gets_the_route(project):
    clients = [project.client(token=project.admin.token) for _ in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        found = sorted(pool.map(lambda client: client.post("/workflows", document(api_trigger("wanted"))).status_code, clients))
    assert found == [201] + [409] * 5


# --- listeners ---


def test_events_are_written_while_somebody_listens(shop, db):
    """The outbox row is in the record's own transaction, so a listener must be known before the save is answered."""
    last = outbox_end(shop, db)

    def listened_to():
        nonlocal last
        shop.item("orders", name="x")
        found = outbox(shop, db, last)
        last = outbox_end(shop, db)
        return [row[0] for row in found]

    def soon_listened_to(expected):
        until(lambda: listened_to() == expected, f"{expected} are listened to")

    assert listened_to() == []
    made = workflow(shop.admin, event())
    second = workflow(shop.admin, event(name="EntityDeleted"))
    soon_listened_to(["EntityCreated"])
    path = f"/workflows/{made['id']}"
    schema = shop.schema(db)
    assert rows(db, f"select pending from {schema}.outbox order by id desc limit 1") == [(1,)]
    assert listeners(shop, db) == [(f"workflow:{made['id']}", shop.orders["id"], "EntityCreated"),
                                   (f"workflow:{second['id']}", shop.orders["id"], "EntityDeleted")]
    shop.admin.put(path, {"enabled": False}, expect=200)
    soon_listened_to([])
    shop.admin.put(path, {"enabled": True}, expect=200)
    soon_listened_to(["EntityCreated"])
    shop.admin.put(path, {"trigger": event(name="EntityUpdated")}, expect=200)
    soon_listened_to([])
    shop.admin.put(path, {"trigger": event()}, expect=200)
    soon_listened_to(["EntityCreated"])
    shop.admin.delete(path, expect=204)
    soon_listened_to([])


def test_other_events_listen_to_no_entity(project, db):
    made = workflow(project.admin, {"kind": "event", "event": "PushActionTaken", "entity": "rsvp",
                                    "filter": {"field": "action_id", "op": "eq", "value": "yes"}})
    assert made["trigger"] == {"kind": "event", "event": "PushActionTaken", "entity": "rsvp",
                               "filter": {"field": "action_id", "op": "eq", "value": "yes"}}
    assert one(project, db, made, "event", "entity_id", "category", "filter") == (
        "PushActionTaken", None, "rsvp", {"field": "action_id", "op": "eq", "value": "yes"})
    workflow(project.admin, {"kind": "event", "event": "PaymentSucceeded"})
    assert listeners(project, db) == []


def test_a_renamed_entity_is_shown_by_its_name_of_today(shop, db):
    made = workflow(shop.admin, event())
    shop.admin.put("/entities/orders", {"name": "purchases"}, expect=200)
    path = f"/workflows/{made['id']}"
    assert shop.admin.get(path).json()["trigger"]["entity"] == "purchases"
    assert shop.admin.get("/workflows").json()["items"][0]["trigger"]["entity"] == "purchases"
    saved = shop.admin.put(path, {"name": "x"}, expect=200).json()
    assert saved["trigger"]["entity"] == "purchases" and one(shop, db, made, "entity_id") == shop.orders["id"]
    assert len(listeners(shop, db)) == 1


def test_a_deleted_entity_disables_its_workflows(shop, db):
    shop.entity("others", ORDERS)
    made, other = workflow(shop.admin, event()), workflow(shop.admin, event("others"))
    path = f"/workflows/{made['id']}"
    shop.admin.delete("/entities/orders", expect=204)
    got = shop.admin.get(path, expect=200).json()
    assert got["enabled"] is False and got["trigger"] == {"kind": "event", "event": "EntityCreated", "entity": None}
    assert shop.admin.get(f"/workflows/{other['id']}").json()["enabled"] is True
    assert [source for source, _, _ in listeners(shop, db)] == [f"workflow:{other['id']}"]
    assert codes(shop.admin.put(path, {"enabled": True}, expect=400)) == {"trigger.entity": "not_found"}
    shop.admin.put(path, {"name": "still here"}, expect=200)
    moved = shop.admin.put(path, {"enabled": True, "trigger": event("others")}, expect=200).json()
    assert moved["enabled"] and moved["trigger"]["entity"] == "others" and len(listeners(shop, db)) == 2


# --- timed ---


def hint(project, db):
    return rows(db, "select w.next_fire_at from platform.workflow_projects w join platform.projects p on p.number = w.number "
                    "where p.slug = %s", project.id)


def parse(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def test_every_save_leaves_a_hint_for_runners(project, db):
    assert hint(project, db) == []
    workflow(project.admin)
    assert hint(project, db) == [(None,)]


def test_next_tick(project, db):
    made = workflow(project.admin, timed_trigger("0 3 * * *"))
    (now,), = rows(db, "select now()")
    due = parse(made["next_fire_at"])
    assert now < due <= now + datetime.timedelta(days=1) and (due.hour, due.minute, due.second) == (3, 0, 0)
    assert made["trigger"] == {"kind": "timed", "cron": "0 3 * * *", "timezone": "UTC"}
    assert hint(project, db) == [(due,)]
    sooner = workflow(project.admin, timed_trigger("* * * * *"))
    soonest = parse(sooner["next_fire_at"])
    assert hint(project, db) == [(soonest,)], "never later than the first tick"
    workflow(project.admin, timed_trigger("0 3 * * *", timezone="Asia/Tokyo"))
    assert hint(project, db) == [(soonest,)]


def test_ticks_of_disabled_and_changed_workflows(project, db):
    made = workflow(project.admin, timed_trigger("0 3 * * *"), enabled=False)
    path = f"/workflows/{made['id']}"
    assert made["next_fire_at"] is None
    on = project.admin.put(path, {"enabled": True}, expect=200).json()
    assert parse(on["next_fire_at"]).hour == 3
    tokyo = project.admin.put(path, {"trigger": timed_trigger("0 3 * * *", timezone="Asia/Tokyo")}, expect=200).json()
    assert parse(tokyo["next_fire_at"]).hour == 18
    off = project.admin.put(path, {"enabled": False}, expect=200).json()
    assert off["next_fire_at"] is None
    project.admin.put(path, {"enabled": True}, expect=200)
    manual = project.admin.put(path, {"trigger": {"kind": "manual"}}, expect=200).json()
    assert manual["next_fire_at"] is None and one(project, db, made, "cron", "timezone", "next_fire_at") == (None, None, None)


def test_a_save_loses_no_tick_that_is_due(project, db):
    made = workflow(project.admin, timed_trigger("0 3 * * *"))
    path = f"/workflows/{made['id']}"
    due = rows(db, f"update {project.schema(db)}.workflows set next_fire_at = date_trunc('minute', now() - interval '2 minutes') returning next_fire_at")[0][0]
    same = project.admin.put(path, {"name": "x", "trigger": timed_trigger("0 3 * * *")}, expect=200).json()
    assert parse(same["next_fire_at"]) == due
    assert hint(project, db)[0][0] == due
    other = project.admin.put(path, {"trigger": timed_trigger("0 4 * * *")}, expect=200).json()
    assert parse(other["next_fire_at"]) > datetime.datetime.now(datetime.timezone.utc)


# --- concurrent changes ---


def test_saves_at_the_same_time_are_all_kept(project, db):
    made = workflow(project.admin)
    clients = [project.client(token=project.admin.token) for _ in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda n: clients[n].put(f"/workflows/{made['id']}", {"name": f"n{n}"}).status_code, range(6)))
    assert answers == [200] * 6 and one(project, db, made, "version") == 7
    assert rows(db, f"select count(*) from {project.schema(db)}.workflow_versions")[0][0] == 7


def test_other_gateways_follow(project, start_gateway):
    """A start over the route at another worker reads the workflow's row. Each worker follows the listeners within a second."""
    made = workflow(project.admin, api_trigger("here"))
    for _ in range(8):
        project.client(token=project.admin.token).post("/workflows/api/here", {}, expect=204)
    project.admin.put(f"/workflows/{made['id']}", {"enabled": False}, expect=200)
    for _ in range(8):
        await_status(lambda: project.client(token=project.admin.token).post("/workflows/api/here", {}), 404)
