"""Fixtures. A conftest.py imports them with `from groundwork.fixtures import *`."""
import contextlib
import itertools
import os
import pathlib
import secrets

import pytest

from . import bucket
from .chaos import kill
from .client import Client
from .contract import Recorder
from .daemon import Daemon
from .deadline import allowed
from .processor import (  # noqa: F401
    make_shop, payments, processor, module_payments, session_processor, shared_shop, shop, start_payments,
    with_processor,
)
from .project import Project
from .records import execute
from .reuse import Pool
from .runs import condition
from .sealed import MASTER
from .servers import ROOT, UNSYNCED, Servers
from .sink import MailSink, Sink
from .soon import settle, set_servers
from .stripe_client import stripe_client  # noqa: F401
from .workflows import event, workflow

__all__ = [
    "servers", "gateway", "session_gateway", "start_gateway", "recorder", "operator", "pool", "project", "unused_project", "make_project", "shared_project", "empty_project", "gateways_end",
    "admin", "user", "anonymous", "db", "redis_client", "start_runner", "runner", "start_test_runner", "no_foreign_events", "orders", "order_workflow",
    "sink", "mail_sink", "start_webhook", "webhook",
    "session_processor", "processor", "start_payments", "module_payments", "payments", "make_shop", "shop", "shared_shop",
    "stripe_client",
]

GATEWAYS = []  # running gateways that the tests of this process started
SESSION_GATEWAY = "gateway"  # the name of the session's gateway
NUMBERS = itertools.count(1)


def gateway_binary():
    """The path in GW_BIN, else the sanitizer build."""
    return pathlib.Path(os.environ.get("GW_BIN", ROOT / "build/asan/bin/api-gateway")).resolve()


@pytest.fixture(scope="session")
def servers():
    own = Servers(UNSYNCED)
    own.bucket = None
    try:
        own.start()
        set_servers(own)
        yield own
    finally:
        if own.bucket:
            own.bucket.close()
        own.wipe()


def settings(servers):
    return {
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "MASTER_KEY": MASTER,
        "OPERATOR_TOKEN": servers.operator_token,
        "WORKERS": 2,
        "DB_READ_CONNECTIONS": 2,  # each connection costs PostgreSQL 0.05 s of a processor
        "FETCH_ALLOW": "127.0.0.1,localhost",
        "LOG_LEVEL": os.environ.get("LOG_LEVEL", "info"),
    }


def file_store_settings(servers):
    """Settings of the file store of all gateways of a run: a directory, or a bucket. A gateway that takes a project's turn to
    collect files keeps the turn for its own interval, even if another gateway collects more often."""
    if not bucket.wanted():
        return {"FILES_DIR": str(servers.folder / "files"), "FILES_COLLECT_MS": 3000}
    if not servers.bucket:
        trouble = bucket.missing()
        if trouble:
            pytest.skip(trouble)
        servers.bucket = bucket.Bucket(servers.folder / "files")
    return {**servers.bucket.settings(), "FILES_COLLECT_MS": 3000}


@pytest.fixture(scope="session")
def start_gateway(servers, session_processor, recorder):
    """Starts one more gateway on the same servers: start_gateway(WORKERS=1, IDLE_MS=1000). The gateway ends before the next
    file's tests, and a sanitizer report in its log is an error. `prefix` is a program that starts it."""
    servers.operator_token = secrets.token_urlsafe(32)
    servers.migrated = False

    def start(name=None, prefix=(), **overrides):
        log = servers.folder / f"{name or f'gateway{next(NUMBERS)}'}.log"
        daemon = Daemon(str(gateway_binary()), log, **with_processor(servers, gateway_binary(), {**settings(servers), **file_store_settings(servers), **overrides}))
        if not servers.migrated:
            done = daemon.run("--migrate")
            assert done.returncode == 0, f"--migrate: {done.stdout}{done.stderr}"
            servers.migrated = True
            recorder.load_routes(daemon.run("--list-routes").stdout)
        daemon.prefix = list(prefix)
        GATEWAYS.append(daemon.start())
        return daemon

    yield start
    stop_daemons(GATEWAYS)


