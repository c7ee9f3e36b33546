"""Workflows: jobs per second compared with job queues, executions compared with n8n, the cost of events and the delay until a job starts."""
import statistics
import threading
import time

import n8n
import peers
from groundwork.runs import condition, step
from groundwork.workflows import api_trigger, document, event
from tools import CLIENTS, Nginx, lua, requests_lua, wrk
from world import standard_user

DRAIN_SECONDS = 120


def make_workflow(admin, trigger, steps, **members):
    return admin.post("/workflows", document(trigger, steps, **members), expect=201).json()


def caller_of_routes(admin):
    """A user who may only start workflows over their routes."""
    role = admin.post("/roles", {"name": "Caller", "api_access": True, "permissions": ["svc_workflows:trigger"]}, expect=201)
    account = {"email": "caller@example.com", "password": "correct horse battery staple"}
    admin.post("/users", {**account, "role_ids": [role.json()["id"]]}, expect=201)
    return type(admin)(admin.base_url).sign_in(**account)


def bearer(client):
    return {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}


class Jobs:
    """The jobs of a project in the database."""

    def __init__(self, world, slug):
        self.connection = world.servers.connect()
        self.schema = world.schema(slug)

    def query_row(self, text, *params):
        with self.connection.cursor() as cursor:
            cursor.execute(text.replace("{p}", self.schema), params)
            return cursor.fetchone()

    def newest(self):
        return self.query_row("select coalesce(max(id), 0) from {p}.jobs")[0]

    def wait(self):
        """Waits until no job is open."""
        end = time.monotonic() + DRAIN_SECONDS
        pending = "exists (select 1 from {p}.outbox where pending & 1 <> 0)"
        while self.query_row(f"select exists (select 1 from {{p}}.job_leases) or {pending}")[0]:
            if time.monotonic() > end:
                raise RuntimeError(f"jobs are open after {DRAIN_SECONDS} s")
            time.sleep(0.01)

    def results_since(self, newest):
        """{"jobs", "seconds", "rate", "errors"} of the jobs after `newest`, from the first to the end of the last, by
        the database's clock; errors are jobs that did not succeed."""
        jobs, errors, seconds = self.query_row(
            "select count(*), count(*) filter (where status <> 'succeeded'),"
            " extract(epoch from max(finished_at) - min(queued_at))::float from {p}.jobs where id > %s", newest)
        return {"jobs": jobs, "errors": errors, "seconds": seconds, "rate": jobs / seconds if seconds else 0.0}


# --- jobs of one step, compared with job queues -----------------------------------------------------------


def jobs(world, folder, args, out, say):
    admin = world.project("jobs")
    make_workflow(admin, api_trigger("noop"), [condition()])
    caller = caller_of_routes(admin)
    table = Jobs(world, "jobs")
    script = lua(folder, "noop", "wrk.method = 'POST'\nwrk.body = '{\"n\":1}'\n")
    reason = peers.install()
    if reason:
        say(f"  comparison with the queues: {reason}")
    names = [] if reason else ["pgboss", "graphile-default", "graphile", "bullmq"]
    seen = {name: [] for name in ["ours", *names]}

    def ours(seconds):
        newest = table.newest()
        sent = wrk(f"{caller.base_url}/workflows/api/noop", seconds, script, bearer(caller))
        table.wait()
        done = table.results_since(newest)
        return {**done, "errors": done["errors"] + sent["errors"], "enqueue_rate": sent["rate"]}

    redis = peers.PlainRedis(folder)
    world.start_runner()
    try:
        ours(1)  # prepares plans and statements; the queues also do this before their measurement
        for number in range(args.rounds):
            say(f"  round {number + 1} of {args.rounds}")
            seen["ours"].append(ours(args.seconds))
            for name in names:
                seen[name].append(peers.run(world, redis, name, args.seconds))
            say("   " + ", ".join(f"{name} {rates[-1]['rate']:,.0f}/s" for name, rates in seen.items()))
    finally:
        world.stop_runner()
        redis.stop()
    report_jobs(seen, reason, out)


