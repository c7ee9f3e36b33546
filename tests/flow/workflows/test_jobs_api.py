"""Jobs: read with their history, cancelled, run again. No runner runs in these tests: the tests put rows into the states that a runner would leave."""
import concurrent.futures
import json
import threading

import pytest
from groundwork.deadline import until
from groundwork.plans import current_plans
from groundwork.project import Project
from groundwork.records import codes, execute, notifications, rows
from groundwork.workflows import add_step, api_trigger, call, job_row, set_job, start, workflow

LISTED = {"id", "workflow_id", "workflow_version", "status", "run", "attempt", "depth", "error", "reason", "queued_at", "started_at",
          "finished_at", "trigger"}


@pytest.fixture
def two_steps(project):
    """A workflow of two steps."""
    project.made = workflow(project.admin, steps=[call("a", next="b"), call("b")])
    return project


@pytest.fixture(scope="module")
def shared_workflow(shared_project):
    """A workflow of two steps in the project of this file, for tests that only read their own jobs."""
    shared_project.made = workflow(shared_project.admin, steps=[call("a", next="b"), call("b")])
    return shared_project


def ids(client, path, **params):
    return [job["id"] for job in client.get(path, params=params, expect=200).json()["items"]]


# --- lists ---


def test_lists_newest_first(two_steps, db):
    admin, other = two_steps.admin, workflow(two_steps.admin, api_trigger("other"))
    mine = [start(admin, two_steps.made, n) for n in range(3)]
    theirs = [start(admin, other) for _ in range(2)]
    path = f"/workflows/{two_steps.made['id']}/jobs"
    assert ids(admin, path) == mine[::-1] and ids(admin, "/workflows/jobs") == (mine + theirs)[::-1]
    set_job(two_steps, db, mine[1], status="failed", error='{"step_key": "a", "code": "x", "message": "y"}')
    assert ids(admin, path, status="failed") == [mine[1]] and ids(admin, "/workflows/jobs", status="failed") == [mine[1]]
    assert ids(admin, path, status="running") == [] and ids(admin, path, status="queued") == [mine[2], mine[0]]
    assert ids(admin, path, sort="id") == mine and ids(admin, path, sort="-id") == mine[::-1]
    assert ids(admin, path, order="asc") == mine and ids(admin, path, sort="id", order="desc") == mine[::-1]
    body = admin.get(path, params={"limit": 2}, expect=200).json()
    assert (body["total_items"], body["page"], body["page_size"], body["has_next_page"]) == (3, 1, 2, True)
    assert set(body["items"][0]) == LISTED and "next_cursor" not in body
    assert body["items"][0]["trigger"] == {"kind": "manual", "event": None, "id": 0, "entity_name": None}
    assert ids(admin, path, limit=2, page=2) == mine[:1] and admin.get(path, params={"count": "false"}).json()["total_items"] == -1
    for wrong in ({"status": "done"}, {"sort": "status"}, {"limit": 0}, {"limit": 501}, {"page": 0}, {"cursor": "x"}, {"cursor": "ZDF4"},
                  {"cursor": "YTE", "order": "desc"}, {"surprise": 1}, {"order": "up"}, {"cursor": "x" * 1000}):
        admin.get(path, params=wrong, expect=400)
    for missing in (424242, 0, "x"):
        admin.get(f"/workflows/{missing}/jobs", expect=404)


