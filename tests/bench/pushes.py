"""Push: a broadcast to many phones and browsers, its memory, and another project's single notification beside it. The provider is nginx,
which answers everything at once."""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from world import MASTER_KEY, ROOT  # first: it makes the flow tests' library importable
from groundwork.daemon import Daemon, free_port
from groundwork.push_keys import service_account, subscription
from memory import forget_peak, peak_mb

sys.path.insert(0, str(ROOT / "tests"))
from push import certificates  # noqa: E402

PHONES, BROWSERS, SINGLES = 100_000, 20_000, 100


class Provider:
    """FCM over HTTP/2 and TLS, a web push service over HTTP. What the project `single` sends stands in the log."""

    def __init__(self, folder):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="push.", dir=folder))
        self.root.chmod(0o755)
        self.ca, server = certificates.make(self.root)
        self.port, self.web_port = free_port(), free_port()
        sent = "default_type application/json; return 200 '{\"name\":\"projects/x/messages/1\"}';"
        (self.root / "nginx.conf").write_text(
            f"worker_processes 1; pid {self.root}/pid; error_log {self.root}/error.log; daemon off;\n"
            "events { worker_connections 4096; }\n"
            "http { log_format at '$msec'; access_log off; keepalive_requests 1000000000; keepalive_timeout 600;\n"
            f"server {{ listen 127.0.0.1:{self.port} ssl http2; http2_max_concurrent_streams 128;"
            f" ssl_certificate {server}; ssl_certificate_key {server};\n"
            "location = /token { default_type application/json;"
            " return 200 '{\"access_token\":\"t\",\"expires_in\":3599,\"token_type\":\"Bearer\"}'; }\n"
            f"location ~ ^/v1/projects/single/ {{ access_log {self.root}/single.log at; {sent} }}\n"
            f"location / {{ {sent} }} }}\n"
            f"server {{ listen 127.0.0.1:{self.web_port}; location / {{ return 201; }} }} }}\n")
        self.process = subprocess.Popen(["nginx", "-c", self.root / "nginx.conf"], stderr=subprocess.DEVNULL)
        time.sleep(0.5)

    def singles(self):
        """When each arrived, in seconds."""
        log = self.root / "single.log"
        return [float(line) for line in log.read_text().split()] if log.exists() else []

    def stop(self):
        self.process.terminate()
        self.process.wait(5)


def start(world, provider):
    return Daemon(pathlib.Path(world.gateway.binary).with_name("push-dispatcher"), world.servers.folder / "dispatcher.log",
                  DATABASE_URL=world.servers.database_url, REDIS_URL=world.servers.redis_url, MASTER_KEY=MASTER_KEY, WORKERS=1,
                  FCM_URL=f"https://127.0.0.1:{provider.port}", FCM_TOKEN_URL=f"https://127.0.0.1:{provider.port}/token",
                  FETCH_CA_FILE=provider.ca, FETCH_ALLOW=f"127.0.0.1:{provider.port},127.0.0.1:{provider.web_port}").start()


def configured(world, slug):
    """A project with credentials of both, its administrator's client."""
    admin = world.project(slug)
    admin.put("/push/credentials/fcm", {"service_account_json": service_account(slug)}, expect=200)
    admin.put("/push/credentials/web-push", {"subject": "mailto:bench@example.org"}, expect=200)
    admin.put("/", {"settings": {"rate_read": 0, "rate_write": 0, "rate_heavy": 0}}, expect=200)
    return admin


def send(admin, **members):
    return admin.post("/push/test", {"title": "Dinner", "body": "Are you coming?", **members}, expect=202).json()["send_log_id"]


def ended(world, schema, number, within=300):
    """Seconds that the send took, from its row to its end."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        (status, seconds, wrong), = world.sql(f"select status, extract(epoch from finished_at - created_at)::float, first_error "
                                              f"from {schema}.push_sends where id = %s", number)
        if seconds is not None:
            assert status == "Succeeded", (status, wrong)
            return seconds
        time.sleep(0.05)
    raise RuntimeError("the broadcast does not end")


def single(admin, provider, count, pause):
    """ms from the call to the request at the provider, of each."""
    took = []
    for _ in range(count):
        before, since = len(provider.singles()), time.time()
        send(admin)
        end = time.monotonic() + 30
        while len(seen := provider.singles()) == before and time.monotonic() < end:
            time.sleep(0.002)
        took.append((seen[before] - since) * 1000 if len(seen) > before else 30000)
        time.sleep(pause)
    return sorted(took)


def pushes(world, folder, args, out, say):
    provider = Provider(folder)
    daemon = start(world, provider)
    try:
        measure(world, provider, daemon, args, out, say)
    finally:
        daemon.stop()
        provider.stop()


def measure(world, provider, daemon, args, out, say):
    many, alone = configured(world, "broadcast"), configured(world, "single")
    schema = world.schema("broadcast")
    alone.post("/push/devices", {"provider": "fcm", "token": "only"}, expect=201)
    world.sql(f"insert into {schema}.push_devices (provider, token, token_hash) select 'fcm', repeat('t', 140) || n, sha256(n::text::bytea) "
              "from generate_series(1, %s) n", PHONES)
    made = subscription(f"http://127.0.0.1:{provider.web_port}/push/NUMBER")
    world.sql(f"insert into {schema}.push_devices (provider, token, token_hash) select 'web_push', replace(%s, 'NUMBER', n::text), "
              "sha256(n::text::bytea) from generate_series(1, %s) n", made, BROWSERS)
    world.vacuum(f"{schema}.push_devices")
    (pid,) = daemon.workers()
    out.add("memory of a dispatcher at rest", f"{peak_mb(pid):.1f} MB", "<= 15 MB", peak_mb(pid) <= 15)
    quiet = single(alone, provider, SINGLES, 0)
    out.add("test send to request at the provider, median", f"{statistics.median(quiet):.1f} ms", "<= 20 ms",
            statistics.median(quiet) <= 20, f"p99 {quiet[int(len(quiet) * 0.99)]:.1f} ms")
    forget_peak(pid)
    rates = {"fcm": [], "web_push": []}
    for _ in range(2 if args.quick else args.rounds):
        for provider_name, count in (("fcm", PHONES), ("web_push", BROWSERS)):
            rates[provider_name].append(count / ended(world, schema, send(many, provider=provider_name)))
            say(f"  {provider_name}: {rates[provider_name][-1]:,.0f} devices/s")
    rate = statistics.median(rates["fcm"])
    out.add(f"broadcast to {PHONES:,} phones", f"{rate:,.0f} devices/s", ">= 10000", rate >= 10000, "rows, requests over HTTP/2 and TLS, results")
    rate = statistics.median(rates["web_push"])
    out.add(f"broadcast to {BROWSERS:,} browsers", f"{rate:,.0f} devices/s", "-", True, "each encrypted for itself, HTTP/1.1")
    out.add("memory of a dispatcher in broadcasts", f"{peak_mb(pid):.0f} MB", "<= 64 MB", peak_mb(pid) <= 64)
    number = send(many, provider="fcm")
    beside = single(alone, provider, SINGLES, 0.02)
    over = world.sql(f"select finished_at is not null from {schema}.push_sends where id = %s", number)[0][0]
    out.add("single notification beside another project's broadcast, p99", f"{beside[int(len(beside) * 0.99)]:.0f} ms", "<= 500 ms",
            beside[int(len(beside) * 0.99)] <= 500, f"median {statistics.median(beside):.1f} ms" + ("; the broadcast ended before" if over else ""))
    ended(world, schema, number)
