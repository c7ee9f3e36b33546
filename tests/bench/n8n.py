"""n8n from npm, installed into build/bench-n8n, with its executions in the PostgreSQL of the benchmark."""
import os
import pathlib
import shutil
import subprocess
import time
import urllib.parse

import psycopg2
import requests

from groundwork.daemon import free_port
from peers import npm_install
from tools import wrk
from world import ROOT

SOURCES = pathlib.Path(__file__).parent / "n8n"
FOLDER = ROOT / "build/bench-n8n"
FLOW = "benchflow0000001"
START_SECONDS = 180
DRAIN_SECONDS = 120


def install():
    """Installs n8n once, which takes minutes; returns "" or the reason why it failed. Runs no install scripts: nothing that they compile is used."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = (SOURCES / "package.json").read_text()
    stamp = FOLDER / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return ""
    shutil.copy(SOURCES / "package.json", FOLDER)
    reason = npm_install(FOLDER, "--ignore-scripts", seconds=1200)
    if not reason:
        stamp.write_text(wanted)
    return reason


class N8n:
    """One main process, webhook -> If -> HTTP Request, every execution saved."""

    def __init__(self, world, folder, sink_url, at_once):
        self.home = pathlib.Path(folder) / "n8n"
        self.home.mkdir()
        host = urllib.parse.parse_qs(urllib.parse.urlsplit(world.servers.database_url).query)["host"][0]
        self.dsn = {"host": host, "user": "postgres"}
        self.port = free_port()
        self.environment = {
            **os.environ,
            "N8N_USER_FOLDER": str(self.home),
            "DB_TYPE": "postgresdb",
            "DB_POSTGRESDB_HOST": host,
            "DB_POSTGRESDB_DATABASE": "n8n",
            "DB_POSTGRESDB_USER": "postgres",
            "DB_POSTGRESDB_POOL_SIZE": "16",
            "N8N_PORT": str(self.port),
            "N8N_LISTEN_ADDRESS": "127.0.0.1",
            "N8N_CONCURRENCY_PRODUCTION_LIMIT": str(at_once),
            "N8N_EXPRESSION_ENGINE": "legacy",  # the other engine needs a compiled module
            "N8N_RUNNERS_ENABLED": "false",
            "N8N_DISABLE_UI": "true",
            "N8N_DIAGNOSTICS_ENABLED": "false",
            "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
            "N8N_TEMPLATES_ENABLED": "false",
            "N8N_ENFORCE_SETTINGS_FILE_PERMISSIONS": "true",
            "N8N_LOG_LEVEL": "warn",
            "EXECUTIONS_DATA_SAVE_ON_SUCCESS": "all",
            "EXECUTIONS_DATA_SAVE_ON_ERROR": "all",
            "NODE_ENV": "production",
        }
        self.query_value("create database n8n", database="postgres")
        flow = self.home / "flow.json"
        flow.write_text((SOURCES / "flow.json").read_text().replace("SINK_URL", sink_url))
        self.command("import:workflow", f"--input={flow}")
        self.command("update:workflow", f"--id={FLOW}", "--active=true")
        self.log = open(self.home / "log", "wb")
        self.process = subprocess.Popen([*self.program(), "start"], env=self.environment, stdout=self.log, stderr=self.log)
        self.wait_ready()

    @staticmethod
    def program():
        return ["node", FOLDER / "node_modules/n8n/bin/n8n"]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/webhook/bench"

    def command(self, *arguments):
        done = subprocess.run(
            [*self.program(), *arguments], env=self.environment, capture_output=True, text=True, timeout=START_SECONDS
        )
        if done.returncode:
            raise RuntimeError(f"n8n {arguments[0]}: {done.stdout[-1000:]}{done.stderr[-1000:]}")

    def query_value(self, text, *params, database="n8n"):
        connection = psycopg2.connect(dbname=database, **self.dsn)
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(text, params)
                return cursor.fetchone() if cursor.description else None
        finally:
            connection.close()

    def wait_ready(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            try:
                if requests.post(self.url, json={"n": 1}, timeout=5).status_code == 200:
                    return
            except requests.RequestException:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.5)
        raise RuntimeError(f"n8n does not answer: {(self.home / 'log').read_text()[-1000:]}")

    def run(self, seconds, script, clients):
        """{"rate", ...} of executions with history, from the start of the first to the end of the last."""
        (newest,) = self.query_value("select coalesce(max(id), 0) from execution_entity")
        sent = wrk(self.url, seconds, script, clients=clients)
        end = time.monotonic() + DRAIN_SECONDS
        while self.query_value('select exists (select 1 from execution_entity where id > %s and "stoppedAt" is null)', newest)[0]:
            if time.monotonic() > end:
                raise RuntimeError("n8n does not end")
            time.sleep(0.2)
        jobs, good, took = self.query_value(
            "select count(*), count(*) filter (where status = 'success'),"
            ' extract(epoch from max("stoppedAt") - min("createdAt"))::float from execution_entity where id > %s', newest)
        return {"jobs": jobs, "rate": jobs / took, "errors": jobs - good + sent["errors"]}

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        self.log.close()
