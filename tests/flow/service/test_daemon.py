"""The daemon itself: command line, configuration, workers, signals, metrics, access log."""
import concurrent.futures
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
import requests

from groundwork.daemon import Daemon, free_port
from groundwork.deadline import allowed, at_most, until
from groundwork.fixtures import gateway_binary, settings
from groundwork.project import Project
from groundwork.records import execute
from groundwork.servers import ROOT
from groundwork.soon import await_status


PATIENT = {"STATEMENT_TIMEOUT_MS": 600000, "REQUEST_TIMEOUT_MS": 600000}  # requests that wait reach no limit


@pytest.fixture
def gateway_with(servers, session_gateway, tmp_path):
    """A gateway that is not started, with other settings; None removes one."""

    def make(program=None, **changes):
        whole = {name: value for name, value in {**settings(servers), **changes}.items() if value is not None}
        return Daemon(str(program or gateway_binary()), tmp_path / "gateway.log", **whole)

    return make


@pytest.fixture
def start_own_gateway(start_gateway):
    """Starts a gateway for one test, which may damage it."""
    started = []

    def start(**changes):
        started.append(start_gateway(f"daemon{len(started)}-{time.monotonic_ns()}", **changes))
        return started[-1]

    yield start
    for daemon in started:
        if daemon.is_running():
            daemon.stop()


def events(daemon, name):
    """The log lines of one event."""
    lines = [json.loads(line) for line in daemon.log().splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == name]


# --- command line ---------------------------------------------------------------------------------


def test_help(session_gateway):
    done = session_gateway.run("--help")
    assert done.returncode == 0 and not done.stderr
    for flag in ("--help-config", "--check", "--migrate", "--list-routes"):
        assert flag in done.stdout


def test_help_config_names_every_variable(session_gateway):
    text = session_gateway.run("--help-config").stdout
    table = session_gateway.run("--help-config=markdown").stdout
    for name in ("DATABASE_URL", "REDIS_URL", "MASTER_KEY", "PORT", "WORKERS", "OPERATOR_TOKEN", "CONNECTIONS_MAX"):
        assert f"GROUNDWORK_{name}" in text
        assert f"GROUNDWORK_{name}" in table
    assert all(line.startswith("|") for line in table.strip().splitlines())


@pytest.mark.parametrize("name", ["api-gateway", "payments-webhook", "push-dispatcher", "search-indexer", "workflow-runner"])
def test_readme_has_the_tables(name):
    """`make readme` writes them."""
    path = gateway_binary().with_name(name)
    table = subprocess.run([path, "--help-config=markdown"], capture_output=True, text=True, check=True).stdout.strip()
    assert f"<!-- config {name} -->\n{table}\n<!-- end -->" in (ROOT / "services" / name / "README.md").read_text()


def test_check_is_fine(gateway_with):
    done = gateway_with().run("--check")
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.count("\n") == 1


WRONG = [
    # settings, arguments, exit status, text in the one line
    ({}, ["--nope"], 2, "unknown flag '--nope'"),
    ({"PRT": 1}, [], 2, "GROUNDWORK_PRT is not a variable"),
    ({"PORT": 99999}, [], 2, 'GROUNDWORK_PORT is "99999", but must be'),
    ({"WORKERS": "two"}, [], 2, "GROUNDWORK_WORKERS"),
    ({"LOG_LEVEL": "loud"}, [], 2, "debug, info, warn, error"),
    ({"MASTER_KEY": "short"}, [], 2, "not shown"),
    ({"MASTER_KEY": None}, [], 2, "GROUNDWORK_MASTER_KEY"),
    ({"DATABASE_URL": None}, [], 2, "GROUNDWORK_DATABASE_URL"),
    ({"OPERATOR_TOKEN_FILE": "/nonexistent"}, [], 2, "both set"),
    ({"REDIS_URL": "127.0.0.1:6379"}, [], 2, "GROUNDWORK_REDIS_URL"),
    ({"HOST": "no-such-host.invalid"}, [], 2, "GROUNDWORK_HOST"),
    ({"REDIS_URL": "unix:/nonexistent"}, [], 3, "Redis cannot be reached"),
    ({"REDIS_URL": "unix:/nonexistent"}, ["--check"], 3, "Redis cannot be reached"),
    ({"DATABASE_URL": "postgresql://x@127.0.0.1:1/x", "WORKERS": 4}, [], 3, "PostgreSQL cannot be reached"),
]


