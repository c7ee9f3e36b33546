"""R1-R9 at once: one hostile project runs all floods together with ten normal projects, for SOAK_SECONDS (1800) in the release build.

First the normal projects run alone, with the same calls, for a fifth of the time. A table shows their p50, p99 and wrong answers, alone
and with the floods. The hostile clients run at the lowest priority, because their own computations must not affect the result.
SOAK_FLOODS limits the run to some floods, separated by commas.
"""
import collections
import contextlib
import os
import pathlib
import re
import threading

import pytest

from groundwork import floods
from groundwork.client import Client
from groundwork.cpu import Cpu
from groundwork.neighbour import Neighbours, neighbour
from groundwork.project import Project
from groundwork.records import rows
from groundwork.runs import condition
from groundwork.soon import settle
from groundwork.workflows import workflow

SECONDS = float(os.environ.get("SOAK_SECONDS", "1800"))
NORMAL = 10
CALLS = {"read": 8, "list": 4, "me": 1, "create": 3, "update": 3, "job": 0.5, "sign_in": 0.3, "docs": 0.2}
TURN = 0.01  # seconds: a time slice of the scheduler when all cores are busy
WORKER_BYTES = 194 << 20
FEW = 100  # calls: with fewer calls p99 is not computed
PATIENCE = {"sign_in": 1.0}  # seconds: p99 during all floods at once, which need more processors than the machine has
PATIENCE_OTHERS = 0.25


class Watch:
    """Records the peak of each worker's resident memory."""

    def __init__(self, daemons):
        self.daemons, self.most = daemons, collections.Counter()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def sample(self):
        for name, daemon in self.daemons.items():
            with contextlib.suppress(OSError):
                for pid in daemon.workers():
                    status = pathlib.Path(f"/proc/{pid}/status").read_text()
                    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10
                    self.most[f"{name} {pid}"] = max(peak, self.most[f"{name} {pid}"])

    def run(self):
        while not self.stop.wait(0.5):
            self.sample()

    def close(self):
        self.stop.set()
        self.thread.join()
        return dict(self.most)


def lowest_priority():
    """Gives this process the lowest priority, and also its session where the kernel schedules by session; daemons and normal clients have other sessions."""
    os.nice(19)
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/autogroup").write_text("19")


def processor(gateway, runner, servers, db, seen):
    """The processes whose CPU usage the soak reports, including its own clients."""
    backend = rows(db, "select pg_backend_pid()")[0][0]
    postmaster = int(re.search(r"PPid:\s+(\d+)", pathlib.Path(f"/proc/{backend}/status").read_text())[1])
    return Cpu({"gateway": [gateway.process.pid], "runner": [runner.process.pid], "PostgreSQL": [postmaster],
                "Redis": [servers.redis_client().info()["process_id"]], "hostile clients": [os.getpid()],
                "normal clients": [seen.process.pid]})


def table(report):
    """Lines of the table: kind, then count, p50, p99 and errors, alone and with the floods."""
    lines = [f"{'':9}{'alone':>8}{'p50 ms':>9}{'p99 ms':>9}  errors      {'during':>8}{'p50 ms':>9}{'p99 ms':>9}  errors"]
    for kind in CALLS:
        line = f"{kind:9}"
        for phase in ("alone", "during"):
            found = report["phases"].get(phase, {}).get(kind, {"count": 0, "p50": 0, "p99": 0, "errors": {}})
            errors = " ".join(f"{status}: {count}" for status, count in sorted(found["errors"].items())) or "none"
            line += f"{found['count']:8}{found['p50'] * 1000:9.1f}{found['p99'] * 1000:9.1f}  {errors:10}  "
        lines.append(line.rstrip())
    return lines


def p99_limit(kind, alone, floods):
    """The limit of a p99 in seconds: during one flood twice the p99 without it; more during all floods, which use the whole machine."""
    return 2 * alone["p99"] + TURN if floods == 1 else PATIENCE.get(kind, PATIENCE_OTHERS)


def judge(report, floods):
    """The violations, as lines."""
    wrong = []
    for kind, found in report["phases"]["during"].items():
        wrong += [f"{kind}: {count} x {status}" for status, count in found["errors"].items()]
        alone = report["phases"]["alone"].get(kind)
        if alone and found["count"] >= FEW and alone["count"] >= FEW and found["p99"] > p99_limit(kind, alone, floods):
            wrong.append(f"{kind}: p99 {found['p99'] * 1000:.1f} ms, alone {alone['p99'] * 1000:.1f} ms")
    return wrong


@pytest.fixture
def tarpit():
    own = floods.Tarpit()
    yield own
    own.close()


@pytest.fixture
def world(start_gateway, start_runner, servers, tarpit):
    """A gateway with two workers and a runner, with default settings."""
    gateway = start_gateway("gateway-soak", WORKERS=2, FETCH_ALLOW=f"127.0.0.1:{tarpit.port}")
    runner = start_runner("runner-soak", WORKERS=1, SWEEP_MS=1000)
    yield gateway, runner, Client(f"{gateway.url}/org", token=servers.operator_token)
    gateway.stop()