def report_jobs(seen, reason, out):
    ours = seen.pop("ours")
    mine = statistics.median(o["rate"] for o in ours)
    errors = sum(o["errors"] for o in ours)
    enqueued = statistics.median(o["enqueue_rate"] for o in ours)
    out.add("jobs of one step, a second", f"{mine:,.0f}", ">= 6,750", mine >= 6750 and not errors,
            f"enqueued at {enqueued:,.0f}/s by {CLIENTS} connections; {errors} errors")
    bars = {
        "pgboss": (3, "pg-boss, four pollers, batches of 1,000"),
        "graphile-default": (5, "graphile-worker as it comes"),
        "graphile": (None, "graphile-worker, own queue and joint completions"),
        "bullmq": (0.5, "BullMQ, Redis without AOF: nothing on disk; aim 1"),
    }
    for name, (bar, note) in bars.items():
        if name not in seen:
            out.add(f"jobs / {name}", "not measured", f">= {bar}", True, reason)
            continue
        rates = [o["rate"] / t["rate"] for o, t in zip(ours, seen[name])]
        ratio = statistics.median(rates)
        theirs = statistics.median(t["rate"] for t in seen[name])
        out.add(f"jobs / {name}", f"{ratio:.2f} x [{min(rates):.2f} .. {max(rates):.2f}]", f">= {bar}" if bar else "-",
                bar is None or ratio >= bar, f"{mine:,.0f}/s against {theirs:,.0f}/s; {note}")


# --- two steps with history, compared with n8n ------------------------------------------------------------

AT_ONCE = 16


def chain(world, folder, args, out, say):
    sink = Nginx(folder, 1)
    admin = world.project("chain")
    check = condition("check", {"field": "$svc.trigger.data.n", "op": "eq", "value": 1}, then="call")
    make_workflow(admin, api_trigger("chain"), [check, step("call", "CallAnApi", {"url": sink.json_url, "method": "GET"})])
    caller = caller_of_routes(admin)
    table = Jobs(world, "chain")
    script = lua(folder, "chain", "wrk.method = 'POST'\nwrk.body = '{\"n\":1}'\nwrk.headers['Content-Type'] = 'application/json'\n")
    mine, theirs, other = [], [], None

    def ours():
        newest = table.newest()
        sent = wrk(f"{caller.base_url}/workflows/api/chain", args.seconds, script, bearer(caller), clients=AT_ONCE)
        table.wait()
        done = table.results_since(newest)
        return {**done, "errors": done["errors"] + sent["errors"]}

    reason = n8n.install()
    world.start_runner(JOB_SLOTS_PER_PROJECT=AT_ONCE, FETCH_ALLOW=f"127.0.0.1:{sink.port}")
    try:
        if not reason:
            say("  starting n8n")
            try:
                other = n8n.N8n(world, folder, sink.json_url, AT_ONCE)
                other.run(2, script, AT_ONCE)
            except RuntimeError as error:
                reason = str(error)
        ours()
        for number in range(args.rounds):
            mine.append(ours())
            if not reason:
                theirs.append(other.run(args.seconds, script, AT_ONCE))
            say(f"  round {number + 1} of {args.rounds}: " + ", ".join(f"{r[-1]['rate']:,.0f}/s" for r in (mine, theirs) if r))
    finally:
        if other:
            other.stop()
        world.stop_runner()
        sink.stop()
    report_chain(mine, theirs, reason, out)


def report_chain(mine, theirs, reason, out):
    rate = statistics.median(o["rate"] for o in mine)
    errors = sum(o["errors"] for o in mine)
    name, note = "executions of two steps / n8n", f"{AT_ONCE} at once, condition and call, with history; {errors} errors"
    if reason:
        out.add(name, "not measured", ">= 15", not errors, f"{rate:,.0f}/s; {note}; {reason}")
        return
    rates = [o["rate"] / t["rate"] for o, t in zip(mine, theirs)]
    other = statistics.median(t["rate"] for t in theirs)
    out.add(name, f"{statistics.median(rates):.1f} x [{min(rates):.1f} .. {max(rates):.1f}]", ">= 15",
            statistics.median(rates) >= 15 and not errors, f"{rate:,.0f}/s against {other:,.0f}/s; {note}")


# --- records that workflows listen to -------------------------------------------------------------

FIELDS = [{"name": "name", "type": "varchar"}, {"name": "price", "type": "float"}]
LISTENERS = 10


def create_script(folder, admin, entity):
    path = f"/org/{admin.base_url.rsplit('/', 1)[1]}/entities/{entity}/items"
    return lua(
        folder, f"create-{entity}",
        "wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\n"
        + requests_lua(f"wrk.format(nil, '{path}', nil, '{{\"name\":\"Number ' .. i .. '\",\"price\":' .. i % 1000 .. '.5}}')"),
    )


