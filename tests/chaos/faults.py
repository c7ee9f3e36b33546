"""What happens to the processes: a plan made from a seed, so that a run can be repeated."""
import os
import random
import signal
import subprocess
import time

from world import LEASE_MS

# System calls at which a runner may be killed: each reaches another program.
POINTS = ("sendto", "write", "recvfrom", "connect", "epoll_wait", "writev", "sendmsg", "read")


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
        every = [name.removeprefix("do_") for name in dir(self) if name.startswith("do_")]
        self.kinds = [name for name in every if not only or name in only]
        self.done = {}

    def runner(self):
        return self.random.choice(self.world.runners)

    def next(self):
        """One fault, and what heals it."""
        kind = self.random.choice(self.kinds)
        self.done[kind] = self.done.get(kind, 0) + 1
        self.say(f"fault: {kind}")
        getattr(self, f"do_{kind}")()
        self.heal()

    def heal(self):
        self.world.pg_proxy.say("pass")
        self.world.redis_proxy.say("pass")
        for daemon in [self.world.gateway, *self.world.runners]:
            if not daemon.running():
                self.restart_hard(daemon)

    def restart_hard(self, daemon):
        """The database may still be recovering: a daemon that gives up at its start is started again."""
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

    def do_kill_gateway(self):
        kill_group(self.world.gateway)

    def do_kill_all(self):
        for daemon in [self.world.gateway, *self.world.runners]:
            kill_group(daemon)

    def do_pause_runner(self):
        """Longer than its lease: it must find itself fenced off."""
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
        daemon = self.runner()
        status = daemon.stop(wait=20)
        assert status == 0, f"SIGTERM: exit status {status}"

    def do_kill_at_point(self):
        """The n-th of a system call of one worker never returns: strace kills it there."""
        workers = self.runner().workers()
        if not workers:
            return
        point, when = self.random.choice(POINTS), self.random.randrange(1, 40)
        self.say(f"  at {point} {when}")
        tracer = subprocess.Popen(
            ["strace", "-f", "-q", "-o", "/dev/null", "-p", str(workers[0]), "-e", f"trace={point}",
             "-e", f"inject={point}:signal=KILL:when={when}"], stderr=subprocess.DEVNULL)
        try:
            tracer.wait(6)
        except subprocess.TimeoutExpired:
            tracer.terminate()
            tracer.wait()

    # --- PostgreSQL ---

    def do_restart_postgres(self):
        self.world.servers.postgres("restart")

    def do_crash_postgres(self):
        self.world.servers.postgres("kill")
        self.world.servers.postgres("start")

    def do_kill_backend(self):
        connection = self.world.servers.connect()
        with connection.cursor() as cursor:
            cursor.execute("select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()")
            pids = [row[0] for row in cursor.fetchall()]
            for pid in self.random.sample(pids, min(3, len(pids))):
                cursor.execute("select pg_terminate_backend(%s)", (pid,))
        connection.close()

    def do_eat_commits(self):
        self.world.pg_proxy.say("eat 5")
        time.sleep(self.random.uniform(2, 5))

    def do_cut_postgres(self):
        self.world.pg_proxy.say("cut")
        time.sleep(self.random.uniform(0.5, 4))

    def do_slow_postgres(self):
        self.world.pg_proxy.say(f"delay {self.random.randrange(20, 150)}")
        time.sleep(self.random.uniform(2, 5))

    # --- Redis ---

    def do_flush_redis(self):
        self.world.servers.redis_client().flushall()

    def do_empty_redis(self):
        """Killed, and back with an empty disk."""
        self.world.servers.redis("kill")
        for path in (self.world.servers.folder / "redis").glob("appendonlydir/*"):
            path.unlink()
        time.sleep(self.random.uniform(0, 2))
        self.world.servers.redis("start")

    def do_mute_redis(self):
        self.world.redis_proxy.say("mute")
        time.sleep(self.random.uniform(1, 6))

    def do_cut_redis(self):
        self.world.redis_proxy.say("cut")
        time.sleep(self.random.uniform(1, 6))

    def do_full_redis(self):
        client = self.world.servers.redis_client()
        client.config_set("maxmemory", 1)
        time.sleep(self.random.uniform(1, 4))
        client.config_set("maxmemory", 0)
