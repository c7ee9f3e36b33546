"""Mail: sends rows of the queue to a local sink over four connections, compared with npm's nodemailer with four connections."""
import pathlib
import statistics
import subprocess
import sys
import time

import peers
from world import MASTER_KEY  # first: it makes the flow tests' library importable
from groundwork.cpu import cpu_seconds
from groundwork.daemon import Daemon, free_port

MAILS, CONNECTIONS = 10_000, 4
# By default nodemailer's pool waits 40 ms per mail for an acknowledgement (Nagle's algorithm), so it gets fewer mails; the other variant does not wait.
PEERS = {"nodemailer pooled": (300, 50, ()), "nodemailer pooled, TCP_NODELAY": (MAILS, 1000, ("nodelay",))}
BARS = {"nodemailer pooled": 3, "nodemailer pooled, TCP_NODELAY": 0.8}


class Sink:
    def __init__(self):
        self.port = free_port()
        self.process = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("mail_sink.py"), str(self.port)],
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def stop(self):
        """Stops the sink; returns what it has received."""
        self.process.terminate()
        return self.process.communicate(timeout=10)[0].strip()


def fill(world, schema, count):
    """Inserts rows like SendEmail, not due yet."""
    world.sql(f"delete from {schema}.mails")
    world.sql(f"insert into {schema}.mails (type, recipient, content, give_up_at, due_at) select 'workflow', 'n' || n || '@example.org',"
              " jsonb_build_object('to', jsonb_build_array('n' || n || '@example.org'), 'subject', 'Dinner', 'text', repeat('Are you coming? ', 60)),"
              " now() + interval '1 hour', now() + interval '1 hour' from generate_series(1, %s) n", count)
    world.vacuum(f"{schema}.mails")


def queue(world, schema, pid):
    """{"rate", "cpu_us"} from the moment when all rows are due to the end of the last."""
    fill(world, schema, MAILS)
    before, begun = cpu_seconds([pid]), time.monotonic()
    world.sql(f"update {schema}.mails set due_at = now()")
    end = begun + 300
    while world.sql(f"select exists (select 1 from {schema}.mails where due_at is not null)")[0][0]:
        assert time.monotonic() < end, "the mails do not end"
        time.sleep(0.02)
    seconds = time.monotonic() - begun
    (sent,), = world.sql(f"select count(*) from {schema}.mails where status = 'sent' and tries = 1")
    assert sent == MAILS, f"{sent} of {MAILS} were sent at once"
    return {"rate": MAILS / seconds, "cpu_us": (cpu_seconds([pid]) - before) * 1e6 / MAILS}


def mails(world, folder, args, out, say):
    world.project("mails")
    schema, sink = world.schema("mails"), Sink()
    world.sql("insert into platform.mail_projects select number from platform.projects where slug = 'mails' on conflict do nothing")
    runner = Daemon(pathlib.Path(world.gateway.binary).with_name("workflow-runner"), world.servers.folder / "mails.log",
                    DATABASE_URL=world.servers.database_url, REDIS_URL=world.servers.redis_url, MASTER_KEY=MASTER_KEY, WORKERS=1, SWEEP_MS=100,
                    SMTP_URL=f"smtp+plain://127.0.0.1:{sink.port}", MAIL_FROM="bench@example.org", MAIL_SLOTS_PER_PROJECT=CONNECTIONS).start()
    reason = peers.install()
    seen = {name: [] for name in ("ours", *PEERS)}
    try:
        pid = runner.workers()[0]
        for number in range(args.rounds):
            say(f"  round {number + 1} of {args.rounds}")
            seen["ours"].append(queue(world, schema, pid))
            for name, (count, warm, options) in PEERS.items():
                if not reason:
                    seen[name].append(peers.node("nodemailer", sink.port, count, CONNECTIONS, warm, *options))
            say("   " + ", ".join(f"{name} {runs[-1]['rate']:,.0f}/s" for name, runs in seen.items() if runs))
    finally:
        runner.stop()
        say(f"  sink: {sink.stop()}")
    for name, bar in BARS.items():
        row(out, name, bar, seen["ours"], seen[name], reason)


def row(out, name, bar, ours, theirs, reason):
    title = f"mails a second into a local sink, {CONNECTIONS} connections / {name}"
    if reason:
        out.add(title, "not measured", f">= {bar}", True, reason)
        return
    ratios = [mine["rate"] / other["rate"] for mine, other in zip(ours, theirs)]
    median = lambda side, what: statistics.median(run[what] for run in side)  # noqa: E731
    out.add(title, f"{statistics.median(ratios):.2f} x [{min(ratios):.2f} .. {max(ratios):.2f}]", f">= {bar}", statistics.median(ratios) >= bar,
            f"{median(ours, 'rate'):,.0f}/s against {median(theirs, 'rate'):,.0f}/s, {median(ours, 'cpu_us'):.0f} us of a processor each "
            f"against {median(theirs, 'cpu_us'):.0f}; ours are rows before and after")
