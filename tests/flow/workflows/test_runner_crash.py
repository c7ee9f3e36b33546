"""Runners that are killed, suspended or shut down, at every point of a job (K6-K8, K11, K12, K19, K20, D5). Each test has its own runners."""
import os
import signal
import time

import pytest
from groundwork.chaos import kill
from groundwork.deadline import at_most, until
from groundwork.project import Project
from groundwork.records import column, execute, rows, table
from groundwork.runs import TableLock, condition, wait_ended, history, step
from groundwork.workflows import add_jobs, call, create, job_row, start, workflow

pytestmark = pytest.mark.usefixtures("no_foreign_events")
RUNNER = {"SWEEP_MS": 200}
SHORT = {"LEASE_MS": 2000}  # for a runner that is to be killed: the shortest lease


def test_shutdown_gives_jobs_back(project, db, sink, start_test_runner, orders):
    """K20: a runner that shuts down leaves no lease, and the next runner continues the job without a lost attempt."""
    made = workflow(project.admin, steps=[call(url=sink.url + "/hang?k20", timeout_seconds=120, next="save"), create(next="c"), condition("c")])
    first = start_test_runner(DRAIN_TIMEOUT_MS=60000)
    workers = len(first.workers())
    job = start(project.admin, made)
    until(lambda: sink.requests_to("/hang?k20"), "the request arrives")
    first.signal(signal.SIGTERM)
    until(lambda: first.log().count('"worker.draining"') == workers, "the runner shuts down")
    time.sleep(1)  # the runner leaves Redis before it stops its jobs
    sink.release.set()
    assert first.process.wait() == 0
    sink.release.clear()
    assert job_row(project, db, job, "status", "attempt", "runner", "lease_until") == ("queued", 0, None, None)
    assert history(project, db, job) == [(1, 1, "call", "succeeded")]
    start_test_runner()
    assert wait_ended(project, job)["attempt"] == 1
    assert history(project, db, job) == [(1, 1, "call", "succeeded"), (2, 1, "save", "succeeded"), (3, 1, "c", "succeeded")]
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(1,)] and len(sink.requests_to("/hang?k20")) == 1


def test_killed_between_claim_and_first_step(project, db, servers, start_test_runner, orders):
    """K6: a runner is killed when it has claimed a job and run no step: another runner runs the job."""
    made = workflow(project.admin, steps=[create()])
    first = start_test_runner(**SHORT)
    with TableLock(servers, f"{project.schema(db)}.users") as held:  # blocks the reading of the editor's rights
        job = start_by_row(project, db, made)
        until(lambda: held.is_awaited(db), "the claimed job waits")
        assert job_row(project, db, job, "status", "attempt") == ("running", 1)
        kill(first)
    start_test_runner()
    found = wait_ended(project, job)
    assert (found["status"], found["attempt"]) == ("succeeded", 2)
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(1,)]


def crash_worker(db, name, *projects):
    """Kills the process of the runner with this name and ends its leases in these projects, so that no test has to wait for their end."""
    os.kill(int(name.split(":")[-2]), signal.SIGKILL)
    for project in projects:
        execute(db, f"update {project.schema(db)}.job_leases set lease_until = now() where runner = %s", name)


def start_by_row(project, db, made):
    """Queues a job without the gateway, which may need a table that the test has locked. Returns its id."""
    return add_jobs(project, db, made)[0]


def test_killed_inside_a_create(project, db, servers, start_test_runner, orders, order_workflow):
    """K7: a runner is killed when the record is inserted and its event waits: there is one record and one event."""
    made = workflow(project.admin, steps=[create()])
    first = start_test_runner(**SHORT)
    with TableLock(servers, f"{project.schema(db)}.outbox", mode="share") as held:
        job = start_by_row(project, db, made)
        until(lambda: rows(db, "select 1 from pg_stat_activity where query ilike '%%insert into %%outbox%%' and wait_event_type = 'Lock'"
                               " and %s = any (pg_blocking_pids(pid))", held.pid), "the event waits")
        kill(first)
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(0,)]
    start_test_runner()
    assert wait_ended(project, job)["attempt"] == 2
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(1,)]
    assert rows(db, f"select count(*) from {project.schema(db)}.outbox") == [(1,)]


