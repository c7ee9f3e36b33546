"""The check of notifications in a chaos run (tests/chaos/pushes_check.py) finds each violation, in a small handmade run."""
import copy
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "chaos"))

from pushes_check import check  # noqa: E402


def line(what, mark, *states):
    return [{"what": what, "mark": mark, "state": state, "at": 0} for state in states]


def send(number, mark, delivered, failed=0):
    return {"id": number, "mark": mark, "status": "Partial" if failed else "Succeeded", "ended": True, "targets": 2,
            "delivered": delivered, "failed": failed, "unregistered": 0}


def row(number, device, status="delivered"):
    return {"send_id": number, "target_id": device, "status": status}


@pytest.fixture
def good():
    """A send that arrived twice at one device, a send without an answer that failed in part, a lost send, and a tap."""
    return {
        "clients": line("notify", "a", "asked", "acked") + line("notify", "b", "asked", "unknown") + line("notify", "c", "asked", "unknown")
        + line("tap", "ta:yes", "asked", "acked") + line("tap", "ta:yes", "asked", "acked") + line("tap", "ta:no", "asked", "unknown"),
        "database": {"flows": {"tapped": 9}, "jobs": [{"workflow_id": 9, "trigger_data": {"notification_id": "ta", "action_id": "yes"}}]},
        "pushes": {"devices": {"1": "p1", "2": "p2"}, "sends": [send(1, "a", 2), send(2, "b", 1, 1)],
                   "deliveries": [row(1, 1), row(1, 2), row(2, 1), row(2, 2, "failed")],
                   "arrived": [["p1", "a", "ta"], ["p1", "a", "ta"], ["p2", "a", "ta"], ["p1", "b", "tb"], ["p2", "b", "tb"]],
                   "violations": []},
    }


def found(folder, run):
    (folder / "clients.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in run["clients"]))
    (folder / "database.json").write_text(json.dumps(run["database"]))
    (folder / "pushes.json").write_text(json.dumps(run["pushes"]))
    return check(folder)


def test_nothing_is_found_where_nothing_is_wrong(good, tmp_path):
    assert found(tmp_path, good) == []


BREAKS = {
    "N1 lost": lambda run: run["pushes"].update(sends=[send(2, "b", 1, 1)]),
    "N1 twice": lambda run: run["pushes"]["sends"].append(send(3, "a", 2)),
    "N1 open": lambda run: run["pushes"]["sends"][0].update(ended=False),
    "N1 wrong": lambda run: run["clients"].extend(line("notify", "d", "asked", "wrong")),
    "N2 missed": lambda run: run["pushes"]["deliveries"].pop(0),
    "N2 pending": lambda run: run["pushes"]["deliveries"][0].update(status="pending"),
    "N2 counted": lambda run: run["pushes"]["sends"][0].update(delivered=1),
    "N3 not arrived": lambda run: run["pushes"].update(arrived=run["pushes"]["arrived"][3:]),
    "N3 two ids": lambda run: run["pushes"]["arrived"].append(["p2", "a", "other"]),
    "N3 not sent": lambda run: run["pushes"]["arrived"].append(["p2", "z", "tz"]),
    "N4 no job": lambda run: run["database"].update(jobs=[]),
    "N4 two jobs": lambda run: run["database"]["jobs"].append(copy.deepcopy(run["database"]["jobs"][0])),
    "N4 not tapped": lambda run: run["database"]["jobs"].append(
        {"workflow_id": 9, "trigger_data": {"notification_id": "tb", "action_id": "yes"}}),
    "N5 refused": lambda run: run["pushes"]["violations"].append(["p1", "400: no token"]),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_violation_is_found(good, tmp_path, name):
    BREAKS[name](good)
    assert name.split()[0] in {each.split(":")[0] for each in found(tmp_path, good)}
