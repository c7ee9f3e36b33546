"""R1-R9, small: one hostile project floods each shared resource in turn, and calls of another project continue.

The other project must get correct answers every time, and its p99 during the flood stays within twice its p99 just before and
just after, plus a margin for a test machine that is busy with other work and computes under sanitizers. Such other work may
slow one of the measurements, but not each of three: a resource without a share is slow every time. A wrong answer fails the
first measurement. The strict figures are in the soak test (tests/load/test_soak.py)."""
import os
import re

import pytest

from groundwork import floods
from groundwork.client import Client
from groundwork.deadline import allowed, until
from groundwork.neighbour import Neighbours, neighbour
from groundwork.project import Project
from groundwork.records import rows
from groundwork.runs import condition
from groundwork.soon import settle
from groundwork.workflows import workflow
from oidc.fake_issuer import Issuer, Server

pytestmark = [pytest.mark.slow, pytest.mark.full]

MARGIN, MEDIAN_MARGIN = 0.75, 0.15  # seconds
ALONE_SECONDS, FLOOD_SECONDS = 2.5, 6
ATTEMPTS = 3
CALLS = {"read": 4, "list": 2, "me": 1, "create": 2, "update": 2}
PAGE = "https://app.example.org/signed-in"


@pytest.fixture(scope="module")
def issuers():
    server = Server()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def tarpit():
    own = floods.Tarpit()
    yield own
    own.close()


@pytest.fixture(scope="module")
def house(start_gateway, issuers, tarpit):
    """A gateway of one process for the tests of this file: a flood that fills a share there fills all of it."""
    return start_gateway("gateway-tenants", WORKERS=1, FETCH_ALLOW=f"127.0.0.1:{issuers.port},127.0.0.1:{tarpit.port}")


def new_project(gateway, servers):
    project = Project(gateway, Client(f"{gateway.url}/org", token=servers.operator_token), None)
    floods.raise_limits(project)
    return project


def new_normal(gateway, servers):
    project = new_project(gateway, servers)
    project.entity("things", [{"name": "name", "type": "varchar"}, {"name": "n", "type": "integer"}])
    return project


@pytest.fixture(scope="module")
def make(house, servers):
    return lambda: new_project(house, servers)


@pytest.fixture(scope="module")
def normal(house, servers):
    return new_normal(house, servers)


@pytest.fixture
def hostile(make, house):
    project = make()
    yield project
    alarms = house.alarms()
    assert not alarms, alarms[0]
    assert house.is_running(), f"the gateway ended:\n{house.log_tail()}"
    project.delete()


def measure(known, calls, flood, flood_seconds=FLOOD_SECONDS):
    """Measures the normal project alone, during the flood and alone again, and returns the report."""
    settle()
    with Neighbours([known], calls) as seen:
        seen.phase("warm", 0.5)
        seen.phase("before", ALONE_SECONDS)
        with flood:
            seen.phase("during", flood_seconds)
            seen.phase("flood ends")
        settle()
        seen.phase("after", ALONE_SECONDS)
        seen.phase("end")
        report = seen.report()
    print("the flood was answered", dict(getattr(flood, "answers", {})))
    phases = report["phases"]
    for kind in calls:
        print(kind, *(f"{name}: {phases[name][kind]['p50'] * 1000:.1f}/{phases[name][kind]['p99'] * 1000:.1f} ms of"
                      f" {phases[name][kind]['count']}" for name in ("before", "during", "after") if kind in phases.get(name, {})))
    return report


def slower(report):
    """Checks that every call during the flood was answered correctly; returns a sentence for each kind of call that the flood
    slowed by more than a fair share."""
    phases, found_slow = report["phases"], []
    assert "during" in phases, f"no call returned during the flood: {phases}"
    for kind, found in phases["during"].items():
        assert not found["errors"], f"{kind}: {found['errors']}, such as {report['examples']}"
        alone = [phases[name][kind] for name in ("before", "after") if kind in phases.get(name, {})]
        if not alone:  # no call returned in time without the flood either, so there is nothing to compare with
            continue
        for share, margin in (("p99", MARGIN), ("p50", MEDIAN_MARGIN)):
            idle = max(phase[share] for phase in alone)
            if found[share] > allowed(2 * idle + margin):
                found_slow.append(f"{kind}: {share} {found[share]:.3f} s, alone {idle:.3f} s")
    return found_slow


def check_isolated(known, flood, more=None, flood_seconds=FLOOD_SECONDS):
    seen = []
    for _ in range(ATTEMPTS):
        seen.append(slower(measure(known, {**CALLS, **(more or {})}, flood, flood_seconds)))
        if not seen[-1]:
            return
    assert not all(seen), seen


@pytest.fixture(scope="module")
def known(normal):
    return neighbour(normal)


@pytest.mark.timed
def test_r2_slow_exports(known, hostile, db):
    """R2: forty readers of 60 MB exports each read a few bytes a second."""
    floods.prepare_rows(hostile, db, 3000, 20000)
    check_isolated(known, floods.slow_exports(hostile, 40), {"sign_in": 1})


@pytest.mark.timed
def test_r3_announced_bodies(start_gateway, servers):
    """R3: five projects send hundreds of requests whose bodies never arrive, to public and other routes; few would fill this
    gateway."""
    gateway = start_gateway(WORKERS=1, REQUESTS_MAX=256)
    normal = new_normal(gateway, servers)
    hostile = [new_project(gateway, servers) for _ in range(5)]
    check_isolated(neighbour(normal), floods.announced_bodies(hostile, 800), {"sign_in": 1})
    assert not gateway.alarms()
    gateway.stop()