def test_killed_after_a_create(project, db, servers, start_test_runner, orders):
    """K8: a committed step is not repeated, and the next step runs."""
    others = project.entity("others", [{"name": "name", "type": "varchar"}])
    made = workflow(project.admin, steps=[condition("a", then="save"), create(next="more"),
                                          create("more", "others", {"name": "order {{ $svc.steps.save.data[0].id }}"})])
    first = start_test_runner(**SHORT)
    with TableLock(servers, table(project, db, others)) as held:
        job = start_by_row(project, db, made)
        until(lambda: held.is_awaited(db), "the second create waits")
        kill(first)
    start_test_runner()
    found = wait_ended(project, job)
    assert (found["status"], found["attempt"]) == ("succeeded", 2)
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(1,)]
    saved = rows(db, f"select id from {table(project, db, orders)}")[0][0]
    assert found["steps"][2]["output"]["data"][0]["name"] == f"order {saved}"
    assert history(project, db, job) == [(1, 1, "a", "succeeded"), (2, 1, "save", "succeeded"), (3, 1, "more", "succeeded")]


@pytest.mark.parametrize("where", ["before", "inside"])
def test_stopped_for_longer_than_its_lease(project, db, servers, start_test_runner, orders, where):
    """K11: another runner completes the job. The first runner writes nothing when it continues."""
    made = workflow(project.admin, steps=[create(next="c"), condition("c")])
    held_table = f"{project.schema(db)}.users" if where == "before" else table(project, db, orders)
    first = start_test_runner(**SHORT)
    held = TableLock(servers, held_table)
    job = start_by_row(project, db, made)
    until(lambda: held.is_awaited(db), "the job waits")
    worker = first.workers()[0]
    os.kill(worker, signal.SIGSTOP)
    held.release()
    start_test_runner()
    found = wait_ended(project, job, within=10)
    before = (job_row(project, db, job, "status", "attempt", "token", "finished_at"), history(project, db, job))
    assert (found["status"], found["attempt"]) == ("succeeded", 2)
    os.kill(worker, signal.SIGCONT)
    time.sleep(2)
    assert (job_row(project, db, job, "status", "attempt", "token", "finished_at"), history(project, db, job)) == before
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(1,)]
    assert first.is_running() and worker in first.workers()
    assert wait_ended(project, start(project.admin, made))["status"] == "succeeded"


def test_killed_in_the_middle_of_a_bulk_create(project, db, servers, start_test_runner, orders, order_workflow):
    """K12: all records are created, or none."""
    made = workflow(project.admin, steps=[step("bulk", "BulkCreateData", {"entity": "orders", "items": [{"name": f"n{i}"} for i in range(1000)]})])
    first = start_test_runner(**SHORT)
    with TableLock(servers, f"{project.schema(db)}.outbox", mode="share") as held:
        job = start_by_row(project, db, made)
        until(lambda: rows(db, "select 1 from pg_stat_activity where query ilike '%%insert into %%outbox%%' and wait_event_type = 'Lock'"
                               " and %s = any (pg_blocking_pids(pid))", held.pid), "the events wait")
        kill(first)
    assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(0,)]
    start_test_runner()
    found = wait_ended(project, job, within=10)
    assert (found["status"], found["attempt"]) == ("succeeded", 2), found["error"]
    name = column(orders, "name")
    assert rows(db, f"select count(*), count(distinct {name}) from {table(project, db, orders)}") == [(1000, 1000)]
    assert len(found["steps"][0]["output"]["data"]) == 1000 and found["steps"][0]["output"]["created"] == 1000


def test_a_job_that_takes_its_runners_down(project, db, servers, start_test_runner, orders):
    """K19: a job is quarantined after several runners were killed while they ran it. Other jobs run."""
    made = workflow(project.admin, steps=[create()])
    with TableLock(servers, table(project, db, orders)) as held:
        job = start_by_row(project, db, made)
        for _ in range(2):
            runner = start_test_runner(JOB_ATTEMPTS=2, **SHORT)
            until(lambda: held.is_awaited(db), "the step waits")
            kill(runner)
            until(lambda: not held.is_awaited(db), "the server notices")
    start_test_runner(JOB_ATTEMPTS=2)
    found = wait_ended(project, job)
    assert (found["status"], found["error"]["code"], found["attempt"]) == ("failed", "quarantined", 2)
    assert wait_ended(project, start(project.admin, made))["status"] == "succeeded"


