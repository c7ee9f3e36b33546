"""RunIntegration follows the same rules as CallAnApi."""
import zlib

import pytest
from groundwork.chaos import kill
from groundwork.deadline import until
from groundwork.runs import wait_ended, step
from groundwork.workflows import document, start, workflow
from test_integrations import connect, make, operation, param


@pytest.fixture(scope="module")
def runner(start_runner, calling_gateway, api, other_api):
    return start_runner()


def integration_step(made, name="op", **members):
    return step("call", "RunIntegration", {"integration": made["name"], "operation": name, **members})


def job_of(crm, steps, data=None):
    return wait_ended(crm, start(crm.admin, workflow(crm.admin, steps=steps), data))


@pytest.fixture(scope="module")
def own_integration(crm, api):
    made = make(crm, api.url, auth={"scheme": "bearer"}, operations=[
        operation("POST", params=[param("n", "body", type="integer"), param("pin", "header", secret=True)], response={"map": {"sent": "body", "as": "headers.authorization"}}),
        operation(path="/status/404", name="missing"), operation(path="/large/1100000", name="large")])
    connect(crm, made, {"token": "of-the-project"})
    return made


def test_an_operation_in_a_job(crm, api, runner, own_integration):
    job = job_of(crm, [integration_step(own_integration, params={"n": "{{ $svc.trigger.data.n }}", "pin": "pin-55555"})], {"n": 7})
    assert job["status"] == "succeeded", job
    done, = job["steps"]
    assert done["output"]["data"] == {"sent": '{"n":7}', "as": "Bearer ********"} and done["output"]["status_code"] == 200
    assert done["input"] == {"integration": own_integration["name"], "operation": "op", "params": {"n": 7, "pin": "********"}}
    assert api.requests_to("/echo")[-1].headers["authorization"] == "Bearer of-the-project"
    call = crm.admin.get(f"/integrations/{own_integration['id']}/calls", expect=200).json()["items"][0]
    assert call["actor"]["kind"] == "job" and call["actor"]["job_id"] == job["id"] and call["id"] == done["output"]["call_id"]


def test_history_shows_no_credential_that_a_parameter_carries(crm, api, runner):
    made = make(crm, api.url, auth={"scheme": "bearer"}, operations=[operation(
        "POST", params=[param("api_key", "header", **{"as": "X-Api-Key"}), param("who", "body"), param("c", "body")],
        body={"password": "{{ c }}", "who": "{{ who }}"})])
    connect(crm, made, {"token": "of-the-project"})
    job = job_of(crm, [integration_step(made, params={"api_key": "key-9191", "c": "pass-9292", "who": "Ann of-the-project"})])
    assert job["steps"][0]["input"]["params"] == {"api_key": "********", "c": "********", "who": "Ann ********"}


@pytest.mark.parametrize("name, params, code", [
    ("missing", {}, "http_status"), ("large", {}, "response_too_large"), ("op", {"n": "x"}, "validation_failed"), ("op", {"m": 1}, "validation_failed"),
    ("op", {"pin": "a\nb"}, "validation_failed")])
def test_what_fails_the_step(crm, api, runner, own_integration, name, params, code):
    job = job_of(crm, [integration_step(own_integration, name, params=params)])
    assert (job["status"], job["error"]["code"]) == ("failed", code), job
    if name == "missing":
        assert job["error"]["status_code"] == 404 and job["steps"][0]["error"]["response"] == {"error": "as asked"}


def test_answers_are_decoded(crm, api, runner):
    made = make(crm, api.url, operations=[operation(path="/raw", response={"results_path": "a"})])
    api.raw, api.raw_headers = zlib.compress('{"a": ["é", 18446744073709551616]}'.encode("utf-16")), {"Content-Encoding": "deflate"}
    assert job_of(crm, [integration_step(made)])["steps"][0]["output"]["data"] == ["é", 1 << 64]
    api.raw, api.raw_headers = b"{", {"Content-Encoding": "br"}
    job = job_of(crm, [integration_step(made)])
    api.raw_headers = {}
    assert (job["error"]["code"], job["error"]["status_code"]) == ("unreadable_answer", 200), job


def test_rights_and_connections_of_the_editor(crm, api, runner, own_integration):
    ann = crm.user(permissions=["svc_workflows:create"])
    own = connect(crm, own_integration, {"token": "of-ann-alone"}, client=ann, own=True)
    made = workflow(ann, steps=[integration_step(own_integration)])
    assert wait_ended(crm, start(crm.admin, made))["status"] == "succeeded"
    assert api.requests_to("/echo")[-1].headers["authorization"] == "Bearer of-the-project", "a user's own connection is used without being named"
    ann.put(f"/workflows/{made['id']}", {"steps": [integration_step(own_integration, connection_id=own["id"])]}, expect=200)
    assert wait_ended(crm, start(crm.admin, made))["status"] == "succeeded"
    assert api.requests_to("/echo")[-1].headers["authorization"] == "Bearer of-ann-alone"
    crm.admin.put(f"/workflows/{made['id']}", {"steps": [integration_step(own_integration, connection_id=own["id"], params={})]}, expect=200)
    assert wait_ended(crm, start(crm.admin, made))["error"]["code"] == "not_found"
    lacks = crm.user_with("svc_workflows:create", "svc_workflows:read")
    assert wait_ended(crm, start(crm.admin, workflow(lacks, steps=[integration_step(own_integration)])))["error"]["code"] == "forbidden"


def test_what_is_saved_is_there(crm, own_integration):
    for body, field in (({**own_integration, "name": "nobody"}, "integration"), (own_integration, "operation")):
        refused = crm.admin.post("/workflows", document(steps=[integration_step(body, "op" if field == "integration" else "nothing")]), expect=400).json()
        assert refused["errors"][0]["field"] == f"steps[0] (call).params.{field}", refused
    made = workflow(crm.admin, steps=[integration_step(own_integration)])
    assert crm.admin.delete(f"/integrations/{own_integration['id']}", expect=409).json()["code"] == "in_use"
    crm.admin.delete(f"/workflows/{made['id']}", expect=204)


def test_a_runner_that_dies_sends_nothing_again(crm, api, start_runner, runner):
    """A call that was sent before its runner died is not sent again: the job fails, and the log shows the call as still
    running."""
    runner.stop()
    first = start_runner(LEASE_MS=6000, SWEEP_MS=200)
    made = make(crm, api.url, operations=[operation("POST", "/slow/30", timeout_seconds=25)])
    job = start(crm.admin, workflow(crm.admin, steps=[integration_step(made)]))
    until(lambda: api.requests_to("/slow/30"), "the call is sent")
    kill(first)
    start_runner(SWEEP_MS=200)
    done = wait_ended(crm, job)
    assert (done["status"], done["error"]["code"]) == ("failed", "interrupted"), done
    assert len(api.requests_to("/slow/30")) == 1
    call, = crm.admin.get(f"/integrations/{made['id']}/calls", expect=200).json()["items"]
    assert call["outcome"] == "running" and call["finished_at"] is None
