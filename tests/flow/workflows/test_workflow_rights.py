"""A10, A13: a user cannot pass on through a workflow, or learn from its jobs, what this user may not read."""
import json

import pytest
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.runs import condition, wait_ended, step
from groundwork.soon import settle
from groundwork.workflows import add_step, call, event, jobs_of, set_job, start, workflow

WRITES = tuple(f"svc_workflows:{action}" for action in ("create", "read", "update", "delete", "trigger"))
SEEN = step("seen", "RunScript", {"script": "return $svc.trigger.data"})
SECRET = "s3cr3t-salary"


@pytest.fixture
def orders(project):
    project.entity("orders", [{"name": "name", "type": "varchar"}, {"name": "note", "type": "varchar"}])
    return "/entities/orders/items"


def jobs_within(project, db, made, count=1):
    """Waits until the workflow has `count` jobs and they have ended. Returns them as an administrator sees them."""
    until(lambda: len(jobs_of(project, db, made)) >= count, f"{count} jobs")
    return [wait_ended(project, job) for job, _ in jobs_of(project, db, made)]


def listener(client, name="EntityCreated", steps=None, **members):
    made = workflow(client, event(name=name, **members), steps or [SEEN])
    settle()
    return made


def outcome(job):
    return job["status"], job["reason"], [s["output"]["data"][0] for s in job["steps"]]


def assert_skipped(job):
    """Asserts that the job was skipped and that none of its steps ran. Returns True."""
    assert outcome(job) == ("skipped", "not_permitted", []), job
    assert job["error"] is None and job["attempt"] == 1
    return True


# --- the data of a workflow ---


@pytest.mark.parametrize("rights, seen", [
    (("orders:read",), True), (("orders:create", "orders:update"), False), ((), False)])
def test_an_event_needs_the_permission_to_read(project, db, runner, rights, seen):
    project.entity("orders", [{"name": "name", "type": "varchar"}], row_level_security=False)
    made = listener(project.user_with(*WRITES, *rights))
    project.item("orders", name=SECRET)
    job, = jobs_within(project, db, made)
    if not seen:
        assert assert_skipped(job)
        return
    assert outcome(job)[:2] == ("succeeded", None) and outcome(job)[2][0]["name"] == SECRET


def test_an_event_needs_api_access(project, db, runner):
    project.entity("orders", [{"name": "name", "type": "varchar"}], row_level_security=False)
    made = listener(project.user_with(*WRITES, "orders:read", api_access=False))
    project.item("orders", name=SECRET)
    assert assert_skipped(jobs_within(project, db, made)[0])


@pytest.mark.parametrize("happened", ["EntityCreated", "EntityUpdated", "EntityDeleted"])
def test_an_event_of_a_hidden_row(project, db, runner, orders, happened):
    """The row rule applies to events, too: a job about a record that the editor cannot read is skipped."""
    editor = project.user_with(*WRITES, "orders:read", "orders:create", "orders:update", "orders:delete")
    theirs, mine = project.item("orders", name=SECRET), project.item("orders", client=editor, name="mine")
    made = listener(editor, happened, [SEEN | {"next": "call"}, call()])
    if happened == "EntityCreated":
        project.item("orders", name=SECRET)
        project.item("orders", client=editor, name="mine")
    for client, record in ((project.admin, theirs), (editor, mine)):
        if happened == "EntityUpdated":
            client.put(f"{orders}/{record['id']}", {"note": "x"}, expect=200)
        if happened == "EntityDeleted":
            client.delete(f"{orders}/{record['id']}", expect=204)
    hidden, own = jobs_within(project, db, made, 2)
    assert assert_skipped(hidden) and hidden["trigger"]["id"] != own["trigger"]["id"]
    assert own["steps"][0]["output"]["data"][0]["name"] == "mine"