def test_what_a_quarantined_job_had_sent(project, db, sink, start_test_runner):
    """K19: a call that a quarantined job had sent is interrupted. A retry of the job sends it again."""
    made = workflow(project.admin, steps=[condition("a", then="call"), call(url=sink.url + "/hang?poison")])
    first = start_test_runner(JOB_ATTEMPTS=1, **SHORT)
    job = start(project.admin, made)
    until(lambda: sink.requests_to("/hang?poison"), "the request arrives")
    kill(first)
    start_test_runner(JOB_ATTEMPTS=1)
    found = wait_ended(project, job)
    assert set(found["error"]) == {"step_key", "code", "status_code", "message"} and found["error"]["code"] == "quarantined"
    assert [(s["key"], s["status"]) for s in found["steps"]] == [("a", "succeeded"), ("call", "interrupted")]
    assert found["steps"][1]["finished_at"] and found["steps"][1]["error"]["code"] == "interrupted"
    assert len(sink.requests_to("/hang?poison")) == 1
    project.admin.post(f"/workflows/jobs/{job}/retry", expect=202)
    until(lambda: len(sink.requests_to("/hang?poison")) == 2, "it is sent again")
    project.admin.post(f"/workflows/jobs/{job}/cancel", expect=200)
    assert history(project, db, job) == [(1, 1, "a", "succeeded"), (2, 1, "call", "interrupted"), (3, 2, "call", "interrupted")]


def test_a_long_step_keeps_its_lease(project, db, start_test_runner):
    """The heartbeat renews the lease of a step that takes longer than the lease."""
    made = workflow(project.admin, steps=[step("s", "RunScript", {"script": "const end = Date.now() + 8000; while (Date.now() < end); return 1"}, timeout_seconds=60)])
    for _ in range(2):
        start_test_runner(LEASE_MS=4000, SCRIPT_TIME_MS=60000)
    found = wait_ended(project, start(project.admin, made))
    assert (found["status"], found["attempt"]) == ("succeeded", 1), found


def test_postgres_restarts_under_jobs(project, db, servers, start_test_runner, orders):
    """D5: PostgreSQL restarts while jobs run: all jobs succeed, and every step is done once."""
    made = workflow(project.admin, steps=[condition("a", then="save"), create(next="b"), condition("b")])
    schema, where = project.schema(db), table(project, db, orders)
    add_jobs(project, db, made, 600)
    start_test_runner(**SHORT)
    until(lambda: rows(db, f"select 1 from {schema}.jobs_now where status = 'succeeded' limit 1"), "they run")
    servers.postgres("restart")
    again = servers.connect()
    until(lambda: not rows(again, f"select 1 from {schema}.jobs_now where status not in ('succeeded', 'failed') limit 1"), "all ended", 20)
    assert rows(again, f"select status, error ->> 'code', count(*) from {schema}.jobs_now group by 1, 2") == [("succeeded", None, 600)]
    assert rows(again, f"select count(*) from {where}") == [(600,)]
    assert rows(again, f"select count(*), count(distinct (job_id, key)) from {schema}.job_steps") == [(1800, 1800)]
    again.close()
    # The next test's project needs the gateway, which may still be connecting.
    until(lambda: project.admin.put("/", {"name": "Back"}).status_code == 200, "the gateway writes again")


def test_killed_while_the_sink_holds_the_answer(project, db, sink, start_test_runner):
    """K10: a call that was sent is found interrupted and is never sent again."""
    made = workflow(project.admin, steps=[condition("a", then="call"), call(url=sink.url + "/hang?k10", next="c", on_failure="d"), condition("c"), condition("d")])
    first = start_test_runner(**SHORT)
    job = start(project.admin, made)
    until(lambda: sink.requests_to("/hang?k10"), "the request arrives")
    assert history(project, db, job) == [(1, 1, "a", "succeeded"), (2, 1, "call", "sent")]
    assert project.admin.get(f"/workflows/jobs/{job}", expect=200).json()["steps"][-1]["finished_at"] is None
    kill(first)
    start_test_runner()
    found = wait_ended(project, job)
    assert [(s["key"], s["status"]) for s in found["steps"]] == [("a", "succeeded"), ("call", "interrupted"), ("d", "succeeded")]
    assert (found["status"], found["attempt"], len(sink.requests_to("/hang?k10"))) == ("succeeded", 2, 1)


