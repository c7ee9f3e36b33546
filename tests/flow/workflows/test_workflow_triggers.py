"""Workflows started by hand and over their routes: required permissions, the body of the request, and the queued job."""
import concurrent.futures
import http.client
import json
import urllib.parse

import pytest
from groundwork.deadline import until
from groundwork.project import Project
from groundwork.records import listen, notifications, rows
from groundwork.workflows import api_trigger, call, job_row, jobs_of, start, workflow

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture(scope="module")
def shop(shared_project):
    shared_project.manual = workflow(shared_project.admin)
    shared_project.api = workflow(shared_project.admin, api_trigger("sync-orders"))
    return shared_project


def last_job(project, db, *columns):
    (found,) = rows(db, f"select {', '.join(columns)} from {project.schema(db)}.jobs_now order by id desc limit 1")
    return found if len(columns) > 1 else found[0]


def count_jobs(project, db):
    return rows(db, f"select count(*) from {project.schema(db)}.jobs")[0][0]


# --- by hand ---


def test_a_start_by_hand_is_queued(shop, db):
    answer = shop.admin.post(f"/workflows/{shop.manual['id']}/trigger", {"name": "Ada"}, expect=202)
    number = answer.json()["job_id"]
    assert answer.json() == {"job_id": number}
    assert answer.headers["Location"] == f"/org/{shop.id}/workflows/jobs/{number}"
    assert job_row(shop, db, number, "workflow_id", "version", "status", "trigger_kind", "trigger_id", "trigger_data", "actor_id",
                   "depth", "run", "attempt", "token") == (
        shop.manual["id"], 1, "queued", "manual", 0, {"name": "Ada"}, shop.admin.user["id"], 0, 1, 0, 0)
    job = shop.admin.get(f"/workflows/jobs/{number}", expect=200).json()
    assert job["trigger"] == {"kind": "manual", "event": None, "id": 0, "entity_name": None, "data": {"name": "Ada"}}


def test_any_kind_can_be_started_by_hand(shop, db):
    assert job_row(shop, db, start(shop.admin, shop.api, 1), "trigger_kind", "trigger_data") == ("manual", 1)


@pytest.mark.parametrize("body, stored", [
    ("", None), ("{}", {}), ("[1, {\"a\": null}]", [1, {"a": None}]), ("null", None), ("true", True), ("\"x\"", "x"),
    ("-0.5e3", -500), ("  7\n", 7), ("{\"x\": 1e20}", {"x": 1e20}), (json.dumps("é\u2028€\U0001f600"), "é\u2028€\U0001f600"),
    ("[" * 64 + "]" * 64, json.loads("[" * 64 + "]" * 64)),
])
def test_any_json_becomes_trigger_data(shop, db, body, stored):
    for path in (f"/workflows/{shop.manual['id']}/trigger", "/workflows/api/sync-orders"):
        shop.admin.post(path, data=body.encode(), headers={"Content-Type": "application/json"},
                        expect=202 if "trigger" in path else 204)
        number, data = last_job(shop, db, "id", "trigger_data")
        assert data == stored
        assert shop.admin.get(f"/workflows/jobs/{number}", expect=200).json()["trigger"]["data"] == stored


@pytest.mark.parametrize("body, status", [
    (b"{", 400), (b"{} {}", 400), (b"\xef\xbb\xbf{}", 400), (b'"\\u0000"', 400), (b'{"a":1,"a":2}', 400), (b'"\\ud800"', 400),
    (b"\xff", 400), (b"NaN", 400), (b"1e400", 400), (b"9223372036854775808", 400), (b"[" * 65 + b"]" * 65, 400),
    (b"[" * 100000, 400), (b'"' + b"x" * (1 << 20) + b'"', 413),
])
def test_bad_bodies_queue_nothing(shop, db, body, status):
    before = count_jobs(shop, db)
    for path in (f"/workflows/{shop.manual['id']}/trigger", "/workflows/api/sync-orders"):
        refused = shop.admin.post(path, data=body, headers={"Content-Type": "application/json"}, expect=status)
        assert refused.json()["code"] == ("invalid_json" if status == 400 else "payload_too_large")
        shop.admin.post(path, data=b"a=1", headers={"Content-Type": "application/x-www-form-urlencoded"}, expect=415)
    assert count_jobs(shop, db) == before


def test_disabled_and_missing_workflows(project, db):
    made = workflow(project.admin, enabled=False)
    refused = project.admin.post(f"/workflows/{made['id']}/trigger", {}, expect=409)
    assert refused.json()["code"] == "workflow_disabled"
    for number in (424242, 0, -1, "x", 2 ** 63):
        assert project.admin.post(f"/workflows/{number}/trigger", {}, expect=404).json()["code"] == "not_found"
    assert jobs_of(project, db, made) == []
    project.admin.put(f"/workflows/{made['id']}", {"enabled": True}, expect=200)
    start(project.admin, made)


