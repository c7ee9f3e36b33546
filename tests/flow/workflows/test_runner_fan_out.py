"""Limits of the jobs that one event, one workflow and one project may queue, and the removal of queued jobs."""
import pytest
from groundwork.deadline import allowed, at_most, until
from groundwork.project import Project
from groundwork.records import execute, rows
from groundwork.runs import condition, wait_ended, step
from groundwork.workflows import add_jobs, api_trigger, call, cancel_jobs, event, jobs_of, set_job, start, timed_trigger, workflow

BULK = step("more", "BulkCreateData", {"entity": "orders", "items": [{"name": "x"} for _ in range(20)]})


def counts(project, db):
    return dict(rows(db, f"select coalesce(reason, status), count(*) from {project.schema(db)}.jobs_now group by 1"))


def quiet(project, db):
    schema = project.schema(db)
    return not rows(db, f"select 1 from {schema}.jobs_now where status in ('queued', 'running') limit 1") and not rows(
        db, f"select 1 from {schema}.outbox where pending & 1 <> 0 limit 1")


def audited(project):
    page = project.admin.get("/audit-log", params={"limit": 100}, expect=200).json()
    return [item for item in page["items"] if item["action"] == "workflows.fan_out_guard"]


@pytest.mark.parametrize("root", ["event", "job"])
def test_one_event_makes_no_more_than_its_budget(project, db, start_test_runner, orders, root):
    """A workflow creates twenty records of the entity that it listens to: 20 ** 8 jobs without a budget."""
    made = workflow(project.admin, event("orders"), [BULK])
    runner = start_test_runner(FAN_OUT_JOBS=50)
    if root == "event":
        project.item("orders", name="first")
    else:
        start(project.admin, made)
    until(lambda: counts(project, db).get("succeeded", 0) > 50 and quiet(project, db), "the chain ends")
    found = counts(project, db)
    assert found["succeeded"] == 51 and "loop_guard" not in found, "the job of the root, and the jobs that the budget allows"
    assert 0 < found["fan_out_guard"] < 51, "one row reports several jobs that were left out"
    entries = audited(project)
    assert entries and entries[0]["actor_kind"] == "system" and entries[0]["target_id"] == str(made["id"])
    left_out = sum(entry["detail"]["jobs"] for entry in entries)
    records = rows(db, f"select count(*) from {project.schema(db)}.outbox")[0][0]
    assert left_out + 51 >= records - 1
    until(lambda: f"groundwork_jobs_guarded_total {left_out}" in runner.metrics(), "each worker reports its metrics a moment later")
    skipped = project.admin.get("/workflows/jobs", params={"status": "skipped"}, expect=200).json()["items"][0]
    assert skipped["reason"] == "fan_out_guard"
    # A second event has its own budget.
    project.item("orders", name="second")
    until(lambda: counts(project, db)["succeeded"] > 100 and quiet(project, db), "the next chain ends")
    assert counts(project, db)["succeeded"] == (102 if root == "event" else 102)


def test_one_event_makes_no_more_records_than_its_budget(project, db, start_test_runner, orders):
    workflow(project.admin, event("orders"), [BULK])
    start_test_runner(FAN_OUT_RECORDS=100, FAN_OUT_JOBS=1000)
    project.item("orders", name="first")
    until(lambda: counts(project, db).get("failed", 0) > 0 and quiet(project, db), "the chain ends", 12)
    schema = project.schema(db)
    # The record of the event, the twenty records of its job, and the records that the budget allows to all following jobs.
    assert rows(db, f"select count(*) from {schema}.e_{orders['id']}") == [(1 + 20 + 100,)]
    assert rows(db, f"select distinct error ->> 'code' from {schema}.jobs_now where status = 'failed'") == [("fan_out_guard",)]
    project.item("orders", name="second")
    until(lambda: rows(db, f"select count(*) from {schema}.e_{orders['id']}") == [(242,)], "a second event has its own budget")



def test_a_full_queue_takes_no_more(project, db, sink, start_gateway, start_test_runner, orders):
    """A start by hand or over a route is refused. Jobs that events would add are skipped."""
    own = start_gateway(QUEUED_JOBS=100)
    path = own.url + f"/org/{project.id}"
    made = workflow(project.admin, steps=[call(url=sink.url + "/hang?full", timeout_seconds=120)])
    route, listener = workflow(project.admin, api_trigger("in"), [condition()]), workflow(project.admin, event("orders"), [condition()])
    add_jobs(project, db, made, 100)
    head = {"Authorization": f"Bearer {project.admin.token}"}

    def send(target):
        return project.admin.session.post(path + target, json={}, headers=head)

    for target in (f"/workflows/{made['id']}/trigger", "/workflows/api/in"):
        refused = send(target)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited") and refused.headers["Retry-After"]
    assert send("/workflows/api/nowhere").status_code == 404
    assert len(jobs_of(project, db, made)) == 100 and not jobs_of(project, db, route)
    cancel_jobs(project, db, "job_id between 2 and 99")
    assert send(f"/workflows/{made['id']}/trigger").status_code == 202, "few jobs, although their ids are far apart"
    for job, _ in jobs_of(project, db, made):
        set_job(project, db, job, status="queued")
    start_test_runner(QUEUED_JOBS=100, JOB_SLOTS=1, JOB_SLOTS_PER_PROJECT=1)
    until(lambda: sink.requests_to("/hang?full"), "the only slot is taken")
    for _ in range(3):
        project.item("orders", name="x")
    until(lambda: audited(project), "the skipped jobs are in the audit log")
    assert {status for _, status in jobs_of(project, db, listener)} == {"skipped"}
    assert counts(project, db)["fan_out_guard"] >= 1
    assert audited(project)[0]["detail"]["queue_full"] is True
    skipped = next(number for number, status in jobs_of(project, db, listener) if status == "skipped")
    refused = send(f"/workflows/jobs/{skipped}/retry")
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited") and refused.headers["Retry-After"]
    tick = workflow(project.admin, timed_trigger("0 0 1 1 *"), [condition()])
    execute(db, f"update {project.schema(db)}.workflows set next_fire_at = now() where id = %s", tick["id"])
    execute(db, "update platform.workflow_projects set next_fire_at = now() where number ="
                " (select number from platform.projects where slug = %s)", project.id)
    until(lambda: jobs_of(project, db, tick), "the tick has a skipped job")
    assert [status for _, status in jobs_of(project, db, tick)] == ["skipped"]


