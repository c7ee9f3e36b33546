"""Hints in the control schema about when timed workflows are due: a sweep corrects them, and a tick does not overwrite them."""
import time

import pytest
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.runs import condition
from groundwork.workflows import jobs_of, workflow

YEARLY = {"kind": "timed", "cron": "0 0 1 1 *"}


def hint(project, db):
    return rows(db, "select f.next_fire_at from platform.workflow_projects f join platform.projects p using (number)"
                    " where p.slug = %s", project.id)[0][0]


def set_hint(project, db, value):
    execute(db, f"update platform.workflow_projects set next_fire_at = {value} where number ="
                " (select number from platform.projects where slug = %s)", project.id)


def test_a_save_while_its_project_ticks(project, db, servers, start_runner):
    """A runner that read the hint before a gateway changed it does not overwrite the gateway's hint. No sweep would correct this here."""
    slow = start_runner(SWEEP_MS=60000)
    made = workflow(project.admin, YEARLY, [condition()])
    time.sleep(1.5)
    schema, connection = project.schema(db), servers.connect()
    connection.autocommit = False
    with connection.cursor() as cursor:
        number = "(select number from platform.projects where slug = %s)"
        cursor.execute(f"update platform.workflow_projects set next_fire_at = now() where number = {number}", (project.id,))
        connection.commit()
        cursor.execute(f"select 1 from platform.workflow_projects where number = {number} for update", (project.id,))
        cursor.execute("select pg_backend_pid()")
        pid = cursor.fetchone()[0]
        until(lambda: rows(db, "select 1 from pg_stat_activity where %s = any (pg_blocking_pids(pid))", pid), "the tick is made")
        # A gateway saves a workflow: its tick is due in two seconds, later than the current hint.
        execute(db, f"update {schema}.workflows set next_fire_at = now() + interval '2 seconds' where id = %s", made["id"])
        cursor.execute("update platform.workflow_projects set next_fire_at = least(next_fire_at, now() + interval '2 seconds')"
                       f" where number = {number}", (project.id,))
        connection.commit()
    connection.close()
    until(lambda: jobs_of(project, db, made), "the tick was noticed")
    slow.stop()


@pytest.mark.parametrize("wrong", ["null", "now() + interval '1 year'", "now() + interval '1 second'"])
def test_a_wrong_hint_is_corrected(project, db, runner, wrong):
    made = workflow(project.admin, YEARLY, [condition()])
    (right,), = rows(db, f"select next_fire_at from {project.schema(db)}.workflows where id = %s", made["id"])
    assert hint(project, db) == right
    set_hint(project, db, wrong)
    until(lambda: hint(project, db) == right, "the hint is corrected")