@pytest.mark.parametrize(
    "changes, arguments, status, text", WRONG,
    ids=[" ".join([*arguments, *changes]) + f" {status}" for changes, arguments, status, _ in WRONG],
)
def test_start_is_refused_with_one_line(gateway_with, changes, arguments, status, text):
    done = gateway_with(**changes).run(*arguments)
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("api-gateway: ") and done.stderr.count("\n") == 1, done.stderr
    assert text in done.stderr
    assert "short" not in done.stderr


# Checks of a runner beyond the bounds of its variables, at its start and for --check.
WRONG_RUNNER = [
    ({"SMTP_URL": "http://mail.example.org"}, "GROUNDWORK_SMTP_URL must be smtp://"),
    ({"SMTP_URL": "smtp://user:hunter2@:25"}, "GROUNDWORK_SMTP_URL must be smtp://"),
    ({"SMTP_URL": "smtps://user:hunter2@mail.example.org:99999"}, "GROUNDWORK_SMTP_URL must be smtp://"),
    ({"SCRIPT_SANDBOX": "/nonexistent/script-sandbox"},
     "/nonexistent/script-sandbox (GROUNDWORK_SCRIPT_SANDBOX), cannot be run: No such file or directory"),
    ({"SCRIPT_SANDBOX": __file__}, "(GROUNDWORK_SCRIPT_SANDBOX), cannot be run: Permission denied"),
]


@pytest.mark.parametrize("arguments", [[], ["--check"]], ids=["start", "check"])
@pytest.mark.parametrize("changes, text", WRONG_RUNNER, ids=range(len(WRONG_RUNNER)))
def test_start_of_a_runner_is_refused_with_one_line(gateway_with, changes, text, arguments):
    done = gateway_with(gateway_binary().with_name("workflow-runner"), OPERATOR_TOKEN=None, **changes).run(*arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("workflow-runner: ") and done.stderr.count("\n") == 1, done.stderr
    assert text in done.stderr and "hunter2" not in done.stderr


def test_a_runner_without_its_sandbox(gateway_with, tmp_path):
    """The message names the program that the runner expects in its own folder."""
    alone = tmp_path / "workflow-runner"
    shutil.copy(gateway_binary().with_name("workflow-runner"), alone)
    done = gateway_with(alone, OPERATOR_TOKEN=None).run()
    assert done.returncode == 2 and f"{tmp_path}/script-sandbox" in done.stderr, done.stderr


def test_a_runner_has_no_port(gateway_with):
    runner = gateway_with(gateway_binary().with_name("workflow-runner"))
    text = runner.run("--help-config").stdout
    assert "GROUNDWORK_ADMIN_PORT=" in text and "GROUNDWORK_JOB_SLOTS=" in text
    assert "GROUNDWORK_PORT" not in text and "GROUNDWORK_HOST" not in text
    help_text = runner.run("--help").stdout
    assert "--check" in help_text and "--list-routes" not in help_text


def test_port_that_is_taken(gateway_with, session_gateway):
    """Workers share a port through the kernel; a second gateway must not join them."""
    done = gateway_with(PORT=session_gateway.port).run()
    assert done.returncode == 2
    assert f":{session_gateway.port} (GROUNDWORK_HOST, GROUNDWORK_PORT)" in done.stderr
    done = gateway_with(ADMIN_PORT=session_gateway.admin_port).run()
    assert done.returncode == 2 and "GROUNDWORK_ADMIN_PORT" in done.stderr


def test_one_port_for_both(gateway_with):
    """Otherwise the kernel would distribute connections between both listeners."""
    port = free_port()
    done = gateway_with(PORT=port, ADMIN_PORT=port).run()
    assert done.returncode == 2 and "GROUNDWORK_PORT, GROUNDWORK_ADMIN_HOST" in done.stderr


def test_few_files_mean_few_connections(gateway_with, tmp_path):
    script = tmp_path / "limited"
    script.write_text(f'#!/bin/sh\nulimit -n 700\nexec {gateway_binary()} "$@"\n')
    script.chmod(0o755)
    daemon = gateway_with(script, WORKERS=1).start()
    try:
        (line,) = events(daemon, "gateway.connections_limited")
        assert line["level"] == "warn" and line["wanted"] == 20000 and 100 <= line["given"] < 700
        assert requests.get(f"{daemon.url}/healthz", timeout=60).status_code == 200
    finally:
        assert daemon.stop() == 0


# --- workers and signals --------------------------------------------------------------------------


def test_killed_worker_is_replaced_while_the_other_serves(start_own_gateway):
    daemon = start_own_gateway(WORKERS=2)
    until(lambda: len(events(daemon, "worker.ready")) == 2)
    before = set(daemon.workers())
    answers, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            try:
                answers.append(requests.get(f"{daemon.url}/healthz", timeout=60).status_code)
            except requests.ConnectionError:
                answers.append(None)  # this connection was with the killed worker

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(ask) for _ in range(2)]
        until(lambda: len(answers) > 10)
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(events(daemon, "worker.ready")) == 3)
        seen = len(answers)
        until(lambda: len(answers) > seen + 20)
        stop.set()
        for future in futures:
            future.result()
    after = set(daemon.workers())
    assert len(after) == 2 and victim not in after and after & before
    assert set(answers) <= {200, None}
    assert answers.count(None) <= 5
    assert set(answers[seen + 2:]) == {200}
    (death,) = events(daemon, "worker.died")
    assert (death["pid"], death["signal"]) == (victim, 9)


