"""Migrations of existing rows: each file is run on a schema that the earlier files have made."""
import datetime
import pathlib

import pytest

from groundwork.records import execute, rows

FILES = sorted((pathlib.Path(__file__).parents[3] / "deploy" / "migrations" / "project").glob("*.sql"))
TICK = datetime.datetime(2026, 11, 21, 17, 5, tzinfo=datetime.timezone.utc)


@pytest.fixture
def schema(db):
    """A function that applies the migrations of a project's schema up to the named file."""
    execute(db, "create schema before")
    waiting = list(FILES)

    def to(name):
        while waiting and waiting[0].name[:4] <= name[:4]:
            execute(db, waiting.pop(0).read_text().replace("{p}", "before").replace("%", "%%"))

    yield to
    execute(db, "drop schema before cascade")


def test_jobs_keep_what_started_them(db, schema):
    schema("0003_payments")
    execute(db, "insert into before.jobs (workflow_id, version, trigger_kind, event_id, fire_at, trigger_at) values"
                " (1, 1, 'event', 70, null, %s), (2, 1, 'timed', null, %s, null), (3, 1, 'api', null, null, null)", TICK, TICK)
    schema("0004_jobs_origin")
    assert rows(db, "select workflow_id, origin, trigger_at from before.jobs order by 1") == [
        (1, 70, TICK), (2, -int(TICK.timestamp()), TICK), (3, None, None)]


def test_leases_are_renewed_in_place(db, schema):
    """Renewing the lease of a job from before the migration updates its row and no index."""
    schema("0011_suspects_apart")
    execute(db, "insert into before.jobs (workflow_id, version, trigger_kind, status, token, runner, lease_until) values"
                " (1, 1, 'manual', 'running', 1, 'a', now() - interval '1 minute'), (1, 1, 'manual', 'queued', 0, null, null)")
    schema("0012_jobs_leased")
    with db.cursor() as cursor:
        cursor.execute("begin")
        for _ in range(3):
            cursor.execute("update before.jobs set lease_until = now() + interval '30 seconds' where status = 'running'")
        cursor.execute("select n_tup_upd, n_tup_hot_upd from pg_stat_xact_user_tables where relid = 'before.jobs'::regclass")
        assert cursor.fetchone() == (3, 3)
        cursor.execute("rollback")
    assert rows(db, "select id from before.jobs where status in ('running', 'waiting') and lease_until < now()") == [(1,)]


def test_open_jobs_get_leases(db, schema):
    """Open jobs from before the migration get a row in job_leases, and jobs of every state read as before."""
    schema("0012_jobs_leased")
    execute(db, "insert into before.jobs (workflow_id, version, trigger_kind, status, suspect, attempt, token, runner, lease_until,"
                " started_at, finished_at, error) values"
                " (1, 1, 'manual', 'queued', false, 0, 0, null, null, null, null, null),"
                " (1, 1, 'manual', 'queued', true, 2, 5, null, null, '2026-01-01', null, null),"
                " (1, 1, 'manual', 'running', false, 1, 1, 'a', '2026-01-02', '2026-01-01', null, null),"
                " (1, 1, 'manual', 'waiting', true, 3, 7, 'b', '2026-01-03', '2026-01-01', null, null),"
                " (1, 1, 'manual', 'succeeded', false, 1, 1, 'a', null, '2026-01-01', '2026-01-02', null),"
                " (1, 1, 'manual', 'failed', true, 5, 9, null, null, '2026-01-01', '2026-01-02', '{\"code\": \"x\"}'),"
                " (1, 1, 'manual', 'cancelled', false, 0, 1, null, null, null, '2026-01-02', null)")
    shown = "select id, status, attempt, token, lease_until, started_at, finished_at, error from before."
    before = rows(db, shown + "jobs order by id")
    schema("0013_job_leases")
    assert rows(db, shown + "jobs_now order by id") == before
    assert rows(db, "select job_id, state, suspect, attempt, token, runner from before.job_leases order by 1") == [
        (1, "queued", False, 0, 0, None), (2, "queued", True, 2, 5, None), (3, "running", False, 1, 1, "a"), (4, "waiting", True, 3, 7, "b")]
    assert rows(db, "select id, status, attempt, started_at is null from before.jobs order by 1")[:5] == [
        (1, None, 0, True), (2, None, 0, True), (3, None, 0, True), (4, None, 0, True), (5, "succeeded", 1, False)]


def test_open_jobs_are_written_in_place(db, schema):
    """A claim, a renewal and an end update rows in their pages and write no index."""
    schema("0013_job_leases")
    execute(db, "insert into before.jobs (workflow_id, version, trigger_kind) values (1, 1, 'manual')")
    execute(db, "insert into before.job_leases (job_id) select id from before.jobs")
    with db.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute("update before.job_leases set state = 'running', token = 1, attempt = 1, runner = 'a', lease_until = now(), started_at = now()")
        cursor.execute("update before.job_leases set lease_until = now() + interval '30 seconds'")
        cursor.execute("update before.jobs set status = 'succeeded', token = 1, attempt = 1, started_at = now(), finished_at = now()")
        cursor.execute("select relname, n_tup_upd, n_tup_hot_upd from pg_stat_xact_user_tables where schemaname = 'before'"
                       " and relname in ('jobs', 'job_leases') order by 1")
        assert cursor.fetchall() == [("job_leases", 2, 2), ("jobs", 1, 1)]
        cursor.execute("rollback")
