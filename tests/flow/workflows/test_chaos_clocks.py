"""Workflows on an unreliable machine: a slow disk, a full disk, a transaction that stays open, wrong clocks, and names that cannot be resolved
(D9-D14)."""
import datetime
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import zoneinfo

import pytest
from groundwork.chaos import FAKETIME, faketime_prefix, kill
from groundwork.client import Client
from groundwork.daemon import Daemon
from groundwork.deadline import allowed, at_most, until
from groundwork.fixtures import gateway_binary
from groundwork.project import Project
from groundwork.records import execute, rows, table
from groundwork.runs import condition, wait_ended, history
from groundwork.servers import UNSYNCED, Servers
from groundwork.workflows import add_jobs, call, create, event, job_row, jobs_of, start, timed_trigger, workflow

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
needs_faketime = pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed")
pytestmark = pytest.mark.usefixtures("no_foreign_events")
RUNNER = {"SWEEP_MS": 500}


# --- disks ---


def seconds(call):
    since = time.monotonic()
    call()
    return time.monotonic() - since


def test_a_slow_disk(project, db, servers, start_test_runner, orders):
    """D10: each flush takes 100 ms longer, one at a time: no lease is lost, and no step runs twice."""
    made = workflow(project.admin, steps=[condition("a", then="save"), create("save", next="b"), condition("b")])
    root = servers.connect(superuser=True)
    execute(root, "alter system set commit_delay = 100000")
    execute(root, "alter system set commit_siblings = 0")
    execute(root, "alter system set fsync = on")  # without fsync nothing is flushed, and no statement waits
    execute(root, "select pg_reload_conf()")
    try:
        until(lambda: seconds(lambda: project.item("orders", name="slow")) > 0.1, "every server process has read it")
        before = rows(db, f"select count(*) from {table(project, db, orders)}")[0][0]
        runners = [start_test_runner(LEASE_MS=8000), start_test_runner(LEASE_MS=8000)]
        schema = project.schema(db)
        add_jobs(project, db, made, 60)
        until(lambda: not rows(db, f"select 1 from {schema}.jobs_now where status in ('queued', 'running')"), "all ended", 20)
        assert rows(db, f"select status, max(attempt), count(*) from {schema}.jobs_now group by 1") == [("succeeded", 1, 60)]
        assert rows(db, f"select count(*) from {table(project, db, orders)}") == [(before + 60,)]
        own = f'"project":{schema.removeprefix("p_")},'  # earlier tests may have left jobs to be rescued
        said = [line for daemon in runners for line in daemon.log().splitlines() if own in line]
        assert not [line for line in said if "queue.lost" in line or "queue.rescued" in line]
    finally:
        execute(root, "alter system reset all")
        execute(root, "select pg_reload_conf()")
        root.close()