def listeners(world, folder, args, out, say):
    admin = world.project("listeners")
    for entity in ("plain", "listened"):
        admin.post("/entities", {"name": entity, "fields": FIELDS}, expect=201)
    for _ in range(LISTENERS):
        make_workflow(admin, event("listened"), [condition()])
    time.sleep(1.2)  # the model's epoch has reached every worker
    table = Jobs(world, "listeners")
    scripts = {entity: create_script(folder, admin, entity) for entity in ("plain", "listened")}

    def forget():
        """Drops the work that is left, so that each round begins with an empty queue."""
        with table.connection.cursor() as cursor:
            cursor.execute("truncate {p}.jobs, {p}.job_leases, {p}.job_steps, {p}.outbox".replace("{p}", table.schema))

    def rounds(name, around):
        seen = {"plain": [], "listened": []}
        for number in range(args.rounds + 1):  # the first round only warms up
            for entity, results in seen.items():
                with around():
                    results.append(wrk(world.gateway.url, args.seconds if number else 1, scripts[entity], bearer(admin)))
                forget()
        report_listeners(name, {entity: results[1:] for entity, results in seen.items()}, out)

    say("  without a runner")
    rounds("ten listeners, creates", lambda: RunnerContext(world, False))
    say("  with a runner")
    rounds("ten listeners, creates beside their jobs", lambda: RunnerContext(world, True))


class RunnerContext:
    """A context in which a runner runs, or none."""

    def __init__(self, world, wanted):
        self.world, self.wanted = world, wanted

    def __enter__(self):
        if self.wanted:
            self.world.start_runner()

    def __exit__(self, *_):
        self.world.stop_runner()


def report_listeners(name, seen, out):
    costs = [1 - listened["rate"] / plain["rate"] for plain, listened in zip(seen["plain"], seen["listened"])]
    plain, listened = (statistics.median(r["rate"] for r in seen[entity]) for entity in ("plain", "listened"))
    errors = sum(r["errors"] for results in seen.values() for r in results)
    cost = statistics.median(costs)
    out.add(name, f"{cost:.0%} less [{min(costs):.0%} .. {max(costs):.0%}]", "<= 30%", cost <= 0.3 and not errors,
            f"{listened:,.0f}/s against {plain:,.0f}/s without listeners; {errors} errors")


# --- from a write to the first step ---------------------------------------------------------------

WRITES_A_SECOND = 200
WRITERS = 8


def write_evenly(admin, entity, seconds, sent):
    """Writes WRITES_A_SECOND records per second with WRITERS callers; sent[record id] = wall time before the request."""
    begin = time.time() + 0.1
    errors = []

    def write(number):
        client = type(admin)(admin.base_url, token=admin.token)
        for turn in range(number, WRITES_A_SECOND * seconds, WRITERS):
            time.sleep(max(0.0, begin + turn / WRITES_A_SECOND - time.time()))
            at = time.time()
            answer = client.post(f"/entities/{entity}/items", {"name": f"Number {turn}", "price": turn})
            if answer.status_code == 201:
                sent[answer.json()["id"]] = at
            else:
                errors.append(answer.status_code)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(errors)


def percentiles(values):
    """(median, 99th percentile) in ms of durations in seconds."""
    ordered = sorted(values)
    return statistics.median(ordered) * 1000, ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000


def latency(world, folder, args, out, say):
    admin = world.project("latency")
    entity = admin.post("/entities", {"name": "orders", "fields": FIELDS}, expect=201).json()
    make_workflow(admin, event("orders"), [condition()])
    user = standard_user(admin, "orders")
    time.sleep(1.2)
    table = Jobs(world, "latency")
    world.start_runner()
    try:
        write_evenly(user, "orders", 2, {})
        table.wait()
        newest, sent = table.newest(), {}
        seconds = args.rounds * args.seconds
        errors = write_evenly(user, "orders", seconds, sent)
        table.wait()
    finally:
        world.stop_runner()
    with table.connection.cursor() as cursor:
        cursor.execute(
            "select j.trigger_id, extract(epoch from s.started_at - r.created_at)::float, extract(epoch from s.started_at)::float"
            " from {p}.jobs j join {p}.job_steps s on s.job_id = j.id join {p}.{e} r on r.id = j.trigger_id where j.id > %s"
            .replace("{p}", table.schema).replace("{e}", f"e_{entity['id']}"), (newest,))
        found = cursor.fetchall()
    errors += len(sent) - len(found)
    p50, p99 = percentiles([waited for _, waited, _ in found])
    seen50, seen99 = percentiles([at - sent[record] for record, _, at in found if record in sent])
    note = f"{len(found) / seconds:,.0f} writes/s; from the request {seen50:.1f} ms and {seen99:.1f} ms; {errors} errors"
    out.add("write to first step, median", f"{p50:.1f} ms", "<= 10 ms", p50 <= 10 and not errors, note)
    out.add("write to first step, p99", f"{p99:.1f} ms", "<= 250 ms", p99 <= 250, "the database's clock")
