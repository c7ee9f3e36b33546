"""The check of files in a chaos run (tests/chaos/uploads_check.py) finds each violation, in a small handmade run."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "chaos"))

from uploads_check import check  # noqa: E402


def line(what, mark, *states, **more):
    return [{"what": what, "mark": mark, "state": state, "at": 0, **more} for state in states]


@pytest.fixture
def good():
    """Two files, one of them attached to a record; a third was deleted, the request for a fourth had no answer, and a fifth
    may be resumed."""
    return {
        "clients": line("file", "a", "asked") + line("file", "a", "acked", id=1, sha256="aa", size=10)
        + line("file", "b", "acked", id=2, sha256="bb", size=20) + line("cover", "2", "asked", "acked")
        + line("file", "c", "acked", id=3, sha256="cc", size=5) + line("unlink", "3", "asked", "acked") + line("file", "d", "asked", "unknown")
        + line("read", "1", "acked"),
        "uploads": {
            "files": [{"id": 1, "key": "k1", "filename": "a", "size": 10, "sha256": "aa", "record_id": None},
                      {"id": 2, "key": "k2", "filename": "b", "size": 20, "sha256": "bb", "record_id": 7}],
            "parts": [{"key": "k5", "size": 3}], "garbage": [{"key": "k5"}], "totals": {"bytes": 30, "files": 2},
            "covers": [{"id": 7, "cover": 2}, {"id": 8, "cover": None}],
            "stored": {"k1": [10, "aa"], "k2": [20, "bb"], "k5": [3, "ee"]},
        },
    }


def found(folder, run):
    (folder / "clients.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in run["clients"]))
    (folder / "uploads.json").write_text(json.dumps(run["uploads"]))
    return check(folder)


def test_nothing_is_found_where_nothing_is_wrong(good, tmp_path):
    assert found(tmp_path, good) == []


BREAKS = {
    "F1 lost": lambda run: run["clients"].extend(line("file", "e", "acked", id=9, sha256="ff", size=1)),
    "F1 another": lambda run: run["clients"].extend(line("file", "e", "acked", id=1, sha256="ff", size=10)),
    "F1 not deleted": lambda run: run["clients"].extend(line("unlink", "1", "asked", "acked")),
    "F1 wrong": lambda run: run["clients"].extend(line("read", "1", "wrong", status=200)),
    "F2 no bytes": lambda run: run["uploads"]["stored"].pop("k1"),
    "F2 half a file": lambda run: run["uploads"]["stored"].update(k1=[9, "aa"]),
    "F2 other bytes": lambda run: run["uploads"]["stored"].update(k1=[10, "ab"]),
    "F3 an orphan": lambda run: run["uploads"]["stored"].update(k9=[1, "x"]),
    "F3 half-written": lambda run: run["uploads"]["stored"].update({"k9.part": [1, "x"]}),
    "F3 a part without bytes": lambda run: run["uploads"]["stored"].pop("k5"),
    "F3 not removed": lambda run: run["uploads"]["garbage"].append({"key": "k9"}),
    "F4 bytes": lambda run: run["uploads"]["totals"].update(bytes=31),
    "F4 files": lambda run: run["uploads"]["totals"].update(files=3),
    "F5 dangling": lambda run: run["uploads"]["covers"][1].update(cover=99),
    "F5 of another": lambda run: run["uploads"]["covers"][1].update(cover=1),
    "F5 not named": lambda run: run["uploads"]["covers"][0].update(cover=None),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_violation_is_found(good, tmp_path, name):
    BREAKS[name](good)
    assert name.split()[0] in {each.split(":")[0] for each in found(tmp_path, good)}