def test_a_granted_row(project, db, runner, orders):
    editor = project.user_with(*WRITES, "orders:read")
    theirs = project.item("orders", name="shared")
    made = listener(editor, "EntityUpdated")
    path = f"{orders}/{theirs['id']}"
    project.admin.put(f"{path}/rls-users", {"items": [{"user_id": editor.user["id"]}]}, expect=200)
    settle()
    project.admin.put(path, {"note": "x"}, expect=200)
    (job,) = jobs_within(project, db, made)
    assert (job["status"], job["steps"][0]["output"]["data"][0]["note"]) == ("succeeded", "x")
    project.admin.put(f"{path}/rls-users", {"items": []}, expect=200)
    project.admin.put(path, {"note": SECRET}, expect=200)
    assert assert_skipped(jobs_within(project, db, made, 2)[1])


def limited(project, *more):
    """Makes a role that can read orders except for the field `note`. Returns its id."""
    return project.role(permissions=[*WRITES, "orders:read", *more],
                        field_access=[{"entity": "orders", "action": "read", "fields": ["name"]}])["id"]


def test_fields_that_the_editor_may_not_read(project, db, runner):
    project.entity("orders", [{"name": "name", "type": "varchar"}, {"name": "note", "type": "varchar"}], row_level_security=False)
    made = listener(project.user(role_ids=[limited(project)]))
    project.item("orders", name="a", note=SECRET)
    (job,) = jobs_within(project, db, made)
    data = job["steps"][0]["output"]["data"][0]
    assert job["status"] == "succeeded" and data["name"] == "a" and data["created_by"] == project.admin.user["id"]
    assert "note" not in data and SECRET not in str(job["steps"])


def test_a_filter_over_a_field_that_the_editor_may_not_read(project, db, runner):
    """The job is skipped, because a match of the filter would reveal the value."""
    project.entity("orders", [{"name": "name", "type": "varchar"}, {"name": "note", "type": "varchar"}], row_level_security=False)
    editor = project.user(role_ids=[limited(project)])
    asks = listener(editor, filter={"any": [{"field": "name", "op": "eq", "value": "b"}, {"field": "note", "op": "eq", "value": SECRET}]})
    fair = listener(editor, filter={"field": "name", "op": "eq", "value": "a"})
    project.item("orders", name="a", note=SECRET)
    assert assert_skipped(jobs_within(project, db, asks)[0])
    assert jobs_within(project, db, fair)[0]["status"] == "succeeded"


def test_rights_are_those_of_the_moment(project, db, runner):
    """The current rights also apply to a job that is run again."""
    project.entity("orders", [{"name": "name", "type": "varchar"}], row_level_security=False)
    role = project.role(permissions=[*WRITES, "orders:read"])
    made = listener(project.user(role_ids=[role["id"]]), steps=[SEEN | {"next": "check"}, condition(
        test={"field": "$svc.trigger.data.missing", "op": "eq", "value": 1})])
    project.item("orders", name="a")
    (job,) = jobs_within(project, db, made)
    assert (job["status"], [s["key"] for s in job["steps"]]) == ("failed", ["seen", "check"])
    project.admin.put(f"/roles/{role['id']}", {"permissions": list(WRITES)}, expect=200)
    settle()
    project.admin.post(f"/workflows/jobs/{job['id']}/retry", expect=202)
    again = wait_ended(project, job["id"])
    assert (again["status"], again["reason"], len(again["steps"])) == ("skipped", "not_permitted", 2)
    project.item("orders", name="b")
    assert assert_skipped(jobs_within(project, db, made, 2)[1])
    project.admin.put(f"/roles/{role['id']}", {"permissions": [*WRITES, "orders:read"]}, expect=200)
    settle()
    project.admin.post(f"/workflows/jobs/{job['id']}/retry", expect=202)
    assert wait_ended(project, job["id"])["status"] == "failed"  # it ran again, up to its second step


def test_a_key_and_an_administrator(project, db, runner, orders):
    """An administrator sees everything, and an administrator's key sees only what the key may read."""
    mine = listener(project.admin)
    reads, blind = project.key([*WRITES, "orders:read"]), project.key(list(WRITES))
    theirs, none = listener(reads), listener(blind)
    editor = project.user_with(*WRITES, "orders:create")
    project.item("orders", client=editor, name="a", note="n")
    for made in (mine, theirs):
        (job,) = jobs_within(project, db, made)
        assert job["status"] == "succeeded" and job["steps"][0]["output"]["data"][0]["note"] == "n"
    assert assert_skipped(jobs_within(project, db, none)[0])


