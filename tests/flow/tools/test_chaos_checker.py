"""The check of a chaos run (tests/chaos/checker.py) finds each violation, in a small handmade run."""
import copy
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "chaos"))

from checker import BULK, DEPTH_MAX, check  # noqa: E402

FLOWS = {"order": 1, "bulk": 2, "branch": 3, "tick": 4, "echo": 5}


def job(number, flow, **members):
    return {"id": number, "workflow_id": FLOWS[flow], "status": "succeeded", "reason": None, "error": None, "depth": 0, "attempt": 1,
            "trigger_id": 0, "trigger_data": None, "trigger_at": None, "leased": False, **members}


def steps(number, *keys):
    return [{"job_id": number, "seq": seq + 1, "key": key, "status": "succeeded"} for seq, key in enumerate(keys)]


def line(what, mark, *states):
    return [{"what": what, "mark": mark, "state": state, "at": 0} for state in states]


@pytest.fixture
def good():
    """One order, one bulk, two branches (one without a call), three ticks, a chain of echoes."""
    jobs = [job(1, "order", trigger_id=11), job(2, "bulk", trigger_data={"mark": "b"}),
            job(3, "branch", trigger_data={"mark": "c"}), job(4, "branch", trigger_data={"mark": "d"})]
    jobs += [job(5 + n, "tick", trigger_at=f"2026-01-01 10:0{n}:00+00") for n in range(3)]
    jobs += [job(10 + depth, "echo", trigger_id=20 + depth, depth=depth) for depth in range(DEPTH_MAX + 1)]
    jobs[-1].update(status="skipped", reason="loop_guard")
    history = (steps(1, "save", "call", "note") + steps(2, "make", "save") + steps(3, "check", "high") + steps(4, "check")
               + [step for n in range(3) for step in steps(5 + n, "check")]
               + [step for depth in range(DEPTH_MAX) for step in steps(10 + depth, "again")])
    return {
        "clients": line("order", "a", "asked", "acked") + line("bulk", "b", "asked", "acked") + line("branch", "c", "asked", "acked")
        + line("branch", "d", "asked", "unknown") + line("echo", "e", "asked", "acked") + line("order", "f", "asked", "unknown"),
        "database": {
            "flows": FLOWS, "jobs": jobs, "steps": history, "pending": 0,
            "orders": [{"id": 11, "mark": "a", "n": 1}], "results": [{"id": 1, "mark": "a", "job": 1}],
            "rows": [{"id": n, "mark": "b", "n": n} for n in range(BULK)],
            "echoes": [{"id": 20 + depth, "mark": "e"} for depth in range(DEPTH_MAX + 1)],
        },
        "sink": [{"job": 1, "mark": "a"}, {"job": 3, "mark": "c"}],
    }


