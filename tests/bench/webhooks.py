"""Events of the payment processor: the rates at which they are stored and applied, and the delay until a workflow's first step."""
import hashlib
import hmac
import http.client
import json
import random
import re
import statistics
import subprocess
import threading
import time

from groundwork.runs import condition
from groundwork.workflows import document
from tools import CLIENTS, lua, pgbench_program, wrk
from workflows import Jobs, make_workflow, percentiles

SECRET = "whsec_bench_0123456789"
SLUG = "webhooks"
PATH = f"/webhooks/processor/{SLUG}"
EVENLY = 500  # events a second whose 99th percentile counts
SENDERS = 16
BACKLOG = 100_000
STEPS_A_SECOND = 50


def event(number, type_="payment_intent.succeeded", at=None, status="succeeded"):
    """An event of the usual size about the payment intent of a number."""
    at = int(at or time.time())
    intent = f"pi_{number:024d}"
    return {
        "id": f"evt_{random.getrandbits(96):024x}", "object": "event", "api_version": "2026-10-28.endive", "created": at,
        "livemode": False, "pending_webhooks": 1, "request": {"id": None, "idempotency_key": None}, "type": type_,
        "data": {"object": {
            "id": intent, "object": "payment_intent", "amount": 2000, "amount_capturable": 0,
            "amount_details": {"tip": {}}, "amount_received": 2000, "application": None, "application_fee_amount": None,
            "automatic_payment_methods": {"allow_redirects": "never", "enabled": True}, "canceled_at": None,
            "cancellation_reason": None, "capture_method": "automatic_async", "client_secret": f"{intent}_secret_x",
            "confirmation_method": "automatic", "created": at - 5, "currency": "usd", "customer": f"cus_{number:014d}",
            "description": "Subscription creation", "excluded_payment_method_types": None, "last_payment_error": None,
            "latest_charge": f"ch_{number:024d}", "livemode": False, "metadata": {"project_id": SLUG},
            "next_action": None, "on_behalf_of": None, "payment_method": f"pm_{number:024d}",
            "payment_method_options": {"card": {"installments": None, "mandate_options": None, "network": None,
                                                "request_three_d_secure": "automatic"}},
            "payment_method_types": ["card"], "processing": None, "receipt_email": "payer@example.com", "review": None,
            "setup_future_usage": "off_session", "shipping": None, "source": None, "statement_descriptor": None,
            "statement_descriptor_suffix": None, "status": status, "transfer_data": None, "transfer_group": None,
        }},
    }


