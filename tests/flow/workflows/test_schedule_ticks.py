"""Ticks: any runner makes and claims the job of a tick in one statement, once each, within the limits of its slots."""
import datetime
import os
import signal
import time

import pytest
from groundwork.chaos import kill
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.runs import TableLock, condition, step
from groundwork.workflows import timed_trigger, workflow

pytestmark = pytest.mark.usefixtures("no_foreign_events")
RUNNER = {"SWEEP_MS": 200}
SHORT = {"LEASE_MS": 2000}  # for a runner that is to lose its jobs: the shortest lease
YEARLY = "0 0 1 1 *"
MANY = 20


def yearly(project, count=1):
    """Makes workflows that make_due() makes due. Returns their ids."""
    return [workflow(project.admin, timed_trigger(YEARLY), [condition()])["id"] for _ in range(count)]


def make_due(project, db, since="now()"):
    """Makes all workflows due now. With an early `since` they seem to be due for long, so that every runner checks the project."""
    execute(db, f"update {project.schema(db)}.workflows set next_fire_at = date_trunc('minute', now())")
    execute(db, f"update platform.workflow_projects set next_fire_at = {since} where number ="
                " (select number from platform.projects where slug = %s)", project.id)


def ticks(project, db, *columns):
    return rows(db, f"select {', '.join(columns)} from {project.schema(db)}.jobs_now where trigger_kind = 'timed' order by id")


def all_ended(project, db, count):
    until(lambda: [s for (s,) in ticks(project, db, "status")] == ["succeeded"] * count, f"{count} ticks ran")


def test_killed_between_tick_and_first_step(project, db, servers, start_test_runner):
    """The job is claimed in the statement that makes it: when its lease ends another runner runs it, and no second job is made."""
    yearly(project)
    first = start_test_runner(**SHORT)
    with TableLock(servers, f"{project.schema(db)}.users") as held:  # blocks the reading of the editor's rights
        make_due(project, db)
        until(lambda: held.is_awaited(db), "the claimed job waits")
        (made,) = ticks(project, db, "status", "attempt", "token", "runner is not null", "lease_until > started_at", "started_at is not null")
        assert made == ("running", 1, 1, True, True, True)
        kill(first)
    start_test_runner()
    all_ended(project, db, 1)
    assert ticks(project, db, "attempt", "token > 1") == [(2, True)]
    assert rows(db, f"select count(*) from {project.schema(db)}.job_steps") == [(1,)]


def test_stopped_between_tick_and_first_step(project, db, servers, start_test_runner):
    """K11 of a tick: a runner that was suspended for longer than its lease writes nothing when it continues."""
    yearly(project)
    first = start_test_runner(**SHORT)
    with TableLock(servers, f"{project.schema(db)}.users") as held:
        make_due(project, db)
        until(lambda: held.is_awaited(db), "the claimed job waits")
        worker = first.workers()[0]
        os.kill(worker, signal.SIGSTOP)
    start_test_runner()
    all_ended(project, db, 1)
    before = ticks(project, db, "attempt", "token", "finished_at")
    os.kill(worker, signal.SIGCONT)
    time.sleep(2)
    assert ticks(project, db, "attempt", "token", "finished_at") == before
    assert rows(db, f"select count(*) from {project.schema(db)}.job_steps") == [(1,)]


def test_many_runners_at_one_tick(project, db, start_test_runner):
    """Each tick has one job, which succeeds at the first attempt, no matter which runner makes it."""
    flows = yearly(project, MANY)
    for _ in range(3):
        start_test_runner()
    time.sleep(1)
    for round_ in range(1, 4):
        execute(db, f"delete from {project.schema(db)}.jobs")
        make_due(project, db, "now() - interval '10 seconds'")
        all_ended(project, db, MANY)
        assert sorted(ticks(project, db, "workflow_id", "attempt", "token")) == [(flow, 1, 1) for flow in flows], round_
    time.sleep(2)
    assert len(ticks(project, db, "id")) == MANY


def test_more_ticks_than_room(project, db, servers, start_test_runner):
    """The job of a tick for which there is no slot waits like any other job."""
    yearly(project, MANY)
    start_test_runner(JOB_SLOTS_PER_PROJECT=3)
    with TableLock(servers, f"{project.schema(db)}.users") as held:
        make_due(project, db)
        until(lambda: held.is_awaited(db), "the claimed jobs wait")
        found = ticks(project, db, "status", "attempt", "token", "started_at is null")
        assert found == [("running", 1, 1, False)] * 3 + [("queued", 0, 0, True)] * (MANY - 3)
    all_ended(project, db, MANY)


@pytest.mark.parametrize("change", [
    "next_fire_at = now() + interval '1 hour'", "enabled = false", "version = version + 1", "next_fire_at = null",
])
def test_changed_between_look_and_tick(project, db, servers, start_test_runner, change):
    """A runner makes the tick only if the workflow is unchanged: a workflow that was saved after the runner read it does not tick in its old form."""
    (flow,) = yearly(project)
    start_test_runner()
    schema = project.schema(db)
    with TableLock(servers, f"{schema}.jobs") as held:
        make_due(project, db)
        until(lambda: rows(db, "select 1 from pg_stat_activity where query like '%%moved as (%%' and wait_event_type = 'Lock'"
                               " and %s = any (pg_blocking_pids(pid))", held.pid), "the tick is made")
        execute(db, f"update {schema}.workflows set {change} where id = %s", flow)
    if "version" in change:
        until(lambda: ticks(project, db, "version") == [(2,)], "the new version ticks")
    else:
        time.sleep(2.5)
        assert ticks(project, db, "version") == [], "a disabled workflow, or one that is no longer due, does not tick"


