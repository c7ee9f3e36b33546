"""The check of payments in a chaos run (tests/chaos/payments_check.py) finds each violation, in a small handmade run."""
import copy
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "chaos"))

from payments_check import check  # noqa: E402

FLOWS = {"opened": 6, "paid": 7, "unpaid": 8, "joined": 9, "active": 10}


def line(what, mark, *states):
    return [{"what": what, "mark": mark, "state": state, "at": 0} for state in states]


def jobs(**told):
    return [{"workflow_id": FLOWS[name], "trigger_data": {"id": id_}} for name, ids in told.items() for id_ in ids]


def payment(id_, status, intent, mark=None):
    return {"id": id_, "type": "saved_method", "status": status, "intent_id": intent, "call_key": None,
            "metadata": {"mark": mark} if mark else {}}


def charge(intent, key=None, mark=None, invoice=None):
    return {"payment_intent": intent, "key": key, "invoice": invoice, "metadata": {"mark": mark} if mark else {}}


@pytest.fixture
def good():
    """A charge, a refused charge, a charge that never reached the processor, and a subscription with its first payment."""
    return {
        "clients": line("charge", "a", "asked", "acked") + line("charge", "b", "asked", "refused") + line("charge", "c", "asked")
        + line("subscribe", "d", "asked", "acked"),
        "database": {"flows": FLOWS, "jobs": jobs(opened=[1, 2, 4], paid=[1, 4], unpaid=[2], joined=[1], active=[1])},
        "payments": {
            "payments": [payment(1, "succeeded", "pi_a", "a"), payment(2, "failed", "pi_b", "b"),
                         payment(3, "failed", None, "c"), payment(4, "succeeded", "pi_d")],
            "subscriptions": [{"id": 1, "status": "active", "provider_subscription_id": "sub_d", "metadata": {"mark": "d"}}],
            "events": [{"type": "payment_intent.succeeded", "state": "applied", "error": None},
                       {"type": "plan.created", "state": "unsupported", "error": None}],
            "charges": [charge("pi_a", "k1", "a"), charge("pi_d", invoice="in_d")],
            "intents": {"pi_a": "succeeded", "pi_b": "requires_payment_method", "pi_d": "succeeded"},
            "sold": [{"id": "sub_d", "status": "active"}], "violations": [],
        },
    }


def found(folder, run):
    (folder / "clients.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in run["clients"]))
    (folder / "database.json").write_text(json.dumps(run["database"]))
    (folder / "payments.json").write_text(json.dumps(run["payments"]))
    return check(folder)


def test_nothing_is_found_where_nothing_is_wrong(good, tmp_path):
    assert found(tmp_path, good) == []


BROKEN = {
    "charged twice": ("P1", lambda run: run["payments"]["charges"].append(charge("pi_x", "k2", "a"))),
    "one key, two charges": ("P1", lambda run: run["payments"]["charges"].append(charge("pi_x", "k1"))),
    "one invoice, two charges": ("P1", lambda run: run["payments"]["charges"].append(charge("pi_x", invoice="in_d"))),
    "charged without being asked": ("P1", lambda run: run["payments"]["charges"].append(charge("pi_x", "k9", "z"))),
    "told of a charge that is not": ("P2", lambda run: run["payments"]["charges"].pop(0)),
    "refused and charged": ("P2", lambda run: run["payments"]["charges"].append(charge("pi_b", "k2", "b"))),
    "never told": ("P2", lambda run: run["clients"].extend(line("charge", "c", "open"))),
    "charged, unknown here": ("P3", lambda run: run["payments"]["payments"].pop(0)),
    "two payments of a charge": ("P3", lambda run: run["payments"]["payments"].append(payment(9, "succeeded", "pi_a"))),
    "failed there, paid here": ("P3", lambda run: run["payments"]["payments"][1].update(status="succeeded")),
    "paid there, open here": ("P3", lambda run: run["payments"]["payments"][0].update(status="processing")),
    "a call without an end": ("P3", lambda run: run["payments"]["payments"][2].update(call_key="k")),
    "subscription unknown here": ("P3", lambda run: run["payments"]["subscriptions"].pop()),
    "subscription unknown there": ("P3", lambda run: run["payments"]["sold"].pop()),
    "subscription in another state": ("P3", lambda run: run["payments"]["sold"][0].update(status="past_due")),
    "not told": ("P4", lambda run: run["database"]["jobs"].pop(3)),
    "told twice": ("P4", lambda run: run["database"]["jobs"].extend(jobs(paid=[1]))),
    "activation told twice": ("P4", lambda run: run["database"]["jobs"].extend(jobs(active=[1]))),
    "failure not told": ("P4", lambda run: run["database"]["jobs"].pop(5)),
    "an event that failed": ("P5", lambda run: run["payments"]["events"][0].update(state="dead", error="x")),
    "a request that is refused": ("P6", lambda run: run["payments"]["violations"].append({"where": "colour"})),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_violation_is_found(good, tmp_path, name):
    invariant, breaks = BROKEN[name]
    run = copy.deepcopy(good)
    breaks(run)
    assert any(text.startswith(f"{invariant}:") for text in found(tmp_path, run)), found(tmp_path, run)