@pytest.fixture
def small_disk(tmp_path_factory):
    """Separate servers, whose data are on a file system of 200 MB."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gwdisk."))
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m,mode=711", "tmpfs", folder], capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("no file system can be mounted here")
    servers = Servers()
    shutil.rmtree(servers.folder)
    servers.folder = folder / "s"
    servers.folder.mkdir(mode=0o711)
    os.environ["PG_SETTINGS"] = "max_wal_size = 32MB; min_wal_size = 32MB; shared_buffers = 16MB"
    started = []
    try:
        servers.start()
        yield servers, folder, started
    finally:
        del os.environ["PG_SETTINGS"]
        for daemon in started:
            if daemon.is_running():
                kill(daemon)
        servers.wipe()
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


def fill(folder):
    """Fills the rest of the disk. Returns the file."""
    path = folder / "filler"
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 65536)
        except OSError:
            pass
    return path


@needs_root
def test_a_full_disk(small_disk, tmp_path):
    """D9: no record is without its event, and no step is half done. All work continues without help once there is space."""
    servers, folder, started = small_disk
    own = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, "MASTER_KEY": "00112233445566778899aabbccddeeff" * 2,
           "WORKERS": 1}
    gateway = Daemon(str(gateway_binary()), tmp_path / "gateway.log", OPERATOR_TOKEN="operator-of-a-small-disk", **own)
    runner = Daemon(str(gateway_binary().with_name("workflow-runner")), tmp_path / "runner.log", SWEEP_MS=500, LEASE_MS=4000, **own)
    assert gateway.run("--migrate").returncode == 0
    for daemon in (gateway, runner):
        started.append(daemon.start())
    project = Project(gateway, Client(f"{gateway.url}/org", token="operator-of-a-small-disk"), None)
    entity = project.entity("orders", [{"name": "name", "type": "text"}])
    copies = project.entity("copies", [{"name": "name", "type": "text"}])
    flow = workflow(project.admin, event("orders"), [create("save", "copies", {"name": "{{ $svc.trigger.data.name }}"})])
    project.item("orders", name="first")
    db = servers.connect()
    schema = project.schema(db)
    until(lambda: rows(db, f"select 1 from {schema}.jobs_now where status = 'succeeded'"), "both follow the workflow")
    db.close()
    filler = fill(folder)
    statuses, acked = [], 1
    noise = os.urandom(30000).hex()
    for number in range(60):
        answer = project.admin.post("/entities/orders/items", {"name": f"{number} {noise}"})
        statuses.append(answer.status_code)
        acked += answer.status_code == 201
        if len(statuses) - statuses.count(201) > 5:
            break
        fill(folder)
    assert set(statuses) <= {201, 503, 507} and set(statuses) & {503, 507}, statuses
    filler.unlink()
    # A PostgreSQL server that cannot write its log stops. Groundwork does not start it again.
    db = until(lambda: connect_or_start(servers), "the server is back")
    until(lambda: project.admin.post("/entities/orders/items", {"name": "after"}).status_code == 201, "writes again")
    assert gateway.is_running() and runner.is_running()
    until(lambda: not rows(db, f"select 1 from {schema}.outbox where pending & 1 <> 0")
          and not rows(db, f"select 1 from {schema}.jobs_now where status not in ('succeeded', 'failed')"), "all is done")
    (made,) = rows(db, f"select count(*) from {table(project, db, entity)}")[0]
    assert made >= acked + 1
    assert rows(db, f"select count(*), count(distinct trigger_id) from {schema}.jobs where workflow_id = %s", flow["id"]) == [(made, made)]
    (succeeded,) = rows(db, f"select count(*) from {schema}.jobs_now where status = 'succeeded'")[0]
    assert rows(db, f"select count(*) from {table(project, db, copies)}") == [(succeeded,)]
    assert not gateway.alarms() and not runner.alarms()
    db.close()


def connect_or_start(servers):
    try:
        return servers.connect()
    except Exception:  # noqa: BLE001 - recovering, or down
        try:
            servers.postgres("start")
        except RuntimeError:
            pass
        return None


# --- a transaction that stays open ---


def test_a_transaction_that_stays_open(project, db, servers, start_test_runner, orders, order_workflow):
    """D11: an old transaction that has a transaction id does not delay any event."""
    start_test_runner()
    old = servers.connect()
    old.autocommit = False
    execute(old, "select pg_current_xact_id()")
    execute(old, f"update {project.schema(db)}.meta set model_version = model_version where false")
    for number in range(5):
        project.item("orders", name=f"n{number}")
    until(lambda: [status for _, status in jobs_of(project, db, order_workflow)] == ["succeeded"] * 5, "five jobs")
    assert rows(db, "select 1 from pg_stat_activity where state = 'idle in transaction' and backend_xid is not null")
    old.close()


# --- clocks ---


@needs_faketime
@pytest.mark.parametrize("offset", ["+2h", "-2h"])
def test_one_runner_with_a_wrong_clock(project, db, sink, start_test_runner, offset):
    """D12: leases and ticks follow the database's clock: no runner takes a job early, and no minute fires twice."""
    slow = workflow(project.admin, steps=[call("call", f"{sink.url}/slow/3", next="end"), condition("end")])
    ticking = workflow(project.admin, timed_trigger("* * * * *"), [condition()])
    wrong = start_test_runner(prefix=faketime_prefix(offset, gateway_binary()))
    said = [json.loads(line)["time"] for line in wrong.log().splitlines() if '"event":"runner.started"' in line]
    assert said, "no worker says that it has started"
    for time_ in said:
        wrong_by = datetime.datetime.fromisoformat(time_.replace("Z", "+00:00")) - datetime.datetime.now(datetime.timezone.utc)
        assert abs(wrong_by) > datetime.timedelta(minutes=110)
    start_test_runner()
    jobs = [start(project.admin, slow) for _ in range(6)]
    schema = project.schema(db)
    ((begun,),) = rows(db, "select date_trunc('minute', now())")
    # Makes the tick due repeatedly for some seconds, so that each runner may take it.
    for _ in range(12):
        execute(db, f"update {schema}.workflows set next_fire_at = date_trunc('minute', now()) where id = %s", ticking["id"])
        execute(db, "update platform.workflow_projects set next_fire_at = date_trunc('minute', now())")
        time.sleep(0.4)
    for job in jobs:
        found = wait_ended(project, job)
        assert (found["status"], found["attempt"]) == ("succeeded", 1), found
    until(lambda: not rows(db, f"select 1 from {schema}.jobs_now where status in ('queued', 'running')"), "ticks ran")
    ticks = rows(db, f"select trigger_at, queued_at, attempt from {schema}.jobs_now where workflow_id = %s order by 1", ticking["id"])
    assert ticks and len({trigger_at for trigger_at, _, _ in ticks}) == len(ticks)
    for trigger_at, queued_at, attempt in ticks:
        assert trigger_at >= begun and datetime.timedelta(0) <= queued_at - trigger_at < datetime.timedelta(minutes=2) and attempt == 1
    assert len(sink.requests_to("/slow/3")) % 6 == 0


