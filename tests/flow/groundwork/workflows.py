"""Workflows of a test, and access to their jobs without a runner."""
import itertools

from .records import execute, rows

_numbers = itertools.count(1)
LEASE_COLUMNS = ("crashed", "attempt", "token", "runner", "lease_until", "started_at")
OPEN_STATUSES = ("queued", "running", "waiting")


def call(key="call", url="https://example.org/hook", **members):
    """A step that needs no entity."""
    return {"key": key, "action": "CallAnApi", "params": {"url": url, "method": "POST"}, **members}


def create(key="save", entity="orders", values=None, **members):
    return {"key": key, "action": "CreateData", "params": {"entity": entity, "values": values or {"name": "x"}}, **members}


def document(trigger=None, steps=None, **members):
    """The body of POST /workflows; by default a manual trigger and one call."""
    return {"name": f"Workflow {next(_numbers)}", "trigger": trigger or {"kind": "manual"}, "steps": steps or [call()], **members}


def workflow(client, trigger=None, steps=None, **members):
    return client.post("/workflows", document(trigger, steps, **members), expect=201).json()


def event(entity="orders", name="EntityCreated", **members):
    return {"kind": "event", "event": name, "entity": entity, **members}


def api_trigger(route):
    return {"kind": "api", "route": route}


def timed_trigger(cron="*/5 * * * *", **members):
    return {"kind": "timed", "cron": cron, **members}


def start(client, made, data=None):
    """Triggers the workflow manually; returns the job's id."""
    return client.post(f"/workflows/{made['id']}/trigger", data, expect=202).json()["job_id"]


def add_jobs(project, db, made, count=1, **columns):
    """Queues `count` jobs directly in the database, columns as SQL; returns their ids."""
    schema, columns = project.schema(db), {"version": "1", "trigger_kind": "'manual'", **columns}
    return [job for (job,) in rows(
        db, f"with made as (insert into {schema}.jobs (workflow_id, {', '.join(columns)}) select %s, {', '.join(columns.values())}"
            f" from generate_series(1, %s) n returning id) insert into {schema}.job_leases (job_id) select id from made returning job_id",
        made["id"], count)]


def cancel_jobs(project, db, which="true"):
    """Cancels the open jobs that match the condition `which`, directly in the database."""
    schema = project.schema(db)
    execute(db, f"with stopped as (delete from {schema}.job_leases where {which} returning job_id, token)"
                f" update {schema}.jobs set status = 'cancelled', token = s.token + 1 from stopped s where id = s.job_id")


def job_row(project, db, job, *columns):
    """Returns columns of a job (of jobs_now), or one value."""
    (found,) = rows(db, f"select {', '.join(columns)} from {project.schema(db)}.jobs_now where id = %s", job)
    return found if len(columns) > 1 else found[0]


def set_job(project, db, job, **columns):
    """Sets the state of a job as a runner would: while a job is open, its lease holds some of the columns."""
    schema, status = project.schema(db), columns.pop("status", None)
    if status in OPEN_STATUSES:
        execute(db, f"insert into {schema}.job_leases (job_id, state) values (%s, %s) on conflict (job_id) do update"
                    " set state = excluded.state", job, status)
        columns["status"] = None
    elif status:
        kept = ("attempt", "token", "started_at")
        for values in rows(db, f"delete from {schema}.job_leases where job_id = %s returning {', '.join(kept)}", job):
            columns = {**dict(zip(kept, values)), **columns}
        columns["status"] = status
    leased = rows(db, f"select 1 from {schema}.job_leases where job_id = %s", job)
    of_lease = {name: columns.pop(name) for name in LEASE_COLUMNS if leased and name in columns}
    for table, key, part in (("job_leases", "job_id", of_lease), ("jobs", "id", columns)):
        names = ", ".join(f"{name} = %s" for name in part)
        if part:
            execute(db, f"update {schema}.{table} set {names} where {key} = %s", *part.values(), job)


def add_step(project, db, job, seq, key, status, run=1, **columns):
    """Inserts a row of the job's history."""
    names = ["job_id", "seq", "run", "key", "action", "status", "started_at", *columns]
    values = [job, seq, run, key, "CallAnApi", status, "2026-01-01T00:00:00Z", *columns.values()]
    marks = ", ".join(["%s"] * len(values))
    execute(db, f"insert into {project.schema(db)}.job_steps ({', '.join(names)}) values ({marks})", *values)


def jobs_of(project, db, made):
    """(id, status) of all jobs of a workflow, oldest first."""
    return rows(db, f"select id, status from {project.schema(db)}.jobs_now where workflow_id = %s order by id", made["id"])


def listeners(project, db):
    """(source, entity id, event)."""
    return sorted(rows(db, f"select source, entity_id, event from {project.schema(db)}.event_listeners"))