def test_lists_of_several_states_and_of_a_period(two_steps, db):
    admin, path = two_steps.admin, f"/workflows/{two_steps.made['id']}/jobs"
    jobs = [start(admin, two_steps.made) for _ in range(4)]
    for at, (job, status) in enumerate(zip(jobs, ("failed", "running", "cancelled", "queued"))):
        set_job(two_steps, db, job, status=status, queued_at=f"2026-01-0{at + 1}T00:00:00Z")

    def found(**params):
        """The listed jobs as positions in `jobs`, which both lists show alike."""
        of_workflow, of_project = (admin.get(each, params=params, expect=200).json() for each in (path, "/workflows/jobs"))
        assert of_workflow == of_project and of_workflow["total_items"] == len(of_workflow["items"])
        return [jobs.index(job["id"]) for job in of_workflow["items"]]

    assert found(status="failed,cancelled") == [2, 0] and found(status="running,queued,running") == [3, 1]
    assert found(since="2026-01-02T00:00:00Z") == [3, 2, 1] and found(until="2026-01-02T00:00:00Z") == [0]
    assert found(since="2026-01-02T01:00:00+01:00", until="2026-01-03T23:59:59Z", order="asc") == [1, 2]
    assert found(since="2026-01-03T00:00:00Z", until="2026-01-03T00:00:00Z") == [] and found(until="1970-01-01T00:00:00Z") == []
    assert found(status="failed,queued", since="2026-01-02T00:00:00Z") == [3]
    for name, wrong in (("since", "yesterday"), ("since", ""), ("until", "2026-01-01"), ("since", "2026-13-01T00:00:00Z")):
        refused = admin.get(path, params={name: wrong}, expect=400).json()
        assert refused["code"] == "invalid_query" and refused["detail"] == f"Query parameter '{name}': expected a time such as 2026-01-31T12:00:00Z."
        assert admin.get("/audit-log", params={name: wrong}, expect=400).json()["detail"] == refused["detail"]
    for wrong in ("failed,done", "failed,", ",failed", "", "failed, queued", "FAILED"):
        assert codes(admin.get(path, params={"status": wrong}, expect=400)) == {"status": "validation_failed"}


def test_the_index_of_times_finds_a_period(unused_project, db):
    """Also with a plan for any parameters, the jobs of an hour are found without reading the jobs of all times."""
    cursor, schema, jobs = db.cursor(), unused_project.schema(db), 20000
    cursor.execute(f"insert into {schema}.jobs (workflow_id, version, trigger_kind, status, queued_at) select 1, 1, 'manual', 'succeeded',"
                   f" timestamptz '2026-01-01' + n * interval '1 minute' from generate_series(1, {jobs}) n")
    hour = {"viewer": "'{}'", "statuses": "null", "since": "'2026-01-08T00:00:00Z'", "until": "'2026-01-08T01:00:00Z'", "workflow_id": "null",
            "limit": 51, "offset": 0}
    with current_plans(cursor, schema, ("jobs", "job_leases")) as plans:
        for kind, behind in (("desc", jobs), ("asc", 0), ("count", None)):
            plans.prepare("services/api-gateway/areas/workflows/workflow_runs.sql", f"runs_of_period_{kind}", {**hour, "behind": behind}, prelude=None)
        plans.check()


def test_cursors_walk_a_list_that_grows(two_steps):
    path = f"/workflows/{two_steps.made['id']}/jobs"
    made = [start(two_steps.admin, two_steps.made) for _ in range(7)]
    seen, cursor = [], "start"
    while cursor:
        body = two_steps.admin.get(path, params={"cursor": cursor, "limit": 3}, expect=200).json()
        seen += [job["id"] for job in body["items"]]
        assert body["total_items"] == -1 and body["has_next_page"] == (body["next_cursor"] is not None)
        cursor = body["next_cursor"]
        start(two_steps.admin, two_steps.made)  # newer jobs do not shift the pages
    assert seen == made[::-1]
    body = two_steps.admin.get(path, params={"cursor": "", "limit": 3, "count": "true", "order": "asc"}, expect=200).json()
    assert body["total_items"] == 10 and [job["id"] for job in body["items"]] == made[:3]
    assert ids(two_steps.admin, path, cursor=body["next_cursor"], order="asc", limit=3) == made[3:6]


# --- one job ---


def test_a_job_with_its_history(two_steps, db):
    job = start(two_steps.admin, two_steps.made, {"x": [1]})
    add_step(two_steps, db, job, 1, "a", "failed", finished_at="2026-01-01T00:00:01Z", input='{"url": "********"}',
             error='{"code": "http_status", "status_code": 500, "message": "no"}')
    add_step(two_steps, db, job, 2, "a", "succeeded", run=2, output='{"data": [1e20]}', log='["hello"]')
    add_step(two_steps, db, job, 3, "b", "sent", run=2)
    set_job(two_steps, db, job, status="running", run=2, attempt=1, depth=3, started_at="2026-01-01T00:00:00Z")
    body = two_steps.admin.get(f"/workflows/jobs/{job}", expect=200).json()
    assert set(body) == LISTED | {"steps", "data_hidden"} and body["trigger"]["data"] == {"x": [1]}
    assert (body["status"], body["run"], body["attempt"], body["depth"], body["workflow_version"]) == ("running", 2, 1, 3, 1)
    assert [(step["key"], step["run"], step["status"]) for step in body["steps"]] == [
        ("a", 1, "failed"), ("a", 2, "succeeded"), ("b", 2, "sent")]
    first, second, third = body["steps"]
    assert first["error"]["status_code"] == 500 and first["input"] == {"url": "********"} and first["finished_at"] == "2026-01-01T00:00:01.000Z"
    assert second["output"] == {"data": [1e20]} and second["log"] == ["hello"] and third["finished_at"] is None
    for missing in (424242, 0, -1, "x", "jobs", 2 ** 63):
        two_steps.admin.get(f"/workflows/jobs/{missing}", expect=404)