# --- ticks ---

ZONE = "Europe/Berlin"  # the clocks change on 2027-03-28 at 01:00 UTC
BEGIN = datetime.datetime(2027, 3, 27, 23, 30, tzinfo=datetime.timezone.utc)
JUMP_SECONDS = 225  # ticks that are older than 300 seconds are skipped
HOURS = 2
# Expression -> (zone, whether a minute matches: UTC, then local time).
TICKS = {
    "* * * * *": ("UTC", lambda at: True),
    "*/7 * * * *": ("UTC", lambda at: at.minute % 7 == 0),
    "3,17-20,59 * * * *": ("UTC", lambda at: at.minute in (3, 17, 18, 19, 20, 59)),
    "10-40/10 0,2 * * *": ("UTC", lambda at: at.minute in (10, 20, 30, 40) and at.hour in (0, 2)),
    "15 * 28 mar *": ("UTC", lambda at: at.minute == 15 and at.day == 28),
    "30 1 27,29 * sun": ("UTC", lambda at: (at.hour, at.minute) == (1, 30) and (at.day in (27, 29) or at.isoweekday() == 7)),
    "5 0 * 4 *": ("UTC", lambda at: False),
    "*/20 * * * 0": (ZONE, lambda at: at.minute % 20 == 0 and at.isoweekday() == 7),
    "15 3 * * *": (ZONE, lambda at: (at.hour, at.minute) == (3, 15)),
}


def expected(zone, matches, first, last):
    at, found = first, []
    while at <= last:
        if matches(at.astimezone(zoneinfo.ZoneInfo(zone))):
            found.append(at)
        at += datetime.timedelta(minutes=1)
    return found


@pytest.fixture
def clockwork(tmp_path):
    """Separate servers, with a database whose clock can jump. Yields (servers, jump_to)."""
    servers = Servers(UNSYNCED)
    offset = servers.folder / "clock"

    def write(seconds):
        fresh = offset.with_suffix(".new")
        fresh.write_text(f"{seconds:+.3f}\n")
        fresh.chmod(0o644)
        fresh.rename(offset)

    write(0)
    own = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_NO_CACHE": "1",
           "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"}
    os.environ.update(own)
    try:
        servers.postgres("start")
    finally:
        for name in own:
            del os.environ[name]
    servers.redis("start")
    servers.database_url, servers.redis_url = servers.postgres("url"), servers.redis("url")
    yield servers, lambda at: write(at.timestamp() - time.time())
    servers.wipe()