@pytest.mark.timed
def test_deleting_a_workflow_with_a_long_queue_answers_at_once(project, db, start_test_runner):
    made = workflow(project.admin, steps=[condition()])
    add_jobs(project, db, made, 20000)
    with at_most(10, "the deletion"):
        project.admin.delete(f"/workflows/{made['id']}", expect=204)
    project.admin.get(f"/workflows/{made['id']}", expect=404)
    assert 0 < counts(project, db)["queued"] < 20000
    start_test_runner()
    until(lambda: "queued" not in counts(project, db) and quiet(project, db), "the rest", 12)
    found = counts(project, db)
    assert found["cancelled"] > 10000 and found.get("succeeded", 0) == 0, found  # a busy runner claims more of the jobs before they are cancelled
    until(lambda: not rows(db, f"select 1 from {project.schema(db)}.workflow_stops"), "the mark is gone")


@pytest.mark.timed
def test_queued_jobs_of_a_disabled_workflow_do_not_start(project, db, start_test_runner):
    made, other = workflow(project.admin, steps=[condition()]), workflow(project.admin, steps=[condition()])
    add_jobs(project, db, made, 5000)
    begun = rows(db, f"update {project.schema(db)}.job_leases set started_at = now() - interval '1 minute', attempt = 1"
                     f" where job_id = (select max(id) from {project.schema(db)}.jobs) returning job_id")[0][0]
    with at_most(10, "the change"):
        project.admin.put(f"/workflows/{made['id']}", {"enabled": False}, expect=200)
    assert counts(project, db)["queued"] > 0
    rest = start(project.admin, other)
    start_test_runner()
    assert wait_ended(project, rest)["status"] == "succeeded"
    until(lambda: quiet(project, db), "the rest", 12)
    assert counts(project, db) == {"workflow_disabled": 4999, "succeeded": 2}, "the job that had begun continues"
    assert wait_ended(project, begun)["status"] == "succeeded"
    # The workflow starts again once it is enabled, and skipped jobs can be run again.
    project.admin.put(f"/workflows/{made['id']}", {"enabled": True}, expect=200)
    assert wait_ended(project, start(project.admin, made))["status"] == "succeeded"
    job = rows(db, f"select min(id) from {project.schema(db)}.jobs_now where reason = 'workflow_disabled'")[0][0]
    project.admin.post(f"/workflows/jobs/{job}/retry", expect=202)
    assert wait_ended(project, job)["status"] == "succeeded"


def test_a_job_that_was_queued_while_its_workflow_was_disabled(project, db, start_test_runner):
    """A job that a trigger commits after the change does not start either."""
    made = workflow(project.admin, steps=[condition()])
    project.admin.put(f"/workflows/{made['id']}", {"enabled": False}, expect=200)
    add_jobs(project, db, made, 1)
    start_test_runner()
    until(lambda: counts(project, db) == {"workflow_disabled": 1}, "it is skipped")


@pytest.fixture
def other(gateway, operator, recorder):
    return Project(gateway, operator, recorder)


@pytest.mark.full
@pytest.mark.timed
def test_a_hundred_thousand_jobs_of_one_project(project, other, db, start_test_runner):
    """The first step of another project's job does not start later because of these jobs."""
    made, quick = workflow(project.admin, steps=[condition()]), workflow(other.admin, steps=[condition()])
    start_test_runner()
    assert wait_ended(other, start(other.admin, quick))["status"] == "succeeded"
    add_jobs(project, db, made, 100000)
    until(lambda: rows(db, f"select 1 from {project.schema(db)}.jobs_now where status = 'succeeded' limit 1"), "they run")
    took = []
    for _ in range(10):
        job = wait_ended(other, start(other.admin, quick))
        took += rows(db, f"select extract(epoch from s.started_at - j.queued_at) from {other.schema(db)}.jobs_now j join"
                         f" {other.schema(db)}.job_steps s on s.job_id = j.id where j.id = %s", job["id"])[0]
    assert rows(db, f"select 1 from {project.schema(db)}.jobs_now where status = 'queued' limit 1"), "they still wait"
    assert sorted(took)[5] < allowed(1), took
