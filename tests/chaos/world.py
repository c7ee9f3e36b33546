"""The processes of a chaos run: servers with proxies before them, two gateways, runners, payments services, dispatchers, indexers, a sink,
a test processor, simulated push providers and a simulated model server, and a project with workflows."""
import os
import pathlib
import random
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/flow"), str(ROOT / "tests")]

from groundwork.client import Client  # noqa: E402
from groundwork.daemon import Daemon, free_port  # noqa: E402
from groundwork.model_server import Model  # noqa: E402
from groundwork.processor import SCHEMAS, Processor  # noqa: E402
from groundwork.project import Project  # noqa: E402
from groundwork.proxy import Proxy  # noqa: E402
from groundwork.servers import Servers  # noqa: E402
from groundwork.sink import Sink  # noqa: E402
from push import Fcm, PushService  # noqa: E402

import uploads  # noqa: E402

LEASE_MS = 3000
OPERATOR_TOKEN = "chaos-operator-token-chaos"
BULK = 20


class SlowSink(Sink):
    """A sink that sometimes answers late, so that a runner can be killed while it waits for the answer."""

    def answer(self, handler, body):
        if random.random() < 0.3:
            time.sleep(random.uniform(0, 2))
        super().answer(handler, body)


def workflow(name, trigger, *steps):
    return {"name": name, "trigger": trigger, "start_step": steps[0]["key"], "steps": list(steps)}


def step(key, action, params, **links):
    return {"key": key, "action": action, "params": params, **links}


