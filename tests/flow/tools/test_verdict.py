"""scripts/test runs a file with failed tests once more, alone, and reports the result."""
import os
import re
import shutil
import subprocess

import pytest

from groundwork.servers import ROOT

# The first run of a stage has several processes, the second run of a file has one.
FLAKY = """
import os, pathlib, pytest

def flaky(text="as it is on a busy machine"):
    alone = os.environ.get("PYTEST_XDIST_WORKER_COUNT") == "1"
    if not alone:
        print(text)
    return alone
"""
ONE = FLAKY + """
def test_one(): assert flaky()
def test_other(): pass
"""
ALWAYS = FLAKY + """
def test_one(): assert flaky()
def test_always(): assert False, "whatever the machine does"
"""
SIX = FLAKY + """
@pytest.mark.parametrize("number", range(6))
def test_each(number): assert flaky()
"""
SETUP = FLAKY + """
@pytest.fixture(scope="module")
def server():
    if not flaky():
        raise RuntimeError("it is not ready")

@pytest.mark.parametrize("number", range(8))
def test_each(server, number): pass
"""
SANITIZED = FLAKY + """
def test_one(): assert flaky("==1==ERROR: AddressSanitizer: heap-use-after-free")
"""
CRASH = FLAKY + """
def test_one():
    if not flaky():
        os._exit(3)
"""
# Each run leaves a file among the parts for the contract check.
CONTRACT = FLAKY + """
def test_one():
    (pathlib.Path(os.environ["CONTRACT_PARTS"]) / f"alone-{flaky()}").touch()
    assert flaky()
"""
SUMMING_UP = """
import os, pathlib
def test_parts():
    assert sorted(os.listdir(os.environ["CONTRACT_PARTS"])) == ["alone-False", "alone-True"]
"""
UNIT = """#!/bin/sh
echo "[  PASSED  ] 3 test(s)."
[ -e "$0.seen" ] || { touch "$0.seen"; echo "[  FAILED  ] tests: 1 test(s), listed below:"; echo "[  FAILED  ] test_late"; exit 1; }
"""


