"""The faults of a chaos run, planned from a seed, so that a run can be repeated.

Each do_... is a fault of the attack catalogue (its number in brackets). Its effects are repaired afterwards.
"""
import contextlib
import os
import random
import signal
import subprocess
import time

from world import LEASE_MS  # first: it makes the flow tests' library known
import searches
from groundwork.chaos import FAKETIME, faketime_prefix

# System calls at which a runner may be killed: calls that communicate with another program.
POINTS = ("sendto", "write", "recvfrom", "connect", "epoll_wait", "writev", "sendmsg", "read")
STORE_CALLS = ("fsync", "rename", "unlink", "openat", "write")
# The text that a daemon sends to a server when it is killed: before the server receives it (hold), or before the answer (deaf).
WORDS = (("pg", "commit"), ("pg", "job_steps"), ("pg", "outbox"), ("pg", "insert into"), ("pg", "search_postings"), ("pg", "search_docs"),
         ("pg", "live_log"), ("redis", "xadd"), ("redis", "xack"), ("redis", "xreadgroup"))


def kill_group(daemon):
    os.killpg(daemon.process.pid, signal.SIGCONT)
    os.killpg(daemon.process.pid, signal.SIGKILL)
    daemon.process.wait()


def restart(daemon):
    daemon.start()