def test_a_job_belongs_to_the_version_it_was_queued_with(project, db):
    made = workflow(project.admin)
    first = start(project.admin, made)
    project.admin.put(f"/workflows/{made['id']}", {"steps": [call("other")]}, expect=200)
    second = start(project.admin, made)
    assert [job_row(project, db, number, "version") for number in (first, second)] == [1, 2]


# --- over a route ---


@pytest.mark.parametrize("path", ["api/sync-orders", "endpoint/sync-orders", "API/sync-orders", "api/SYNC-Orders",
                                  "endpoint/sYnC-oRdErS"])
def test_routes_ignore_case_and_answer_204(shop, db, path):
    if path.startswith("API"):
        shop.admin.post(f"/workflows/{path}", {}, expect=404)  # only the name of the route is case-insensitive
        return
    answer = shop.admin.post(f"/workflows/{path}", {"n": 1}, expect=204)
    assert answer.content == b"" and "Content-Type" not in answer.headers
    assert last_job(shop, db, "workflow_id", "status", "trigger_kind", "trigger_id", "trigger_entity", "trigger_data") == (
        shop.api["id"], "queued", "api", 0, None, {"n": 1})


def test_only_post(shop):
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        answer = shop.admin.request(method, "/workflows/api/sync-orders", expect=405)
        assert "POST" in answer.headers["Allow"]


def test_a14_id_and_entity_name_fill_the_trigger_and_nothing_else(shop, db):
    """A14: the id and the entity of a request are data like any other: no record is read and no right is granted because of them."""
    shop.entity("hidden", [{"name": "name", "type": "varchar"}])
    record = shop.item("hidden", name="secret")
    caller = shop.user_with("svc_workflows:trigger")
    for number, name in ((record["id"], "hidden"), (424242, "nothing"), (-7, "'; drop table x; --"), (2 ** 63 - 1, "ü" * 100)):
        caller.post("/workflows/api/sync-orders", {"id": 5}, params={"id": number, "entity_name": name}, expect=204)
        assert last_job(shop, db, "trigger_id", "trigger_entity", "trigger_data", "actor_id", "workflow_id") == (
            number, name, {"id": 5}, caller.user["id"], shop.api["id"])
    for query in ({"id": "x"}, {"id": ""}, {"id": "1.5"}, {"id": 2 ** 63}, {"entity_name": "x" * 201}, {"surprise": 1},
                  {"id[]": 1}, {"actor_id": 1}, "id=1&id=2", "entity_name=%00", "entity_name=%ff"):
        before = count_jobs(shop, db)
        caller.post("/workflows/api/sync-orders", {}, params=query, expect=400)
        assert count_jobs(shop, db) == before, query


def test_who_may_start_401_403_404(project, db):
    """401 without credentials, 403 without the permission, 404 without an enabled trigger."""
    made = workflow(project.admin, api_trigger("hook"))
    for kind in ("api", "endpoint"):
        path = f"/workflows/{kind}/hook"
        assert project.client().post(path, {}, expect=401).json()["code"] == "unauthorized"
        project.client(key="ak_wrong").post(path, {}, expect=401)
        reader = project.user_with("svc_workflows:read", "svc_workflows:create", "svc_workflows:update", "svc_workflows:delete")
        assert reader.post(path, {}, expect=403).json()["code"] == "forbidden"
        project.key(["svc_workflows:read"]).post(path, {}, expect=403)
        reader.post(f"/workflows/{kind}/nothing", {}, expect=403)
        project.user_with("svc_workflows:trigger").post(path, {}, expect=204)
        project.user().post(path, {}, expect=204)  # the role Standard User has the permission
        key = project.key(["svc_workflows:trigger"])
        key.post(path, {}, expect=204)
        project.client(token=key.key).post(path, {}, expect=204)
        for missing in ("nothing", "hook2", "hoo", "hook%20", "%27", "_", "x" * 500, "h%C3%B6%C3%B6k", "hook;a=b"):
            assert project.admin.post(f"/workflows/{kind}/{missing}", {}, expect=404).json()["code"] == "not_found"
        project.admin.post(f"/workflows/{kind}/hook/more", {}, expect=404)
        project.admin.post(f"/workflows/{kind}/hook%2Fmore", {}).status_code in (400, 404)
    queued = len(jobs_of(project, db, made))
    project.admin.put(f"/workflows/{made['id']}", {"enabled": False}, expect=200)
    for kind in ("api", "endpoint"):
        project.admin.post(f"/workflows/{kind}/hook", {}, expect=404)
    assert len(jobs_of(project, db, made)) == queued
    project.admin.put(f"/workflows/{made['id']}", {"enabled": True}, expect=200)
    project.admin.post("/workflows/api/hook", {}, expect=204)
    project.admin.put(f"/workflows/{made['id']}", {"trigger": api_trigger("Other")}, expect=200)
    project.admin.post("/workflows/api/hook", {}, expect=404)
    project.admin.post("/workflows/api/other", {}, expect=204)
    project.admin.delete(f"/workflows/{made['id']}", expect=204)
    project.admin.post("/workflows/api/other", {}, expect=404)