def test_an_entity_that_took_another_ones_name(project, db, runner, orders):
    """An event belongs to the entity that it was about, even if another entity now has the name."""
    editor = project.user_with(*WRITES, "orders:read", "orders:create")
    made = listener(editor)
    record = project.item("orders", name=SECRET)
    jobs_within(project, db, made)
    project.admin.put("/entities/orders", {"name": "old"}, expect=200)
    project.entity("orders", [{"name": "name", "type": "varchar"}], row_level_security=False)
    role = project.role(permissions=[*WRITES, "orders:read"])
    project.admin.put(f"/users/{editor.user['id']}", {"role_ids": [role["id"]]}, expect=200)
    for n in range(record["id"]):
        project.item("orders", name=f"{n}")
    settle()
    job = jobs_of(project, db, made)[0][0]
    project.admin.post(f"/workflows/jobs/{job}/retry", expect=202)
    assert assert_skipped({**wait_ended(project, job), "attempt": 1})


def test_fields_that_took_another_ones_name(project, db, runner):
    """A value belongs to the field that it was read from, even if another field now has the name."""
    project.entity("orders", [{"name": "name", "type": "varchar"}, {"name": "note", "type": "varchar"}, {"name": "same", "type": "varchar"}],
                   row_level_security=False)
    role = project.role(permissions=[*WRITES, "orders:read"],
                        field_access=[{"entity": "orders", "action": "read", "fields": ["name", "same"]}])
    editor = project.user(role_ids=[role["id"]])
    made = listener(editor)
    project.item("orders", name="a", note=SECRET, same="b")
    (job,) = jobs_within(project, db, made)
    project.admin.put("/entities/orders/fields/note", {"name": "old"}, expect=200)
    project.admin.put("/entities/orders/fields/name", {"name": "note"}, expect=200)
    set_job(project, db, job["id"], status="failed")
    settle()
    project.admin.post(f"/workflows/jobs/{job['id']}/retry", {"from_step": "seen"}, expect=202)
    again = wait_ended(project, job["id"])
    data = again["steps"][1]["output"]["data"][0]
    assert again["status"] == "succeeded" and data["same"] == "b" and SECRET not in str(data)
    assert SECRET not in str(answers(editor, job["id"]))


def test_an_editor_that_is_gone(project, db, runner, orders):
    editor = project.user_with(*WRITES, "orders:read")
    made = listener(editor)
    project.admin.put(f"/users/{editor.user['id']}", {"status": "suspended"}, expect=200)
    settle()
    project.item("orders", name=SECRET)
    (job,) = jobs_within(project, db, made)
    assert (job["status"], job["error"]["code"], job["steps"]) == ("failed", "editor_gone", [])


def raise_event(project, db, name, payload):
    execute(db, f"insert into {project.schema(db)}.outbox (event, payload) values (%s, %s)", name, payload)


@pytest.mark.parametrize("name, permission", [
    ("PaymentSucceeded", "svc_payments:read"), ("SubscriptionExpired", "svc_subscriptions:read"),
    ("PaymentMethodRemoved", "svc_payment_methods:read"), ("PushActionTaken", "svc_tenant_push_categories:update")])
def test_events_of_no_entity_need_their_permission(project, db, runner, name, permission):
    trigger = {"kind": "event", "event": name}
    others = {"svc_payments:read", "svc_subscriptions:read", "svc_payment_methods:read", "svc_tenant_push_categories:update"} - {permission}
    holder, other = (workflow(project.user_with(*WRITES, *held), trigger, [SEEN]) for held in ((permission,), others))
    raise_event(project, db, name, '{"amount": 12, "category": ""}')
    assert jobs_within(project, db, holder)[0]["steps"][0]["output"]["data"][0]["amount"] == 12
    assert assert_skipped(jobs_within(project, db, other)[0])


