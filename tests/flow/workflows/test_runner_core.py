"""Jobs from claim to end: steps, branches, failure paths, cancellation, retries, shutdown."""
import json
import time

import pytest
from groundwork.deadline import until
from groundwork.records import execute, rows, table
from groundwork.runs import FALSE, TRUE, TableLock, condition, wait_ended, history, step
from groundwork.soon import settle
from groundwork.workflows import add_jobs, create, job_row, start, workflow

GONE = {"field": "$svc.trigger.data.missing", "op": "eq", "value": 1}

pytestmark = pytest.mark.usefixtures("no_foreign_events")


def script(key, text, **members):
    return step(key, "RunScript", {"script": text}, **members)


def run(project, steps, data=None, **members):
    made = workflow(project.admin, steps=steps, **members)
    return wait_ended(project, start(project.admin, made, data))


def shown(job):
    return [(s["key"], s["status"]) for s in job["steps"]]


def test_one_step(project, db, runner):
    job = run(project, [condition()])
    assert (job["status"], job["attempt"], job["error"]) == ("succeeded", 1, None)
    assert [(s["key"], s["status"], s["output"]) for s in job["steps"]] == [("check", "succeeded", {"data": {"result": True}})]
    assert job["queued_at"] <= job["started_at"] <= job["steps"][0]["started_at"] <= job["steps"][0]["finished_at"]
    assert job_row(project, db, job["id"], "lease_until") is None


@pytest.mark.parametrize("holds", [True, False])
def test_branches(project, runner, holds):
    job = run(project, [condition("a", TRUE if holds else FALSE, then="b", **{"else": "c"}), condition("b"), condition("c", then="d"),
                        condition("d")])
    assert shown(job) == [("a", "succeeded")] + ([("b", "succeeded")] if holds else [("c", "succeeded"), ("d", "succeeded")])


def test_chain_hands_on(project, runner):
    job = run(project, [script("a", "return $svc.trigger.data.n + 1", next="b"),
                        condition("b", {"field": "$svc.steps.a.data[0]", "op": "eq", "value": 42}, then="c"),
                        script("c", "return {seen: $svc.steps.a.data[0], job: $svc.job.id}")], {"n": 41})
    assert job["status"] == "succeeded", job
    assert job["steps"][2]["output"] == {"data": [{"seen": 42, "job": job["id"]}]}


def test_a_disabled_step_is_passed_over(project, runner):
    job = run(project, [condition("a", then="b"), script("b", "throw new Error('never')", enabled=False, next="c"),
                        condition("c", FALSE, enabled=False, then="d"), condition("d")])
    assert (job["status"], shown(job)) == (
        "succeeded", [("a", "succeeded"), ("b", "skipped"), ("c", "skipped"), ("d", "succeeded")])


def test_a_failed_step_fails_the_job(project, runner):
    job = run(project, [condition("a", GONE, then="b"), condition("b")], {})
    assert (job["status"], shown(job)) == ("failed", [("a", "failed")])
    assert job["error"]["step_key"] == "a" and job["error"]["code"] == "template_unresolved"
    assert job["error"]["status_code"] is None and "missing" in job["error"]["message"]
    assert job["steps"][0]["error"]["code"] == "template_unresolved" and job["steps"][0]["output"] is None


def test_a_failure_path_sees_the_error(project, runner):
    job = run(project, [condition("a", GONE, then="b", on_failure="c"), condition("b"),
                        script("c", "return $svc.steps.a.error")], {})
    assert (job["status"], job["error"], shown(job)) == ("succeeded", None, [("a", "failed"), ("c", "succeeded")])
    assert job["steps"][1]["output"]["data"][0]["code"] == "template_unresolved"


def test_a_step_that_takes_too_long(project, runner):
    job = run(project, [script("a", "for (;;);", timeout_seconds=1, on_failure="b"), condition("b")])
    assert (job["status"], shown(job)) == ("succeeded", [("a", "failed"), ("b", "succeeded")])


def test_outputs_are_bounded(project, runner):
    steps = [script(f"s{i}", "return 'x'.repeat(1000000)", next=f"s{i + 1}") for i in range(9)] + [condition("s9")]
    job = run(project, steps)
    assert (job["status"], job["error"]["step_key"], job["error"]["code"]) == ("failed", "s8", "output_too_large"), job["error"]


