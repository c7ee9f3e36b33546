"""Users who may only start, rename or save a workflow do not gain the rights and secrets of its editor."""
import pytest
from groundwork.records import rows
from groundwork.runs import condition, wait_ended, step
from groundwork.soon import settle
from groundwork.workflows import add_jobs, api_trigger, call, document, set_job, start, workflow

GUARDED = [condition("check", then="pay"), call("pay", next="tell"), call("tell")]
WRITES = tuple(f"svc_workflows:{action}" for action in ("create", "read", "update", "delete", "trigger"))
USES = "Bearer {{ $svc.secrets.STRIPE }}"


def failed(project, db, client, made, key="tell", **columns):
    job = start(client, made)
    set_job(project, db, job, status="failed", error=f'{{"step_key": "{key}"}}', **columns)
    return job


# --- retry ---


def test_a_retry_does_not_jump_over_a_condition(project, db):
    """A user who may only start workflows can run own jobs again, from the start or from the step that failed."""
    made = workflow(project.admin, steps=GUARDED)
    starter = project.user_with("svc_workflows:trigger")
    job = failed(project, db, starter, made)
    refused = starter.post(f"/workflows/jobs/{job}/retry", {"from_step": "pay"}, expect=403).json()
    assert refused["code"] == "forbidden" and "svc_workflows:update" in refused["detail"]
    for body in ({"from_step": "check"}, {"from_step": "tell"}, {"from_step": None}, None):
        starter.post(f"/workflows/jobs/{job}/retry", body, expect=202)
        set_job(project, db, job, status="failed", error='{"step_key": "tell"}')
    editor = project.user_with("svc_workflows:trigger", "svc_workflows:update")
    editor.post(f"/workflows/jobs/{job}/retry", {"from_step": "pay"}, expect=202)


def test_a_start_step_that_is_not_the_first(project, db):
    made = workflow(project.admin, steps=[call("late"), condition("check", then="late")], start_step="check")
    starter = project.user_with("svc_workflows:trigger")
    job = failed(project, db, starter, made, key="none")
    starter.post(f"/workflows/jobs/{job}/retry", {"from_step": "late"}, expect=403)
    starter.post(f"/workflows/jobs/{job}/retry", {"from_step": "check"}, expect=202)


def test_jobs_of_others_are_not_retried(project, db):
    made, route = workflow(project.admin, steps=GUARDED), workflow(project.admin, api_trigger("pay-now"), steps=GUARDED)
    starter, other = project.user_with("svc_workflows:trigger", "svc_api_keys:create"), project.user_with("svc_workflows:trigger")
    key, twin = (project.key(["svc_workflows:trigger"], client=starter) for _ in range(2))
    jobs = {"starter": failed(project, db, starter, made), "key": failed(project, db, key, made)}
    starter.post("/workflows/api/pay-now", {}, expect=204)
    ((jobs["route"],),) = rows(db, f"select id from {project.schema(db)}.jobs where workflow_id = %s", route["id"])
    (jobs["event"],) = add_jobs(project, db, made, trigger_kind="'event'", actor_id=str(starter.user["id"]))
    may = {"starter": {"starter", "key", "route"}, "key": {"key"}, "twin": set(), "other": set()}
    for name, client in (("starter", starter), ("key", key), ("twin", twin), ("other", other)):
        for kind, job in jobs.items():
            set_job(project, db, job, status="failed")
            client.post(f"/workflows/jobs/{job}/retry", expect=202 if kind in may[name] else 403)


# --- the editor ---


def sent_back(made):
    return {name: made[name] for name in ("name", "enabled", "trigger", "start_step", "steps")}


def test_renaming_and_toggling_adopt_nothing(project, db):
    """The editor is the user who last changed what the workflow does, not the user who last saved it."""
    author, other = project.user_with(*WRITES), project.user_with(*WRITES)
    made = workflow(author, {"kind": "timed", "cron": "0 5 * * *"}, steps=GUARDED)
    path = f"/workflows/{made['id']}"
    labelled = [{**one, "name": "Label"} for one in made["steps"]]
    for version, change in enumerate(({"name": "Other"}, {"enabled": False}, {"enabled": True}, sent_back(made), {"steps": labelled},
                                      {"trigger": {"kind": "timed", "cron": "0 5 * * *"}}, {"start_step": "check"}), 2):
        changed = other.put(path, change, expect=200).json()
        assert (changed["version"], changed["editor_id"]) == (version, author.user["id"]), change
    assert other.get(f"{path}/versions/4", expect=200).json()["editor_id"] == author.user["id"]
    key = project.key(list(WRITES), client=project.admin)
    key.put(path, {"name": "By key"}, expect=200)
    assert rows(db, f"select editor_id, editor_key_id from {project.schema(db)}.workflows") == [(author.user["id"], None)]


@pytest.mark.parametrize("change", [
    {"trigger": {"kind": "manual"}}, {"steps": [GUARDED[0], call("pay")]}, {"start_step": "pay", "steps": GUARDED[1:]},
    {"steps": [{**GUARDED[0], "enabled": False}, *GUARDED[1:]]}, {"steps": [GUARDED[0], {**GUARDED[1], "timeout_seconds": 3}, GUARDED[2]]},
    {"steps": [*GUARDED[:2], call("tell", url="https://example.org/other")]}])
def test_what_makes_one_the_editor(shared_project, change):
    project = shared_project
    author, other = project.user_with(*WRITES), project.user_with(*WRITES)
    made = workflow(author, {"kind": "timed", "cron": "0 5 * * *"}, steps=GUARDED)
    assert other.put(f"/workflows/{made['id']}", change, expect=200).json()["editor_id"] == other.user["id"]