def test_of_a_long_history_the_newest_steps_are_shown(two_steps, db):
    job = start(two_steps.admin, two_steps.made)
    schema = two_steps.schema(db)
    execute(db, f"insert into {schema}.job_steps (job_id, seq, run, key, action, status, started_at, output) "
                f"select %s, n, 1, 'a', 'RunScript', 'succeeded', now(), jsonb_build_object('n', n) from generate_series(1, 1500) n", job)
    steps = two_steps.admin.get(f"/workflows/jobs/{job}", expect=200).json()["steps"]
    assert [step["output"]["n"] for step in steps] == list(range(501, 1501))
    blob = "(select jsonb_agg(md5(i::text || n::text)) from generate_series(1, 40000) i)"
    execute(db, f"update {schema}.job_steps set output = b.blob from (select n, {blob} as blob from generate_series(1491, 1500) n) b "
                f"where job_id = %s and seq = b.n", job)
    steps = two_steps.admin.get(f"/workflows/jobs/{job}", expect=200).json()["steps"]
    assert 1 <= len(steps) < 10 and steps[-1]["output"]
    # The limit applies to the size that is sent, even if the outputs are stored compressed.
    execute(db, f"update {schema}.job_steps set output = to_jsonb(repeat('x', 1000000)) where job_id = %s and seq > 1300", job)
    answer = two_steps.admin.get(f"/workflows/jobs/{job}", expect=200)
    assert len(answer.json()["steps"]) == 8 and len(answer.content) < 9 << 20


# --- permissions ---


def test_permissions(two_steps):
    """Reading needs svc_workflows:read. Cancelling and retrying need the same permission as starting."""
    job = start(two_steps.admin, two_steps.made)
    reader, starter = two_steps.user_with("svc_workflows:read"), two_steps.user_with("svc_workflows:trigger")
    for path in ("/workflows/jobs", f"/workflows/jobs/{job}", f"/workflows/{two_steps.made['id']}/jobs"):
        reader.get(path, expect=200)
        starter.get(path, expect=403)
    for verb in ("cancel", "retry"):
        reader.post(f"/workflows/jobs/{job}/{verb}", expect=403)
        two_steps.client().post(f"/workflows/jobs/{job}/{verb}", expect=401)
    starter.post(f"/workflows/jobs/{job}/cancel", expect=200)
    starter.post(f"/workflows/jobs/{job}/retry", expect=403)  # a job of another user
    own = start(starter, two_steps.made)
    starter.post(f"/workflows/jobs/{own}/cancel", expect=200)
    starter.post(f"/workflows/jobs/{own}/retry", expect=202)
    two_steps.admin.post(f"/workflows/jobs/{job}/retry", expect=202)
    two_steps.key(["svc_workflows:trigger"]).post(f"/workflows/jobs/{job}/cancel", expect=200)


def test_a1_jobs_of_another_project(two_steps, gateway, operator, recorder, db):
    job = start(two_steps.admin, two_steps.made)
    set_job(two_steps, db, job, status="failed")
    other = Project(gateway, operator, recorder)
    for method, path in (("GET", ""), ("POST", "/cancel"), ("POST", "/retry")):
        answer = other.admin.request(method, f"/workflows/jobs/{job}{path}", expect=404).json()
        missing = other.admin.request(method, f"/workflows/jobs/424242{path}", expect=404).json()
        assert {**answer, "request_id": 0} == {**missing, "request_id": 0}
    assert ids(other.admin, "/workflows/jobs") == []
    assert job_row(two_steps, db, job, "status") == "failed"


# --- cancel ---