def test_long_inputs_are_cut_in_the_history(project, runner):
    orders = project.entity("orders", [{"name": "note", "type": "text"}])
    job = run(project, [create(values={"note": "{{ $svc.trigger.data.note }}"})], {"note": "y" * 100000})
    assert job["status"] == "succeeded", job
    assert job["steps"][0]["input"]["truncated"] is True and job["steps"][0]["input"]["bytes"] > 100000
    assert len(job["steps"][0]["output"]["data"][0]["note"]) == 100000 and orders


def test_events_that_make_large_jobs(project, db, runner):
    """Each job contains a copy of its event: the jobs are made in several transactions, once each."""
    flows = [workflow(project.admin, {"kind": "event", "event": "PaymentSucceeded"}, [condition()])["id"] for _ in range(4)]
    schema = project.schema(db)
    execute(db, f"insert into {schema}.outbox (event, payload) select 'PaymentSucceeded', jsonb_build_object('text',"
                " (select string_agg(md5(random()::text || n || i), '') from generate_series(1, 16000) i)) from generate_series(1, 24) n")
    until(lambda: rows(db, f"select count(*) from {schema}.jobs_now where status = 'succeeded'") == [(96,)], "a job each")
    assert rows(db, f"select workflow_id, count(distinct md5(trigger_data ->> 'text')) from {schema}.jobs group by 1 order by 1") == [(flow, 24) for flow in flows]
    ((times,),) = rows(db, f"select count(distinct consumed_at) from {schema}.outbox where pending = 0")
    assert 3 <= times <= 12, "one transaction for each part"


def test_large_events_that_a_filter_asks_for(project, db, runner):
    """The filter reads the data of large events: one transaction takes only a few of them."""
    made = workflow(project.admin, {"kind": "event", "event": "PaymentSucceeded", "filter": {"field": "n", "op": "gt", "value": 4}}, [condition()])
    schema = project.schema(db)
    execute(db, f"insert into {schema}.outbox (event, payload) select 'PaymentSucceeded', jsonb_build_object('n', n, 'text',"
                " repeat('x', case when n = 10 then 3000000 else 400000 end)) from generate_series(1, 16) n")
    until(lambda: rows(db, f"select count(*) from {schema}.jobs_now where status = 'succeeded'") == [(12,)], "a job each")
    until(lambda: rows(db, f"select count(*) from {schema}.outbox where pending <> 0") == [(0,)], "all are taken")
    assert rows(db, f"select distinct workflow_id from {schema}.jobs") == [(made["id"],)]
    ((times,),) = rows(db, f"select count(distinct consumed_at) from {schema}.outbox")
    assert times >= 8, "two events in a transaction, and the largest alone"


def test_many_jobs_in_any_order(project, db, runner):
    made = workflow(project.admin, steps=[condition("a", then="b"), condition("b", {"field": "$svc.trigger.data.n", "op": "gt", "value": 5})])
    schema = project.schema(db)
    add_jobs(project, db, made, 1000, trigger_data="jsonb_build_object('n', n %% 10)")
    until(lambda: not rows(db, f"select 1 from {schema}.jobs_now where status <> 'succeeded' limit 1"), "all succeeded", 10)
    counted = rows(db, f"select count(*), count(distinct job_id), count(*) filter (where output = '{{\"data\": {{\"result\": true}}}}'"
                       f" and key = 'b') from {schema}.job_steps")
    assert counted == [(2000, 1000, 400)]
    assert rows(db, f"select distinct attempt, token from {schema}.jobs_now") == [(1, 1)]


def test_a_version_that_is_gone_or_broken(project, db, runner):
    made = workflow(project.admin, steps=[condition()])
    schema = project.schema(db)
    (gone,) = add_jobs(project, db, made, version="99")
    assert wait_ended(project, gone)["error"]["code"] == "workflow_gone"
    # A loop of steps, which no request could have saved.
    loop = {"name": "loop", "trigger": {"kind": "manual"}, "start_step": "a",
            "steps": [condition("a", then="b"), condition("b", then="a")]}
    execute(db, f"insert into {schema}.workflow_versions (workflow_id, version, doc, editor_id) values (%s, 98, %s, 1)", made["id"], json.dumps(loop))
    (broken,) = add_jobs(project, db, made, version="98")
    job = wait_ended(project, broken)
    assert job["error"]["code"] == "workflow_invalid" and job["steps"] == []


def test_an_editor_that_is_gone(project, db, runner):
    editor = project.user(permissions=["svc_workflows:create", "svc_workflows:read"])
    made = workflow(editor, steps=[condition("a", on_failure="b"), condition("b")])
    assert wait_ended(project, start(project.admin, made))["status"] == "succeeded"
    project.admin.put(f"/users/{editor.user['id']}", {"status": "suspended"}, expect=200)
    settle()
    job = wait_ended(project, start(project.admin, made))
    assert (job["status"], job["error"]["code"], shown(job)) == ("failed", "editor_gone", [("a", "failed")])