def test_missed_ticks_are_made_up_for(project, db, start_test_runner):
    """Each missed tick of the last five minutes runs once. Older ticks are skipped."""
    made = workflow(project.admin, timed_trigger("* * * * *"), [condition()])
    schema = project.schema(db)
    execute(db, f"update {schema}.workflows set next_fire_at = date_trunc('minute', now()) - interval '20 minutes' where id = %s", made["id"])
    execute(db, "update platform.workflow_projects set next_fire_at = now()")
    start_test_runner()
    until(lambda: len(ticks(project, db, "id")) >= 5, "missed ticks are made")
    found = rows(db, f"select trigger_at, extract(epoch from trigger_at - lag(trigger_at) over (order by trigger_at)), queued_at - trigger_at < interval '6 minutes'"
                     f" from {schema}.jobs order by trigger_at")
    assert len(found) >= 5 and all(gap in (None, 60) and young for _, gap, young in found)


# --- late ticks ---

def make_missed(project, db, steps=None, days=3, **members):
    """Makes a workflow that runs once a day, half a day from now, and whose ticks of the last `days` days were missed. Returns (its id, its last
    tick)."""
    ((last,),) = rows(db, "select date_trunc('hour', now(), 'UTC') - interval '12 hours'")
    made = workflow(project.admin, timed_trigger(f"0 {last.astimezone(datetime.timezone.utc).hour} * * *", **members), steps or [condition()])
    execute(db, f"update {project.schema(db)}.workflows set next_fire_at = %s - make_interval(days => %s) where id = %s", last, days, made["id"])
    execute(db, "update platform.workflow_projects set next_fire_at = now()")
    return made["id"], last


def wait_ticks(project, db):
    """Waits until the runners have handled all ticks that are due."""
    until(lambda: not rows(db, f"select 1 from {project.schema(db)}.workflows where next_fire_at <= now()"), "the ticks are taken")


@pytest.mark.parametrize("trigger", [{}, {"run_late": "once"}])
@pytest.mark.parametrize("days", [0, 3, 700])
def test_the_last_late_tick_runs_once(project, db, start_test_runner, trigger, days):
    """One late tick runs, however many ticks were missed, and no matter which of two runners makes it."""
    _, last = make_missed(project, db, days=days, **trigger)
    for _ in range(2):
        start_test_runner()
    all_ended(project, db, 1)
    wait_ticks(project, db)
    assert ticks(project, db, "trigger_at", "status", "attempt") == [(last, "succeeded", 1)]


def test_a_late_tick_that_is_skipped_says_so(project, db, start_test_runner):
    flow, last = make_missed(project, db, run_late="skip")
    for _ in range(2):
        start_test_runner()
    wait_ticks(project, db)
    assert ticks(project, db, "trigger_at", "status", "reason") == [(last, "skipped", "late")]
    (job,) = project.admin.get(f"/workflows/{flow}/jobs", expect=200).json()["items"]
    assert (job["status"], job["reason"]) == ("skipped", "late")


def test_a_runner_that_dies_with_a_late_tick(project, db, servers, start_test_runner):
    """The job is claimed in the statement that makes it: another runner ends this job, and no second job is made."""
    _, last = make_missed(project, db)
    first = start_test_runner(**SHORT)
    with TableLock(servers, f"{project.schema(db)}.users") as held:
        until(lambda: held.is_awaited(db), "the claimed job waits")
        kill(first)
    start_test_runner()
    all_ended(project, db, 1)
    assert ticks(project, db, "trigger_at", "attempt") == [(last, 2)]


@pytest.mark.parametrize("change", ["name", "steps", "run_late"])
def test_a_workflow_that_was_saved_since_does_not_run_late(project, db, start_test_runner, change):
    flow, _ = make_missed(project, db)
    trigger = project.admin.get(f"/workflows/{flow}", expect=200).json()["trigger"]
    body = {"name": "another", "steps": [condition("other")], "run_late": {**trigger, "run_late": "skip"}}[change]
    project.admin.put(f"/workflows/{flow}", {"trigger" if change == "run_late" else change: body}, expect=200)
    start_test_runner()
    wait_ticks(project, db)
    assert ticks(project, db, "id") == []


def test_a_workflow_that_was_enabled_since_does_not_run_late(project, db, start_test_runner):
    flow, _ = make_missed(project, db)
    for enabled in (False, True):
        project.admin.put(f"/workflows/{flow}", {"enabled": enabled}, expect=200)
    start_test_runner()
    wait_ticks(project, db)
    assert ticks(project, db, "id") == []


def test_steps_see_when_a_tick_was(project, db, start_test_runner):
    """Steps see the time of the tick, not the time when the job began."""
    _, last = make_missed(project, db, [step("at", "RunScript", {"script": "return $svc.trigger.at"})])
    start_test_runner()
    all_ended(project, db, 1)
    ((seen,),) = rows(db, f"select output #>> '{{data,0}}' from {project.schema(db)}.job_steps")
    assert datetime.datetime.fromisoformat(seen.replace("Z", "+00:00")) == last


def test_run_late_is_once_or_skip(project):
    made = workflow(project.admin, timed_trigger(run_late="skip"), [condition()])
    assert project.admin.get(f"/workflows/{made['id']}", expect=200).json()["trigger"]["run_late"] == "skip"
    for wrong in ("never", 1):
        refused = project.admin.put(f"/workflows/{made['id']}", {"trigger": timed_trigger(run_late=wrong)}, expect=400).json()
        assert [error["field"] for error in refused["errors"]] == ["trigger.run_late"]
    project.admin.put(f"/workflows/{made['id']}", {"trigger": {"kind": "manual", "run_late": "once"}}, expect=400)
