"""The check of live changes in a chaos run (tests/chaos/listeners_check.py) finds each violation, in a small handmade run."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "chaos"))

from listeners_check import check  # noqa: E402

COLUMNS = {"mark": "f_1", "lane": "f_2", "n": "f_3", "note": "f_4"}
GUEST = 7
END = "106:106:"


def line(what, mark, *states, **more):
    return [{"what": what, "mark": mark, "state": state, "at": 0, **more} for state in states]


def image(number, version, n, owner=1):
    return {"id": number, "version": version, "created_by": owner, "f_1": f"m{number}", "f_2": "north", "f_3": n, "f_4": "x"}


def row(seq, xid, record, kind, before=None, grants=None):
    return {"seq": seq, "xid": xid, "at": seq, "record_id": record, "kind": kind, "before": before, "grants": grants}


def hearer(name, **more):
    return {"name": name, "user": 1, "all": True, "grantees": [5], "least": None, "fields": list(COLUMNS), "revoked": False,
            "ticket": False, **more}


def heard(name, kind, position=None, record=None, n=None, fields=COLUMNS, **more):
    """A line of a listener, about a record if one is given."""
    position = position and f"{name}.{position}"
    entry = {"what": "heard", "mark": name, "state": kind, "at": 50, "turn": 1, "position": position, **more}
    if record:
        shown = {"id": record, "mark": f"m{record}", "lane": "north", "n": n, "note": "x"}
        entry["data"] = {"entity": "parcels", "id": record}
        if kind != "deleted":
            entry["data"]["record"] = {key: value for key, value in shown.items() if key == "id" or key in fields}
    return entry


def hearing(name, *events, **more):
    return [heard(name, "connected", got_at=40), heard(name, "hello", "100:100:", data={}),
            *[heard(name, *event, **more) for event in events], heard(name, "over", END)]


def taken():
    """The lines of the listener whose rights are revoked and granted again: it is shown no record."""
    lines = hearing("taken")
    lines[-1:-1] = [heard("taken", "reset", "100:100:", data={"entity": "parcels", "reason": "model"}),
                    heard("taken", "closed", data={"entity": "parcels", "code": "forbidden"}),
                    heard("taken", "end", data={"code": "forbidden"}), heard("taken", "refused", status=403, text="")]
    return lines


@pytest.fixture
def good():
    """Record 1 is created, changed, shown to the guest and changed again. Record 2 belongs to the guest, is created by a
    transaction that ends late, and is deleted."""
    late = [("created", "105:105:", 2, 7000), ("deleted", "106:106:", 2)]
    return {
        "clients": line("parcel", "m1", "asked") + line("parcel", "m1", "acked", id=1) + line("move", "x", "asked", "unknown")
        + line("unload", "2", "asked", "acked") + line("model", "y", "asked", "acked"),
        "heard": hearing("everything", ("created", "101:101:", 1, 10), ("updated", "102:102:", 1, 6000),
                         ("updated", "103:105:103", 1, 20), *late)
        + hearing("filtered", ("created", "102:102:", 1, 6000), ("deleted", "103:105:103", 1), *late)
        + hearing("guest", ("created", "103:103:", 1, 6000), ("updated", "103:105:103", 1, 20), *late)
        + hearing("blind", ("created", "101:101:", 1, 10), ("updated", "102:102:", 1, 6000),
                  ("updated", "100:100:~103:105:103~4", 1, 20), *late, fields=["mark", "n"])
        + taken(),
        "listeners": {
            "hearers": [hearer("everything"), hearer("filtered", least=5000), hearer("guest", all=False, user=GUEST, grantees=[GUEST * 4 + 1]),
                        hearer("blind", fields=["mark", "n"]),
                        hearer("taken", all=False, user=8, grantees=[9], revoked=True)],
            "columns": COLUMNS,
            "log": [row(1, 100, 1, 1), row(2, 101, 1, 2, image(1, 1, 10)), row(3, 102, 1, 4, grants=[]),
                    row(4, 104, 1, 2, image(1, 2, 6000)), row(5, 103, 2, 1), row(6, 105, 2, 3, image(2, 1, 7000, GUEST), [])],
            "records": [{"id": 1, "version": 3, "created_by": 1, "mark": "m1", "lane": "north", "n": 20, "note": "x"}],
            "grants": [{"record_id": 1, "grants": [GUEST * 4 + 1]}],
            "crashes": [], "view": {"north": [20, 1]},
        },
    }


def found(folder, run):
    for name in ("clients", "heard"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in run[name]))
    (folder / "listeners.json").write_text(json.dumps(run["listeners"]))
    return check(folder)


def of(run, name, kind, n=0):
    """The index of a listener's n-th line of a kind."""
    return [place for place, each in enumerate(run["heard"]) if (each["mark"], each["state"]) == (name, kind)][n]


def insert(run, name, *lines):
    run["heard"][of(run, name, "over"):of(run, name, "over")] = lines