def test_a_killed_worker_refuses_no_connection(start_own_gateway):
    """Clients that connect while the worker is gone are answered by its successor."""
    daemon = start_own_gateway(WORKERS=1)
    for round in range(3):
        (victim,) = daemon.workers()
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(events(daemon, "worker.died")) == round + 1)
        clients = [socket.create_connection(("127.0.0.1", daemon.port), timeout=60) for _ in range(20)]
        for sock in clients:
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        for sock in clients:
            assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
            sock.close()


def test_workers_share_connections_evenly(start_own_gateway):
    daemon = start_own_gateway(WORKERS=2)
    until(lambda: len(events(daemon, "worker.ready")) == 2)
    clients = [socket.create_connection(("127.0.0.1", daemon.port), timeout=60) for _ in range(400)]
    until(lambda: sample(daemon.metrics(), "groundwork_http_connections") >= 400)
    open_files = [len(os.listdir(f"/proc/{pid}/fd")) for pid in daemon.workers()]
    assert abs(open_files[0] - open_files[1]) < 120, open_files
    for sock in clients:
        sock.close()


def test_no_core_dump_holds_a_key(start_own_gateway):
    daemon = start_own_gateway(WORKERS=1)
    for pid in (daemon.process.pid, *daemon.workers()):
        with open(f"/proc/{pid}/limits", encoding="ascii") as limits:
            assert re.search(r"^Max core file size +0 +0 ", limits.read(), re.M)
        with open(f"/proc/{pid}/coredump_filter", encoding="ascii") as kinds:
            assert int(kinds.read(), 16) == 0
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # the environment, from which the master key was read
            environment = int(stat.read().rsplit(")", 1)[1].split()[47])
        with open(f"/proc/{pid}/smaps", encoding="utf-8") as maps:
            found = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) (?:.*\n)+?VmFlags:(.*)$", maps.read(), re.M)
        (flags,) = [flags for start, end, flags in found if int(start, 16) <= environment < int(end, 16)]
        assert " dd" in flags


def test_budgets_of_memory_are_one_sum(gateway_with):
    """No configured memory budget may exceed the budget for all of them together."""
    for more, named in (({"MEMORY_BYTES": "64M"}, "GROUNDWORK_MEMORY_BYTES"), ({"ANSWER_BYTES": "32M"}, "GROUNDWORK_ANSWER_BYTES"),
                        ({"JSON_BODY_BYTES": "32M"}, "GROUNDWORK_JSON_BODY_BYTES")):
        done = gateway_with(**more).run("--check")
        assert done.returncode == 2, done.stderr
        assert "GROUNDWORK_REQUESTS_BYTES" in done.stderr and named in done.stderr


def test_json_bodies_of_another_size(start_own_gateway, operator):
    """GROUNDWORK_JSON_BODY_BYTES is the limit of every JSON body, and the 413 beyond it names the limit."""
    daemon = start_own_gateway(WORKERS=1, JSON_BODY_BYTES="2M")
    project = Project(daemon, operator, None)
    entity = project.entity(fields=[{"name": name, "type": "text"} for name in ("first", "second", "third")])
    path, text = f"/entities/{entity['name']}/items", "x" * 700_000
    project.admin.post(path, {"first": text, "second": text}, expect=201)
    refused = project.admin.post(path, {"first": text, "second": text, "third": text}, expect=413)
    assert "2097152" in refused.json()["detail"]


