"""The jobs of one project do not take another project's share: scripts and current requests alternate between projects."""
import re
import signal

import pytest
from groundwork.chaos import DeafServer
from groundwork.deadline import until
from groundwork.project import Project
from groundwork.records import rows
from groundwork.runs import wait_ended, step
from groundwork.workflows import add_jobs, call, cancel_jobs, start, workflow


@pytest.fixture
def other(gateway, operator, recorder):
    return Project(gateway, operator, recorder)


def test_scripts_go_round_by_project(project, other, db, start_test_runner):
    """With one process, many slow scripts of a project delay a script of another project by one of them."""
    spin = "const end = Date.now() + 400; while (Date.now() < end); return 1"
    slow = workflow(project.admin, steps=[step("spin", "RunScript", {"script": spin})])
    quick = workflow(other.admin, steps=[step("one", "RunScript", {"script": "return 1"})])
    start_test_runner(SCRIPT_PROCESSES=1)
    add_jobs(project, db, slow, 30)
    ended = f"select count(*) from {project.schema(db)}.jobs_now where status = 'succeeded'"
    until(lambda: rows(db, ended)[0][0] >= 1, "they run")
    assert wait_ended(other, start(other.admin, quick))["status"] == "succeeded"
    assert rows(db, ended)[0][0] < 25
    until(lambda: rows(db, ended)[0][0] == 30, "all run", 25)


ROOM = 4 << 20  # bytes for a project's jobs with much data, in one process


def cancel_sent(project, db):
    """Cancels the jobs that have sent a request. The runner notices this when it renews their leases, every ten seconds."""
    cancel_jobs(project, db, f"job_id in (select job_id from {project.schema(db)}.job_steps where status = 'sent')")


def test_jobs_with_much_data_are_few_at_a_time(project, db, servers, sink, start_test_runner):
    """A megabyte of small numbers takes twenty megabytes of memory: hundreds of such jobs at a time would end the runner."""
    deaf = DeafServer()
    servers.allowed_ports.append(deaf.port)
    stuck = workflow(project.admin, steps=[call("call", deaf.url, timeout_seconds=600)])
    quick = workflow(project.admin, steps=[call("call", f"{sink.url}/quick", timeout_seconds=30)])
    start_test_runner(STATEMENT_TIMEOUT_MS=60000)
    schema = project.schema(db)
    add_jobs(project, db, stuck, 40, trigger_data="(select jsonb_agg(1) from generate_series(1, 100000))")
    few = ROOM // rows(db, f"select octet_length(trigger_data::text) from {schema}.jobs limit 1")[0][0]
    sent = f"select count(*) from {schema}.job_steps where status = 'sent'"
    until(lambda: rows(db, sent)[0][0] >= few, "as many jobs as fit into half of the budget")
    for _ in range(3):
        assert wait_ended(project, start(project.admin, quick, {"little": 1}))["status"] == "succeeded"
    assert rows(db, sent)[0][0] == few, "the others have not begun"
    cancel_sent(project, db)
    until(lambda: rows(db, sent)[0][0] == 2 * few, "the next jobs begin", within=25)
    deaf.close()


def test_jobs_whose_steps_bring_much_are_few_at_a_time(project, other, db, servers, sink, start_test_runner):
    """A job whose data exceed the budget is put aside with its history, and continues when there is room: no step runs twice."""
    deaf = DeafServer()
    servers.allowed_ports.append(deaf.port)
    bring = step("bring", "RunScript", {"script": "return 'x'.repeat(900000)"}, next="call")
    stuck = workflow(project.admin, steps=[bring, call("call", deaf.url, timeout_seconds=600)])
    quick = workflow(other.admin, steps=[bring, call("call", f"{sink.url}/quick", timeout_seconds=30)])
    start_test_runner()
    schema = project.schema(db)
    add_jobs(project, db, stuck, 10)
    counted = f"select count(*) filter (where key = 'bring' and status = 'succeeded'), count(*) filter (where status = 'sent') from {schema}.job_steps"
    until(lambda: rows(db, counted)[0][1] >= 4, "as many jobs as fit into the budget")
    until(lambda: rows(db, counted)[0][0] == 10, "each job has run its first step")
    assert wait_ended(other, start(other.admin, quick))["status"] == "succeeded"
    assert rows(db, counted) == [(10, 4)]
    assert rows(db, f"select max(attempt), count(*) filter (where status = 'running') from {schema}.jobs_now") == [(1, 10)]
    cancel_sent(project, db)
    until(lambda: rows(db, counted)[0][1] == 8, "the next jobs continue", within=25)
    assert rows(db, f"select max(seq) from {schema}.job_steps") == [(2,)]
    deaf.close()


def test_requests_leave_room_for_other_projects(project, other, db, servers, sink, start_test_runner):
    """A project has more requests to a silent server than may be in progress. A request of another project is sent at once."""
    deaf = DeafServer()
    servers.allowed_ports.append(deaf.port)
    stuck = workflow(project.admin, steps=[call("call", deaf.url, timeout_seconds=600)])
    quick = workflow(other.admin, steps=[call("call", f"{sink.url}/quick", timeout_seconds=30)])
    runner = start_test_runner(JOB_SLOTS_PER_PROJECT=400)
    add_jobs(project, db, stuck, 400)
    sent = f"select count(*) from {project.schema(db)}.job_steps where status = 'sent'"
    until(lambda: rows(db, sent)[0][0] >= 128, "half of all are under way")
    for _ in range(3):
        assert wait_ended(other, start(other.admin, quick))["status"] == "succeeded"
    assert rows(db, sent)[0][0] == 128, "the other requests wait, and no part of them was sent"
    def shown(what, number):
        return f'groundwork_shares_{what}{{pool="step_calls"}} {number}\n' in runner.metrics()

    # Each worker reports from time to time what it holds. There are two workers, one of them for jobs whose runner crashed.
    until(lambda: shown("held", 128) and shown("limit", 2 * 256), "/metrics shows the held shares")
    waiting = re.search(r'groundwork_shares_waiting\{pool="step_calls"\} (\d+)', runner.metrics())
    assert int(waiting[1]) > 0
    runner.signal(signal.SIGTERM)
    assert runner.process.wait() == 0
    assert rows(db, sent)[0][0] == 128, "jobs that waited return to the queue"
    assert rows(db, f"select status, max(attempt), count(*) from {project.schema(db)}.jobs_now group by 1") == [("queued", 0, 400)]
    deaf.close()
