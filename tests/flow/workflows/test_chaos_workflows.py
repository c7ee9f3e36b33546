"""Workflows whose gateways and runners are killed at named points (K1-K5, K9, K10, K19, K20), and runners without Redis (D1-D4). test_runner_crash.py
has the tests for crashes inside of a database step."""
import os
import signal
import time

import pytest
from groundwork.chaos import DeafServer, client_at, run_in_background, kill, postgres_proxy, redis_proxy, postgres_proxy_settings, redis_proxy_settings
from groundwork.deadline import allowed, at_most, until
from groundwork.project import Project
from groundwork.records import column, execute, rows, table
from groundwork.runs import TableLock, condition, wait_ended, history
from groundwork.workflows import add_jobs, call, create, job_row, jobs_of, start, workflow

pytestmark = pytest.mark.usefixtures("no_foreign_events")
RUNNER = {"SWEEP_MS": 500}
SHORT = {"LEASE_MS": 2000}  # for a runner that is to lose its jobs: the shortest lease


def count(project, db, entity):
    return rows(db, f"select count(*) from {table(project, db, entity)}")[0][0]


def start_row(project, db, made):
    """Queues a job without the gateway, which may need a table that the test has locked. Returns its id."""
    return add_jobs(project, db, made)[0]


def count_events(project, db):
    return rows(db, f"select count(*) from {project.schema(db)}.outbox")[0][0]


# --- the gateway is killed ---


def test_gateway_killed_before_its_commit(project, db, servers, start_gateway, start_test_runner, orders, order_workflow):
    """K1: neither the record nor its event is written, because both are in one transaction."""
    project.item("orders", name="kept")
    with postgres_proxy(servers) as proxy:
        gateway = start_gateway(WORKERS=1, **postgres_proxy_settings(servers, proxy))
        admin = client_at(gateway, project)
        assert admin.get("/entities/orders/items").status_code == 200
        proxy.say("hold outbox")
        sent = run_in_background(lambda: admin.post("/entities/orders/items", {"name": "lost"}))
        time.sleep(0.5)
        kill(gateway)
        sent.join()
    start_test_runner()
    until(lambda: [status for _, status in jobs_of(project, db, order_workflow)] == ["succeeded"], "one job, of the first record")
    assert rows(db, f"select {column(orders, 'name')} from {table(project, db, orders)}") == [("kept",)]
    assert count_events(project, db) == 1


@pytest.mark.timed
def test_gateway_killed_after_its_commit(project, db, servers, start_gateway, start_test_runner, orders, order_workflow):
    """K2, K3: the record is committed, but no notification was sent: one job starts within five seconds."""
    start_test_runner()
    with postgres_proxy(servers) as proxy:
        gateway = start_gateway(WORKERS=1, **postgres_proxy_settings(servers, proxy))
        admin = client_at(gateway, project)
        assert admin.get("/entities/orders/items").status_code == 200
        proxy.say("deaf outbox")
        posted = run_in_background(lambda: admin.post("/entities/orders/items", {"name": "kept"}))
        until(lambda: count(project, db, orders) == 1, "the commit arrived")
        kill(gateway)
        posted.join()
    with at_most(5, "the job of an order without a notification"):
        until(lambda: [status for _, status in jobs_of(project, db, order_workflow)] == ["succeeded"], "one job")
    time.sleep(1)
    assert (count(project, db, orders), count_events(project, db), len(jobs_of(project, db, order_workflow))) == (1, 1, 1)


# --- between the notification and the job ---


def pending(redis_client, topic):
    """Returns the number of entries that a runner has received and not acknowledged."""
    return sum(redis_client.xpending(f"{topic}:{{p{i}}}", "workflow-runner")["pending"] for i in range(16)
               if redis_client.exists(f"{topic}:{{p{i}}}"))


