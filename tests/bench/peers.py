"""Job queues and clients of push providers from npm, installed into build/bench-peers, run on the same servers as the workflow-runner."""
import json
import os
import pathlib
import shutil
import subprocess
import time

from world import ROOT

SOURCES = pathlib.Path(__file__).parent / "peers"
FOLDER = ROOT / "build/bench-peers"
NPM_SECONDS = 600
# Schemas that the queues create in PostgreSQL; each run drops them first.
SCHEMAS = {"pgboss": "pgboss", "graphile": "graphile_worker"}


def npm_install(folder, *options, seconds=NPM_SECONDS):
    """Installs the packages; returns "" or the reason why it failed."""
    if not shutil.which("npm"):
        return "npm is not installed"
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *options]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"npm install took longer than {seconds} s"
    if done.returncode:
        return "npm install failed: " + (done.stderr.strip().splitlines() or ["without a word"])[-1]
    return ""


def install():
    """Installs the queues once; returns "" or the reason why it failed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = (SOURCES / "package.json").read_text()
    stamp = FOLDER / "installed"
    for source in SOURCES.iterdir():
        shutil.copy(source, FOLDER)
    if stamp.exists() and stamp.read_text() == wanted:
        return ""
    reason = npm_install(FOLDER)
    if not reason:
        stamp.write_text(wanted)
    return reason


class PlainRedis:
    """A Redis like the one of the benchmark, but without the append-only file: it stores nothing on disk."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / "plain-redis"
        self.folder.mkdir()
        self.socket = self.folder / "redis.sock"
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--appendonly", "no", "--save", "",
             "--maxmemory-policy", "noeviction", "--dir", self.folder],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(100):
            if self.socket.exists():
                return
            time.sleep(0.05)
        raise RuntimeError("Redis does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def node(program, *arguments, timeout=300, ca=None):
    """Runs a program of peers/; returns {"jobs" or "messages", "seconds", "rate", "enqueue_rate"?}. `ca`: the certificate authority to trust."""
    trusted = {"NODE_EXTRA_CA_CERTS": str(ca)} if ca else {}
    done = subprocess.run(["node", f"{program}.mjs", *map(str, arguments)], cwd=FOLDER, env={**os.environ, **trusted},
                          capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f"{program}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def run(world, redis, name, seconds):
    """One round of pgboss, graphile, graphile-default or bullmq."""
    program, _, mode = name.partition("-")
    if program == "bullmq":
        return node(program, redis.socket, seconds)
    world.sql(f"drop schema if exists {SCHEMAS[program]} cascade")
    return node(program, world.servers.database_url, seconds, *filter(None, [mode]))
