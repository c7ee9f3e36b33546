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