def age_pending(redis_client, topic):
    """Runners take over the entries of a dead runner after half a minute. Sets the entries' idle time to more than that."""
    for i in range(16):
        stream = f"{topic}:{{p{i}}}"
        for entry in redis_client.xpending_range(stream, "workflow-runner", "-", "+", 10):
            redis_client.xclaim(stream, "workflow-runner", entry["consumer"], 0, [entry["message_id"]], idle=60000)


def test_killed_before_events_are_committed(project, db, servers, start_test_runner, orders, order_workflow):
    """K4: the runner is killed when it has received the notification and holds the event, but before the jobs are committed."""
    first = start_test_runner(**SHORT)
    with TableLock(servers, f"{project.schema(db)}.jobs", mode="share") as held:
        project.item("orders", name="one")
        until(lambda: held.is_awaited(db), "the job waits to be inserted")
        kill(first)
    until(lambda: not rows(db, f"select 1 from pg_locks l join pg_class c on c.oid = l.relation where c.oid = '{project.schema(db)}.jobs'"
                               "::regclass and l.mode = 'RowExclusiveLock'"), "the server notices")
    assert jobs_of(project, db, order_workflow) == []
    assert rows(db, f"select pending, consumed_at from {project.schema(db)}.outbox") == [(1, None)]
    start_test_runner()
    until(lambda: [status for _, status in jobs_of(project, db, order_workflow)] == ["succeeded"], "one job")
    assert rows(db, f"select pending, consumed_at is not null from {project.schema(db)}.outbox") == [(0, True)]


def test_killed_before_the_notification_is_acknowledged(project, db, servers, redis_client, start_test_runner, orders, order_workflow):
    """K5: the jobs are committed, but the notification is not acknowledged: when it is received again it makes no job."""
    with redis_proxy(servers) as proxy:
        first = start_test_runner(**SHORT, **redis_proxy_settings(proxy))
        project.item("orders", name="warm")
        until(lambda: [status for _, status in jobs_of(project, db, order_workflow)] == ["succeeded"], "they are connected")
        until(lambda: pending(redis_client, "evt") == 0, "all is acknowledged")
        proxy.say("hold xack")
        project.item("orders", name="one")
        until(lambda: [status for _, status in jobs_of(project, db, order_workflow)] == ["succeeded"] * 2, "a second job")
        assert pending(redis_client, "evt") == 1
        kill(first)
    age_pending(redis_client, "evt")
    start_test_runner()
    until(lambda: pending(redis_client, "evt") == 0, "another runner takes over the notification", within=60)
    time.sleep(0.5)
    assert len(jobs_of(project, db, order_workflow)) == 2


# --- around a request ---


def outbound(project, url):
    return workflow(project.admin, steps=[
        call("call", url, next="after", on_failure="instead"), condition("after"), condition("instead")])


def test_killed_before_it_is_connected(project, db, servers, start_test_runner):
    """K9: `sent` is committed, but no request has left: the step is interrupted, and no request is ever sent."""
    deaf = DeafServer()
    servers.allowed_ports.append(deaf.port)
    made = outbound(project, deaf.url)
    first = start_test_runner(**SHORT)
    job = start(project.admin, made)
    until(lambda: history(project, db, job) == [(1, 1, "call", "sent")], "it is sent")
    kill(first)
    start_test_runner()
    found = wait_ended(project, job)
    assert (found["status"], found["attempt"]) == ("succeeded", 2)
    assert history(project, db, job) == [(1, 1, "call", "interrupted"), (2, 1, "instead", "succeeded")]
    assert deaf.answer() == []
    deaf.close()


def test_killed_while_the_other_side_holds_its_answer(project, db, sink, start_test_runner):
    """K10: the request was sent once, and is never sent again."""
    made = outbound(project, f"{sink.url}/hang")
    first = start_test_runner(**SHORT)
    job = start(project.admin, made)
    until(lambda: sink.requests_to("/hang"), "the request arrived")
    kill(first)
    start_test_runner()
    found = wait_ended(project, job)
    assert (found["status"], found["attempt"]) == ("succeeded", 2)
    assert history(project, db, job) == [(1, 1, "call", "interrupted"), (2, 1, "instead", "succeeded")]
    assert found["steps"][0]["error"]["code"] == "interrupted"
    time.sleep(1)
    assert len(sink.requests_to("/hang")) == 1