def prepare_normal(gateway, operator):
    project = Project(gateway, operator, None)
    floods.raise_limits(project)
    project.entity("things", [{"name": "name", "type": "varchar"}, {"name": "n", "type": "integer"}])
    made = workflow(project.admin, {"kind": "manual"}, [condition()])
    return project, neighbour(project, workflow=made["id"])


def prepare_hostile(gateway, operator, db):
    """Creates the hostile project, and four more projects of the same owner."""
    hostile, *others = [Project(gateway, operator, None) for _ in range(5)]
    for project in (hostile, *others):
        floods.raise_limits(project)
    floods.prepare_rows(hostile, db, 3000, 20000)
    floods.prepare_rows(hostile, db, 250000, 64, "many")
    floods.prepare_rows(hostile, db, 240, 1 << 20, "large")
    floods.prepare_model(hostile, 60, 150)
    floods.prepare_fan_out(hostile, 300)
    return hostile, others


def all_floods(hostile, others, tarpit, db):
    made = workflow(hostile.admin, {"kind": "manual"}, [condition()])
    return {
        "exports": lambda: floods.slow_exports(hostile, 40),
        "bodies": lambda: floods.announced_bodies([hostile, *others], 1000),
        "sign_ins": lambda: floods.sign_ins(hostile, 20),
        "refreshes": lambda: floods.bogus_refreshes(hostile, 8),
        "tarpit": lambda: floods.tarpit_provider(others[:2], tarpit, 100),
        "aggregates": lambda: floods.aggregates(hostile, 40, "many"),
        "documents": lambda: floods.documents(hostile, 4),
        "drops": lambda: floods.cache_drops(hostile, 8),
        "lists": lambda: floods.large_lists(hostile, 6),
        "growing": lambda: floods.growing_records(hostile, 2, 70),
        "fan_out": lambda: floods.fan_out(hostile, 1),
        "backlog": lambda: floods.backlog(hostile, db, made, 50000),
    }


def lost_attempts(projects, db):
    """Jobs of normal projects that needed more than one attempt, or did not succeed."""
    lost = 0
    for project in projects:
        lost += rows(db, f"select count(*) from {project.schema(db)}.jobs_now where attempt > 1 or status = 'failed'")[0][0]
    return lost


def watchdog(daemon):
    """The daemon's metrics of long turns of its event loop and of refused shares."""
    return [line for line in daemon.metrics().splitlines() if re.match(r"groundwork_(loop_lag_ms|long_runs_total|shares_refused_total)", line)]


def test_soak(world, tarpit, db, servers):
    gateway, runner, operator = world
    normal = [prepare_normal(gateway, operator) for _ in range(NORMAL)]
    hostile, others = prepare_hostile(gateway, operator, db)
    every = all_floods(hostile, others, tarpit, db)
    wanted = os.environ.get("SOAK_FLOODS", ",".join(every)).split(",")
    attacks = {name: every[name]() for name in wanted}
    settle()
    watch = Watch({"gateway": gateway, "runner": runner})
    answers = {}
    with Neighbours([known for _, known in normal], CALLS, threads=2, pause=0.2) as seen:
        lowest_priority()
        seen.phase("warm", 3)
        cpu, used = processor(gateway, runner, servers, db, seen), {}
        seen.phase("alone", max(20, SECONDS / 5))
        used["alone"] = cpu.cores()
        seen.phase("floods begin")
        with contextlib.ExitStack() as stack:
            for name, attack in attacks.items():
                answers[name] = stack.enter_context(attack)
            cpu.cores()
            seen.phase("during", SECONDS)
            used["during"] = cpu.cores()
            seen.phase("floods end")
            for flood in answers.values():
                if hasattr(flood, "stop"):
                    flood.stop.set()
        seen.phase("end")
        report = seen.report()
    peaks = watch.close()
    lost = lost_attempts([project for project, _ in normal], db)
    lines = table(report)
    lines += [f"{name}: answered {dict(flood.answers)}" for name, flood in answers.items() if hasattr(flood, "answers")]
    lines += [f"cores {when}: " + ", ".join(f"{name} {cores:.2f}" for name, cores in used[when].items()) for when in used]
    lines += [f"largest {name}: {size >> 20} MB" for name, size in peaks.items()]
    lines += [f"lost attempts of jobs: {lost}", *watchdog(gateway)]
    print("\n" + "\n".join(lines))
    wrong = judge(report, len(wanted)) + [f"{name}: {size >> 20} MB" for name, size in peaks.items() if name.startswith("gateway") and size > WORKER_BYTES]
    wrong += [f"{lost} jobs lost an attempt"] if lost else []
    wrong += [f"{name} ended" for name, daemon in (("gateway", gateway), ("runner", runner)) if daemon.alarms() or not daemon.is_running()]
    assert not wrong, "\n".join([*wrong, str(report["examples"])])