@pytest.fixture
def tree(tmp_path):
    """A project with a few tests and nothing to build."""
    for folder in ("scripts", "tests/http", "tests/flow", "tests/unit", "build/asan/unit"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts/test", tmp_path / "scripts")
    for name in ("kept.py", "pytest.ini"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    (tmp_path / "scripts/setup").write_text("#!/bin/sh\n")
    (tmp_path / "scripts/setup").chmod(0o755)
    (tmp_path / "Makefile").write_text("all unit:\n\t@:\n")
    (tmp_path / "tests/flow/test_contract.py").write_text(SUMMING_UP)
    return tmp_path


def run_test(tree, *arguments):
    """Runs scripts/test as a user does: without variables of an outer pytest run, which the tests would mistake for their own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(["scripts/test", *arguments], cwd=tree, env={**own, "GW_BIN": "none"}, stdout=subprocess.PIPE, text=True)


def run_stage(tree, stage, **files):
    """(exit status, lines of the verdict) of one stage with these files."""
    for name, text in files.items():
        (tree / f"tests/{stage}/test_{name}.py").write_text(text)
    done = run_test(tree, stage)
    verdict = (tree / "build/test/verdict").read_text().splitlines()
    assert done.stdout.splitlines()[-len(verdict):] == verdict, "the verdict is what comes last"
    return done.returncode, verdict


def test_a_flaky_test_is_told_and_passes(tree):
    status, verdict = run_stage(tree, "http", wire=ONE, calm="def test_calm(): pass")
    assert (status, verdict) == (0, ["flaky: tests/http/test_wire.py::test_one", "1 flaky (their outputs: build/test/twice)",
                                     "3 passed, 0 failed"])
    first, again = ((tree / f"build/test/twice/http.test_wire.{which}.log").read_text() for which in ("first", "again"))
    assert "as it is on a busy machine" in first and "assert flaky()" in first and "2 passed" in again


def test_without_a_failure_nothing_is_run_twice(tree):
    assert run_stage(tree, "http", calm="def test_calm(): pass") == (0, ["0 flaky", "1 passed, 0 failed"])
    assert not (tree / "build/test/twice").exists()


def test_a_file_that_fails_again_has_failed(tree):
    assert run_stage(tree, "http", wire=ALWAYS) == (1, ["0 flaky", "0 passed, 2 failed"])


def test_five_flaky_tests_are_excused_and_six_are_not(tree):
    status, verdict = run_stage(tree, "http", wire=SIX.replace("range(6)", "range(5)"))
    assert (status, verdict[-2:]) == (0, ["5 flaky (their outputs: build/test/twice)", "5 passed, 0 failed"])
    status, verdict = run_stage(tree, "http", wire="def test_calm(): pass", wires=SIX)
    assert (status, verdict[-2:]) == (1, ["more than 5 flaky tests: they count as failed", "1 passed, 6 failed"])


def test_tests_that_share_a_setup_are_one_flaky_test(tree):
    status, verdict = run_stage(tree, "http", wire=SETUP)
    assert (status, verdict[-2:]) == (0, ["1 flaky (their outputs: build/test/twice)", "8 passed, 0 failed"])


def test_a_sanitizers_report_is_never_excused(tree):
    assert run_stage(tree, "http", wire=SANITIZED) == (1, ["0 flaky", "0 passed, 1 failed"])


def test_a_process_that_crashes_is_run_again(tree):
    status, verdict = run_stage(tree, "http", wire=CRASH)
    assert (status, verdict[-1]) == (0, "1 passed, 0 failed") and verdict[0].startswith("flaky: tests/http/test_wire.py")


def test_when_more_files_fail_none_is_run_again(tree):
    status, verdict = run_stage(tree, "http", **{f"wire{number}": ONE for number in range(6)})
    assert (status, verdict) == (1, ["0 flaky", "6 passed, 6 failed"])


def test_the_contract_check_sees_the_second_run(tree):
    status, verdict = run_stage(tree, "flow", orders=CONTRACT)
    assert (status, verdict[-1]) == (0, "2 passed, 0 failed"), verdict


def test_a_unit_test_is_run_again(tree):
    program = tree / "build/asan/unit/test_toys"
    program.write_text(UNIT)
    program.chmod(0o755)
    (tree / "tests/unit/test_toys.c").touch()
    assert run_stage(tree, "unit") == (0, ["flaky: tests/unit/test_toys.c::test_late", "1 flaky (their outputs: build/test/twice)",
                                           "3 passed, 0 failed"])
    assert "FAILED" in (tree / "build/test/twice/test_toys.first.log").read_text()
    assert "FAILED" not in (tree / "build/test/twice/test_toys.again.log").read_text()


@pytest.mark.parametrize("report, status", [("first", 1), ("last", 0)])
def test_a_report_behind_a_failed_assertion_is_no_fault_of_its_own(tree, report, status):
    """cmocka leaves a coroutine by longjmp, and the sanitizer then reports the remaining stack."""
    program = tree / "build/asan/unit/test_toys"
    lines = ["echo '[  FAILED  ] test_late'", "echo '==1==ERROR: AddressSanitizer: stack-buffer-underflow'"]
    program.write_text(UNIT.replace("exit 1", "; ".join([*(reversed(lines) if report == "first" else lines), "exit 1"])).replace(
        'echo "[  FAILED  ] tests: 1 test(s), listed below:"; echo "[  FAILED  ] test_late"; ', ""))
    program.chmod(0o755)
    (tree / "tests/unit/test_toys.c").touch()
    assert run_stage(tree, "unit")[0] == status


def test_developers_see_a_failure_at_once(tree):
    """With arguments for pytest a developer wants one test, so failures are not repeated."""
    (tree / "tests/http/test_wire.py").write_text(ONE)
    done = run_test(tree, "http", "--", "-k", "one", "tests/http")
    assert done.returncode == 1 and re.search(r"^0 flaky\n0 passed, 1 failed$", done.stdout, re.M)