def swap(run, one, other):
    """Two events exchange their places but keep their positions."""
    first, second = run["heard"][one], run["heard"][other]
    first["state"], first["data"], second["state"], second["data"] = second["state"], second["data"], first["state"], first["data"]


def again(name, position="106:106:", **data):
    return heard(name, "reset", position, data={"entity": None, "reason": "position", **data}, at=60)


def test_nothing_is_found_where_nothing_is_wrong(good, tmp_path):
    assert found(tmp_path, good) == []


def test_a_crash_is_a_reason_to_read_again(good, tmp_path):
    """A listener that missed events before a crash is reset and reads the records again, which is no violation."""
    good["listeners"]["crashes"] = [[52, 53]]
    del good["heard"][of(good, "guest", "updated"):of(good, "guest", "over")]
    insert(good, "guest", again("guest"))
    assert found(tmp_path, good) == []


BREAKS = {
    "E1 lost": lambda run: run["clients"].extend(line("parcel", "m9", "acked", id=9)),
    "E1 not removed": lambda run: run["clients"].extend(line("unload", "1", "asked", "acked")),
    "E1 wrong": lambda run: run["clients"].extend(line("show", "z", "wrong", status=500)),
    "E1 a change that was not logged": lambda run: run["listeners"]["log"].pop(1),
    "E1 a creation that was not logged": lambda run: run["listeners"]["log"].pop(0),
    "E1 a removal that was not logged": lambda run: run["listeners"]["log"].pop(),
    "E1 a record without a log": lambda run: run["listeners"]["records"].append({**run["listeners"]["records"][0], "id": 3}),
    "E1 logged twice": lambda run: run["listeners"]["log"].insert(2, row(2.5, 101, 1, 2, image(1, 1, 10))),
    "E2 lost": lambda run: run["heard"].pop(of(run, "everything", "updated")),
    "E2 lost at the end": lambda run: run["heard"].pop(of(run, "guest", "deleted")),
    "E2 a grant that was not heard": lambda run: run["heard"].pop(of(run, "guest", "created")),
    "E2 a filter that was not heard": lambda run: run["heard"].pop(of(run, "filtered", "deleted")),
    "E3 doubled": lambda run: insert(run, "everything", heard("everything", "updated", "106:107:", 1, 20)),
    "E3 one position twice": lambda run: run["heard"][of(run, "guest", "updated")].update(position="guest.103:103:"),
    "E4 before it was shown": lambda run: insert(run, "guest", heard("guest", "created", "106:107:", 1, 10)),
    "E4 of nobody": lambda run: insert(run, "everything", heard("everything", "created", "106:107:", 99, 1)),
    "E4 another's": lambda run: insert(run, "taken", heard("taken", "updated", "106:107:", 1, 20)),
    "E4 outside of the filter": lambda run: insert(run, "filtered", heard("filtered", "updated", "106:107:", 1, 20)),
    "E4 another value": lambda run: run["heard"][of(run, "guest", "updated")]["data"]["record"].update(n=21),
    "E4 a hidden field": lambda run: run["heard"][of(run, "blind", "updated")]["data"]["record"].update(note="x"),
    "E5 two changes": lambda run: swap(run, of(run, "everything", "updated"), of(run, "everything", "updated", 1)),
    "E5 gone before it came": lambda run: swap(run, of(run, "filtered", "created"), of(run, "filtered", "deleted")),
    "E6 told to read again": lambda run: insert(run, "guest", again("guest")),
    "E6 a crash long ago": lambda run: (run["listeners"].update(crashes=[[30, 31]]), insert(run, "guest", again("guest"))),
    "E6 a model that nobody changed": lambda run: run.update(clients=[each for each in run["clients"] if each["what"] != "model"]),
    "E6 other rights": lambda run: insert(run, "guest", again("guest", entity="parcels", reason="rights")),
    "E6 sent away": lambda run: insert(run, "guest", heard("guest", "end", data={"code": "forbidden"})),
    "E6 not found": lambda run: insert(run, "taken", heard("taken", "end", data={"code": "not_found"})),
    "E6 refused": lambda run: insert(run, "guest", heard("guest", "refused", status=403, text="")),
    "E6 an error": lambda run: insert(run, "taken", heard("taken", "refused", status=500, text="")),
    "E6 not to the end": lambda run: run["heard"].pop(of(run, "blind", "over")),
    "E6 silent": lambda run: run.update(heard=[each for each in run["heard"] if each["mark"] != "blind"]),
    "V1 a row": lambda run: run["listeners"].update(view={"north": [20, 2]}),
    "V1 a lane": lambda run: run["listeners"].update(view={}),
    "V1 unread": lambda run: run["listeners"].update(view=None),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_violation_is_found(good, tmp_path, name):
    BREAKS[name](good)
    assert name.split()[0] in {each.split(":")[0] for each in found(tmp_path, good)}