@pytest.mark.parametrize("state", ["queued", "running", "waiting"])
def test_cancel_what_has_not_ended(shared_workflow, db, redis_client, state):
    job = start(shared_workflow.admin, shared_workflow.made)
    set_job(shared_workflow, db, job, status=state, token=5, runner="r", lease_until="2099-01-01T00:00:00Z")
    add_step(shared_workflow, db, job, 1, "a", "succeeded")
    add_step(shared_workflow, db, job, 2, "b", "sent")
    subscription = redis_client.pubsub()
    subscription.subscribe("groundwork:jobs:cancel")
    assert until(lambda: subscription.get_message(timeout=1), "it listens")["type"] == "subscribe"
    body = shared_workflow.admin.post(f"/workflows/jobs/{job}/cancel", expect=200).json()
    assert (body["status"], [step["status"] for step in body["steps"]]) == ("cancelled", ["succeeded", "interrupted"])
    assert body["finished_at"] and body["steps"][1]["finished_at"] and body["steps"][1]["error"]["code"] == "interrupted"
    assert job_row(shared_workflow, db, job, "token", "runner", "lease_until") == (6, None, None)
    (number,), = rows(db, "select number from platform.projects where slug = %s", shared_workflow.id)
    message = until(lambda: subscription.get_message(timeout=1), "the notification is received")
    subscription.close()
    assert message["data"].decode() == f"{number}:{job}"
    again = shared_workflow.admin.post(f"/workflows/jobs/{job}/cancel", expect=409)
    assert again.json()["code"] == "conflict" and job_row(shared_workflow, db, job, "token") == 6


def test_cancel_outlasts_a_step_that_waits(two_steps, db, servers):
    """A step that waits for a lock locks its job's lease for two seconds at most: the cancellation waits until then."""
    job = start(two_steps.admin, two_steps.made)
    set_job(two_steps, db, job, status="running")
    step = servers.connect()
    step.autocommit = False
    rows(step, f"select 1 from {two_steps.schema(db)}.job_leases where job_id = %s for update", job)
    ends = threading.Timer(2.5, step.rollback)
    ends.start()
    assert two_steps.admin.post(f"/workflows/jobs/{job}/cancel", expect=200).json()["status"] == "cancelled"
    ends.join()
    step.close()


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "skipped"])
def test_what_has_ended_stays(shared_workflow, db, state):
    job = start(shared_workflow.admin, shared_workflow.made)
    set_job(shared_workflow, db, job, status=state, token=5)
    refused = shared_workflow.admin.post(f"/workflows/jobs/{job}/cancel", expect=409).json()
    assert refused["code"] == "conflict" and state in refused["detail"]
    assert job_row(shared_workflow, db, job, "status", "token") == (state, 5)
    shared_workflow.admin.post("/workflows/jobs/424242/cancel", expect=404)


# --- retry ---


@pytest.mark.parametrize("state, reason, status", [
    ("failed", None, 202), ("cancelled", None, 202), ("skipped", "too_late", 202), ("skipped", None, 202), ("skipped", "loop_guard", 409),
    ("queued", None, 409), ("running", None, 409), ("waiting", None, 409), ("succeeded", None, 409)])
def test_which_jobs_run_again(shared_workflow, db, redis_client, state, reason, status):
    job = start(shared_workflow.admin, shared_workflow.made, {"keep": 1})
    set_job(shared_workflow, db, job, status=state, reason=reason, token=5, attempt=3, error='{"step_key": "b", "code": "x", "message": "y"}',
            finished_at="2026-01-01T00:00:00Z", started_at="2026-01-01T00:00:00Z", queued_at="2026-01-01T00:00:00Z")
    notified = notifications(shared_workflow, db, redis_client)
    before = notified()
    answer = shared_workflow.admin.post(f"/workflows/jobs/{job}/retry", expect=status)
    if status == 409:
        assert answer.json()["code"] == "conflict" and job_row(shared_workflow, db, job, "status", "run", "token") == (state, 1, 5)
        return
    body = answer.json()
    assert (body["status"], body["run"], body["attempt"], body["error"], body["reason"], body["started_at"], body["finished_at"]) == (
        "queued", 2, 0, None, None, None, None)
    assert job_row(shared_workflow, db, job, "token", "resume_step", "trigger_data", "version", "runner") == (6, "b", {"keep": 1}, 1, None)
    assert job_row(shared_workflow, db, job, "queued_at > '2026-01-02'") is True
    until(lambda: notified() > before, "a notification")
    shared_workflow.admin.post(f"/workflows/jobs/{job}/retry", expect=409)
    shared_workflow.admin.post("/workflows/jobs/424242/retry", expect=404)


