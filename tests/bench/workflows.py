"""Workflows: jobs a second beside job queues, and how long the first step of a job is waited for."""
import statistics
import time

import peers
from groundwork.runs import condition
from groundwork.workflows import api, document
from tools import CLIENTS, lua, wrk

DRAIN_SECONDS = 120


def make_workflow(admin, trigger, steps, **members):
    return admin.post("/workflows", document(trigger, steps, **members), expect=201).json()


def caller_of_routes(admin):
    """A user who may start workflows over their routes and nothing else."""
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

    def ask(self, text, *params):
        with self.connection.cursor() as cursor:
            cursor.execute(text.replace("{p}", self.schema), params)
            return cursor.fetchone()

    def newest(self):
        return self.ask("select coalesce(max(id), 0) from {p}.jobs")[0]

    def wait(self):
        """Until none is open: the partial indexes answer at once."""
        end = time.monotonic() + DRAIN_SECONDS
        open_jobs = "exists (select 1 from {p}.jobs where status = 'queued')" + (
            " or exists (select 1 from {p}.jobs where status in ('running', 'waiting'))")
        pending = "exists (select 1 from {p}.outbox where pending & 1 <> 0)"
        while self.ask(f"select {open_jobs} or {pending}")[0]:
            if time.monotonic() > end:
                raise RuntimeError(f"jobs are open after {DRAIN_SECONDS} s")
            time.sleep(0.01)

    def since(self, newest):
        """{"jobs", "seconds", "rate", "errors"} of the jobs after `newest`, from the first to the last one's end, by
        the database's clock; errors are jobs that did not succeed."""
        jobs, errors, seconds = self.ask(
            "select count(*), count(*) filter (where status <> 'succeeded'),"
            " extract(epoch from max(finished_at) - min(queued_at))::float from {p}.jobs where id > %s", newest)
        return {"jobs": jobs, "errors": errors, "seconds": seconds, "rate": jobs / seconds if seconds else 0.0}


def jobs(world, folder, args, out, say):
    admin = world.project("jobs")
    make_workflow(admin, api("noop"), [condition()])
    caller = caller_of_routes(admin)
    table = Jobs(world, "jobs")
    script = lua(folder, "noop", "wrk.method = 'POST'\nwrk.body = '{\"n\":1}'\n")
    reason = peers.install()
    if reason:
        say(f"  the queues beside: {reason}")
    names = [] if reason else ["pgboss", "graphile-default", "graphile", "bullmq"]
    seen = {name: [] for name in ["ours", *names]}

    def ours(seconds):
        newest = table.newest()
        sent = wrk(f"{caller.base_url}/workflows/api/noop", seconds, script, bearer(caller))
        table.wait()
        done = table.since(newest)
        return {**done, "errors": done["errors"] + sent["errors"], "enqueue_rate": sent["rate"]}

    redis = peers.PlainRedis(folder)
    world.start_runner()
    try:
        ours(1)  # plans and statements are made, as the queues make theirs before their clock starts
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
