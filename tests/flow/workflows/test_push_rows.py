"""SendPushNotification over a list: one send for each row, ten at a time. A thread replaces the dispatcher."""
import json
import threading
import time

import pytest
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.runs import wait_ended, step
from groundwork.workflows import start, workflow

ROWS = step("find", "RunScript", {"script": "return $svc.trigger.data.rows"}, next="push")
USER = {"kind": "user", "user_id": "{{ $svc.steps.find.data[0][*].id }}"}


def push(title="Hello {{ $svc.steps.find.data[0][*].name }}", body="x", audience=None, **params):
    return step("push", "SendPushNotification", {"title": title, "body": body, "audience": audience or USER, **params})


class Dispatcher:
    """Ends every send after `takes` seconds with the result that `result` returns for its request, but ends no send before `first` sends wait at the
    same time."""

    def __init__(self, servers, schema, result, takes=0.05, first=1):
        self.connection, self.schema, self.result, self.takes, self.first = servers.connect(), schema, result, takes, first
        self.most, self.seen, self.stopped = 0, {}, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopped.wait(0.01):
            now = time.monotonic()
            found = rows(self.connection, f"select id, request from {self.schema}.push_sends where status = 'Pending' order by id")
            self.most = max(self.most, len(found))
            for number, request in found if self.most >= self.first else ():
                if now - self.seen.setdefault(number, now) >= self.takes:
                    status, result = self.result(request)
                    execute(self.connection, f"update {self.schema}.push_sends set status = %s, result = %s where id = %s",
                            status, json.dumps(result), number)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stopped.set()
        self.thread.join()
        self.connection.close()


def delivered(_request):
    return "Succeeded", {"delivered": 1, "failed": 0, "unregistered": 0}


def run(project, steps, data):
    return wait_ended(project, start(project.admin, workflow(project.admin, steps=steps), data))


def people(count):
    return {"rows": [{"id": n, "name": f"N{n}"} for n in range(1, count + 1)]}


def sends(project, db):
    return rows(db, f"select id, row_index, request from {project.schema(db)}.push_sends order by row_index")


def test_a_step_that_runs_again_finds_its_sends(project, db, servers, start_runner):
    """A runner that is killed between two rows omits no row and sends none twice. This test runs before other tests start a runner."""
    first = start_runner(LEASE_MS=2000)
    made = workflow(project.admin, steps=[ROWS, push()])
    job = start(project.admin, made, people(25))
    until(lambda: sends(project, db), "the first are handed over")
    first.process.kill()
    first.process.wait()
    with Dispatcher(servers, project.schema(db), delivered):
        start_runner()
        found = wait_ended(project, job)
    assert found["status"] == "succeeded", found
    assert [row for _, row, _ in sends(project, db)] == list(range(25))


def test_one_send_a_row_ten_at_a_time(project, db, servers, runner):
    with Dispatcher(servers, project.schema(db), delivered, first=10) as dispatcher:
        job = run(project, [ROWS, push(data={"n": "{{ $svc.steps.find.data[0][*].name }}"})], people(35))
    assert job["status"] == "succeeded", job
    made = sends(project, db)
    assert [(row, request["title"], request["data"]["n"], request["audience"]["user_id"]) for _, row, request in made] == [
        (n, f"Hello N{n + 1}", f"N{n + 1}", n + 1) for n in range(35)]
    assert dispatcher.most == 10
    data = job["steps"][1]["output"]["data"]
    assert (data["delivered"], data["failed"], data["unregistered"], data["delivery_status"]) == (35, 0, 0, "Succeeded")
    assert [one["send_log_id"] for one in data["sends"]] == [number for number, _, _ in made] and data["audience_kind"] == "user"
    assert data["send_log_id"] == made[0][0] and len(job["steps"][1]["input"]["rows"]) == 35


@pytest.mark.parametrize("bad, status, code", [(1, "Partial", None), (3, "Failed", "push_failed")])
def test_some_or_all_fail(project, db, servers, runner, bad, status, code):
    def result(request):
        failed = request["audience"]["user_id"] <= bad
        return ("Failed", {"delivered": 0, "failed": 1, "delivery_error": "gone"}) if failed else delivered(request)
    with Dispatcher(servers, project.schema(db), result):
        job = run(project, [ROWS, push()], people(3))
    if code:
        assert (job["status"], job["error"]["code"]) == ("failed", code)
    else:
        data = job["steps"][1]["output"]["data"]
        assert (data["delivery_status"], data["delivered"], data["failed"], data["delivery_error"]) == (status, 2, 1, "gone")
    assert len(sends(project, db)) == 3