def test_cancel_while_a_step_waits(project, db, servers, runner):
    orders = project.entity("orders", [{"name": "name", "type": "varchar"}])
    made = workflow(project.admin, steps=[condition("a", then="save"), create(next="c"), condition("c")])
    with TableLock(servers, table(project, db, orders)) as held:
        job = start(project.admin, made)
        until(lambda: held.is_awaited(db), "the step waits")
        project.admin.post(f"/workflows/jobs/{job}/cancel", expect=200)
        assert job_row(project, db, job, "status") == "cancelled"
    assert wait_ended(project, job)["status"] == "cancelled"
    other = wait_ended(project, start(project.admin, made))
    assert other["status"] == "succeeded"
    time.sleep(0.5)
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(1,)]
    assert job_row(project, db, job, "status", "attempt") == ("cancelled", 1)


def test_retry_goes_on_with_what_succeeded(project, db, runner):
    orders = project.entity("orders", [{"name": "name", "type": "varchar"}])
    made = workflow(project.admin, steps=[
        create("first", values={"name": "one"}, next="check"),
        condition("check", {"field": "$svc.steps.first.data[0].name", "op": "eq", "value": "one"}, then="second"),
        create("second", values={"name": "{{ $svc.trigger.data.name }}"})])
    job = wait_ended(project, start(project.admin, made, {}))
    assert (job["status"], job["error"]["step_key"]) == ("failed", "second")
    project.admin.post(f"/workflows/jobs/{job['id']}/retry", expect=202)
    again = wait_ended(project, job["id"])
    assert (again["status"], again["run"], again["attempt"]) == ("failed", 2, 1)
    assert history(project, db, job["id"]) == [
        (1, 1, "first", "succeeded"), (2, 1, "check", "succeeded"), (3, 1, "second", "failed"), (4, 2, "second", "failed")]
    project.admin.post(f"/workflows/jobs/{job['id']}/retry", {"from_step": "check"}, expect=202)
    assert wait_ended(project, job["id"])["run"] == 3
    assert history(project, db, job["id"])[4:] == [(5, 3, "check", "succeeded"), (6, 3, "second", "failed")]
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(1,)]


def run_again(project, db, job, data, step):
    """Runs the job again with other data, from this step on. Returns the ended job."""
    execute(db, f"update {project.schema(db)}.jobs set trigger_data = %s where id = %s", json.dumps(data), job["id"])
    project.admin.post(f"/workflows/jobs/{job['id']}/retry", {"from_step": step}, expect=202)
    return wait_ended(project, job["id"])


def test_a_retry_sees_the_failures_before_it(project, db, runner):
    """A failure path that failed itself is run again with the error that led to this path."""
    job = run(project, [condition("a", GONE, on_failure="b"),
                        script("b", "return [$svc.steps.a.error.code, $svc.trigger.data.text.length]")], {})
    assert (job["status"], shown(job)) == ("failed", [("a", "failed"), ("b", "failed")])
    again = run_again(project, db, job, {"text": "four"}, "b")
    assert (again["status"], again["error"]) == ("succeeded", None)
    assert again["steps"][-1]["output"] == {"data": [["template_unresolved", 4]]}


def test_a_retry_does_not_see_what_came_after_it(project, db, runner):
    steps = [condition("a", {"field": "$svc.trigger.data.n", "op": "eq", "value": 1}, then="b", **{"else": "c"}),
             script("b", "return 1", next="c"),
             script("c", "if ($svc.trigger.data.n === 1) throw new Error('once'); return Object.keys($svc.steps)")]
    job = run(project, steps, {"n": 1})
    assert (job["status"], shown(job)) == ("failed", [("a", "succeeded"), ("b", "succeeded"), ("c", "failed")])
    again = run_again(project, db, job, {"n": 2}, "a")
    assert (again["status"], again["steps"][-1]["output"]) == ("succeeded", {"data": [["a"]]}), again["error"]
    third = project.admin.post(f"/workflows/jobs/{job['id']}/retry", expect=409).json()
    assert third["code"] == "conflict"


def add_begun(cursor, schema, made):
    """Inserts a job that a runner has released after its first claim. Returns its id."""
    cursor.execute(f"with made as (insert into {schema}.jobs (workflow_id, version, trigger_kind) values (%s, 1, 'manual') returning id)"
                   f" insert into {schema}.job_leases (job_id, attempt, token, started_at)"
                   " select id, 1, 1, now() - interval '1 minute' from made returning job_id", (made["id"],))
    return cursor.fetchone()[0]