@needs_faketime
def test_every_minute_that_matches_fires_once(clockwork, tmp_path):
    """D13: three runners run for hours of the database's time, across the change to summer time, and one is killed now and then: every matching
    minute fires once."""
    servers, jump_to = clockwork
    own = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, "MASTER_KEY": "00112233445566778899aabbccddeeff" * 2,
           "WORKERS": 1}
    gateway = Daemon(str(gateway_binary()), tmp_path / "gateway.log", OPERATOR_TOKEN="operator-of-the-clock", **own)
    runners = [Daemon(str(gateway_binary().with_name("workflow-runner")), tmp_path / f"runner{i}.log", SWEEP_MS=300, LEASE_MS=4000, **own) for i in range(3)]
    try:
        assert gateway.run("--migrate").returncode == 0
        gateway.start()
        project = Project(gateway, Client(f"{gateway.url}/org", token="operator-of-the-clock"), None)
        flows = {cron: workflow(project.admin, timed_trigger(cron, timezone=zone), [condition()])["id"] for cron, (zone, _) in TICKS.items()}
        db = servers.connect()
        schema = project.schema(db)
        jump_to(BEGIN)
        until(lambda: rows(db, "select now() > '2027-03-27'")[0][0], "the clock jumped")
        execute(db, f"update {schema}.workflows set next_fire_at = '2027-03-27 23:31+00'")
        execute(db, "update platform.workflow_projects set next_fire_at = '2027-03-27 23:31+00'")
        for runner in runners:
            runner.start()
        now, last = BEGIN, BEGIN + datetime.timedelta(hours=HOURS, seconds=30)
        killed = 0
        while now < last:
            now = min(now + datetime.timedelta(seconds=JUMP_SECONDS), last)
            jump_to(now)
            if now.minute // 40 != killed:  # twice an hour
                killed = now.minute // 40
                kill(runners[0])
                runners.append(runners.pop(0).start())
            until(lambda: not rows(db, f"select 1 from {schema}.workflows where next_fire_at <= now() - interval '1 second'")
                  and not rows(db, f"select 1 from {schema}.jobs_now where status in ('queued', 'running')"), f"the ticks until {now}")
        last = rows(db, "select now()")[0][0]
        until(lambda: not rows(db, f"select 1 from {schema}.jobs_now where status in ('queued', 'running')"), "all ran")
        for cron, (zone, matches) in TICKS.items():
            fired = [at for (at,) in rows(db, f"select trigger_at from {schema}.jobs where workflow_id = %s and trigger_at <= %s order by 1",
                                          flows[cron], last)]
            wanted = expected(zone, matches, BEGIN + datetime.timedelta(minutes=1), last)
            first_given = [BEGIN + datetime.timedelta(minutes=1)]  # the test itself set next_fire_at to this time, so it is not compared
            assert [at for at in fired if at not in first_given] == [at for at in wanted if at not in first_given], cron
        assert rows(db, f"select distinct status from {schema}.jobs_now") == [("succeeded",)]
        db.close()
        assert not [alarm for daemon in [gateway, *runners] for alarm in daemon.alarms()]
    finally:
        for daemon in [gateway, *runners]:
            if daemon.is_running():
                kill(daemon)


# --- names ---


@pytest.fixture
def silent_resolver():
    """A name server that never answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.77", 53))
        yield


def with_resolver(tmp_path, address):
    """Returns the prefix of a command that starts a program with another name server."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("no name space of mounts can be made here")
    path = tmp_path / "resolv.conf"
    path.write_text(f"nameserver {address}\noptions timeout:30 attempts:3\n")
    path.chmod(0o644)
    return ["unshare", "--mount", "sh", "-c", f'mount --bind {path} /etc/resolv.conf && exec "$0"']


@needs_root
@pytest.mark.timed
@pytest.mark.parametrize("address", ["127.0.0.78", "127.0.0.77"], ids=["down", "slow"])
def test_names_are_not_found(project, db, tmp_path, silent_resolver, start_test_runner, address):
    """D14: the steps fail as unreachable within ten seconds, and other jobs do not wait."""
    outward = workflow(project.admin, steps=[call("call", "http://somewhere.example.org/", timeout_seconds=10)])
    quick = workflow(project.admin, steps=[condition("a", then="b"), condition("b")])
    start_test_runner(prefix=with_resolver(tmp_path, address))
    with at_most(20, "the steps"):
        waiting = [start(project.admin, outward) for _ in range(20)]
        until(lambda: history(project, db, waiting[0]), "they are sent")
        for _ in range(5):
            with at_most(8, "a job that needs no name"):
                assert wait_ended(project, start(project.admin, quick))["status"] == "succeeded"
        for job in waiting:
            found = wait_ended(project, job, within=20)
            assert (found["status"], found["error"]["code"]) == ("failed", "unreachable")
    took = [float(seconds) for (seconds,) in rows(
        db, f"select extract(epoch from finished_at - started_at) from {project.schema(db)}.job_steps where key = 'call'")]
    assert len(took) == 20 and max(took) <= allowed(12)
    assert job_row(project, db, waiting[0], "attempt") == 1
