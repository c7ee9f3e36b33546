"""Jobs that a runner executes: steps without effect, waiting, history."""
from .deadline import until
from .records import rows

TRUE = {"field": "$svc.trigger.kind", "op": "not_empty"}
FALSE = {"field": "$svc.trigger.kind", "op": "empty"}


def condition(key="check", test=None, **members):
    """A step that only evaluates a condition; `then` and `else` name the next steps."""
    return {"key": key, "action": "Condition", "params": test or TRUE, **members}


def step(key, action, params, **members):
    return {"key": key, "action": action, "params": params, **members}


ENDED = ("succeeded", "failed", "cancelled", "skipped")


def wait_ended(project, job, within=6):
    """Returns the job as the API shows it, once it has ended."""
    found = {}

    def is_ended():
        found.update(project.admin.get(f"/workflows/jobs/{job}", expect=200).json())
        return found["status"] in ENDED

    until(is_ended, lambda: f"the job has not ended: {found}", within)
    return found


def wait_status(project, db, job, status):
    schema = project.schema(db)
    until(lambda: rows(db, f"select 1 from {schema}.jobs_now where id = %s and status = %s", job, status), status)


def history(project, db, job):
    """(seq, run, key, status) of the job's steps."""
    return rows(
        db, f"select seq, run, key, status from {project.schema(db)}.job_steps where job_id = %s order by seq", job
    )


class TableLock:
    """Locks tables of a project, so that each transaction that needs them waits: makes a step slow on purpose."""

    def __init__(self, servers, *tables, mode="access exclusive"):
        self.connection = servers.connect()
        self.connection.autocommit = False
        with self.connection.cursor() as cursor:
            cursor.execute(f"lock table {', '.join(tables)} in {mode} mode")
            cursor.execute("select pg_backend_pid()")
            self.pid = cursor.fetchone()[0]

    def is_awaited(self, db):
        """Whether a transaction waits for the lock."""
        return rows(db, "select 1 from pg_stat_activity where %s = any (pg_blocking_pids(pid))", self.pid)

    def release(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.release()