class World:
    def __init__(self, folder, binaries, runner_binary=None):
        self.folder = pathlib.Path(folder)
        self.binaries = pathlib.Path(binaries)
        self.runner_binary = runner_binary or self.binaries / "workflow-runner"
        self.servers = Servers()
        self.servers.start()
        self.sink = SlowSink()
        self.pg_proxy = Proxy(self.pg_socket())
        self.redis_proxy = Proxy(self.servers.redis_url.removeprefix("unix:"))
        self.processor = Processor(schemas=SCHEMAS if SCHEMAS.is_dir() else None)
        self.model = Model()
        self.webhook_port = free_port()
        self.gateway = None  # the first gateway, to which callers send requests
        self.gateways = []  # listeners may connect to any of these gateways
        self.runners = []
        self.webhooks = []
        self.dispatchers = []
        self.indexers = []
        self.fcm, self.push_service = Fcm(), PushService()
        self.log_number = 0

    def pg_socket(self):
        host = self.servers.database_url.split("host=")[1].split("&")[0]
        return next(path for path in pathlib.Path(host).glob(".s.PGSQL.*") if not path.name.endswith(".lock"))

    def settings(self):
        url = self.servers.database_url
        user = url.split("//")[1].split("@")[0]
        name = url.split("@/")[1].split("?")[0]
        return {
            "DATABASE_URL": f"postgresql://{user}@127.0.0.1:{self.pg_proxy.port}/{name}?sslmode=disable",
            "REDIS_URL": f"redis://127.0.0.1:{self.redis_proxy.port}",
            "MASTER_KEY": "0f1e2d3c4b5a69788796a5b4c3d2e1f0" * 2,
        }

    def processor_settings(self):
        """The additional settings of a daemon that calls the processor."""
        return {"PROCESSOR_URL": self.processor.url, "PROCESSOR_TIMEOUT_MS": 1000,
                "FETCH_ALLOW": f"127.0.0.1:{self.processor.port},127.0.0.1:{self.model.port}"}

    def daemons(self):
        return [*self.gateways, *self.runners, *self.webhooks, *self.dispatchers, *self.indexers]

    def next_log(self, name):
        self.log_number += 1
        return self.folder / f"{self.log_number:03}-{name}.log"

    def start_gateway(self):
        daemon = Daemon(str(self.binaries / "api-gateway"), self.next_log("gateway"), **self.settings(),
                        **self.processor_settings(), **uploads.settings(self.folder), PAYMENTS_URL=f"http://127.0.0.1:{self.webhook_port}",
                        OPERATOR_TOKEN=OPERATOR_TOKEN, WORKERS=1)
        if not self.gateways:
            done = daemon.run("--migrate")
            assert done.returncode == 0, done.stdout + done.stderr
        self.gateways.append(daemon)
        self.gateway = self.gateways[0]
        daemon.start()

    def start_runner(self, prefix=()):
        daemon = Daemon(str(self.runner_binary), self.next_log("runner"), **self.settings(), WORKERS=1, LEASE_MS=LEASE_MS,
                        SWEEP_MS=500, FETCH_ALLOW=f"127.0.0.1:{self.sink.port}", DRAIN_TIMEOUT_MS=6000)
        daemon.prefix = list(prefix)
        self.runners.append(daemon)
        return daemon

    def start_webhook(self):
        """Starts a payments service. The first one receives the events; all of them apply events."""
        daemon = Daemon(str(self.binaries / "payments-webhook"), self.next_log("webhook"), **{
            **self.settings(), **self.processor_settings(), "WORKERS": 1, "LEASE_MS": LEASE_MS, "SWEEP_MS": 500, "EVENT_ATTEMPTS": 100,
            **({} if self.webhooks else {"PORT": self.webhook_port})})
        self.webhooks.append(daemon)
        return daemon

    def start_dispatcher(self):
        daemon = Daemon(str(self.binaries / "push-dispatcher"), self.next_log("dispatcher"), **self.settings(), FCM_URL=self.fcm.url,
                        FCM_TOKEN_URL=self.fcm.token_url, FETCH_CA_FILE=self.fcm.ca_file,
                        FETCH_ALLOW=f"127.0.0.1:{self.fcm.port},127.0.0.1:{self.push_service.port}", PUSH_TIMEOUT_MS=3000,
                        PUSH_RETRY_MS=100, SEND_ATTEMPTS=100, WORKERS=1, LEASE_MS=LEASE_MS, SWEEP_MS=500, DRAIN_TIMEOUT_MS=6000)
        self.dispatchers.append(daemon)
        return daemon

    def start_indexer(self):
        daemon = Daemon(str(self.binaries / "search-indexer"), self.next_log("indexer"), **self.settings(), WORKERS=1, LEASE_MS=LEASE_MS,
                        SWEEP_MS=500, INDEX_ATTEMPTS=100, INDEX_PAGE=50, DRAIN_TIMEOUT_MS=6000)
        self.indexers.append(daemon)
        return daemon

    def build_project(self):
        """Creates workflows: an order creates a record and makes a call; further ones for ticks, bulk jobs, a branch on a script, and one that starts itself."""
        operator = Client(f"{self.gateway.url}/org", token=OPERATOR_TOKEN, recorder=None)
        self.project = project = Project(self.gateway, operator, None, name="chaos")
        project.entity("orders", [{"name": "mark", "type": "varchar", "unique": True}, {"name": "n", "type": "integer"}])
        project.entity("results", [{"name": "mark", "type": "varchar"}, {"name": "job", "type": "integer"}])
        project.entity("rows", [{"name": "mark", "type": "varchar"}, {"name": "n", "type": "integer"}])
        project.entity("echoes", [{"name": "mark", "type": "varchar"}])
        send = {"url": f"{self.sink.url}/call", "method": "POST",
                "body": {"job": "{{ $svc.job.id }}", "mark": "{{ $svc.trigger.data.mark }}"}}
        flows = {
            "order": workflow(
                "order", {"kind": "event", "event": "EntityCreated", "entity": "orders"},
                step("save", "CreateData", {"entity": "results", "values": {
                    "mark": "{{ $svc.trigger.data.mark }}", "job": "{{ $svc.job.id }}"}}, next="call"),
                step("call", "CallAnApi", send, next="note"),
                step("note", "UpdateData", {"entity": "results", "id": "{{ $svc.steps.save.data[0].id }}",
                                            "values": {"mark": "{{ $svc.trigger.data.mark }}"}})),
            "bulk": workflow(
                "bulk", {"kind": "api", "route": "bulk"},
                step("make", "RunScript", {"script":
                     f"const end = Date.now() + Math.random() * 300; while (Date.now() < end); "
                     f"return Array.from({{length: {BULK}}}, (_, n) => ({{mark: $svc.trigger.data.mark, n}}))"}, next="save"),
                step("save", "BulkCreateData", {"entity": "rows", "items": "{{ $svc.steps.make.data[0] }}"})),
            "branch": workflow(
                "branch", {"kind": "manual"},
                step("check", "Condition", {"all": [{"field": "$svc.trigger.data.n", "op": "gt", "value": 5}]}, then="high"),
                step("high", "CallAnApi", send)),
            "tick": workflow("tick", {"kind": "timed", "cron": "* * * * *"},
                             step("check", "Condition", {"all": [{"field": "$svc.job.id", "op": "gt", "value": 0}]})),
            "echo": workflow(
                "echo", {"kind": "event", "event": "EntityCreated", "entity": "echoes"},
                step("again", "CreateData", {"entity": "echoes", "values": {"mark": "{{ $svc.trigger.data.mark }}"}})),
        }
        self.flows = {name: project.admin.post("/workflows", flow, expect=201).json()["id"] for name, flow in flows.items()}
        connection = self.servers.connect()
        self.schema = project.schema(connection)
        connection.close()

    def close(self):
        for daemon in self.daemons():
            if daemon.is_running():
                os.killpg(daemon.process.pid, signal.SIGCONT)
                os.killpg(daemon.process.pid, signal.SIGKILL)
                daemon.process.wait()
        self.pg_proxy.close()
        self.redis_proxy.close()
        self.sink.close()
        self.processor.close()
        self.model.close()
        self.fcm.close()
        self.push_service.close()
        self.servers.wipe()