def test_routes_named_like_our_own_paths(project):
    for route in ("trigger", "jobs", "api", "endpoint", "cancel", "1"):
        workflow(project.admin, api_trigger(route))
        project.admin.post(f"/workflows/api/{route}", {}, expect=204)
        project.admin.post(f"/workflows/endpoint/{route}", {}, expect=204)


def test_a1_routes_of_another_project(project, gateway, operator, recorder):
    other = Project(gateway, operator, recorder)
    made = workflow(other.admin, api_trigger("theirs"))
    project.admin.post("/workflows/api/theirs", {}, expect=404)
    project.admin.post(f"/workflows/{made['id']}/trigger", {}, expect=404)
    workflow(project.admin, api_trigger("theirs"))
    project.client(token=other.admin.token).post("/workflows/api/theirs", {}, expect=401)


def test_many_at_once_are_all_there(project, db):
    made = workflow(project.admin, api_trigger("busy"))
    clients = [project.client(token=project.admin.token) for _ in range(8)]

    def one(number):
        return clients[number % 8].post("/workflows/api/busy", {"n": number}).status_code

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(200))) == {204}
    data = rows(db, f"select (trigger_data ->> 'n')::int from {project.schema(db)}.jobs where workflow_id = %s", made["id"])
    assert sorted(n for n, in data) == list(range(200))


def test_a_notification_is_sent(project, redis_client, db):
    made = workflow(project.admin, api_trigger("bell"))
    notified = notifications(project, db, redis_client)
    before = notified()
    for _ in range(2):
        project.admin.post("/workflows/api/bell", {}, expect=204)
    start(project.admin, made)
    until(lambda: notified() > before, "a notification")


# --- trace context ---


@pytest.mark.parametrize("sent, kept", [
    (TRACE, TRACE), (TRACE[:-2] + "00", TRACE[:-2] + "00"), ("cc" + TRACE[2:] + "-what-comes", TRACE), ("01" + TRACE[2:], TRACE),
    ("ff" + TRACE[2:], None), (TRACE + "-x", None), ("cc" + TRACE[2:] + "x", None), (TRACE.upper(), None), (TRACE[:-1], None),
    ("00-" + "0" * 32 + TRACE[35:], None), (TRACE[:36] + "0" * 16 + "-01", None), (TRACE.replace("-", "_"), None),
    ("0g" + TRACE[2:], None), (TRACE[:-2] + "0g", None), ("x" * 55, None), ("", None), (f"{TRACE}, {TRACE}", None),
])
def test_trace_context_is_checked_and_kept(shop, db, sent, kept):
    shop.admin.post("/workflows/api/sync-orders", {}, headers={"traceparent": sent}, expect=204)
    assert last_job(shop, db, "trace") == kept


def test_of_two_trace_contexts_none_is_believed(shop, db):
    address = urllib.parse.urlsplit(shop.base_url)
    wire = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    wire.putrequest("POST", f"{address.path}/workflows/api/sync-orders")
    for name, value in (("Authorization", f"Bearer {shop.admin.token}"), ("traceparent", TRACE), ("Traceparent", TRACE)):
        wire.putheader(name, value)
    wire.endheaders()
    assert wire.getresponse().status == 204
    wire.close()
    assert last_job(shop, db, "trace", "trigger_data") == (None, None)


def test_events_of_records_carry_the_trace(project, db):
    orders = project.entity("orders", [{"name": "name", "type": "varchar"}])
    listen(project, db, orders, "EntityCreated")
    project.admin.post("/entities/orders/items", {"name": "a"}, headers={"traceparent": TRACE}, expect=201)
    project.admin.post("/entities/orders/items", {"name": "b"}, headers={"traceparent": "nonsense"}, expect=201)
    assert [trace for trace, in rows(db, f"select trace from {project.schema(db)}.outbox order by id")] == [TRACE, None]