@pytest.fixture(scope="module", autouse=True)
def gateways_end():
    """Stops the gateways that the tests of the previous file started, except the session's: each has connections, and
    periodically visits all projects."""
    ended = [daemon for daemon in GATEWAYS if daemon.log_path.stem != SESSION_GATEWAY]
    GATEWAYS[:] = [daemon for daemon in GATEWAYS if daemon not in ended]
    stop_daemons(ended)


def starter(servers, program, own):
    """Starts daemons in addition to the gateways, with their own settings; stops all of them after the file's tests."""
    started = []

    def start(name=None, prefix=(), **overrides):
        log = servers.folder / f"{name or f'{program}{len(started)}-{secrets.token_hex(3)}'}.log"
        given = {key: value for key, value in settings(servers).items() if key != "OPERATOR_TOKEN"}
        daemon = Daemon(str(gateway_binary().with_name(program)), log, **{**given, "WORKERS": 1, "SWEEP_MS": 500, **own(), **overrides})
        daemon.prefix = list(prefix)
        started.append(daemon.start())
        return daemon

    yield start
    stop_daemons(started)


@pytest.fixture(scope="module")
def start_runner(servers, session_gateway, sink, mail_sink):
    """Starts a workflow-runner: start_runner(LEASE_MS=2000). All runners end with the file's tests, so that they do not run
    other files' jobs; a sanitizer report in any log is an error."""
    yield from starter(servers, "workflow-runner", lambda: dict(
        SMTP_URL=mail_sink.url, MAIL_FROM="service@example.org",
        FETCH_ALLOW=",".join(f"127.0.0.1:{port}" for port in servers.allowed_ports)))


@pytest.fixture(scope="module")
def runner(start_runner):
    """One runner for the tests of a file."""
    return start_runner()


@pytest.fixture
def start_test_runner(start_runner, servers, request):
    """start_test_runner() starts a runner for one test, with the settings RUNNER of its file. At the test's end all of them are killed
    and removed from the database, with the jobs left in the test's project. Otherwise the runners of the next test would
    share out the projects with them, and run leftover jobs concurrently with the tested job: such a job might have crashed
    the runner too."""
    started = []

    def start_it(**settings):
        started.append(start_runner(**{**getattr(request.module, "RUNNER", {}), **settings}))
        return started[-1]

    yield start_it
    for daemon in started:
        if daemon.is_running():
            kill(daemon)
    connection = servers.connect()
    execute(connection, "delete from platform.runners")
    if "project" in request.fixturenames:
        execute(connection, "delete from platform.workflow_projects where number = (select number from platform.projects where slug = %s)",
                request.getfixturevalue("project").id)
    connection.close()


@pytest.fixture(scope="module")
def no_foreign_events(servers):
    """Deletes events that other files have left: a runner that had such an event next to its job when it died proves nothing
    about the job."""
    connection = servers.connect()
    execute(connection, "delete from platform.workflow_projects")
    connection.close()


@pytest.fixture
def orders(project):
    return project.entity("orders", [{"name": "name", "type": "varchar"}])


@pytest.fixture
def order_workflow(project, orders):
    """A workflow that starts when an order is created; every gateway knows it."""
    made = workflow(project.admin, event("orders"), [condition()])
    settle()
    return made


@pytest.fixture(scope="module")
def start_webhook(servers, session_gateway):
    """Starts a payments-webhook: start_webhook(LEASE_MS=2000, PROCESSOR_URL=processor.url). Without PROCESSOR_URL its calls
    reach no server. All of them end with the file's tests; a sanitizer report in any log is an error."""
    yield from starter(servers, "payments-webhook", lambda: dict(
        PROCESSOR_URL="http://127.0.0.1:1", STORE_URL="http://127.0.0.1:1", STORE_SANDBOX_URL="http://127.0.0.1:1"))


@pytest.fixture(scope="module")
def webhook(start_webhook):
    """One payments-webhook for the tests of a file."""
    return start_webhook()


@pytest.fixture(scope="module")
def sink(servers):
    """An HTTP server that workflows may call."""
    own = Sink()
    servers.allowed_ports.append(own.port)
    yield own
    own.close()


