"""PostgreSQL updates rows of jobs and of leases in their pages and writes no index (HOT)."""
from groundwork.records import execute, rows


def hot_updates(cursor, schema):
    """[(table, updated rows, HOT updates)] of the transaction."""
    cursor.execute("select relname, n_tup_upd, n_tup_hot_upd from pg_stat_xact_user_tables where schemaname = %s"
                   " and relname in ('jobs', 'job_leases') order by 1", (schema,))
    return cursor.fetchall()


def test_open_jobs_are_written_in_place(unused_project, db):
    """A claim, a renewal and an end."""
    schema = unused_project.schema(db)
    execute(db, f"insert into {schema}.jobs (workflow_id, version, trigger_kind) values (1, 1, 'manual')")
    execute(db, f"insert into {schema}.job_leases (job_id) select id from {schema}.jobs")
    with db.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute(f"update {schema}.job_leases set state = 'running', token = 1, attempt = 1, runner = 'a', lease_until = now(),"
                       " started_at = now()")
        cursor.execute(f"update {schema}.job_leases set lease_until = now() + interval '30 seconds'")
        cursor.execute(f"update {schema}.jobs set status = 'succeeded', token = 1, attempt = 1, started_at = now(), finished_at = now()")
        assert hot_updates(cursor, schema) == [("job_leases", 2, 2), ("jobs", 1, 1)]
        cursor.execute("rollback")


def test_jobs_now_shows_the_lease_while_a_job_is_open(unused_project, db):
    schema = unused_project.schema(db)
    execute(db, f"insert into {schema}.jobs (id, workflow_id, version, trigger_kind, status, attempt, token, started_at) values"
                " (1, 1, 1, 'manual', null, 0, 0, null), (2, 1, 1, 'manual', null, 0, 0, null),"
                " (3, 1, 1, 'manual', 'succeeded', 2, 5, '2026-01-01')")
    execute(db, f"insert into {schema}.job_leases (job_id, state, crashed, attempt, token, runner, started_at) values"
                " (1, 'queued', true, 2, 5, null, null), (2, 'waiting', false, 3, 7, 'b', '2026-01-02')")
    assert rows(db, f"select id, status, crashed, attempt, token, runner, extract(day from started_at)::int from {schema}.jobs_now"
                    " order by 1") == [
        (1, "queued", True, 2, 5, None, None), (2, "waiting", False, 3, 7, "b", 2), (3, "succeeded", False, 2, 5, None, 1)]