# --- secrets ---


def secret(project, name="STRIPE", value="canary-stripe", **members):
    return project.admin.post("/secrets", {"name": name, "value": value, **members}, expect=201).json()


def uses(url="https://example.org/hook", reference=USES, **members):
    return step("call", "CallAnApi", {"url": url, "method": "POST", "headers": {"Authorization": reference}}, **members)


def test_saving_a_secret_needs_the_permission_to_read_it(project):
    secret(project)
    editor, reader = project.user_with(*WRITES), project.user_with(*WRITES, "svc_secrets:read")
    answers = []
    for name in ("STRIPE", "NOWHERE"):
        answer = editor.post("/workflows", document(steps=[uses(reference=f"{{{{ $svc.secrets.{name} }}}}")], name="x"), expect=403).json()
        answers.append({**answer, "request_id": 0})
    assert answers[0] == answers[1] and answers[0]["code"] == "forbidden", "the answer does not reveal whether the secret exists"
    assert "steps[0] (call).params" in answers[0]["detail"] and "svc_secrets:read" in answers[0]["detail"]
    reader.post("/workflows", document(steps=[uses(reference="{{ $svc.secrets.NOWHERE }}")]), expect=400)
    made = workflow(reader, steps=[uses()])
    path = f"/workflows/{made['id']}"
    editor.put(path, {"steps": [uses(url="https://example.net/")]}, expect=403)
    editor.put(path, {"trigger": {"kind": "api", "route": "adopt"}}, expect=403)
    editor.put(path, {"name": "Renamed", "enabled": False}, expect=200)
    editor.put(path, {"enabled": True}, expect=200)
    assert editor.put(path, {"steps": [call()]}, expect=200).json()["editor_id"] == editor.user["id"]


def test_toggling_is_no_oracle_either(project):
    secret(project)
    made = workflow(project.admin, steps=[uses()])
    editor, path = project.user_with(*WRITES), f"/workflows/{made['id']}"
    editor.put(path, {"enabled": False}, expect=200)
    project.admin.delete("/secrets/STRIPE", expect=204)
    editor.put(path, {"enabled": True}, expect=200)


def test_an_editor_who_lost_the_permission(project, runner, sink):
    secret(project)
    role = project.role(permissions=[*WRITES, "svc_secrets:read"])
    editor = project.user(role_ids=[role["id"]])
    made = workflow(editor, steps=[uses(f"{sink.url}/lost", on_failure="check"), condition()])
    other = workflow(editor, steps=[call(url=f"{sink.url}/lost")])
    assert wait_ended(project, start(project.admin, made))["steps"][0]["status"] == "succeeded"
    assert sink.requests_to("/lost")[-1].headers["Authorization"] == "Bearer canary-stripe"
    project.admin.put(f"/roles/{role['id']}", {"permissions": list(WRITES)}, expect=200)
    settle()
    known = wait_ended(project, start(project.admin, made))
    project.admin.delete("/secrets/STRIPE", expect=409)
    first, second = known["steps"]
    assert (known["status"], first["status"], first["error"]["code"], second["status"]) == ("succeeded", "failed", "forbidden", "succeeded")
    assert "svc_secrets:read" in first["error"]["message"] and len(sink.requests_to("/lost")) == 1
    assert wait_ended(project, start(project.admin, other))["status"] == "succeeded", "a workflow without secrets still runs"


def test_a_secret_that_is_bound_to_hosts(project, runner, sink):
    made = secret(project, allowed_hosts=["API.example.com", "127.0.0.1"])
    assert made["allowed_hosts"] == ["api.example.com", "127.0.0.1"]
    inside = workflow(project.admin, steps=[uses(f"{sink.url}/bound")])
    outside = workflow(project.admin, steps=[uses("https://example.org/hook", on_failure="check"), condition()])
    assert wait_ended(project, start(project.admin, inside))["status"] == "succeeded"
    found = wait_ended(project, start(project.admin, outside))
    error = found["steps"][0]["error"]
    assert error["code"] == "secret_host" and "STRIPE" in error["message"] and "example.org" in error["message"]
    assert [s["status"] for s in found["steps"]] == ["failed", "succeeded"]
    project.admin.put("/secrets/STRIPE", {"value": "canary-other"}, expect=200)
    assert wait_ended(project, start(project.admin, outside))["steps"][0]["error"]["code"] == "secret_host", "kept"
    freed = project.admin.put("/secrets/STRIPE", {"value": "canary-other", "allowed_hosts": None}, expect=200).json()
    assert freed["allowed_hosts"] is None
    moved = project.admin.put("/secrets/STRIPE", {"value": "canary-other", "allowed_hosts": ["example.org"]}, expect=200).json()
    assert moved["allowed_hosts"] == ["example.org"]
    assert wait_ended(project, start(project.admin, inside))["error"]["code"] == "secret_host" and len(sink.requests_to("/bound")) == 1


def test_a_bound_secret_beside_a_free_one(project, runner, sink):
    secret(project, allowed_hosts=["api.example.com"])
    secret(project, "FREE", "canary-free")
    made = workflow(project.admin, steps=[uses(f"{sink.url}/beside", reference="{{ $svc.secrets.FREE }}", next="more"),
                                          {**uses(f"{sink.url}/beside", reference="{{ $svc.secrets.FREE }}{{ $svc.secrets.STRIPE }}"),
                                           "key": "more"}])
    found = wait_ended(project, start(project.admin, made))
    assert [s["status"] for s in found["steps"]] == ["succeeded", "failed"] and len(sink.requests_to("/beside")) == 1
    assert found["error"]["code"] == "secret_host"