def signature_headers(body, at=None):
    at = int(at or time.time())
    mac = hmac.new(SECRET.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={mac}"


def configure(world, slug):
    """Creates a project that receives the events of its own account."""
    admin = world.project(slug)
    admin.put("/integrations/svcpay/processor-connect/credentials",
              {"mode": "own", "secret_key": "sk_test_bench", "webhook_secrets": [{"secret": SECRET}]}, expect=200)
    return admin


# --- stored ---------------------------------------------------------------------------------------

REQUESTS = """
local file = io.open("%s", "rb")
function request()
  local head = file:read(8)
  if not head then wrk.thread:stop() return "" end
  return file:read(tonumber(head, 16))
end
"""


def write_requests(path, port, count):
    """Writes requests to a file, each preceded by its length, so that the generator only has to read."""
    with open(path, "wb") as file:
        for number in range(count):
            body = json.dumps(event(number)).encode()
            head = (f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
                    f"Stripe-Signature: {signature_headers(body)}\r\nContent-Length: {len(body)}\r\n\r\n").encode()
            file.write(f"{len(head) + len(body):08x}".encode() + head + body)


def bare_insert(world, schema, seconds):
    """Inserts the same rows with pgbench, 64 clients, prepared."""
    payload = json.dumps(event(0))
    text = ("\\set n random(1, 9000000000000000000)\n"
            f"insert into {schema}.webhook_events (source, event_id, type, api_version, created_at, payload)"
            " values ('processor', 'evt_' || :n, 'payment_intent.succeeded', '2026-10-28.endive', now(), :payload);\n")
    script = world.servers.folder / "insert.sql"
    script.write_text(text)
    command = [pgbench_program(), "-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "1", "-T", str(seconds),
               "-D", f"payload={payload}", "-f", str(script), world.servers.database_url]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {"rate": float(re.search(r"tps = ([\d.]+)", out).group(1))}


def ingest(world, folder, args, out, say):
    """Measures a process that stores events without applying them, compared with the bare INSERT."""
    schema, requests = world.schema(SLUG), f"{folder}/requests.bin"
    script = lua(folder, "webhooks", REQUESTS % requests)
    ours, theirs = [], []
    expected = 9000

    def forget():
        world.sql(f"truncate {schema}.webhook_events")

    for number in range(args.rounds + 1):
        seconds = args.seconds if number else 1
        forget()
        write_requests(requests, world.webhook.port, int(expected * seconds * 1.3))
        mine = wrk(world.webhook.url, seconds, script)
        stored = world.sql(f"select count(*) from {schema}.webhook_events")[0][0]
        mine["errors"] += abs(stored - mine["rate"] * seconds) > CLIENTS + mine["rate"] * 0.1
        forget()
        other = bare_insert(world, schema, seconds)
        if number:
            ours.append(mine)
            theirs.append(other)
            say(f"  round {number} of {args.rounds}: {mine['rate']:,.0f}/s against {other['rate']:,.0f}/s")
    forget()
    rates = [o["rate"] / t["rate"] for o, t in zip(ours, theirs)]
    ratio, errors = statistics.median(rates), sum(o["errors"] for o in ours)
    mine, other, p50, p99 = (statistics.median(r[key] for r in runs) for runs, key in (
        (ours, "rate"), (theirs, "rate"), (ours, "p50"), (ours, "p99")))
    out.add("webhooks stored / pgbench insert", f"{ratio:.2f} x [{min(rates):.2f} .. {max(rates):.2f}]", ">= 0.7",
            ratio >= 0.7 and not errors,
            f"{mine:,.0f}/s against {other:,.0f}/s; {CLIENTS} clients, p50 {p50:.1f} ms, p99 {p99:.1f} ms; {errors} errors")


def send_evenly(port, events, rate, taken):
    """Sends `events` bodies at `rate` per second with SENDERS threads; `taken` receives the seconds of each. Returns the number of failures."""
    begin = time.perf_counter() + 0.2
    failed = []

    def send(turn):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for index in range(turn, len(events), SENDERS):
            body = events[index]
            headers = {"Content-Type": "application/json", "Stripe-Signature": signature_headers(body)}
            time.sleep(max(0.0, begin + index / rate - time.perf_counter()))
            at = time.perf_counter()
            connection.request("POST", PATH, body, headers)
            answer = connection.getresponse()
            answer.read()
            taken.append(time.perf_counter() - at)
            if answer.status != 200:
                failed.append(answer.status)

    threads = [threading.Thread(target=send, args=(turn,)) for turn in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(failed)


def fill_payments(world, schema, count):
    """Creates payments in progress, without events."""
    world.sql(f"truncate {schema}.webhook_events, {schema}.payments")
    world.sql(
        f"insert into {schema}.payments (type, amount_minor, currency, status, reference, intent_id)"
        " select 'one_off', 2000, 'usd', 'processing', i, i from (select 'pi_' || lpad(n::text, 24, '0') as i"
        " from generate_series(1, %s) n) s", count)


def measure_even(world, args, out, say):
    """Sends 500 events per second, which are applied as they arrive."""
    seconds = max(args.rounds * args.seconds // 2, 5)
    fill_payments(world, world.schema(SLUG), EVENLY * seconds)
    events = [json.dumps(event(number + 1)).encode() for number in range(EVENLY * seconds)]
    taken = []
    say(f"  {EVENLY} a second for {seconds} s")
    failed = send_evenly(world.webhook.port, events, EVENLY, taken)
    p50, p99 = percentiles(taken)
    out.add(f"webhook answered at {EVENLY}/s, p99", f"{p99:.1f} ms", "<= 50 ms", p99 <= 50 and not failed,
            f"median {p50:.1f} ms; {len(taken):,} events, applied meanwhile; {failed} errors")


# --- applied --------------------------------------------------------------------------------------


def fill_backlog(world, schema):
    """Creates BACKLOG payments in progress, and for each a stored event of its success that is not applied yet."""
    fill_payments(world, schema, BACKLOG)
    template = json.dumps(event(0)).replace(f"{0:024d}", "#NUMBER#").replace(f"{0:014d}", "#SHORT#").replace("%", "%%")
    template = re.sub(r"evt_[0-9a-f]{24}", "evt_#NUMBER#", template)
    world.sql(
        f"insert into {schema}.webhook_events (source, event_id, type, api_version, created_at, payload)"
        " select 'processor', 'evt_' || i, 'payment_intent.succeeded', '2026-10-28.endive', now(),"
        " replace(replace(%s, '#NUMBER#', i), '#SHORT#', right(i, 14))"
        " from (select lpad(n::text, 24, '0') as i from generate_series(1, %s) n) s", template, BACKLOG)
    for table in ("webhook_events", "payments"):
        world.vacuum(f"{schema}.{table}")


def backlog(world, out, say):
    schema = world.schema(SLUG)
    say(f"  {BACKLOG:,} stored events")
    world.stop_webhook()
    fill_backlog(world, schema)
    connection = world.servers.connect()
    connection.autocommit = True
    cursor = connection.cursor()
    begin = time.monotonic()
    world.start_webhook()
    left = BACKLOG
    while left and time.monotonic() - begin < 300:
        time.sleep(0.2)
        cursor.execute(f"select exists (select 1 from {schema}.webhook_events where next_attempt_at is not null)")
        left = cursor.fetchone()[0]
    cursor.execute(
        f"select extract(epoch from max(applied_at) - min(applied_at))::float, count(*) filter (where state = 'applied')"
        f" from {schema}.webhook_events")
    seconds, applied = cursor.fetchone()
    cursor.execute(f"select count(*) from {schema}.payments where status = 'succeeded'")
    succeeded = cursor.fetchone()[0]
    connection.close()
    rate = applied / seconds if seconds else 0
    out.add(f"stored events applied, of {BACKLOG:,}", f"{rate:,.0f}/s", ">= 1,000/s",
            rate >= 1000 and applied == succeeded == BACKLOG, f"one process; {applied:,} applied, {succeeded:,} payments succeeded")


# --- followed by a workflow -----------------------------------------------------------------------


def steps(world, admin, args, out, say):
    schema = world.schema(SLUG)
    trigger = {"kind": "event", "event": "PaymentSucceeded"}
    make_workflow(admin, trigger, [condition()])
    table = Jobs(world, SLUG)
    seconds = max(args.rounds * args.seconds // 2, 4)
    count = STEPS_A_SECOND * seconds
    fill_payments(world, schema, count)
    say(f"  {STEPS_A_SECOND} a second for {seconds} s, each starts a workflow")
    time.sleep(1.2)
    world.start_runner()
    try:
        failed = send_evenly(world.webhook.port, [json.dumps(event(n + 1)).encode() for n in range(count)], STEPS_A_SECOND, [])
        time.sleep(1)
        table.wait()
    finally:
        world.stop_runner()
    found = world.sql(
        f"select extract(epoch from s.started_at - e.received_at)::float from {schema}.jobs_now j"
        f" join {schema}.job_steps s on s.job_id = j.id"
        f" join {schema}.payments p on p.id = (j.trigger_data->>'id')::bigint"
        f" join {schema}.webhook_events e on e.object = 'payment:' || p.id")
    waited = [seconds for (seconds,) in found] or [99.0]
    p50, p99 = percentiles(waited)
    out.add("event received to first step, median", f"{p50:.1f} ms", "<= 20 ms",
            p50 <= 20 and not failed and len(found) == count, f"p99 {p99:.1f} ms; {len(found)} of {count}; {failed} errors")


def measure_idle(world, out, say):
    say("  memory when idle")
    world.start_webhook()
    time.sleep(2)
    kilobytes = []
    for pid in world.webhook.workers():
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as text:
            kilobytes.append(sum(int(line.split()[1]) for line in text if line.startswith("Rss:")))
    megabytes = max(kilobytes) / 1024
    out.add("memory of an idle payments-webhook", f"{megabytes:.1f} MB", "<= 20 MB", megabytes <= 20)


def webhooks(world, folder, args, out, say):
    admin = configure(world, SLUG)
    try:
        measure_idle(world, out, say)
        world.stop_webhook()
        world.start_webhook(APPLY_SLOTS=0, DB_WRITE_CONNECTIONS=CLIENTS)  # as many as pgbench has
        ingest(world, folder, args, out, say)
        world.stop_webhook()
        world.start_webhook()
        measure_even(world, args, out, say)
        backlog(world, out, say)
        steps(world, admin, args, out, say)
    finally:
        world.stop_webhook()