@pytest.mark.timed
def test_r4_sign_ins(known, hostile):
    check_isolated(known, floods.sign_ins(hostile, 60), {"sign_in": 4})


@pytest.mark.timed
def test_r4_bogus_refreshes(known, hostile):
    check_isolated(known, floods.bogus_refreshes(hostile), {"sign_in": 1})


@pytest.mark.timed
def test_r5_tarpit_identity_provider(normal, known, hostile, make, make_shop, issuers, tarpit):
    """R5: the hostile projects' identity providers accept connections and never answer; other projects' sign-ins by a provider
    and payments continue."""
    normal.admin.put("/", {"settings": {**Issuer(issuers).settings, "redirect_urls": [PAGE]}}, expect=200)
    make_shop(normal, mode="own")
    projects = [hostile, make()]
    for project in projects:
        floods.raise_limits(project)
    check_isolated(known, floods.tarpit_provider(projects, tarpit, 400), {"pay": 3, "provider": 3}, flood_seconds=10)


@pytest.mark.timed
def test_r6_aggregates(known, hostile, db):
    floods.prepare_rows(hostile, db, 250000, 64)
    check_isolated(known, floods.aggregates(hostile, 40))


def test_r6_few_statements_beside_others(start_gateway, servers, db):
    """R6: while other projects have statements, statements that keep PostgreSQL busy run one at a time; without others they may
    run concurrently."""
    gateway = start_gateway(WORKERS=1, DB_BUSY_SHARE=1)
    normal, hostile = new_normal(gateway, servers), new_project(gateway, servers)
    floods.prepare_rows(hostile, db, 100000, 64)
    schema = hostile.schema(db)
    callers = [normal.client(token=normal.admin.token) for _ in range(2)]

    def under_way():  # the parallel workers of a statement do not count
        return rows(db, "select count(*) from pg_stat_activity where state = 'active' and position(%s in query) > 0 and"
                        " backend_type = 'client backend' and pid <> pg_backend_pid()", f'{schema}.')[0][0]

    with floods.aggregates(hostile, 12):
        until(lambda: under_way() >= 3, "without others, the project never ran more than two statements")
        found = []

        def rests():
            found.append(under_way())
            return len(found) >= 15 and max(found[-15:]) <= 1  # fifteen checks in a row are no accident

        with floods.AttackThreads(2, lambda number, stop: callers[number].get("/entities/things/items")):
            until(rests, lambda: f"statements of the project that keeps the database busy: {found}", within=30, pause=0.02)
    gateway.stop()
    assert not gateway.alarms()


def test_r6_no_parallel_workers(start_gateway, servers, db):
    """R6: a heavy read uses one core, even if PostgreSQL would give it more."""
    gateway = start_gateway(WORKERS=1)
    hostile = new_project(gateway, servers)
    floods.prepare_rows(hostile, db, 250000, 64)
    found = []

    def often():
        found.extend(kind for (kind,) in rows(db, "select backend_type from pg_stat_activity where pid <> pg_backend_pid() and"
                                                  " state = 'active' and query like 'select t.%%, sum(t.%%'"))
        return found.count("client backend") >= 40

    with floods.aggregates(hostile, 2):
        until(often, lambda: found, within=20)
    assert set(found) == {"client backend"}
    gateway.stop()


def test_r4_hashes_of_all_workers(start_gateway):
    """R4: all workers together hash one password per core; more would only share the cores among themselves and with all other
    work."""
    cores = len(os.sched_getaffinity(0))
    for workers in (1, 2, 3):
        gateway = start_gateway(WORKERS=workers)
        each = -(-cores // workers)
        wanted = f'groundwork_shares_limit{{pool="hash_threads"}} {workers * each}'
        until(lambda: wanted in gateway.metrics().splitlines(), lambda: f"{wanted}: {re.findall('.*hash_threads.*', gateway.metrics())}")
        gateway.stop()


@pytest.mark.timed
def test_r6_documents(known, hostile):
    """R6: the hostile project requests the documents of a model with many fields again and again."""
    floods.prepare_model(hostile, 60, 150)
    check_isolated(known, floods.documents(hostile, 8))


@pytest.mark.timed
def test_r6_cache_drops(known, hostile):
    check_isolated(known, floods.cache_drops(hostile))


@pytest.mark.timed
def test_r9_large_lists(known, hostile, db):
    floods.prepare_rows(hostile, db, 240, 1 << 20, "large")
    check_isolated(known, floods.large_lists(hostile, 6))


@pytest.mark.timed
def test_r1_growing_records(known, hostile, house):
    workers = house.workers()
    check_isolated(known, floods.growing_records(hostile, 2, 70, 50_000), flood_seconds=10)
    assert house.workers() == workers, "a worker ended"


@pytest.fixture
def working(normal, known):
    """The normal project also runs jobs."""
    made = workflow(normal.admin, {"kind": "manual"}, [condition()])
    return {**known, "workflow": made["id"]}


@pytest.mark.timed
def test_r7_fan_out(working, hostile, start_test_runner):
    """R7: each record of the hostile project makes three hundred more."""
    floods.prepare_fan_out(hostile, 300)
    start_test_runner()
    check_isolated(working, floods.fan_out(hostile), {"job": 3}, flood_seconds=10)


@pytest.mark.timed
def test_r8_backlog(working, hostile, db, start_test_runner):
    made = workflow(hostile.admin, {"kind": "manual"}, [condition("a", then="b"), condition("b")])
    start_test_runner()
    check_isolated(working, floods.backlog(hostile, db, made, 50000), {"job": 3})
