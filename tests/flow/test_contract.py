"""Runs last: reports the complaints of the contract check about the answers to all other tests."""
import os
import pathlib

import pytest
from groundwork.servers import ROOT


@pytest.fixture(scope="module")
def report(session_gateway, recorder):
    if not recorder.enabled:
        pytest.skip("CONTRACT=0")
    if "CONTRACT_PARTS" in os.environ:
        for part in sorted(pathlib.Path(os.environ["CONTRACT_PARTS"]).glob("*.json")):
            recorder.merge(part)
    folder = ROOT / "build/flow"
    folder.mkdir(parents=True, exist_ok=True)
    recorder.report(folder / "contract.json")
    return recorder


def test_answers_are_documented(report):
    assert report.checked, "nothing was recorded"
    unique = list(dict.fromkeys(report.complaints))
    assert not unique, f"{len(unique)} complaints:\n" + "\n".join(unique[:60])


def test_every_route_is_hit(report):
    if not os.environ.get("CONTRACT_ALL"):
        pytest.skip("only part of the tests ran")
    missing = report.unrequested_routes()
    (ROOT / "build/flow/never-hit.txt").write_text("".join(f"{line}\n" for line in missing))
    assert not missing, "routes that no test has hit:\n" + "\n".join(missing)


def test_every_route_succeeds_once(report):
    if not os.environ.get("CONTRACT_ALL"):
        pytest.skip("only part of the tests ran")
    assert not report.unsuccessful_routes(), "routes that only ever failed:\n" + "\n".join(report.unsuccessful_routes())