@pytest.mark.parametrize("status", ["sent", "succeeded"])
def test_a_job_found_in_the_middle(project, db, runner, status):
    """K9, K10: a call that was sent is never sent again, and a step that succeeded is not repeated."""
    made = workflow(project.admin, steps=[condition("a", then="call"), {
        "key": "call", "action": "CallAnApi", "params": {"url": "http://127.0.0.1:1/", "method": "POST"}, "next": "c", "on_failure": "d"},
        script("c", "return $svc.steps.call.data"), script("d", "return $svc.steps.call.error.code")])
    schema = project.schema(db)
    with db.cursor() as cursor:
        cursor.execute("begin")
        job = add_begun(cursor, schema, made)
        for seq, key, state, output in ((1, "a", "succeeded", '{"data": {"result": true}}'),
                                        (2, "call", status, '{"data": "kept"}' if status == "succeeded" else None)):
            cursor.execute(f"insert into {schema}.job_steps (job_id, seq, run, key, action, status, started_at, input, output) values"
                           " (%s, %s, 1, %s, 'CallAnApi', %s, now(), '{\"url\": \"x\"}', %s)", (job, seq, key, state, output))
        cursor.execute("commit")
    found = wait_ended(project, job)
    assert (found["status"], found["attempt"]) == ("succeeded", 2)
    if status == "sent":
        assert shown(found) == [("a", "succeeded"), ("call", "interrupted"), ("d", "succeeded")]
        assert found["steps"][1]["error"]["code"] == "interrupted" and found["steps"][1]["input"] == {"url": "x"}
        assert found["steps"][2]["output"] == {"data": ["interrupted"]}
    else:
        assert shown(found) == [("a", "succeeded"), ("call", "succeeded"), ("c", "succeeded")]
        assert found["steps"][2]["output"] == {"data": ["kept"]}


def test_a_job_whose_runner_stopped_after_a_send_fails_without_a_path(project, db, runner):
    made = workflow(project.admin, steps=[{"key": "call", "action": "CallAnApi", "params": {"url": "http://127.0.0.1:1/", "method": "POST"}}])
    schema = project.schema(db)
    with db.cursor() as cursor:
        cursor.execute("begin")
        job = add_begun(cursor, schema, made)
        cursor.execute(f"insert into {schema}.job_steps (job_id, seq, run, key, action, status, started_at) values"
                       " (%s, 1, 1, 'call', 'CallAnApi', 'sent', now())", (job,))
        cursor.execute("commit")
    found = wait_ended(project, job)
    assert (found["status"], found["error"]["code"], found["error"]["step_key"]) == ("failed", "interrupted", "call")


def test_a_call_that_is_refused(project, runner, sink):
    steps = [{"key": "call", "action": "CallAnApi", "params": {"url": sink.url + "/status/418", "method": "POST", "body": {"n": 1}}}]
    job = run(project, steps)
    assert (job["status"], job["error"]["code"], job["error"]["status_code"]) == ("failed", "http_status", 418)
    assert job["steps"][0]["error"]["response"] == {"error": "as asked"}


def test_secrets_do_not_reach_history_or_later_steps(project, db, runner, sink):
    """A15: a secret is not in the stored answer, not in another encoding, and not in an error."""
    canary = "c4nary-s3cret-value/+="
    project.admin.post("/secrets", {"name": "K", "value": canary}, expect=201)
    steps = [{"key": "call", "action": "CallAnApi", "params": {
                 "url": sink.url + "/echo", "method": "POST", "headers": {"X-Key": "{{ $svc.secrets.K }}"}, "body": {"k": "v {{ $svc.secrets.K }}"}}, "next": "s"},
             script("s", "console.log(JSON.stringify($svc)); return $svc.steps.call.data")]
    job = run(project, steps)
    assert job["status"] == "succeeded", job["error"]
    (request,) = [r for r in sink.requests_to("/echo") if canary.encode() in r.body]
    assert request.headers["X-Key"] == canary
    assert canary not in json.dumps(job) and "********" in job["steps"][0]["output"]["data"]["body"]["k"]
    assert job["steps"][0]["input"]["headers"] == {"X-Key": "********"}
    stored = rows(db, f"select s::text from {project.schema(db)}.job_steps s where job_id = %s", job["id"])
    assert canary not in str(stored) and canary not in runner.log()
