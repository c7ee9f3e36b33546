"""The check of the search index in a chaos run (tests/chaos/searches_check.py) finds each violation, in a small handmade run."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "chaos"))

from searches_check import check  # noqa: E402


def line(what, mark, *states, **more):
    return [{"what": what, "mark": mark, "state": state, "at": 0, **more} for state in states]


def leaf(term, field, *ids, base=0):
    deltas, last = [1], base
    for number in ids:
        deltas.append(number - last)
        last = number
    return {"term_id": term, "field": field, "base": base, "n": len(ids), "docs": bytes(deltas).hex()}


def doc(record, *fields):
    """A forward list of (field, terms in ascending order)."""
    data, before = [], 0
    for field, terms in fields:
        data += [field - before, len(terms)] + [term - last for last, term in zip([0, *terms], terms)]
        before = field
    return {"record_id": record, "terms": bytes(data).hex()}


@pytest.fixture
def good():
    """Two notes, one of them granted to a group and on a shelf; a third was deleted, and the request for a fourth had no
    answer."""
    return {
        "clients": line("note", "a", "asked", "acked", id=1) + line("note", "b", "asked", "acked", id=2)
        + line("note", "c", "asked", "acked", id=3) + line("remove", "3", "asked", "acked") + line("note", "d", "asked", "unknown"),
        "searches": {
            "fields": [11, 12, 13], "pending": 0,
            "indexes": [{"id": 7, "state": "live", "field_ids": [11, 12, 13], "documents": 2, "error": None}],
            "notes": [{"id": 1, "owner": 5, "mark": "a", "title": "linen", "body": "Linen, walnut", "shelf": "top"},
                      {"id": 2, "owner": None, "mark": "b", "title": "walnut", "body": None, "shelf": None}],
            "grants": [{"record_id": 1, "kind": 2, "grantee_id": 9}],
            "terms": {"1": "linen", "2": "walnut", "3": "top", "4": "@o5", "5": "@g9"},
            "docs": [doc(1, (0, [4, 5]), (1, [1]), (2, [1, 2]), (3, [3])), doc(2, (1, [2]))],
            "leaves": [leaf(1, 1, 1), leaf(1, 2, 1), leaf(2, 1, 2), leaf(2, 2, 1), leaf(3, 3, 1), leaf(4, 0, 1), leaf(5, 0, 1)],
        },
    }


def found(folder, run):
    (folder / "clients.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in run["clients"]))
    (folder / "searches.json").write_text(json.dumps(run["searches"]))
    return check(folder)


def test_nothing_is_found_where_nothing_is_wrong(good, tmp_path):
    assert found(tmp_path, good) == []


BREAKS = {
    "S1 pending": lambda run: run["searches"].update(pending=1),
    "S1 no generation": lambda run: run["searches"]["indexes"][0].update(state="failed"),
    "S1 counted": lambda run: run["searches"]["indexes"][0].update(documents=3),
    "S2 lost": lambda run: run["clients"].extend(line("note", "e", "asked", "acked", id=4)),
    "S2 not removed": lambda run: run["clients"].extend(line("remove", "2", "asked", "acked")),
    "S2 wrong": lambda run: run["clients"].extend(line("note", "f", "asked", "wrong", status=500)),
    "S3 a posting too few": lambda run: run["searches"]["leaves"].pop(),
    "S3 a posting too many": lambda run: run["searches"]["leaves"].append(leaf(5, 1, 2)),
    "S3 a record too many": lambda run: run["searches"]["leaves"].append(leaf(5, 1, 77)),
    "S3 leaves overlap": lambda run: run["searches"]["leaves"].insert(1, leaf(1, 1, 1, base=1)),
    "S3 miscounted": lambda run: run["searches"]["leaves"][0].update(n=2),
    "S4 another word": lambda run: run["searches"]["notes"][1].update(title="cotton"),
    "S4 another shelf": lambda run: run["searches"]["notes"][0].update(shelf="bottom"),
    "S4 a grant too few": lambda run: run["searches"]["grants"].append({"record_id": 2, "kind": 1, "grantee_id": 5}),
    "S4 a note that is gone": lambda run: run["searches"]["notes"].pop(),
    "S4 a word without a row": lambda run: run["searches"]["terms"].pop("3"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_violation_is_found(good, tmp_path, name):
    BREAKS[name](good)
    assert name.split()[0] in {each.split(":")[0] for each in found(tmp_path, good)}