# --- jobs that were taken from their runner ---

SLOW_SCRIPT = "const end = Date.now() + 2500; while (Date.now() < end); return 1"
PATIENT = {"SCRIPT_TIME_MS": 60000}


def slow_script(**members):
    return {"key": "slow", "action": "RunScript", "params": {"script": SLOW_SCRIPT}, "timeout_seconds": 60, **members}


def test_what_a_job_does_after_it_was_taken(project, db, sink, start_test_runner, orders):
    """A runner whose lease has not ended is not notified that another runner took its job: it writes neither the end of a step nor the effect of a
    step."""
    calling = workflow(project.admin, steps=[call("call", f"{sink.url}/hang?taken", timeout_seconds=120, next="save"), create()])
    creating = workflow(project.admin, steps=[slow_script(next="save"), create()])
    runner = start_test_runner(LEASE_MS=600000, **PATIENT)
    jobs = [start(project.admin, calling)]
    until(lambda: sink.requests_to("/hang?taken"), "the request arrived")
    jobs.append(start(project.admin, creating))
    until(lambda: job_row(project, db, jobs[1], "status") == "running", "both run")
    execute(db, f"update {project.schema(db)}.job_leases set token = token + 1, runner = 'another'")
    sink.release.set()
    until(lambda: "groundwork_jobs_lost_total 2" in runner.metrics(), "both have come to their end")
    sink.release.clear()
    assert [job_row(project, db, job, "status", "runner", "finished_at") for job in jobs] == [("running", "another", None)] * 2
    assert history(project, db, jobs[0]) == [(1, 1, "call", "sent")] and history(project, db, jobs[1]) == []
    assert count(project, db, orders) == 0


def test_an_end_whose_answer_is_lost(project, db, servers, start_test_runner):
    """The job has ended, but its runner received no answer: the runner writes the end again and finds that it had already written it."""
    made = workflow(project.admin, steps=[condition()])
    with postgres_proxy(servers) as proxy:
        runner = start_test_runner(WORKERS=1, LEASE_MS=600000, **postgres_proxy_settings(servers, proxy))
        assert wait_ended(project, start(project.admin, made))["status"] == "succeeded"
        proxy.say('deaf {"succeeded"}')  # matches the parameter with the statuses of the jobs
        job = start(project.admin, made)
        until(lambda: job_row(project, db, job, "status") == "succeeded", "it has ended")
        proxy.say("pass")
        until(lambda: 'groundwork_jobs_ended_total{status="succeeded"} 2' in runner.metrics(), "the runner knows that the job has ended", 20)
        assert "groundwork_jobs_lost_total 0" in runner.metrics()
    assert len(history(project, db, job)) == 1


def test_a_lease_that_ended_early(project, db, start_test_runner, orders):
    """The database's clock has jumped: the job is claimed again while its first run still relies on the lease."""
    made = workflow(project.admin, steps=[slow_script(next="save"), create(next="last"), slow_script(key="last")])
    runner = start_test_runner(LEASE_MS=60000, **PATIENT)
    job = start(project.admin, made)
    until(lambda: job_row(project, db, job, "status") == "running", "it runs")
    execute(db, f"update {project.schema(db)}.job_leases set lease_until = now() - interval '1 second'")
    until(lambda: job_row(project, db, job, "attempt") == 2, "it is claimed again")
    found = wait_ended(project, job, within=15)
    until(lambda: "groundwork_jobs_lost_total 1" in runner.metrics(), "the first run has come to its end")
    assert (found["status"], found["attempt"]) == ("succeeded", 2)
    assert history(project, db, job) == [
        (1, 1, "slow", "succeeded"), (2, 1, "save", "succeeded"), (3, 1, "last", "succeeded")]
    assert count(project, db, orders) == 1


