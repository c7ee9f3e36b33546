"""Workflows of a test, and ways to look at their jobs without a runner."""
import itertools

from .records import execute, rows

_numbers = itertools.count(1)


def call(key="call", url="https://example.org/hook", **members):
    """A step that needs no entity."""
    return {"key": key, "action": "CallAnApi", "params": {"url": url, "method": "POST"}, **members}


def create(key="save", entity="orders", values=None, **members):
    return {"key": key, "action": "CreateData", "params": {"entity": entity, "values": values or {"name": "x"}}, **members}


def document(trigger=None, steps=None, **members):
    """The body of POST /workflows: started by hand, one call."""
    return {"name": f"Workflow {next(_numbers)}", "trigger": trigger or {"kind": "manual"}, "steps": steps or [call()], **members}


def workflow(client, trigger=None, steps=None, **members):
    return client.post("/workflows", document(trigger, steps, **members), expect=201).json()


def event(entity="orders", name="EntityCreated", **members):
    return {"kind": "event", "event": name, "entity": entity, **members}


def api(route):
    return {"kind": "api", "route": route}


def timed(cron="*/5 * * * *", **members):
    return {"kind": "timed", "cron": cron, **members}


def start(client, made, data=None):
    """Starts it by hand; the job's id."""
    return client.post(f"/workflows/{made['id']}/trigger", data, expect=202).json()["job_id"]


def job_row(project, db, job, *columns):
    """Columns of a job's row, or one value."""
    (found,) = rows(db, f"select {', '.join(columns)} from {project.schema(db)}.jobs where id = %s", job)
    return found if len(columns) > 1 else found[0]


def set_job(project, db, job, **columns):
    """Puts a job into a state as a runner would have."""
    names = ", ".join(f"{name} = %s" for name in columns)
    execute(db, f"update {project.schema(db)}.jobs set {names} where id = %s", *columns.values(), job)


def add_step(project, db, job, seq, key, status, run=1, **columns):
    """A row of the job's history."""
    names = ["job_id", "seq", "run", "key", "action", "status", "started_at", *columns]
    values = [job, seq, run, key, "CallAnApi", status, "2026-01-01T00:00:00Z", *columns.values()]
    marks = ", ".join(["%s"] * len(values))
    execute(db, f"insert into {project.schema(db)}.job_steps ({', '.join(names)}) values ({marks})", *values)


def jobs_of(project, db, made):
    """(id, status) of all jobs of a workflow, oldest first."""
    return rows(db, f"select id, status from {project.schema(db)}.jobs where workflow_id = %s order by id", made["id"])


def listeners(project, db):
    """(source, entity id, event)."""
    return sorted(rows(db, f"select source, entity_id, event from {project.schema(db)}.event_listeners"))