# --- jobs of a workflow, as a caller sees them ---


HIDDEN = {"input": None, "output": None, "log": None}


@pytest.fixture
def failed(project, db):
    """make(client, **columns): inserts a failed job with the secret in all of its parts. Returns its id."""
    def make(client, **columns):
        made = workflow(client, steps=[call("a")])
        (job,), = rows(db, f"insert into {project.schema(db)}.jobs (workflow_id, version, status, trigger_kind, trigger_data)"
                           " values (%s, 1, 'failed', 'manual', %s) returning id", made["id"], json.dumps({"secret": SECRET}))
        text = f'"{SECRET}"'
        add_step(project, db, job, 1, "a", "failed", input=text, output=text, log=f"[{text}]",
                 error=f'{{"code": "http_status", "status_code": 500, "message": {text}, "response": {text}, "errors": [{text}]}}')
        set_job(project, db, job, error=f'{{"step_key": "a", "code": "http_status", "status_code": 500, "message": {text}}}', **columns)
        return job
    return make


def answers(client, job):
    """Returns the answer about the job, and the lists that contain the job."""
    one = client.get(f"/workflows/jobs/{job}", expect=200).json()
    lists = [client.get(path, expect=200).json() for path in ("/workflows/jobs", f"/workflows/{one['workflow_id']}/jobs")]
    return one, lists


def test_jobs_show_their_data_to_whom_they_ran_for(project, db, failed):
    editor, other = project.user_with(*WRITES, "svc_api_keys:create"), project.user_with(*WRITES)
    job = failed(editor)
    for client in (project.admin, editor):
        one, lists = answers(client, job)
        assert not one["data_hidden"] and one["trigger"]["data"] == {"secret": SECRET} and one["error"]["message"] == SECRET
        first, = one["steps"]
        assert (first["input"], first["output"], first["log"], first["error"]["response"]) == (SECRET, SECRET, [SECRET], SECRET)
        assert all(found["items"][0]["error"]["message"] == SECRET for found in lists)
    for client in (other, project.key(list(WRITES)), project.key(list(WRITES), client=editor)):
        one, lists = answers(client, job)
        assert one["data_hidden"] and one["trigger"]["data"] is None and one["trigger"]["kind"] == "manual"
        first, = one["steps"]
        assert {name: first[name] for name in HIDDEN} == HIDDEN and first["error"] == {"code": "http_status", "status_code": 500}
        assert one["error"] == {"step_key": "a", "code": "http_status", "status_code": 500}
        assert SECRET not in str((one, lists)) and lists[0]["total_items"] == 1


def test_what_changes_a_job_shows_no_more_of_it(project, db, failed):
    other = project.user_with(*WRITES)
    for verb, status, columns in (("retry", 202, {}), ("cancel", 200, {"status": "waiting", "lease_until": "2099-01-01T00:00:00Z"})):
        job = failed(project.admin, **columns)
        body = other.post(f"/workflows/jobs/{job}/{verb}", expect=status).json()
        assert body["data_hidden"] and SECRET not in str(body)


def test_a_key_sees_the_jobs_of_what_it_saved(project, db, failed):
    key, twin = project.key(list(WRITES)), project.key(list(WRITES))
    job = failed(key)
    assert answers(key, job)[0]["trigger"]["data"] == {"secret": SECRET}
    assert answers(twin, job)[0]["data_hidden"]
    editor = project.user_with(*WRITES, "svc_api_keys:create")
    job = failed(project.key(list(WRITES), client=editor))
    assert not answers(editor, job)[0]["data_hidden"]  # the user holds at least what the key holds


def test_jobs_belong_to_the_version_they_run(project, db, failed):
    editor, heir = project.user_with(*WRITES), project.user_with(*WRITES)
    job = failed(editor)
    made = project.admin.get(f"/workflows/jobs/{job}").json()["workflow_id"]
    heir.put(f"/workflows/{made}", {"name": "mine now"}, expect=200)
    assert answers(heir, job)[0]["data_hidden"] and not answers(editor, job)[0]["data_hidden"]
    editor.delete(f"/workflows/{made}", expect=204)
    assert answers(editor, job)[0]["data_hidden"]