@pytest.mark.timed
def test_cancelled_while_the_sink_holds_the_answer(project, db, sink, start_test_runner):
    """The notification about the cancellation ends the wait at once, and the runner is free for other jobs."""
    made = workflow(project.admin, steps=[call(url=sink.url + "/hang?cancel", next="c", timeout_seconds=60), condition("c")])
    runner = start_test_runner(JOB_SLOTS=1, JOB_SLOTS_PER_PROJECT=1)
    job = start(project.admin, made)
    until(lambda: sink.requests_to("/hang?cancel"), "the request arrives")
    project.admin.post(f"/workflows/jobs/{job}/cancel", expect=200)
    other = workflow(project.admin, steps=[condition()])
    with at_most(5, "a job after a cancelled one"):
        assert wait_ended(project, start(project.admin, other))["status"] == "succeeded"
    assert wait_ended(project, job)["status"] == "cancelled"
    assert history(project, db, job) == [(1, 1, "call", "interrupted")]
    until(lambda: "groundwork_jobs_lost_total 1" in runner.metrics(), "each worker reports its metrics a moment later")


def test_a_job_that_takes_its_runner_down_does_it_alone(project, db, servers, start_test_runner, orders):
    """Jobs that only shared a process with a job that crashes its runner are run again, and succeed."""
    others = project.entity("others", [{"name": "name", "type": "varchar"}])
    made, other = workflow(project.admin, steps=[create()]), workflow(project.admin, steps=[create(entity="others")])
    quick = workflow(project.admin, steps=[condition()])
    schema = project.schema(db)
    runner = start_test_runner(JOB_ATTEMPTS=4)

    def running():
        return rows(db, f"select id, runner from {schema}.jobs_now where status = 'running' order by id")

    def crash(name):
        crash_worker(db, name, project)
        until(lambda: name not in [found for _, found in running()], "its lease ends")

    with TableLock(servers, table(project, db, orders)):
        with TableLock(servers, table(project, db, others)) as held:
            poison, *innocent = [start_by_row(project, db, one) for one in (made, *[other] * 5)]
            until(lambda: len(running()) == 6 and held.is_awaited(db), "all run in one process")
            (first,) = {name for _, name in running()}
            crash_worker(db, first, project)
        while job_row(project, db, poison, "status") != "failed":
            assert wait_ended(project, start(project.admin, quick))["attempt"] == 1, "a job without an attempt runs in another process"
            for name in [name for job, name in running() if job == poison and name != first]:
                assert [job for job, found in running() if found == name] == [poison], "a job whose runner crashed is alone"
                crash(name)
    for job in innocent:
        found = wait_ended(project, job)
        assert (found["status"], found["attempt"]) == ("succeeded", 1), "it only shared a process"
    found = wait_ended(project, poison)
    assert (found["error"]["code"], found["attempt"]) == ("quarantined", 4) and runner.is_running()


def test_whoever_only_shared_a_process_loses_no_attempt(gateway, operator, recorder, db, servers, start_test_runner):
    """Two projects whose jobs have one attempt: a crash that several jobs may have caused costs no job an attempt, and the next crash counts for the
    job that ran alone."""
    jobs, tables = [], []
    for _ in range(2):
        project = Project(gateway, operator, recorder)
        entity = project.entity("orders", [{"name": "name", "type": "varchar"}])
        tables.append(table(project, db, entity))
        jobs.append((project, start_by_row(project, db, workflow(project.admin, steps=[create()]))))
    (killer, poison), (other, innocent) = jobs
    start_test_runner(JOB_ATTEMPTS=1)
    with TableLock(servers, tables[0]) as first:
        with TableLock(servers, tables[1]) as second:
            until(lambda: first.is_awaited(db) and second.is_awaited(db), "both run")
            name = job_row(killer, db, poison, "runner")
            assert job_row(other, db, innocent, "runner") == name, "in one process"
            crash_worker(db, name, killer, other)
        again = until(lambda: (again := job_row(killer, db, poison, "runner")) != name and again, "it is run again")
        crash_worker(db, again, killer)
        found = wait_ended(killer, poison)
        assert (found["error"]["code"], found["attempt"]) == ("quarantined", 1)
    found = wait_ended(other, innocent)
    assert (found["status"], found["attempt"]) == ("succeeded", 1)