def test_more_requests_than_fit(start_own_gateway, db):
    """The answer is an immediate 503, with one Retry-After header."""
    daemon = start_own_gateway(WORKERS=1, REQUESTS_MAX=16, **PATIENT)
    db.autocommit = False
    with db.cursor() as cursor:
        cursor.execute("lock table platform.projects in access exclusive mode")
    waiting = [socket.create_connection(("127.0.0.1", daemon.port), timeout=60) for _ in range(16)]
    for number, sock in enumerate(waiting):  # their project is being looked up
        sock.sendall(f"GET /org/waiting{number}/users/me HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    until(lambda: sample(daemon.metrics(), "groundwork_http_in_flight") == 16)
    caller = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    caller.request("GET", "/healthz")
    refused = caller.getresponse()
    assert refused.status == 503 and refused.headers.get_all("Retry-After") == ["1"]
    assert json.load(refused)["code"] == "too_many_requests_in_flight"
    db.rollback()
    for sock in waiting:
        assert sock.recv(65536).startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 503 "))
        sock.close()
    caller.request("GET", "/healthz")
    assert caller.getresponse().status == 200
    caller.close()


def test_hangup_changes_nothing(start_own_gateway):
    daemon = start_own_gateway(WORKERS=1)
    workers = daemon.workers()
    for pid in [daemon.process.pid, *workers]:
        os.kill(pid, signal.SIGHUP)
    until(lambda: events(daemon, "worker.hangup_ignored"))
    assert requests.get(f"{daemon.url}/healthz", timeout=60).status_code == 200
    assert daemon.workers() == workers


def waiting_request(daemon, operator, servers):
    """Returns a request for a new record, which is created when the lock is released, and the connection that holds the lock.
    The daemon gives up on locks of other sessions after two seconds, so its statement tries this lock repeatedly instead of
    waiting."""
    project = Project(daemon, operator, None)
    entity = project.entity()
    lock = servers.connect()
    schema = project.schema(lock)
    execute(lock, f"create function {schema}.wait() returns trigger language plpgsql as $$ begin"
                  f" while not pg_try_advisory_xact_lock_shared({entity['id']}) loop perform pg_sleep(0.02); end loop; return new; end $$")
    execute(lock, f"create trigger wait before insert on {schema}.e_{entity['id']} for each row execute function {schema}.wait()")
    lock.autocommit = False
    execute(lock, f"select pg_advisory_xact_lock({entity['id']})")
    pool = concurrent.futures.ThreadPoolExecutor(1)
    future = pool.submit(project.admin.post, f"/entities/{entity['name']}/items", {"name": "x"})
    until(lambda: "groundwork_http_in_flight 1" in daemon.metrics())
    return future, lock


def test_drain_answers_what_runs(start_own_gateway, operator, servers):
    daemon = start_own_gateway(WORKERS=1, DRAIN_TIMEOUT_MS=600000, **PATIENT)
    future, lock = waiting_request(daemon, operator, servers)
    daemon.signal(signal.SIGTERM)
    until(lambda: events(daemon, "worker.draining"))
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", daemon.port), timeout=60)
    ready = requests.get(f"{daemon.admin_url}/readyz", timeout=60)
    assert ready.status_code == 503 and ready.json()["draining"] is True
    assert daemon.is_running() and not future.done()
    lock.rollback()
    answer = future.result(60)
    assert answer.status_code == 201 and answer.headers["Connection"] == "close"
    assert daemon.process.wait(60) == 0
    lock.close()


@pytest.mark.timed
def test_drain_gives_up_in_time(start_own_gateway, operator, servers):
    """The request still waits when the daemon has ended: the lock is released only afterwards."""
    daemon = start_own_gateway(WORKERS=1, DRAIN_TIMEOUT_MS=300, **PATIENT)
    future, lock = waiting_request(daemon, operator, servers)
    with at_most(20, "the end of the daemon"):
        daemon.signal(signal.SIGTERM)
        daemon.process.wait(allowed(20))
    assert future.exception(60) is not None
    lock.rollback()
    lock.close()


@pytest.mark.timed
def test_drain_under_load(start_own_gateway, operator):
    daemon = start_own_gateway(WORKERS=2)
    project = Project(daemon, operator, None)
    entity = project.entity()["name"]
    token, statuses, broken = project.admin.token, [], []

    def ask():
        with requests.Session() as session:
            while True:
                try:
                    answer = session.post(f"{project.base_url}/entities/{entity}/items", json={"name": "x"},
                                          headers={"Authorization": f"Bearer {token}"}, timeout=60)
                    statuses.append(answer.status_code)
                except requests.ConnectionError as error:
                    broken.append(error)
                    return

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(ask)
        until(lambda: len(statuses) > 50)
        with at_most(10, "the end of the daemon"):
            daemon.signal(signal.SIGTERM)
            assert daemon.process.wait(allowed(10)) == 0
    assert set(statuses) == {201}
    assert len(broken) == 8


def test_end_before_the_database_answers(start_own_gateway, gateway_with):
    """A worker that restarts while PostgreSQL is unavailable still ends on SIGTERM."""
    daemon = gateway_with(DATABASE_URL="postgresql://x@127.0.0.1:1/x", WORKERS=2)
    with pytest.raises(RuntimeError):
        daemon.start(wait=1)
    daemon.signal(signal.SIGTERM)
    daemon.process.wait(60)
    assert not daemon.alarms()


# --- metrics and logs -----------------------------------------------------------------------------


def sample(text, name):
    """Sum of a metric's samples whose name and labels begin with `name`."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


def test_metrics(project, gateway):
    before = after = gateway.metrics()
    for _ in range(5):
        project.admin.get("/users", expect=200)
    project.admin.get("/users/999999", expect=404)

    def grown(name):
        return sample(after, name) - sample(before, name)

    def is_counted():  # a request is counted once its answer is being sent
        nonlocal after
        after = gateway.metrics()
        return grown('groundwork_requests_total{route="users_get",status="4xx"}')

    until(is_counted)
    assert grown('groundwork_requests_total{route="users_list",status="2xx"}') == 5
    assert grown('groundwork_requests_total{route="users_get",status="4xx"}') == 1
    assert grown('groundwork_request_seconds_count{route="users_list"}') == 5
    assert 0 < grown('groundwork_request_seconds_sum{route="users_list"}') < 30
    assert grown('groundwork_response_bytes_count{route="users_list"}') == 5
    for name in ("groundwork_loop_lag_ms", "groundwork_tasks", "groundwork_arenas", "groundwork_http_connections",
                 "groundwork_db_connections", "groundwork_db_waiting", "groundwork_db_in_flight",
                 "groundwork_rights_cache_hits_total", "groundwork_token_cache_hits_total"):
        assert re.search(rf"^{name} \d+$", after, re.M), name
    assert sample(after, "groundwork_db_connections ") >= 2


def test_metrics_are_well_formed(gateway):
    typed, seen = {}, set()
    for line in gateway.metrics().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in typed, f"{name} twice"
            typed[name] = kind
        elif not line.startswith("#"):
            match = re.fullmatch(r'(\w+)(\{(?:\w+="[^"]*",?)*\})? (-?[0-9.e+-]+|\+Inf)', line)
            assert match, line
            assert line.rsplit(" ", 1)[0] not in seen, f"{line} twice"
            seen.add(line.rsplit(" ", 1)[0])
            family = re.sub(r"_(bucket|sum|count)$", "", match[1])
            kind = typed.get(match[1]) or typed.get(family)
            assert kind, line
            assert (kind == "counter") == match[1].endswith("_total"), line


def test_access_line(project, gateway):
    own_id = f"trace-{project.id}"
    answer = project.admin.get("/users?limit=1", headers={"X-Request-Id": own_id}, expect=200)
    assert answer.headers["X-Request-Id"] == own_id
    until(lambda: own_id in gateway.log())
    (line,) = [each for each in events(gateway, "access") if each.get("request_id") == own_id]
    assert line["project"] == project.id and line["route"] == "users_list" and line["method"] == "GET"
    assert line["status"] == 200 and line["caller"] == "user" and line["peer"] == "127.0.0.1"
    assert 0 < line["db_us"] <= line["us"] < 10_000_000
    assert line["bytes_out"] > len(answer.content)


def test_access_line_holds_no_secret(project, gateway):
    word = f"secret-{project.id}"
    first = project.client().post("/auth/v1/token", {"email": f"{word}@example.org", "password": word}, expect=401)
    last = await_status(lambda: project.client().get(f"/users?{word}=1", headers={"Authorization": f"Bearer {word}"}), 401)
    for answer in (first, last):
        until(lambda own_id=answer.headers["X-Request-Id"]: own_id in gateway.log())
    assert word not in gateway.log()
    assert project.admin.token not in gateway.log()


def test_admin_port_answers_nothing_else(gateway):
    assert requests.get(f"{gateway.admin_url}/org", timeout=60).status_code == 404
    assert requests.post(f"{gateway.admin_url}/metrics", timeout=60).status_code == 405
    assert requests.get(f"{gateway.url}/metrics", timeout=60).status_code == 404