@pytest.fixture(scope="module")
def mail_sink():
    own = MailSink()
    yield own
    own.close()


def store_logs(daemons):
    folder = ROOT / "build/flow" / os.environ.get("PYTEST_XDIST_WORKER", "")
    folder.mkdir(parents=True, exist_ok=True)
    for daemon in daemons:
        (folder / daemon.log_path.name).write_text(daemon.log())


def stop_daemons(daemons):
    """Stops the daemons that still run and stores the logs; a sanitizer report in any of them is an error."""
    alarms = []
    for daemon in daemons:
        if daemon.is_running():
            daemon.stop()
        alarms += daemon.alarms()
    store_logs(daemons)
    assert not alarms, "\n\n".join(alarms)


@pytest.fixture(scope="session")
def recorder():
    own = Recorder()
    own.enabled = os.environ.get("CONTRACT", "1") != "0"
    yield own
    # Several processes share the tests: each writes its part for the process that merges the parts (test_contract.py).
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and "CONTRACT_PARTS" in os.environ:
        own.write_results(pathlib.Path(os.environ["CONTRACT_PARTS"]) / f"{worker}.{secrets.token_hex(4)}.json")


@pytest.fixture(scope="session")
def session_gateway(start_gateway):
    """The gateway with default settings, except time limits, which are meant for an idle machine."""
    return start_gateway(SESSION_GATEWAY, STATEMENT_TIMEOUT_MS=allowed(5000), REQUEST_TIMEOUT_MS=allowed(30000))


@pytest.fixture
def gateway(session_gateway):
    """The gateway of the session; a test that makes it end fails."""
    yield session_gateway
    alarms = session_gateway.alarms()
    assert not alarms, alarms[0]
    assert session_gateway.is_running(), f"the gateway ended:\n{session_gateway.log_tail()}"


@pytest.fixture(scope="session")
def operator(session_gateway, servers, recorder):
    """A client of the operator's API; paths begin below /org."""
    return Client(f"{session_gateway.url}/org", token=servers.operator_token, recorder=recorder)


@pytest.fixture(scope="session")
def pool(servers):
    return Pool(servers)


def lend_project(pool, project):
    """At the end of the test sets the project to state `creating`, which daemons skip, and gives its schema back. Each daemon polls
    all active projects, and a run of the tests creates more than a thousand."""
    yield project
    number = pool.servers.execute("update platform.projects set state = 'creating' where slug = %s and state = 'active' returning number",
                                  project.id)
    if number:
        pool.release(number)


@pytest.fixture
def project(gateway, operator, recorder, pool):
    """A fresh project."""
    yield from lend_project(pool, Project(gateway, operator, recorder, pool=pool))


@pytest.fixture
def unused_project(gateway, operator, recorder, pool):
    """A project whose tables no earlier test has used, for query plans: they depend on the pages and statistics of the tables."""
    yield from lend_project(pool, Project(gateway, operator, recorder))


@pytest.fixture
def make_project(operator, recorder, pool):
    """make_project(gateway): one more fresh project, or one of a gateway with other settings."""
    with contextlib.ExitStack() as projects:
        borrowed = contextlib.contextmanager(lend_project)
        yield lambda gateway: projects.enter_context(borrowed(pool, Project(gateway, operator, recorder, pool=pool)))


@pytest.fixture(scope="module")
def shared_project(session_gateway, operator, recorder, pool):
    """One project for the tests of a file that do not disturb each other."""
    yield from lend_project(pool, Project(session_gateway, operator, recorder, pool=pool))


@pytest.fixture
def empty_project(shared_project):
    """The file's project without the entities and enums of earlier tests, for tests that need nothing else of a fresh project.
    A file whose fixture `project` is this one spends a tenth of the time."""
    shared_project.empty()
    return shared_project


@pytest.fixture
def admin(project):
    return project.admin


@pytest.fixture
def user(project):
    """A standard user without entity permissions."""
    return project.user()


@pytest.fixture
def anonymous(project):
    return project.client()


@pytest.fixture
def db(servers):
    connection = servers.lend()
    yield connection
    servers.give_back(connection)


@pytest.fixture
def redis_client(servers):
    client = servers.redis_client()
    yield client
    client.close()