def retry(project, db, job, body=None, expect=202, **columns):
    set_job(project, db, job, **{"status": "failed", "error": None, **columns})
    return project.admin.post(f"/workflows/jobs/{job}/retry", body, expect=expect)


def test_where_a_retry_begins(two_steps, db):
    job = start(two_steps.admin, two_steps.made)

    def resumed(body=None, **columns):
        retry(two_steps, db, job, body, **columns)
        return job_row(two_steps, db, job, "resume_step")

    assert resumed() is None, "the failed step is unknown: the job starts from the beginning"
    assert resumed(error='{"step_key": "b"}') == "b"
    assert resumed(error='{"step_key": "gone"}') is None
    assert resumed({"from_step": "a"}, error='{"step_key": "b"}') == "a"
    assert resumed({"from_step": None}, error='{"step_key": "b"}') == "b" and resumed({}, error='{"step_key": "b"}') == "b"
    run = job_row(two_steps, db, job, "run")
    add_step(two_steps, db, job, 1, "b", "failed", run=run - 1)
    assert resumed() is None, "the failed step belongs to another run"
    add_step(two_steps, db, job, 2, "a", "failed", run=run + 1)
    assert resumed() == "a"
    add_step(two_steps, db, job, 3, "a", "failed", run=run + 2)
    add_step(two_steps, db, job, 4, "b", "interrupted", run=run + 2)
    assert resumed(status="cancelled") == "b"
    add_step(two_steps, db, job, 5, "b", "failed", run=run + 3)
    assert resumed(status="cancelled") is None, "the job was not cancelled at a failure that a failure path handled"


def test_from_step_must_be_in_the_version_of_the_job(two_steps, db):
    job = start(two_steps.admin, two_steps.made)
    two_steps.admin.put(f"/workflows/{two_steps.made['id']}", {"steps": [call("c")]}, expect=200)
    retry(two_steps, db, job, {"from_step": "b"})
    for key in ("c", "", "A", "x" * 100):
        refused = retry(two_steps, db, job, {"from_step": key}, expect=400)
        assert codes(refused) == {"from_step": "validation_failed"}
    for body in ({"from_step": 1}, {"step": "a"}, {"from_step": "x" * 101}, []):
        two_steps.admin.post(f"/workflows/jobs/{job}/retry", body, expect=400)
    assert job_row(two_steps, db, job, "status", "run") == ("failed", 2)


def test_a_disabled_or_deleted_workflow_is_not_retried(two_steps, db):
    job = start(two_steps.admin, two_steps.made)
    path = f"/workflows/{two_steps.made['id']}"
    two_steps.admin.put(path, {"enabled": False}, expect=200)
    assert retry(two_steps, db, job, expect=409).json()["code"] == "workflow_disabled"
    two_steps.admin.put(path, {"enabled": True}, expect=200)
    retry(two_steps, db, job)
    two_steps.admin.delete(path, expect=204)
    assert retry(two_steps, db, job, expect=409).json()["code"] == "conflict"


def test_a_job_is_not_run_without_end(two_steps, db):
    job = start(two_steps.admin, two_steps.made)
    retry(two_steps, db, job, run=99)
    assert job_row(two_steps, db, job, "run") == 100
    assert retry(two_steps, db, job, expect=409).json()["code"] == "conflict"


def test_retries_and_cancels_at_the_same_time(two_steps, db):
    job = start(two_steps.admin, two_steps.made)
    set_job(two_steps, db, job, status="failed")
    clients = [two_steps.client(token=two_steps.admin.token) for _ in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda client: client.post(f"/workflows/jobs/{job}/retry").status_code, clients))
    assert sorted(found) == [202] + [409] * 5 and job_row(two_steps, db, job, "run", "token") == (2, 1)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda client: client.post(f"/workflows/jobs/{job}/cancel").status_code, clients))
    assert sorted(found) == [200] + [409] * 5 and job_row(two_steps, db, job, "token") == 2


def test_j2_duplicate_keys_in_a_retry(two_steps, db):
    job = start(two_steps.admin, two_steps.made)
    set_job(two_steps, db, job, status="failed")
    two_steps.admin.post(f"/workflows/jobs/{job}/retry", data=b'{"from_step":"a","from_step":"b"}',
                         headers={"Content-Type": "application/json"}, expect=400)
    assert json.loads(two_steps.admin.get(f"/workflows/jobs/{job}").text)["status"] == "failed"