def test_woken_between_two_steps(project, db, sink, start_test_runner, orders):
    """K11: the answer arrived while the runner was suspended. When the runner continues, it no longer owns the job and writes nothing."""
    made = workflow(project.admin, steps=[call("call", f"{sink.url}/hang?woken", timeout_seconds=120, next="save", on_failure="save"), create()])
    first = start_test_runner(**SHORT)
    job = start(project.admin, made)
    until(lambda: sink.requests_to("/hang?woken"), "the request arrived")
    worker = worker_of(project, db, job)
    os.kill(worker, signal.SIGSTOP)
    sink.release.set()
    start_test_runner()
    until(lambda: job_row(project, db, job, "attempt") == 2, "another runner has the job", within=10)
    os.kill(worker, signal.SIGCONT)
    found = wait_ended(project, job)
    sink.release.clear()
    assert (found["status"], found["attempt"]) == ("succeeded", 2)
    until(lambda: "groundwork_jobs_lost_total 1" in first.metrics(), "the suspended runner notices that it lost the job")
    assert history(project, db, job) == [(1, 1, "call", "interrupted"), (2, 1, "save", "succeeded")]
    assert count(project, db, orders) == 1


# --- runners that are killed, and runners that are shut down ---


def worker_of(project, db, job):
    """Returns the pid of the process that runs a job, None if there is none: runners are named host:process:number."""
    name = job_row(project, db, job, "runner")
    return int(name.split(":")[1]) if name else None


def test_a_job_that_kills_its_workers(project, db, servers, start_test_runner, orders):
    """K19: a job kills five workers that run it alone, and possibly a worker that runs other jobs, too. The job is quarantined, and the other jobs
    are not disturbed."""
    poison = workflow(project.admin, steps=[create()])
    harmless = workflow(project.admin, steps=[condition("a", then="b"), condition("b")])
    start_test_runner(), start_test_runner()
    schema, others, died = project.schema(db), [], set()
    with TableLock(servers, table(project, db, orders)) as held:
        job = start_row(project, db, poison)

        def kill_one():
            others.append(start(project.admin, harmless))
            worker = worker_of(project, db, job)
            if worker and worker not in died and held.is_awaited(db):
                os.kill(worker, signal.SIGKILL)
                died.add(worker)
                execute(db, f"update {schema}.job_leases set lease_until = now() where split_part(runner, ':', 2) = %s", str(worker))
            return job_row(project, db, job, "status") == "failed"

        until(kill_one, "the job is quarantined", 20)
    found = wait_ended(project, job)
    assert (found["error"]["code"], found["attempt"]) == ("quarantined", 5) and len(died) in (5, 6)
    ended = [wait_ended(project, other) for other in others]
    assert {other["status"] for other in ended} == {"succeeded"}
    assert {other["attempt"] for other in ended} == {1}, "they only shared a process"
    assert count(project, db, orders) == 0


