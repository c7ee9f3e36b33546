"""Push: broadcasts compared with firebase-admin and web-push, their memory, and the delay of another project's single notification. The
provider is nginx, which answers immediately."""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import peers
from world import ROOT  # first: it makes the flow tests' library importable
from groundwork.cpu import cpu_seconds
from groundwork.daemon import free_port
from groundwork.push_keys import service_account, subscription
from groundwork.runs import step
from groundwork.workflows import api_trigger
from memory import reset_peak, peak_mb
from workflows import caller_of_routes, make_workflow

sys.path.insert(0, str(ROOT / "tests"))
from push import certificates  # noqa: E402

PHONES, BROWSERS, MANY, MANY_QUICK, SINGLES = 100_000, 20_000, 1_000_000, 200_000, 200
TEXT = {"title": "Dinner", "body": "Are you coming?"}
# Peers: name in the table, arguments of the program, messages per round, the required ratio of our rate to theirs.
FCM_PEERS = {"firebase-admin": ("firebase", 10_000, 5), "a plain node:http2 client": ("http2", 30_000, None)}
WEB_MESSAGES, WEB_BAR = 5_000, 5


class Provider:
    """Simulates FCM and a web push service, over TLS, with HTTP/2 for clients that support it. Logs the messages of the project `single`."""

    def __init__(self, folder):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="push.", dir=folder))
        self.root.chmod(0o755)
        self.ca, server = certificates.make(self.root)
        self.port, self.web_port = free_port(), free_port()
        # An answer before the whole request has been read would reset its stream.
        sent = "default_type application/json; echo_read_request_body; echo '{\"name\":\"projects/x/messages/1\"}';"
        tls = f"ssl http2; http2_max_concurrent_streams 100; ssl_certificate {server}; ssl_certificate_key {server}"
        (self.root / "nginx.conf").write_text(
            f"load_module modules/ngx_http_echo_module.so; worker_processes 1; pid {self.root}/pid; error_log {self.root}/error.log; daemon off;\n"
            "events { worker_connections 4096; }\n"
            "http { log_format at '$msec'; access_log off; keepalive_requests 1000000000; keepalive_timeout 600;\n"
            f"server {{ listen 127.0.0.1:{self.port} {tls};\n"
            "location = /token { default_type application/json;"
            " return 200 '{\"access_token\":\"t\",\"expires_in\":3599,\"token_type\":\"Bearer\"}'; }\n"
            f"location ~ ^/v1/projects/single/ {{ access_log {self.root}/single.log at; {sent} }}\n"
            f"location / {{ {sent} }} }}\n"
            f"server {{ listen 127.0.0.1:{self.web_port} {tls}; location / {{ echo_read_request_body; echo_status 201; echo -n; }} }} }}\n")
        self.process = subprocess.Popen(["nginx", "-c", self.root / "nginx.conf"], stderr=subprocess.DEVNULL)
        time.sleep(0.5)

    @property
    def fcm(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def web(self):
        return f"https://127.0.0.1:{self.web_port}"

    def single_arrivals(self):
        """The times at which the messages of `single` arrived, in seconds."""
        log = self.root / "single.log"
        return [float(line) for line in log.read_text().split()] if log.exists() else []

    def stop(self):
        self.process.terminate()
        self.process.wait(5)


def start(world, provider):
    return world.start("push-dispatcher", FCM_URL=provider.fcm, FCM_TOKEN_URL=f"{provider.fcm}/token",
                       FETCH_CA_FILE=provider.ca, FETCH_ALLOW=f"127.0.0.1:{provider.port},127.0.0.1:{provider.web_port}")


def configure_project(world, slug):
    """Creates a project with credentials of both providers; returns the client of its administrator."""
    admin = world.project(slug)
    admin.put("/push/credentials/fcm", {"service_account_json": service_account(slug)}, expect=200)
    admin.put("/push/credentials/web-push", {"subject": "mailto:bench@example.org"}, expect=200)
    admin.put("/", {"settings": {"rate_read": 0, "rate_write": 0, "rate_heavy": 0}}, expect=200)
    return admin


def add_phones(world, schema, first, last):
    world.sql(f"insert into {schema}.push_devices (provider, token, token_hash) select 'fcm', repeat('t', 140) || n, sha256(n::text::bytea) "
              "from generate_series(%s, %s) n", first, last)
    world.vacuum(f"{schema}.push_devices")


def add_browsers(world, schema, provider):
    made = subscription(f"{provider.web}/push/NUMBER")
    world.sql(f"insert into {schema}.push_devices (provider, token, token_hash) select 'web_push', replace(%s, 'NUMBER', n::text), "
              "sha256(n::text::bytea) from generate_series(1, %s) n", made, BROWSERS)


def send(admin, **members):
    return admin.post("/push/test", {**TEXT, **members}, expect=202).json()["send_log_id"]


def seconds_to_end(world, schema, number, within=600):
    """Seconds from the row of a send to its end."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        (status, seconds, wrong), = world.sql(f"select status, extract(epoch from finished_at - created_at)::float, first_error "
                                              f"from {schema}.push_sends where id = %s", number)
        if seconds is not None:
            assert status == "Succeeded", (status, wrong)
            return seconds
        time.sleep(0.05)
    raise RuntimeError("the broadcast does not end")


def single_delays_ms(begin, provider, count, pause):
    """Milliseconds from each call to the request at the provider."""
    took = []
    for _ in range(count):
        before, since = len(provider.single_arrivals()), time.time()
        begin()
        end = time.monotonic() + 30
        while len(seen := provider.single_arrivals()) == before and time.monotonic() < end:
            time.sleep(0.002)
        took.append((seen[before] - since) * 1000 if len(seen) > before else 30000)
        time.sleep(pause)
    return sorted(took)


def p99(took):
    return took[int(len(took) * 0.99)]


def median(runs, what):
    return statistics.median(run[what] for run in runs)


def pushes(world, folder, args, out, say):
    provider = Provider(folder)
    daemon = start(world, provider)
    try:
        bench = Bench(world, provider, daemon, args, out, say)
        bench.latency()
        bench.rates()
        bench.many()
    finally:
        world.stop_runner()
        daemon.stop()
        provider.stop()


class Bench:
    """A project with phones and browsers, and one with a single phone."""

    def __init__(self, world, provider, daemon, args, out, say):
        self.world, self.provider, self.args, self.out, self.say = world, provider, args, out, say
        self.broadcaster, self.alone = configure_project(world, "broadcast"), configure_project(world, "single")
        self.schema = world.schema("broadcast")
        self.alone.post("/push/devices", {"provider": "fcm", "token": "only"}, expect=201)
        add_phones(world, self.schema, 1, PHONES)
        add_browsers(world, self.schema, provider)
        (self.pid,) = daemon.workers()
        out.add("memory of an idle dispatcher", f"{peak_mb(self.pid):.1f} MB", "<= 15 MB", peak_mb(self.pid) <= 15)

    def latency(self):
        took = single_delays_ms(lambda: send(self.alone), self.provider, SINGLES, 0)
        self.out.add("test send to request at the provider, median", f"{statistics.median(took):.1f} ms", "-", True, f"p99 {p99(took):.1f} ms")
        make_workflow(self.alone, api_trigger("ask"), [step("ask", "SendPushNotification", {**TEXT, "audience": {"kind": "all"}})])
        caller = caller_of_routes(self.alone)
        self.world.start_runner()
        took = single_delays_ms(lambda: caller.post("/workflows/api/ask", {}), self.provider, SINGLES, 0)
        self.world.stop_runner()
        self.out.add("trigger of a workflow to request at the provider, median", f"{statistics.median(took):.1f} ms", "<= 20 ms",
                     statistics.median(took) <= 20, f"p99 {p99(took):.1f} ms; aim 5")

    def broadcast(self, name, count):
        """{"rate", "cpu_us"}: devices per second, and CPU time of the dispatcher per device."""
        before = cpu_seconds([self.pid])
        rate = count / seconds_to_end(self.world, self.schema, send(self.broadcaster, provider=name))
        return {"rate": rate, "cpu_us": (cpu_seconds([self.pid]) - before) * 1e6 / count}

    def rates(self):
        """Measures the broadcasts and the peers in alternating rounds."""
        reason = peers.install()
        if reason:
            self.say(f"  clients of others: {reason}")
        seen = {"fcm": [], "web_push": [], "web-push": [], **{name: [] for name in FCM_PEERS}}
        reset_peak(self.pid)
        for number in range(self.args.rounds):
            self.say(f"  round {number + 1} of {self.args.rounds}")
            seen["fcm"].append(self.broadcast("fcm", PHONES))
            seen["web_push"].append(self.broadcast("web_push", BROWSERS))
            if reason:
                continue
            for name, (kind, count, _) in FCM_PEERS.items():
                seen[name].append(peers.node("fcm", self.provider.fcm, count, kind, ca=self.provider.ca))
            seen["web-push"].append(peers.node("webpush", self.provider.web, WEB_MESSAGES, ca=self.provider.ca))
            self.say("   " + ", ".join(f"{name} {runs[-1]['rate']:,.0f}/s" for name, runs in seen.items()))
        rate = median(seen["fcm"], "rate")
        self.out.add(f"broadcast to {PHONES:,} phones", f"{rate:,.0f} devices/s", ">= 10,000", rate >= 10_000,
                     "rows, requests over HTTP/2 and TLS, results; aim 20,000")
        for name, (_, _, bar) in FCM_PEERS.items():
            self.ratio(f"broadcast to phones / {name}", bar, seen["fcm"], seen[name], reason)
        self.ratio("broadcast to browsers / web-push", WEB_BAR, seen["web_push"], seen["web-push"], reason)

    def ratio(self, name, bar, ours, theirs, reason):
        text = f">= {bar}" if bar else "-"
        if reason:
            self.out.add(name, "not measured", text, True, reason)
            return
        ratios = [mine["rate"] / other["rate"] for mine, other in zip(ours, theirs)]
        ratio = statistics.median(ratios)
        self.out.add(name, f"{ratio:.2f} x [{min(ratios):.2f} .. {max(ratios):.2f}]", text, bar is None or ratio >= bar,
                     f"{median(ours, 'rate'):,.0f}/s against {median(theirs, 'rate'):,.0f}/s, {median(ours, 'cpu_us'):.0f} us of a processor "
                     f"each against {median(theirs, 'cpu_us'):.0f}" + ("; aim 10" if bar else ""))

    def many(self):
        count = MANY_QUICK if self.args.quick else MANY
        add_phones(self.world, self.schema, PHONES + 1, count)
        reset_peak(self.pid)
        number = send(self.broadcaster, provider="fcm")
        took = single_delays_ms(lambda: send(self.alone), self.provider, SINGLES, 0.02)
        early = self.world.sql(f"select finished_at is not null from {self.schema}.push_sends where id = %s", number)[0][0]
        seconds = seconds_to_end(self.world, self.schema, number)
        self.out.add(f"single notification during another project's broadcast to {count:,}, p99", f"{p99(took):.0f} ms", "<= 500 ms",
                     p99(took) <= 500, f"median {statistics.median(took):.1f} ms; aim 100" + ("; the broadcast ended before" if early else ""))
        peak = peak_mb(self.pid)
        self.out.add(f"memory of a dispatcher in a broadcast to {count:,}", f"{peak:.0f} MB", "<= 64 MB", peak <= 64, f"{count / seconds:,.0f} devices/s")