class Faults:
    def __init__(self, world, seed, say, only=None):
        self.world, self.say = world, say
        self.random = random.Random(seed)
        self.held = None  # a connection that holds a lock or a transaction during a fault
        every = [name.removeprefix("do_") for name in dir(self) if name.startswith("do_")]
        self.kinds = [name for name in every if not only or name in only]
        self.done = {}
        self.broken = []  # violations that a fault found immediately
        self.crashes = []  # of PostgreSQL: (from, until)

    def runner(self):
        return self.random.choice(self.world.runners)

    def run_next(self):
        """Runs one fault and its repair."""
        kind = self.random.choice(self.kinds)
        self.done[kind] = self.done.get(kind, 0) + 1
        self.say(f"fault: {kind}")
        getattr(self, f"do_{kind}")()
        self.heal()

    def heal(self):
        if self.held:
            self.held.close()
            self.held = None
        self.world.pg_proxy.say("pass")
        self.world.redis_proxy.say("pass")
        self.world.processor.clear_faults()
        self.world.fcm.clear_faults()
        self.world.push_service.clear_faults()
        self.world.processor.update_endpoint(duplicate=0, shuffle=False, delay=0, drop=False, paused=False)
        self.world.processor.resend()
        for daemon in self.world.daemons():
            if not daemon.is_running():
                self.restart_until_ready(daemon)

    def restart_until_ready(self, daemon):
        """Restarts a daemon. The database may still be recovering, so a daemon that fails to start is started again."""
        for _ in range(30):
            try:
                restart(daemon)
                return
            except RuntimeError:
                time.sleep(0.5)
        raise RuntimeError(f"{daemon.binary} does not start again")

    # --- processes ---

    def do_kill_runner(self):
        kill_group(self.runner())

    def do_kill_worker(self):
        workers = self.runner().workers()
        if workers:
            os.kill(self.random.choice(workers), signal.SIGKILL)

    def do_kill_dispatcher(self):
        """[K13]"""
        kill_group(self.random.choice(self.world.dispatchers))

    def do_terminate_dispatcher(self):
        """[K20]"""
        daemon = self.random.choice(self.world.dispatchers)
        since = time.monotonic()
        status = daemon.stop(wait=20)
        if status != 0 or time.monotonic() - since > 10:
            self.broken.append(f"K20: a dispatcher's exit status is {status} {time.monotonic() - since:.1f} s after SIGTERM")

    def do_kill_indexer(self):
        """[K16]"""
        kill_group(self.random.choice(self.world.indexers))

    def do_terminate_indexer(self):
        """[K20]"""
        daemon = self.random.choice(self.world.indexers)
        since = time.monotonic()
        status = daemon.stop(wait=20)
        if status != 0 or time.monotonic() - since > 10:
            self.broken.append(f"K20: an indexer's exit status is {status} {time.monotonic() - since:.1f} s after SIGTERM")

    def do_rebuild_index(self):
        """[K16] Starts a rebuild and kills its process."""
        searches.rebuild(self.world)
        time.sleep(self.random.uniform(0, 0.5))
        for daemon in self.world.indexers:
            kill_group(daemon)

    def do_trouble_providers(self):
        """[D15] The push providers refuse, fail, close connections and lose answers."""
        fcm, browsers = self.world.fcm, self.world.push_service
        for kind, more in self.random.sample([
                ("status", {"status": 503}), ("status", {"status": 429, "retry_after": 1}), ("status", {"status": 500, "html": True}),
                ("reset", {}), ("goaway", {}), ("refuse", {}), ("drop", {"act": True}), ("drop", {}), ("delay", {"seconds": 1})], 3):
            fcm.fault(kind, times=self.random.randrange(1, 60), **more)
        fcm.fault("status", on="token", status=503, times=3)
        fcm.revoke_tokens()
        browsers.fault(self.random.choice(("reset", "drop")), times=5)
        time.sleep(self.random.uniform(1, 4))

    def do_kill_gateway(self):
        kill_group(self.random.choice(self.world.gateways))

    def do_kill_gateways(self):
        """Kills all gateways: for a while listeners have no gateway."""
        for daemon in self.world.gateways:
            kill_group(daemon)
        time.sleep(self.random.uniform(0, 2))

    def do_kill_while_uploading(self):
        """[K17] Kills the gateway at a system call of an upload or a removal."""
        self.kill_at(self.world.gateway, self.random.choice(STORE_CALLS), self.random.randrange(1, 12))

    def do_lose_store(self):
        """[D9] The volume of the file store is missing for a while."""
        store = self.world.folder / "files"
        aside = store.with_name("elsewhere")
        if store.is_dir():
            store.rename(aside)
            time.sleep(self.random.uniform(0.2, 2))
            aside.rename(store)

    def do_kill_all(self):
        for daemon in self.world.daemons():
            kill_group(daemon)

    def do_kill_everything(self):
        """[K18] Kills all daemons and both servers."""
        servers = self.world.servers
        for daemon in self.world.daemons():
            kill_group(daemon)
        with self.crash():
            servers.postgres("kill")
            servers.redis("kill")
            servers.redis("start")
            servers.postgres("start")

    @contextlib.contextmanager
    def crash(self):
        """A context in which PostgreSQL crashes: it loses all data that was not on its disk."""
        began = time.time()
        yield
        self.crashes.append((began, time.time()))

    def do_kill_at_word(self):
        """[K1-K5, K9] Kills one daemon when it sends a certain text to PostgreSQL or Redis."""
        victim = self.random.choice(self.world.daemons())
        server, word = self.random.choice(WORDS)
        verb = self.random.choice(("hold", "deaf"))
        self.say(f"  {verb} {word} of {server}")
        proxy = self.world.pg_proxy if server == "pg" else self.world.redis_proxy
        proxy.say(f"{verb} {word}")
        time.sleep(self.random.uniform(0.1, 0.8))
        kill_group(victim)
        # Held connections of other daemons stay held: these daemons notice on their own, or the connections are cut.
        proxy.say("pass")
        time.sleep(self.random.uniform(0, 3))
        proxy.say("cut")

    def do_pause_runner(self):
        """[K11] Stops a runner for longer than its lease: its fencing token must then be refused."""
        workers = self.runner().workers()
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(LEASE_MS / 1000 * self.random.uniform(1.2, 2.0))
        for pid in workers:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass

    def do_terminate_runner(self):
        """[K20]"""
        daemon = self.runner()
        since = time.monotonic()
        status = daemon.stop(wait=20)
        took = time.monotonic() - since
        if status != 0 or took > 10:
            self.broken.append(f"K20: exit status {status} {took:.1f} s after SIGTERM\n{daemon.log_tail(10)}")

    def do_kill_at_point(self):
        """Kills one worker with strace at its n-th call of a system call."""
        self.kill_at(self.random.choice(self.world.daemons()), self.random.choice(POINTS), self.random.randrange(1, 40))

    def kill_at(self, daemon, point, when):
        workers = daemon.workers()
        if not workers:
            return
        self.say(f"  at {point} {when}")
        tracer = subprocess.Popen(
            ["strace", "-f", "-q", "-o", "/dev/null", "-p", str(workers[0]), "-e", f"trace={point}",
             "-e", f"inject={point}:signal=KILL:when={when}"], stderr=subprocess.DEVNULL)
        try:
            tracer.wait(6)
        except subprocess.TimeoutExpired:
            tracer.terminate()
            tracer.wait()

    def do_skew_runner(self):
        """[D12] Restarts a runner with a clock that is two hours off, until the runner dies."""
        if FAKETIME is None:
            return
        daemon = self.runner()
        kill_group(daemon)
        daemon.prefix = faketime_prefix(self.random.choice(("+2h", "-2h")), daemon.binary)
        self.restart_until_ready(daemon)
        daemon.prefix = []

    # --- the payment processor ---

    def do_kill_webhook(self):
        """[K14, K15]"""
        kill_group(self.random.choice(self.world.webhooks))

    def do_bad_processor(self):
        """The processor fails, before or after it acted; usually it works again when the request is repeated."""
        for _ in range(self.random.randrange(1, 6)):
            kind = self.random.choice(("timeout", "reset", "garbage", "delay", "status"))
            status = self.random.choice((409, 429, 500, 502, 503, 504))
            limited = kind == "status" and status == 429  # a rate limiter refuses a request before any work is done
            self.world.processor.fault(
                kind, times=self.random.randrange(1, 5), act=not limited and self.random.random() < 0.5, stored=False,
                status=status, seconds=self.random.uniform(0.1, 2))
        time.sleep(self.random.uniform(1, 5))

    def do_bad_events(self):
        """[W2, W4] The processor sends events twice, late, in any order, or not at all until they are sent again."""
        self.world.processor.update_endpoint(
            duplicate=self.random.randrange(3), shuffle=self.random.random() < 0.5, delay=[0, self.random.uniform(0, 3)],
            drop=self.random.random() < 0.3)
        time.sleep(self.random.uniform(1, 5))

    def do_kill_while_charging(self):
        """[K14] Kills the gateway while it waits for an answer of the processor."""
        self.world.processor.fault("timeout", path="/v1/payment_intents", act=self.random.random() < 0.5, times=3, seconds=2)
        time.sleep(self.random.uniform(0.2, 2))
        kill_group(self.world.gateway)

    # --- PostgreSQL ---

    def do_restart_postgres(self):
        """[D5]"""
        self.world.servers.postgres("restart")

    def do_crash_postgres(self):
        """[D5]"""
        with self.crash():
            self.world.servers.postgres("kill")
            self.world.servers.postgres("start")

    def do_kill_backend(self):
        """[D5]"""
        connection = self.world.servers.connect()
        with connection.cursor() as cursor:
            cursor.execute("select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()")
            pids = [row[0] for row in cursor.fetchall()]
            for pid in self.random.sample(pids, min(3, len(pids))):
                cursor.execute("select pg_terminate_backend(%s)", (pid,))
        connection.close()

    def do_eat_commits(self):
        """[D6]"""
        self.world.pg_proxy.say("eat 5")
        time.sleep(self.random.uniform(2, 5))

    def do_cut_postgres(self):
        self.world.pg_proxy.say("cut")
        time.sleep(self.random.uniform(0.5, 4))

    def do_slow_postgres(self):
        self.world.pg_proxy.say(f"delay {self.random.randrange(20, 150)}")
        time.sleep(self.random.uniform(2, 5))

    def do_slow_disk(self):
        """[D10] Makes each flush up to 100 ms slower, one flush at a time."""
        root = self.world.servers.connect(superuser=True)
        with root.cursor() as cursor:
            cursor.execute(f"alter system set commit_delay = {self.random.randrange(20000, 100000)}")
            cursor.execute("alter system set commit_siblings = 0")
            cursor.execute("select pg_reload_conf()")
            time.sleep(self.random.uniform(2, 6))
            cursor.execute("alter system reset all")
            cursor.execute("select pg_reload_conf()")
        root.close()

    def do_lock_table(self):
        """[D8] Locks a table that all daemons need, for less or for more time than a statement may take."""
        schema = self.world.schema
        self.held = self.world.servers.connect()
        self.held.autocommit = False
        with self.held.cursor() as cursor:
            cursor.execute("set statement_timeout = 5000")
            name = self.random.choice(("jobs", "job_steps", "outbox", "workflow_versions", "workflows", "payments", "webhook_events",
                                       "idempotency_keys", "live_log", "materialized_views"))
            mode = self.random.choice(("share", "access exclusive"))
            self.say(f"  {name}, {mode}")
            cursor.execute(f"lock table {schema}.{name} in {mode} mode")
        time.sleep(self.random.uniform(1, 8))

    def do_idle_in_transaction(self):
        """[D11] Keeps a transaction with a transaction id open."""
        self.held = self.world.servers.connect()
        self.held.autocommit = False
        with self.held.cursor() as cursor:
            cursor.execute("select pg_current_xact_id()")
        time.sleep(self.random.uniform(1, 8))

    def do_eat_connections(self):
        """[D7] Other clients take all connections of the server."""
        others = []
        try:
            while len(others) < 250:
                others.append(self.world.servers.connect())
        except Exception:  # noqa: BLE001 - there was no further connection
            pass
        time.sleep(self.random.uniform(1, 5))
        for other in others:
            other.close()

    # --- Redis ---

    def do_flush_redis(self):
        """[D1]"""
        self.world.servers.redis_client().flushall()

    def do_empty_redis(self):
        """[D1] Kills Redis and starts it with an empty disk."""
        self.world.servers.redis("kill")
        for path in (self.world.servers.folder / "redis").glob("appendonlydir/*"):
            path.unlink()
        time.sleep(self.random.uniform(0, 2))
        self.world.servers.redis("start")

    def do_mute_redis(self):
        """[D4]"""
        self.world.redis_proxy.say("mute")
        time.sleep(self.random.uniform(1, 6))

    def do_cut_redis(self):
        """[D2]"""
        self.world.redis_proxy.say("cut")
        time.sleep(self.random.uniform(1, 6))

    def do_full_redis(self):
        """[D3]"""
        client = self.world.servers.redis_client()
        client.config_set("maxmemory", 1)
        time.sleep(self.random.uniform(1, 4))
        client.config_set("maxmemory", 0)