def test_an_events_data_is_shown_as_the_job_saw_it(project, db, runner):
    project.entity("orders", [{"name": "name", "type": "varchar"}, {"name": "note", "type": "varchar"}], row_level_security=False)
    editor = project.user(role_ids=[limited(project)])
    made = listener(editor)
    project.item("orders", name="a", note=SECRET)
    (job,) = jobs_within(project, db, made)
    assert job["trigger"]["data"]["note"] == SECRET  # as an administrator
    own, lists = answers(editor, job["id"])
    assert own["trigger"]["data"]["name"] == "a" and not own["data_hidden"] and SECRET not in str((own, lists))
    # A job that no runner has checked yet.
    schema = project.schema(db)
    (waits,), = rows(db, f"insert into {schema}.jobs (workflow_id, version, status, trigger_kind, trigger_event, trigger_entity_id, trigger_data, trigger_at)"
                         f" select workflow_id, version, 'cancelled', trigger_kind, trigger_event, trigger_entity_id, trigger_data, trigger_at"
                         f" from {schema}.jobs where id = %s returning id", job["id"])
    own = editor.get(f"/workflows/jobs/{waits}", expect=200).json()
    assert own["trigger"]["data"] is None and own["data_hidden"]


def test_jobs_that_were_not_permitted_are_not_shown(project, db, runner, orders):
    """A10: jobs about a hidden record are absent from all answers, including counts."""
    editor = project.user_with(*WRITES, "orders:read")
    made = listener(editor, filter={"field": "note", "op": "eq", "value": SECRET})
    project.item("orders", note=SECRET)
    (job,) = jobs_within(project, db, made)
    assert assert_skipped(job)
    for path in ("/workflows/jobs", f"/workflows/{made['id']}/jobs"):
        assert editor.get(path, expect=200).json()["total_items"] == 0
        assert project.admin.get(path, expect=200).json()["items"][0]["reason"] == "not_permitted"
    for method, verb in (("GET", ""), ("POST", "/cancel"), ("POST", "/retry")):
        told = editor.request(method, f"/workflows/jobs/{job['id']}{verb}", expect=404).json()
        missing = editor.request(method, f"/workflows/jobs/424242{verb}", expect=404).json()
        assert {**told, "request_id": 0} == {**missing, "request_id": 0}
    project.admin.post(f"/workflows/jobs/{job['id']}/cancel", expect=409)
    project.admin.post(f"/workflows/jobs/{job['id']}/retry", expect=202)
    assert wait_ended(project, job["id"])["reason"] == "not_permitted"


# --- during other writes ---


def test_a_workflow_that_is_deleted_while_it_is_started(project, db, servers, runner):
    """A trigger reads the workflow before its deletion and commits a job after the deletion: the job still ends, even if the runner has cached the
    workflow."""
    made = workflow(project.admin, steps=[condition()])
    assert wait_ended(project, start(project.admin, made))["status"] == "succeeded"  # the runner caches its steps
    schema, connection = project.schema(db), servers.connect()
    connection.autocommit = False
    with connection.cursor() as cursor:
        cursor.execute(f"with made as (insert into {schema}.jobs (workflow_id, version, trigger_kind) select w.id, w.version, 'manual'"
                       f" from {schema}.workflows w where w.id = %s and w.enabled returning id)"
                       f" insert into {schema}.job_leases (job_id) select id from made returning job_id", (made["id"],))
        job = cursor.fetchone()[0]
        project.admin.delete(f"/workflows/{made['id']}", expect=204)
        until(lambda: not rows(db, f"select 1 from {schema}.workflow_stops"), "the jobs that the deletion found are cancelled")
        connection.commit()
    connection.close()
    found = wait_ended(project, job)
    assert (found["status"], found["error"]["code"], found["steps"]) == ("failed", "workflow_gone", [])
