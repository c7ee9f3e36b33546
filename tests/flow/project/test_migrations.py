"""What a migration makes of the rows that are there: each file is run on a schema of the files before it."""
import datetime
import pathlib

import pytest

from groundwork.records import execute, rows

FILES = sorted((pathlib.Path(__file__).parents[3] / "deploy" / "migrations" / "project").glob("*.sql"))
TICK = datetime.datetime(2026, 11, 21, 17, 5, tzinfo=datetime.timezone.utc)


@pytest.fixture
def schema(db):
    """A project's schema; to(file) applies the migrations up to that file."""
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
    """A job that runs, from before: its next renewals write its row and no index."""
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