def test_a_single_send_stays_one(project, db, servers, runner):
    with Dispatcher(servers, project.schema(db), delivered):
        job = run(project, [ROWS, push("Hi", audience={"kind": "users", "user_ids": "{{ $svc.steps.find.data[0][*].id }}"})], people(3))
    ((_, row, request),) = sends(project, db)
    assert row == 0 and request["audience"]["user_ids"] == [1, 2, 3]
    data = job["steps"][1]["output"]["data"]
    assert (data["delivery_status"], data["delivered"], data["title"]) == ("Succeeded", 1, "Hi") and "sends" not in data


@pytest.mark.parametrize("data, params, code", [
    ({"rows": [{"id": 1, "name": "a"}, {"id": 2}]}, {}, "template_unresolved"),
    (people(1001), {}, "too_long"),
    ({"rows": {"id": 1}}, {}, "template_unresolved"),
    ({**people(3), "more": [1]}, {"body": "{{ $svc.trigger.data.more[*] }}"}, "template_unresolved"),
])
def test_nothing_is_sent_of_what_is_wrong(project, db, runner, data, params, code):
    job = run(project, [ROWS, push(**params)], data)
    assert (job["status"], job["error"]["code"]) == ("failed", code), job
    assert sends(project, db) == []


def test_numbers_keep_their_digits(project, db, servers, runner):
    """Numbers keep their digits in templates, and therefore in push data. In a script they are JavaScript numbers, as documented."""
    made = workflow(project.admin, steps=[
        step("script", "RunScript", {"script": "return $svc.trigger.data.price"}, next="push"),
        step("push", "SendPushNotification", {
            "title": "x", "body": "{{ $svc.trigger.data.price }}", "audience": {"kind": "user"},
            "data": {"price": "{{ $svc.trigger.data.price }}", "script": "{{ $svc.steps.script.data[0] }}"}})])
    with Dispatcher(servers, project.schema(db), delivered):
        job = project.admin.request("POST", f"/workflows/{made['id']}/trigger", data='{"user_id": 7, "price": 99999999999999.99}',
                                    headers={"Content-Type": "application/json"}, expect=202).json()["job_id"]
        assert wait_ended(project, job)["status"] == "succeeded"
    ((_, _, request),) = sends(project, db)
    assert request["body"] == "99999999999999.99"
    assert request["data"] == {"price": "99999999999999.99", "script": "99999999999999.98"}


def test_texts_are_texts(project, db, servers, runner):
    """The value of an expression is sent as text, regardless of its type."""
    data = {"number": 5, "yes": True, "none": None, "user_id": 7, "list": [1]}
    params = {"title": "{{ $svc.trigger.data.number }}", "body": "{{ $svc.trigger.data.yes }}",
              "data": {name: f"{{{{ $svc.trigger.data.{name} }}}}" for name in ("number", "yes", "none")}, "audience": {"kind": "user"}}
    with Dispatcher(servers, project.schema(db), delivered):
        job = run(project, [step("push", "SendPushNotification", params)], data)
    assert job["status"] == "succeeded", job["error"]
    ((_, _, request),) = sends(project, db)
    assert request == {"title": "5", "body": "true", "data": {"number": "5", "yes": "true", "none": ""},
                       "audience": {"kind": "user", "user_id": 7}}
    for wrong, code in (({**params, "title": "{{ $svc.trigger.data.list }}"}, "type_mismatch"),
                        ({**params, "data": {"a": "{{ $svc.trigger.data.list }}"}}, "type_mismatch"),
                        ({**params, "title": "{{ $svc.trigger.data.none }}"}, "required")):
        assert run(project, [step("push", "SendPushNotification", wrong)], data)["error"]["code"] == code
    nobody = run(project, [step("push", "SendPushNotification", {"title": "a", "body": "b", "audience": {"kind": "user"}})], {})
    assert (nobody["error"]["code"], "user_id" in nobody["error"]["message"]) == ("required", True)
    assert len(sends(project, db)) == 1


def test_no_rows_no_sends(project, db, runner):
    job = run(project, [ROWS, push()], people(0))
    assert job["status"] == "succeeded" and sends(project, db) == []
    assert job["steps"][1]["output"]["data"]["sends"] == []


def test_what_is_left_goes_out_when_the_wait_is_over(project, db, runner):
    job = run(project, [ROWS, {**push(), "timeout_seconds": 3}], people(1000))
    data = job["steps"][1]["output"]["data"]
    assert job["status"] == "succeeded" and data["delivery_status"] == "pending"
    assert (data["delivered"], data["failed"], data["unregistered"]) == (0, 0, 0)
    assert len(sends(project, db)) == 1000