@pytest.mark.timed
def test_asked_to_go_under_load(project, db, sink, start_test_runner, orders):
    """K20: the runner ends within ten seconds and leaves no lease, no request is sent twice, and another runner does the rest."""
    made = workflow(project.admin, steps=[create("save", values={"name": "job {{ $svc.job.id }}"}, next="call"),
                                          call("call", f"{sink.url}/slow/0.2", next="end", on_failure="end"), condition("end")])
    first = start_test_runner(JOB_SLOTS=40, DRAIN_TIMEOUT_MS=int(allowed(8) * 1000))
    schema = project.schema(db)
    before = len(sink.requests_to("/slow/0.2"))
    add_jobs(project, db, made, 400)
    until(lambda: rows(db, f"select count(*) from {schema}.jobs_now where status = 'succeeded'")[0][0] > 20, "they run")
    with at_most(10, "a runner's end"):
        first.signal(signal.SIGTERM)
        assert first.process.wait() == 0
    assert rows(db, f"select count(*) from {schema}.jobs_now where status in ('running', 'waiting') or lease_until is not null") == [(0,)]
    assert rows(db, f"select count(*) from {schema}.jobs_now where status = 'queued' and attempt <> 0") == [(0,)]
    assert rows(db, f"select count(*) from {schema}.jobs_now where status = 'queued'")[0][0] > 0
    start_test_runner()
    until(lambda: not rows(db, f"select 1 from {schema}.jobs_now where status in ('queued', 'running')"), "the rest is done", 12)
    assert rows(db, f"select status, max(attempt), count(*) from {schema}.jobs_now group by 1") == [("succeeded", 1, 400)]
    name = column(orders, "name")
    assert rows(db, f"select count(*), count(distinct {name}) from {table(project, db, orders)}") == [(400, 400)]
    assert rows(db, f"select status, count(*) from {schema}.job_steps where key = 'call' group by 1") == [("succeeded", 400)]
    assert len(sink.requests_to("/slow/0.2")) - before == 400


@pytest.mark.timed
def test_a_table_that_is_held(project, operator, recorder, gateway, db, servers, start_test_runner, orders):
    """D8: many jobs wait for one table: jobs of another project and this project's other jobs do not wait, and no lease is lost."""
    other = Project(gateway, operator, recorder)
    others = other.entity("orders", [{"name": "name", "type": "varchar"}])
    project.entity("notes", [{"name": "name", "type": "varchar"}])
    stuck = workflow(project.admin, steps=[create()])
    free = workflow(project.admin, steps=[create("note", "notes", next="end"), condition("end")])
    elsewhere = workflow(other.admin, steps=[create()])
    start_test_runner()
    schema = project.schema(db)
    took = {project: [], other: []}
    with TableLock(servers, table(project, db, orders)) as held:
        add_jobs(project, db, stuck, 60)
        until(lambda: len(held.is_awaited(db)) >= 8, "they wait")
        assert len(held.is_awaited(db)) <= 8, "a quarter of the connections"
        for _ in range(5):
            for where, made in ((project, free), (other, elsewhere)):
                since = time.monotonic()
                assert wait_ended(where, start(where.admin, made))["status"] == "succeeded"
                took[where].append(round(time.monotonic() - since, 2))
    # Compares the median. A job that had to wait for the table would take two seconds or more.
    assert sorted(took[other])[2] < allowed(1), took.values()
    assert sorted(took[project])[2] < allowed(1), took.values()
    until(lambda: not rows(db, f"select 1 from {schema}.jobs_now where status not in ('succeeded', 'failed')"), "all end", 40)
    assert count(project, db, orders) == 60 and count(other, db, others) == 5
    assert rows(db, f"select status, max(attempt), count(*) from {schema}.jobs_now group by 1") == [("succeeded", 1, 65)]


# --- without Redis ---


@pytest.fixture
def proxied_daemons(servers, start_gateway, start_test_runner):
    """A gateway and a runner that reach Redis through a proxy. Yields (proxy, gateway)."""
    with redis_proxy(servers) as proxy:
        gateway = start_gateway(WORKERS=1, **redis_proxy_settings(proxy))
        start_test_runner(SWEEP_MS=2000, **redis_proxy_settings(proxy))
        yield proxy, gateway