def found(folder, run):
    (folder / "clients.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in run["clients"]))
    (folder / "database.json").write_text(json.dumps(run["database"]))
    (folder / "sink.json").write_text(json.dumps(run["sink"]))
    return check(folder)


def test_nothing_is_found_where_nothing_is_wrong(good, tmp_path):
    assert found(tmp_path, good) == []


def job_of(run, number):
    return next(one for one in run["database"]["jobs"] if one["id"] == number)


def step_of(run, number, key):
    return next(one for one in run["database"]["steps"] if (one["job_id"], one["key"]) == (number, key))


def drop(rows, **members):
    rows[:] = [row for row in rows if any(row[name] != value for name, value in members.items())]


BREAKS = {
    "I1: orders: a was ack": lambda run: (drop(run["database"]["orders"], id=11), drop(run["database"]["jobs"], id=1)),
    "I1: orders: x is there and nobody": lambda run: (run["database"]["orders"].append({"id": 12, "mark": "x", "n": 1}),
                                                      run["database"]["jobs"].append(job(40, "order", trigger_id=12))),
    "I1: orders: a is there 2": lambda run: (run["database"]["orders"].append({"id": 12, "mark": "a", "n": 1}),
                                             run["database"]["jobs"].append(job(40, "order", trigger_id=12))),
    "I1: bulk: b was ack": lambda run: drop(run["database"]["jobs"], id=2),
    "I1: branch: c was ack": lambda run: run["database"]["jobs"].append(job(40, "branch", trigger_data={"mark": "c"})),
    "I1: branch: d has 2": lambda run: run["database"]["jobs"].append(job(40, "branch", trigger_data={"mark": "d"})),
    "I1: branch: z has 1": lambda run: run["database"]["jobs"].append(job(40, "branch", trigger_data={"mark": "z"})),
    "I2: orders 11 started 0": lambda run: drop(run["database"]["jobs"], id=1),
    "I2: orders 11 started 2": lambda run: run["database"]["jobs"].append(job(40, "order", trigger_id=11)),
    "I2: a job of 'order' was started by 99": lambda run: run["database"]["jobs"].append(job(40, "order", trigger_id=99)),
    "I2: tick 2026-01-01 10:01:00+00 started 2": lambda run: run["database"]["jobs"].append(
        job(40, "tick", trigger_at="2026-01-01 10:01:00+00")),
    "I2: between the ticks 2026-01-01 10:00": lambda run: drop(run["database"]["jobs"], id=6),
    "I2: tick 2026-01-01 10:01:30+00 is no full": lambda run: job_of(run, 6).update(trigger_at="2026-01-01 10:01:30+00"),
    "I2: 1 events": lambda run: run["database"].update(pending=1),
    "I3: job 1: its CreateData succeeded and made 0": lambda run: run["database"]["results"].clear(),
    "I3: job 1: made 2": lambda run: run["database"]["results"].append({"id": 2, "mark": "a", "job": 1}),
    "I3: job 1: made 1 records, step None": lambda run: drop(run["database"]["steps"], job_id=1, key="save"),
    "I3: job 1: made 1 records, step failed": lambda run: step_of(run, 1, "save").update(status="failed"),
    "I3: job 99: made 1": lambda run: run["database"]["results"].append({"id": 2, "mark": "a", "job": 99}),
    "I3: job 2: bulk made 19": lambda run: run["database"]["rows"].pop(),
    "I3: job 2: bulk made 20 of 0": lambda run: step_of(run, 2, "save").update(status="failed"),
    "I3: bulk q: rows": lambda run: run["database"]["rows"].append({"id": 77, "mark": "q", "n": 1}),
    "I5: job 1: the sink was called 2": lambda run: run["sink"].append({"job": 1, "mark": "a"}),
    "I5: job 3: its call succeeded and the sink saw 0": lambda run: run["sink"].pop(),
    "I5: job 4: the sink was called and the history": lambda run: run["sink"].append({"job": 4, "mark": "d"}),
    "I5: job 99: the sink was called and there": lambda run: run["sink"].append({"job": 99, "mark": "d"}),
    "end: job 3 of 'branch' is running": lambda run: job_of(run, 3).update(status="running"),
    "end: job 1 of 'order' is cancelled": lambda run: job_of(run, 1).update(status="cancelled"),
    "end: job 3 of 'branch' is succeeded and has a lease": lambda run: job_of(run, 3).update(leased=True),
    "end: job 1 of 'order' failed": lambda run: job_of(run, 1).update(status="failed", error={"code": "internal"}),
    "end: job 1 succeeded, its step note is None": lambda run: drop(run["database"]["steps"], job_id=1, key="note"),
    "end: job 1 succeeded, its step call is sent": lambda run: step_of(run, 1, "call").update(status="sent"),
    "end: job 1: step call is sent": lambda run: (step_of(run, 1, "call").update(status="sent"), job_of(run, 1).update(
        status="failed", error={"code": "interrupted"})),
    "end: job 1: step save is there 2": lambda run: run["database"]["steps"].append(
        {"job_id": 1, "seq": 9, "key": "save", "status": "succeeded"}),
    "L10: job 18 at depth 8": lambda run: job_of(run, 10 + DEPTH_MAX).update(status="succeeded", reason=None),
    "L10: job 12 at depth 2 was skipped": lambda run: job_of(run, 12).update(status="skipped", reason="loop_guard"),
    "client: order: status 500": lambda run: run["clients"].append(
        {"what": "order", "mark": "g", "state": "wrong", "status": 500, "text": "", "at": 0}),
}


@pytest.mark.parametrize("violation", BREAKS)
def test_each_violation_is_found(good, tmp_path, violation):
    run = copy.deepcopy(good)
    BREAKS[violation](run)
    told = found(tmp_path, run)
    assert any(text.startswith(violation) for text in told), told


def test_what_was_not_answered_may_have_happened(good, tmp_path):
    """An unanswered order may exist or not; a call may be interrupted after it was sent."""
    run = copy.deepcopy(good)
    run["database"]["orders"].append({"id": 12, "mark": "f", "n": 1})
    run["database"]["jobs"].append(job(40, "order", trigger_id=12, status="failed", error={"code": "interrupted"}))
    run["database"]["results"].append({"id": 2, "mark": "f", "job": 40})
    run["database"]["steps"] += steps(40, "save", "call")
    step_of(run, 40, "call")["status"] = "interrupted"
    assert found(tmp_path, run) == []
    run["sink"].append({"job": 40, "mark": "f"})
    assert found(tmp_path, run) == []