def test_several_jobs_are_retried_each_with_its_result(two_steps, db):
    failed, running, again = (start(two_steps.admin, two_steps.made) for _ in range(3))
    for job in (failed, again):
        set_job(two_steps, db, job, status="failed")
    answer = two_steps.admin.post("/workflows/jobs/retry", {"ids": [failed, running, 424242, again, failed]}, expect=200).json()
    assert [(item["id"], item["status"]) for item in answer["items"]] == [
        (failed, 202), (running, 409), (424242, 404), (again, 202), (failed, 409)]
    assert [item["problem"] and item["problem"]["code"] for item in answer["items"]] == [
        None, "conflict", "not_found", None, "conflict"]
    alone = two_steps.admin.post(f"/workflows/jobs/{running}/retry", expect=409).json()
    told = answer["items"][1]["problem"]
    assert {**told, "request_id": None} == {**alone, "request_id": None}
    assert job_row(two_steps, db, failed, "status") is None or job_row(two_steps, db, failed, "status") == "queued"
    for body in ({}, {"ids": []}, {"ids": ["x"]}, {"ids": list(range(1, 102))}, {"ids": [1], "from_step": "a"}):
        two_steps.admin.post("/workflows/jobs/retry", body, expect=400)


def test_several_jobs_are_cancelled_each_with_its_result(two_steps, db):
    running, queued, done = (start(two_steps.admin, two_steps.made) for _ in range(3))
    set_job(two_steps, db, running, status="running", attempt=1)
    add_step(two_steps, db, running, 1, "a", "sent")
    set_job(two_steps, db, done, status="succeeded")
    answer = two_steps.admin.post("/workflows/jobs/cancel", {"ids": [running, done, 424242, queued, running]}, expect=200).json()
    assert [(item["id"], item["status"], item["problem"] and item["problem"]["code"]) for item in answer["items"]] == [
        (running, 200, None), (done, 409, "conflict"), (424242, 404, "not_found"), (queued, 200, None), (running, 409, "conflict")]
    alone = two_steps.admin.post(f"/workflows/jobs/{done}/cancel", expect=409).json()
    assert {**answer["items"][1]["problem"], "request_id": None} == {**alone, "request_id": None}
    assert [job_row(two_steps, db, job, "status") for job in (running, queued, done)] == ["cancelled", "cancelled", "succeeded"]
    assert two_steps.admin.get(f"/workflows/jobs/{running}", expect=200).json()["steps"][0]["status"] == "interrupted"
    audited = two_steps.admin.get("/audit-log", params={"action": "jobs.cancel"}, expect=200).json()["items"]
    assert [entry["target_id"] for entry in audited] == [str(queued), str(running)]
    for body in ({}, {"ids": []}, {"ids": ["x"]}, {"ids": list(range(1, 102))}, {"ids": [1], "from_step": "a"}):
        two_steps.admin.post("/workflows/jobs/cancel", body, expect=400)
    two_steps.user_with("svc_workflows:read").post("/workflows/jobs/cancel", {"ids": [running]}, expect=403)
    key = two_steps.key(["svc_workflows:trigger"])
    other = start(two_steps.admin, two_steps.made)
    assert key.post("/workflows/jobs/cancel", {"ids": [other]}, expect=200).json()["items"] == [{"id": other, "status": 200, "problem": None}]


def test_cancellations_and_retries_of_the_same_jobs_at_once(two_steps, db):
    jobs = [start(two_steps.admin, two_steps.made) for _ in range(12)]
    orders = [jobs, jobs[::-1], jobs[6:] + jobs[:6], jobs[::2] + jobs[1::2]]
    clients = [two_steps.client(token=two_steps.admin.token) for _ in range(8)]

    def work(at):
        kind = "retry" if at % 4 == 3 else "cancel"
        return kind, clients[at].post(f"/workflows/jobs/{kind}", {"ids": orders[at % 4]}, expect=200).json()["items"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(work, range(8)))
    results = [(kind, item["id"], item["status"]) for kind, items in answers for item in items]
    assert {status for _, _, status in results} <= {200, 202, 409}
    for job in jobs:
        cancelled, retried = (sum(each == (kind, job, status) for each in results) for kind, status in (("cancel", 200), ("retry", 202)))
        assert cancelled - retried == (job_row(two_steps, db, job, "status") == "cancelled") and job_row(two_steps, db, job, "run") == 1 + retried