class Triggers:
    """Creates orders through a gateway, and measures how long their jobs take to start."""

    def __init__(self, project, db, gateway, entity, flow):
        self.admin = client_at(gateway, project)
        self.project, self.db, self.entity, self.flow = project, db, entity, flow
        self.seen = 0
        assert self.admin.get("/entities/orders/items").status_code == 200

    def create(self, number):
        """Creates orders. Returns the seconds that each request took."""
        took = []
        for _ in range(number):
            since = time.monotonic()
            self.admin.post("/entities/orders/items", {"name": "x"}, expect=201)
            took.append(time.monotonic() - since)
            time.sleep(0.15)
        return took

    def started(self):
        """Waits until every record has its one job. Returns the seconds from commit to start of the slowest new job."""
        schema = self.project.schema(self.db)
        where = table(self.project, self.db, self.entity)
        until(lambda: count(self.project, self.db, self.entity) == rows(
            self.db, f"select count(*) from {schema}.jobs_now where workflow_id = %s and status = 'succeeded'", self.flow["id"])[0][0],
            "a job each")
        assert rows(self.db, f"select count(*), count(distinct trigger_id) from {schema}.jobs where workflow_id = %s",
                    self.flow["id"])[0] == rows(self.db, f"select count(*), count(*) from {where}")[0]
        ((slowest, last),) = rows(
            self.db, f"select extract(epoch from max(j.started_at - o.created_at)), max(o.id) from {schema}.jobs_now j "
                     f"join {schema}.outbox o on o.id = j.origin where j.workflow_id = %s and o.id > %s", self.flow["id"], self.seen)
        self.seen = last
        return float(slowest)

    def follow(self, number, promise):
        """Creates orders and asserts that their jobs start within the promise. Returns the seconds that each request took."""
        took = self.create(number)
        slowest = self.started()
        assert slowest < allowed(promise), f"the slowest job began after {slowest:.1f} s"
        return took


@pytest.mark.timed
@pytest.mark.parametrize("fault", ["cut", "mute"])
def test_redis_is_gone(project, db, proxied_daemons, orders, order_workflow, fault):
    """D2, D4: Redis refuses connections, or accepts them and never answers: requests do not wait for Redis, and jobs start within two seconds."""
    proxy, gateway = proxied_daemons
    triggers = Triggers(project, db, gateway, orders, order_workflow)
    quick = max(triggers.create(5))
    proxy.say(fault)
    took = triggers.follow(20, 2.5)  # two seconds, and a margin
    assert sorted(took)[-2] < allowed(max(1.0, 5 * quick))
    proxy.say("pass")
    triggers.follow(5, 2.5)


@pytest.mark.timed
def test_redis_is_full(project, db, redis_client, proxied_daemons, orders, order_workflow):
    """D3: Redis refuses notifications, but jobs start. Afterwards the streams are read again."""
    triggers = Triggers(project, db, proxied_daemons[1], orders, order_workflow)
    redis_client.config_set("maxmemory", 1)
    try:
        triggers.follow(15, 2.5)
    finally:
        redis_client.config_set("maxmemory", 0)
    triggers.follow(5, 2.5)
    until(lambda: pending(redis_client, "evt") == 0, "the streams drain")


@pytest.mark.timed
def test_redis_forgets_everything(project, db, servers, redis_client, proxied_daemons, orders, order_workflow):
    """D1: Redis forgets its data under load, first by FLUSHALL, then by a kill and a restart with an empty disk: each record has one job within five
    seconds."""
    triggers = Triggers(project, db, proxied_daemons[1], orders, order_workflow)
    for forget in (redis_client.flushall, lambda: restart_empty(servers)):
        triggers.create(5)
        forget()
        triggers.create(10)
        assert triggers.started() < allowed(5)
        until(lambda: is_quiet(redis_client), "every group is there again")
        assert refused(redis_client) <= 100


def is_quiet(redis_client):
    before = refused(redis_client)
    time.sleep(1)
    return refused(redis_client) == before


def refused(redis_client):
    """Returns the number of commands that found no consumer group since Redis started."""
    told = redis_client.info("errorstats").get("errorstat_NOGROUP", "count=0")
    return told["count"] if isinstance(told, dict) else int(told.removeprefix("count="))


def restart_empty(servers):
    servers.redis("kill")
    for path in (servers.folder / "redis").glob("appendonlydir/*"):
        path.unlink()
    servers.redis("start")
